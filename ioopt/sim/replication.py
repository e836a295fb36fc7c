"""Timeline simulator of the replication family: replay a plan's queues and report what happened.

The paper used SimGrid; the rules here are ours and are written out in ``docs/replication-timeline.md``
and, as code, in :mod:`ioopt.sim.replication_kernel`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ioopt.errors import SimulationError
from ioopt.models.replication.timeline_bound import makespan_bound_seconds
from ioopt.problems.replication import CopyEntry, LinkModel, ReplicationPlan, ReplicationProblem
from ioopt.protocols import Simulation
from ioopt.sim import replication_kernel as kernel
from ioopt.sim.compiled import compiled, pays
from ioopt.sim.replication_state import (
    EVICTIONS,
    REMOTE_BYTES,
    REMOTE_COUNT,
    REPLICA_BYTES,
    TRANSFERS,
    Log,
    Queues,
    State,
    instance_arrays,
    new_log,
    new_state,
    queue_arrays,
)
from ioopt.timeline import Interval, Timeline

SECONDS_PER_CELL = 3e-6
"""Pure Python time of a replay per input and node, to judge whether compiling pays."""


def link_bound_seconds(problem: ReplicationProblem) -> float:
    """Lower bound of any makespan on a shared link: bytes to fetch at its rate + least compute.

    Counts the distinct files that are read and that no node holds at the start.
    """
    held = frozenset().union(*problem.holds)
    wanted = sum(
        file.bytes for f, file in enumerate(problem.files) if problem.readers[f] and f not in held
    )
    fastest = max(node.speed for node in problem.nodes)
    least = min((task.compute_seconds for task in problem.tasks), default=0.0) / fastest
    return wanted / problem.network.remote_bytes_per_second + least


def simulate(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    link: LinkModel | None = None,
    engine: Literal["auto", "python", "compiled"] = "auto",
) -> Simulation:
    """Replay ``plan.order`` under ``plan.eviction`` (and ``plan.rounds`` with ``plan.barriers``).

    *link* overrides the instance's link model. *engine* picks the plain or the compiled kernel,
    which agree; ``auto`` compiles only large replays. Raises SimulationError, naming the item, for
    queues that leave a task out, run one twice, name something unknown, or can never proceed.
    """
    parsed = _Entries.of(problem, plan)
    fast = engine == "compiled"
    if engine == "auto":
        cells = sum(map(len, problem.inputs)) * len(problem.nodes)
        fast = pays(kernel.__name__, "replay", SECONDS_PER_CELL * cells)
    inst = instance_arrays(problem, link, parsed.copy_files, fast)
    queues = queue_arrays(parsed.queues, plan.eviction, parsed.rounds, parsed.drops, fast)
    state = new_state(inst, queues.num_rounds, fast)
    run = compiled(kernel.__name__, "replay") if fast else kernel.replay
    room = max(64, 2 * len(inst.files))
    while True:
        log = new_log(inst, room, room, fast)
        makespan, code = run(inst, queues, state, log, float("inf"))
        if code != kernel.LOG_FULL:
            break
        room *= 4
    if code == kernel.STUCK:
        raise _stuck(problem, queues, state, parsed)
    metrics = _metrics(problem, link, state, float(makespan))
    schedule = _schedule(problem, log, state, parsed)
    schedule["link"] = metrics["link_model"]
    return Simulation(schedule, metrics, _timeline(problem, schedule))


@dataclass(frozen=True)
class _Entries:
    """The queues of a plan as entry numbers; copy entries come after the tasks."""

    queues: list[list[int]]
    names: list[str]
    copy_files: list[int]
    rounds: list[list[int]] | None
    drops: list[list[tuple[int, int]]]
    owner: list[int]

    @classmethod
    def of(cls, problem: ReplicationProblem, plan: ReplicationPlan) -> _Entries:
        """Read the queues; SimulationError for what is unknown, left out or stands twice."""
        for known in plan.order:
            if known not in problem.node_index:
                raise SimulationError(f"order: there is no node {known!r}")
        names = [task.id for task in problem.tasks]
        owner = [-1] * len(names)
        copy_files: list[int] = []
        queues: list[list[int]] = []
        for i, node in enumerate(problem.nodes):
            queue = []
            for item in plan.order.get(node.id, ()):
                if isinstance(item, CopyEntry):
                    copy_files.append(_file(problem, item.copy_file, f"order of {node.id}"))
                    queue.append(len(names))
                    names.append(f"copy of {item.copy_file}")
                    owner.append(i)
                    continue
                k = problem.task_index.get(item)
                if k is None:
                    raise SimulationError(f"order of {node.id}: there is no task {item!r}")
                if owner[k] >= 0:
                    raise SimulationError(
                        f"task {item!r} stands twice in the queues: on "
                        f"{problem.nodes[owner[k]].id} and on {node.id}"
                    )
                owner[k] = i
                queue.append(k)
            queues.append(queue)
        for k, task in enumerate(problem.tasks):
            if owner[k] < 0:
                raise SimulationError(f"task {task.id!r} stands in no queue")
            _fits(problem, k, owner[k])
        rounds, drops = _barriers(problem, plan, queues)
        return cls(queues, names, copy_files, rounds, drops, owner)


def _file(problem: ReplicationProblem, name: str, where: str) -> int:
    if name not in problem.file_index:
        raise SimulationError(f"{where}: there is no file {name!r}")
    return problem.file_index[name]


def _fits(problem: ReplicationProblem, k: int, i: int) -> None:
    node = problem.nodes[i]
    wanted = problem.task_bytes(k)
    if node.disk_bytes is not None and wanted > node.disk_bytes:
        raise SimulationError(
            f"node {node.id} can never run task {problem.tasks[k].id!r}: its files "
            f"({', '.join(problem.tasks[k].inputs)}) take {wanted} bytes, the disk {node.disk_bytes}"
        )


def _barriers(
    problem: ReplicationProblem, plan: ReplicationPlan, queues: list[list[int]]
) -> tuple[list[list[int]] | None, list[list[tuple[int, int]]]]:
    """The round of each place, a copy entry going with the task before it, and the files to drop."""
    if not plan.barriers or plan.rounds is None:
        return None, []
    index = problem.task_index
    round_of = {
        index[name]: r for r, row in enumerate(plan.rounds) for name in row.tasks if name in index
    }
    places = []
    for i, queue in enumerate(queues):
        present, row = 0, []
        for entry in queue:
            if entry < len(problem.tasks):
                name = problem.tasks[entry].id
                if entry not in round_of:
                    raise SimulationError(f"task {name!r} stands in no round of the plan")
                if round_of[entry] < present:
                    raise SimulationError(
                        f"order of {problem.nodes[i].id}: task {name!r} of round {round_of[entry]} "
                        f"comes after one of round {present}"
                    )
                present = round_of[entry]
            row.append(present)
        places.append(row)
    drops = []
    for r, former in enumerate(plan.rounds):
        pairs = []
        for name, node in former.evicted:
            if node not in problem.node_index:
                raise SimulationError(f"rounds[{r}].evicted: there is no node {node!r}")
            file = _file(problem, name, f"rounds[{r}].evicted")
            pairs.append((file, problem.node_index[node]))
        drops.append(pairs)
    return places, drops


def _stuck(
    problem: ReplicationProblem, queues: Queues, state: State, parsed: _Entries
) -> SimulationError:
    """The error for a replay in which nothing can go on, naming the first node that waits."""
    for i, node in enumerate(problem.nodes):
        place = state.head[i] - queues.ptr[i]
        if state.running[i] < 0 and place < len(parsed.queues[i]):
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


def _metrics(
    problem: ReplicationProblem, link: LinkModel | None, state: State, makespan: float
) -> dict[str, Any]:
    shared = (link or problem.network.remote_link) == "shared"
    count = [int(value) for value in state.counters]
    return {
        "makespan_seconds": makespan,
        "link_bound_seconds": link_bound_seconds(problem) if shared else None,
        "lower_bound_seconds": makespan_bound_seconds(problem, link),
        "link_model": "shared" if shared else "per-node",
        "remote_bytes": count[REMOTE_BYTES],
        "replica_bytes": count[REPLICA_BYTES],
        "remote_transfers": count[REMOTE_COUNT],
        "replications": count[TRANSFERS] - count[REMOTE_COUNT],
        "evictions": count[EVICTIONS],
    }


def _schedule(
    problem: ReplicationProblem, log: Log, state: State, parsed: _Entries
) -> dict[str, Any]:
    nodes = [node.id for node in problem.nodes]
    files = [file.id for file in problem.files]
    num_tasks = len(problem.tasks)
    runs = sorted(range(num_tasks), key=lambda k: (float(log.task_start[k]), k))
    schedule: dict[str, Any] = {
        "tasks": [
            {
                "id": parsed.names[k],
                "node": nodes[parsed.owner[k]],
                "start_seconds": float(log.task_start[k]),
                "end_seconds": float(log.task_end[k]),
            }
            for k in runs
        ],
        "transfers": [
            {
                "file": files[log.file[n]],
                "source": None if log.source[n] < 0 else nodes[log.source[n]],
                "destination": nodes[log.destination[n]],
                "start_seconds": float(log.start[n]),
                "end_seconds": float(log.end[n]),
            }
            for n in range(state.counters[TRANSFERS])
        ],
        "evictions": [
            {
                "file": files[log.evicted_file[n]],
                "node": nodes[log.evicted_node[n]],
                "seconds": float(log.evicted_at[n]),
            }
            for n in range(state.counters[EVICTIONS])
        ],
    }
    if parsed.copy_files:
        entries = sorted(
            range(num_tasks, len(parsed.names)), key=lambda e: (float(log.task_end[e]), e)
        )
        schedule["copy_entries"] = [
            {
                "file": files[parsed.copy_files[e - num_tasks]],
                "node": nodes[parsed.owner[e]],
                "seconds": float(log.task_end[e]),
            }
            for e in entries
        ]
    return schedule


def _timeline(problem: ReplicationProblem, schedule: dict[str, Any]) -> Timeline:
    size = {file.id: file.bytes for file in problem.files}
    intervals = [
        Interval(row["start_seconds"], row["end_seconds"], row["node"], "compute", row["id"])
        for row in schedule["tasks"]
    ]
    for row in schedule["transfers"]:
        start, end = row["start_seconds"], row["end_seconds"]
        name, source = row["file"], row["source"]
        intervals.append(
            Interval(
                start, end, row["destination"], "remote" if source is None else "copy", name,
                size[name] / (end - start) if end > start else None,
                {"bytes": size[name], "source": source},
            )
        )  # fmt: skip
    marks = [
        Interval(row["seconds"], row["seconds"], row["node"], "eviction", row["file"])
        for row in schedule["evictions"]
    ]
    return Timeline.of(intervals, [node.id for node in problem.nodes], marks)
