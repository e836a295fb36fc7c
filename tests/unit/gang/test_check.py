"""The gang checkers: a schedule that keeps every rule, and edits that
break one rule each.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from gang_tools import decision, workload

import ioopt
from ioopt.checks.gang.check import check
from ioopt.checks.gang.matrix import check as check_matrix
from ioopt.problems.gang import GangMatrixPlan, GangMatrixProblem, GangProblem

WORKLOAD = workload(
    [
        (0, [0, 1, 2], 300, 600),
        (0, [0, 1, 2], 300, 600),
        (10, [0, 1], 600, 1200),
        (20, [3], 700, 1400),
    ],
    nodes=6,
    levels=2,
    migration_seconds=20.0,
    migration_tasks_per_quantum=2,
)
PROBLEM = GangProblem.model_validate(WORKLOAD)


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    """The schedule of migrate-iogs: job 2 starts remote and migrates at 500 s."""
    result = ioopt.solve(PROBLEM, "migrate-iogs")
    assert result.status == "feasible"
    schedule = result.schedule or {}
    assert [job["finish_seconds"] for job in schedule["jobs"]] == [
        500.0,
        600.0,
        1075.0,
        1000.0,
    ]
    return schedule


def _placed(schedule: dict[str, Any], job: int, number: int = 0) -> dict[str, Any]:
    """The *number*-th placement of *job* in the history."""
    entries = (entry for update in schedule["updates"] for entry in update["placed"])
    found: dict[str, Any] = [entry for entry in entries if entry["id"] == job][number]
    return found


def _set(
    key: str, value: Any, job: int, number: int = 0
) -> Callable[[dict[str, Any]], None]:
    return lambda schedule: _placed(schedule, job, number).__setitem__(key, value)


def _finish(job: int, seconds: float) -> Callable[[dict[str, Any]], None]:
    return lambda schedule: schedule["jobs"][job].__setitem__("finish_seconds", seconds)


BREAKS: list[tuple[str, str, Callable[[dict[str, Any]], None]]] = [
    ("cell-twice", "two jobs in one cell", _set("rows", [0, 1], 0)),
    ("home-row", "home row not held", _set("home_row", 1, 0)),
    ("home-row", "a row twice", _set("rows", [0, 0], 0)),
    ("columns", "too few columns", _set("columns", [0, 1], 0)),
    ("outside", "a node that is not there", _set("columns", [0, 1, 6], 0)),
    ("local", "remote job said to be local", _set("local", True, 2)),
    (
        "work-conserved",
        "a job that ends with work left",
        lambda s: _placed(s, 3, -1).update(rows=[0]),
    ),
    (
        "start",
        "placed at another time than said",
        lambda s: s["jobs"][3].__setitem__("start_seconds", 21.0),
    ),
    (
        "start-before-arrival",
        "starts early",
        lambda s: s["jobs"][3].__setitem__("start_seconds", 19.0),
    ),
    ("too-short", "done before it can be", _finish(0, 200.0)),
    ("finish", "leaves before it finishes", _finish(3, 1300.0)),
    ("job-missing", "a job left out", lambda s: s["jobs"].pop()),
    ("job-twice", "a job twice", lambda s: s["jobs"].append(s["jobs"][0])),
    (
        "unknown-job",
        "an unknown job",
        lambda s: s["jobs"].append({**s["jobs"][0], "id": 9}),
    ),
    ("times", "a time that is none", _finish(0, float("nan"))),
    ("unfinished", "a job that never leaves", lambda s: s["updates"].pop()),
    ("order", "updates out of order", lambda s: s["updates"].reverse()),
    (
        "migration",
        "a move that is not to the file nodes",
        lambda s: _placed(s, 2, 2).update(columns=[0, 5], local=False),
    ),
    (
        "local",
        "local at the end, but not said",
        lambda s: s["jobs"][1].update(local=False),
    ),
]


def test_good_schedule_has_no_violation(good: dict[str, Any]) -> None:
    report = check(PROBLEM, None, good)
    assert report.violations == ()
    assert report.metrics["matrix_checked"]
    # (500/300 + 600/300 + (1075 - 10)/600 + (1000 - 20)/700) / 4
    assert report.objectives["mean_slowdown"] == pytest.approx(
        (500 / 300 + 2 + 1065 / 600 + 980 / 700) / 4
    )


@pytest.mark.parametrize(
    ("rule", "what", "edit"), BREAKS, ids=[what for _, what, _ in BREAKS]
)
def test_broken_schedule(
    good: dict[str, Any], rule: str, what: str, edit: Callable[[dict[str, Any]], None]
) -> None:
    schedule = copy.deepcopy(good)
    edit(schedule)
    rules = {violation.rule for violation in check(PROBLEM, None, schedule).violations}
    assert rule in rules, what


def test_budget_and_stall_are_held(good: dict[str, Any]) -> None:
    """The same schedule is too much for Q = 1, and wrong for C = 0 (20
    s of work too many).
    """

    def on(**machine: Any) -> GangProblem:
        changed = {"machine": PROBLEM.machine.model_copy(update=machine)}
        return PROBLEM.model_copy(update=changed)

    small = on(migration_tasks_per_quantum=1)
    assert {v.rule for v in check(small, None, good).violations} == {"migration-budget"}
    (violation,) = check(on(migration_seconds=0.0), None, good).violations
    assert violation.rule == "work-conserved"
    assert violation.amount == pytest.approx(20.0)


def test_tolerances_are_those_of_the_rules(good: dict[str, Any]) -> None:
    """Events within 1e-7 s are one (rule 3); 2e-6 s before the work
    is done is too early.
    """
    for early, rules in (
        (1e-7, set()),
        (2e-6, {"work-conserved"}),
        (1e-4, {"work-conserved"}),
    ):
        schedule = copy.deepcopy(good)
        schedule["jobs"][0]["finish_seconds"] = 500.0 - early
        assert {v.rule for v in check(PROBLEM, None, schedule).violations} == rules


def test_without_history_only_bounds_are_checked(good: dict[str, Any]) -> None:
    bare = {"jobs": good["jobs"]}
    report = check(PROBLEM, None, bare)
    assert report.violations == ()
    assert not report.metrics["matrix_checked"]


MATRIX: GangMatrixProblem = ioopt.load(
    decision(
        [
            (
                "a",
                [0, 1],
                [0, 1],
                0,
                400.0,
                800.0,
                {"remaining_fraction": 0.5, "attained_seconds": 100.0},
            ),
            ("b", [0, 2], [2, 3], 1, 400.0, 800.0, {"attained_seconds": 300.0}),
        ],
        [("c", [1], 50.0, 75.0)],
        migration_seconds=20.0,
    )
    | {"migration_tasks_left": 1}
)


def _plan(**changes: Any) -> GangMatrixPlan:
    """a stays in row 0 and 1; b migrates to row 0 and 1 (one task); c waits."""
    jobs = {
        "a": {"id": "a", "columns": [0, 1], "home_row": 0, "rows": [0, 1]},
        "b": {"id": "b", "columns": [2, 3], "home_row": 0, "rows": [0, 1]},
    }
    for job, change in changes.items():
        jobs[job] = {**jobs.get(job, {"id": job}), **change}
    return GangMatrixPlan.model_validate({"jobs": list(jobs.values())})


def test_value_of_a_matrix() -> None:
    """a: 2 rows at speed 1; b: 2 rows at 1 - 20/200 = 0.9.

    las: 2/200^2 + 1.8/400^2. hdf: a has 200 s left, 2/(400 x 200); b has
    800 s, 1.8/(400 x 800).
    """
    report = check_matrix(MATRIX, _plan(), None)
    assert report.violations == ()
    assert report.objectives["value_one"] == pytest.approx(3.8)
    assert report.objectives["value_las"] == pytest.approx(2 / 40_000 + 1.8 / 160_000)
    assert report.objectives["value_hdf"] == pytest.approx(2 / 80_000 + 1.8 / 320_000)
    assert report.metrics["migrated_tasks"] == 1
    assert report.metrics["matrix_utilisation"] == 1.0


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("cell-twice", {"c": {"columns": [1], "home_row": 1, "rows": [1]}}),
        ("columns", {"a": {"columns": [0], "rows": [0]}}),
        ("outside", {"a": {"rows": [0, 2]}}),
        ("home-row", {"a": {"home_row": 1, "rows": [0]}}),
        (
            "migration",
            {"b": {"columns": [1, 2], "home_row": 1, "rows": [1]}, "a": {"rows": [0]}},
        ),
        ("unknown-job", {"z": {"columns": [1], "home_row": 1, "rows": [1]}}),
        ("local", {"a": {"local": False}}),
    ],
)
def test_broken_matrix(rule: str, changes: dict[str, Any]) -> None:
    assert rule in {
        v.rule for v in check_matrix(MATRIX, _plan(**changes), None).violations
    }


def test_dropped_jobs_and_spent_budgets_are_found() -> None:
    dropped = GangMatrixPlan.model_validate({"jobs": [_plan().jobs[0].model_dump()]})
    assert [v.rule for v in check_matrix(MATRIX, dropped, None).violations] == [
        "job-dropped"
    ]
    tight = MATRIX.model_copy(update={"migration_tasks_left": 0})
    assert [v.rule for v in check_matrix(tight, _plan(), None).violations] == [
        "migration-budget"
    ]


def _two_moves(second: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two jobs of one task that begin away from their files and move, at 60
    s and at *second* s.

    Away 600 s are to be computed, at home 300 s. The first has done 60 / 600 by 60 s
    and ends .9 x 300 s later, at 330 s; the second has (1 - t / 600) x 300 s left at t.
    """
    machine: dict[str, Any] = {
        "nodes": 4,
        "levels": 1,
        "quantum_seconds": 50.0,
        "migration_tasks_per_quantum": 1,
    }
    instance = workload([(0, [0], 300, 600), (0, [2], 300, 600)], **machine)
    ends = [330.0, second + (1 - second / 600) * 300]

    def placed(job: int, column: int) -> dict[str, Any]:
        local = column == (0, 2)[job]
        return {
            "id": job,
            "columns": [column],
            "home_row": 0,
            "rows": [0],
            "local": local,
        }

    updates = [
        {"seconds": 0.0, "left": [], "placed": [placed(0, 1), placed(1, 3)]},
        {"seconds": 60.0, "left": [], "placed": [placed(0, 0)]},
        {"seconds": second, "left": [], "placed": [placed(1, 2)]},
        {"seconds": ends[0], "left": [0], "placed": []},
        {"seconds": ends[1], "left": [1], "placed": []},
    ]
    rows = [
        {"id": job, "start_seconds": 0.0, "finish_seconds": ends[job], "local": True}
        for job in (0, 1)
    ]
    return instance, {"jobs": rows, "updates": updates}


@pytest.mark.parametrize(
    ("second", "rules"),
    [
        (90.0, ["migration-budget"]),  # in the slice from 50 s, as the first
        (99.999, ["migration-budget"]),
        (99.99999995, []),  # within 1e-7 s of the next slice is in it (rule 3)
        (100.0, []),
        (110.0, []),
    ],
)
def test_a_move_at_a_slices_end_counts_in_the_next_slice(
    second: float, rules: list[str]
) -> None:
    instance, schedule = _two_moves(second)
    found = check(GangProblem.model_validate(instance), None, schedule).violations
    assert [item.rule for item in found] == rules
    assert [item.amount for item in found] == [1.0] * len(rules)
