"""Solve equations (1)-(13) and (21) of Khanna et al. as printed, through PuLP.

The solver is the baseline for ``ip``.
"""

from dataclasses import replace

from ioopt.models.replication.batch_time import moves_seconds
from ioopt.models.replication.bounds import quick
from ioopt.models.replication.printed import PrintedModel, num_terms
from ioopt.models.replication.static import (
    Cycles,
    Moves,
    StaticInstance,
    enough_disk,
    reduce,
    relays_matter,
    roomy,
    tidied,
    to_plan,
)
from ioopt.problems.base import Record
from ioopt.problems.replication import (
    MovesGiven,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import Status
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits
from ioopt.solvers.backends.solve import solve_program
from ioopt.solvers.replication.exact.ip import cycle_notes, one_round_note
from ioopt.solvers.replication.greedy.minmin import answer_instead
from ioopt.solvers.replication.plans import Answer, one_round_too_small, require_batch

TERMS_PER_SECOND = 60_000
"""Number of terms per second that PuLP builds and passes to a backend on a busy machine
(measured).
"""


class Settings(Record):
    """Configure the printed model.

    ``cycles``: ``printed`` allows copies of a file in a cycle, as the paper's model
    does; ``acyclic`` excludes them. ``replication``: allow copies between nodes.
    ``moves``: with ``schedule`` the plan has the transfers of its replay.
    """

    cycles: Cycles = "printed"
    replication: bool = True
    moves: MovesGiven = "advice"


def solve(
    problem: ReplicationProblem, request: SolveRequest[Settings, ReplicationPlan]
) -> Answer:
    """Solve the printed model, by default with HiGHS.

    The answer is MinMin's plan if the model is too large or no plan is found in time.
    """
    require_batch(problem)
    settings = request.settings or Settings()
    left = request.deadline.remaining()
    terms = num_terms(problem, settings.replication)
    if terms > 0.4 * min(left, 300.0) * TERMS_PER_SECOND:
        return _fallback(
            problem, request, f"the printed model has about {terms} terms, too many"
        )
    model = PrintedModel(problem, settings.cycles, settings.replication)
    build = request.deadline.elapsed()
    left = request.deadline.remaining()
    # Reserve time to read, check and replay the plan after the backend has ended.
    limits = BackendLimits.of(request, max(0.01, left - 0.1 - terms / TERMS_PER_SECOND))
    answer = solve_program(model.program, request.options.backend, limits)
    versions = {answer.backend: answer.version}
    if answer.status is Status.INFEASIBLE:
        raise one_round_too_small()
    if not answer.found:
        return _fallback(
            problem, request, f"{answer.backend} found no plan in time", answer
        )
    moves = tidied(model.instance, model.moves(answer.values))
    plan = to_plan(model.instance, moves, settings.cycles == "printed")
    bound = proven_bound(model.instance, answer, moves)
    notes = cycle_notes(model.instance, moves)
    if relays_matter(model.instance) and settings.replication:
        notes.append(
            "bound and status are those of plans that copy files only to nodes "
            "that read them"
        )
    metrics = {}
    if bound is not None and not roomy(model.instance):
        # The model satisfies the disk limits (21) and never evicts held files. Plans
        # that evict may take less time.
        metrics["one_round_bound_seconds"] = bound
        notes.append(one_round_note(bound))
        bound = quick(problem)
    return Outcome(
        plan,
        bound,
        answer.stop,
        build_seconds=build,
        notes=tuple(notes),
        versions=versions,
        metrics=metrics,
    )


def proven_bound(
    instance: StaticInstance, answer: BackendAnswer, moves: Moves
) -> float | None:
    """Return the lower bound that *answer* proves, in seconds; None if it has none.

    The bound is rounded up to a multiple of the time unit. If *moves* are proven
    optimal, the bound is their batch time.
    """
    if answer.bound is None:
        return None
    if answer.status is not Status.OPTIMAL:
        return instance.lift(answer.bound)
    exact = max(moves_seconds(instance, moves))
    close = abs(exact - answer.bound) <= 1e-6 * max(1.0, abs(exact))
    return exact if close else instance.lift(answer.bound)


def _fallback(
    problem: ReplicationProblem,
    request: SolveRequest,
    reason: str,
    answer: BackendAnswer | None = None,
) -> Outcome:
    """Return MinMin's plan, with *reason* in its notes.

    The bound of *answer* is added if all disks are unlimited, since only then it holds
    for plans that fetch a file twice.
    """
    if not enough_disk(reduce(problem)):
        raise one_round_too_small()
    # On small disks MinMin may fetch a file again, which the model does not cover.
    limited = any(node.disk_bytes is not None for node in problem.nodes)
    outcome = answer_instead(problem, request, reason)
    if answer is None or limited:
        return outcome
    return replace(outcome, bound=answer.bound)
