"""Solve the linear programs of flexible gangs: loose CPU, and bounds of patterns
(F5).
"""

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
    """Return the plan of *placement* with the best division of the loose CPU, tau.

    Return None if a floor is missed by more than *slack*.
    """
    model = TauModel(data, placement, slack)
    if not model.feasible:
        return None
    answer = solve_by_linprog(model.program)
    if answer.found:
        return lay_out(data, placement, *model.read(answer.values))
    return None


def relaxed_bound(data: PatternData) -> float:
    """Return an upper bound of the objective of every plan of a pattern.

    It is minus infinity if the pattern has no plan, and infinity if no bound was found.
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
    """Return an upper bound of the model's objective for every plan, or None if none is
    found.

    If the *deadline* passes, a weaker bound is returned.
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
