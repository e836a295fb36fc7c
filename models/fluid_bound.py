"""Bound schedules of one shared resource from below by a fluid relaxation.

:func:`response` runs in plain Python and compiled.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ioopt.arrays import Floats
from ioopt.compiled.library import maker

SHAVED = 1 - 5e-10
"""Factor that lowers a bound by more than the rounding error of a million summed terms.

It is nearer to 1 than the tolerance of a proof of optimality (1e-9).
"""
HALF_ULP = 2.0**-53
"""The largest relative error of one rounded operation."""


class Work(NamedTuple):
    """The work of jobs on a resource that does 1 second of work per second, as columns.

    ``release`` is the earliest time at which the work of a job can begin. ``amount`` is
    the work in seconds of the whole resource. ``duration`` is the least time from its
    begin to its end. ``weight`` is the cost of a second of its completion time.
    """

    release: Floats
    amount: Floats
    duration: Floats
    weight: Floats


def total_of(values: Floats) -> float:
    """Return the sum of *values*, added from left to right."""
    # The rounding of numpy's own sum depends on the processor.
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


@dataclass(slots=True)
class Stream:
    """Jobs in order of release, with ``release``, ``amount`` and ``weight`` as in
    :class:`Work`.

    ``rank`` is the place of each job in order of precedence, and ``at_rank`` the job at
    each place. ``left`` is the work that is not done. ``heap`` has room for the ranks
    of all jobs; item k is at most items 2k + 1 and 2k + 2.
    """

    release: list[float]
    amount: list[float]
    weight: list[float]
    left: list[float]
    rank: list[int]
    at_rank: list[int]
    heap: list[int]


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
    release = work.release
    if not (release[1:] > release[:-1]).all():
        order = np.lexsort(work[::-1])
        work = Work(*(column[order] for column in work))
    some = work.amount > 0
    total = total_of((work.weight * work.duration)[~some])
    work = Work(*(column[some] for column in work))
    total += total_of(work.weight * work.duration / 2)
    order = np.argsort(work.amount / work.weight, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    make = maker()
    stream = make.table(
        Stream,
        release=make.floats(work.release),
        amount=make.floats(work.amount),
        weight=make.floats(work.weight),
        left=make.floats(work.amount.copy()),
        rank=make.ints(rank),
        at_rank=make.ints(order),
        heap=make.ints(np.zeros(len(order), np.int64)),
    )
    return make.function(response)(stream, total)


def response(stream: Stream, total: float) -> float:
    """Return *total* plus the least weighted sum of mean response times of *stream*,
    less what rounding may add.
    """
    release = stream.release
    amount = stream.amount
    left = stream.left
    heap = stream.heap
    jobs = len(release)
    ready = 0
    coming = 0
    start = 0.0  # The start of the busy period; times are relative to it.
    now = 0.0
    weight = 0.0
    steps = 0
    while ready > 0 or coming < jobs:
        if ready == 0:
            total -= rounding(steps, now, weight)
            start = release[coming]
            now = 0.0
            weight = 0.0
            steps = 0
        while coming < jobs and release[coming] - start <= now:
            push(heap, ready, stream.rank[coming])
            ready += 1
            weight += stream.weight[coming]
            coming += 1
        k = stream.at_rank[heap[0]]
        until = math.inf
        if coming < jobs:
            until = release[coming] - start
        stops = now + left[k] > until
        part = left[k]
        if stops:
            part = until - now
        since = now - (release[k] - start)
        total += stream.weight[k] * (part / amount[k]) * (since + part / 2)
        if stops:
            left[k] -= part
            now = until
        else:
            now += part
            ready -= 1
            pop(heap, ready)
        steps += 1
    return total - rounding(steps, now, weight)


def push(heap: list[int], count: int, item: int) -> None:
    """Add *item* to the first *count* items, which are a heap."""
    at = count
    while at > 0 and item < heap[(at - 1) // 2]:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = item


def pop(heap: list[int], count: int) -> None:
    """Remove the least of the first *count* + 1 items, which are a heap."""
    item = heap[count]
    at = 0
    child = 1
    while child < count:
        if child + 1 < count and heap[child + 1] < heap[child]:
            child += 1
        if item <= heap[child]:
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = item


def rounding(steps: int, length: float, weight: float) -> float:
    """Return the most that rounding can add to the bound of a busy period.

    The period has *steps* steps and takes *length* seconds; *weight* is the total
    weight of its jobs.
    """
    return 4 * (steps + 1) * HALF_ULP * length * weight
