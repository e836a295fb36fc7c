"""The two-job quantum model, a row a pair of quanta, by its chain or by event simulation (F1)."""

from statistics import fmean
from typing import Literal

from ioopt.errors import OutOfTime
from ioopt.measure import Measurement, quantum_chain
from ioopt.measure.quantum_event import engine_for, simulate_point
from ioopt.options import Deadline
from ioopt.problems.base import Record
from ioopt.problems.flexgang.quantum_model import (
    MeasuredPoint,
    QuantumMeasures,
    QuantumModelProblem,
)

MEANS = ("slowdown", "response_seconds", "fragmentation", "useful")


class Settings(Record):
    """``engine``: the stationary chain, or events with one random stream a process.

    ``auto`` is the chain, but events where every burst lasts the same.
    """

    engine: Literal["auto", "chain", "event"] = "auto"


def measure(
    problem: QuantumModelProblem,
    settings: Settings | None = None,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> Measurement[QuantumMeasures]:
    """Measure every point; those past the *deadline* by the chain on its coarsest grid.

    Returns :class:`MeasuredPoint` rows in the instance's order, and their means. Only events use
    the *seed*. Raises NotApplicableError for the chain of a burst that is not random, and OutOfTime
    where such bursts leave no time for a point.

    Examples
    --------
    >>> import ioopt
    >>> from ioopt.measure import quantum_model
    >>> found = quantum_model.measure(ioopt.load("quantum-ties")).found
    >>> [round(point.slowdown, 2) for point in found.points]
    [1.2, 1.5, 1.0, 1.1, 1.6]
    """
    chosen = "auto" if settings is None else settings.engine
    deadline = deadline or Deadline(None)
    engine = None
    if chosen == "event" or (chosen == "auto" and problem.burst_shape is None):
        engine = engine_for(problem, problem.points, deadline)
    points: list[MeasuredPoint] = []
    for point in problem.points:
        if deadline.expired():
            break
        if engine is None:
            found = quantum_chain.measure(problem, point)
        else:
            found = simulate_point(problem, point, seed=seed, engine=engine)
        points.append(MeasuredPoint.of(point, found))
    done, cells = len(points), quantum_chain.COARSE_CELLS
    notes: tuple[str, ...] = ()
    if done < len(problem.points):
        if problem.burst_shape is None:  # the chain has no answer
            raise OutOfTime(
                f"{done} of {len(problem.points)} points simulated before the time limit; "
                "give more time, fewer points or a shorter horizon_seconds"
            )
        points += [
            MeasuredPoint.of(point, quantum_chain.measure(problem, point, cells))
            for point in problem.points[done:]
        ]
        notes = (
            f"the time limit came after {done} of {len(problem.points)} points; the others are "
            f"the chain's on {cells} cells (0.1 % of slowdown, 0.004 of fragmentation)",
        )
    metrics = {name: fmean(getattr(point, name) for point in points) for name in MEANS}
    metrics["max_slowdown"] = max(point.slowdown for point in points)
    rows = tuple(point.model_dump(mode="json") for point in points)
    return Measurement(QuantumMeasures(points=tuple(points)), rows, metrics, notes)
