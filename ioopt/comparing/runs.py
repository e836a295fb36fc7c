"""Hold the runs of one comparison, and write and read them as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ioopt import registry
from ioopt.comparing.measures import Row
from ioopt.comparing.summary import baseline_ratios
from ioopt.errors import InstanceError, UsageError
from ioopt.families import Kind, Metric
from ioopt.formats.native import validate
from ioopt.metrics import PairedRatio
from ioopt.options import parse_solver, suggest
from ioopt.problems.base import Json
from ioopt.registry import measure_of
from ioopt.result import Comparison, ComparisonRow, measured
from ioopt.units import is_number, quantity, show

FORMAT = "ioopt/comparison"


class Runs(NamedTuple):
    """The rows of one comparison, all of one kind and by one measure.

    Ratios are to *baseline*, if there is one. *labels* are the names of solvers in
    tables and pictures, keyed by the name with which the user chose the solver. *file*
    is the name of the file that they were read from. Other names of solvers in
    joined files are *aliases*, and *notes* say which solvers may be the same.
    """

    rows: Sequence[Row]
    kind: Kind
    measure: Metric
    baseline: str | None
    labels: Mapping[str, str] = {}
    file: str = ""
    aliases: Mapping[str, str] = {}
    notes: Sequence[str] = ()

    @property
    def solvers(self) -> list[str]:
        """Return the names of the solvers in order of their first row."""
        return list(dict.fromkeys(row["solver"] for row in self.rows))

    @property
    def instances(self) -> list[str]:
        """Return the names of the instances in order of their first row."""
        return list(dict.fromkeys(row["instance"] for row in self.rows))

    def labelled(self) -> Runs:
        """Return the same runs with the labels in place of the solvers' names. Each row
        keeps the name as ``named``.
        """
        rows = []
        for row in self.rows:
            label = self.labels.get(row["solver"], row["solver"])
            rows.append(row | {"solver": label, "named": row["solver"]})
        baseline = self.baseline
        if baseline is not None:
            baseline = self.labels.get(baseline, baseline)
        return self._replace(rows=rows, baseline=baseline, labels={})

    def document(self, by: str | None = None) -> Json:
        """Return the runs as plain JSON values. If there is a baseline, they include
        the ratios of all solvers to it, for all metrics; with the name of a setting,
        *by*, these are over the instances of each of its values.
        """
        document: Json = {
            "format": FORMAT,
            "version": 1,
            "measure": self.measure.name,
            "rows": self.rows,
        }
        if self.labels:
            document["labels"] = self.labels
        if self.baseline is not None:
            document["baseline"] = self.baseline
            document["ratios"] = [ratio._asdict() for ratio in self._ratios()]
        if self.baseline is not None and by is not None:
            document["ratios"] = [
                {by: part.value, **ratio._asdict()}
                for part in parts_by(self, by)
                for ratio in self._replace(rows=part.rows)._ratios()
            ]
        return document

    def _ratios(self) -> list[PairedRatio]:
        """Return the ratios of all solvers to the baseline, for all metrics."""
        return baseline_ratios(
            self.rows, self.kind, self.measure, str(self.baseline), True
        )


def is_stored(data: object) -> bool:
    """Return whether *data* are the runs of a comparison, not an instance."""
    return isinstance(data, Mapping) and data.get("format") == FORMAT


def runs_in(data: object, name: str) -> Runs:
    """Return the runs in *data*, the contents of the file *name*.

    Raises InstanceError when they are not the runs of one known kind.
    """
    document = validate(Comparison, data, name)
    kinds = {row.kind or row.family for row in document.rows}
    if len(kinds) > 1 or not kinds <= registry.KINDS.keys():
        raise InstanceError(
            f"{name}: wanted runs of one kind, not of {', '.join(sorted(kinds))}"
        )
    kind = registry.KINDS[kinds.pop()]
    measure = measure_of(kind, document.measure)
    rows = [_row(row, measure.name) for row in document.rows]
    return Runs(rows, kind, measure, document.baseline, document.labels, name)


class Part(NamedTuple):
    """The rows of the instances that were generated with one value of a setting; *told*
    is the setting with this value as a user types it.
    """

    value: object
    told: str
    rows: list[Row]


def parts_by(runs: Runs, setting: str) -> list[Part]:
    """Return the runs in parts by the value of a *setting* with which their instances
    were generated, in ascending order. Raises UsageError if an instance states no such
    setting.
    """
    parts: dict[str, Part] = {}
    for row in runs.rows:
        value = value_of(setting, row)
        told = f"{setting}={_as_typed(setting, value, runs.kind, row['base'])}"
        part = parts.setdefault(repr(value), Part(value, told, []))
        part.rows.append(row)
    return sorted(parts.values(), key=lambda part: _rank(part.value))


def value_of(setting: str, row: Row) -> object:
    """Return the value of a *setting* with which the instance of *row* was generated.
    Raises UsageError if it states no such setting.
    """
    require_stated(setting, row["instance"], stated(row["base"], row["generated"]))
    return stated(row["base"], row["generated"])[setting]


def stated(base: str | None, generated: Json) -> Json:
    """Return the settings with which an instance was generated, and its ``preset``,
    with which *base* begins.
    """
    if base is None:
        return generated
    return {"preset": base.rpartition(", seed ")[0], **generated}


def _as_typed(setting: str, value: object, kind: Kind, base: str | None) -> str:
    """Return the *value* of a *setting* as text: with a unit if the preset reads this
    text as the same value, such as ``400MB``.
    """
    preset = stated(base, {}).get("preset", "")
    form = registry.FORMATS[kind.kind].presets.get(str(preset))
    for unit in ("_bytes", "_bytes_per_second", "_seconds"):
        if form is None or not is_number(value):
            break
        text = quantity(unit, value).replace(" ", "")
        with suppress(ValueError, UsageError):
            if getattr(form(**{setting: text}), setting) == value:
                return text
    return show(value)


def _rank(value: object) -> tuple[float, str]:
    """Return the sorting key of a setting's value: numbers come first, then text."""
    number = isinstance(value, (int, float))
    return (float(str(value)), "") if number else (math.inf, str(value))


def require_stated(setting: str, instance: str, generated: Json) -> None:
    """Raise UsageError if *setting* is none of those with which *instance* was
    *generated*.
    """
    if setting not in generated:
        near = f"; {suggest(setting, generated)}" if generated else ""
        raise UsageError(
            f"--by {setting}: {instance} states no setting {setting!r}{near}"
        )


def _row(stored: ComparisonRow, measure: str) -> Row:
    """Return a row of a comparison by *measure* from a stored one."""
    row = stored.summary()
    row["value"] = measured(stored.__dict__, measure)
    if stored.objective_name not in (None, measure):
        row["bound"] = None
    return row


def baseline_of(kind: Kind, solvers: Sequence[str], instances: int) -> str | None:
    """Return the baseline of a comparison for which the user names none: for several
    instances that of *kind*, if it is among *solvers*, or else the first solver.
    """
    if instances == 1:
        return None
    return kind.baseline if kind.baseline in solvers else solvers[0]


def solver_named(
    text: str, solvers: Iterable[str], aliases: Mapping[str, str] = {}
) -> str | None:
    """Return the one of *solvers* that *text* names: as it is, as one of *aliases*, or
    with its settings in another order or spelling; None if there is none.

    >>> solver_named("h.py:f:lru=true,k=1", ["h.py:f", "h.py:f:k=1,lru=yes"])
    'h.py:f:k=1,lru=yes'
    """
    names = {**aliases, **{solver: solver for solver in solvers}}
    if text in names:
        return names[text]
    with suppress(UsageError):
        meant = spelt_solver(text)
        for name, solver in names.items():
            # A label need not have the form of a solver with settings.
            with suppress(UsageError):
                if spelt_solver(name) == meant:
                    return solver
    return None


def compared_baseline(
    text: str | None, solvers: Sequence[str], aliases: Mapping[str, str]
) -> str | None:
    """Return the one of *solvers* that ``--baseline`` names, also by its label or by
    another of its *aliases*; None for None. Raises UsageError if there is none.
    """
    if text is None:
        return None
    solver = solver_named(text, solvers, aliases)
    if solver is None:
        raise UsageError(
            f"--baseline {text!r} is not among the solvers: {', '.join(solvers)}"
        )
    return solver


def told_again(runs: Runs, baseline: str | None, labels: Iterable[str]) -> Runs:
    """Return stored *runs* with the *baseline* and the *labels* given, if any."""
    aliases = {**runs.aliases, **by_label(runs.labels)}
    known = [f"{solver}={label}" for solver, label in runs.labels.items()]
    given = parse_labels([*known, *labels], runs.solvers, aliases)
    aliases |= by_label(given)
    named = compared_baseline(baseline or runs.baseline, runs.solvers, aliases)
    chosen = named or baseline_of(runs.kind, runs.solvers, len(runs.instances))
    return runs._replace(baseline=chosen, labels=given)


def by_label(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the solvers, keyed by label."""
    return {label: solver for solver, label in labels.items()}


def spelt(value: object) -> str:
    """Return one text for all spellings of a setting's value.

    >>> spelt(True), spelt("true"), spelt("0.30"), spelt(1)
    ('yes', 'yes', '0.3', '1.0')
    """
    text = str(value).strip()
    if text.lower() in ("true", "yes", "on"):
        return "yes"
    if text.lower() in ("false", "no", "off"):
        return "no"
    try:
        return repr(float(text))
    except ValueError:
        return text


def spelt_solver(text: str) -> tuple[str, dict[str, str]]:
    """Return the name and the settings in the text for a solver, in one spelling."""
    name, given = parse_solver(text)
    return name, {key: spelt(value) for key, value in given.items()}


def parse_labels(
    given: Iterable[str], solvers: Sequence[str], aliases: Mapping[str, str] = {}
) -> dict[str, str]:
    """Return the labels, keyed by solver, in texts such as ``minmin=MinMin``. The
    solver may be named by one of its *aliases*, such as an earlier label.

    A solver may have settings, so its name may contain an equals sign. Raises
    UsageError for other solvers, for an empty label, and for a label that is given
    twice or is the name of another solver.

    >>> parse_labels(["fill:alpha=0=Fill"], ["fill", "fill:alpha=0"])
    {'fill:alpha=0': 'Fill'}
    """
    labels: dict[str, str] = {}
    for text in given:
        head, equals, label = text.rpartition("=")
        solver = solver_named(head, solvers, aliases)
        while solver is None and equals:
            head, equals, more = head.rpartition("=")
            label = f"{more}={label}"
            solver = solver_named(head, solvers, aliases)
        if solver is None:
            raise UsageError(
                f"--label {text!r}: wanted SOLVER=LABEL with one of the solvers "
                f"{', '.join(solvers)}"
            )
        labels[solver] = " ".join(label.split())
        if not labels[solver]:
            raise UsageError(f"--label {text!r}: the label is empty")
    shown: set[str] = set()
    for solver in solvers:
        name = labels.get(solver, solver)
        if name in shown:
            raise UsageError(
                f"two solvers would be called {name!r}: give one another --label"
            )
        shown.add(name)
    return labels
