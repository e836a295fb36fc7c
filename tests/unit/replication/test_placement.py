"""Tasks placed by disk: where annealing begins."""

from __future__ import annotations

import pytest
from replication_samples import made

import ioopt
from ioopt.models.replication.static import reduce
from ioopt.solvers.replication.search.anneal import placed_by_disk


@pytest.mark.parametrize("speed", [1, 1000])
@pytest.mark.parametrize("small", [7, 64_000_000, 100_000_000])
def test_no_task_goes_to_a_disk_that_cannot_hold_its_files(small: int, speed: int) -> None:
    """Two disks that together hold less than both 64 MB files, or one file each but not a pair.

    On the small disk no task with 128 MB can ever run, however fast its node is.
    """
    problem = ioopt.load("two-pairs").model_dump(mode="json", by_alias=True)
    problem["nodes"][0] |= {"disk_bytes": small, "speed": speed}
    problem["nodes"][1]["disk_bytes"] = 128_000_000
    problem["tasks"][2]["inputs"] = ["f0", "f1"]
    where = placed_by_disk(reduce(ioopt.load(problem)))
    assert where[2] == 1
    if small == 7:
        assert set(where) == {1}


def test_unequal_speeds_decide_where_tasks_go() -> None:
    """One fast and one slow node, four tasks of 100 s that each fetch 1 s of bytes.

    All on the node of speed 100: 4 x 1 fetched and 4 x 1 computed, 8 s.
    """
    tasks = {name: (100, name) for name in "abcd"}
    problem = made([{}, {"speed": 100}], dict.fromkeys("abcd", 1), tasks, 1, 1)
    instance = reduce(problem)
    assert placed_by_disk(instance) == (1, 1, 1, 1)
