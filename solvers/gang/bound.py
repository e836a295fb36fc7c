"""Bound the value of one gang decision for every policy, by the row-free model."""

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
"""Parameters of CP-SAT.

The full linear relaxation proves most programs at the root; without symmetry detection
hints are kept.
"""
WORK = 0.25
"""Limit of CP-SAT in deterministic seconds; if it does not suffice, the bound is
weaker.
"""
LOADING_SECONDS = 1.0
"""Seconds of a time limit reserved for loading CP-SAT."""


def upper_bound(
    problem: GangMatrixProblem, weight: Weight = "las", deadline: Deadline | None = None
) -> float:
    """Return a bound on the value under *weight* of every matrix for *problem*.

    The bound is valid for every policy: the whole queue may start in any order, and
    jobs that start away from their files may have up to M rows
    (:class:`ioopt.models.gang.row_free.ReplicatedModel`). Close to the *deadline* it is
    weaker.
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
        # CP-SAT reports a meaningless bound of 0 when stopped in presolve.
        return weak
    return answer.bound / question.scale
