"""What is known of a bundled instance: the best plan of each measure, and
what is proven of it.

An instance is one of the catalog's when all of it but its ``meta`` is equal; its
name alone says nothing.
"""

import json
from collections.abc import Iterator
from typing import Any

from ioopt import catalog, registry
from ioopt.problems.base import Json, Problem
from ioopt.protocols import Known
from ioopt.solving import load
from ioopt.units import is_number


def known_plans(problem: Problem) -> dict[str, Known]:
    """Return the best known value and bound by measure; empty for an
    instance of the user's own.
    """
    entry = catalog.entries().get(problem.name)
    if entry is None or entry["kind"] != registry.format_of_problem(problem).kind:
        return {}
    rows = [*_of_catalog(entry), *_of_library(problem.name)]
    if not rows or not _same_content(problem, load(entry["path"])):
        return {}
    known: dict[str, Known] = {}
    for measure, found in rows:
        known[measure] = _better(entry["kind"], measure, known.get(measure), found)
    return known


def _same_content(one: Problem, other: Problem) -> bool:
    """Whether two instances are equal, where they come from left out."""
    return one.model_copy(update={"meta": None}) == other.model_copy(
        update={"meta": None}
    )


def _of_catalog(entry: Json) -> Iterator[tuple[str, Known]]:
    if is_number(entry.get("best_objective")):
        yield entry["objective"], Known(entry["best_objective"], entry.get("bound"))


def _of_library(name: str) -> Iterator[tuple[str, Known]]:
    """The entries of the library that are of the bundled instance *name* itself."""
    for path in sorted((catalog.root() / "library").glob("*.json")):
        if not path.name.startswith(name):
            continue
        entry: Json = json.loads(path.read_text("utf-8"))
        recipe = entry["recipe"]
        if recipe.get("bundled") == name and not recipe.get("settings"):
            found = entry["history"][-1]
            yield entry["measure"], Known(found["best"], found.get("bound"))


def _better(kind: str, measure: str, one: Known | None, other: Known) -> Known:
    """The better value of two, and the stronger bound."""
    if one is None:
        return other
    sense = registry.KINDS[kind].metric(measure).sense
    better: Any = max if sense == "max" else min
    stronger: Any = min if sense == "max" else max
    bounds = [bound for bound in (one.bound, other.bound) if bound is not None]
    return Known(better(one.best, other.best), stronger(bounds) if bounds else None)
