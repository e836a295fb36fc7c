"""The metrics of a replication schedule, recomputed from its transfers, tasks and evictions."""

import math

from ioopt.check.replication.bounds import lower_bound
from ioopt.problems.replication import File, ReplicationProblem
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
        "lower_bound_seconds": _lower_bound(problem),
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
    far = sum(file.bytes for file in _fetched(problem))
    return far / problem.network.remote_bytes_per_second + _least_compute(problem)


def _lower_bound(problem: ReplicationProblem) -> float:
    """The largest of what links, storage disks, all computing and one task alone need at least."""
    if problem.is_workflow:
        return lower_bound(problem)
    far, network, nodes = _fetched(problem), problem.network, problem.nodes
    remote, nic = network.remote_bytes_per_second, network.replica_bytes_per_second
    links = 1 if network.remote_link == "shared" else len(nodes)
    pipes = [(far, min(links * remote, len(nodes) * nic))]
    for storage in problem.storages:
        stored = [file for file in far if file.storage == storage.id]
        pipes.append((stored, storage.bytes_per_second))
    least = _least_compute(problem)
    bounds = [sum(file.bytes for file in files) / rate + least for files, rate in pipes if files]
    bounds.append(
        sum(task.compute_seconds for task in problem.tasks) / sum(node.speed for node in nodes)
    )
    sizes = {file.id: file.bytes for file in far}
    speed = max(node.speed for node in nodes)
    for task in problem.tasks:
        largest = max((sizes.get(name, 0) for name in task.inputs), default=0)
        bounds.append(largest / min(remote, nic) + task.compute_seconds / speed)
    return max(bounds)


def _fetched(problem: ReplicationProblem) -> list[File]:
    """The distinct files that are read and that no node holds or makes: each comes from remote storage."""
    held = {name for node in problem.nodes for name in node.holds}
    read = {name for task in problem.tasks for name in task.inputs}
    far = read - held - {name for task in problem.tasks for name in task.outputs}
    return [file for file in problem.files if file.id in far]


def _least_compute(problem: ReplicationProblem) -> float:
    speed = max(node.speed for node in problem.nodes)
    return min((task.compute_seconds for task in problem.tasks), default=0.0) / speed
