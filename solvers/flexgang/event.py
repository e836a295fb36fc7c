"""Solver ``event``: the two-job quantum model by event simulation (Lee et al., Figures 2 and 3)."""

from __future__ import annotations

from ioopt.measure.quantum_event import simulate_point
from ioopt.problems.flexgang.quantum_model import (
    MeasuredPoint,
    QuantumModelPlan,
    QuantumModelProblem,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.solvers.flexgang.chain import with_coarse_rest


def solve(problem: QuantumModelProblem, request: SolveRequest) -> Outcome:
    """Simulate every point with the request's seed."""
    points: list[MeasuredPoint] = []
    for point in problem.points:
        if request.deadline.expired():
            if problem.burst_shape is not None:
                return with_coarse_rest(problem, points)
            note = (
                f"{len(points)} of {len(problem.points)} points simulated before the time limit; "
                "give more time, fewer points or a shorter horizon_seconds"
            )
            return Outcome(None, stop=StopReason.TIME, notes=(note,))
        found = simulate_point(problem, point, seed=request.options.seed)
        points.append(MeasuredPoint.of(point, found))
    return Outcome(QuantumModelPlan(points=tuple(points)))
