"""Cons-MaxUtil's knapsack as an integer program on CP-SAT: a cross-check of our own dynamic program."""

from collections.abc import Sequence

from ioopt.errors import BackendFailureError
from ioopt.models.batch_io.max_util import MaxUtilModel
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat


def subset_by_program(
    weights: Sequence[int], capacity: int, values: Sequence[int] | None = None
) -> list[int]:
    """Positions of a subset of the largest value that fits; of equal ones whichever is found.

    Values are the weights if not given.
    """
    model = MaxUtilModel(weights, values or weights, capacity)
    answer = solve_by_cpsat(model.program, BackendLimits())
    if not answer.found:
        raise BackendFailureError(f"{answer.backend} found no subset: {answer.status}")
    return [*model.chosen(answer.values)]
