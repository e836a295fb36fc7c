"""What no policy's matrix can exceed: the row-free bound of one gang decision."""

from dataclasses import replace

from ioopt.decisions.gang.rules import Weight
from ioopt.decisions.gang.state import state_of
from ioopt.models.gang.question import ask
from ioopt.models.gang.row_free import ReplicatedModel
from ioopt.options import Deadline
from ioopt.problems.gang import GangMatrixProblem
from ioopt.solvers.backends.answer import LEAST_SECONDS, BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat

PARAMETERS = {"symmetry_level": 0, "linearization_level": 2}
"""CP-SAT: the full linear relaxation proves most programs at the root; hints survive.
"""
WORK, LOADING_SECONDS = 0.25, 1.0
"""Deterministic seconds of CP-SAT, and what loading it takes.

Where they do not suffice, the bound is weaker but holds.
"""


def upper_bound(
    problem: GangMatrixProblem, weight: Weight = "las", deadline: Deadline | None = None
) -> float:
    """A bound of the value of every matrix for *problem* under
    *weight*, by the *deadline*.

    Holds for any policy: the whole queue may start in any order, and jobs that start
    away from their files may have up to M rows
    (:class:`ioopt.models.gang.row_free.ReplicatedModel`).
    """
    question = ask(state_of(problem), weight)
    if not question.options:
        return 0.0
    model = ReplicatedModel(question)
    weak = model.program.limit() / question.scale
    limits = BackendLimits(work=WORK)
    if deadline is not None and deadline.limit_seconds is not None:
        limits = replace(limits, seconds=deadline.remaining() - LOADING_SECONDS)
        if limits.seconds is not None and limits.seconds < LEAST_SECONDS:
            return weak
    answer = solve_by_cpsat(model.program, limits, parameters=PARAMETERS)
    if not answer.found or answer.bound is None:
        # Stopped in presolve CP-SAT states a bound of 0 that means nothing.
        return weak
    return answer.bound / question.scale
