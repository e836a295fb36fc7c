"""One run of the link-aware search over a workflow: planners, dispatches by
live bytes, annealing.

See :mod:`ioopt.solvers.replication.search.link_aware`.
"""

import random
from collections.abc import Mapping

from ioopt.errors import OutOfTime
from ioopt.models.replication.workflow_bound import TransferBound, WorkflowBound
from ioopt.problems.replication import ReplicationPlan
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import simulate
from ioopt.sim.replication.state import replay_seconds
from ioopt.solvers.replication.search.flow_deal import LiveBytes, depth_first, stretches
from ioopt.solvers.replication.search.link_run import LinkAwareRun
from ioopt.solvers.replication.search.link_search import Queues
from ioopt.solvers.replication.workflows import PLANNERS, Planner
from ioopt.units import quantity, time_unit

PROOF_SECONDS_PER_TASK = 1e-4
"""What the bound with transfers takes, per task."""
DEAL_SHARE = 0.15
"""Share of the time left that one dispatch may take."""
LONG_REPLAY_SECONDS = 1.0
"""A plain replay that takes longer must watch the clock."""


class FlowRun(LinkAwareRun):
    """Starts and annealing of a workflow."""

    def start(self) -> None:
        """Score all planners' plans, each under its own eviction and under
        ours, and a given plan.
        """
        self.ends: dict[str, float] = {}
        self._rng = random.Random(self.request.options.seed)
        super().start()

    def _proven(self) -> float:
        clock = self.request.deadline.clock
        begun = clock()
        seconds = PROOF_SECONDS_PER_TASK * len(self.problem.tasks)
        left = self.request.deadline.remaining()
        # A quarter of the time: the plain bound, which takes a third of it,
        # for large workflows.
        proof = TransferBound if seconds <= max(0.3, 0.25 * left) else WorkflowBound
        bound = proof(self.problem).seconds
        self.proof_seconds = clock() - begun
        return bound

    def planners(self) -> Mapping[str, Planner]:
        """The planners of workflows, the quickest first."""
        return PLANNERS

    def _replayed(self, plan: ReplicationPlan, queues: Queues, origin: str) -> float:
        if self._slow():
            metrics = simulate(
                self.problem, plan, deadline=self.request.deadline
            ).metrics
            score = float(metrics["makespan_seconds"])
        else:
            score = super()._replayed(plan, queues, origin)
        self.ends[origin] = score
        return score

    def _slow(self) -> bool:
        """Whether a replay takes so long that only one that
        watches the clock will do.
        """
        return (
            not self.engine.fast
            and replay_seconds(self.problem)[0] > LONG_REPLAY_SECONDS
        )

    def notes(self) -> tuple[str, ...]:
        """Where the plan came from, and what the planners came to, in the
        unit of a table of them.
        """
        unit = time_unit(list(self.ends.values()))
        ends = [
            f"{name} {quantity('seconds', end, unit=unit)}"
            for name, end in self.ends.items()
        ]
        return (*super().notes(), f"planners: {', '.join(ends) or 'not replayed'}")

    def deal(self, fresh: bool = True, first: bool = True) -> None:
        """Dispatches by live bytes; at *first* stretches of the depth-first order.

        The stretches gain nothing where a planner has a plan, but are one where time
        was too short for any.
        """
        if first and not self.over() and not self._slow():
            cut = stretches(self.problem, depth_first(self.problem))
            self.attempt(cut, "stretches of the depth-first order")
        for turn in range(self.params.workflow_deals if fresh else 0):
            if self.over() or self._slow():
                return
            order = depth_first(self.problem, self._rng if turn or not first else None)
            within = self.request.deadline.within(
                DEAL_SHARE * max(0.0, self.budget.left())
            )
            policy = LiveBytes(self.problem, order, strict=turn % 2 == 0)
            try:
                plan, _ = dispatch(self.problem, policy, deadline=within)
            except OutOfTime:
                return
            self.attempt(self.queues_of(plan), "dispatch by live bytes")

    def anneal(self, turn: int = 0) -> None:
        """Anneal where replays are quick, and there is a plan."""
        if not self._slow() and self._elite.score < float("inf"):
            super().anneal(turn)
