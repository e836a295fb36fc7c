"""What no schedule of a shared resource can beat: mean busy times of
its fluid relaxation.
"""

import heapq
from collections.abc import Iterable
from typing import NamedTuple

SHAVED = 1 - 5e-10
"""Rounding of sums of up to a million terms; less than what proves a plan
to be optimal (1e-9).
"""


class Work(NamedTuple):
    """A job's share of the resource, whose capacity is 1 a second.

    ``release`` is when the earliest of it can be done, ``amount`` all of it (seconds of
    the whole resource), ``duration`` the least time from its first bit to its last,
    ``weight`` what a second of its completion time counts.
    """

    release: float
    amount: float
    duration: float
    weight: float


def least_response(work: Iterable[Work]) -> float:
    """A lower bound of the weighted sum of C_j - r_j, completion less release, for every schedule.

    Proof and rounding: docs/batch-io.md, Bounds. Callers multiply by ``SHAVED``.

    >>> two = Work(release=1e10, amount=2.0, duration=2.0, weight=0.5)  # 2 and 4 s: mean 3
    >>> round(least_response([two, two]), 12)
    3.0
    """
    jobs = sorted(work)
    total = sum(job.weight * job.duration for job in jobs if job.amount <= 0)
    jobs = [job for job in jobs if job.amount > 0]
    total += sum(job.weight * job.duration / 2 for job in jobs)
    ready: list[tuple[float, int, float]] = []
    start = now = weight = 0.0
    coming = steps = 0
    while ready or coming < len(jobs):
        if not ready:
            total -= _rounding(steps, now, weight)
            start, now, weight, steps = jobs[coming].release, 0.0, 0.0, 0
        while coming < len(jobs) and jobs[coming].release - start <= now:
            job = jobs[coming]
            heapq.heappush(ready, (job.amount / job.weight, coming, job.amount))
            weight += job.weight
            coming += 1
        rank, k, left = heapq.heappop(ready)
        until = jobs[coming].release - start if coming < len(jobs) else float("inf")
        stops = now + left > until
        part = until - now if stops else left
        since = now - (jobs[k].release - start)
        total += jobs[k].weight * (part / jobs[k].amount) * (since + part / 2)
        if stops:
            heapq.heappush(ready, (rank, k, left - part))
        now = until if stops else now + left
        steps += 1
    return total - _rounding(steps, now, weight)


def _rounding(steps: int, length: float, weight: float) -> float:
    return 4 * (steps + 1) * 2.0**-53 * length * weight
