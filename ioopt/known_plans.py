"""Find the best known value and the best known bound of each measure of a bundled
instance.

An instance counts as bundled when all of it except ``meta`` equals an instance of the
catalog; an equal name is not enough.
"""

import json
from collections.abc import Iterator

from ioopt import catalog, registry
from ioopt.families import Sense
from ioopt.formats.native import read_json, validate
from ioopt.problems.base import Json, Problem
from ioopt.protocols import Known
from ioopt.units import is_number
from ioopt.verdict import strongest


def known_plans(problem: Problem) -> dict[str, Known]:
    """Return the best known value and bound for each measure; empty if *problem* is not
    a bundled instance.
    """
    entry = catalog.entries().get(problem.name)
    if entry is None or entry["kind"] != registry.format_of_problem(problem).kind:
        return {}
    rows = [*_of_catalog(entry), *_of_library(problem.name)]
    if not rows:
        return {}
    bundled = validate(type(problem), read_json(entry["path"]), entry["path"])
    if not _same_content(problem, bundled):
        return {}
    known: dict[str, Known] = {}
    for measure, found in rows:
        sense = registry.KINDS[entry["kind"]].metric(measure).sense
        known[measure] = _better(sense, known.get(measure), found)
    return known


def _same_content(one: Problem, other: Problem) -> bool:
    """Return whether two instances are equal apart from their ``meta``."""
    without = {"meta": None}
    return one.model_copy(update=without) == other.model_copy(update=without)


def _of_catalog(entry: Json) -> Iterator[tuple[str, Known]]:
    """Yield (measure, best known value and bound) of a catalog entry; nothing if the
    entry has no best known value.
    """
    if is_number(entry.get("best_objective")):
        yield entry["objective"], Known(entry["best_objective"], entry.get("bound"))


def _of_library(name: str) -> Iterator[tuple[str, Known]]:
    """Yield (measure, best known value and bound) of each library entry for the bundled
    instance *name*.
    """
    for path in sorted((catalog.root() / "library").glob("*.json")):
        if not path.name.startswith(name):
            continue
        entry: Json = json.loads(path.read_text("utf-8"))
        recipe = entry["recipe"]
        if recipe.get("bundled") == name and not recipe.get("settings"):
            found = entry["history"][-1]
            yield entry["measure"], Known(found["best"], found.get("bound"))


def _better(sense: Sense, one: Known | None, other: Known) -> Known:
    """Return the better of two best known values, and the stronger of their bounds."""
    if one is None:
        return other
    gain = other.best - one.best if sense == "max" else one.best - other.best
    best = other.best if gain > 0 else one.best
    return Known(best, strongest(sense, (one.bound, other.bound)))
