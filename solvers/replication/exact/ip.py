"""``ip`` and ``ip-no-replication``: the static problem of Section 4.1 by a
formulation and bounds of ours.
"""

import sys
from dataclasses import replace

from ioopt.check.replication.check import check
from ioopt.errors import OutOfTime
from ioopt.models.replication.aggregated import num_columns
from ioopt.models.replication.static import (
    Cycles,
    StaticInstance,
    from_plan,
    reduce,
    to_plan,
)
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

FIRST_PROOF_SECONDS = 2.0
HURRY_SECONDS = 3.0
"""With less left than that annealing is begun twice only, unless
the instance is small.
"""
LOADING_PAYS_SECONDS = 1.5
"""With less left than that annealing comes before the bound for
which CP-SAT is loaded.
"""
ANNEAL_SHARE, SMALL_ANNEAL_SHARE, ANNEAL_ROUNDS = 0.6, 0.2, 6
"""Share of the limit for annealing (less where a proof is likely), and
from how many seeds.
"""
BUILD_SHARE, LONGEST_SEARCH_SECONDS = 0.3, 120.0
"""A model is built in this share of what is left, of two minutes at the most."""
TERMS_PER_SECOND = 150_000
"""How fast a model of this kind is built in Python on a busy machine."""
LEAST_WIDER_SECONDS = 1.0
"""Time for the bound of all plans where that of one round is
proven, if that took less.
"""
ANSWER_SECONDS, ANSWER_SECONDS_PER_TASK, LEAST_SHARE = 0.05, 4e-4, 0.6
"""Kept back for writing, checking and replaying the plan; the search has
this share in any case.
"""


class Settings(Record):
    """``cycles`` as printed or acyclic (copies descend from a fetch);
    ``replication`` off: no copies.

    ``anneal`` off: no annealing start. ``moves``: what the plan's are to its
    replay (timeline rule 7).
    """

    cycles: Cycles = "acyclic"
    replication: bool = True
    anneal: bool = True
    moves: MovesAre = "advice"


def solve(
    problem: ReplicationProblem, request: SolveRequest[Settings, ReplicationPlan]
) -> Answer:
    """Solve the static model; without settings and a backend the replay, where
    its end is the measure.
    """
    settings = request.settings or Settings()
    plain = request.options.backend is None
    if request.measure == "makespan_seconds" and settings == Settings() and plain:
        from ioopt.solvers.replication.exact import (
            exact_workflow,
        )  # loads numpy and more

        return exact_workflow.least_makespan(problem, request)
    outcome = _least_additive(problem, request, settings)
    if outcome.plan is not None and settings.moves == "plan":
        outcome = replace(
            outcome, plan=outcome.plan.model_copy(update={"carry_out": True})
        )
    if request.measure in (None, "additive_seconds"):
        return outcome
    note = f"additive_seconds is optimised; the measure is {request.measure}"
    return replace(outcome, notes=(note, *outcome.notes))


def _least_additive(
    problem: ReplicationProblem, request: SolveRequest, settings: Settings
) -> Answer:
    require_batch(problem)
    if (hasty := in_haste(problem, request)) is not None:
        return hasty
    instance = reduce(problem)
    # What is left to do then is to write the plan, to check it and to replay it.
    left = request.deadline.remaining()
    least = max(
        LEAST_SHARE * left,
        left - ANSWER_SECONDS - ANSWER_SECONDS_PER_TASK * len(problem.tasks),
    )
    asked = replace(request, deadline=request.deadline.within(least))
    search = Search(instance, asked, settings.cycles, settings.replication)
    build = request.deadline.elapsed()
    search.quick_bounds()
    if not search.infeasible:
        if request.start is not None and not _offered(search, request.start):
            search.notes.append(
                "the warm start states no complete static plan and was not used"
            )
        _greedy_start(search)
        _run(search, settings, request.options.backend)
        _bound_of_all_plans(search, settings)
    return _outcome(search, problem, request, build)


def _greedy_start(search: Search) -> None:
    """Offer MinMin's plan, so that a search without time is never
    worse than the greedy.
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
    """Offer a warm start if it is a valid static plan, by the
    checker's own judgement.
    """
    moves = from_plan(search.instance, start)
    if moves is None or (moves.copies and not search.replication):
        return False
    plan = to_plan(search.instance, moves, search.cycles == "printed")
    if check(search.instance.problem, plan, None).violations:
        return False
    search.offer(moves)
    return True


def _run(search: Search, settings: Settings, backend: str | None) -> None:
    """Bounds, annealing, then the model on the backend asked for
    (None: whichever pays).
    """
    instance = search.instance
    if backend is None and len(instance.problem.tasks) <= TINY_TASKS:
        search.enumerate()
    left = search.deadline.remaining()
    if settings.anneal and left < LOADING_PAYS_SECONDS and "ortools" not in sys.modules:
        search.anneal(
            ANNEAL_SHARE, 2
        )  # the first second is not spent on loading CP-SAT
    if not search.over():
        search.partition_bound()
    small = num_columns(instance) <= SMALL_COLUMNS or applies(instance)
    terms = num_terms(instance)
    fits = terms <= TERMS_PER_SECOND * BUILD_SHARE * min(
        search.deadline.remaining(), LONGEST_SEARCH_SECONDS
    )
    if settings.anneal:
        # Annealing gains more than CP-SAT on what is too large to prove.
        hurried = not fits or search.deadline.remaining() < HURRY_SECONDS
        share = SMALL_ANNEAL_SHARE if small else ANNEAL_SHARE
        search.anneal(share, 2 if hurried and not small else ANNEAL_ROUNDS)
    if search.over():
        return
    if not fits:
        search.notes.append(
            "too large for the integer program in this time: bounds and annealing"
        )
        return
    if backend in ("HiGHS", "CBC"):
        search.run_highs(backend)
    elif backend == "CP-SAT" or not small:
        search.run_cpsat(None, proof=small)
    else:
        # A short proof that repeats; what resists is annealed for longer and raced for.
        search.enumerate(fast=True)
        if not search.over():
            search.run_cpsat(FIRST_PROOF_SECONDS, work=FIRST_PROOF_SECONDS)
        if settings.anneal and not search.over():
            search.anneal(SMALL_ANNEAL_SHARE, ANNEAL_ROUNDS, again=True)
        search.race()


def _bound_of_all_plans(search: Search, settings: Settings) -> None:
    """Where the best plan of one round is proven, search on below plans
    that evict or relay.

    Plans without disk limits that relay are no longer than any plan, whatever it
    evicts: the first arrivals of its files are one of them. As long as it took so far,
    and no plan comes of it.
    """
    deadline = search.deadline
    if not search.proven() or search.moves is None or search.of_all_plans_too():
        return
    within = deadline.within(
        min(deadline.remaining(), max(LEAST_WIDER_SECONDS, deadline.elapsed()))
    )
    asked = replace(search.request, deadline=within, incumbents=Incumbents(within))
    instance = replace(search.instance, room=(None,) * search.instance.num_nodes)
    wider = Search(instance, asked, search.cycles, search.replication)
    wider.loose = True
    wider.offer(search.moves)
    wider.raise_bound(search.common)
    _run(wider, settings, asked.options.backend)
    search.raise_bound(min(wider.common, search.load), of_all_plans=True)


def _outcome(
    search: Search, problem: ReplicationProblem, request: SolveRequest, build: float
) -> Outcome:
    """The answer: the best plan with its bound, minmin's where there is none."""
    instance = search.instance
    notes = list(search.notes)
    if search.infeasible:
        raise one_round_too_small()
    bound = instance.seconds(search.common)
    if search.moves is None:
        reason = "no plan that keeps (21) in one round was found in time"
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
    metrics = {}
    if not search.of_all_plans_too():
        metrics["one_round_bound_seconds"] = instance.seconds(search.bound)
        notes.append(one_round_note(metrics["one_round_bound_seconds"]))
    if search.cycles == "printed":
        notes.extend(cycle_notes(problem, plan))
    if not search.replication:
        notes.append("bound and status are those of plans without copies between nodes")
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
    """What was proven of plans of one round where the bound of
    all plans is below it.
    """
    return (
        "no plan of one round that evicts nothing and copies files only to nodes "
        f"that read them takes less than {seconds:.6g} s; the bound is one of all "
        "plans"
    )


def cycle_notes(problem: ReplicationProblem, plan: ReplicationPlan) -> list[str]:
    """A note for each plan of the printed model whose copies run in a
    cycle without a source.
    """
    strict = plan.model_copy(update={"moves": "static"})
    cycles = [v for v in check(problem, strict, None).violations if v.rule == "forest"]
    if not cycles:
        return []
    return [
        f"{len(cycles)} file(s), such as {cycles[0].item}, are copied in a cycle with "
        "no source: the printed model allows it, its batch time cannot be reached; "
        "the replay stages files on demand"
    ]


def num_terms(instance: StaticInstance) -> int:
    """About how many coefficients the aggregated model has."""
    requests = sum(len(group.inputs) for group in instance.classes)
    nodes = instance.num_nodes
    return nodes * (instance.num_files * (12 + 3 * nodes) + 4 * requests)
