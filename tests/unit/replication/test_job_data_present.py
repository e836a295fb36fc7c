"""JobDataPresent with DataLeastLoaded, by hand (rule 9)."""

from __future__ import annotations

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
