"""Properties of the timeline side: disks are never exceeded, planners keep their promises."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import ENGINES
from hypothesis import given, settings
from hypothesis import strategies as st

import ioopt
from ioopt.models.replication.workflow_bound import TransferBound, makespan_bound_seconds
from ioopt.problems.replication import ReplicationProblem
from ioopt.sim.replication.moves import fill
from ioopt.sim.replication.simulate import simulate

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


def most_on_disk(problem: ReplicationProblem, schedule: dict[str, Any]) -> dict[str, int]:
    """The most bytes each node ever has on disk; at one instant evictions come before arrivals."""
    size = {file.id: file.bytes for file in problem.files}
    steps = [(row["seconds"], 0, row["node"], -size[row["file"]]) for row in schedule["evictions"]]
    steps += [
        (row["start_seconds"], 1, row["destination"], size[row["file"]])
        for row in schedule["transfers"]
    ]
    present = {node.id: sum(size[name] for name in node.holds) for node in problem.nodes}
    most = dict(present)
    for _, _, node, change in sorted(steps):
        present[node] += change
        most[node] = max(most[node], present[node])
    return most


@settings(max_examples=120, deadline=None)
@given(problems(), st.sampled_from(PLANNERS))
def test_planners_check_out_and_no_disk_overflows(
    problem: ReplicationProblem, planner: str
) -> None:
    result = ioopt.solve(problem, planner)
    assert result.violations == ()
    assert result.plan is not None
    assert result.schedule is not None
    assert len(result.schedule["tasks"]) == len(problem.tasks)
    limit = {node.id: node.disk_bytes for node in problem.nodes}
    most = most_on_disk(problem, result.schedule)
    assert all(most[name] <= limit[name] for name in most)
    bound = max(makespan_bound_seconds(problem), TransferBound(problem).seconds)
    assert result.metrics["makespan_seconds"] >= bound - 1e-9


@settings(max_examples=25, deadline=None)
@given(problems())
def test_link_aware_is_never_above_the_planners(problem: ReplicationProblem) -> None:
    best = ioopt.solve(problem, "link-aware", settings={"evaluations": 60})
    assert best.violations == ()
    assert best.objective is not None
    assert best.bound is not None
    assert best.bound <= best.objective * (1 + 1e-9)
    for planner in PLANNERS:
        replayed = ioopt.solve(problem, planner).metrics["makespan_seconds"]
        assert best.objective <= replayed * (1 + 1e-9)


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


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=6),
    st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=8),
)
def test_max_min_rates_fill_a_resource_of_every_flow(
    capacities: list[int], wanted: list[set[int]]
) -> None:
    flows = [sorted({r % len(capacities) for r in resources}) for resources in wanted]
    width, count = max(map(len, flows)), len(capacities)
    use = [r for flow in flows for r in [*flow, *[-1] * (width - len(flow))]]
    rates = [0.0] * len(flows)
    fill(capacities, use, len(flows), width, rates, [0.0] * count, [0] * count)
    loads = [
        sum(rate for rate, flow in zip(rates, flows) if r in flow) for r in range(len(capacities))
    ]
    assert all(load <= capacity + 1e-9 for load, capacity in zip(loads, capacities))
    for rate, flow in zip(rates, flows):
        assert any(
            loads[r] == pytest.approx(capacities[r])
            and all(rate >= other - 1e-9 for other, row in zip(rates, flows) if r in row)
            for r in flow
        )


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=40, deadline=None)
@given(problem=problems())
def test_same_seed_same_plan_and_both_engines_agree(
    problem: ReplicationProblem, engine: Any
) -> None:
    first = ioopt.solve(problem, "link-aware", seed=3, settings={"evaluations": 40})
    again = ioopt.solve(problem, "link-aware", seed=3, settings={"evaluations": 40})
    assert first.plan == again.plan
    plan = ioopt.solving.plan_of(ioopt.registry.kind_of_problem(problem), first.plan)
    plain, fast = (simulate(problem, plan, engine=name) for name in ("python", engine))
    assert plain.schedule == fast.schedule
    assert dict(plain.metrics) == dict(fast.metrics)
