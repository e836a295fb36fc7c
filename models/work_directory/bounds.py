"""Proven bounds of work directories: of the peak (rule B10) and of the makespan (rule B11)."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import or_

from ioopt.problems.work_directory import WorkDirectoryProblem

MOST_JOINED = 20_000
"""Tasks of one component up to which the ancestors of each are held as bits."""
DUAL_FUNCTIONS = 6
Item = tuple[int, int, int]
"""Head, tail and area: not there before its head, nor after the makespan less its tail."""


@dataclass(frozen=True)
class PeakBound:
    """Bytes that no plan does without, by reason, and the first task that reaches the largest.

    ``need``: own bytes and inputs of a task; ``through``: own bytes and what is inside while it
    runs, whatever the plan; ``end``: what is kept beside the last task.
    """

    need: int
    through: int
    end: int
    bound: int
    reason: str
    task: str | None


def peak_bound(problem: WorkDirectoryProblem) -> PeakBound:
    """The largest of the three bounds of the peak."""
    sizes, own = [file.bytes for file in problem.products], problem.own_bytes
    kept = [file.keep for file in problem.products]
    inputs = [sum(sizes[f] for f in files) for files in problem.inputs]
    last = {
        k: task.scratch_bytes
        + sum(sizes[f] for f in (*problem.inputs[k], *problem.outputs[k]) if not kept[f])
        for k, task in enumerate(problem.tasks)
        if not problem.successors[k]
    }
    stays = sum(size for size, keep in zip(sizes, kept, strict=True) if keep)
    end = {k: stays + size for k, size in last.items() if size == min(last.values())}
    values = {
        "need": {k: own[k] + inputs[k] for k in range(len(own))},
        "through": dict(enumerate(_through(problem, inputs))),
        "end": end,
    }
    most = {reason: max(rows.values(), default=0) for reason, rows in values.items()}
    bound = max(most.values())
    reason = next(reason for reason, size in most.items() if size == bound)
    task = next((k for k, size in sorted(values[reason].items()) if size == bound), None)
    return PeakBound(
        **most, bound=bound, reason=reason, task=None if task is None else problem.tasks[task].id
    )


def _through(problem: WorkDirectoryProblem, inputs: list[int]) -> list[int]:
    """Per task its own bytes and the products inside while it runs in any plan."""
    import numpy as np

    groups = defaultdict(list)
    for k in problem.topological:
        groups[problem.components[k]].append(k)
    found = [own + size for own, size in zip(problem.own_bytes, inputs, strict=True)]
    for tasks in groups.values():
        if len(tasks) > MOST_JOINED:
            continue  # need alone
        bit = {k: 1 << at for at, k in enumerate(tasks)}
        before: dict[int, int] = {}
        after: dict[int, int] = {}
        for k in tasks:
            before[k] = reduce(or_, (before[p] for p in problem.predecessors[k]), bit[k])
        for k in reversed(tasks):
            after[k] = reduce(or_, (after[j] for j in problem.successors[k]), bit[k])
        inside = np.zeros(len(tasks), dtype=object)
        for p in tasks:
            for f in problem.outputs[p]:
                at = after[p] ^ bit[p]
                if not problem.products[f].keep:
                    at &= reduce(or_, (before[k] for k in problem.readers[f]), 0)
                packed = np.frombuffer(at.to_bytes(-(-len(tasks) // 8), "little"), np.uint8)
                inside[np.unpackbits(packed, bitorder="little")[: len(tasks)] > 0] += (
                    problem.products[f].bytes
                )
        for k, size in zip(tasks, inside, strict=True):
            found[k] = problem.own_bytes[k] + int(size)
    return found


def _sweep(items: list[Item]) -> int:
    """The least makespan of *items*, of which each instant takes an area of 1 at most."""
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
    """Seconds that no plan does without, by reason; None where there is no quota (or one of 0)."""

    critical_path: Fraction
    core_area: Fraction
    byte_area: Fraction | None
    crowd: Fraction | None

    @property
    def bound(self) -> Fraction:
        """The largest."""
        found = (self.critical_path, self.core_area, self.byte_area, self.crowd)
        return max(value for value in found if value is not None)


def makespan_bounds(problem: WorkDirectoryProblem, quota: int | None) -> MakespanBound:
    """The bounds of the makespan under *quota*."""
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
    cores = [(head[k], tail[k], t.cores * s[k]) for k, t in enumerate(problem.tasks)]
    byte_area = crowd = None
    if quota:
        held = [(head[k], tail[k], s[k], own) for k, own in enumerate(problem.own_bytes)]
        for p, files in enumerate(problem.outputs):
            rest = _rests(problem, p, s)
            for f in files:
                size, read = problem.products[f].bytes, problem.readers[f]
                if problem.products[f].keep:
                    held.append((head[p] + s[p], 0, tail[p], size))
                elif read:
                    longest = max(rest[k] for k in read)
                    held.append((head[p] + s[p], min(tail[k] for k in read), longest, size))
        byte_area = swept([(h, t, long * size) for h, t, long, size in held], quota)
        crowd = max(
            swept([(h, t, long * _dual(size, quota, j)) for h, t, long, size in held], quota * j)
            for j in range(1, DUAL_FUNCTIONS + 1)
        )
    return MakespanBound(
        Fraction(path, ticks.per_second), swept(cores, problem.cores), byte_area, crowd
    )


def _dual(size: int, quota: int, j: int) -> int:
    """w_j of size/quota, times quota and j: a dual feasible function."""
    whole, part = divmod((j + 1) * size, quota)
    return whole * quota if part else j * size


def _rests(problem: WorkDirectoryProblem, p: int, s: list[int]) -> dict[int, int]:
    """The longest path from *p* (excluded) to each reader of its products (included)."""
    level, rest, waiting = problem.levels, {p: 0}, [(0, p)]
    top = max((level[k] for k in problem.successors[p]), default=0)
    while waiting:
        k = heapq.heappop(waiting)[1]
        for j in problem.successors[k]:
            if level[j] <= top:
                if j not in rest:
                    heapq.heappush(waiting, (level[j], j))
                rest[j] = max(rest.get(j, 0), rest[k] + s[j])
    return rest


def makespan_bound(problem: WorkDirectoryProblem, quota: int | None) -> float:
    """The largest bound of the makespan, in seconds."""
    return float(makespan_bounds(problem, quota).bound)


def least_makespan(problem: WorkDirectoryProblem) -> float:
    """The bound under the instance's own quota."""
    return makespan_bound(problem, problem.quota_bytes)
