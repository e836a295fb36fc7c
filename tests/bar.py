"""The bar of first contact: the default solver is behind no baseline that finished in the same limit."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import ioopt
from ioopt import registry
from ioopt.errors import IooptError
from ioopt.registry.measures import measure_of
from ioopt.registry.types import EXACT, REFERENCE

LIMITS = (0.2, 1.0, 2.0, 5.0)


def behind(problem: Any, limit: float) -> list[str]:
    """A line for every baseline that finished within *limit* seconds with a better value.

    Baselines are what the kind compares with, but exact methods and references. A default that has no
    plan is behind all of them.
    """
    kind = registry.kind_of_problem(problem)
    measure = measure_of(kind)
    baselines = []
    for name in kind.compare_solvers:
        spec = registry.solver(name.partition(":")[0], kind)
        if ":" in name or name == kind.default_solver or {EXACT, REFERENCE} & spec.abilities:
            continue
        with suppress(IooptError):  # it does not apply
            ioopt.solve(problem, name, bound=False)  # what all share is loaded and known then
            baselines.append(name)
    default = ioopt.solve(problem, time_limit=limit, bound=False)
    mine = _value(default, measure.name)
    found = []
    for name in baselines:
        other = ioopt.solve(problem, name, time_limit=limit, bound=False)
        theirs = _value(other, measure.name)
        if other.stop != "finished" or theirs is None or other.solve_seconds > limit:
            continue
        sign = 1.0 if measure.sense == "min" else -1.0
        if mine is None or sign * mine > sign * theirs + 1e-9 * abs(theirs):
            found.append(f"{problem.name}, {limit:g} s: {default.solver} {mine}, {name} {theirs}")
    return found


def _value(result: ioopt.Result, measure: str) -> float | None:
    if result.objective_name == measure:
        return result.objective
    value: float | None = result.metrics.get(measure)
    return value
