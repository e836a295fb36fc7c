"""Greedy quantum selection: the best uniform quantum, then coordinate descent (F4)."""

from ioopt.models.flexgang.quantum_costs import QuantumCosts
from ioopt.problems.flexgang.quantum_selection import QuantumSelectionProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.solvers.flexgang.quantum_descent import greedy_options
from ioopt.solvers.flexgang.quantum_realise import realised_outcome


def solve(problem: QuantumSelectionProblem, request: SolveRequest) -> Outcome:
    """Solve by greedy descent; floors are kept, so there may be no plan."""
    costs = QuantumCosts(problem)
    options = greedy_options(costs)
    if options is None:
        note = (
            "the greedy found no options that keep every floor; quantum-ip decides whether any do"
        )
        return Outcome(None, stop=StopReason.ITERATIONS, notes=(note,))
    return realised_outcome(
        costs, options, lambda once: greedy_options(QuantumCosts(once)), deadline=request.deadline
    )
