"""The numbers of cores in schedules, of batches and workflows, and their check."""

from __future__ import annotations

from typing import Any

import pytest

import ioopt
from ioopt.checks.replication.check import check
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.simulate import simulate


def _problem(cores: int) -> ReplicationProblem:
    return ReplicationProblem.model_validate(
        {
            "network": {
                "remote_bytes_per_second": 10.0,
                "replica_bytes_per_second": 40.0,
            },
            "nodes": [{"id": "a", "cores": cores}],
            "files": [{"id": "f", "bytes": 10}],
            "tasks": [
                {"id": "t1", "compute_seconds": 3.0},
                {"id": "t2", "compute_seconds": 1.0, "inputs": ["f"]},
                {"id": "t3", "compute_seconds": 1.0},
            ],
        }
    )


PLAN = ReplicationPlan.model_validate(
    {"order": {"a": ["t1", "t2", {"copy": "f"}, "t3"]}}
)


def test_a_batch_states_the_cores_of_tasks_and_of_copy_entries() -> None:
    schedule = simulate(_problem(1), PLAN).schedule
    assert [row["cores"] for row in schedule["tasks"]] == [[0]] * 3
    rows = [{"file": "f", "node": "a", "seconds": 4.0, "cores": [0]}]
    assert schedule["copy_entries"] == rows
    result = ioopt.solve("cycle3", "minmin")
    assert result.schedule is not None
    assert all(row["cores"] == [0] for row in result.schedule["tasks"])


def test_a_copy_entry_takes_the_core_that_has_been_idle_longest() -> None:
    """t1 takes core 0 for 0-3, t2 core 1 for 1-2; the copy entry core 2 at 1, and t3
    then has core 3, which has been idle since 0.
    """
    schedule = simulate(_problem(4), PLAN).schedule
    taken = {row["id"]: row["cores"] for row in schedule["tasks"]}
    assert taken == {"t1": [0], "t2": [1], "t3": [3]}
    assert schedule["copy_entries"][0]["cores"] == [2]


@pytest.mark.parametrize(
    ("part", "cores", "text"),
    [
        ("tasks", [2], "t2: takes core 2 of a, which has 2"),
        ("tasks", [0], "t2: takes core 0 of a while t1 computes"),
        ("tasks", [0, 1], "t2: takes the cores [0, 1] of a, but needs 1"),
        ("tasks", [], "t2: takes the cores [] of a, but needs 1"),
        ("copy_entries", [0, 1], "f: takes the cores [0, 1] of a, but needs 1"),
        ("copy_entries", [2], "f: takes core 2 of a, which has 2"),
    ],
)
def test_the_checker_holds_the_numbers(part: str, cores: list[int], text: str) -> None:
    schedule = simulate(_problem(2), PLAN).schedule
    assert check(_problem(2), PLAN, schedule).violations == ()
    rows: list[dict[str, Any]] = schedule[part]
    row = next(row for row in rows if row.get("id", "t2") == "t2")
    row["cores"] = cores
    found = check(_problem(2), PLAN, schedule).violations
    lines = [f"{item.item}: {item.message}" for item in found if item.rule == "cores"]
    assert text in lines


def test_schedules_without_the_numbers_still_pass() -> None:
    problem = _problem(1)
    result = ioopt.solve(problem, "minmin").to_dict()
    for row in result["schedule"]["tasks"]:
        del row["cores"]
    assert ioopt.check(problem, result) == []
