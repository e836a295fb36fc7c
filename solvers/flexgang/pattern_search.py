"""Solve the programs of all patterns under one deadline, the most promising pattern
first.

The promise of a pattern is its upper bound minus the objective of the best plan so far.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ioopt.models.flexgang.assignment import AssignmentModel
from ioopt.models.flexgang.frame import PatternData, model_objective
from ioopt.models.flexgang.relaxation import universal_bound
from ioopt.models.program import Number
from ioopt.problems.base import Json
from ioopt.problems.flexgang.flexible_gang import (
    FlexibleGangPlan,
    FlexibleGangProblem,
    Pattern,
)
from ioopt.protocols import SolveRequest
from ioopt.result import Status, StopReason, relative_gap
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.solve import solve_program
from ioopt.solvers.flexgang.linear import plan_with_best_tau, relaxed_bound

FLOOR_SLACK = 5e-7
"""Progress by which a plan may miss a floor because of a backend's tolerance.

The checker allows 1e-6.
"""
LEAST_SECONDS = 0.2
"""Least number of seconds for which a backend is started."""


@dataclass
class PatternState:
    """Store the best plan and the bound of one pattern, and how its last run ended."""

    problem: FlexibleGangProblem
    pattern: Pattern
    bound: float = math.inf
    plan: FlexibleGangPlan | None = None
    value: float = -math.inf
    status: str = "open"

    @cached_property
    def data(self) -> PatternData:
        """Return the responses of the I/O jobs; they are looked up at the first use."""
        found = PatternData.of(self.problem, self.pattern)
        assert found is not None, "the surface does not cover a pattern"
        return found

    @cached_property
    def model(self) -> AssignmentModel:
        """Return the program of the pattern; it is built at the first use."""
        return AssignmentModel(self.data)

    def offer(self, plan: FlexibleGangPlan) -> None:
        """Store *plan* if it is the best plan of this pattern so far."""
        value = model_objective(self.data, plan)
        if value > self.value:
            self.plan = plan
            self.value = value

    def row(self) -> Json:
        """Return the entry of the pattern in the metric ``per_pattern``."""
        row: Json = {"objective": None, "bound": None, "gap": None}
        if self.plan is not None:
            row["objective"] = self.value
            row["gap"] = relative_gap(self.value, self.bound)
        if math.isfinite(self.bound):
            row["bound"] = self.bound
        row["status"] = self.status
        return row


class PatternSearch:
    """Search all patterns of one instance.

    :meth:`relax` bounds them, :meth:`run` solves their programs.
    """

    def __init__(
        self,
        problem: FlexibleGangProblem,
        patterns: Sequence[Pattern],
        request: SolveRequest,
    ) -> None:
        self.request = request
        bound = universal_bound(problem)
        self.states = [PatternState(problem, item, bound) for item in patterns]
        self.by_key = {state.pattern.key: state for state in self.states}
        self.versions: dict[str, str] = {}
        self.build_seconds = 0.0

    @property
    def best(self) -> float:
        """Return the objective of the best plan so far; minus infinity if there is
        none.
        """
        return max((state.value for state in self.states), default=-math.inf)

    @property
    def bound(self) -> float | None:
        """Return an upper bound for all patterns; None if some pattern has no bound."""
        bound = max((state.bound for state in self.states), default=math.inf)
        if math.isfinite(bound):
            return bound
        return None

    def offer(self, plan: FlexibleGangPlan) -> None:
        """Give *plan* to its pattern as a start plan."""
        self.by_key[f"{plan.k},{plan.d}"].offer(plan)

    def relax(self) -> None:
        """Bound the patterns by their linear relaxations until the deadline."""
        for state in self.states:
            if self.request.deadline.expired():
                return
            state.bound = min(state.bound, relaxed_bound(state.data))
            if state.bound == -math.inf:
                state.status = "infeasible"

    def run(self, gap: float, reserve: float) -> None:
        """Solve every pattern that may still win, to within *gap*, and prune the
        others.

        *reserve* seconds of the deadline are left for later steps. Patterns get time in
        proportion to their promise. No program is built if building it might take all
        the time left.
        """
        waiting = sorted(self.states, key=lambda s: (-s.bound, s.pattern))
        deadline = self.request.deadline
        while waiting:
            if waiting[0].bound <= self.best * (1 - 1e-9) - 1e-12:
                state = waiting.pop(0)
                if state.status != "infeasible":
                    state.status = "pruned"
                continue
            begun = deadline.remaining()
            if begun - reserve < LEAST_SECONDS + self.build_seconds:
                return
            _ = waiting[0].model  # Build the model now, so that this time counts.
            left = deadline.remaining() - reserve
            self.build_seconds = max(self.build_seconds, begun - deadline.remaining())
            if left < LEAST_SECONDS:
                return
            promises = [self._promise(state) for state in waiting]
            seconds = max(LEAST_SECONDS, left * promises[0] / sum(promises))
            self._solve(waiting.pop(0), gap, min(left, seconds))

    def _promise(self, state: PatternState) -> float:
        """Return by how much a plan of the pattern may still beat the best plan.

        It is at least a thousandth of the best plan's objective.
        """
        best = max(self.best, -1e9)
        least = 1e-3 * max(abs(best), 1e-3)
        return max(least, min(state.bound, 1e9) - best)

    def _solve(self, state: PatternState, gap: float, seconds: float) -> None:
        """Run the backend on the program of one pattern, for at most *seconds*.

        The bound, the status and the plan of the answer are stored in *state*.
        """
        start = None
        if state.plan is not None:
            start = state.model.start_values(state.plan)
        limits = replace(BackendLimits.of(self.request, seconds), gap=gap or None)
        backend = self.request.options.backend
        answer = solve_program(state.model.program, backend, limits, start)
        self.versions[answer.backend] = answer.version
        if answer.status is Status.INFEASIBLE:
            state.bound = -math.inf
            state.status = "infeasible"
            return
        if answer.status is Status.OPTIMAL:
            state.status = "optimal"
        else:
            state.status = str(answer.stop)
        if answer.bound is not None:
            state.bound = min(state.bound, answer.bound)
        if answer.found:
            plan = plan_of_values(state.model, answer.values)
            if plan is not None:
                state.offer(plan)
            if state.plan is not None and state.value >= self.best:
                self.request.incumbents.report(state.plan, state.value)
        state.bound = max(state.bound, state.value)

    def stop_reason(self, gap: float) -> StopReason:
        """Return why the whole search ended; *gap* is the requested gap."""
        bound = self.bound
        if bound is not None and self.best >= bound - 1e-9 * max(1.0, abs(bound)):
            return StopReason.FINISHED
        if all(self._settled(state) for state in self.states):
            return StopReason.FINISHED
        if math.isfinite(self.best):
            reached = relative_gap(self.best, bound)
            if reached is not None and reached <= gap:
                return StopReason.GAP
        return StopReason.TIME

    def _settled(self, state: PatternState) -> bool:
        """Return whether no plan of the pattern can beat the best plan so far."""
        if state.status in ("optimal", "pruned", "infeasible"):
            return True
        return state.bound <= self.best


def plan_of_values(
    model: AssignmentModel, values: Mapping[int, Number]
) -> FlexibleGangPlan | None:
    """Return the plan of a solution, with the best loose CPU for its placement.

    Return None if the plan misses a floor by more than the tolerance of backends.
    """
    placement = model.placement(values)
    exact = plan_with_best_tau(model.data, placement)
    return exact or plan_with_best_tau(model.data, placement, FLOOR_SLACK)
