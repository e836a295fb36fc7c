"""What a replay of the replication family reports: metrics, schedule, timeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ioopt.models.replication.timeline_bound import makespan_bound_seconds
from ioopt.problems.replication import LinkModel, ReplicationProblem
from ioopt.sim.replication.state import (
    EVICTIONS,
    REMOTE_BYTES,
    REMOTE_COUNT,
    REPLICA_BYTES,
    TRANSFERS,
    Log,
    State,
)
from ioopt.timeline import Interval, Timeline


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


def metrics_of(
    problem: ReplicationProblem, link: LinkModel | None, state: State, makespan: float
) -> dict[str, Any]:
    """The metrics of a replay that ends at *makespan* seconds."""
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
    """The intervals of a schedule, for pictures."""
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
