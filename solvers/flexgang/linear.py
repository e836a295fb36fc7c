"""Linear programs of flexible gangs: the loose CPU of a placement, the relaxation of a
pattern (F5).
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
    """The plan of *placement* with the best tau; None when a floor cannot be kept
    within *slack*.
    """
    model = TauModel(data, placement, slack)
    if not model.feasible:
        return None
    answer = solve_by_linprog(model.program)
    return (
        lay_out(data, placement, *model.read(answer.values)) if answer.found else None
    )


def relaxed_bound(data: PatternData) -> float:
    """No plan of the pattern has a higher objective; minus infinity when it has no plan
    at all.
    """
    model = RelaxedModel(data)
    if not model.feasible:
        return -math.inf
    answer = solve_by_linprog(model.program)
    if answer.status is Status.INFEASIBLE:
        return -math.inf
    return math.inf if answer.objective is None else answer.objective


def upper_bound(
    problem: FlexibleGangProblem, deadline: Deadline | None = None
) -> float | None:
    """No plan of any pattern has a higher model objective; None for no bound, weaker
    past the *deadline*.
    """
    bounds = []
    for pattern in problem.patterns():
        if deadline is not None and deadline.expired():
            return universal_bound(problem)
        data = PatternData.of(problem, pattern)
        if data is not None:
            bounds.append(relaxed_bound(data))
    bound = max(bounds, default=math.inf)
    return bound if math.isfinite(bound) else None
