"""What a replay of the replication family reports: metrics, schedule, timeline."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from ioopt.models.replication.workflow_bound import TransferBound, makespan_bound_seconds
from ioopt.problems.replication import LinkModel, ReplicationProblem
from ioopt.protocols import Simulation
from ioopt.sim.replication.history import tell
from ioopt.sim.replication.state import (
    EVICTIONS,
    REFETCHED,
    REMOTE_BYTES,
    REMOTE_COUNT,
    REPLICA_BYTES,
    SAVED_BYTES,
    SAVES,
    SPILLS,
    TRANSFERS,
    Log,
    State,
)
from ioopt.timeline import Interval, Timeline


def link_bound_seconds(problem: ReplicationProblem) -> float:
    """Lower bound of any makespan on a shared link: bytes to fetch at its rate + least compute.

    Counts the distinct files that are read and that no node holds or makes.
    """
    held = frozenset().union(*problem.holds)
    wanted = sum(
        file.bytes
        for f, file in enumerate(problem.files)
        if problem.readers[f] and f not in held and problem.producer[f] < 0
    )
    fastest = max(node.speed for node in problem.nodes)
    least = min((task.compute_seconds for task in problem.tasks), default=0.0) / fastest
    return wanted / problem.network.remote_bytes_per_second + least


def report(
    problem: ReplicationProblem,
    link: LinkModel | None,
    ran: tuple[Log, State],
    entries: tuple[Sequence[str], Sequence[int], Sequence[int]],
    makespan: float,
    actual: Mapping[str, float] | None,
) -> Simulation:
    """What a replay that ended at *makespan* did; *entries* as in :func:`schedule_of`."""
    log, state = ran
    metrics = metrics_of(problem, link, state, makespan)
    schedule = schedule_of(problem, log, state, entries)
    schedule["link"] = metrics["link_model"]
    if actual is not None:
        schedule["actual_compute_seconds"] = dict(actual)
    if problem.is_workflow:
        metrics["cores_busy"] = cores_busy(problem, schedule["tasks"], makespan)
        tell(problem, schedule)
    return Simulation(schedule, metrics, timeline_of(problem, schedule))


def cores_busy(
    problem: ReplicationProblem, runs: Sequence[Mapping[str, Any]], makespan: float
) -> float:
    """Share of the core-seconds up to the makespan in which a task computes; 0 if that is 0."""
    if makespan == 0:
        return 0.0
    used = math.fsum(
        problem.tasks[problem.task_index[run["id"]]].cores
        * (run["end_seconds"] - run["start_seconds"])
        for run in runs
    )
    return used / (makespan * sum(node.cores for node in problem.nodes))


def metrics_of(
    problem: ReplicationProblem, link: LinkModel | None, state: State, makespan: float
) -> dict[str, Any]:
    """The metrics of a replay that ends at *makespan* seconds."""
    shared = (link or problem.network.remote_link) == "shared"
    count = [int(value) for value in state.counters]
    products: dict[str, float] = {
        "saved_bytes": count[SAVED_BYTES],
        "spills": count[SPILLS],
        "products_refetched": count[REFETCHED],
    }
    if problem.is_workflow:
        products["transfer_bound_seconds"] = TransferBound(problem, link).seconds
    return {
        "makespan_seconds": makespan,
        "link_bound_seconds": link_bound_seconds(problem) if shared else None,
        "lower_bound_seconds": makespan_bound_seconds(problem, link),
        "link_model": "shared" if shared else "per-node",
        "remote_bytes": count[REMOTE_BYTES],
        "replica_bytes": count[REPLICA_BYTES],
        "remote_transfers": count[REMOTE_COUNT],
        "replications": count[TRANSFERS] - count[REMOTE_COUNT] - count[SAVES],
        "evictions": count[EVICTIONS],
        **(products if problem.is_workflow else {}),
    }


def schedule_of(
    problem: ReplicationProblem,
    log: Log,
    state: State,
    entries: tuple[Sequence[str], Sequence[int], Sequence[int]],
) -> dict[str, Any]:
    """The schedule; *entries*: names and nodes of all entries, files of the copy entries."""
    names, owner, copy_files = entries
    nodes = [node.id for node in problem.nodes]
    files = [file.id for file in problem.files]
    num_tasks = len(problem.tasks)
    runs = sorted(range(num_tasks), key=lambda k: (float(log.task_start[k]), k))
    schedule: dict[str, Any] = {
        "tasks": [
            {
                "id": names[k],
                "node": nodes[owner[k]],
                "start_seconds": float(log.task_start[k]),
                "end_seconds": float(log.task_end[k]),
            }
            for k in runs
        ],
        "transfers": [
            {
                "file": files[log.file[n]],
                "source": None if log.source[n] < 0 else nodes[log.source[n]],
                "destination": None if log.destination[n] < 0 else nodes[log.destination[n]],
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
    if copy_files:
        done = sorted(range(num_tasks, len(names)), key=lambda e: (float(log.task_end[e]), e))
        schedule["copy_entries"] = [
            {
                "file": files[copy_files[e - num_tasks]],
                "node": nodes[owner[e]],
                "seconds": float(log.task_end[e]),
            }
            for e in done
        ]
    return schedule


def timeline_of(problem: ReplicationProblem, schedule: dict[str, Any]) -> Timeline:
    """The intervals of a schedule, for pictures and traces."""
    size = {file.id: file.bytes for file in problem.files}
    intervals = []
    runs = {}
    for row in schedule["tasks"]:
        start, end, name = row["start_seconds"], row["end_seconds"], row["id"]
        lanes = [
            Interval(start, end, row["node"], "compute", name, None, core)
            for core in core_info(row)
        ]
        runs[name] = lanes[0]
        intervals += lanes
    moves = []
    for row in schedule["transfers"]:
        start, end = row["start_seconds"], row["end_seconds"]
        name, source, target = row["file"], row["source"], row["destination"]
        kind = "save" if target is None else "remote" if source is None else "copy"
        moves.append(
            Interval(
                start, end, source if target is None else target, kind, name,
                size[name] / (end - start) if end > start else None,
                {"bytes": size[name], "source": source},
            )
        )  # fmt: skip
    marks = [
        Interval(row["seconds"], row["seconds"], row["node"], "eviction", row["file"])
        for row in schedule["evictions"]
    ]
    timeline = Timeline.of([*intervals, *moves], [node.id for node in problem.nodes], marks)
    if not problem.is_workflow:
        return timeline
    live = {f"{node} live bytes": disk["live"] for node, disk in schedule["disks"].items()}
    return replace(timeline, flows=tuple(flows_of(problem, runs, moves)), counters=live)


def core_info(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What intervals tell of the cores of a run: one for each; a batch's runs have none."""
    return [{"core": c} for c in row.get("cores", ())] or [{}]


def flows_of(
    problem: ReplicationProblem, runs: Mapping[str, Interval], moves: Sequence[Interval]
) -> Iterator[tuple[Interval, Interval]]:
    """From the task that makes a file to each that reads it, by the transfer to its node if any."""
    came: dict[tuple[str, str], list[Interval]] = {}
    for move in sorted((move for move in moves if move.kind != "save"), key=lambda move: move.end):
        came.setdefault((move.label, move.resource), []).append(move)
    for f, file in enumerate(problem.files):
        if problem.producer[f] < 0:
            continue
        maker = runs[problem.tasks[problem.producer[f]].id]
        for k in problem.readers[f]:
            reader = runs[problem.tasks[k].id]
            by = [m for m in came.get((file.id, reader.resource), ()) if m.end <= reader.start]
            stops = [maker, *by[-1:], reader]
            yield from pairwise(stops)
