"""One run of the link-aware search over a workflow: planners, plans of few live bytes, annealing.

See :mod:`ioopt.solvers.replication.search.link_aware`.
"""

import random
from collections.abc import Mapping

from ioopt.errors import OutOfTime
from ioopt.models.replication.transfer_bound import TransferBound
from ioopt.options import Deadline
from ioopt.problems.replication import ReplicationPlan
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import replay_seconds, simulate
from ioopt.solvers.replication.search.flow_deal import (
    FIRST_DEALS,
    FlowDealing,
    LiveBytes,
    depth_first,
    stretches,
)
from ioopt.solvers.replication.search.link_run import LinkAwareRun
from ioopt.solvers.replication.search.link_search import Queues
from ioopt.solvers.replication.workflows import PLANNERS, Planner

DEAL_SHARE = 0.15
"""Share of the time left that one deal may take."""
LONG_REPLAY_SECONDS = 1.0
"""A plain replay that takes longer must watch the clock."""
DEALS = 24
PENALTIES, DRIFTS, NOISES = (0.3, 1.0, 2.0), (0.0, 0.02, 0.1, 1.0), (0.0, 0.1, 0.3)


class FlowRun(LinkAwareRun):
    """Starts, dealing and annealing of a workflow: queues are parts of one order of all tasks."""

    def start(self) -> None:
        """Score all planners' plans, each under its own eviction and under ours, and a given plan."""
        self.ends: dict[str, float] = {}
        super().start()

    def _proven(self) -> float:
        clock = self.request.deadline.clock
        begun = clock()
        bound = max(super()._proven(), TransferBound(self.problem).seconds)
        self._proof_seconds = clock() - begun
        return bound

    def planners(self) -> Mapping[str, Planner]:
        """The planners of workflows, the quickest first."""
        return PLANNERS

    def _within(self, share: float) -> Deadline:
        """A deadline after *share* of what is left."""
        return self.request.deadline.within(share * max(0.0, self._left()))

    def _replayed(self, plan: ReplicationPlan, queues: Queues, origin: str) -> float:
        if self._slow():
            metrics = simulate(self.problem, plan, deadline=self.request.deadline).metrics
            score = float(metrics["makespan_seconds"])
        else:
            score = super()._replayed(plan, queues, origin)
        self.ends[origin] = score
        return score

    def _slow(self) -> bool:
        """Whether a replay takes so long that only one that watches the clock will do."""
        return not self.engine.fast and replay_seconds(self.problem)[0] > LONG_REPLAY_SECONDS

    def notes(self) -> tuple[str, ...]:
        """Where the plan came from, and what the planners came to."""
        ends = ", ".join(f"{name} {end:.6g} s" for name, end in self.ends.items())
        return (*super().notes(), f"planners: {ends or 'not replayed'}")

    def _deal(self) -> None:
        """Stretches of the depth-first order, then dispatches by live bytes under random parameters."""
        rng = random.Random(self.request.options.seed)
        if not self._over() and not self._slow():
            cut = stretches(self.problem, depth_first(self.problem))
            self._try(cut, "stretches of the depth-first order")
        for turn in range(DEALS):
            if self._over() or self._slow():
                return
            order = depth_first(self.problem, rng if turn % 3 == 2 else None)
            dealing = FlowDealing(
                rng.choice(PENALTIES), rng.choice(DRIFTS), rng.random() < 0.6, rng.choice(NOISES)
            )
            if turn < len(FIRST_DEALS):
                dealing = FIRST_DEALS[turn]
            policy = LiveBytes(self.problem, order, dealing, turn)
            try:
                plan, _ = dispatch(self.problem, policy, deadline=self._within(DEAL_SHARE))
            except OutOfTime:
                return
            self._try(self._queues(plan), "dispatch by live bytes")

    def _anneal(self) -> None:
        if not self._slow() and self.best.score < float("inf"):
            super()._anneal()
