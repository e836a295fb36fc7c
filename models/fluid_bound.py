"""Bound schedules of one shared resource from below by a fluid relaxation."""

import math
from heapq import heappop, heappush, heapreplace
from typing import NamedTuple

import numpy as np

from ioopt.problems.job_columns import Reals

SHAVED = 1 - 5e-10
"""Factor that lowers a bound by more than the rounding error of a million summed terms.

It is nearer to 1 than the tolerance of a proof of optimality (1e-9).
"""


class Work(NamedTuple):
    """The work of jobs on a resource that does 1 second of work per second, as columns.

    ``release`` is the earliest time at which the work of a job can begin. ``amount`` is
    the work in seconds of the whole resource. ``duration`` is the least time from its
    begin to its end. ``weight`` is the cost of a second of its completion time.
    """

    release: Reals
    amount: Reals
    duration: Reals
    weight: Reals


def total_of(values: Reals) -> float:
    """Return the sum of *values*, added from left to right."""
    # The rounding of numpy's own sum depends on the processor.
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def least_response(work: Work) -> float:
    """Return a lower bound of the sum of weight x (completion - release) for every
    schedule.

    See docs/batch-io.md, Bounds, for the proof and the rounding. Callers multiply the
    bound by ``SHAVED``. In the example two jobs of half weight end after 2 and 4 s, 3 s
    on average:

    >>> two = np.array([2.0, 2.0])
    >>> half = np.array([0.5, 0.5])
    >>> work = Work(release=two * 5e9, amount=two, duration=two, weight=half)
    >>> round(least_response(work), 12)
    3.0
    """
    order = np.lexsort(work[::-1])
    work = Work(*(column[order] for column in work))
    some = work.amount > 0
    total = total_of((work.weight * work.duration)[~some])
    work = Work(*(column[some] for column in work))
    total += total_of(work.weight * work.duration / 2)
    return _with_responses(work, total)


def _with_responses(work: Work, total: float) -> float:
    """Return *total* plus the least weighted sum of mean response times of *work*, less
    what rounding may add. *work* is in order of release.
    """
    # Lists and local names, because this loop takes most of the time of large bounds.
    releases = [*work.release.tolist(), math.inf]
    amounts = work.amount.tolist()
    weights = work.weight.tolist()
    ranks = (work.amount / work.weight).tolist()
    count = len(amounts)
    ready: list[tuple[float, int, float]] = []
    coming = 0
    start = 0.0  # The start of the busy period; times are relative to it.
    now = 0.0
    weight = 0.0
    steps = 0
    until = 0.0  # The release of the next job.
    while ready or coming < count:
        if not ready:
            total -= _rounding(steps, now, weight)
            start = releases[coming]
            now = 0.0
            weight = 0.0
            steps = 0
            until = 0.0
        while until <= now:
            heappush(ready, (ranks[coming], coming, amounts[coming]))
            weight += weights[coming]
            coming += 1
            until = releases[coming] - start
        rank, k, left = ready[0]
        stops = now + left > until
        part = until - now if stops else left
        since = now - (releases[k] - start)
        total += weights[k] * (part / amounts[k]) * (since + part / 2)
        if stops:
            heapreplace(ready, (rank, k, left - part))
            now = until
        else:
            heappop(ready)
            now += left
        steps += 1
    return total - _rounding(steps, now, weight)


def _rounding(steps: int, length: float, weight: float) -> float:
    """Return the most that rounding can add to the bound of a busy period.

    The period has *steps* steps and takes *length* seconds; *weight* is the total
    weight of its jobs.
    """
    return 4 * (steps + 1) * 2.0**-53 * length * weight
