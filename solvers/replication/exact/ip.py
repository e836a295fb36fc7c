"""Solve the static problem of Section 4.1 of Khanna et al.: the solvers ``ip`` and
``ip-no-replication`` (ours).
"""

import sys
from dataclasses import replace
from typing import Annotated

from pydantic import Field

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
from ioopt.solvers.replication.exact.enumeration import applies
from ioopt.solvers.replication.exact.ip_search import SMALL_COLUMNS, Search
from ioopt.solvers.replication.greedy.job_data_present import plan_in_file_order
from ioopt.solvers.replication.greedy.minmin import (
    answer_instead,
    in_haste,
    plan_minmin,
)
from ioopt.solvers.replication.plans import (
    TINY_TASKS,
    Answer,
    one_round_too_small,
    require_batch,
)

Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0)]
Rounds = Annotated[int, Field(ge=1)]


class SearchLimits(Record):
    """Divide the time of ``ip`` between annealing, models and proofs.

    The values were chosen on the sweeps ``additive`` (IMAGE-85, SAT-85 and PPA of 16 to
    500 tasks, 12 s) and ``library-additive`` (half a second). Speeds are those of a
    busy machine.

    *Annealing* may use ``anneal_share`` of the time limit, or ``small_anneal_share`` if
    the instance is small enough for a proof. It starts from ``anneal_rounds`` seeds.
    Instances that are not small get ``hurried_rounds`` seeds instead if the model is
    too large to build, or if fewer than ``hurry_seconds`` are left. With fewer than
    ``loading_pays_seconds`` left, annealing comes before the first use of CP-SAT, which
    takes time to load.

    *Shared files*: if the instance is not small, the bound of what shared files cost
    may take ``cut_share`` of the time that annealing leaves.

    *Models*: a model is built if building takes at most ``build_share`` of the time
    left, at ``terms_per_second`` coefficients per second. If more than
    ``longest_search_seconds`` are left, only that many count. Instances of up to
    ``small_columns`` columns are proven rather than searched. The first attempt at a
    proof may take ``first_proof_seconds`` of CP-SAT's deterministic time, so that it
    can be repeated exactly.

    *Afterwards*: the search for a bound of all plans may take as long as the search for
    plans of one round took, but at least ``least_wider_seconds``. ``answer_seconds``
    plus ``answer_seconds_per_task`` for each task are reserved for writing, checking
    and replaying the plan. The search keeps at least ``least_share`` of the time.
    """

    anneal_share: Share = 0.6
    small_anneal_share: Share = 0.2
    anneal_rounds: Rounds = 6
    hurried_rounds: Rounds = 2
    hurry_seconds: Seconds = 3.0
    loading_pays_seconds: Seconds = 1.5
    cut_share: Share = 0.9
    build_share: Share = 0.3
    longest_search_seconds: Seconds = 120.0
    terms_per_second: Annotated[float, Field(gt=0)] = 150_000
    small_columns: Annotated[int, Field(ge=0)] = SMALL_COLUMNS
    first_proof_seconds: Seconds = 2.0
    least_wider_seconds: Seconds = 1.0
    answer_seconds: Seconds = 0.05
    answer_seconds_per_task: Seconds = 4e-4
    least_share: Share = 0.6


LIMITS = SearchLimits()


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
        _run(search, settings, request.options.backend)
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


def _run(search: Search, settings: Settings, backend: str | None) -> None:
    """Compute bounds, anneal, then solve the model on *backend* (None: choose one)."""
    instance = search.instance
    if backend is None and len(instance.problem.tasks) <= TINY_TASKS:
        search.enumerate()
    left = search.deadline.remaining()
    loads_cpsat = "ortools" not in sys.modules
    if settings.anneal and loads_cpsat and left < LIMITS.loading_pays_seconds:
        search.anneal(LIMITS.anneal_share, LIMITS.hurried_rounds)
    if not search.over():
        search.partition_bound()
    small = num_columns(instance) <= LIMITS.small_columns or applies(instance)
    builds = _can_be_built(search)
    if settings.anneal:
        _anneal(search, small, builds)
    if not small and backend is None:
        search.node_cut(LIMITS.cut_share * search.deadline.remaining())
    if search.over():
        return
    if not builds:
        search.notes.append(
            "the integer program is too large for the time limit: only bounds and "
            "annealing were used"
        )
    elif backend in ("HiGHS", "CBC"):
        search.run_highs(backend)
    elif backend == "CP-SAT" or not small:
        search.run_cpsat(None, proof=small)
    else:
        _prove(search, settings)


def _can_be_built(search: Search) -> bool:
    """Return whether building the model takes at most its share of the time left."""
    seconds = min(search.deadline.remaining(), LIMITS.longest_search_seconds)
    most = LIMITS.terms_per_second * LIMITS.build_share * seconds
    return num_terms(search.instance) <= most


def _anneal(search: Search, small: bool, builds: bool) -> None:
    """Anneal for a share of the time limit that depends on the size of the instance.

    On instances too large for a proof, annealing improves the plan more than CP-SAT.
    """
    if small:
        search.anneal(LIMITS.small_anneal_share, LIMITS.anneal_rounds)
        return
    hurried = not builds or search.deadline.remaining() < LIMITS.hurry_seconds
    rounds = LIMITS.hurried_rounds if hurried else LIMITS.anneal_rounds
    search.anneal(LIMITS.anneal_share, rounds)


def _prove(search: Search, settings: Settings) -> None:
    """Try to prove the optimum by enumeration, then by CP-SAT, then by both in
    parallel.

    The first two attempts are short and can be repeated exactly.
    """
    _prove_counted(search, LIMITS.first_proof_seconds)
    if settings.anneal and not search.over():
        search.anneal(LIMITS.small_anneal_share, LIMITS.anneal_rounds, again=True)
    search.race()


def _prove_counted(search: Search, seconds: float | None = None) -> None:
    """Enumerate, then run CP-SAT; both attempts are limited by counts, and the second
    also by *seconds* on the clock (None: not).
    """
    search.enumerate(fast=True)
    if not search.over():
        search.run_cpsat(seconds, work=LIMITS.first_proof_seconds)


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
    _run(wider, settings, search.request.options.backend)
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
    _prove_counted(search)
    if search.proven() and search.moves is not None and not search.of_all_plans_too():
        wider = _wider(search, search.moves, unlimited)
        _prove_counted(wider)
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


def num_terms(instance: StaticInstance) -> int:
    """Return the approximate number of coefficients of the aggregated model."""
    requests = sum(len(group.inputs) for group in instance.classes)
    nodes = instance.num_nodes
    return nodes * (instance.num_files * (12 + 3 * nodes) + 4 * requests)
