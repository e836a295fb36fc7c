"""Plan with MinMin and implicit replication (Khanna et al., Section 3; rule 9).

The next task to be planned is always the one with the least completion time.
"""

from dataclasses import replace

from ioopt.errors import OutOfTime
from ioopt.options import Deadline
from ioopt.problems.base import Record
from ioopt.problems.replication import (
    EvictionPolicy,
    MovesGiven,
    MovesModel,
    ReplicationPlan,
    ReplicationProblem,
    Room,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.solvers.replication.greedy.job_data_present import answer_in_file_order
from ioopt.solvers.replication.greedy.list_scheduler import MIN_MIN, ListScheduler
from ioopt.solvers.replication.plans import Answer, Sources, build_plan, require_batch

SECONDS_PER_TASK = 2e-4
"""Seconds of planning for each task on a busy machine (measured)."""
SECONDS_PER_CELL = 2e-9
"""Further seconds of planning for each task, per number of tasks x nodes (measured)."""
MODEL_SECONDS_PER_READ = 3e-5
"""Seconds to build the static model and to read its plan, for each task and each of its
inputs (measured).
"""
CHECK_SECONDS_PER_READ = 3e-6
"""Seconds to check a plan without a replay, for each task and each of its inputs."""
CHEAP_SECONDS = 0.05
"""Seconds of planning that are allowed even after the time limit."""
SLACK_SECONDS = 0.3


class Settings(Record):
    """Configure copies and evictions.

    ``replication``: plan copies between nodes. ``eviction``, ``sources``: rules of the
    replay; the plan itself always evicts by popularity, as in the paper. ``room``: how
    much space a node frees after each task, in the plan and in the replay: enough for
    the inputs of the largest, the mean or the next waiting task, or only for the files
    that the next task lacks (rule 7). ``moves``: with ``schedule`` the plan has the
    transfers of its replay.
    """

    replication: bool = True
    eviction: EvictionPolicy = "popularity"
    room: Room = "missing"
    sources: Sources = "lowest"
    moves: MovesGiven = "advice"


def solve(
    problem: ReplicationProblem, request: SolveRequest[Settings, ReplicationPlan]
) -> Answer:
    """Plan with MinMin; if the time limit is too short, plan in the order of the
    instance.
    """
    settings = request.settings or Settings()
    try:
        plan, _ = plan_minmin(
            problem,
            settings.replication,
            settings.eviction,
            request.deadline,
            settings.room,
        )
    except OutOfTime:
        return answer_in_file_order(problem, "MinMin")
    return Outcome(plan.model_copy(update={"sources": settings.sources}))


def answer_instead(
    problem: ReplicationProblem, request: SolveRequest, reason: str, *notes: str
) -> Outcome:
    """Return MinMin's plan for a solver that found no plan; *reason* becomes a note."""
    outcome = solve(problem, replace(request, settings=None, start=None))
    said = (*outcome.notes, *notes, f"{reason}; the plan is that of minmin")
    return replace(outcome, stop=StopReason.FALLBACK, notes=said)


def in_haste(problem: ReplicationProblem, request: SolveRequest) -> Outcome | None:
    """Return MinMin's answer if the time limit is too short to build the static model,
    else None.
    """
    reads = sum(map(len, problem.inputs)) + len(problem.tasks)
    if MODEL_SECONDS_PER_READ * reads <= request.deadline.remaining() + SLACK_SECONDS:
        return None
    return answer_instead(
        problem, request, "the time limit is too short for the static model"
    )


def plan_minmin(
    problem: ReplicationProblem,
    replication: bool = True,
    eviction: EvictionPolicy = "popularity",
    deadline: Deadline | None = None,
    room: Room = "missing",
) -> tuple[ReplicationPlan, list[float]]:
    """Return MinMin's plan, and for each node the planned end of its last task in
    seconds.

    Raise OutOfTime if the deadline passes first, or is expected to.
    """
    require_batch(problem)
    estimate = planning_seconds(problem)
    reads = sum(map(len, problem.inputs)) + len(problem.tasks)
    until = (deadline or Deadline(None)).with_overtime(CHECK_SECONDS_PER_READ * reads)
    if estimate > max(CHEAP_SECONDS, 2.0 * until.remaining()):
        raise OutOfTime("MinMin would take longer than the time limit allows")
    made = ListScheduler(problem, replace(MIN_MIN, copies=replication, room=room))
    made.run(until if estimate > CHEAP_SECONDS else None)
    model: MovesModel = "replay" if made.evictions else "static"
    plan = build_plan(problem, made.queues(), eviction, made.moves, model, room=room)
    return plan, made.ready_seconds


def planning_seconds(problem: ReplicationProblem) -> float:
    """Return an estimate, in seconds, of MinMin's planning time on a busy machine."""
    tasks = len(problem.tasks)
    nodes = len(problem.nodes)
    return tasks * (SECONDS_PER_TASK + SECONDS_PER_CELL * tasks * nodes)
