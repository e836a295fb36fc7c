"""What no schedule of a shared resource can beat: mean busy times of its fluid relaxation.

Goemans et al. 2002 (single machine with release dates, preemptive WSPT); the use for jobs of
limited rate is ours.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import NamedTuple


class Work(NamedTuple):
    """A job's share of the resource, whose capacity is 1 a second.

    ``release`` is when the earliest of it can be done, ``amount`` all of it (seconds of the whole
    resource), ``duration`` the least time from its first bit to its last, ``weight`` what a second
    of its completion time counts.
    """

    release: float
    amount: float
    duration: float
    weight: float


def least_completion(work: Iterable[Work]) -> float:
    """A lower bound of the weighted sum of completion times, for every schedule.

    Proof. Let job j receive the resource at rate y_j(t), with sum_j y_j(t) <= 1, all p_j of it
    after r_j, and M_j = (1/p_j) integral t y_j(t) dt its mean busy time. (1) The sum of w_j M_j
    weighs every bit of j by w_j/p_j; by exchange it is least when at each instant a released job
    of largest w_j/p_j has the whole resource, which is what this function builds. (2) A job that
    needs at least d_j seconds has y_j <= p_j/d_j, so its bits before C_j have their mean at
    C_j - d_j/2 at the latest: C_j >= M_j + d_j/2. Adding (2) over the jobs gives the bound. Jobs
    without work complete at r_j + d_j or later.

    >>> two = Work(release=0.0, amount=2.0, duration=2.0, weight=0.5)  # ends at 2 and 4: mean 3
    >>> least_completion([two, two])
    3.0
    """
    jobs = sorted(work)
    total = sum(job.weight * (job.release + job.duration) for job in jobs if job.amount <= 0)
    jobs = [job for job in jobs if job.amount > 0]
    total += sum(job.weight * job.duration / 2 for job in jobs)
    ready: list[tuple[float, int, float]] = []
    now, coming = 0.0, 0
    while ready or coming < len(jobs):
        if not ready:
            now = max(now, jobs[coming].release)
        while coming < len(jobs) and jobs[coming].release <= now:
            job = jobs[coming]
            heapq.heappush(ready, (job.amount / job.weight, coming, job.amount))
            coming += 1
        rank, k, left = heapq.heappop(ready)
        until = jobs[coming].release if coming < len(jobs) else float("inf")
        end = min(now + left, until)
        total += jobs[k].weight * ((end - now) / jobs[k].amount) * (now + end) / 2
        if now + left > until:
            heapq.heappush(ready, (rank, k, left - (end - now)))
        now = end
    return total
