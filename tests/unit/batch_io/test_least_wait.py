"""The starts that wait least, by hand and against queues that know less."""

from __future__ import annotations

import random
from typing import Any

import pytest

import ioopt
from ioopt.errors import NotApplicableError
from ioopt.solvers.batch_io.least_wait import least_wait
from tests.unit.batch_io.test_burst_buffer import instance, job


def queue(*jobs: tuple[int, int, int, int], **options: Any) -> Any:
    """A problem of jobs (submit, nodes, bytes, seconds)."""
    rows = [job((w, 0), nodes=n, submit=r, wall=w, B=b) for r, n, b, w in jobs]
    return ioopt.load(instance(*rows, options=options))


def test_by_hand() -> None:
    """4 nodes, 16 B. All at 0: job 0 (4 nodes, 6 s) goes last of all: 0, 0 and 3 for it, 3 in all; first it
    would make the others wait 12. With 12 B each the two short ones cannot run at once: 0 + 2 + 5."""
    found = least_wait(queue((0, 4, 0, 6), (0, 2, 1, 2), (0, 2, 1, 3)))
    assert (found.starts, found.wait, found.bound) == ([3, 0, 0], 3, 3)
    found = least_wait(queue((0, 4, 0, 6), (0, 2, 12, 2), (0, 2, 12, 3)))
    assert (found.starts, found.wait) == ([5, 0, 2], 7)


def test_what_is_not_taken() -> None:
    with pytest.raises(NotApplicableError, match="whole seconds"):
        least_wait(ioopt.load(instance(job((1.5, 0), wall=1.5))))
    with pytest.raises(NotApplicableError, match="30 jobs"):
        least_wait(queue(*[(0, 1, 0, 1)] * 31))


@pytest.mark.parametrize("seed", range(4))
def test_no_queue_waits_less(seed: int) -> None:
    """Nor less than a job that waits in no queue."""
    rng = random.Random(seed)
    jobs = [
        (rng.randint(0, 9), rng.randint(1, 4), rng.randint(0, 12), rng.randint(1, 9))
        for _ in range(7)
    ]
    least = least_wait(queue(*jobs))
    assert least.wait == least.bound
    for options in ({"queue": "fcfs"}, {"queue": "plan"}, {"backfill": "conservative"}):
        found = ioopt.solve(queue(*jobs, **options), "cons-fcfs")
        assert found.metrics["mean_wait_seconds"] * len(jobs) >= least.wait - 1e-9
