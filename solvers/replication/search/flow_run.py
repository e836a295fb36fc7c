"""Run the link-aware search once for a workflow.

The starts are plans of planners and dispatches by live bytes; then annealing follows.
See :mod:`ioopt.solvers.replication.search.link_aware`.
"""

import random
from collections.abc import Mapping

from ioopt.errors import OutOfTime
from ioopt.models.replication.workflow_bound import (
    TransferBound,
    WorkflowBound,
    keep,
)
from ioopt.problems.replication import ReplicationPlan
from ioopt.sim.replication.build import replay_seconds
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.search.flow_deal import LiveBytes, depth_first, stretches
from ioopt.solvers.replication.search.link_run import LinkAwareRun
from ioopt.solvers.replication.search.link_search import Queues
from ioopt.solvers.replication.workflows import PLANNERS, Planner
from ioopt.units import quantity, time_unit

PROOF_SECONDS_PER_TASK = 1e-4
"""Seconds per task to compute the bound with transfers (measured)."""


class FlowRun(LinkAwareRun):
    """Make starting plans for a workflow, and anneal from them."""

    def start(self) -> None:
        """Score the plans of all planners, and the warm start of the request.

        Each plan is scored under its own eviction policy and under that of the search.
        """
        self.ends: dict[str, float] = {}
        self._rng = random.Random(self.request.options.seed)
        super().start()

    def _proven(self) -> float:
        """Return a lower bound of the makespan in seconds.

        It is the bound with transfers, if this takes at most a quarter of the time
        left, or 0.3 s. Otherwise it is the bound without transfers, which takes less
        time.
        """
        clock = self.request.deadline.clock
        begun = clock()
        seconds = PROOF_SECONDS_PER_TASK * len(self.problem.tasks)
        left = self.request.deadline.remaining()
        if seconds <= max(0.3, 0.25 * left):
            bound = keep(TransferBound(self.problem)).seconds
        else:
            bound = keep(WorkflowBound(self.problem)).seconds
        self.proof_seconds = clock() - begun
        return bound

    def planners(self) -> Mapping[str, Planner]:
        """Return the planners of workflows by name, the quickest first."""
        return PLANNERS

    def _replayed(self, plan: ReplicationPlan, queues: Queues, origin: str) -> float:
        """Return the makespan, in seconds, of the plan of planner *origin*; record it
        for the notes.
        """
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
        """Return whether a replay takes so long that it must check the clock itself."""
        seconds = replay_seconds(self.problem, self.engine.make)
        return seconds > self.params.long_replay_seconds

    def notes(self) -> tuple[str, ...]:
        """Return notes on the origin of the best plan and on the makespan of each
        planner's plan.
        """
        unit = time_unit(list(self.ends.values()))
        ends = [
            f"{name} {quantity('seconds', end, unit=unit)}"
            for name, end in self.ends.items()
        ]
        return (*super().notes(), f"planners: {', '.join(ends) or 'not replayed'}")

    def deal(self, fresh: bool = True, first: bool = True) -> None:
        """Make new starts by dispatches by live bytes.

        If *first*, the depth-first order cut into stretches comes before them. It is
        rarely better than a planner's plan, but it gives a plan if there was no time
        for any planner. Without *fresh* no dispatches are made.
        """
        if first and not self.over() and not self._slow():
            cut = stretches(self.problem, depth_first(self.problem))
            self.attempt(cut, "stretches of the depth-first order")
        if not fresh:
            return
        for turn in range(self.params.workflow_deals):
            if self.over() or self._slow():
                return
            drawn = turn > 0 or not first
            order = depth_first(self.problem, self._rng if drawn else None)
            seconds = self.params.deal_share * max(0.0, self.budget.left())
            within = self.request.deadline.within(seconds)
            policy = LiveBytes(self.problem, order, strict=turn % 2 == 0)
            try:
                plan, _ = dispatch(self.problem, policy, deadline=within)
            except OutOfTime:
                return
            self.attempt(self.queues_of(plan), "dispatch by live bytes")

    def anneal(self, turn: int = 0) -> None:
        """Anneal from the best start, if there is one and replays are quick."""
        if not self._slow() and self.elites.of_cycle.score < float("inf"):
            super().anneal(turn)
