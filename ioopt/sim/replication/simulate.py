"""Timeline simulator of the replication family: replay a plan's queues and report what happened.

The paper used SimGrid; the rules here are ours and are written out in ``docs/replication-timeline.md``
and, as code, in :mod:`ioopt.sim.replication.kernel`.
"""

from collections.abc import Mapping
from typing import Literal

from ioopt.compiled import compiled
from ioopt.compiled.choice import LOADING_SECONDS, use_machine_code
from ioopt.errors import OutOfTime, SimulationError
from ioopt.options import Deadline
from ioopt.problems.replication import LinkModel, ReplicationPlan, ReplicationProblem
from ioopt.protocols import Simulation
from ioopt.sim.replication import kernel
from ioopt.sim.replication.dispatch import replay_record
from ioopt.sim.replication.queues import Entries, require_actual
from ioopt.sim.replication.report import report
from ioopt.sim.replication.state import (
    Queues,
    State,
    instance_arrays,
    new_log,
    new_state,
    queue_arrays,
)

SECONDS_PER_CELL = 3e-6
"""Pure Python time of a replay per input and node, to judge whether compiling pays."""
COMPILED_SECONDS_PER_CELL = 2.5e-7
REPORT_SECONDS_PER_READ = 3e-5
"""Time of schedule, timeline and check per input and task."""
CHEAP_SECONDS = 0.3
INSTANTS = 1_000
"""Events between two looks at the clock."""


def simulate(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    link: LinkModel | None = None,
    engine: Literal["auto", "python", "compiled"] = "auto",
    deadline: Deadline | None = None,
    actual: Mapping[str, float] | None = None,
) -> Simulation:
    """Replay ``plan.order`` under ``plan.eviction`` (and ``plan.rounds`` with ``plan.barriers``).

    A plan with ``dispatches`` is run by that record instead.

    *actual* are compute seconds by task, where they differ from the planned ones. *link* overrides
    the instance's link model. *engine* picks the plain or the compiled kernel, which agree; ``auto``
    compiles only large replays. Raises SimulationError, naming the item, for queues that leave a
    task out, run one twice, name something unknown, form a dependency cycle or can never proceed, UsageError
    for *actual* times that are none, and OutOfTime where the report and its check would end too long
    after *deadline*.
    """
    if problem.is_workflow:
        problem.require_room()
    require_actual(problem, actual)
    if plan.dispatches is not None:
        options = {"link": link, "engine": engine, "deadline": deadline, "actual": actual}
        return replay_record(problem, plan, **options)
    until = _until(problem, deadline)
    parsed = Entries.of(problem, plan)
    fast = engine == "compiled" or (engine == "auto" and _takes_machine_code(problem, until))
    inst = instance_arrays(problem, link, parsed.copy_files, fast, actual)
    queues = queue_arrays(parsed.queues, plan.eviction, parsed.rounds, parsed.drops, fast, plan)
    run = compiled(kernel.__name__, "begin_or_advance") if fast else kernel.begin_or_advance
    room = max(64, 2 * len(inst.files))
    while True:
        log = new_log(inst, room, room, fast)
        state = new_state(inst, queues.num_rounds, fast)
        makespan, code = run(
            inst, queues, state, log, INSTANTS if until else 1 << 60, kernel.REPLAY, 0
        )
        while code == kernel.PAUSED:
            if until is not None and until.expired():
                raise _too_long(problem)
            makespan, code = run(inst, queues, state, log, INSTANTS, kernel.REPLAY, 0)
        if code != kernel.LOG_FULL:
            break
        room *= 4
    if code == kernel.STUCK:
        raise _stuck(problem, queues, state, parsed)
    entries = parsed.names, parsed.owner, parsed.copy_files
    return report(problem, link, (log, state), entries, float(makespan), actual)


def replay_seconds(problem: ReplicationProblem) -> tuple[float, float]:
    """Seconds that a replay takes on a busy machine, estimated: in pure Python, and compiled."""
    cells = sum(map(len, problem.inputs)) * len(problem.nodes)
    return SECONDS_PER_CELL * cells, COMPILED_SECONDS_PER_CELL * cells


def report_seconds(problem: ReplicationProblem) -> float:
    """Seconds that writing down and checking a replay takes, estimated."""
    return REPORT_SECONDS_PER_READ * (sum(map(len, problem.inputs)) + len(problem.tasks))


def replay_fits(problem: ReplicationProblem, deadline: Deadline) -> bool:
    """Whether :func:`simulate` would begin a replay at all."""
    try:
        _until(problem, deadline)
    except OutOfTime:
        return False
    return True


def _until(problem: ReplicationProblem, deadline: Deadline | None) -> Deadline | None:
    """When a replay must have ended; None without a limit, or where it takes next to no time.

    Raises OutOfTime where there is no use in beginning.
    """
    if deadline is None or deadline.limit_seconds is None:
        return None
    plain, machine = replay_seconds(problem)
    after = report_seconds(problem)
    if plain + after < CHEAP_SECONDS:
        return None
    until = deadline.with_overtime(after)
    if until.remaining() < min(plain, machine + LOADING_SECONDS):
        raise _too_long(problem)
    return until


def _takes_machine_code(problem: ReplicationProblem, until: Deadline | None) -> bool:
    """Whether to take machine code; OutOfTime where pure Python would take far too long."""
    plain, _ = replay_seconds(problem)
    fast = use_machine_code("timeline", until or Deadline(None), plain)
    if not fast and until is not None and plain > 2.0 * until.remaining():
        raise _too_long(problem)
    return fast


def compile_replay() -> None:
    """Compile the replay by running it on one task."""
    network = {"remote_bytes_per_second": 1.0, "replica_bytes_per_second": 1.0}
    task = {"id": "t", "compute_seconds": 1.0}
    problem = ReplicationProblem.model_validate(
        {"network": network, "nodes": [{"id": "n"}], "tasks": [task]}
    )
    simulate(problem, ReplicationPlan(order={"n": ("t",)}), engine="compiled")


def _too_long(problem: ReplicationProblem) -> OutOfTime:
    return OutOfTime(
        f"replaying {len(problem.tasks)} tasks on {len(problem.nodes)} nodes takes longer than the "
        "time limit leaves"
    )


def _stuck(
    problem: ReplicationProblem, queues: Queues, state: State, parsed: Entries
) -> SimulationError:
    """The error for a replay in which nothing can go on, naming the first node that waits."""
    for i, node in enumerate(problem.nodes):
        place = state.head[i] - queues.ptr[i]
        if state.idle[i] == node.cores and place < len(parsed.queues[i]):
            entry = parsed.queues[i][place]
            if entry < len(problem.tasks):
                files = list(problem.inputs[entry])
            else:
                files = [parsed.copy_files[entry - len(problem.tasks)]]
            size = len(problem.files)
            missing = [problem.files[f].id for f in files if state.has[i * size + f] != 1]
            return SimulationError(
                f"node {node.id} waits for ever at {parsed.names[entry]!r}: its disk has no room "
                f"for {', '.join(missing) or 'its round'}"
            )
    return SimulationError("the replay stopped before its end")
