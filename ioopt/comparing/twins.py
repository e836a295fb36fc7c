"""Find the instances and solvers that files of stored runs have under several names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ioopt.comparing.measures import Row
from ioopt.comparing.runs import Runs, spelt, spelt_solver
from ioopt.problems.base import Json
from ioopt.units import counted

RECIPE = "recipe:"
"""What the ``digest`` of a run begins with if it is that of the instance's recipe."""


class Unified(NamedTuple):
    """Stored runs with one name for each instance and solver, the other names of
    solvers with that name, and a note for each pair of solvers of which it is not known
    whether they are the same.
    """

    stored: list[Runs]
    aliases: dict[str, str]
    notes: list[str]


def unified(stored: Sequence[Runs]) -> Unified:
    """Return the runs of several files under the names that the first of them uses."""
    same_instances = _with_instances_unified(stored)
    every = [row for runs in same_instances for row in runs.rows]
    renamed, notes = _same_solvers(every)
    found = [_renamed(runs, renamed) for runs in same_instances]
    return Unified(found, renamed, notes)


def _with_instances_unified(stored: Sequence[Runs]) -> list[Runs]:
    """Return the runs with the name, the base and the settings of an instance as the
    first file with the instance states them.

    Instances are the same if their contents are; a recipe, of which no contents are
    known, is the same as an instance of its preset, seed and settings.
    """
    known: list[Row] = []
    contents: dict[str, str] = {}
    found = []
    for runs in stored:
        first_of: dict[str, Row] = {}
        for row in runs.rows:
            if row["instance"] not in first_of:
                alike = (one for one in known if _is_same_instance(one, row))
                first_of[row["instance"]] = next(alike, row)
        known += first_of.values()
        rows = []
        for row in runs.rows:
            first = first_of[row["instance"]]
            told = {key: first[key] for key in ("instance", "base", "generated")}
            rows.append(row | told)
            if row["digest"] is not None and not _is_recipe(row):
                contents.setdefault(first["instance"], row["digest"])
        found.append(runs._replace(rows=rows))
    for runs in found:
        for row in runs.rows:
            if _is_recipe(row):
                row["digest"] = contents.get(row["instance"], row["digest"])
    return found


def _is_recipe(row: Row) -> bool:
    """Return whether the digest of *row* is that of a recipe."""
    return str(row["digest"]).startswith(RECIPE)


def _is_same_instance(one: Row, two: Row) -> bool:
    """Return whether two rows of different files are known to be of one instance."""
    if one["digest"] is not None and one["digest"] == two["digest"]:
        return True
    if None in (one["digest"], two["digest"], one["base"]):
        return False
    if not (_is_recipe(one) or _is_recipe(two)):
        return False
    mine, other = one["generated"], two["generated"]
    return bool(one["base"] == two["base"] and mine == other)


def _same_solvers(rows: Sequence[Row]) -> tuple[dict[str, str], list[str]]:
    """Return the names of solvers that are another one's, with that name, and the
    notes on those that may be.

    Two names are one solver if all its settings are equal, and the values of all runs
    that both have.
    """
    settings = _all_settings(rows)
    values: dict[str, dict[tuple[str, int | None], object]] = {}
    for row in rows:
        run = (row["instance"], row["seed"])
        values.setdefault(row["solver"], {}).setdefault(run, row["value"])
    renamed: dict[str, str] = {}
    notes = []
    for one, two in _pairs(list(values)):
        if one in renamed or two in renamed:
            continue
        common = values[one].keys() & values[two].keys()
        differ = [run for run in common if values[one][run] != values[two][run]]
        unknown = settings[one] is None or settings[two] is None
        if not unknown and settings[one] == settings[two]:
            if not differ:
                renamed[two] = one
                continue
            notes.append(
                f"{one} and {two} have the same settings but other values on "
                f"{counted(len(differ), 'instance')}: they stay two solvers"
            )
        elif unknown and common and not differ:
            notes.append(
                f"{one} and {two} may be the same solver: their values are equal on "
                f"{counted(len(common), 'instance')}, and not all settings are stored"
            )
    return renamed, notes


def _pairs(solvers: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of *solvers* that differ only in their settings."""
    for index, one in enumerate(solvers):
        for two in solvers[index + 1 :]:
            if spelt_solver(one)[0] == spelt_solver(two)[0]:
                yield one, two


def _all_settings(rows: Sequence[Row]) -> dict[str, Mapping[str, str] | None]:
    """Return the settings of each solver with those left at their defaults; None if
    these are not stored.

    The store of a sweep has only the settings given to a user's function. Its defaults
    are those of a run of the same function in another file.
    """
    stored: dict[str, Json] = {}
    defaults: dict[str, dict[str, str]] = {}
    complete: dict[str, set[str]] = {}
    for row in rows:
        resolved = row["options"].get("settings")
        if resolved is None or row["solver"] in stored:
            continue
        name, given = spelt_solver(row["solver"])
        backend = given.get("backend") or row["options"].get("backend")
        every = {key: spelt(value) for key, value in resolved.items()}
        stored[row["solver"]] = {**every, "backend": spelt(backend)}
        complete.setdefault(name, set()).update(every)
        for key in every.keys() - given.keys():
            defaults.setdefault(name, {}).setdefault(key, every[key])
    found: dict[str, Mapping[str, str] | None] = {}
    for row in rows:
        solver = row["solver"]
        name, given = spelt_solver(solver)
        whole = {**defaults.get(name, {}), **given, "backend": spelt(None)}
        known = complete.get(name, set()) <= whole.keys() and name in complete
        found[solver] = stored.get(solver, whole if known else None)
    return found


def _renamed(runs: Runs, renamed: Mapping[str, str]) -> Runs:
    """Return *runs* with other names of solvers in rows, labels and baseline."""
    rows = []
    for row in runs.rows:
        rows.append(row | {"solver": renamed.get(row["solver"], row["solver"])})
    labels = {renamed.get(key, key): label for key, label in runs.labels.items()}
    baseline = runs.baseline
    if baseline is not None:
        baseline = renamed.get(baseline, baseline)
    return runs._replace(rows=rows, labels=labels, baseline=baseline)
