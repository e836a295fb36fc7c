"""Solve the models of all patterns under one deadline, the most promising first.

The promise of a pattern is its bound minus the value of the best plan so far.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ioopt.models.flexgang.assignment import AssignmentModel
from ioopt.models.flexgang.frame import PatternData, model_objective
from ioopt.models.flexgang.relaxation import universal_bound
from ioopt.problems.base import Json
from ioopt.problems.flexgang.flexible_gang import (
    FlexibleGangPlan,
    FlexibleGangProblem,
    Pattern,
)
from ioopt.protocols import SolveRequest
from ioopt.result import Status, StopReason, relative_gap
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits
from ioopt.solvers.backends.solve import solve_program
from ioopt.solvers.flexgang.linear import plan_with_best_tau, relaxed_bound

FLOOR_SLACK = 5e-7
"""Progress by which a plan may miss a floor through a backend's tolerance.

The checker allows 1e-6.
"""
LEAST_SECONDS = 0.2
"""No backend is started with fewer seconds than this."""


@dataclass
class PatternState:
    """Record the best plan and bound of one pattern, and how its last run ended."""

    problem: FlexibleGangProblem
    pattern: Pattern
    bound: float = math.inf
    plan: FlexibleGangPlan | None = None
    value: float = -math.inf
    status: str = "open"

    @cached_property
    def data(self) -> PatternData:
        """Return the responses of the I/O jobs, looked up when first needed."""
        found = PatternData.of(self.problem, self.pattern)
        assert found is not None, "the surface does not cover a pattern"
        return found

    @cached_property
    def model(self) -> AssignmentModel:
        """Return the program, built when first needed."""
        return AssignmentModel(self.data)

    def offer(self, plan: FlexibleGangPlan) -> None:
        """Record *plan* if it is the best one of this pattern so far."""
        value = model_objective(self.data, plan)
        if value > self.value:
            self.plan = plan
            self.value = value

    def row(self) -> Json:
        """Return the line of the pattern in ``per_pattern``."""
        row: Json = {"objective": None, "bound": None, "gap": None}
        if self.plan is not None:
            row["objective"] = self.value
            row["gap"] = relative_gap(self.value, self.bound)
        if math.isfinite(self.bound):
            row["bound"] = self.bound
        row["status"] = self.status
        return row


class PatternSearch:
    """Search all patterns of one instance; :meth:`run` solves them."""

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
        """Return the objective of the best plan so far, minus infinity without one."""
        return max((state.value for state in self.states), default=-math.inf)

    @property
    def bound(self) -> float | None:
        """Return a bound that covers every pattern; None while a pattern has no
        bound.
        """
        bound = max((state.bound for state in self.states), default=math.inf)
        if math.isfinite(bound):
            return bound
        return None

    def offer(self, plan: FlexibleGangPlan) -> None:
        """Give *plan* to its pattern as a start."""
        self.by_key[f"{plan.k},{plan.d}"].offer(plan)

    def relax(self) -> None:
        """Bound every pattern by its linear relaxation, while there is time."""
        for state in self.states:
            if self.request.deadline.expired():
                return
            state.bound = min(state.bound, relaxed_bound(state.data))
            if state.bound == -math.inf:
                state.status = "infeasible"

    def run(self, gap: float, reserve: float) -> None:
        """Solve every pattern that may still win to within *gap*; prune the others.

        *reserve* seconds are left unused for later steps. Patterns get time in
        proportion to their promise. A program is not built if building it may take all
        remaining time.
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
        """Return by how much the pattern may still beat the best plan.

        Return at least a thousandth of that plan's objective.
        """
        best = max(self.best, -1e9)
        least = 1e-3 * max(abs(best), 1e-3)
        return max(least, min(state.bound, 1e9) - best)

    def _solve(self, state: PatternState, gap: float, seconds: float) -> None:
        """Run the backend on one pattern for at most *seconds* and record its
        answer.
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
            plan = plan_of_answer(state.model, answer)
            if plan is not None:
                state.offer(plan)
            if state.plan is not None and state.value >= self.best:
                self.request.incumbents.report(state.plan, state.value)
        state.bound = max(state.bound, state.value)

    def stop_reason(self, gap: float) -> StopReason:
        """Return why the search as a whole ended."""
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
        """Return whether no plan of the pattern can beat the best plan."""
        if state.status in ("optimal", "pruned", "infeasible"):
            return True
        return state.bound <= self.best


def plan_of_answer(
    model: AssignmentModel, answer: BackendAnswer
) -> FlexibleGangPlan | None:
    """Return the plan of a solution with the best tau of its placement.

    None if a floor that the backend met only within its tolerance cannot be kept.
    """
    placement = model.placement(answer.values)
    exact = plan_with_best_tau(model.data, placement)
    return exact or plan_with_best_tau(model.data, placement, FLOOR_SLACK)
