"""Solver ``laboratory``: the perturbation experiments of Lee et al., Section 4.

Slopes come first, for every application; characteristic plots take what time is left.
"""

from typing import Annotated

from pydantic import Field

from ioopt.measure.perturbation import Engine, curve, measure, use_compiled
from ioopt.problems.base import Record
from ioopt.problems.flexgang.perturbation import (
    ApplicationSlopes,
    Curve,
    Environment,
    PerturbationPlan,
    PerturbationProblem,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason


class Settings(Record):
    """``points`` of each characteristic plot beside the origin (0: slopes only); ``engine``."""

    points: Annotated[int, Field(ge=0)] = 5
    engine: Engine = "auto"


def solve(
    problem: PerturbationProblem, request: SolveRequest[Settings, PerturbationPlan]
) -> Outcome[PerturbationPlan]:
    """Measure every application in every environment with the request's seed."""
    settings = request.settings or Settings()
    seed, deadline = request.options.seed, request.deadline
    fast = use_compiled(problem, settings.engine, deadline)
    engine: Engine = "compiled" if fast else "python"
    found: list[ApplicationSlopes] = []
    notes: list[str] = []
    for app in problem.applications:
        found.append(measure(problem, app, seed, engine, deadline))
        if deadline.expired() and not notes:
            rest = ", ".join(item.id for item in problem.applications[len(found) - 1 :])
            notes.append(
                f"the time limit cut the {problem.runs} runs short (to 1 at least): {rest}"
            )
    drawn = 0
    for at, app in enumerate(problem.applications if settings.points else ()):
        curves: dict[Environment, Curve] = {}
        for environment in problem.environments:
            points = settings.points
            drawing = curve(problem, app, environment, points, seed, engine, deadline)
            if drawing is None:
                break
            curves[environment] = drawing
        if len(curves) == len(problem.environments):
            found[at] = found[at].model_copy(update={"curves": curves})
            drawn += 1
    if settings.points and drawn < len(found):
        notes.append(
            f"characteristic plots of {drawn} of {len(found)} applications: no time was left for "
            "the others; give more time, fewer runs or points=0"
        )
    plan = PerturbationPlan(processors=problem.processors, applications=tuple(found))
    stop = StopReason.TIME if notes else StopReason.FINISHED
    return Outcome(plan, stop=stop, notes=tuple(notes))
