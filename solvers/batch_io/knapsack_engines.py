"""Cons-MaxUtil's knapsack through other libraries: cross-checks of our own dynamic program.

Every engine takes weights, a capacity and values, whole numbers, and returns the positions of a
subset of the largest value within the capacity; of equal ones whichever it finds.
"""

from collections.abc import Callable, Sequence

from ioopt.errors import BackendFailureError, BackendMissingError
from ioopt.models.batch_io.max_util import MaxUtilModel
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.backends.pulp_program import solve_by_pulp


def ortools_subset(weights: Sequence[int], capacity: int, values: Sequence[int]) -> list[int]:
    """OR-Tools' knapsack solver (branch and bound)."""
    try:
        from ortools.algorithms.python import knapsack_solver as ortools
    except ImportError as error:
        raise BackendMissingError(
            f"engine or-tools needs the package ortools ({error}); pip install ortools"
        ) from None
    kind = ortools.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER
    solver = ortools.KnapsackSolver(kind, "max_util")
    solver.init([*values], [[*weights]], [capacity])
    solver.solve()
    return [k for k in range(len(weights)) if solver.best_solution_contains(k)]


def cpsat_subset(weights: Sequence[int], capacity: int, values: Sequence[int]) -> list[int]:
    """The model on CP-SAT, one worker."""
    model = MaxUtilModel(weights, values, capacity)
    return _chosen(model, solve_by_cpsat(model.program, BackendLimits()))


def pulp_subset(
    weights: Sequence[int], capacity: int, values: Sequence[int], backend: str = "CBC"
) -> list[int]:
    """The model on a *backend* of PuLP (CBC, HiGHS, SCIP or GLPK)."""
    model = MaxUtilModel(weights, values, capacity)
    return _chosen(model, solve_by_pulp(model.program, backend, BackendLimits()))


def _chosen(model: MaxUtilModel, answer: BackendAnswer) -> list[int]:
    if not answer.found:
        raise BackendFailureError(f"{answer.backend} found no subset: {answer.status}")
    return [*model.chosen(answer.values)]


ENGINES: dict[str, Callable[[Sequence[int], int, Sequence[int]], list[int]]] = {
    "or-tools": ortools_subset,
    "cp-sat": cpsat_subset,
    "pulp": pulp_subset,
}


def subset_by(name: str) -> Callable[..., list[int]]:
    """Cons-MaxUtil's knapsack through the engine called *name*; values are the weights if not given.

    Raises BackendFailureError for a choice that does not fit, which floating point may make.
    """

    def verified(
        weights: Sequence[int], capacity: int, values: Sequence[int] | None = None
    ) -> list[int]:
        chosen = ENGINES[name](weights, capacity, values or weights) if weights else []
        weight = sum(weights[k] for k in chosen)
        if weight > capacity:
            raise BackendFailureError(f"{name} chose a weight of {weight}, capacity is {capacity}")
        return chosen

    return verified
