"""Solver ``event``: the two-job quantum model by event simulation (Lee et al., Figures 2 and 3)."""

from functools import partial

from ioopt.measure.quantum_event import engine_for, simulate_point
from ioopt.problems.flexgang.quantum_model import QuantumModelProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.solvers.flexgang.chain import each_point


def solve(problem: QuantumModelProblem, request: SolveRequest) -> Outcome:
    """Simulate every point with the request's seed."""
    engine = engine_for(problem, problem.points, request.deadline)
    measured = partial(simulate_point, problem, seed=request.options.seed, engine=engine)
    return each_point(problem, request, measured)
