"""Properties of the solvers in rounds on random instances with tight disks."""

from __future__ import annotations

from typing import Any

import pytest
from oracle.random_replication import random_case
from oracle.replication_exhaustive import optimum
from replication_samples import fits_somewhere, tiny

import ioopt
from ioopt.problems.replication import ReplicationProblem
from ioopt.result import Result, Status

SCHEMES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("two-stage", {"effort": "0.02"}),
    ("two-stage", {"effort": "0.02", "barriers": "no", "eviction": "lru"}),
    ("two-stage", {"effort": "0.02", "eviction": "farthest-next-use", "ties": "bytes"}),
    ("two-stage", {"effort": "0.02", "moves": "plan", "room": "missing"}),
    ("hierarchical", {"effort": "0.02", "barriers": "no", "room": "next"}),
)


def solved(problem: ReplicationProblem, solver: str, settings: dict[str, Any]) -> Result:
    """The result of a solver that neither failed nor broke a rule (disks at every instant too)."""
    result = ioopt.solve(problem, solver, time_limit=280, settings=settings)
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL), (result.notes, result.violations)
    assert result.stop != "fallback", result.notes
    assert len(result.schedule["tasks"]) == len(problem.tasks)
    return result


def all_schemes(problem: ReplicationProblem) -> int:
    """Solve by every scheme that takes the instance; how many there were."""
    done = 0
    for solver, settings in SCHEMES:
        result = solved(problem, solver, settings)
        assert result.bound is None or result.bound <= result.objective + 1e-9
        done += 1
    return done


@pytest.mark.parametrize("seed", range(12))
def test_plans_keep_every_rule(seed):
    problem = ReplicationProblem.model_validate(random_case(seed)[0])
    assert all_schemes(problem) >= 5


@pytest.mark.slow
def test_plans_keep_every_rule_on_many():
    done = 0
    for seed in range(100, 180):
        done += all_schemes(ReplicationProblem.model_validate(random_case(seed)[0]))
        problem = tiny(seed, nodes=3, tasks=6, files=4, extras=True)
        if fits_somewhere(problem):
            done += all_schemes(problem)
    assert done >= 600


@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_and_plans_do_not_beat_the_optimum(seed):
    problem = tiny(seed, nodes=2, tasks=4, files=3)
    best = float(optimum(problem) or 0)
    for solver, settings in SCHEMES:
        result = solved(problem, solver, settings)
        assert result.bound <= best + 1e-6
        assert result.objective >= best - 1e-6
