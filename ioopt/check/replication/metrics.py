"""The metrics of a replication schedule, recomputed from its transfers, tasks and evictions."""

import math

from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import Metrics, Schedule


def schedule_metrics(problem: ReplicationProblem, schedule: Schedule) -> Metrics:
    """Makespan, bytes and counts of a schedule whose names are all known, and the link bound.

    The makespan is the end of the last task or copy entry. The bound holds on a shared link: the
    distinct files that are read and held nowhere, at its rate, and the least compute.
    """
    sizes = {file.id: file.bytes for file in problem.files}
    far: list[int] = []
    near: list[int] = []
    saved: list[int] = []
    kept = {file.id for file in problem.files if file.keep}
    made = {name for task in problem.tasks for name in task.outputs}
    ends = [row["end_seconds"] for row in schedule.get("tasks", ())]
    spills = again = 0
    for move in schedule.get("transfers", ()):
        file = move["file"]
        if move["destination"] is None:
            saved.append(sizes[file])
            spills += file not in kept
            ends += [move["end_seconds"]] * (file in kept)
        else:
            (far if move["source"] is None else near).append(sizes[file])
            again += move["source"] is None and file in made
    ends += [row["seconds"] for row in schedule.get("copy_entries", ())]
    link = problem.network.remote_link
    makespan = max(ends, default=0.0)
    products = {
        "saved_bytes": sum(saved),
        "spills": spills,
        "products_refetched": again,
        "cores_busy": _cores_busy(problem, schedule, makespan),
    }
    return {
        "makespan_seconds": makespan,
        "link_bound_seconds": _link_bound(problem) if link == "shared" else None,
        "link_model": link,
        "remote_bytes": sum(far),
        "replica_bytes": sum(near),
        "remote_transfers": len(far),
        "replications": len(near),
        "evictions": len(schedule.get("evictions", ())),
        **(products if problem.is_workflow else {}),
    }


def _cores_busy(problem: ReplicationProblem, schedule: Schedule, makespan: float) -> float:
    """The part of all core-seconds up to the makespan that tasks take."""
    cores = {task.id: task.cores for task in problem.tasks}
    taken = [
        cores[row["id"]] * (row["end_seconds"] - row["start_seconds"])
        for row in schedule.get("tasks", ())
    ]
    whole = makespan * sum(node.cores for node in problem.nodes)
    return math.fsum(taken) / whole if whole > 0 else 0.0


def _link_bound(problem: ReplicationProblem) -> float:
    """What is read and neither held nor made anywhere, over the link, and the least compute."""
    held = {name for node in problem.nodes for name in node.holds}
    read = {name for task in problem.tasks for name in task.inputs}
    far = read - held - {name for task in problem.tasks for name in task.outputs}
    size = sum(file.bytes for file in problem.files if file.id in far)
    speed = max(node.speed for node in problem.nodes)
    least = min((task.compute_seconds for task in problem.tasks), default=0.0) / speed
    return size / problem.network.remote_bytes_per_second + least
