"""JobDataPresent with DataLeastLoaded, by hand (rule 9)."""

import pytest
from replication_samples import made

from ioopt.problems.replication import CopyEntry
from ioopt.solvers.replication.greedy.job_data_present import plan_job_data_present


@pytest.mark.parametrize(("tasks", "copies"), [(5, 0), (6, 1), (11, 1), (12, 2), (30, 2)])
def test_every_sixth_access_since_the_last_copy_makes_one(tasks: int, copies: int) -> None:
    """One file, one access a task: copied at the 6th, at the 12th, then no node lacks it."""
    problem = made(3, {"f": 10}, {f"t{k}": (1, "f") for k in range(tasks)}, 10, 20)
    plan, _ = plan_job_data_present(problem)
    entries = [entry for queue in plan.order.values() for entry in queue]
    assert sum(isinstance(entry, CopyEntry) for entry in entries) == copies
    never, _ = plan_job_data_present(problem, threshold=None)
    assert sum(map(len, never.order.values())) == tasks


@pytest.mark.parametrize(
    ("when", "order"),
    [
        # a brings f to n0, b brings g to n1, which has less to do.
        ("start", {"n0": ("a", "c"), "n1": ("b", "d")}),
        # n0 idles at 2 and 3 s, n1 at 5 s.
        ("idle-head", {"n0": ("a", "c", "d"), "n1": ("b",)}),
        # To n1, idle from 0 on, c takes a copy alone; it idles at 1.5 s, n0 at 2 s.
        ("idle-scan", {"n0": ("a", "d"), "n1": ("c", "b")}),
    ],
)
def test_a_task_goes_where_its_data_are_or_to_who_idles(when: str, order: dict) -> None:
    tasks = {"a": (1, "f"), "b": (4, "g"), "c": (1, "f"), "d": (1, "g")}
    problem = made(2, {"f": 10, "g": 10}, tasks, 10, 20)
    plan, _ = plan_job_data_present(problem, when=when)
    assert plan.order == order
