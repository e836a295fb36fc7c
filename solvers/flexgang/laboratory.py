"""Solver ``laboratory``: the perturbation experiments of Lee et al., Section 4."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ioopt.problems.base import Record
from ioopt.problems.perturbation import ApplicationSlopes, PerturbationPlan, PerturbationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.perturbation import Engine, curve, measure


class Settings(Record):
    """``points`` of each characteristic plot beside the origin (0: slopes only); ``engine``."""

    points: Annotated[int, Field(ge=0)] = 5
    engine: Engine = "auto"


def solve(problem: PerturbationProblem, request: SolveRequest) -> Outcome:
    """Measure every application in every environment with the request's seed."""
    settings = request.settings or Settings()
    seed, found = request.options.seed, list[ApplicationSlopes]()
    for app in problem.applications:
        if request.deadline.expired():
            note = (
                f"{len(found)} of {len(problem.applications)} applications measured before the "
                "time limit; give more time, fewer runs or points=0"
            )
            return Outcome(None, stop=StopReason.TIME, notes=(note,))
        slopes = measure(problem, app, seed, settings.engine)
        if settings.points:
            curves = {
                environment: curve(
                    problem, app, environment, settings.points, seed, settings.engine
                )
                for environment in problem.environments
            }
            slopes = slopes.model_copy(update={"curves": curves})
        found.append(slopes)
    return Outcome(PerturbationPlan(processors=problem.processors, applications=tuple(found)))
