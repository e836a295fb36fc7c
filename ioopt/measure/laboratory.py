"""The perturbation experiments of Lee et al., Section 4: slopes of every application (F2).

Slopes come first, for every application; characteristic plots take what time is left.
"""

from statistics import fmean
from typing import Annotated

from pydantic import Field

from ioopt.measure import Measurement
from ioopt.measure.perturbation import Engine, curve, slopes_of, use_compiled
from ioopt.options import Deadline
from ioopt.problems.base import Json, Record
from ioopt.problems.flexgang.perturbation import (
    ApplicationSlopes,
    Curve,
    Environment,
    PerturbationProblem,
    PerturbationSlopes,
)


class Settings(Record):
    """``points`` of each characteristic plot beside the origin (0: slopes only); ``engine``."""

    points: Annotated[int, Field(ge=0)] = 5
    engine: Engine = "auto"


def measure(
    problem: PerturbationProblem,
    settings: Settings | None = None,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> Measurement[PerturbationSlopes]:
    """Slopes, in quanta a perturbation, of every application in every environment of the instance.

    When the *deadline* expires, slopes rest on fewer runs (one at least) and plots are left out.

    Examples
    --------
    >>> from ioopt.measure import laboratory
    >>> from ioopt.problems.flexgang.perturbation import Emp, PerturbationProblem
    >>> problem = PerturbationProblem(applications=(Emp(),), runs=2)
    >>> laboratory.measure(problem).found.applications[0].slopes["Sub_FX"]
    1.0
    """
    settings, deadline = settings or Settings(), deadline or Deadline(None)
    fast = use_compiled(problem, settings.engine, deadline)
    engine: Engine = "compiled" if fast else "python"
    found: list[ApplicationSlopes] = []
    notes: list[str] = []
    for app in problem.applications:
        found.append(slopes_of(problem, app, seed, engine, deadline))
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
    slopes = PerturbationSlopes(processors=problem.processors, applications=tuple(found))
    known = [item.gamma_sub for item in found if item.gamma_sub is not None]
    metrics: Json = {"mean_gamma_sub": fmean(known) if known else None}
    return Measurement(slopes, tuple(map(_row, found)), metrics, tuple(notes))


def _row(item: ApplicationSlopes) -> Json:
    return {
        "application": item.id,
        **dict(item.slopes.items()),
        "gamma_sub": item.gamma_sub,
        "gamma_add": item.gamma_add,
    }
