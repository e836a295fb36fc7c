"""Proven bounds of work directories: of the peak (rule B10) and of the makespan (rule
B11).
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Protocol

import numpy as np

from ioopt.options import Deadline
from ioopt.problems.work_directory import WorkDirectoryProblem

MOST_JOINED = 20_000
"""Tasks of one component up to which the ancestors of each are held as bits."""
FEW = 64
"""Tasks of one component up to which a loop over bits is quicker than an array of them.
"""
MOST_EXACT = 1 << 62
"""Bytes up to which an array of 64-bit whole numbers holds every sum."""
DUAL_FUNCTIONS = 6
Item = tuple[int, int, int]
"""Head, tail and area: not there before its head, nor after the makespan less its tail.
"""


@dataclass(frozen=True)
class PeakBound:
    """Bytes that no plan does without, by reason, and the first task that reaches the
    largest.

    ``need``: own bytes and inputs of a task; ``through``: own bytes and what is inside
    while it runs, whatever the plan; ``end``: what is kept beside the last task.
    """

    need: int
    through: int
    end: int
    bound: int
    reason: str
    task: str | None
    complete: bool = True


def peak_bound(
    problem: WorkDirectoryProblem, deadline: Deadline | None = None
) -> PeakBound:
    """Return the largest of the three bounds of the peak.

    Past the *deadline* ``through`` is that of some tasks only, and not ``complete``.
    """
    sizes, own = [file.bytes for file in problem.products], problem.own_bytes
    kept = [file.keep for file in problem.products]
    inputs = [sum(sizes[f] for f in files) for files in problem.inputs]
    last = {
        k: task.scratch_bytes
        + sum(
            sizes[f] for f in (*problem.inputs[k], *problem.outputs[k]) if not kept[f]
        )
        for k, task in enumerate(problem.tasks)
        if not problem.successors[k]
    }
    stays = sum(size for size, keep in zip(sizes, kept, strict=True) if keep)
    least = min(last.values(), default=0)
    end = {k: stays + size for k, size in last.items() if size == least}
    through, complete = _through(problem, inputs, deadline)
    values = {
        "need": {k: own[k] + inputs[k] for k in range(len(own))},
        "through": dict(enumerate(through)),
        "end": end,
    }
    most = {reason: max(rows.values(), default=0) for reason, rows in values.items()}
    bound = max(most.values())
    reason = next(reason for reason, size in most.items() if size == bound)
    task = next(
        (k for k, size in sorted(values[reason].items()) if size == bound), None
    )
    name = None if task is None else problem.tasks[task].id
    return PeakBound(**most, bound=bound, reason=reason, task=name, complete=complete)


def _through(
    problem: WorkDirectoryProblem, inputs: list[int], deadline: Deadline | None
) -> tuple[list[int], bool]:
    """Return what is inside while each task runs in any plan, and whether all were
    looked at.

    Of a task that was not looked at, what it needs: its own bytes and its inputs.
    """
    found = [own + size for own, size in zip(problem.own_bytes, inputs, strict=True)]
    if deadline is not None and deadline.expired():
        return found, False
    groups = defaultdict(list)
    for k in problem.topological:
        groups[problem.components[k]].append(k)
    for tasks in groups.values():
        if deadline is not None and deadline.expired():
            return found, False
        if len(tasks) > MOST_JOINED:
            continue  # as the rule says: need alone
        inside = _inside_with(problem, tasks, deadline)
        if inside is None:
            return found, False
        for k, size in zip(tasks, inside, strict=True):
            found[k] = problem.own_bytes[k] + size
    return found, True


def _inside_with(
    problem: WorkDirectoryProblem, tasks: list[int], deadline: Deadline | None
) -> list[int] | None:
    """Return the products of others that are inside while each of *tasks*, one
    component, runs.

    None where the *deadline* passes first.
    """
    bit = {k: 1 << at for at, k in enumerate(tasks)}
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    for k in tasks:
        before[k] = reduce(or_, (before[p] for p in problem.predecessors[k]), bit[k])
    for k in reversed(tasks):
        after[k] = reduce(or_, (after[j] for j in problem.successors[k]), bit[k])
    total = sum(problem.products[f].bytes for p in tasks for f in problem.outputs[p])
    inside: Inside = OneByOne(len(tasks))
    if len(tasks) > FEW and total <= MOST_EXACT:
        inside = AtOnce(len(tasks))
    for count, p in enumerate(tasks):
        if deadline is not None and count % 64 == 63 and deadline.expired():
            return None
        for f in problem.outputs[p]:
            at = after[p] ^ bit[p]
            if not problem.products[f].keep:
                at &= reduce(or_, (before[k] for k in problem.readers[f]), 0)
            inside.add(at, problem.products[f].bytes)
    return inside.sizes()


class Inside(Protocol):
    """Bytes by place, added to wherever a whole number has a bit."""

    def add(self, at: int, size: int) -> None:
        """Add *size* at each bit of *at*."""

    def sizes(self) -> list[int]:
        """Return the bytes by place."""


class OneByOne:
    """Add at one bit after the other: for few places, or more bytes than 64 bits hold.
    """

    def __init__(self, count: int) -> None:
        self.found = [0] * count

    def add(self, at: int, size: int) -> None:
        """Add *size* at each bit of *at*."""
        while at:
            lowest = at & -at
            self.found[lowest.bit_length() - 1] += size
            at ^= lowest

    def sizes(self) -> list[int]:
        """Return the bytes by place."""
        return self.found


class AtOnce:
    """Add at all bits in one step, in 64-bit whole numbers."""

    def __init__(self, count: int) -> None:
        self.found = np.zeros(count, dtype=np.int64)

    def add(self, at: int, size: int) -> None:
        """Add *size* at each bit of *at*."""
        count = len(self.found)
        packed = np.frombuffer(at.to_bytes(-(-count // 8), "little"), np.uint8)
        self.found[np.unpackbits(packed, bitorder="little")[:count] > 0] += size

    def sizes(self) -> list[int]:
        """Return the bytes by place."""
        return [int(size) for size in self.found]


def _sweep(items: list[Item]) -> int:
    """The least makespan of *items*, of which each instant takes an area of 1 at most.
    """
    best = area = 0
    for head, _, size in sorted(items, key=lambda item: -item[0]):
        area += size
        best = max(best, head + area)
    first, area = max((head for head, _, _ in items), default=0), 0
    for head, tail, size in sorted(items, key=lambda item: (-item[1], -item[0])):
        first, area = min(first, head), area + size
        best = max(best, first + area + tail)
    return best


@dataclass(frozen=True)
class MakespanBound:
    """Seconds that no plan does without, by reason; None where there is no quota (or
    one of 0).
    """

    critical_path: Fraction
    core_area: Fraction
    byte_area: Fraction | None
    crowd: Fraction | None
    complete: bool = True

    @property
    def bound(self) -> Fraction:
        """The largest."""
        found = (self.critical_path, self.core_area, self.byte_area, self.crowd)
        return max(value for value in found if value is not None)


def makespan_bounds(
    problem: WorkDirectoryProblem, quota: int | None, deadline: Deadline | None = None
) -> MakespanBound:
    """Return the bounds of the makespan under *quota*.

    Those for which the *deadline* leaves no time are left out, and the rest is not
    ``complete``.
    """
    ticks = problem.ticks
    s = ticks.all_of(task.compute_seconds for task in problem.tasks)
    head = ticks.all_of(task.release_seconds for task in problem.tasks)
    tail = [0] * len(s)
    for k in problem.topological:
        head[k] = max([head[k], *(head[p] + s[p] for p in problem.predecessors[k])])
    for k in reversed(problem.topological):
        tail[k] = max((s[j] + tail[j] for j in problem.successors[k]), default=0)

    def swept(rows: list[Item], per: int) -> Fraction:
        """The sweep of rows whose areas are *per* times too large."""
        scaled = [(h * per, t * per, area) for h, t, area in rows if area > 0]
        return Fraction(_sweep(scaled), per * ticks.per_second)

    path = max((a + b + c for a, b, c in zip(head, s, tail, strict=True)), default=0)
    if deadline is not None and deadline.expired():
        return MakespanBound(
            Fraction(path, ticks.per_second), Fraction(0), None, None, False
        )
    cores = [(head[k], tail[k], t.cores * s[k]) for k, t in enumerate(problem.tasks)]
    core_area = swept(cores, problem.cores)
    seconds = Fraction(path, ticks.per_second)
    if not quota:
        return MakespanBound(seconds, core_area, None, None)
    held = _held(problem, s, head, tail, deadline)
    if held is None:
        return MakespanBound(seconds, core_area, None, None, complete=False)
    byte_area = swept([(h, t, long * size) for h, t, long, size in held], quota)
    crowds: list[Fraction] = []
    for j in range(1, DUAL_FUNCTIONS + 1):
        if deadline is not None and deadline.expired():
            return MakespanBound(
                seconds, core_area, byte_area, max(crowds, default=None), complete=False
            )
        rows = [(h, t, long * _dual(size, quota, j)) for h, t, long, size in held]
        crowds.append(swept(rows, quota * j))
    return MakespanBound(seconds, core_area, byte_area, max(crowds))


def _held(
    problem: WorkDirectoryProblem,
    s: list[int],
    head: list[int],
    tail: list[int],
    deadline: Deadline | None,
) -> list[tuple[int, int, int, int]] | None:
    """Return (head, tail, ticks, bytes) of all that any plan holds in the directory so
    long.

    *s*, *head* and *tail* are by task. None where the *deadline* passes first.
    """
    held = [(head[k], tail[k], s[k], own) for k, own in enumerate(problem.own_bytes)]
    for p, files in enumerate(problem.outputs):
        if deadline is not None and deadline.expired():
            return None
        rest = _rests(problem, p, s)
        for f in files:
            size, read = problem.products[f].bytes, problem.readers[f]
            if problem.products[f].keep:
                held.append((head[p] + s[p], 0, tail[p], size))
            elif read:
                longest = max(rest[k] for k in read)
                held.append((head[p] + s[p], min(tail[k] for k in read), longest, size))
    return held


def _dual(size: int, quota: int, j: int) -> int:
    """w_j of size/quota, times quota and j: a dual feasible function."""
    whole, part = divmod((j + 1) * size, quota)
    return whole * quota if part else j * size


def _rests(problem: WorkDirectoryProblem, p: int, s: list[int]) -> dict[int, int]:
    """Return the longest path from *p* (excluded) to each reader of its products
    (included).
    """
    level, readers = problem.levels, problem.successors[p]
    top = max((level[k] for k in readers), default=0)
    if top <= level[p] + 1:
        return {k: s[k] for k in readers}  # nothing lies between
    rest, waiting = {p: 0}, [(0, p)]
    while waiting:
        k = heapq.heappop(waiting)[1]
        for j in problem.successors[k]:
            if level[j] <= top:
                if j not in rest:
                    heapq.heappush(waiting, (level[j], j))
                rest[j] = max(rest.get(j, 0), rest[k] + s[j])
    return rest


def makespan_bound(
    problem: WorkDirectoryProblem, quota: int | None, deadline: Deadline | None = None
) -> float:
    """Return the largest bound of the makespan, in seconds."""
    return float(makespan_bounds(problem, quota, deadline).bound)


def least_makespan(problem: WorkDirectoryProblem) -> float:
    """Return the bound under the instance's own quota."""
    return makespan_bound(problem, problem.quota_bytes)
