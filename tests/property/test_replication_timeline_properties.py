"""Properties of planners and searches on batches with tight disks; the checker looks at the disks."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import ioopt
from ioopt.models.replication.workflow_bound import TransferBound, makespan_bound_seconds
from ioopt.problems.replication import ReplicationProblem

PLANNERS = ("minmin", "minmin-no-replication", "job-data-present")


@st.composite
def problems(draw: st.DrawFn) -> ReplicationProblem:
    """Small batches whose disks hold the largest task and little more."""
    sizes = draw(st.lists(st.integers(1, 9), min_size=2, max_size=8))
    names = [f"f{k}" for k in range(len(sizes))]
    inputs = draw(
        st.lists(st.lists(st.sampled_from(names), unique=True, max_size=4), min_size=1, max_size=10)
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
            "nodes": [{"id": f"n{i}", "disk_bytes": max(1, largest) + slack} for i in range(nodes)],
            "files": [{"id": name, "bytes": size} for name, size in zip(names, sizes)],
            "tasks": [
                {"id": f"t{k}", "compute_seconds": draw(st.sampled_from([0.0, 0.5, 3.0])), "inputs": row}
                for k, row in enumerate(inputs)
            ],
        }
    )  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(problems())
def test_planners_keep_to_the_bound_and_link_aware_is_never_above_them(
    problem: ReplicationProblem,
) -> None:
    """With a seed link-aware gives one plan."""
    best, again = (
        ioopt.solve(problem, "link-aware", seed=3, settings={"evaluations": 60}) for _ in range(2)
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


@settings(max_examples=25, deadline=None)
@given(problems())
def test_more_disk_never_hurts_the_best_plan(problem: ReplicationProblem) -> None:
    """The plan for the small disks is a start for the larger ones, and replays no slower there."""
    small = ioopt.solve(problem, "link-aware", settings={"evaluations": 60})
    data = problem.model_dump(mode="json")
    for node in data["nodes"]:
        node["disk_bytes"] *= 10
    larger = ioopt.load(data)
    best = ioopt.solve(larger, "link-aware", settings={"evaluations": 200}, warm_start=small)
    assert small.objective is not None
    assert best.objective is not None
    assert best.objective <= small.objective * (1 + 1e-9)
