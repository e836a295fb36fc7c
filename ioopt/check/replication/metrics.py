"""The metrics of a replication schedule, recomputed from its transfers, tasks and evictions.

The lower bound of a workflow is written from workflow rule 18 alone: nothing of the models is used.
"""

import math
from graphlib import TopologicalSorter

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


def lower_bound(problem: ReplicationProblem) -> float:
    """The largest of critical path, core area and link, in seconds (workflow rule 18)."""
    if not problem.tasks:
        return 0.0
    tasks, nodes, before = problem.tasks, problem.nodes, problem.predecessors
    touched, first = {problem.file_index[file.id] for file in _fetched(problem)}, _asked(problem)
    work = [
        task.compute_seconds / max(nodes[i].speed for i in problem.hosts[k] or range(len(nodes)))
        for k, task in enumerate(tasks)
    ]
    start, tail = [0.0] * len(tasks), [0.0] * len(tasks)
    order = list(TopologicalSorter(dict(enumerate(before))).static_order())
    for k in order:
        born = [f for f in problem.inputs[k] if problem.producer[f] < 0]
        start[k] = max(
            tasks[k].release_seconds,
            *(start[p] + work[p] for p in before[k]),
            *(first[f] + _reach_seconds(problem, f) for f in born if f in touched),
            _together(problem, born, first, k),
        )
    for k in reversed(order):
        kept = (f for f in problem.outputs[k] if problem.files[f].keep)
        tail[k] = max([tail[k], *(_reach_seconds(problem, f) for f in kept)])
        for p in before[k]:
            tail[p] = max(tail[p], work[k] + tail[k])
    end = [s + w for s, w in zip(start, work, strict=True)]
    path = max(e + q for e, q in zip(end, tail, strict=True))
    after = [w + q for w, q in zip(work, tail, strict=True)]
    return max(path, _area(problem, start, tail), _links(problem, touched, first, end, after))


def _asked(problem: ReplicationProblem) -> list[float]:
    """When the first reader of each file arrives."""
    return [
        min((problem.tasks[k].release_seconds for k in readers), default=math.inf)
        for readers in problem.readers
    ]


def _reach_seconds(problem: ReplicationProblem, file: int) -> float:
    """Least time in which a file crosses everything between a node and the remote storage."""
    entry, network = problem.files[file], problem.network
    speeds = [network.remote_bytes_per_second, network.replica_bytes_per_second]
    speeds += [s.bytes_per_second for s in problem.storages if s.id == entry.storage]
    return entry.bytes / min(speeds)


def _together(problem: ReplicationProblem, born: list[int], asked: list[float], k: int) -> float:
    """All inputs from outside through one interface, on the node that misses least."""
    if not born or not problem.hosts[k]:
        return 0.0
    disks = {problem.holds[i] for i in problem.hosts[k]}
    missing = [sum(problem.files[f].bytes for f in born if f not in held) for held in disks]
    rate = problem.network.replica_bytes_per_second
    return min(asked[f] for f in born) + min(missing) / rate


def _area(problem: ReplicationProblem, start: list[float], tail: list[float]) -> float:
    """All computing on all cores, from each instant on and up to each tail."""
    tasks = problem.tasks
    power = sum(node.cores * node.speed for node in problem.nodes)
    share = [task.cores * task.compute_seconds / power for task in tasks]
    best = total = 0.0
    for k in sorted(range(len(tasks)), key=lambda k: -start[k]):
        total += share[k]
        best = max(best, start[k] + total)
    first, total = math.inf, 0.0
    for k in sorted(range(len(tasks)), key=lambda k: -tail[k]):
        first, total = min(first, start[k]), total + share[k]
        best = max(best, first + total + tail[k])
    return best


def _links(
    problem: ReplicationProblem,
    touched: set[int],
    first: list[float],
    end: list[float],
    after: list[float],
) -> float:
    """All that must cross a link or a storage's disk, what follows the last file with it."""
    network, files, maker = problem.network, problem.files, problem.producer
    many = 1 if network.remote_link == "shared" else len(problem.nodes)
    pipes: list[tuple[str | None, float]] = [(None, many * network.remote_bytes_per_second)]
    pipes += [(storage.id, storage.bytes_per_second) for storage in problem.storages]
    best = 0.0
    for name, rate in pipes:
        own = [f for f, file in enumerate(files) if name in (None, file.storage)]
        come = [f for f in own if f in touched]
        kept = [f for f in own if maker[f] >= 0 and files[f].keep]
        asked = min((first[f] for f in come), default=math.inf)
        made = min((end[maker[f]] for f in kept), default=math.inf)
        if come:
            last = min(after[k] for f in come for k in problem.readers[f])
            best = max(best, asked + sum(files[f].bytes for f in come) / rate + last)
        if kept:
            best = max(best, made + sum(files[f].bytes for f in kept) / rate)
        if come and kept:
            best = max(best, min(asked, made) + sum(files[f].bytes for f in come + kept) / rate)
    return best
