"""Bound work directories from below: the peak (rule B10) and the makespan (rule
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
"""Most tasks of a component for which sets of ancestors are stored as bits."""
FEW = 64
"""Most tasks of a component for which a loop over bits is quicker than an array."""
MOST_EXACT = 1 << 62
"""Most bytes in all for which no sum overflows a 64-bit whole number."""
DUAL_FUNCTIONS = 6
Item = tuple[int, int, int]
"""Head, tail and area of an item: it is held from its head at least until the
makespan minus its tail.
"""


@dataclass(frozen=True)
class PeakBound:
    """Collect lower bounds of the peak in bytes, and the first task with the largest.

    ``need``: a task's own bytes and inputs. ``through``: its own bytes plus those that
    are in the directory in every plan while it runs. ``end``: the kept bytes plus those
    of the last task. ``reason`` names the largest.
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

    If the *deadline* passes, ``through`` covers some tasks only and ``complete`` is
    False.
    """
    sizes = [file.bytes for file in problem.products]
    own = problem.own_bytes
    inputs = [sum(sizes[f] for f in files) for files in problem.inputs]
    through, complete = _through(problem, inputs, deadline)
    values = {
        "need": {k: own[k] + inputs[k] for k in range(len(own))},
        "through": dict(enumerate(through)),
        "end": _end(problem),
    }
    most = {reason: max(rows.values(), default=0) for reason, rows in values.items()}
    bound = max(most.values())
    reason = next(reason for reason, size in most.items() if size == bound)
    reached = [k for k, size in values[reason].items() if size == bound]
    name = None
    if reached:
        name = problem.tasks[min(reached)].id
    return PeakBound(**most, bound=bound, reason=reason, task=name, complete=complete)


def _end(problem: WorkDirectoryProblem) -> dict[int, int]:
    """Return the least bytes inside while the last task runs, and that task.

    These are all kept products, and what the task alone still needs.
    """
    last: dict[int, int] = {}
    for k, task in enumerate(problem.tasks):
        if problem.successors[k]:
            continue
        last[k] = task.scratch_bytes
        for f in (*problem.inputs[k], *problem.outputs[k]):
            if not problem.products[f].keep:
                last[k] += problem.products[f].bytes
    kept = sum(file.bytes for file in problem.products if file.keep)
    least = min(last.values(), default=0)
    return {k: kept + size for k, size in last.items() if size == least}


def _through(
    problem: WorkDirectoryProblem, inputs: list[int], deadline: Deadline | None
) -> tuple[list[int], bool]:
    """Return the bytes inside in every plan while each task runs, and whether complete.

    If the *deadline* passes first, the other tasks get their own bytes and *inputs*.
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
            continue  # As the rule says, only the task's own need counts.
        inside = _inside_with(problem, tasks, deadline)
        if inside is None:
            return found, False
        for k, size in zip(tasks, inside, strict=True):
            found[k] = problem.own_bytes[k] + size
    return found, True


def _inside_with(
    problem: WorkDirectoryProblem, tasks: list[int], deadline: Deadline | None
) -> list[int] | None:
    """Return, by task, the bytes of other tasks in the directory while it runs.

    *tasks* are one component. Return None if the *deadline* passes first. Sets of tasks
    are whole numbers with a bit for each.
    """
    bit = {k: 1 << at for at, k in enumerate(tasks)}
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    for k in tasks:
        before[k] = reduce(or_, (before[p] for p in problem.predecessors[k]), bit[k])
    for k in reversed(tasks):
        after[k] = reduce(or_, (after[j] for j in problem.successors[k]), bit[k])
    total = 0
    for p in tasks:
        total += sum(problem.products[f].bytes for f in problem.outputs[p])
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
    """Sum bytes by place: add to the places at which a whole number has a 1 bit."""

    def add(self, at: int, size: int) -> None:
        """Add *size* at each bit of *at*."""

    def sizes(self) -> list[int]:
        """Return the bytes by place."""


class OneByOne:
    """Add at one bit after the other: for few places, or bytes beyond 64 bits."""

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
    """Return a lower bound of the makespan in which all *items* have room."""
    best = area = 0
    for head, _, size in sorted(items, key=lambda item: -item[0]):
        area += size
        best = max(best, head + area)
    first = max((head for head, _, _ in items), default=0)
    area = 0
    for head, tail, size in sorted(items, key=lambda item: (-item[1], -item[0])):
        first = min(first, head)
        area += size
        best = max(best, first + area + tail)
    return best


@dataclass(frozen=True)
class MakespanBound:
    """Collect lower bounds of the makespan in seconds, by reason.

    Bounds from bytes are None without a quota, or with a quota of 0.
    """

    critical_path: Fraction
    core_area: Fraction
    byte_area: Fraction | None
    crowd: Fraction | None
    complete: bool = True

    @property
    def bound(self) -> Fraction:
        """Return the largest bound."""
        found = (self.critical_path, self.core_area, self.byte_area, self.crowd)
        return max(value for value in found if value is not None)


def makespan_bounds(
    problem: WorkDirectoryProblem, quota: int | None, deadline: Deadline | None = None
) -> MakespanBound:
    """Return the bounds of the makespan under *quota*.

    Bounds for which the *deadline* leaves no time are omitted, and then ``complete`` is
    False.
    """
    ticks = problem.ticks
    s = ticks.all_of(task.compute_seconds for task in problem.tasks)
    head, tail = _heads_and_tails(problem, s)

    def swept(rows: list[Item], per: int) -> Fraction:
        """Return the sweep in seconds of *rows* after dividing their areas by *per*."""
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


def _heads_and_tails(
    problem: WorkDirectoryProblem, s: list[int]
) -> tuple[list[int], list[int]]:
    """Return ES and q of rule B11, by task, in ticks; *s* are the compute times."""
    head = problem.ticks.all_of(task.release_seconds for task in problem.tasks)
    tail = [0] * len(s)
    for k in problem.topological:
        head[k] = max([head[k], *(head[p] + s[p] for p in problem.predecessors[k])])
    for k in reversed(problem.topological):
        tail[k] = max((s[j] + tail[j] for j in problem.successors[k]), default=0)
    return head, tail


def _held(
    problem: WorkDirectoryProblem,
    s: list[int],
    head: list[int],
    tail: list[int],
    deadline: Deadline | None,
) -> list[tuple[int, int, int, int]] | None:
    """Return (head, tail, ticks, bytes): every plan has these bytes inside for the
    ticks.

    *s*, *head* and *tail* are by task. None if the *deadline* passes first.
    """
    held = [(head[k], tail[k], s[k], own) for k, own in enumerate(problem.own_bytes)]
    for p, files in enumerate(problem.outputs):
        if deadline is not None and deadline.expired():
            return None
        rest = _rests(problem, p, s)
        for f in files:
            size = problem.products[f].bytes
            read = problem.readers[f]
            if problem.products[f].keep:
                held.append((head[p] + s[p], 0, tail[p], size))
            elif read:
                longest = max(rest[k] for k in read)
                held.append((head[p] + s[p], min(tail[k] for k in read), longest, size))
    return held


def _dual(size: int, quota: int, j: int) -> int:
    """Return w_j of size/quota (rule B11), times quota and j."""
    whole, part = divmod((j + 1) * size, quota)
    if part:
        return whole * quota
    return j * size


def _rests(problem: WorkDirectoryProblem, p: int, s: list[int]) -> dict[int, int]:
    """Return the longest path from *p* to the end of each reader of its products."""
    level = problem.levels
    readers = problem.successors[p]
    top = max((level[k] for k in readers), default=0)
    if top <= level[p] + 1:
        return {k: s[k] for k in readers}  # No task lies between them.
    rest = {p: 0}
    waiting = [(0, p)]
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
    """Return the bound of the makespan under the instance's own quota, in seconds."""
    return makespan_bound(problem, problem.quota_bytes)
