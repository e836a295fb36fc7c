"""Read the rows of run stores into a pandas table; each row gets its ratio to the best
row of its instance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache

import pandas as pd

from ioopt.campaign.store import COLUMNS, FAILED, TYPES, StoreReader, clearly
from ioopt.comparing.measures import COUNTED, standing
from ioopt.errors import InstanceError
from ioopt.families import BOUND, REFERENCE, Metric, Sense, SolverSpec
from ioopt.formats.native import shown
from ioopt.metrics import GeometricMean, geometric_mean
from ioopt.problems.base import SYNTHETIC_IO, Json
from ioopt.registry import KINDS, SOLVERS, measures_of
from ioopt.run_statements import forbids_copies
from ioopt.units import show
from ioopt.verdict import bounding_metrics, gap_to, strongest, strongest_sound

REPEATED = [
    "instance",
    "digest",
    "family",
    "kind",
    "solver",
    "settings",
    "labels",
    "status",
    "stop",
    "objective_name",
    "machine",
    "versions",
]
UNSHOWN = ("bound", "gap", "simulate_seconds", "metrics", "notes", "versions")
PLAIN = [*(name for name in COLUMNS if name not in UNSHOWN), "versions"]
OBJECTS = ("settings", "labels", "versions")
"""The columns whose cells are JSON objects."""
NUMBERS = ("numbers", "integer", "floating", "mixed-integer-float", "empty")
"""Names for a column of numbers: first the word for messages, then pandas' names of
such types.
"""
TEXT = ("text", "string", "empty")
"""Names for a column of text: first the word for messages, then pandas' names of such
types.
"""


def read_frame(paths: Sequence[str], measure: str | None = None) -> pd.DataFrame:
    """Return the rows of all stores as one table in which each point occurs once.

    If several stores have a row for the same point, the row of the first store counts.
    The table has additional columns. The column ``measure`` names the metric by which
    rows of a kind are compared: the argument *measure* if the kind has such a metric,
    else the kind's own measure. ``value``, ``bound`` and ``gap`` are those of that
    metric. ``standing`` says in words how the run ended. ``variant`` is the solver with
    its settings. ``synthetic_io`` is true for instances whose I/O was generated. Raises
    UsageError for a measure that no kind in the stores has.
    """
    measures = measures_of(KINDS.values(), measure)
    parts = []
    for path in paths:
        with StoreReader(path) as reader:
            synthetic = f"instr(notes, '{SYNTHETIC_IO}') > 0 AS synthetic_io"
            measured = _measured_sql(measures)
            query = f"SELECT {', '.join(PLAIN)}, {synthetic}, {measured} FROM runs"
            with clearly(path):
                try:
                    part = pd.read_sql_query(query, reader.connection)
                except pd.errors.DatabaseError as error:
                    # The cause is SQLite's own error; pandas has added the text of the
                    # query to it.
                    raise error.__cause__ or error from None
            require_sound(part, path)
            part[REPEATED] = part[REPEATED].astype("category")
            parts.append(part)
    frame = pd.concat(parts, ignore_index=True)
    frame = frame.drop_duplicates("key", ignore_index=True)
    present = [KINDS[kind] for kind in frame["kind"].unique() if kind in KINDS]
    measures_of(present, measure)  # raises if no kind here has the measure
    names = {name: by.name for name, by in measures.items()}
    frame["measure"] = frame["kind"].astype(str).map(names).fillna("objective")
    texts = {text: _as_named(given) for text, given in objects(frame, "settings")}
    variant = frame["solver"].astype(str) + frame["settings"].astype(str).map(texts)
    frame["variant"] = variant.astype("category")
    return with_ratios(frame, measures)


def _as_named(settings: Json) -> str:
    """Return *settings* as they follow a solver's name in ``compare``.

    >>> _as_named({"alpha": 0.5, "loop": "open"})
    ':alpha=0.5,loop=open'
    """
    words = ",".join(f"{key}={show(value)}" for key, value in settings.items())
    return f":{words}" if settings else ""


def require_sound(rows: pd.DataFrame, path: str) -> None:
    """Raise InstanceError when a cell of *rows* does not have the type of its column;
    *path* is the store to name.
    """
    for name in rows.columns:
        wanted = TEXT if TYPES.get(str(name)) == "TEXT" else NUMBERS
        if pd.api.types.infer_dtype(rows[name], skipna=True) not in wanted:
            raise InstanceError(
                f"{path}: the run store is damaged: not all of {name} is {wanted[0]}"
            )
    for name in OBJECTS:
        for text in rows[name].dropna().unique():
            try:
                good = isinstance(json.loads(text), dict)
            except (ValueError, RecursionError):
                good = False
            if not good:
                raise InstanceError(
                    f"{path}: the run store is damaged: {name} holds {shown(text)}"
                )


def _measured_sql(measures: Mapping[str, Metric]) -> str:
    """Return the SQL for the columns ``value`` and ``bound``, which depend on the
    measure of the row's kind.

    SQLite reads both from the JSON text of ``metrics``, because Python would be too
    slow for a million rows.
    """
    values = []
    bounds = []
    for kind, measure in measures.items():
        mine = f"objective_name = '{measure.name}'"
        metric = f"json_extract(metrics, '$.{measure.name}')"
        values.append(
            f"WHEN '{kind}' THEN COALESCE({metric}, CASE WHEN {mine} THEN "
            "objective END)"
        )
        limits = ", ".join(
            f"json_extract(metrics, '$.{name}')" for name in bounding_metrics(measure)
        )
        bounds.append(
            f"WHEN '{kind}' THEN COALESCE(CASE WHEN {mine} THEN bound END, {limits})"
        )
    return (
        f"CASE kind {' '.join(values)} ELSE objective END AS value, "
        f"CASE kind {' '.join(bounds)} ELSE bound END AS bound"
    )


def with_ratios(frame: pd.DataFrame, measures: Mapping[str, Metric]) -> pd.DataFrame:
    """Add the columns ``ratio``, ``won``, ``gap`` and ``standing``.

    The ratio is 1 for the best row of the same instance and repeat, and greater for
    worse rows. Rows of failed runs, rows without a value and rows with violations are
    not compared. References have no ratio.
    """
    sound = (frame["violations"] == 0) & frame["status"].isin(["optimal", "feasible"])
    frame["value"] = frame["value"].where(sound).astype(float)
    references = {spec.name for spec in SOLVERS if REFERENCE in spec.abilities}
    frame["reference"] = frame["solver"].isin(references)
    keys = [frame["digest"], frame["repeat"]]
    maximise = frame["kind"].isin(
        [kind for kind, by in measures.items() if by.sense == "max"]
    )
    value = frame["value"].where(~frame["reference"])
    groups = value.groupby(keys, observed=True)
    best = groups.transform("min").where(~maximise, groups.transform("max"))
    ratio = (value / best).where(~maximise, best / value)
    frame["ratio"] = ratio.where(value != best, 1.0).where(value.notna())
    frame["won"] = frame["ratio"] <= 1 + 1e-9
    _add_gaps(frame, maximise)
    frame["standing"] = _standings(frame)
    return frame


def _add_gaps(frame: pd.DataFrame, maximise: pd.Series) -> None:
    """Set the column ``bound`` to the strongest bound known for the instance, and
    ``gap`` to the gap between the row's value and that bound.
    """
    own = frame["bound"].astype(float).where(frame["status"] != "error")
    own = own.mask(_restricted(frame))
    universal = {s.name for s in SOLVERS if BOUND in s.abilities and not s.fixed}
    plain = frame["solver"].isin(universal) & (frame["settings"].astype(str) == "{}")
    groups = own.where(plain).groupby(frame["digest"], observed=True)
    shared = groups.transform("max").where(~maximise, groups.transform("min"))
    usable = shared.where(~frame["reference"])
    known = [
        [None if number != number else number for number in column]
        for column in (frame["value"], own, usable)
    ]
    senses: list[Sense] = ["max" if more else "min" for more in maximise]
    found = [_bound_and_gap(*row) for row in zip(senses, *known, strict=True)]
    frame["bound"] = pd.Series([row[0] for row in found], frame.index, dtype=float)
    frame["gap"] = pd.Series([row[1] for row in found], frame.index, dtype=float)


def _restricted(frame: pd.DataFrame) -> pd.Series:
    """Return which rows state a bound of a model that forbids plans, which is no bound
    of the instance; other metrics than the kind's objective have no such bound.
    """
    specs: dict[str, SolverSpec] = {
        spec.name: spec for spec in SOLVERS if BOUND in spec.abilities
    }
    objectives = {kind.kind: kind.objective.name for kind in KINDS.values()}

    @cache
    def forbids(solver: str, settings: str) -> bool:
        """Return whether *solver* with *settings*, a JSON object, forbids copies."""
        spec = specs.get(solver)
        options = {"settings": json.loads(settings)}
        return spec is not None and forbids_copies(spec, {"options": options})

    texts = frame["settings"].astype(str).where(frame["settings"].notna(), "{}")
    runs = zip(frame["solver"].astype(str), texts, strict=True)
    by_objective = frame["measure"].eq(frame["kind"].astype(str).map(objectives))
    return by_objective & pd.Series([forbids(*run) for run in runs], frame.index)


def _bound_and_gap(
    sense: Sense, value: float | None, own: float | None, shared: float | None
) -> tuple[float | None, float | None]:
    """Return the stronger of a row's *own* bound and the bound *shared* by the
    instance, and the gap between *value* and that bound.

    A *shared* bound that the value contradicts is ignored: it was proven under other
    rules, because some settings change the rules.
    """
    if value is None:
        return own, None
    bound = own
    if shared is not None and shared != own:
        bound = strongest(sense, (own, strongest_sound(sense, value, (shared,))))
    return bound, gap_to(sense, value, bound)


def _standings(frame: pd.DataFrame) -> pd.Series:
    """Return, for each row, how its run ended, in the words of
    :func:`ioopt.comparing.measures.standing`.
    """
    keys = ["status", "stop", "reference"]
    table = frame[keys].astype(object).where(frame[keys].notna(), None)
    table["gap"] = frame["gap"].eq(0.0).map({True: 0.0, False: None})
    named = cache(lambda row: standing(dict(zip(table.columns, row))))
    found = [named(row) for row in table.itertuples(index=False, name=None)]
    return pd.Series(found, index=frame.index, dtype=object)


def one_kind(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the rows of one kind. Names that occur only in other kinds are removed
    from the categories of the columns.
    """
    rows = frame[frame["kind"] == kind].copy()
    for name in rows.select_dtypes("category"):
        rows[name] = rows[name].cat.remove_unused_categories()
    return rows


def experiments(frame: pd.DataFrame) -> pd.DataFrame:
    """Return, for each study and function, the number of runs, the number of crashed
    runs, and the total of their seconds.
    """
    table = frame.assign(
        crashed=frame["status"] == FAILED, seconds=frame["solve_seconds"], runs=1
    )
    groups = table.groupby(["instance", "solver"], observed=True)
    return groups[["runs", "crashed", "seconds"]].sum().reset_index()


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with one row for each kind and variant: counts of runs by how they
    ended, and means over instances.

    Means are taken over the instances that every variant solved; a variant that solved
    none does not count here. ``common`` is the number of these instances.
    ``mean_ratio`` is a geometric mean; ``low`` and ``high`` are the ends of its 95 %
    interval, which needs five ratios.
    """
    answered = frame[frame["value"].notna()]
    variants = answered["variant"].nunique()
    by_instance = answered.groupby("digest", observed=True)["variant"].nunique()
    shared = frame["digest"].isin(by_instance[by_instance == variants].index)
    table = frame.assign(
        proven=frame["standing"] == "optimal",
        seconds=frame["build_seconds"].fillna(0) + frame["solve_seconds"].fillna(0),
        shared_ratio=frame["ratio"].where(shared),
        shared_gap=frame["gap"].where(shared),
        **{what: frame["standing"] == what for what in COUNTED},
    )
    groups = table.groupby(["kind", "variant"], observed=True)
    out = groups.agg(
        runs=("key", "size"),
        proven=("proven", "sum"),
        **{what: (what, "sum") for what in COUNTED},
        mean_gap=("shared_gap", "mean"),
        middle=("shared_ratio", _middle),
        worst_ratio=("ratio", "max"),
        wins=("won", "sum"),
        median_seconds=("seconds", "median"),
    )
    for name, part in (("mean_ratio", "mean"), ("low", "low"), ("high", "high")):
        ends = [getattr(middle, part) for middle in out["middle"]]
        out[name] = pd.Series(ends, index=out.index, dtype=float)
    out = out.drop(columns="middle")
    out["common"] = int((by_instance == variants).sum())
    return out.reset_index()


def _middle(ratios: pd.Series) -> GeometricMean:
    return geometric_mean(ratios.dropna().to_list())


def objects(frame: pd.DataFrame, name: str) -> list[tuple[str, Json]]:
    """Return the different cells of the column *name*, which contains JSON objects, as
    pairs (text, object).
    """
    return [(text, json.loads(text)) for text in frame[name].unique()]


def versions(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Return pairs (package, version) for all packages that were used to make the
    rows.
    """
    pairs: set[tuple[str, str]] = set()
    for _, found in objects(frame, "versions"):
        pairs |= set(found.items())
    return sorted(pairs)
