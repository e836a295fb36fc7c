"""Bounds that know transfers between nodes, worked out by hand;
random plans; false ones.
"""

import pytest
from workflow_bounds import workflow, wrong_bounds

import ioopt
from ioopt.models.replication.workflow_bound import (
    TransferBound,
    WorkflowBound,
    bounds_of,
    least_of_both,
)
from ioopt.problems.base import once_a_problem
from ioopt.problems.replication import ReplicationProblem


def test_a_level_that_is_spread_moves_its_files() -> None:
    """Fork and join of two: the join waits till 4 + 6 X = 10 + 2 (2 - X), X =
    1.25 of two kept here.

    That is 11.5 s, then 2 s; the plain bound is the path 4 + 6 + 2. Spread it takes 4 +
    2 + 6 + 2 + 2 = 16 s.
    """
    problem = workflow(
        [{}, {}],
        split=(4, "", "ab"),
        left=(6, "a", "c"),
        right=(6, "b", "d"),
        join=(2, "cd", ""),
    )
    assert WorkflowBound(problem).seconds == 12.0
    assert TransferBound(problem).seconds == pytest.approx(13.5)
    result = ioopt.solve(problem, "heft")
    assert result.metrics["lower_bound_seconds"] == 12.0
    assert (
        result.bound == result.metrics["transfer_bound_seconds"] == pytest.approx(13.5)
    )
    assert result.violations == ()


def test_what_cannot_share_a_node_moves() -> None:
    """The first needs room for two files, the second the fast node: 4 s, 2 s
    for the file, then 3 s.
    """
    problem = workflow(
        [{"disk_bytes": 90}, {"disk_bytes": 70, "speed": 2}],
        first=(4, "", "ab"),
        second=(6, "a", ""),
    )
    assert WorkflowBound(problem).seconds == 4 + 6 / 2
    # On the slow node the second takes 6 s after the first; on the other 2 s and 3 s.
    assert TransferBound(problem).seconds == 4 + min(6, 2 + 3)


def test_the_tail_of_a_task_counts_what_leaves_its_node() -> None:
    """Three readers of a file each: 4 + T with T = 6 X = 6 + 2 (3 - X), X
    = 1.5 of three stay.
    """
    problem = workflow(
        [{}] * 9,
        split=(4, "", "abc"),
        one=(6, "a", ""),
        two=(6, "b", ""),
        three=(6, "c", ""),
    )
    assert WorkflowBound(problem).seconds == 10.0
    assert TransferBound(problem).seconds == pytest.approx(4 + 6 * 1.5)


def test_what_is_fetched_for_longer_work_comes_first_at_best() -> None:
    """8 s for both files; the long reader's file need not be last: 4 + 20
    s, but then 8 + 1 s.
    """
    problem = workflow([{}, {}], long=(20, "a", ""), short=(1, "b", ""))
    assert TransferBound(problem).link == 24.0
    assert WorkflowBound(problem).link == 9.0


def test_three_tasks_on_two_cores_leave_two_on_one() -> None:
    """Work of 9 s and twice 8 s: 25 / 2 by cores, but two of three share a core;
    1 s before and after.
    """
    problem = workflow(
        [{}, {}],
        head=(1, "", "a"),
        one=(9, "a", "b"),
        two=(8, "a", "c"),
        three=(8, "a", "d"),
        last=(1, "bcd", ""),
    )
    assert TransferBound(problem).core_area >= 1 + 8 + 8 + 1
    five = workflow([{}, {}], **{name: (3, "", "") for name in "abcde"})  # type: ignore[arg-type]
    assert WorkflowBound(five).seconds == 7.5
    assert TransferBound(five).seconds == 9.0


def test_a_disk_holds_the_files_of_the_tasks_that_compute() -> None:
    """Four tasks of 6 s read one file, which comes after 4 s, and write one each, of 40
    bytes all. Of a disk of 100 bytes, on two cores, they take (40 + 40 / 2) x 6 x 4 /
    100 = 14.4 s. On four cores they can share the input: 12 s. Three disks: 4.8 s.
    """
    cores = {"cores": 4, "disk_bytes": 100}
    tasks = {name: (6.0, "x", name) for name in "abcd"}
    problem = workflow([{**cores, "cores": 2}], **tasks)
    assert TransferBound(problem).disk_area == 4 + 14.4
    assert TransferBound(workflow([cores], **tasks)).disk_area == 4 + 12.0
    several = workflow([{**cores, "cores": 2}] * 3, **tasks)
    assert TransferBound(several).disk_area == pytest.approx(4 + 4.8)
    unlimited = workflow([{**cores, "disk_bytes": None}], **tasks)
    assert TransferBound(unlimited).disk_area == 0.0
    assert ioopt.solve(problem, "fifo").value >= 4 + 14.4


def test_least_of_both_divides_by_what_moves_longest() -> None:
    # 4 s of computing saves 4 s of moving first: .625 of it leaves 2.5 s on both.
    assert least_of_both([(4.0, 4.0), (4.0, 1.0)], 0.0, 0.0) == 2.5
    assert least_of_both([(4.0, 4.0)], 9.0, 1.0) == 9.0
    assert least_of_both([(float("inf"), 4.0), (0.0, 7.0)], 0.0, 1.0) == 5.0


@pytest.mark.parametrize(
    ("seeds", "plans"),
    [(range(1, 61), 5), pytest.param(range(1, 401), 17, marks=pytest.mark.slow)],
)
def test_no_bound_is_above_any_plan(seeds: range, plans: int) -> None:
    rows = [wrong_bounds(seed, plans) for seed in seeds]
    assert [text for _, texts in rows for text in texts] == []
    assert sum(count for count, _ in rows) > 6 * len(seeds)


@pytest.mark.parametrize(
    ("factor", "rules"), [(1.0, []), (0.5, ["metric"]), (1.5, ["metric"])]
)
def test_a_bound_below_rule_18_or_above_the_plan_is_refuted(
    factor: float, rules: list[str]
) -> None:
    result = ioopt.solve("flow-fork-join", "heft").to_dict()
    least, most = (
        result["metrics"]["lower_bound_seconds"],
        result["metrics"]["makespan_seconds"],
    )
    result["metrics"]["transfer_bound_seconds"] *= factor
    assert (least <= result["metrics"]["transfer_bound_seconds"] <= most) == (not rules)
    assert [found.rule for found in ioopt.check("flow-fork-join", result)] == rules


def test_bounds_are_computed_once_a_problem_and_link() -> None:
    problem = ioopt.load("eight-tasks")
    bound = bounds_of(WorkflowBound, problem)
    assert bounds_of(WorkflowBound, problem) is bound
    private = bounds_of(WorkflowBound, problem, "per-node")
    assert private is not bound and private.link_model == "per-node"
    assert type(bounds_of(TransferBound, problem)) is TransferBound
    assert bounds_of(WorkflowBound, problem) is bound
    network = problem.network.model_copy(update={"remote_bytes_per_second": 1.0})
    slow = problem.model_copy(update={"network": network})
    assert bounds_of(WorkflowBound, slow).seconds > bound.seconds
    assert bounds_of(WorkflowBound, problem).seconds == bound.seconds


def test_a_value_is_computed_once_for_the_last_problem() -> None:
    asked = []

    @once_a_problem
    def tasks(problem: ReplicationProblem) -> int:
        asked.append(problem.name)
        return len(problem.tasks)

    eight = ioopt.load("eight-tasks")
    six = ioopt.load("cycle3")
    assert [tasks(eight), tasks(eight), tasks(six), tasks(eight)] == [8, 8, 6, 8]
    assert asked == ["eight-tasks", "cycle3", "eight-tasks"]
    again = ioopt.load("eight-tasks")
    assert again == eight and tasks(again) == 8 and len(asked) == 4
