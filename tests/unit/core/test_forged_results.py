"""Every part of results of every kind, changed: what is accepted must say
nothing else than before.
"""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import first

import ioopt
from ioopt import registry
from ioopt.checking import judge
from ioopt.errors import IooptError
from ioopt.loading import require_form

Path = tuple[Any, ...]
CASES = (
    ("cycle3", "ip"),
    ("cycle3", "minmin"),
    ("rounds4", "two-stage"),
    ("eight-tasks", "heft"),
    ("eight-tasks", "locality"),
    ("two-pairs", "link-aware"),
    ("two-writers", "fill"),
    ("two-writers", "no-congestion"),
    ("small-8", "cons-max-util"),
    ("two-writers-now", "base-line"),
    ("gang-figure-5", "migrate-iogs"),
    ("gang-figure-7", "migrate-iogs"),
    ("flexgang-tiny", "greedy"),
    ("quantum-plain", "quantum-greedy"),
    ("directory-wait", "in-flight"),
    ("directory-two-chains", "exact"),
)
OF_THE_RUN = {
    "options",
    "versions",
    "notes",
    "seed",
    "build_seconds",
    "solve_seconds",
    "simulate_seconds",
    "stop",
    "trace",
}
"""About the run and not about its answer."""
OF_THE_SEARCH = {
    "per_pattern",
    "evaluations",
    "replays",
    "scheduling_milliseconds_per_task",
    "models_cut",
    "queues_bound_seconds",
    "model_best",
    "ranking",
}
"""Metrics that are the solver's word."""
SETS = {
    "columns",
    "rows",
    "jobs",
    "tasks",
    "copies",
    "remote",
    "transfers",
    "evictions",
    "placed",
}
"""Lists whose order means nothing where it is accepted."""
QUESTION = {"loop", "ef", "policy", "top"}
"""Of a plan: another one that is sound and has the same figures is
another true answer.
"""
FEW = 60


def parts(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every part of a document; of a long list the first, the last, and one between."""
    named = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in named:
        if isinstance(node, list) and key not in (0, len(node) // 2, len(node) - 1):
            continue
        yield (*path, key), value
        if isinstance(value, (dict, list)):
            yield from parts(value, (*path, key))


def changes(value: Any, other: Any) -> Iterator[tuple[str, Any]]:
    """The same part made larger, smaller, of another type, in another
    order, or that of *other*.
    """
    if isinstance(value, bool):
        yield "flipped", not value
    elif isinstance(value, (int, float)):
        whole = type(value)
        yield from (("up", whole(value * 1.5 + 1)), ("down", whole(value * 0.5)))
        yield from (("below 0", whole(-abs(value) - 1)), ("text", str(value)))
    elif isinstance(value, str):
        yield "text", value + "x"
    elif value is None:
        yield "number", 1.0
    elif isinstance(value, list) and len(value) > 1:
        yield "reversed", value[::-1]
    if other is not None:
        yield "swapped", other


def at(document: Any, path: Path) -> Any:
    for key in path:
        try:
            document = document[key]
        except (LookupError, TypeError):
            return None
    return document


def forged(document: Any, other: Any) -> Iterator[tuple[Path, str, Any]]:
    for path, value in parts(document):
        if path[0] in ("options", "versions", "notes"):
            continue
        made = [("removed", None), *changes(value, at(other, path))]
        for how, new in made:
            false = copy.deepcopy(document)
            place = at(false, path[:-1]) if path[:-1] else false
            if how == "removed":
                del place[path[-1]]
            else:
                place[path[-1]] = new
            if false != document:
                yield path, how, false


def harmless(path: Path, how: str) -> bool:
    """Whether the change says nothing else, or less than before."""
    names = [key for key in path if isinstance(key, str)]
    if path[0] == "trace" and path[-1] == 1:
        return how != "text"  # worse than the answer
    if path[0] in OF_THE_RUN:
        return how not in ("text", "below 0") or path[0] == "stop"
    if path == ("bound",) or (path[0] == "plan" and names[-1] not in QUESTION):
        return how != "text"
    if path == ("solver",):
        return how in ("swapped", "removed")  # a plan of queues tells nobody's name
    if path[0] == "metrics" and (len(path) == 1 or path[1] in OF_THE_SEARCH):
        return True
    if path[:2] == ("metrics", "noise") and how in ("up", "down"):
        return True  # a steady plan has the same makespans under another noise
    if how == "removed":
        return isinstance(path[-1], str)
    return how == "reversed" and names[-1] in SETS


def accepted(
    source: str, solver: str, most: int | None
) -> tuple[int, list[tuple[Path, str]]]:
    """How many forgeries were tried, and those accepted that say something else."""
    problem = ioopt.load(source)
    kind = registry.kind_of_problem(problem)
    result, twin = (
        json.loads(json.dumps(ioopt.solve(problem, name, time_limit=5).to_dict()))
        for name in (solver, kind.fallback or solver)
    )
    tried = list(forged(result, twin))
    if most is not None:
        tried = random.Random(source + solver).sample(tried, min(most, len(tried)))
    bad = []
    for path, how, false in tried:
        try:
            require_form(kind, false, "result")
            found, _ = judge(problem, false, "result", result["settings"])
        except IooptError:
            continue
        if not found and not harmless(path, how):
            bad.append((path, how))
    return len(tried), bad


SLOW = ("flexgang-tiny", "quantum-plain")


@pytest.mark.parametrize(
    ("source", "solver"), first(8, [case for case in CASES if case[0] not in SLOW])
)
def test_no_forged_part_is_accepted(source: str, solver: str) -> None:
    assert accepted(source, solver, FEW)[1] == []


@pytest.mark.slow
def test_none_of_all_forgeries_is_accepted() -> None:
    tried = 0
    for source, solver in CASES:
        count, bad = accepted(source, solver, FEW if source in SLOW else None)
        assert bad == [], (source, solver)
        tried += count
    assert tried >= 2_500
