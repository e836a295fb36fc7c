"""Solver ``chain``: the two-job quantum model by its stationary Markov chain."""

from __future__ import annotations

from ioopt.problems.quantum_model import MeasuredPoint, QuantumModelPlan, QuantumModelProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.quantum_chain import measure


def solve(problem: QuantumModelProblem, request: SolveRequest) -> Outcome:
    """Solve the chain of every point; raises NotApplicableError for a burst that is not random."""
    points: list[MeasuredPoint] = []
    for point in problem.points:
        if request.deadline.expired():
            note = f"{len(points)} of {len(problem.points)} points solved before the time limit"
            return Outcome(None, stop=StopReason.TIME, notes=(note,))
        points.append(MeasuredPoint.of(point, measure(problem, point)))
    return Outcome(QuantumModelPlan(points=tuple(points)))
