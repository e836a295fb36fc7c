"""Solver ``chain``: the two-job quantum model by its stationary Markov chain.

Points that the time limit does not reach are solved on a coarse grid, with a note.
"""

from __future__ import annotations

from collections.abc import Sequence

from ioopt.measure.quantum_chain import COARSE_CELLS, measure
from ioopt.problems.flexgang.quantum_model import (
    MeasuredPoint,
    QuantumModelPlan,
    QuantumModelProblem,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason


def solve(problem: QuantumModelProblem, request: SolveRequest) -> Outcome:
    """Solve the chain of every point; raises NotApplicableError for a burst that is not random."""
    points: list[MeasuredPoint] = []
    for point in problem.points:
        if request.deadline.expired():
            return with_coarse_rest(problem, points)
        points.append(MeasuredPoint.of(point, measure(problem, point)))
    return Outcome(QuantumModelPlan(points=tuple(points)))


def with_coarse_rest(problem: QuantumModelProblem, points: Sequence[MeasuredPoint]) -> Outcome:
    """The first *points* as they are, those missing by the chain on its coarsest grid."""
    missing = problem.points[len(points) :]
    rest = [MeasuredPoint.of(point, measure(problem, point, COARSE_CELLS)) for point in missing]
    note = (
        f"the time limit came after {len(points)} of {len(problem.points)} points; the others are "
        f"the chain's on {COARSE_CELLS} cells (0.1 % of slowdown, 0.004 of fragmentation)"
    )
    plan = QuantumModelPlan(points=(*points, *rest))
    return Outcome(plan, stop=StopReason.TIME, notes=(note,))
