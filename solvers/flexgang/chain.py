"""Solver ``chain``: the two-job quantum model by its stationary Markov chain.

Points that the time limit does not reach are solved on a coarse grid, with a note.
"""

from collections.abc import Callable
from functools import partial

from ioopt.measure.quantum_chain import COARSE_CELLS, measure
from ioopt.problems.flexgang.quantum_model import (
    MeasuredPoint,
    QuantumModelPlan,
    QuantumModelProblem,
    QuantumPoint,
    TwoJobMeasures,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason


def solve(
    problem: QuantumModelProblem, request: SolveRequest[None, QuantumModelPlan]
) -> Outcome[QuantumModelPlan]:
    """Solve the chain of every point; raises NotApplicableError for a burst that is not random."""
    return each_point(problem, request, partial(measure, problem))


def each_point(
    problem: QuantumModelProblem,
    request: SolveRequest,
    measured: Callable[[QuantumPoint], TwoJobMeasures],
) -> Outcome:
    """Every point by *measured*; those past the time limit by the chain on its coarsest grid."""
    points: list[MeasuredPoint] = []
    for point in problem.points:
        if request.deadline.expired():
            break
        points.append(MeasuredPoint.of(point, measured(point)))
    done, missing = len(points), problem.points[len(points) :]
    if not missing:
        return Outcome(QuantumModelPlan(points=tuple(points)))
    if problem.burst_shape is None:  # the chain has no answer
        note = (
            f"{done} of {len(problem.points)} points simulated before the time limit; "
            "give more time, fewer points or a shorter horizon_seconds"
        )
        return Outcome(None, stop=StopReason.TIME, notes=(note,))
    points += [MeasuredPoint.of(point, measure(problem, point, COARSE_CELLS)) for point in missing]
    note = (
        f"the time limit came after {done} of {len(problem.points)} points; the others are "
        f"the chain's on {COARSE_CELLS} cells (0.1 % of slowdown, 0.004 of fragmentation)"
    )
    return Outcome(QuantumModelPlan(points=tuple(points)), stop=StopReason.TIME, notes=(note,))
