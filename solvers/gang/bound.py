"""Bound the value of one gang decision by the row-free model, for every policy."""

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

The full linear relaxation proves most programs at the root of the search. Symmetry
detection would drop hints.
"""
WORK = 0.25
"""Limit of CP-SAT in deterministic seconds; if it is too short, the bound is weaker."""
LOADING_SECONDS = 1.0
"""Seconds of the time limit that are reserved to load CP-SAT."""


def upper_bound(
    problem: GangMatrixProblem, weight: Weight = "las", deadline: Deadline | None = None
) -> float:
    """Return an upper bound of the value of every matrix for *problem*, under *weight*.

    The bound is valid for every policy. The whole queue may start, in any order. A job
    that starts away from its files may have up to M rows, which are all rows
    (:class:`ioopt.models.gang.row_free.ReplicatedModel`). Close to the *deadline* the
    bound is weaker.
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
