"""Find orders in which the tasks of a work directory run one at a time, and admit tasks
by such an order (rule B6).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from copy import copy

import networkx as nx
import numpy as np

from ioopt.options import Deadline
from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.sim.work_directory.directory import Directory

ORDERS = ("file", "depth-first", "freeing")
MOST_HEADS = 4
"""Largest number of first levels of tasks that are left out to find groups."""
MOST_BYTES = 1 << 60
"""Total number of bytes up to which 64-bit whole numbers hold every sum of bytes
inside.
"""
STARTED = -(1 << 62)
"""Value of a place whose task has started. It stays below 0, whatever is added to
it.
"""
STARTED_OF_MANY = -(10**40)
"""The same value if the total number of bytes is above MOST_BYTES."""


def sequential_peak(problem: WorkDirectoryProblem, order: Sequence[int]) -> int:
    """Return the largest number of bytes inside while the tasks run one at a time in
    *order*.
    """
    return max(_uses(problem, order), default=0)


def _uses(problem: WorkDirectoryProblem, order: Sequence[int]) -> list[int]:
    """Return the number of bytes inside while each task of *order* runs, in that
    order.
    """
    inside = Directory(problem)
    found = []
    for k in order:
        inside.start(k)
        found.append(inside.use)
        inside.end(k)
    return found


def reference_order(
    problem: WorkDirectoryProblem, deadline: Deadline | None = None
) -> list[int]:
    """Return the order among :data:`ORDERS` with the least sequential peak; of equals,
    the first.

    After the *deadline* no further order is tried once one keeps the quota.
    """
    return _least(problem, [(how, None) for how in ORDERS], deadline)


def least_order(
    problem: WorkDirectoryProblem, deadline: Deadline | None = None
) -> list[int]:
    """Return the order with the least sequential peak: the reference order, or an order
    that runs sample after sample, or group after group (:func:`groups_of`), if its peak
    is lower.

    After the *deadline* no further order is tried once one keeps the quota.
    """
    wanted: list[tuple[str, Sequence[int] | None]] = [(how, None) for how in ORDERS]
    for groups in (problem.samples, *groups_of(problem)):
        wanted += [(how, groups) for how in ORDERS]
    return _least(problem, wanted, deadline)


def _least(
    problem: WorkDirectoryProblem,
    wanted: list[tuple[str, Sequence[int] | None]],
    deadline: Deadline | None,
) -> list[int]:
    """Return the order among *wanted* with the least sequential peak; of equals, the
    first.

    Each of *wanted* gives the arguments (how, groups) of :func:`sequential_order`.
    """
    best: list[int] = []
    least: int | None = None
    quota = problem.quota_bytes
    for how, groups in wanted:
        will_do = least is not None and (quota is None or least <= quota)
        if will_do and deadline is not None and deadline.expired():
            break
        order = sequential_order(problem, how, groups)
        peak = sequential_peak(problem, order)
        if least is None or peak < least:
            best = order
            least = peak
    return best


def groups_of(problem: WorkDirectoryProblem) -> list[list[int]]:
    """Return ways to part the tasks into groups that can run one after the other: for
    each way, the number of its group for each task.

    A group is what stays connected once the last levels of tasks are left out, such as
    a report on several runs; in a second way also the first levels, such as an index
    that several runs read. Of all ways with two groups of more than one task, the one
    that leaves out the fewest levels is taken.
    """
    tails = [0] * len(problem.tasks)
    for k in reversed(problem.topological):
        tails[k] = max((tails[j] + 1 for j in problem.successors[k]), default=0)
    found = []
    for heads in ((0,), range(1, 1 + MOST_HEADS)):
        groups = (_parted(problem, tails, count) for count in heads)
        found += [numbers for numbers in groups if numbers][:1]
    return found


def _parted(
    problem: WorkDirectoryProblem, tails: Sequence[int], heads: int
) -> list[int] | None:
    """Return the group of each task if the first *heads* levels are left out, and as
    few last levels as possible; None if no two groups have more than one task.

    *tails* has the length of the longest chain of tasks that follows each task. A task
    left out joins the last group before it, or else the first one after it.
    """
    inside = [k for k, level in enumerate(problem.levels) if level >= heads]
    inside.sort(key=tails.__getitem__, reverse=True)
    joined = nx.utils.UnionFind()
    large: set[int] = set()
    cut = None
    for at, k in enumerate(inside):
        parts = {joined[p] for p in problem.predecessors[k] if p in joined.parents}
        joined.union(k, *parts)
        if parts:
            large -= parts
            large.add(joined[k])
        last_of_level = at + 1 == len(inside) or tails[inside[at + 1]] < tails[k]
        if last_of_level and len(large) > 1:
            cut = at + 1
    if cut is None:
        return None
    return _numbered(problem, inside[:cut])


def _numbered(problem: WorkDirectoryProblem, inside: Sequence[int]) -> list[int]:
    """Return the group of each task if only the tasks *inside* join what they read and
    what reads them.
    """
    joined = nx.utils.UnionFind(inside)
    for k in inside:
        joined.union(k, *(p for p in problem.predecessors[k] if p in joined.parents))
    first = {min(part): part for part in joined.to_sets()}
    number = [-1] * len(problem.tasks)
    for at, k in enumerate(sorted(first)):
        for j in first[k]:
            number[j] = at
    for k in problem.topological:  # what follows the groups
        if number[k] < 0:
            before = (number[p] for p in problem.predecessors[k])
            number[k] = max(before, default=-1)
    for k in reversed(problem.topological):  # what stands before them
        if number[k] < 0:
            after = (number[j] for j in problem.successors[k])
            number[k] = min(after, default=0)
    return number


def sequential_order(
    problem: WorkDirectoryProblem, how: str, groups: Sequence[int] | None = None
) -> list[int]:
    """Return an order of the tasks: among the tasks that are ready, it always takes the
    one that *how* prefers (rule B6).

    *how* is ``file`` (the first task in the file), ``depth-first`` (the task with the
    greatest level) or ``freeing`` (the task after which the fewest bytes are inside).
    With *groups*, the number of its group for each task, tasks of the first group that
    has a ready task come first.
    """
    run = _OneByOne(problem, how == "freeing")

    def key(k: int) -> tuple[int, int, int]:
        group = groups[k] if groups else 0
        if how == "freeing":
            return group, run.growth[k], k
        if how == "depth-first":
            return group, -problem.levels[k], k
        return group, 0, k

    ready = [key(k) for k, count in enumerate(run.waits) if not count]
    heapq.heapify(ready)
    order: list[int] = []
    done = set()
    while ready:
        k = heapq.heappop(ready)[-1]
        if k in done:
            continue
        done.add(k)
        order.append(k)
        for j in run.next(k):
            if not run.waits[j]:
                heapq.heappush(ready, key(j))
    return order


class _OneByOne:
    """Run tasks one at a time; track for how many tasks each one waits.

    If *frees*, ``growth`` has the bytes by which each task would make the directory
    grow: its outputs that stay, without the files of which it is the last reader.
    """

    def __init__(self, problem: WorkDirectoryProblem, frees: bool) -> None:
        self.problem = problem
        self.frees = frees
        self.inside = Directory(problem)
        self.waits = [len(row) for row in problem.predecessors]
        # Sums of the indices of readers that have not run. Once one reader is left, the
        # sum is its index.
        self.unread = [sum(tasks) for tasks in problem.readers]
        stays = [
            bool(tasks) or not leaves
            for tasks, leaves in zip(problem.readers, self.inside.leaves)
        ]
        sizes = self.inside.sizes
        self.growth = [
            sum(sizes[f] for f in row if stays[f]) for row in problem.outputs
        ]

    def next(self, k: int) -> list[int]:
        """Run task *k*; return the tasks that wait for fewer now, or grow by less."""
        inside = self.inside
        inside.start(k)
        inside.end(k)
        changed = [*self.problem.successors[k]]
        for j in changed:
            self.waits[j] -= 1
        reads = self.problem.inputs[k]
        for f in reads:
            self.unread[f] -= k
        for f in (*self.problem.outputs[k], *reads) if self.frees else ():
            if inside.left[f] == 1 and inside.leaves[f]:
                reader = self.unread[f]
                self.growth[reader] -= inside.sizes[f]
                changed.append(reader)
        return changed


class Walk:
    """Track, for every place of the reference order, the bytes inside as tasks start.

    The bytes at a place are found as follows: all running tasks end, then the tasks not
    yet started run one at a time up to that place, and the bytes then inside are
    counted. When a task starts out of order, those of its outputs that stay are inside
    from the first place on. Its inputs leave after their last remaining reader. The
    time to admit a task therefore grows only with the number of its files.
    """

    def __init__(
        self, problem: WorkDirectoryProblem, order: Sequence[int], quota: int
    ) -> None:
        inside = Directory(problem)
        self.quota = quota
        self.order = order
        self.first = 0
        self.leaves = inside.leaves
        self.total = sum(inside.own)
        few = self.total < MOST_BYTES
        self.started = STARTED if few else STARTED_OF_MANY
        self.uses = np.array(_uses(problem, order), dtype=np.int64 if few else object)
        # For each place, the most bytes at earlier places whose task has not started.
        self.most: np.ndarray | None = None
        self.place = sorted(range(len(order)), key=order.__getitem__)
        self.sizes = inside.sizes
        self.readers = [
            sorted(self.place[k] for k in tasks) for tasks in problem.readers
        ]
        self.reads = []
        for row in problem.inputs:
            self.reads.append([f for f in row if inside.leaves[f]])
        self.stays = []
        for row in problem.outputs:
            staying = (f for f in row if problem.readers[f] or not inside.leaves[f])
            self.stays.append(sum(inside.sizes[f] for f in staying))

    def anew(self) -> Walk:
        """Return a copy to start with; no task may have started in this object."""
        other = copy(self)
        other.uses = self.uses.copy()
        other.readers = [row[:] for row in self.readers]
        other.sizes = self.sizes[:]
        other.stays = self.stays[:]
        return other

    def admits(self, k: int) -> bool:
        """Return whether the unstarted tasks before *k* in the order still keep the
        quota if *k* starts now.
        """
        at = self.place[k]
        stays = self.stays[k]
        if not stays or at <= self.first:
            return True
        if self.most is None:
            self.most = np.maximum.accumulate(self.uses[self.first :])
        if self.most[at - self.first - 1] + stays <= self.quota:
            return True
        freed = [f for f in self.reads[k] if self.readers[f][-1] == at]
        if not freed:
            return False
        before = self.uses[self.first : at].copy()
        for f in freed:
            # Without k, the file leaves after the last other reader.
            row = self.readers[f]
            leaves_at = 0
            if len(row) > 1:
                leaves_at = row[-2] + 1
            before[max(0, leaves_at - self.first) :] -= self.sizes[f]
        return bool(before.max() + stays <= self.quota)

    def start(self, k: int) -> None:
        """Record that task *k* starts, whether it was admitted or not."""
        at = self.place[k]
        self.most = None
        self.uses[at] = self.started
        self.uses[self.first : at] += self.stays[k]
        for f in self.reads[k]:
            row = self.readers[f]
            last = row[-1]
            row.remove(at)
            if last == at:
                leaves_at = 0
                if row:
                    leaves_at = row[-1] + 1
                self.uses[leaves_at:at] -= self.sizes[f]
        while self.first < len(self.order) and self.uses[self.first] < 0:
            self.first += 1

    def resize(self, k: int, f: int, more: int) -> None:
        """Record that product *f* of task *k* has *more* bytes than before."""
        self.total += abs(more)
        if self.total >= MOST_BYTES and self.started != STARTED_OF_MANY:
            gone = self.uses < 0
            self.uses = self.uses.astype(object)
            self.uses[gone] = self.started = STARTED_OF_MANY
        at = self.place[k]
        row = self.readers[f]
        leaves = self.leaves[f]
        started = self.uses[at] < 0
        since = at
        until = at + 1
        if started:
            since = self.first
            until = 0
        if not leaves:
            until = len(self.order)
        elif row:
            until = row[-1] + 1
        self.uses[since:until] += more
        self.sizes[f] += more
        if row or not leaves:
            self.stays[k] += more
        self.most = None
