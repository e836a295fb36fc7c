"""Bound schedules of a shared resource from below by its fluid relaxation."""

import heapq
from collections.abc import Iterable
from typing import NamedTuple

SHAVED = 1 - 5e-10
"""Factor that lowers a bound by more than the rounding of a sum of a million terms.

It is nearer to 1 than the tolerance of a proof of optimality (1e-9).
"""


class Work(NamedTuple):
    """Represent the work of one job on a resource of capacity 1 per second.

    No part of it can be done before ``release``. ``amount`` is all of it (seconds of
    the whole resource), ``duration`` the least time from its begin to its end,
    ``weight`` the cost of a second of its completion time.
    """

    release: float
    amount: float
    duration: float
    weight: float


def least_response(work: Iterable[Work]) -> float:
    """Return a lower bound of the weighted sum of C_j - r_j for every schedule.

    C_j is the completion, r_j the release. Proof and rounding: docs/batch-io.md,
    Bounds. Callers multiply by ``SHAVED``. Two jobs that end after 2 and 4 s, 3 s on
    average:

    >>> two = Work(release=1e10, amount=2.0, duration=2.0, weight=0.5)
    >>> round(least_response([two, two]), 12)
    3.0
    """
    jobs = sorted(work)
    total = sum(job.weight * job.duration for job in jobs if job.amount <= 0)
    jobs = [job for job in jobs if job.amount > 0]
    total += sum(job.weight * job.duration / 2 for job in jobs)
    ready: list[tuple[float, int, float]] = []
    coming = 0
    start = 0.0  # The start of the busy period; times are relative to it.
    now = 0.0
    weight = 0.0
    steps = 0
    while ready or coming < len(jobs):
        if not ready:
            total -= _rounding(steps, now, weight)
            start = jobs[coming].release
            now = 0.0
            weight = 0.0
            steps = 0
        while coming < len(jobs) and jobs[coming].release - start <= now:
            job = jobs[coming]
            heapq.heappush(ready, (job.amount / job.weight, coming, job.amount))
            weight += job.weight
            coming += 1
        rank, k, left = heapq.heappop(ready)
        until = float("inf")
        if coming < len(jobs):
            until = jobs[coming].release - start
        stops = now + left > until
        part = left
        if stops:
            part = until - now
        since = now - (jobs[k].release - start)
        total += jobs[k].weight * (part / jobs[k].amount) * (since + part / 2)
        if stops:
            heapq.heappush(ready, (rank, k, left - part))
            now = until
        else:
            now += left
        steps += 1
    return total - _rounding(steps, now, weight)


def _rounding(steps: int, length: float, weight: float) -> float:
    """Return the most that rounding adds to a bound over a busy period of *length*."""
    return 4 * (steps + 1) * 2.0**-53 * length * weight
