"""MinMin with implicit replication (Khanna et al., Section 3; rule 9): least completion time first."""

from dataclasses import replace
from typing import Any

from ioopt.compiled import boxes, compiled
from ioopt.compiled.choice import LOADING_SECONDS, use_machine_code
from ioopt.errors import OutOfTime
from ioopt.options import Deadline
from ioopt.problems.base import Record
from ioopt.problems.replication import EvictionPolicy, ReplicationPlan, ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.replication.simulate import CHEAP_SECONDS
from ioopt.sim.replication.state import Instance, instance_arrays
from ioopt.solvers.replication.greedy import minmin_kernel as kernel
from ioopt.solvers.replication.greedy.file_order import answer_in_file_order
from ioopt.solvers.replication.plans import build_plan, flat, require_batch, tiny_batch

SECONDS_PER_CELL = 5e-6
"""Pure Python time per input and node, to judge whether compiling pays."""
COMPILED_SECONDS_PER_CELL = 1.5e-7
MODEL_SECONDS_PER_READ = 3e-5
"""Time to reduce a problem to its static form and to read a plan back, per input and task."""
CHECK_SECONDS_PER_READ = 3e-6
"""Time to check a plan that is not replayed, per input and task."""
SLACK_SECONDS = 0.3
TASKS_A_LOOK = 100
"""Tasks planned between two looks at the clock."""


class Settings(Record):
    """``replication``: plan copies between nodes; ``eviction``: policy of the replay.

    The plan itself always evicts by popularity, as the paper has it.
    """

    replication: bool = True
    eviction: EvictionPolicy = "popularity"


def solve(
    problem: ReplicationProblem, request: SolveRequest[Settings, ReplicationPlan]
) -> Outcome[ReplicationPlan]:
    """Plan with MinMin; the planned end of the last task is metric ``planned_makespan_seconds``.

    Where the deadline passes first, tasks go in the order of the file, with a note.
    """
    settings = request.settings or Settings()
    try:
        plan, ready = plan_minmin(
            problem, settings.replication, settings.eviction, request.deadline
        )
    except OutOfTime:
        return answer_in_file_order(problem, "MinMin")
    return Outcome(plan, metrics={"planned_makespan_seconds": max(ready)})


def answer_instead(
    problem: ReplicationProblem, request: SolveRequest, reason: str, *notes: str
) -> Outcome:
    """MinMin's plan for a solver that found none, with *reason* in its notes."""
    outcome = solve(problem, replace(request, settings=None, start=None))
    said = (*outcome.notes, *notes, f"{reason}; answered by minmin")
    return replace(outcome, stop=StopReason.FALLBACK, notes=said)


def in_haste(problem: ReplicationProblem, request: SolveRequest) -> Outcome | None:
    """MinMin's answer where the static model alone would take more than the time limit, else None."""
    reads = sum(map(len, problem.inputs)) + len(problem.tasks)
    if MODEL_SECONDS_PER_READ * reads <= request.deadline.remaining() + SLACK_SECONDS:
        return None
    return answer_instead(problem, request, "the time limit is too short for the static model")


def plan_minmin(
    problem: ReplicationProblem,
    replication: bool = True,
    eviction: EvictionPolicy = "popularity",
    deadline: Deadline | None = None,
) -> tuple[ReplicationPlan, list[float]]:
    """MinMin's plan and the planned ready time of each node in seconds.

    Raises UnsolvableInstanceError for a task that no disk can hold and OutOfTime where *deadline*
    passes first.
    """
    require_batch(problem)
    nodes = len(problem.nodes)
    work = _run(problem, replication, deadline or Deadline(None))
    queues: list[list[int]] = [[] for _ in range(nodes)]
    for step in range(len(problem.tasks)):
        queues[work.out_node[step]].append(int(work.out_task[step]))
    moves = [
        (int(work.move_file[n]), int(work.move_source[n]), int(work.move_node[n]))
        for n in range(work.counters[kernel.MOVES])
    ]
    model = "replay" if work.counters[kernel.EVICTIONS] else "static"
    plan = build_plan(problem, queues, eviction, moves, model)  # type: ignore[arg-type]
    return plan, [float(value) for value in work.ready]


def planning_seconds(problem: ReplicationProblem) -> tuple[float, float]:
    """Seconds that MinMin takes on a busy machine, estimated: in pure Python, and compiled."""
    cells = sum(map(len, problem.inputs)) * len(problem.nodes)
    return SECONDS_PER_CELL * cells, COMPILED_SECONDS_PER_CELL * cells


def _run(problem: ReplicationProblem, replication: bool, deadline: Deadline) -> kernel.Work:
    """The kernel in pieces; OutOfTime after *deadline*."""
    plain, machine = planning_seconds(problem)
    reads = sum(map(len, problem.inputs)) + len(problem.tasks)
    deadline = deadline.with_overtime(CHECK_SECONDS_PER_READ * reads)
    left, limited = deadline.remaining(), deadline.limit_seconds is not None
    if limited and min(plain, machine + LOADING_SECONDS) > left and plain > CHEAP_SECONDS:
        raise OutOfTime("MinMin takes longer than the time limit leaves")
    fast = use_machine_code("MinMin", deadline, plain)
    if plain > 2.0 * left and not fast:
        raise OutOfTime("MinMin takes longer in pure Python than the time limit leaves")
    inst = instance_arrays(problem, compiled=fast)
    work = _work(problem, inst, fast)
    network = problem.network
    costs = 1.0 / network.remote_bytes_per_second, 1.0 / network.replica_bytes_per_second
    run = compiled(kernel.__name__, "plan") if fast else kernel.plan
    done, before = 0, -1
    while before < done < len(problem.tasks):
        before, done = done, run(inst, work, replication, *costs, TASKS_A_LOOK)
        if done < len(problem.tasks) and plain > CHEAP_SECONDS and deadline.expired():
            raise OutOfTime("the deadline passed while MinMin planned")
    return work


def compile_kernel() -> None:
    """Compile the kernel by planning one task."""
    problem = tiny_batch()
    inst = instance_arrays(problem, compiled=True)
    compiled(kernel.__name__, "plan")(inst, _work(problem, inst, True), True, 1.0, 1.0, 1)


def _work(problem: ReplicationProblem, inst: Instance, fast: bool) -> kernel.Work:
    """The state of a plan before its first step: lists, or arrays where *fast*."""
    nodes, files, tasks = inst.num_nodes, inst.num_files, inst.num_tasks
    reads = len(inst.files)
    leaves = 1
    while leaves < tasks:
        leaves *= 2
    reader_ptr, readers = flat(problem.readers)
    box = boxes(fast)

    def zeros(length: int, kind: str = "int64") -> Any:
        if not fast:
            return [0.0 if kind == "float64" else 0] * length
        import numpy

        return numpy.zeros(length, dtype=kind)

    return kernel.Work(
        reader_ptr=box(reader_ptr), readers=box(readers),
        fits=zeros(tasks * nodes, "int8"), on=zeros(nodes * files, "int8"),
        residents=zeros(nodes * files, "int32"), seat=zeros(nodes * files, "int32"),
        num_residents=zeros(nodes), copies=zeros(files),
        pending=zeros(files), wanted=box([-1] * files),
        used=zeros(nodes), fetch=zeros(tasks * nodes),
        copy=zeros(tasks * nodes), open=zeros(tasks, "int8"), ready=zeros(nodes, "float64"),
        leaves=leaves, tree=zeros(2 * leaves * nodes, "int32"),
        seconds=zeros(tasks * nodes, "float64"), out_task=zeros(tasks), out_node=zeros(tasks),
        move_file=zeros(reads), move_source=zeros(reads),
        move_node=zeros(reads), counters=zeros(4),
    )  # fmt: skip
