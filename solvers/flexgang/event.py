"""Solver ``event``: the two-job quantum model by event simulation (Lee et al., Figures 2 and 3)."""

from functools import partial

from ioopt.measure.quantum_event import simulate_point
from ioopt.problems.flexgang.quantum_model import QuantumModelProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.solvers.flexgang.chain import each_point


def solve(problem: QuantumModelProblem, request: SolveRequest) -> Outcome:
    """Simulate every point with the request's seed."""
    return each_point(problem, request, partial(simulate_point, problem, seed=request.options.seed))
