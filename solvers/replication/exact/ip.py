"""Solve the static problem of Section 4.1 of Khanna et al.: the solvers ``ip`` and
``ip-no-replication`` (ours).
"""

from dataclasses import replace

from ioopt.errors import OutOfTime, UsageError
from ioopt.models.replication.aggregated import num_columns
from ioopt.models.replication.static import (
    Cycles,
    Moves,
    StaticInstance,
    copied_in_cycles,
    from_plan,
    is_feasible,
    reduce,
    to_plan,
)
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.base import Record
from ioopt.problems.replication import MovesAre, ReplicationPlan, ReplicationProblem
from ioopt.protocols import Incumbents, Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.solvers.replication.exact.ip_search import Search
from ioopt.solvers.replication.exact.ip_steps import (
    LIMITS,
    Case,
    climb,
    prove_counted,
)
from ioopt.solvers.replication.greedy.job_data_present import plan_in_file_order
from ioopt.solvers.replication.greedy.minmin import (
    answer_instead,
    in_haste,
    plan_minmin,
)
from ioopt.solvers.replication.plans import (
    Answer,
    one_round_too_small,
    require_batch,
)


class Settings(Record):
    """Configure the static model.

    ``cycles``: ``printed`` allows copies of a file in a cycle, as the paper's model
    does; with ``acyclic`` every copy descends from a fetch or a held file.
    ``replication``: allow copies between nodes. ``anneal``: anneal before the model is
    solved. ``moves``: how the replay treats the transfers of the plan (timeline rule
    7); with ``schedule`` the plan has those of its replay instead (timeline rule 12).
    """

    cycles: Cycles = "acyclic"
    replication: bool = True
    anneal: bool = True
    moves: MovesAre = "advice"


def solve(
    problem: ReplicationProblem, request: SolveRequest[Settings, ReplicationPlan]
) -> Answer:
    """Minimise the additive batch time by the static model.

    If the makespan is the measure, and neither settings nor a backend are given,
    minimise the makespan of the replay instead.
    """
    settings = request.settings or Settings()
    if settings.cycles == "printed" and settings.moves == "plan":
        raise UsageError(
            "ip: with cycles=printed a plan may copy a file in a cycle, which "
            "moves=plan cannot carry out; leave out one of the two settings"
        )
    plain = settings == Settings() and request.options.backend is None
    if request.measure == "makespan_seconds" and plain:
        # This import loads numpy and more, which the static model does not need.
        from ioopt.solvers.replication.exact import exact_workflow

        found = exact_workflow.least_makespan(problem, request)
        note = (
            "the makespan is the measure: queues were searched by replays; the integer "
            "program minimises additive_seconds"
        )
        return replace(found, notes=(note, *found.notes))
    outcome = _least_additive(problem, request, settings)
    if outcome.plan is not None and settings.moves == "plan":
        carried = outcome.plan.model_copy(update={"carry_out": True})
        outcome = replace(outcome, plan=carried)
    if request.measure in (None, "additive_seconds"):
        return outcome
    note = f"additive_seconds is optimised; the measure is {request.measure}"
    return replace(outcome, notes=(note, *outcome.notes))


def _least_additive(
    problem: ReplicationProblem, request: SolveRequest, settings: Settings
) -> Answer:
    """Search with the static model, and return the answer with the best plan found."""
    require_batch(problem)
    hasty = in_haste(problem, request)
    if hasty is not None:
        return hasty
    instance = reduce(problem)
    left = request.deadline.remaining()
    answering = LIMITS.answer_seconds + LIMITS.answer_seconds_per_task * len(
        problem.tasks
    )
    searching = max(LIMITS.least_share * left, left - answering)
    asked = replace(request, deadline=request.deadline.within(searching))
    search = Search(instance, asked, settings.cycles, settings.replication)
    build = request.deadline.elapsed()
    search.quick_bounds()
    if not search.infeasible:
        if request.start is not None and not _offered(search, request.start):
            search.notes.append(
                "the warm start is not a complete static plan and was not used"
            )
        _greedy_start(search)
        climb(Case(search, settings.anneal, request.options.backend))
        _bound_of_all_plans(search, settings)
    return _outcome(search, problem, request, build)


def _greedy_start(search: Search) -> None:
    """Offer MinMin's plan to the search, so that the answer is never worse than that
    plan.
    """
    problem = search.instance.problem
    limited = any(node.disk_bytes is not None for node in problem.nodes)
    if limited or not search.replication:
        return
    try:
        greedy = plan_minmin(problem, deadline=search.deadline)[0]
    except OutOfTime:
        greedy = plan_in_file_order(problem)
    _offered(search, greedy)


def _offered(search: Search, start: ReplicationPlan) -> bool:
    """Offer the plan *start* to the search; return False if it is not a valid static
    plan.
    """
    moves = from_plan(search.instance, start)
    if moves is None or (moves.copies and not search.replication):
        return False
    if not is_feasible(search.instance, moves, search.cycles):
        return False
    search.offer(moves)
    return True


def _bound_of_all_plans(search: Search, settings: Settings) -> None:
    """Raise the lower bound of all plans, once the best plan of one round is proven
    optimal.

    The search includes plans that relay files, and ignores disk limits. Its bound holds
    for every plan: if a plan evicts files, keeping the first arrival of each file on
    each node gives a plan with relays that takes no longer. The search may take as long
    as the search before it. It yields a bound but no plan.
    """
    deadline = search.deadline
    if not search.proven() or search.moves is None or search.of_all_plans_too():
        return
    seconds = max(LIMITS.least_wider_seconds, deadline.elapsed())
    within = deadline.within(min(deadline.remaining(), seconds))
    wider = _wider(search, search.moves, within)
    climb(Case(wider, settings.anneal, search.request.options.backend))
    search.raise_bound(min(wider.common, search.load), of_all_plans=True)


def _wider(search: Search, moves: Moves, within: Deadline) -> Search:
    """Return a search that starts from *moves* and whose bound holds for all plans."""
    asked = replace(search.request, deadline=within, incumbents=Incumbents(within))
    instance = replace(search.instance, room=(None,) * search.instance.num_nodes)
    wider = Search(instance, asked, search.cycles, search.replication)
    wider.loose = True
    wider.offer(moves)
    wider.raise_bound(search.common)
    return wider


def proven_shortly(
    problem: ReplicationProblem, outcome: Outcome[ReplicationPlan]
) -> Outcome[ReplicationPlan]:
    """Return *outcome*, whose plan another program found, with the bound that a short
    proof reaches. The effort is counted, so that the bound is the same in each run.

    Instances that ``ip`` would not try to prove are left as they are.
    """
    instance = reduce(problem)
    if outcome.plan is None or num_columns(instance) > LIMITS.small_columns:
        return outcome
    unlimited = Deadline(None)
    request: SolveRequest = SolveRequest(SolveOptions(None), unlimited)
    search = Search(instance, request, "acyclic", replication=True)
    search.quick_bounds()
    if not _offered(search, outcome.plan):
        return outcome
    prove_counted(search)
    if search.proven() and search.moves is not None and not search.of_all_plans_too():
        wider = _wider(search, search.moves, unlimited)
        prove_counted(wider)
        search.raise_bound(min(wider.common, search.load), of_all_plans=True)
    metrics, notes = _one_round(search)
    bound = max(outcome.bound or 0.0, instance.seconds(search.common))
    return replace(
        outcome,
        bound=bound,
        notes=(*outcome.notes, *notes),
        metrics={**outcome.metrics, **metrics},
    )


def _one_round(search: Search) -> tuple[dict[str, float], list[str]]:
    """Return the bound of plans of one round as a metric, and a note on it; both are
    empty if all plans have the same bound.
    """
    if search.of_all_plans_too():
        return {}, []
    seconds = search.instance.seconds(search.bound)
    return {"one_round_bound_seconds": seconds}, [one_round_note(seconds)]


def _outcome(
    search: Search, problem: ReplicationProblem, request: SolveRequest, build: float
) -> Outcome:
    """Return the best plan of the search with its bound; without one, MinMin's plan."""
    instance = search.instance
    notes = list(search.notes)
    if search.infeasible:
        raise one_round_too_small()
    bound = instance.seconds(search.common)
    if search.moves is None:
        reason = "found no plan in time that serves the batch in one round within (21)"
        outcome = answer_instead(problem, request, reason, *notes)
        return replace(outcome, build_seconds=build)
    if not instance.exact:
        notes.append(
            f"times rounded down to {float(instance.unit):g} s in the integer program"
        )
    stop = StopReason.TIME
    if search.proven():
        stop = StopReason.FINISHED
    elif search.good_enough():
        stop = StopReason.GAP
    plan = to_plan(instance, search.moves, search.cycles == "printed")
    metrics, said = _one_round(search)
    notes += said
    if search.cycles == "printed":
        notes.extend(cycle_notes(instance, search.moves))
    if not search.replication:
        notes.append("the bound proven is that of plans without copies between nodes")
    return Outcome(
        plan,
        bound,
        stop,
        build_seconds=build,
        notes=tuple(notes),
        versions=search.versions,
        metrics=metrics,
    )


def one_round_note(seconds: float) -> str:
    """Return a note that gives the bound in *seconds* of plans of one round.

    It is used if the bound of all plans is lower.
    """
    return (
        "no plan of one round that evicts nothing and copies files only to nodes "
        f"that read them takes less than {seconds:.6g} s; the bound holds for all "
        "plans"
    )


def cycle_notes(instance: StaticInstance, moves: Moves) -> list[str]:
    """Return a note if copies in a solution of the printed model form a cycle, else no
    notes.
    """
    cycles = copied_in_cycles(instance, moves)
    if not cycles:
        return []
    first = instance.problem.files[instance.files[cycles[0]]].id
    return [
        f"{len(cycles)} file(s), such as {first}, are copied in a cycle "
        "with no source: the printed model allows it, but its batch time cannot "
        "be reached; the replay stages files on demand"
    ]
