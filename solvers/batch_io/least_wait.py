"""The least total wait of a small queue by CP-SAT (:mod:`ioopt.models.batch_io.starts`)."""

from typing import NamedTuple

from ioopt.models.batch_io.starts import StartModel
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat


class LeastWait(NamedTuple):
    """Starts in the order of the problem, their total wait and a lower bound of it, in seconds."""

    starts: list[int]
    wait: float
    bound: float


def least_wait(problem: BatchIoProblem, limits: BackendLimits | None = None) -> LeastWait:
    """The starts that wait least within *limits*; proven where wait and bound are equal.

    Jobs are known before they come and run for their walltimes. Raises NotApplicableError for what
    :class:`~ioopt.models.batch_io.starts.StartModel` does not take.
    """
    model = StartModel(problem)
    answer = solve_by_cpsat(model.program, limits or BackendLimits())
    if not answer.found or answer.objective is None:
        return LeastWait([], float("inf"), float(model.wait(answer.bound or 0)))
    bound = answer.objective if answer.bound is None else answer.bound
    wait = float(model.wait(answer.objective))
    return LeastWait(model.starts(answer.values), wait, float(model.wait(bound)))
