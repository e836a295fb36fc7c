"""Solve linear programs of flexible gangs: loose CPU, and bounds of patterns (F5)."""

import math

from ioopt.models.flexgang.frame import PatternData, Placement, lay_out
from ioopt.models.flexgang.relaxation import RelaxedModel, TauModel, universal_bound
from ioopt.options import Deadline
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan, FlexibleGangProblem
from ioopt.result import Status
from ioopt.solvers.backends.linprog_backend import solve_by_linprog


def plan_with_best_tau(
    data: PatternData, placement: Placement, slack: float = 0.0
) -> FlexibleGangPlan | None:
    """Return the plan of *placement* with the best tau.

    None if a floor cannot be kept within *slack*.
    """
    model = TauModel(data, placement, slack)
    if not model.feasible:
        return None
    answer = solve_by_linprog(model.program)
    if answer.found:
        return lay_out(data, placement, *model.read(answer.values))
    return None


def relaxed_bound(data: PatternData) -> float:
    """Return a bound on the objective of every plan of a pattern.

    Minus infinity: the pattern has no plan. Infinity: no bound was found.
    """
    model = RelaxedModel(data)
    if not model.feasible:
        return -math.inf
    answer = solve_by_linprog(model.program)
    if answer.status is Status.INFEASIBLE:
        return -math.inf
    if answer.objective is None:
        return math.inf
    return answer.objective


def upper_bound(
    problem: FlexibleGangProblem, deadline: Deadline | None = None
) -> float | None:
    """Return a bound on the model objective of every plan, or None.

    Past the *deadline* the bound is weaker.
    """
    bounds = []
    for pattern in problem.patterns():
        if deadline is not None and deadline.expired():
            return universal_bound(problem)
        data = PatternData.of(problem, pattern)
        if data is not None:
            bounds.append(relaxed_bound(data))
    bound = max(bounds, default=math.inf)
    if math.isfinite(bound):
        return bound
    return None
