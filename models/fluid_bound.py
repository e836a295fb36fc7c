"""Bound schedules of one shared resource from below by a fluid relaxation."""

import heapq
from collections.abc import Iterable
from typing import NamedTuple

SHAVED = 1 - 5e-10
"""Factor that lowers a bound by more than the rounding error of a million summed terms.

It is nearer to 1 than the tolerance of a proof of optimality (1e-9).
"""


class Work(NamedTuple):
    """Represent the work of one job on a resource that does 1 second of work per
    second.

    ``release`` is the earliest time at which its work can begin. ``amount`` is the work
    in seconds of the whole resource. ``duration`` is the least time from its begin to
    its end. ``weight`` is the cost of a second of its completion time.
    """

    release: float
    amount: float
    duration: float
    weight: float


def least_response(work: Iterable[Work]) -> float:
    """Return a lower bound of the sum of weight x (completion - release) for every
    schedule.

    See docs/batch-io.md, Bounds, for the proof and the rounding. Callers multiply the
    bound by ``SHAVED``. In the example two jobs of half weight end after 2 and 4 s, 3 s
    on average:

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
    """Return the most that rounding can add to the bound of a busy period.

    The period has *steps* steps and takes *length* seconds; *weight* is the total
    weight of its jobs.
    """
    return 4 * (steps + 1) * 2.0**-53 * length * weight
