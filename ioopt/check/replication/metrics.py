"""The metrics of a replication schedule, recomputed from its transfers, tasks and evictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioopt.problems.replication import ReplicationProblem


def schedule_metrics(problem: ReplicationProblem, schedule: Mapping[str, Any]) -> dict[str, Any]:
    """Makespan, bytes and counts of a schedule whose names are all known, and the link bound.

    The makespan is the end of the last task or copy entry. The bound holds on a shared link: the
    distinct files that are read and held nowhere, at its rate, and the least compute.
    """
    sizes = {file.id: file.bytes for file in problem.files}
    far: list[int] = []
    near: list[int] = []
    for move in schedule.get("transfers", ()):
        (far if move["source"] is None else near).append(sizes[move["file"]])
    ends = [row["end_seconds"] for row in schedule.get("tasks", ())]
    ends += [row["seconds"] for row in schedule.get("copy_entries", ())]
    link = problem.network.remote_link
    return {
        "makespan_seconds": max(ends, default=0.0),
        "link_bound_seconds": _link_bound(problem) if link == "shared" else None,
        "link_model": link,
        "remote_bytes": sum(far),
        "replica_bytes": sum(near),
        "remote_transfers": len(far),
        "replications": len(near),
        "evictions": len(schedule.get("evictions", ())),
    }


def _link_bound(problem: ReplicationProblem) -> float:
    held = {name for node in problem.nodes for name in node.holds}
    read = {name for task in problem.tasks for name in task.inputs}
    wanted = sum(file.bytes for file in problem.files if file.id in read - held)
    speed = max(node.speed for node in problem.nodes)
    least = min((task.compute_seconds for task in problem.tasks), default=0.0) / speed
    return wanted / problem.network.remote_bytes_per_second + least
