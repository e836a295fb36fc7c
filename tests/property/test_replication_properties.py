"""Properties of planners, searches and solvers in rounds on batches with tight disks.

The checker looks at the disks.
"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.random_replication import random_case
from oracle.replication_exhaustive import optimum
from replication_samples import tiny

import ioopt
from ioopt.models.replication.workflow_bound import (
    TransferBound,
    makespan_bound_seconds,
)
from ioopt.problems.replication import ReplicationProblem
from ioopt.result import Result, Status

PLANNERS = ("minmin", "minmin-no-replication", "job-data-present")


@st.composite
def problems(draw: st.DrawFn) -> ReplicationProblem:
    """Small batches whose disks hold the largest task and little more."""
    sizes = draw(st.lists(st.integers(1, 9), min_size=2, max_size=8))
    names = [f"f{k}" for k in range(len(sizes))]
    inputs = draw(
        st.lists(
            st.lists(st.sampled_from(names), unique=True, max_size=4),
            min_size=1,
            max_size=10,
        )
    )
    largest = max(sum(sizes[int(name[1:])] for name in row) for row in inputs)
    slack = draw(st.integers(0, 6))
    nodes = draw(st.integers(1, 3))
    return ReplicationProblem.model_validate(
        {
            "network": {
                "remote_bytes_per_second": 1.0,
                "replica_bytes_per_second": draw(st.sampled_from([1.0, 4.0, 10.0])),
                "remote_link": draw(st.sampled_from(["shared", "per-node"])),
            },
            "nodes": [
                {"id": f"n{i}", "disk_bytes": max(1, largest) + slack}
                for i in range(nodes)
            ],
            "files": [{"id": name, "bytes": size} for name, size in zip(names, sizes)],
            "tasks": [
                {
                    "id": f"t{k}",
                    "compute_seconds": draw(st.sampled_from([0.0, 0.5, 3.0])),
                    "inputs": row,
                }
                for k, row in enumerate(inputs)
            ],
        }
    )


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(problems())
def test_planners_keep_to_the_bound_and_link_aware_is_never_above_them(
    problem: ReplicationProblem,
) -> None:
    """With a seed link-aware gives one plan."""
    best, again = (
        ioopt.solve(problem, "link-aware", seed=3, settings={"evaluations": 60})
        for _ in range(2)
    )
    assert best.violations == () and best.plan == again.plan
    assert best.objective is not None
    assert best.bound is not None
    assert best.bound <= best.objective * (1 + 1e-9)
    bound = max(makespan_bound_seconds(problem), TransferBound(problem).seconds)
    for planner in PLANNERS:
        planned = ioopt.solve(problem, planner)
        assert planned.violations == () and planned.schedule is not None
        assert len(planned.schedule["tasks"]) == len(problem.tasks)
        assert planned.metrics["makespan_seconds"] >= bound - 1e-9
        assert best.objective <= planned.metrics["makespan_seconds"] * (1 + 1e-9)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(problems())
def test_more_disk_never_hurts_the_best_plan(problem: ReplicationProblem) -> None:
    """The plan for the small disks is a start for the larger ones, and
    replays no slower there.
    """
    small = ioopt.solve(problem, "link-aware", settings={"evaluations": 60})
    data = problem.model_dump(mode="json")
    for node in data["nodes"]:
        node["disk_bytes"] *= 10
    larger = ioopt.load(data)
    best = ioopt.solve(
        larger, "link-aware", settings={"evaluations": 200}, warm_start=small
    )
    assert small.objective is not None
    assert best.objective is not None
    assert best.objective <= small.objective * (1 + 1e-9)


SCHEMES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("two-stage", {"effort": "0.02"}),
    ("two-stage", {"effort": "0.02", "barriers": "no", "eviction": "lru"}),
    ("two-stage", {"effort": "0.02", "eviction": "farthest-next-use", "ties": "bytes"}),
    ("two-stage", {"effort": "0.02", "moves": "plan", "room": "missing"}),
    ("hierarchical", {"effort": "0.02", "barriers": "no", "room": "next"}),
)


def solved(problem: ReplicationProblem, solver: str, how: dict[str, Any]) -> Result:
    """The result of a solver that neither failed nor broke a rule (disks
    at every instant too).
    """
    result = ioopt.solve(problem, solver, time_limit=280, settings=how)
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL), (
        result.notes,
        result.violations,
    )
    assert result.stop != "fallback", result.notes
    assert len(result.schedule["tasks"]) == len(problem.tasks)
    return result


def all_schemes(problem: ReplicationProblem) -> int:
    """Solve by every scheme that takes the instance; how many there were."""
    done = 0
    for solver, how in SCHEMES:
        result = solved(problem, solver, how)
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
        if all(problem.hosts):
            done += all_schemes(problem)
    assert done >= 600


@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_and_plans_do_not_beat_the_optimum(seed):
    problem = tiny(seed, nodes=2, tasks=4, files=3)
    best = float(optimum(problem) or 0)
    for solver, how in SCHEMES:
        result = solved(problem, solver, how)
        assert result.bound <= best + 1e-6
        assert result.objective >= best - 1e-6
