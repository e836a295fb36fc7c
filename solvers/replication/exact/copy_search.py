"""Shorten a plan by copy entries along exact replays, by simulated annealing (ours).

A copy entry does two things that queues of tasks cannot. It brings a file to a node
before the task at the head of the queue is staged. And it makes the node wait: if
another node is fetching the file, this one waits for it, then copies it over the
private link. The fetch of the other node thus has the remote link for itself.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from ioopt.options import Deadline
from ioopt.problems.replication import CopyEntry, ReplicationPlan, ReplicationProblem
from ioopt.sim.replication import kernel
from ioopt.sim.replication.build import Queues, build_world, give_queues, maker_for
from ioopt.solvers.replication.plans import build_plan

Order = list[list[int]]
"""The entries of each node: the position of a task, or ``-1 - file`` for a copy."""
WARMTH = 0.003
"""The first temperature, as a share of the makespan; it falls to 0 as a square."""
PIECE = 64
"""The number of replays between two looks at the clock."""


class CopySearch:
    """Insert, remove and move copy entries, and move tasks, so that *plan* ends sooner.

    ``seconds`` is the least makespan so far (infinite if the plan cannot be replayed),
    and ``replays`` the number of replays. The search depends on *seed*. The plan has
    neither rounds nor room to clear, dispatches or moves to carry out.
    """

    def __init__(
        self, problem: ReplicationProblem, plan: ReplicationPlan, seed: int = 0
    ) -> None:
        self.problem = problem
        self.replays = 0
        self._given = plan
        self._random = random.Random(seed)
        self._tasks = len(problem.tasks)
        self._files = [f for f, readers in enumerate(problem.readers) if readers]
        self._best = order_of(problem, plan)
        self._entry = {k: k for k in range(self._tasks)}
        self._entry |= {-1 - f: self._tasks + x for x, f in enumerate(self._files)}
        self._unfit = [
            {k for k in range(self._tasks) if not problem.fits(k, i)}
            for i in range(len(problem.nodes))
        ]
        # Each node has one copy entry of each file that some task reads.
        copies = self._files * len(problem.nodes)
        entries = range(self._tasks + len(copies))
        queues = [entries, *(() for _ in problem.nodes[1:])]
        make = maker_for(problem)
        self._world = build_world(
            problem,
            Queues(queues, plan.eviction, options=plan),
            make,
            copy_entries=copies,
        )
        self._replay = make.function(kernel.replay)
        self.seconds = self._makespan(self._best)

    @property
    def plan(self) -> ReplicationPlan:
        """Return the best plan so far."""
        given = self._given
        return build_plan(
            self.problem, self._best, given.eviction, sources=given.sources
        )

    def run(self, floor: float, most: int, deadline: Deadline) -> None:
        """Search until the makespan is at most *floor* seconds, *most* replays were
        made, or *deadline* has passed. Then drop the copies that shorten nothing.
        """
        if not self._files:
            return
        while self._insert(floor, most, deadline):
            pass
        self._anneal(floor, most - self.replays, deadline)
        self._drop_copies()

    def _insert(self, floor: float, most: int, deadline: Deadline) -> bool:
        """Insert the copy entry that shortens the makespan most; return whether there
        is one.
        """
        before = self.seconds
        for order in self._with_one_more(self._best):
            if self.seconds <= floor or self.replays >= most or deadline.expired():
                break
            self._keep(order, self._makespan(order, self.seconds))
        return self.seconds < before

    def _with_one_more(self, order: Order) -> Iterator[Order]:
        """Yield *order* with one more copy entry: at every place of every queue, of
        every file that some task reads.
        """
        for i, queue in enumerate(order):
            for place in range(len(queue) + 1):
                for f in self._files:
                    longer = [*queue[:place], -1 - f, *queue[place:]]
                    yield [*order[:i], longer, *order[i + 1 :]]

    def _keep(self, order: Order, seconds: float) -> None:
        """Make *order* the best if its makespan of *seconds* is the least so far."""
        if seconds < self.seconds * (1 - 1e-9):
            self._best = order
            self.seconds = seconds

    def _anneal(self, floor: float, most: int, deadline: Deadline) -> None:
        """Search from the best plan on, as :meth:`run` does, by simulated annealing."""
        now = self._best
        seconds = self.seconds
        for step in range(most):
            if self.seconds <= floor or (step % PIECE == 0 and deadline.expired()):
                break
            warm = WARMTH * self.seconds * (1 - step / most) ** 2
            longest = seconds - warm * math.log(1 - self._random.random())
            order = self._neighbour(now)
            found = self._makespan(order, longest)
            if found <= longest:
                now = order
                seconds = found
                self._keep(order, found)

    def _neighbour(self, order: Order) -> Order:
        """Return *order* with one copy more or less, or with one or two entries at
        other places.
        """
        order = [list(queue) for queue in order]
        places = [(i, p) for i, queue in enumerate(order) for p in range(len(queue))]
        way = self._random.random()
        i, p = self._random.choice(places)
        entry = order[i][p]
        if way < 0.4:
            i = self._random.randrange(len(order))
            self._place(order[i], -1 - self._random.choice(self._files))
        elif way < 0.6:
            copies = [(i, p) for i, p in places if order[i][p] < 0]
            if copies:
                i, p = self._random.choice(copies)
                del order[i][p]
        elif way < 0.85:
            del order[i][p]
            if self._random.random() < 0.5:
                i = self._random.randrange(len(order))
            self._place(order[i], entry)
        else:
            j, q = self._random.choice(places)
            order[i][p] = order[j][q]
            order[j][q] = entry
        return order

    def _place(self, queue: list[int], entry: int) -> None:
        queue.insert(self._random.randrange(len(queue) + 1), entry)

    def _drop_copies(self) -> None:
        """Remove each copy without which the makespan is no longer."""
        for i, queue in enumerate(self._best):
            for p in reversed(range(len(queue))):
                if queue[p] < 0:
                    order = [list(entries) for entries in self._best]
                    del order[i][p]
                    seconds = self._makespan(order, self.seconds)
                    if seconds <= self.seconds:
                        self._best = order
                        self.seconds = seconds

    def _makespan(self, order: Order, most: float = math.inf) -> float:
        """Return the makespan of *order* in seconds; infinity if it is above *most*, or
        if the order cannot be carried out.
        """
        queues = []
        for i, queue in enumerate(order):
            entries = set(queue)
            if len(entries) < len(queue):  # a file is copied twice
                return math.inf
            if entries & self._unfit[i]:
                return math.inf
            shift = i * len(self._files)
            queues.append([self._entry[e] + (shift if e < 0 else 0) for e in queue])
        self.replays += 1
        world = self._world
        give_queues(world, queues, self._given.eviction)
        makespan, code = self._replay(world, most)
        return makespan if code == kernel.FINISHED else math.inf


def order_of(problem: ReplicationProblem, plan: ReplicationPlan) -> Order:
    """Return the entries of the queues of *plan*."""
    task = {each.id: k for k, each in enumerate(problem.tasks)}
    copy = {file.id: -1 - f for f, file in enumerate(problem.files)}
    return [
        [
            copy[entry.copy_file] if isinstance(entry, CopyEntry) else task[entry]
            for entry in plan.order.get(node.id, ())
        ]
        for node in problem.nodes
    ]


def copies_in(plan: ReplicationPlan) -> int:
    """Return the number of copy entries in the queues of *plan*."""
    entries = [entry for queue in plan.order.values() for entry in queue]
    return sum(isinstance(entry, CopyEntry) for entry in entries)
