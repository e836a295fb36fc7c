"""The link-aware search of a batch, begun by plans that hand files on between small disks.

Such a plan costs a moment, while a replay and a dispatch of a large batch cost seconds: what the search does
with the rest of its time is tried against them. See :mod:`ioopt.solvers.replication.search.forwarding`.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from copy import copy

from ioopt.errors import OutOfTime
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.search.forwarding import forwarded
from ioopt.solvers.replication.search.link_run import LinkAwareRun
from ioopt.solvers.replication.search.link_search import Engine, OrderAnnealing
from ioopt.solvers.replication.search.pace import SLOW_CELLS, orders_pay
from ioopt.solvers.replication.search.spectral import task_order

HANDED_ON = "files handed on between nodes"
ALL_TASKS = 1 << 30
POOLED_PER_TASK, POOL_SHARE = 500, 0.8
"""With fewer replays a task than that, the share of the run for orders annealed on one disk."""
DISK_SHARES = (0.5, 0.4, 0.6, 0.45)
"""Of all disks together, for such a disk: the rest goes to files that several nodes read at once."""
FIRST_HEAT = 1e-2


class PoolRun(LinkAwareRun):
    """A run that begins with plans that hand files on, where disks are small and the link is shared."""

    def _deal(self) -> None:
        if orders_pay(self.problem):
            order = task_order(self.problem)
            self._hand_on(order, (1, ALL_TASKS))
            if self.effort < POOLED_PER_TASK * len(order) and self._cells <= SLOW_CELLS:
                self._pooled(order)
        if not self._over():
            super()._deal()

    def _hand_on(self, order: Sequence[int], windows: Iterable[int]) -> None:
        """Score the plans of *order* on all nodes, three quarters and half of them, while time lasts."""
        nodes, spent = len(self.problem.nodes), 0.0
        for window in windows:
            for most in sorted({nodes, -(-3 * nodes // 4), -(-nodes // 2)}, reverse=True):
                if self._over() or self._left() <= 2.0 * spent:
                    return
                begun = self.clock()
                plan = forwarded(self.problem, order, most, window)
                plan = plan.model_copy(update=self.options.options())
                with suppress(OutOfTime):
                    replayed = simulate(self.problem, plan, deadline=self.request.deadline)
                    score = float(replayed.metrics["makespan_seconds"])
                    self._offer(self._queues(plan), score, HANDED_ON, plan=plan)
                self.evaluations += 1
                spent = self.clock() - begun

    def _pooled(self, order: list[int]) -> None:
        """Orders annealed on one disk, then planned for all nodes."""
        first = self._progress()
        for turn, share in enumerate(DISK_SHARES, start=1):
            pool = PoolAnnealing(self.engine, order, share)
            until = first + POOL_SHARE * (1.0 - first) * turn / len(DISK_SHARES)
            self._cool(pool, until, self._heat(self.bound, FIRST_HEAT), HANDED_ON)
            self._hand_on([int(k) for k in pool.line.best_order], (1,))
            if self._over():
                return


class PoolAnnealing(OrderAnnealing):
    """One order of all tasks under improvement, on a single disk of that *share* of all disks."""

    def __init__(self, engine: Engine, order: Sequence[int], share: float) -> None:
        self._all, self._share = engine, share
        self._engine = self._one()
        self.line = self._engine.line(order, [0] * len(order))

    def _one(self) -> Engine:
        """The engine with one node."""
        engine, problem = copy(self._all), self._all.problem
        size = int(self._share * sum(min(int(room), 1 << 50) for room in engine.inst.disk))
        size = max(size, *(problem.task_bytes(k) for k in range(len(problem.tasks))))
        none = engine.box([])
        engine.inst = engine.inst._replace(
            num_nodes=1, disk=engine.box([size]), held_node=none, held_file=none
        )
        return engine
