"""The checker of workflows by hand: a schedule that keeps all rules, and one that
breaks each of them.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from replication_samples import document, made, moved, ran

import ioopt
from ioopt.checks.replication.check import check
from ioopt.problems.replication import ReplicationPlan

Change = Callable[[dict[str, Any]], None]


def problem() -> Any:
    """n0 has 2 cores and 60 bytes; a (1 s) writes x (60, keep) for c; b (2 s) reads
    g and takes 2 cores.

    Link 10 bytes/s: x is saved 1-7, then g comes 7-13, b 13-15; x comes again 15-21, c
    (1 s, arrives at 2 s) 21-22.
    """
    arrives = {"release_seconds": 2}
    tasks = {
        "a": (1, "", "x"),
        "b": (2, "g", "", {"cores": 2}),
        "c": (1, "x", "", arrives),
    }
    data = document([{"disk_bytes": 60, "cores": 2}], {"x": 60, "g": 60}, tasks, 10, 40)
    data["files"][0]["keep"] = True
    return ioopt.load(data)


PLAN = ReplicationPlan.model_validate({"order": {"n0": ["a", "b", "c"]}})
GOOD: dict[str, Any] = {
    "tasks": [ran("a", "n0", 0, 1), ran("b", "n0", 13, 15), ran("c", "n0", 21, 22)],
    "transfers": [
        moved("x", "n0", None, 1, 7),
        moved("g", None, "n0", 7, 13),
        moved("x", None, "n0", 15, 21),
    ],
    "evictions": [
        {"file": "x", "node": "n0", "seconds": 7},
        {"file": "g", "node": "n0", "seconds": 15},
    ],
}


def shifted(kind: str, row: int, start: float, end: float) -> Change:
    return lambda schedule: schedule[kind][row].update(
        start_seconds=start, end_seconds=end
    )


def without(kind: str, row: int) -> Change:
    return lambda schedule: schedule[kind].pop(row)


def saved(file: str, start: float, end: float) -> Change:
    return lambda schedule: schedule["transfers"].append(
        moved(file, "n0", None, start, end)
    )


BROKEN: list[tuple[Change, str]] = [
    (without("transfers", 0), "keep"),  # x is to be kept
    (without("transfers", 0), "at risk"),  # its last copy leaves, and c reads it
    (without("transfers", 0), "save"),  # it comes from where it never went
    (shifted("transfers", 0, 1, 8), "at risk"),  # the save has not ended when it leaves
    (shifted("transfers", 0, 0.5, 6.5), "save"),  # x is not made yet
    (saved("x", 22, 28), "save"),  # again
    (saved("g", 13, 15), "save"),  # no task writes g
    (shifted("tasks", 1, 14, 16), "staging"),  # g leaves at 15
    (shifted("transfers", 2, 1, 21), "transfer"),  # x is there already
    (shifted("tasks", 0, 0, 2), "duration"),
    (without("evictions", 0), "(21) disk"),
]


def rules(schedule: dict[str, Any], plan: ReplicationPlan = PLAN) -> set[str]:
    return {violation.rule for violation in check(problem(), plan, schedule).violations}


def test_a_good_schedule_is_accepted_and_measured() -> None:
    """The makespan is the end of c; 4 + 1 + 1 = 6 of 44 core-seconds are computing."""
    report = check(problem(), PLAN, copy.deepcopy(GOOD))
    assert report.violations == ()
    wanted = {
        "makespan_seconds": 22,
        "saved_bytes": 60,
        "spills": 0,
        "products_refetched": 1,
        "remote_bytes": 120,
        "remote_transfers": 2,
        "replications": 0,
        "cores_busy": 6 / 44,
    }
    assert {name: report.metrics[name] for name in wanted} == pytest.approx(wanted)


@pytest.mark.parametrize(("change", "rule"), BROKEN)
def test_each_broken_rule_is_found(change: Change, rule: str) -> None:
    schedule = copy.deepcopy(GOOD)
    change(schedule)
    assert rule in rules(schedule)


def test_cores_arrivals_and_actual_times() -> None:
    """Two cores: p and q together, r of 2 cores after them; q arrives at 1 s."""
    tasks = {
        "p": (4,),
        "q": (2, "", "", {"release_seconds": 1}),
        "r": (1, "", "", {"cores": 2}),
    }
    small = made([{"disk_bytes": 60, "cores": 2}], {}, tasks, 10, 40)
    plan = ReplicationPlan.model_validate({"order": {"n0": ["p", "q", "r"]}})

    def found(*times: tuple[float, float], **more: Any) -> set[str]:
        rows = [ran(name, "n0", *span) for name, span in zip("pqr", times, strict=True)]
        return {v.rule for v in check(small, plan, {"tasks": rows, **more}).violations}

    assert found((0, 4), (1, 3), (4, 5)) == set()
    assert found((0, 4), (1, 3), (3, 4)) == {"overlap"}
    assert found((0, 4), (0, 2), (4, 5)) == {"release"}
    assert found((0, 4), (5, 7), (4, 5)) == {"order"}
    assert found((0, 9), (1, 3), (9, 10)) == {"duration"}
    assert found((0, 9), (1, 3), (9, 10), actual_compute_seconds={"p": 9.0}) == set()
    assert found((0, 4), (1, 3), (4, 5), actual_compute_seconds={"z": 9.0}) == {
        "unknown"
    }


def test_plans_of_batches_are_not_plans_of_workflows() -> None:
    plan = ReplicationPlan.model_validate(
        {"order": {"n0": ["a", "b", "c"]}, "moves": "static"}
    )
    assert rules(copy.deepcopy(GOOD), plan) == {"moves"}
