"""Define the planners of workflows: variants of the list scheduler, and dispatchers."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ioopt.errors import OutOfTime
from ioopt.models.replication.workflow_bound import makespan_bound_seconds
from ioopt.options import Deadline
from ioopt.problems.replication import (
    EvictionPolicy,
    MovesGiven,
    ReplayOptions,
    ReplicationProblem,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.solvers.replication import dispatch
from ioopt.solvers.replication.greedy import minmin
from ioopt.solvers.replication.greedy.list_scheduler import (
    B_LEVEL,
    HEFT,
    MIN_MIN,
    Components,
    ListScheduler,
)
from ioopt.solvers.replication.plans import (
    Answer,
    build_plan,
    too_short_for,
    workflow_in_file_order,
)

SLACK_SECONDS = 0.3
"""Seconds by which planning may exceed the limit, and that a bound may always take."""
BOUND_SECONDS_PER_TASK = 3e-5
"""Seconds to compute the bound, for each task (measured)."""
Planner = Callable[[ReplicationProblem, SolveRequest], Answer]


class Settings(ReplayOptions):
    """Configure the replay of the plan.

    ``eviction`` is the eviction policy. ``moves``: with ``schedule`` the plan has the
    transfers of its replay. The other options are extensions of the rules.
    """

    moves: MovesGiven = "advice"
    eviction: EvictionPolicy = "farthest-next-use"


class ReadySettings(dispatch.Settings):
    """Configure the solver ``ready-min-min``.

    ``eviction``: policy of the replay; the plan itself always evicts by popularity.
    With ``mode=dispatch`` a dispatcher decides while the tasks run, with ``prefetch``
    or without.
    """

    eviction: EvictionPolicy = "popularity"


def solve_heft(problem: ReplicationProblem, request: SolveRequest) -> Answer:
    """Plan with HEFT: rank by the longest path with files, and insertion into gaps."""
    return _planned(problem, request, HEFT, request.settings or Settings())


def solve_b_level(problem: ReplicationProblem, request: SolveRequest) -> Answer:
    """Plan tasks in order of their longest path of computing, without insertion into
    gaps.
    """
    return _planned(problem, request, B_LEVEL, request.settings or Settings())


def solve_ready_min_min(problem: ReplicationProblem, request: SolveRequest) -> Answer:
    """Plan with MinMin over the tasks whose producers are planned (workflow rule 17).

    A batch is solved by ``minmin``.
    """
    settings = request.settings or ReadySettings()
    if settings.mode == "dispatch":
        policy = request.policy or dispatch.ready_min_min
        return dispatch.answer(problem, request, policy, settings)
    if not problem.is_workflow:
        own = minmin.Settings(eviction=settings.eviction)
        return minmin.solve(problem, replace(request, settings=own))
    left = request.deadline.remaining()
    if minmin.planning_seconds(problem) > left + SLACK_SECONDS:
        return in_file_order(problem, "MinMin")
    try:
        return _planned(problem, request, MIN_MIN, settings)
    except OutOfTime as error:
        return in_file_order(problem, f"MinMin ({error})")


def in_file_order(problem: ReplicationProblem, what: str) -> Answer:
    """Return a plan of tasks in the order of the instance.

    It is used if the time limit is too short for *what*, which the note names.
    """
    return Outcome(
        workflow_in_file_order(problem),
        objective_name="makespan_seconds",
        stop=StopReason.TIME,
        notes=(too_short_for(what),),
    )


def bound_in_time(problem: ReplicationProblem, deadline: Deadline) -> float | None:
    """Return the lower bound of a workflow's makespan in seconds.

    None for a batch, or if the deadline leaves no time to compute the bound.
    """
    if not problem.is_workflow:
        return None
    seconds = BOUND_SECONDS_PER_TASK * len(problem.tasks)
    if seconds > max(SLACK_SECONDS, 0.1 * deadline.remaining()):
        return None
    return makespan_bound_seconds(problem)


def _planned(
    problem: ReplicationProblem,
    request: SolveRequest,
    components: Components,
    settings: Settings | ReadySettings,
) -> Answer:
    """Return the plan of a list scheduler with *components*, with a bound if time
    allows.
    """
    made = ListScheduler(problem, components).run(request.deadline)
    eviction = dispatch.eviction_of(problem, settings)
    plan = build_plan(problem, made.queues(), eviction)
    return Outcome(
        plan.model_copy(update=settings.options()),
        bound_in_time(problem, request.deadline),
        objective_name="makespan_seconds" if problem.is_workflow else None,
        stop=StopReason.FINISHED,
    )


PLANNERS: dict[str, Planner] = {
    "b-level": solve_b_level,
    "locality": partial(
        dispatch.answer, policy=dispatch.locality, settings=dispatch.Settings()
    ),
    "heft": solve_heft,
    "ready-min-min": solve_ready_min_min,
    "fifo": partial(
        dispatch.answer, policy=dispatch.fifo, settings=dispatch.Settings()
    ),
}
"""Planners by name, in the order in which they are tried.

The quickest is first, then the best on small disks, then the others.
"""
