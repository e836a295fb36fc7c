"""Join the runs of several files into one comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ioopt import registry
from ioopt.comparing.measures import Row, add_ratios
from ioopt.comparing.runs import Runs
from ioopt.comparing.twins import unified
from ioopt.errors import UsageError
from ioopt.families import BOUND, SolverSpec
from ioopt.problems.base import Json
from ioopt.units import show
from ioopt.verdict import strongest


def joined(stored: Sequence[Runs]) -> Runs:
    """Return the runs of several files as one comparison, with the baseline and the
    labels of the first file that has some.

    Instances and solvers that are known to be the same have the names of the first
    file (:mod:`ioopt.comparing.twins`). Other instances of one name are the same if
    they were generated from the same preset, seed and settings; otherwise their
    settings are added to the name. A run that several files have is taken from the
    first of them. Bounds and gaps are anew those of all files. Raises UsageError for
    runs of several kinds or measures, for a run that differs between files, and for
    instances of one name that may differ.
    """
    first = stored[0]
    if len(stored) == 1:
        return first
    for runs in stored:
        if (runs.kind, runs.measure) != (first.kind, first.measure):
            raise UsageError(
                f"stored runs of {first.kind.kind} by {first.measure.name} and of "
                f"{runs.kind.kind} by {runs.measure.name} make no comparison"
            )
    stored, aliases, notes = unified(stored)
    groups: dict[str, list[Row]] = {}
    for instance, rows in _by_origin(stored).items():
        if len({row["digest"] for row in rows} - {None}) > 1:
            raise UsageError(
                f"stored runs: {instance} is not the same instance in all files; "
                "compare them anew, or give the instances other names"
            )
        groups[instance] = _each_once(instance, rows)
        shared = _shared_bound(groups[instance], first)
        add_ratios(groups[instance], first.measure, shared)
    labels: dict[str, str] = {}
    for runs in stored:
        labels = {**runs.labels, **labels}
    baselines = [runs.baseline for runs in stored if runs.baseline is not None]
    every = [row for rows in groups.values() for row in rows]
    chosen = baselines[0] if baselines else None
    return Runs(every, first.kind, first.measure, chosen, labels, "", aliases, notes)


def _each_once(instance: str, rows: Sequence[Row]) -> list[Row]:
    """Return the *rows* of one instance with each solver once, without their ``file``;
    in the store of a sweep a solver may have several seeds. Raises UsageError if two
    runs of a solver are not known to be the same.
    """
    found: dict[tuple[str, int | None], Row] = {}
    for row in rows:
        elsewhere = [
            other
            for other in found.values()
            if other["solver"] == row["solver"] and other["file"] != row["file"]
        ]
        run = (row["solver"], row["seed"])
        first = found.setdefault(run, row)
        if first is row and elsewhere:
            first = elsewhere[0]
        facts = zip(_facts(first).items(), _facts(row).values(), strict=True)
        differ = [
            f"{key} {show(one)}, {show(two)}"
            for (key, one), two in facts
            if one != two and (key == "value" or None not in (one, two))
        ]
        if first is not row and None in (first["digest"], row["digest"]):
            differ.append("instance's contents not stated")
        if differ:
            advice = "compare anew what was changed, and leave out the older file"
            if first["seed"] != row["seed"]:
                advice = "several seeds of a solver are runs of a sweep (ioopt sweep)"
            raise UsageError(
                f"stored runs: {row['solver']} on {instance} differs between "
                f"{first['file']} and {row['file']} ({'; '.join(differ)}): {advice}"
            )
    for row in found.values():
        del row["file"]
    return list(found.values())


def _shared_bound(rows: Sequence[Row], runs: Runs) -> float | None:
    """Return the strongest bound in *rows*, those of one instance, that holds for all
    its plans. Solvers without a bound of their own have that of their comparison.
    """
    ours = {spec.name: spec for spec in registry.SOLVERS if spec.bundled}
    bounds = []
    for row in rows:
        spec = ours.get(row["solver"].partition(":")[0])
        if spec is None or row["reference"]:
            continue
        if BOUND not in spec.abilities or is_universal(spec, row):
            bounds.append(row["bound"])
    return strongest(runs.measure.sense, bounds)


def is_universal(spec: SolverSpec, row: Row) -> bool:
    """Return whether the bound in *row* holds for every plan, because its solver, with
    the settings used, excludes no plan.
    """
    if BOUND not in spec.abilities or spec.fixed:
        return False
    plain = registry.settings_for(spec, {})
    if plain is None:
        return True
    return bool(row["options"].get("settings") == plain.model_dump(mode="json"))


def _facts(row: Row) -> Json:
    """Return what two runs of a solver on one instance have in common if they are the
    same run.
    """
    return {
        "value": row["value"],
        "settings": row["options"].get("settings"),
        "seed": row["seed"],
    }


def _by_origin(stored: Sequence[Runs]) -> dict[str, list[Row]]:
    """Return the rows of *stored*, keyed by instance, under names that differ if the
    instances do; ``file`` is the file of each.
    """
    origins: dict[str, list[Json]] = {}
    for runs in stored:
        for row in runs.rows:
            known = origins.setdefault(row["instance"], [])
            origin = {"base": row["base"], **row["generated"]}
            if origin not in known:
                known.append(origin)
    files = Counter(name for runs in stored for name in runs.instances)
    found: dict[str, list[Row]] = {}
    for runs in stored:
        for row in runs.rows:
            name = row["instance"]
            known = origins[name]
            unsure = row["digest"] is None or len(known) > 1
            if files[name] > 1 and not row["generated"] and unsure:
                raise UsageError(
                    f"stored runs: {name} is in several files, which do not say "
                    "whether it is the same instance; compare the instances anew"
                )
            differ = [
                f"{key}={value}"
                for key, value in row["generated"].items()
                if any(other.get(key) != value for other in known)
            ]
            whole = "-".join([name, *differ])
            told = {"instance": whole, "file": runs.file}
            found.setdefault(whole, []).append(row | told)
    return found
