"""LP relaxation and rounding: bound, plan, transfers for a fixed assignment, disks."""

from __future__ import annotations

import pytest

import ioopt
from ioopt.catalog import bundled
from ioopt.generate.replication.generate import generate
from ioopt.models.replication.static import loads, reduce
from ioopt.result import Status
from ioopt.solvers.replication.greedy.lp_rounding import balanced_moves


def _solve(problem, **settings):
    result = ioopt.solve(problem, "lp-rounding", time_limit=30, settings=settings)
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL), (result.notes, result.violations)
    assert ioopt.check(problem, result) == []
    return result


@pytest.mark.parametrize("name", ["cycle3", "idle-root", "two-pairs", "held"])
def test_hand_solved_instances_are_bracketed(name):
    best = bundled(name)["best_objective"]
    result = _solve(name)
    assert result.bound <= best + 1e-9 and best <= result.objective + 1e-9
    exact = ioopt.solve(name, "ip", time_limit=20)
    assert exact.status is Status.OPTIMAL and exact.objective == pytest.approx(best)


@pytest.mark.parametrize(
    ("preset", "tasks", "most"), [("image-85", 60, 0.1), ("sat-85", 60, 0.05), ("ppa", 300, 0.05)]
)
def test_gap_on_small_workloads(preset, tasks, most):
    problem = generate(preset, {"tasks": tasks, "nodes": 3, "disk": "unlimited"}, 1)
    result = _solve(problem, solves="6")
    assert result.metrics["relaxations"] >= 2
    assert result.gap <= most


def test_any_node_may_fetch_and_copies_pay_at_both_ends():
    # f0 (64 MB: 5.12 s, a copy 0.064 s) read on n0 and n1, which compute 4 s each; n2 is idle.
    # n2 fetches and sends twice: 5.12 + 0.128; n0, n1: 4 + 0.064. A reader would end at 9.184.
    problem = ioopt.load("cycle3")
    tasks = [task.model_copy(update={"compute_seconds": 4.0}) for task in problem.tasks[:2]]
    problem = type(problem).model_validate(problem.model_dump() | {"tasks": tasks})
    instance = reduce(problem)
    moves = balanced_moves(instance, [0, 1])
    assert moves.remote == ((0, 2),) and sorted(moves.copies) == [(0, 2, 0), (0, 2, 1)]
    seconds = [float(load * instance.unit) for load in loads(instance, moves)]
    assert seconds == pytest.approx([4.064, 4.064, 5.248])


def test_a_batch_that_no_round_holds_becomes_an_order():
    problem = generate("image-85", {"tasks": 40, "disk": "300MB"}, 0)
    result = _solve(problem, solves="3")
    assert result.plan["moves"] == "replay" and result.plan["remote"] == []


@pytest.mark.parametrize("speed", [1, 1000])
@pytest.mark.parametrize("small", [7, 64_000_000, 100_000_000])
def test_no_task_goes_to_a_disk_that_cannot_hold_its_files(small, speed):
    """Two disks that together hold less than both 64 MB files, or one file each but not a pair.

    On the small disk no task with 128 MB can ever run, however fast its node is.
    """
    problem = ioopt.load("two-pairs").model_dump(mode="json", by_alias=True)
    problem["nodes"][0] |= {"disk_bytes": small, "speed": speed}
    problem["nodes"][1]["disk_bytes"] = 128_000_000
    problem["tasks"][2]["inputs"] = ["f0", "f1"]
    result = _solve(problem)
    assert result.plan["assign"]["t2"] == "n1"
    if small == 7:
        problem["nodes"][1]["disk_bytes"] = 127_000_000
        problem["tasks"][2]["inputs"] = ["f1"]
        assert set(_solve(problem).plan["assign"].values()) == {"n1"}


def test_without_time_there_is_still_a_plan():
    problem = generate("image-85", {"disk": "unlimited"}, 0)
    result = ioopt.solve(problem, "lp-rounding", time_limit=0.05)
    assert result.status is Status.FEASIBLE and ioopt.check(problem, result) == []


def test_unequal_speeds_decide_where_tasks_go():
    """One fast and one slow node, four tasks of 100 s that each fetch 1 s of bytes.

    All on the node of speed 100: 4 x 1 fetched and 4 x 1 computed, 8 s. Any task on the other takes
    it 101 s, so a rounding by bytes alone, which spreads them, ends above 100 s.
    """
    problem = {
        "format": "ioopt/replication", "name": "speeds",
        "network": {"remote_bytes_per_second": 1, "replica_bytes_per_second": 1},
        "nodes": [{"id": "slow"}, {"id": "fast", "speed": 100}],
        "files": [{"id": f"f{k}", "bytes": 1} for k in range(4)],
        "tasks": [{"id": f"t{k}", "compute_seconds": 100, "inputs": [f"f{k}"]} for k in range(4)],
    }  # fmt: skip
    assert _solve(problem).objective == pytest.approx(8.0)


def test_moves_even_out_unequal_nodes():
    """Loads that bytes alone decide are 2.4 times as high on this batch as those after moves."""
    problem = ioopt.load("image-16x3").model_dump(mode="json", by_alias=True)
    for node, speed in zip(problem["nodes"], (10, 1, 1), strict=True):
        node["speed"] = speed
    for task in problem["tasks"]:
        task["compute_seconds"] *= 40
    assert _solve(problem).gap < 0.05
