"""Tasks one at a time: the reference order, and whether a start leaves it a way to the
end (rule B6).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from copy import copy

import numpy as np

from ioopt.options import Deadline
from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.sim.work_directory.directory import Directory

ORDERS = ("file", "depth-first", "freeing")
MOST_BYTES = 1 << 60
"""Bytes in all up to which 64-bit whole numbers hold every use."""
STARTED, STARTED_OF_MANY = -(1 << 62), -(10**40)
"""Each stands for the use at a place whose task has started: below 0, whatever is
added. The first is a 64-bit number, the second for more bytes than those hold."""


def sequential_peak(problem: WorkDirectoryProblem, order: Sequence[int]) -> int:
    """The largest use while the tasks run one at a time in *order*."""
    return max(_uses(problem, order), default=0)


def _uses(problem: WorkDirectoryProblem, order: Sequence[int]) -> list[int]:
    """The use while each task runs, by place in *order*."""
    inside, found = Directory(problem), []
    for k in order:
        inside.start(k)
        found.append(inside.use)
        inside.end(k)
    return found


def reference_order(
    problem: WorkDirectoryProblem, deadline: Deadline | None = None
) -> list[int]:
    """Return the one of the three orders with the least sequential peak, ties the first
    named.

    Past the *deadline* no further one is made once one keeps the quota.
    """
    return _least(problem, [(how, False) for how in ORDERS], deadline)


def least_order(
    problem: WorkDirectoryProblem, deadline: Deadline | None = None
) -> list[int]:
    """Return the reference order, or one sample after sample where that has a lesser
    peak.

    Past the *deadline* no further one is made once one keeps the quota.
    """
    wanted = [(how, False) for how in ORDERS]
    wanted += [(how, True) for how in ORDERS]
    return _least(problem, wanted, deadline)


def _least(
    problem: WorkDirectoryProblem,
    wanted: list[tuple[str, bool]],
    deadline: Deadline | None,
) -> list[int]:
    """Return the order of the least sequential peak, ties the first of those *wanted*.
    """
    best: list[int] = []
    least: int | None = None
    quota = problem.quota_bytes
    for how, by_sample in wanted:
        will_do = least is not None and (quota is None or least <= quota)
        if will_do and deadline is not None and deadline.expired():
            break
        order = sequential_order(problem, how, by_sample)
        peak = sequential_peak(problem, order)
        if least is None or peak < least:
            best = order
            least = peak
    return best


def sequential_order(
    problem: WorkDirectoryProblem, how: str, by_sample: bool = False
) -> list[int]:
    """Always the first ready task: of the file, of the greatest level, or of the least
    growth.

    *by_sample*: of the first sample that has one.
    """
    inside = Directory(problem)
    stays = [
        bool(tasks) or not leaves
        for tasks, leaves in zip(problem.readers, inside.leaves)
    ]
    unread = [
        sum(tasks) for tasks in problem.readers
    ]  # the last of them, once only one is left
    waits = [len(row) for row in problem.predecessors]

    first = problem.samples if by_sample else [0] * len(waits)

    def key(k: int) -> tuple[int, int, int]:
        if how != "freeing":
            return first[k], (-problem.levels[k] if how == "depth-first" else 0), k
        grows = sum(inside.sizes[f] for f in problem.outputs[k] if stays[f])
        last = (
            f for f in problem.inputs[k] if inside.left[f] == 1 and inside.leaves[f]
        )
        return first[k], grows - sum(inside.sizes[f] for f in last), k

    ready = [key(k) for k, count in enumerate(waits) if not count]
    heapq.heapify(ready)
    order: list[int] = []
    done = set()
    while ready:
        k = heapq.heappop(ready)[-1]
        if k in done:
            continue
        done.add(k)
        order.append(k)
        inside.start(k)
        inside.end(k)
        changed = [*problem.successors[k]]
        for j in changed:
            waits[j] -= 1
        for f in problem.inputs[k]:
            unread[f] -= k
            if inside.left[f] == 1 and how == "freeing":
                changed.append(unread[f])
        for j in changed:
            if not waits[j]:
                heapq.heappush(ready, key(j))
    return order


class Walk:
    """The use at every place of the reference order once all that runs has ended,
    kept as tasks start.

    A start puts what stays of its outputs inside from the first place on, and lets its
    inputs leave after the last reader that is left: a task is admitted in time that
    grows with its files only.
    """

    def __init__(
        self, problem: WorkDirectoryProblem, order: Sequence[int], quota: int
    ) -> None:
        inside, self.quota, self.order, self.first = Directory(problem), quota, order, 0
        self.leaves = inside.leaves
        self.total = sum(inside.own)
        few = self.total < MOST_BYTES
        self.started = STARTED if few else STARTED_OF_MANY
        self.uses = np.array(_uses(problem, order), dtype=np.int64 if few else object)
        self.most: np.ndarray | None = (
            None  # of the places before each that have not started
        )
        self.place = sorted(range(len(order)), key=order.__getitem__)
        self.sizes = inside.sizes
        self.readers = [
            sorted(self.place[k] for k in tasks) for tasks in problem.readers
        ]
        self.reads = [[f for f in row if inside.leaves[f]] for row in problem.inputs]
        self.stays = [
            sum(
                inside.sizes[f]
                for f in row
                if problem.readers[f] or not inside.leaves[f]
            )
            for row in problem.outputs
        ]

    def anew(self) -> Walk:
        """The same where no task has started; only of one in which none has."""
        other = copy(self)
        other.uses, other.readers = self.uses.copy(), [row[:] for row in self.readers]
        other.sizes, other.stays = self.sizes[:], self.stays[:]
        return other

    def admits(self, k: int) -> bool:
        """Whether every task before *k* in the order that has not started has room
        behind *k*.
        """
        at, stays = self.place[k], self.stays[k]
        if not stays or at <= self.first:
            return True
        if self.most is None:
            self.most = np.maximum.accumulate(self.uses[self.first :])
        if self.most[at - self.first - 1] + stays <= self.quota:
            return True
        freed = [
            (row[-2:-1], f) for f in self.reads[k] if (row := self.readers[f])[-1] == at
        ]
        if not freed:
            return False
        before = self.uses[self.first : at].copy()
        for row, f in freed:
            before[max(0, (row[0] if row else -1) + 1 - self.first) :] -= self.sizes[f]
        return bool(before.max() + stays <= self.quota)

    def start(self, k: int) -> None:
        """Task *k* starts, admitted or not."""
        at, self.most = self.place[k], None
        self.uses[at] = self.started
        self.uses[self.first : at] += self.stays[k]
        for f in self.reads[k]:
            row = self.readers[f]
            last = row[-1]
            row.remove(at)
            if last == at:
                self.uses[(row[-1] if row else -1) + 1 : at] -= self.sizes[f]
        while self.first < len(self.order) and self.uses[self.first] < 0:
            self.first += 1

    def resize(self, k: int, f: int, more: int) -> None:
        """Product *f* of task *k* has *more* bytes than it had."""
        self.total += abs(more)
        if self.total >= MOST_BYTES and self.started != STARTED_OF_MANY:
            gone = self.uses < 0
            self.uses = self.uses.astype(object)
            self.uses[gone] = self.started = STARTED_OF_MANY
        at, row, leaves = self.place[k], self.readers[f], self.leaves[f]
        started = self.uses[at] < 0
        until = (
            len(self.order)
            if not leaves
            else row[-1] + 1
            if row
            else 0
            if started
            else at + 1
        )
        self.uses[self.first if started else at : until] += more
        self.sizes[f] += more
        self.stays[k] += more if row or not leaves else 0
        self.most = None
