"""Make starting plans with few live bytes: depth-first orders and dispatches.

The live bytes are the outputs of tasks that some task must still read. An output
occupies a disk from the start of its task to the end of its last reader. On small
disks, list schedulers start more tasks than the disks can hold, and write outputs back
over the shared link. A schedule that first finishes work already begun, as in a pebble
game, writes back almost nothing.
"""

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import accumulate
from math import inf
from typing import Annotated

from pydantic import Field

from ioopt.decisions.replication import DispatchView, Pair, least
from ioopt.problems.base import Record
from ioopt.problems.replication import ReplicationProblem
from ioopt.solvers.replication.plans import successors


class DealLimits(Record):
    """Set the costs of a dispatch by live bytes, and how many tasks it considers.

    The values were chosen on the bundled workflows and on the sweep ``workflow``, with
    small disks. ``window``: number of ready tasks that a dispatch considers, the first
    in the order. ``excess``: cost of bytes that the disk cannot hold, as a multiple of
    the time to fetch them. ``drift``: cost of a task for each place that it stands
    further down the order, as a multiple of the time to fetch a file of mean size.

    The next two concern the depth-first order. ``recent``: number of recently noted
    tasks among which it looks for the next task. ``readers``: number of readers of each
    file that it notes.
    """

    window: Annotated[int, Field(ge=1)] = 40
    excess: Annotated[float, Field(ge=0)] = 2.0
    drift: Annotated[float, Field(ge=0)] = 0.1
    recent: Annotated[int, Field(ge=1)] = 60
    readers: Annotated[int, Field(ge=1)] = 8


LIMITS = DealLimits()


def depth_first(
    problem: ReplicationProblem, rng: random.Random | None = None
) -> list[int]:
    """Return an order of all tasks in which each task follows its producers closely,
    and its readers follow soon.

    The next task is one that shares a file with recent tasks: the one that waits for
    the fewest bytes, and of equal ones the latest. *rng* shuffles the producers of each
    task; without it they keep the order of the instance.
    """

    def producers(k: int) -> list[int]:
        """Return the tasks whose outputs task *k* reads, in the order in which to
        append them.
        """
        before = list(problem.predecessors[k])
        if rng is not None:
            return rng.sample(before, len(before))
        return before

    done = [False] * len(problem.tasks)
    order: list[int] = []
    recent: list[int] = []
    seen = [0] * len(problem.files)
    weight = [sum(problem.files[f].bytes for f in files) for files in problem.outputs]
    waits = [sum([weight[j] for j in before]) for before in problem.predecessors]
    after = successors(problem)

    def visit(first: int) -> None:
        """Append all tasks for which task *first* waits, then *first* itself."""
        stack = [(first, iter(producers(first)))]
        while stack:
            k, before = stack[-1]
            j = next((j for j in before if not done[j]), None)
            if j is not None:
                stack.append((j, iter(producers(j))))
                continue
            stack.pop()
            if done[k]:
                continue
            done[k] = True
            order.append(k)
            for j in after[k]:
                waits[j] -= weight[k]
            for f in (*problem.outputs[k], *problem.inputs[k]):
                readers = problem.readers[f]
                while seen[f] < len(readers) and done[readers[seen[f]]]:
                    seen[f] += 1
                recent.extend(readers[seen[f] : seen[f] + LIMITS.readers])

    for start in range(len(done)):
        if not done[start]:
            visit(start)
        while recent:
            recent[:] = [k for k in recent[-LIMITS.recent :] if not done[k]]
            if recent:
                place = min(range(len(recent)), key=lambda x: (waits[recent[x]], -x))
                visit(recent.pop(place))
    return order


def stretches(problem: ReplicationProblem, order: list[int]) -> list[list[int]]:
    """Cut *order* into one queue per node; their work is in proportion to cores x
    speed.

    A task that does not fit its node goes to the next node that it fits.
    """
    power = list(accumulate(node.cores * node.speed for node in problem.nodes))
    work = []
    for task in problem.tasks:
        work.append((task.overhead_seconds + task.compute_seconds) * task.cores)
    queues: list[list[int]] = [[] for _ in problem.nodes]
    done = 0.0
    total = sum(work)
    for k in order:
        first = bisect_right(power, done / total * power[-1]) if total else 0
        done += work[k]
        nodes = [i % len(queues) for i in range(first, first + len(queues))]
        queues[next(i for i in nodes if problem.fits(k, i))].append(k)
    return queues


class LiveBytes:
    """Dispatch with the whole workflow known, so that the live bytes fit the disks.

    Of the first ready tasks in *order*, and of all nodes, it chooses the pair with the
    least cost: the seconds to bring the inputs, plus ``excess`` times the seconds to
    fetch the bytes that the disk could not hold. If *strict*, cores stay idle rather
    than exceed a disk, unless nothing else runs. Otherwise each place down the order
    adds ``drift`` times the seconds to fetch a file of mean size.
    """

    def __init__(
        self, problem: ReplicationProblem, order: list[int], strict: bool = True
    ) -> None:
        self.problem = problem
        self.strict = strict
        self.rank = {k: place for place, k in enumerate(order)}
        self.size = [file.bytes for file in problem.files]
        self.written = [
            sum([self.size[f] for f in outputs]) for outputs in problem.outputs
        ]
        self.hosts = [frozenset(nodes) for nodes in problem.hosts]
        self.fetch = 1.0 / problem.network.remote_bytes_per_second
        mean = sum(self.size) / max(1, len(self.size))
        self.drift = 0.0 if strict else LIMITS.drift * mean * self.fetch
        self.unread = [len(tasks) for tasks in problem.readers]
        """Number of unassigned readers of each file."""
        self.there: list[set[int]] = [set(held) for held in problem.holds]
        """For each node, its live files: those that some task must still read."""

    def __call__(self, view: DispatchView) -> Pair | None:
        """Return the task and node with the least cost; None if nothing should start
        now.
        """
        pair = least(self._priced(view))
        if pair is not None:
            k, i = pair
            for f in self.problem.inputs[k]:
                self.unread[f] -= 1
            self.there[i].update(self.problem.inputs[k], self.problem.outputs[k])
        return pair

    def _priced(self, view: DispatchView) -> Iterator[tuple[float, Pair]]:
        """Yield (cost in seconds, (task, node)) for every pair that may start now."""
        nodes = view.open_nodes()
        if not nodes:
            return
        running = [view.running(i) for i in range(len(view.nodes))]
        idle = not any(running) and len(nodes) == len(view.nodes)
        first = nsmallest(LIMITS.window, view.ready, key=self.rank.__getitem__)
        seconds_for: dict[int, float] = {}
        for i in nodes:
            room = self._room(view, i, running[i])
            for place, k in self._taken(view, i, first):
                seconds, over = self._cost(view, k, i, room, seconds_for)
                if over and self.strict and not idle:
                    continue
                cost = seconds + LIMITS.excess * over * self.fetch + self.drift * place
                yield cost, (k, i)

    def _taken(
        self, view: DispatchView, i: int, first: Sequence[int]
    ) -> list[tuple[int, int]]:
        """Return those of the tasks *first* that the open node *i* takes, each with its
        place.
        """
        tasks = self.problem.tasks
        idle = inf if view.prefetch else view.idle_cores(i)
        found = []
        for place, k in enumerate(first):
            task = tasks[k]
            if task.cores > idle or i not in self.hosts[k]:
                continue
            if view.prefetch or not task.memory_bytes or view.idles_for(k, i):
                found.append((place, k))
        return found

    def _room(self, view: DispatchView, i: int, computing: Sequence[int]) -> float:
        """Return the bytes of node *i* that its live files leave free.

        *computing* are the tasks that run there now; their inputs count as live.
        """
        disk = view.nodes[i].disk_bytes
        if disk is None or self.problem.is_shared:
            return float("inf")
        used: set[int] = set()
        for k in computing:
            used.update(self.problem.inputs[k])
        self.there[i] = {f for f in self.there[i] if self.unread[f] or f in used}
        return float(disk - sum([self.size[f] for f in self.there[i]]))

    def _cost(
        self,
        view: DispatchView,
        k: int,
        i: int,
        room: float,
        seconds_for: dict[int, float],
    ) -> tuple[float, float]:
        """Return the seconds to bring the inputs of task *k* to node *i*, and its bytes
        above *room*.

        The bytes are those of its missing inputs and its outputs. *seconds_for* keeps
        the seconds for each file, which are the same for all nodes that lack it.
        """
        copy = 1.0 / view.network.replica_bytes_per_second
        seconds = 0.0
        wanted = self.written[k]
        there = self.there[i]
        for f in self.problem.inputs[k]:
            if f not in there and not view.holds(i, f):
                wanted += self.size[f]
                if f not in seconds_for:
                    rate = copy if view.copies(f) else self.fetch
                    seconds_for[f] = self.size[f] * rate
                seconds += seconds_for[f]
        return seconds, max(0.0, wanted - room)
