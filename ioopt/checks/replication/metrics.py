"""The metrics of a replication schedule and the published bounds,
recomputed by the checker.

Written from the rules alone: nothing of the simulator or the models is used.
"""

import math
from graphlib import TopologicalSorter

from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import Metrics, Schedule


def schedule_metrics(problem: ReplicationProblem, schedule: Schedule) -> Metrics:
    """Makespan, bytes and counts of a schedule whose names are all
    known, and the link bound.
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
        "lower_bound_seconds": lower_bound(problem),
        "link_model": link,
        "remote_bytes": sum(far),
        "replica_bytes": sum(near),
        "remote_transfers": len(far),
        "replications": len(near),
        "evictions": len(schedule.get("evictions", ())),
        **(products if problem.is_workflow else {}),
    }


def _cores_busy(
    problem: ReplicationProblem, schedule: Schedule, makespan: float
) -> float:
    """The part of all core-seconds up to the makespan that tasks take."""
    cores = {task.id: task.cores for task in problem.tasks}
    taken = [
        cores[row["id"]] * (row["end_seconds"] - row["start_seconds"])
        for row in schedule.get("tasks", ())
    ]
    whole = makespan * sum(node.cores for node in problem.nodes)
    return math.fsum(taken) / whole if whole > 0 else 0.0


def _link_bound(problem: ReplicationProblem) -> float:
    far = sum(problem.files[f].bytes for f in _fetched(problem))
    fastest = max(node.speed for node in problem.nodes)
    least = min((task.compute_seconds for task in problem.tasks), default=0.0) / fastest
    return far / problem.network.remote_bytes_per_second + least


def _fetched(problem: ReplicationProblem) -> list[int]:
    """The files that are read and that no node holds or makes: each comes
    from remote storage.
    """
    held = {name for node in problem.nodes for name in node.holds}
    read = {name for task in problem.tasks for name in task.inputs}
    far = read - held - {name for task in problem.tasks for name in task.outputs}
    return [f for f, file in enumerate(problem.files) if file.id in far]


def lower_bound(problem: ReplicationProblem) -> float:
    """The largest of critical path, core area and link, in seconds."""
    if not problem.tasks:
        return 0.0
    start, tail, work = times(problem)
    end = [s + w for s, w in zip(start, work, strict=True)]
    path = max(e + q for e, q in zip(end, tail, strict=True))
    return max(path, area(problem, start, tail), links(problem, end, tail, work))


def _asked(problem: ReplicationProblem) -> list[float]:
    return [
        min((problem.tasks[k].release_seconds for k in readers), default=math.inf)
        for readers in problem.readers
    ]


def reach_seconds(problem: ReplicationProblem, file: int) -> float:
    """Least time in which a file crosses everything between a node
    and the remote storage.
    """
    entry, network = problem.files[file], problem.network
    speeds = [network.remote_bytes_per_second, network.replica_bytes_per_second]
    speeds += [s.bytes_per_second for s in problem.storages if s.id == entry.storage]
    return entry.bytes / min(speeds)


def times(problem: ReplicationProblem) -> tuple[list[float], list[float], list[float]]:
    """What comes before, after and in each task at least: start, tail
    and work in seconds.
    """
    tasks, nodes = problem.tasks, problem.nodes
    touched, asked = set(_fetched(problem)), _asked(problem)
    order = list(
        TopologicalSorter(dict(enumerate(problem.predecessors))).static_order()
    )
    work = [
        task.compute_seconds
        / max(nodes[i].speed for i in problem.hosts[k] or range(len(nodes)))
        for k, task in enumerate(tasks)
    ]
    start = [0.0] * len(tasks)
    tail = [0.0] * len(tasks)
    for k in order:
        born = [f for f in problem.inputs[k] if problem.producer[f] < 0]
        start[k] = max(
            tasks[k].release_seconds,
            *(start[p] + work[p] for p in problem.predecessors[k]),
            *(asked[f] + reach_seconds(problem, f) for f in born if f in touched),
            _together(problem, born, asked, k),
        )
    for k in reversed(order):
        kept = [f for f in problem.outputs[k] if problem.files[f].keep]
        tail[k] = max([tail[k], *(reach_seconds(problem, f) for f in kept)])
        for p in problem.predecessors[k]:
            tail[p] = max(tail[p], work[k] + tail[k])
    return start, tail, work


def _together(
    problem: ReplicationProblem, born: list[int], asked: list[float], k: int
) -> float:
    """All inputs from outside through one interface, on the node that misses least."""
    if not born or not problem.hosts[k]:
        return 0.0
    disks = {problem.holds[i] for i in problem.hosts[k]}
    missing = [
        sum(problem.files[f].bytes for f in born if f not in held) for held in disks
    ]
    rate = problem.network.replica_bytes_per_second
    return min(asked[f] for f in born) + min(missing) / rate


def area(problem: ReplicationProblem, start: list[float], tail: list[float]) -> float:
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


def links(
    problem: ReplicationProblem, end: list[float], tail: list[float], work: list[float]
) -> float:
    """All that must cross the remote link, or all private ones, or a storage's disk."""
    network = problem.network
    nodes = len(problem.nodes)
    many = 1 if network.remote_link == "shared" else nodes
    most = min(
        many * network.remote_bytes_per_second, nodes * network.replica_bytes_per_second
    )
    pipes: list[tuple[str | None, float]] = [(None, most)]
    pipes += [(storage.id, storage.bytes_per_second) for storage in problem.storages]
    touched, first = set(_fetched(problem)), _asked(problem)
    best = 0.0
    for name, rate in pipes:
        own = [
            f for f, file in enumerate(problem.files) if name in (None, file.storage)
        ]
        come = [f for f in own if f in touched]
        kept = [f for f in own if problem.producer[f] >= 0 and problem.files[f].keep]
        asked = min((first[f] for f in come), default=math.inf)
        made = min((end[problem.producer[f]] for f in kept), default=math.inf)
        fetching, saving = (
            sum(problem.files[f].bytes for f in part) / rate for part in (come, kept)
        )
        if come:
            last = min(work[k] + tail[k] for f in come for k in problem.readers[f])
            best = max(best, asked + fetching + last)
        if kept:
            best = max(best, made + saving)
        if come and kept:
            best = max(best, min(asked, made) + fetching + saving)
    return best
