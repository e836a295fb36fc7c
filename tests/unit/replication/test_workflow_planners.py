"""HEFT, b-level and ready-min-min on workflows: worked cases, a slow oracle,
limits, old batches.
"""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from conftest import deadline_of_checks, shared_files
from random_replication import random_case
from random_workflows import random_workflow
from replication_samples import made
from workflow_planners import compare, last_ends, named

import ioopt
from ioopt.errors import OutOfTime, UnsolvableInstanceError
from ioopt.options import Deadline
from ioopt.solvers.replication.greedy.list_scheduler import (
    B_LEVEL,
    HEFT,
    MIN_MIN,
    Behind,
    Gaps,
    ListScheduler,
)
from ioopt.solvers.replication.plans import workflow_in_file_order

ROWS = {"heft": HEFT, "b-level": B_LEVEL, "ready-min-min": MIN_MIN}
CASES = [
    path
    for path in (
        *shared_files("cases/workflow", "5*.json"),
        *shared_files("cases/shared-memory"),
    )
    if "planned" in json.loads(path.read_text())  # the others are dispatch runs
]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_worked_cases(path: Path) -> None:
    case = json.loads(path.read_text())
    problem = ioopt.load(case["instance"])
    planned = case["planned"]
    plan = ListScheduler(problem, ROWS[case["planner"]]).run()
    second = plan.ticks.second
    assert named(plan) == case["order"]
    if case["planner"] == "ready-min-min":
        assert last_ends(plan) == [
            Fraction(value) for value in planned["ready_seconds"].values()
        ]
        return
    for k, task in enumerate(problem.tasks):
        times = [Fraction(plan.start[k], second), Fraction(plan.end[k], second)]
        assert times == [Fraction(time) for time in planned["tasks"][task.id]]
        assert Fraction(plan.ranks[k], second) == Fraction(planned["rank"][task.id])


@pytest.mark.parametrize("seeds", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_plans_equal_the_exact_planners(seeds: int) -> None:
    evictions = sum(compare(seed, needs=seed % 3 == 0) for seed in range(seeds))
    assert evictions > seeds, "the disks must be tight enough to test anything"


@pytest.mark.parametrize("seeds", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_plans_for_shared_storage_equal_the_exact_planners(seeds: int) -> None:
    for seed in range(seeds):
        compare(seed, needs=seed % 2 == 0, shared=True)


def test_a_batch_is_planned_as_minmin_plans_it() -> None:
    problem = ioopt.load(random_case(1)[0])
    mine, theirs = (ioopt.solve(problem, name) for name in ("ready-min-min", "minmin"))
    assert (mine.plan, mine.metrics) == (theirs.plan, theirs.metrics)


@pytest.mark.parametrize("planner", ["heft", "b-level", "ready-min-min"])
def test_a_limit_that_is_too_short_is_told_with_one_that_would_do(
    planner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at before tasks 0, 50, ..: two looks in 1.5 s, a quarter done:
    1.2 x 2 s / .25 + .8 s.
    """
    tasks = {
        f"t{k}": (1, [f"p{k - 50}"] if k >= 50 else [], [f"p{k}"]) for k in range(200)
    }
    files = {f"p{k}": 1 for k in range(200)}
    problem = made([{"cores": 2}, {}], files, tasks, 10, 40)
    late = deadline_of_checks(2)
    with pytest.raises(
        OutOfTime, match="50 of 200 tasks were planned; about 15 s would do"
    ):
        ListScheduler(problem, ROWS[planner]).run(late)
    monkeypatch.setattr(Deadline, "expired", lambda deadline: True)
    result = ioopt.solve(problem, planner)
    assert result.violations == () and result.plan is not None
    text = (
        "MinMin (the deadline passed after 0 of 200 tasks were planned): planned in "
        "the order of the instance"
    )
    assert any(text in note for note in result.notes)


def test_a_late_workflow_goes_in_the_order_of_the_file_to_who_is_free_first() -> None:
    """n1 is twice as fast; c stands before a, whose product it reads, and w
    takes n0's two cores.

    a is the first that waits for nothing: to n0 (both free at 0 s), 4 / 2 cores = 2
    s. w fits n0 alone: 2 + 6 / 2 = 5 s. Then c, 4 / 2 = 2 s, to n1, which is free at
    0 s, and e, at 2 s, too.
    """
    nodes = [{"cores": 2}, {"speed": 2}]
    tasks = {
        "c": (4, "p"),
        "a": (4, "", "p"),
        "w": (6, "", "", {"cores": 2}),
        "e": (1, ""),
    }
    problem = made(nodes, {"p": 5}, tasks, 10, 40)
    plan = workflow_in_file_order(problem)
    # a, then c, which a made ready and which stands first, then w, then e.
    assert plan.order == {"n0": ("a", "w"), "n1": ("c", "e")}
    assert ioopt.simulate(problem, plan).metrics["makespan_seconds"] == 10


def test_a_task_that_fits_no_node_is_named() -> None:
    instance = random_workflow(3)
    instance["tasks"][0]["cores"] = 99
    problem = ioopt.load(instance)
    for components in ROWS.values():
        with pytest.raises(UnsolvableInstanceError, match="99 cores"):
            ListScheduler(problem, components).run()


def test_gaps_between_tasks_on_several_cores() -> None:
    """Four cores: 2 from 0 to 10, 2 more from 4 to 6, and 1 from 12 to 14."""
    gaps = Gaps(4, [1, 2, 4, 8])
    for cores, start, end in ((2, 0, 10), (2, 4, 6), (1, 12, 14)):
        gaps.take(cores, start, end)
    far = 10**9
    assert gaps.earliest(2, 0, 4, far) == 0
    assert gaps.earliest(2, 0, 5, far) == 6
    assert gaps.earliest(1, 3, 2, far) == 6
    assert gaps.earliest(4, 0, 2, far) == 10
    assert gaps.earliest(4, 0, 3, far) == 14
    assert gaps.earliest(2, 4, 0, far) == 6  # no time is needed, but the cores are
    assert gaps.earliest(4, 10, 0, far) == 10
    gaps.take(4, 10, 12)
    assert (gaps.times, gaps.used) == ([0, 4, 6, 10, 12, 14], [2, 4, 2, 4, 1, 0])
    assert gaps.idle[2] == ([0, 6, 12], [4, 10, float("inf")])


def test_cores_are_counted_not_listed() -> None:
    free = Behind(10**18)
    for end in range(3, 7):
        free.take(10**17, 0, end)
    assert free.earliest(6 * 10**17) == 0
    assert free.earliest(6 * 10**17 + 1) == 3
    assert free.earliest(10**18) == 6
