"""Compute lower bounds of a work directory: of its peak (rule B10) and of its makespan
(rule B11).
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Protocol

import numpy as np

from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.protocols import Schedule

MOST_JOINED = 20_000
"""Most tasks of a component for which the ancestors of each task are stored as bits."""
FEW = 64
"""Most tasks of a component for which a loop over bits is quicker than an array."""
MOST_EXACT = 1 << 62
"""Most bytes of all products together for which 64-bit whole numbers cannot overflow.
"""
DUAL_FUNCTIONS = 6
Item = tuple[int, int, int]
"""Head, tail and area of an item of rule B11.

The item takes its area after the head (an instant) and before the makespan minus its
tail.
"""


@dataclass(frozen=True)
class PeakBound:
    """Store the three lower bounds of the peak, in bytes, and the largest of them.

    ``need`` is the most that a task needs: its own bytes (outputs and scratch) and its
    inputs. ``through`` is the most that a task needs with the other bytes that every
    plan has in the directory while it runs. ``end`` is what the directory holds at
    least while the last task runs. ``bound`` is the largest of the three, ``reason``
    its name, and ``task`` the first task that reaches it. ``complete`` is False if the
    deadline passed before ``through`` was computed for all tasks.
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
    """Return the lower bounds of the peak: of each single task, of the files that wait
    while a task runs, and of the end.

    If the *deadline* passes, ``through`` counts only the own bytes and inputs of some
    tasks, and ``complete`` is False.
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
    """Return the least bytes inside while the last task runs, keyed by the tasks that
    reach this least value.

    The bytes are those of all kept products, plus the scratch, inputs and outputs of
    the last task that are not kept. Only a task without successors can be the last.
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
    """Return, for each task, the bytes that every plan has inside while the task runs.

    Also return whether this was computed for all tasks. If the *deadline* passes first,
    the remaining tasks get their own bytes plus *inputs*, the bytes of their inputs.
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
            continue  # Too large: only what the task itself needs counts.
        inside = _inside_with(problem, tasks, deadline)
        if inside is None:
            return found, False
        for k, size in zip(tasks, inside, strict=True):
            found[k] = problem.own_bytes[k] + size
    return found, True


def _inside_with(
    problem: WorkDirectoryProblem, tasks: list[int], deadline: Deadline | None
) -> list[int] | None:
    """Return, for each of *tasks*, the bytes of other tasks' products that are in the
    directory while it runs, in every plan.

    *tasks* are those of one component, in topological order. Return None if the
    *deadline* passes first. A set of tasks is a whole number with one bit for each
    task.
    """
    bit = {k: 1 << at for at, k in enumerate(tasks)}
    before = _joined(tasks, problem.predecessors, bit)
    after = _joined(reversed(tasks), problem.successors, bit)
    made = [f for p in tasks for f in problem.outputs[p]]
    total = sum(problem.products[f].bytes for f in made)
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


def _joined(
    tasks: Iterable[int], beside: Sequence[Sequence[int]], bit: Mapping[int, int]
) -> dict[int, int]:
    """Return, for each of *tasks*, the set of itself and of all tasks that it follows
    by *beside*; these come before it in *tasks*.
    """
    found: dict[int, int] = {}
    for k in tasks:
        found[k] = reduce(or_, (found[j] for j in beside[k]), bit[k])
    return found


class Inside(Protocol):
    """Protocol of a table that has one sum of bytes for each place.

    A set of places is a whole number: its 1 bits are the places of the set.
    """

    def add(self, at: int, size: int) -> None:
        """Add *size* to the sum of every place whose bit is set in *at*."""

    def sizes(self) -> list[int]:
        """Return the sum of each place, in bytes."""


class OneByOne:
    """Table of sums that visits the set bits one after the other.

    It suits few places, and sums beyond 64 bits.
    """

    def __init__(self, count: int) -> None:
        self.found = [0] * count

    def add(self, at: int, size: int) -> None:
        """Add *size* to the sum of every place whose bit is set in *at*."""
        while at:
            lowest = at & -at
            self.found[lowest.bit_length() - 1] += size
            at ^= lowest

    def sizes(self) -> list[int]:
        """Return the sum of each place, in bytes."""
        return self.found


class AtOnce:
    """Table of sums that adds at all set bits in one array operation, in 64-bit
    numbers.
    """

    def __init__(self, count: int) -> None:
        self.found = np.zeros(count, dtype=np.int64)

    def add(self, at: int, size: int) -> None:
        """Add *size* to the sum of every place whose bit is set in *at*."""
        count = len(self.found)
        packed = np.frombuffer(at.to_bytes(-(-count // 8), "little"), np.uint8)
        self.found[np.unpackbits(packed, bitorder="little")[:count] > 0] += size

    def sizes(self) -> list[int]:
        """Return the sum of each place, in bytes."""
        return [int(size) for size in self.found]


def _sweep(items: list[Item]) -> int:
    """Return a lower bound, in ticks, of every makespan in which all *items* fit.

    One unit of area fits into each tick. The first loop counts the items that cannot
    begin before an instant. The second loop counts the items that must leave at least a
    certain tail after them.
    """
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
    """Store the four lower bounds of the makespan (rule B11), in seconds.

    ``critical_path`` is the longest chain of tasks. ``core_area`` counts core seconds.
    ``byte_area`` and ``crowd`` count the bytes that are held under the quota; they are
    None without a quota or with a quota of 0. ``complete`` is False if the deadline
    left no time for one of them.
    """

    critical_path: Fraction
    core_area: Fraction
    byte_area: Fraction | None
    crowd: Fraction | None
    complete: bool = True

    @property
    def bound(self) -> Fraction:
        """Return the largest of the bounds that were computed, in seconds."""
        found = (self.critical_path, self.core_area, self.byte_area, self.crowd)
        return max(value for value in found if value is not None)


def stated_bounds(
    problem: WorkDirectoryProblem, schedule: Schedule, deadline: Deadline | None = None
) -> Json:
    """Return the lower bounds on peak and makespan that hold for the plan of
    *schedule*, by name.

    A bound is left out if *deadline* passes before it is computed. So is the bound on
    the makespan if other than the planned times were replayed.
    """
    found: Json = {}
    if deadline is not None and deadline.expired():
        return found
    peak = peak_bound(problem, deadline)
    if peak.complete:
        found["peak_bound_bytes"] = peak.bound
    if "actual_compute_seconds" in schedule:
        return found
    seconds = makespan_bounds(problem, schedule["quota_bytes"], deadline)
    if seconds.complete:
        found["lower_bound_seconds"] = float(seconds.bound)
    return found


def makespan_bounds(
    problem: WorkDirectoryProblem, quota: int | None, deadline: Deadline | None = None
) -> MakespanBound:
    """Return the four lower bounds of the makespan under *quota*, in bytes.

    A bound for which the *deadline* leaves no time is 0 or None, and then ``complete``
    is False.
    """
    ticks = problem.ticks
    s = ticks.all_of(task.compute_seconds for task in problem.tasks)
    head, tail = _heads_and_tails(problem, s)

    def swept(rows: list[Item], per: int) -> Fraction:
        """Return :func:`_sweep` of *rows* in seconds, where the area *per* fits into a
        tick.
        """
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
    """Return two lists with a value for each task, in ticks: ES and q of rule B11.

    ES is the earliest start; q is the least time between the end of the task and the
    end of the run. *s* are the compute times.
    """
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
    """Return (head, tail, ticks, bytes) of every stay in the directory that each plan
    has.

    The bytes are inside for at least that number of ticks: a task's own bytes while it
    runs, and a product from the end of its producer to the end of its last reader. *s*
    (compute time), *head* and *tail* hold one value for each task. Return None if the
    *deadline* passes first.
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
    """Return quota x j x w_j(size / quota), a whole number.

    w_j is the j-th dual feasible function of rule B11: wherever shares of the quota sum
    to at most 1, their values under w_j sum to at most 1 too.
    """
    whole, part = divmod((j + 1) * size, quota)
    if part:
        return whole * quota
    return j * size


def _rests(problem: WorkDirectoryProblem, p: int, s: list[int]) -> dict[int, int]:
    """Return, for each reader of a product of *p*, the longest time from the end of *p*
    to the end of the reader, in ticks.

    *s* are the compute times.
    """
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
    """Return the largest lower bound of the makespan under *quota*, in seconds."""
    return float(makespan_bounds(problem, quota, deadline).bound)


def least_makespan(problem: WorkDirectoryProblem) -> float:
    """Return the largest lower bound of the makespan under the instance's own quota, in
    seconds.
    """
    return makespan_bound(problem, problem.quota_bytes)
