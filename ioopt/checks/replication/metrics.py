"""Recompute the metrics of a replication schedule and its published bounds.

The code is written from the rules alone; it shares nothing with the simulator and the
models.
"""

import math
from graphlib import TopologicalSorter

from ioopt.problems.base import Json, once_a_problem
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import Metrics, Schedule


def schedule_metrics(problem: ReplicationProblem, schedule: Schedule) -> Metrics:
    """Return the makespan, the bytes moved, the counts and the bounds of a schedule,
    whose names must all be known.
    """
    sizes = {file.id: file.bytes for file in problem.files}
    far: list[int] = []
    near: list[int] = []
    for move in schedule.get("transfers", ()):
        if move["destination"] is None:
            continue
        kind = far if move["source"] is None else near
        kind.append(sizes[move["file"]])
    makespan = _makespan(problem, schedule)
    link = problem.network.remote_link
    metrics: Json = {
        "makespan_seconds": makespan,
        "link_bound_seconds": _link_bound(problem) if link == "shared" else None,
        "lower_bound_seconds": lower_bound(problem),
        "link_model": link,
        "remote_bytes": sum(far),
        "replica_bytes": sum(near),
        "remote_transfers": len(far),
        "replications": len(near),
        "evictions": len(schedule.get("evictions", ())),
    }
    if problem.is_workflow:
        metrics |= _product_metrics(problem, schedule, makespan)
    if problem.is_shared:
        from ioopt.checks.replication.shared import cached_bytes, shared_lower_bound

        rows = schedule.get("copy_entries", ())
        copied = {problem.file_index[row["file"]] for row in rows}
        metrics["cached_bytes"] = cached_bytes(problem, schedule)
        metrics["lower_bound_seconds"] = shared_lower_bound(problem, copied)
    return metrics


def _makespan(problem: ReplicationProblem, schedule: Schedule) -> float:
    """Return the makespan in seconds: the end of the last task, of the last copy entry,
    or of the last save of a file to keep.
    """
    kept = {file.id for file in problem.files if file.keep and not problem.is_shared}
    ends = [row["end_seconds"] for row in schedule.get("tasks", ())]
    ends += [row["seconds"] for row in schedule.get("copy_entries", ())]
    for move in schedule.get("transfers", ()):
        if move["destination"] is None and move["file"] in kept:
            ends.append(move["end_seconds"])
    return max(ends, default=0.0)


def _product_metrics(
    problem: ReplicationProblem, schedule: Schedule, makespan: float
) -> Metrics:
    """Return the metrics of a workflow's products: bytes saved, saves for lack of
    space, products fetched again, and the share of busy cores.
    """
    files = {file.id: file for file in problem.files}
    made: set[str] = set()
    for task in problem.tasks:
        made.update(task.outputs)
    saved = 0
    spills = 0
    again = 0
    for move in schedule.get("transfers", ()):
        file = files[move["file"]]
        if move["destination"] is None:
            saved += file.bytes
            if not file.keep and not problem.is_shared:
                spills += 1
        elif move["source"] is None and file.id in made:
            again += 1
    return {
        "saved_bytes": saved,
        "spills": spills,
        "products_refetched": again,
        "cores_busy": _cores_busy(problem, schedule, makespan),
    }


def _cores_busy(
    problem: ReplicationProblem, schedule: Schedule, makespan: float
) -> float:
    """Return the share of all core-seconds up to the makespan that tasks use."""
    cores = {task.id: task.cores for task in problem.tasks}
    taken = [
        cores[row["id"]] * (row["end_seconds"] - row["start_seconds"])
        for row in schedule.get("tasks", ())
    ]
    whole = makespan * sum(node.cores for node in problem.nodes)
    return math.fsum(taken) / whole if whole > 0 else 0.0


def _link_bound(problem: ReplicationProblem) -> float:
    """Return a lower bound on the makespan: the seconds to fetch every needed file once
    over the shared link and then to run the shortest task.
    """
    far = _bytes(problem, _fetched(problem))
    fastest = max(node.speed for node in problem.nodes)
    least = min((task.compute_seconds for task in problem.tasks), default=0.0) / fastest
    return far / problem.network.remote_bytes_per_second + least


def _bytes(problem: ReplicationProblem, files: list[int]) -> int:
    """Return the bytes of *files* together."""
    return sum(problem.files[f].bytes for f in files)


def _fetched(problem: ReplicationProblem) -> list[int]:
    """Return the indices of the files that must come from remote storage: tasks read
    them, and no node holds or makes them.
    """
    near: set[str] = set()
    for node in problem.nodes:
        near.update(node.holds)
    read: set[str] = set()
    for task in problem.tasks:
        near.update(task.outputs)
        read.update(task.inputs)
    far = read - near
    return [f for f, file in enumerate(problem.files) if file.id in far]


@once_a_problem
def lower_bound(problem: ReplicationProblem) -> float:
    """Return a lower bound on the makespan in seconds.

    The bound is the largest of four: the critical path, the core-seconds of all tasks
    divided by all cores, the same of memory, and the bytes over the links.
    """
    if not problem.tasks:
        return 0.0
    start, tail, work = times(problem)
    end = [s + w for s, w in zip(start, work, strict=True)]
    path = max(e + q for e, q in zip(end, tail, strict=True))
    best = max(path, areas(problem, start, tail))
    return max(best, links(problem, end, tail, work))


def areas(problem: ReplicationProblem, start: list[float], tail: list[float]) -> float:
    """Return the larger bound of those from the cores and from the memory, in seconds.

    *start* is the least time before the start of each task, and *tail* the least time
    after its end.
    """
    cores = [task.cores for task in problem.tasks]
    power = sum(node.cores * node.speed for node in problem.nodes)
    best = area(problem, cores, power, start, tail)
    sizes = [node.memory_bytes for node in problem.nodes]
    power = sum((node.memory_bytes or 0) * node.speed for node in problem.nodes)
    if None in sizes or power == 0:
        return best
    memory = [task.memory_bytes for task in problem.tasks]
    return max(best, area(problem, memory, power, start, tail))


def _asked(problem: ReplicationProblem) -> list[float]:
    """Return, for each file, the time in seconds at which the first of its readers
    arrives; infinity without a reader.
    """
    asked = []
    for readers in problem.readers:
        arrivals = [problem.tasks[k].release_seconds for k in readers]
        asked.append(min(arrivals, default=math.inf))
    return asked


def reach_seconds(problem: ReplicationProblem, file: int) -> float:
    """Return the least number of seconds in which *file* gets from remote storage to a
    node.
    """
    entry = problem.files[file]
    network = problem.network
    speeds = [network.remote_bytes_per_second, network.replica_bytes_per_second]
    speeds += [s.bytes_per_second for s in problem.storages if s.id == entry.storage]
    return entry.bytes / min(speeds)


def times(problem: ReplicationProblem) -> tuple[list[float], list[float], list[float]]:
    """Return three lists with one value in seconds for each task.

    For each task, the lists hold the least time before its start, the least time after
    its end, and the least time that it takes.
    """
    tasks = problem.tasks
    nodes = problem.nodes
    touched = set(_fetched(problem))
    asked = _asked(problem)
    order = list(
        TopologicalSorter(dict(enumerate(problem.predecessors))).static_order()
    )
    work = []
    for k, task in enumerate(tasks):
        hosts = problem.hosts[k] or range(len(nodes))
        fastest = max(nodes[i].speed for i in hosts)
        work.append(task.overhead_seconds + task.compute_seconds / fastest)
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
    """Return the earliest time in seconds at which task *k* can have all its inputs in
    *born*, which no task makes.

    All files that a node lacks pass through its one interface. The node that lacks the
    fewest bytes counts.
    """
    if not born or not problem.hosts[k]:
        return 0.0
    missing = []
    for held in {problem.holds[i] for i in problem.hosts[k]}:
        missing.append(_bytes(problem, [f for f in born if f not in held]))
    rate = problem.network.replica_bytes_per_second
    return min(asked[f] for f in born) + min(missing) / rate


def area(
    problem: ReplicationProblem,
    taken: list[int],
    power: float,
    start: list[float],
    tail: list[float],
) -> float:
    """Return the lower bound on the makespan, in seconds, that follows from what all
    tasks hold while they run.

    *taken* is the number of cores, or the bytes of memory, of each task, and *power*
    the sum of those of the nodes times their speeds.

    *start* is the least time before the start of each task, and *tail* the least time
    after its end. The tasks that cannot start before some instant need all cores for a
    certain time after that instant. The tasks that must be followed by at least some
    time need all cores for a certain time before it.
    """
    tasks = problem.tasks
    share = []
    for k, task in enumerate(tasks):
        slowest = min((problem.nodes[i].speed for i in problem.hosts[k]), default=0.0)
        held = task.compute_seconds + task.overhead_seconds * slowest
        share.append(taken[k] * held / power)
    best = total = 0.0
    for k in sorted(range(len(tasks)), key=lambda k: -start[k]):
        total += share[k]
        best = max(best, start[k] + total)
    first = math.inf
    total = 0.0
    for k in sorted(range(len(tasks)), key=lambda k: -tail[k]):
        first = min(first, start[k])
        total += share[k]
        best = max(best, first + total + tail[k])
    return best


def links(
    problem: ReplicationProblem, end: list[float], tail: list[float], work: list[float]
) -> float:
    """Return the lower bound on the makespan, in seconds, that follows from the bytes
    over the remote link and over the disk of each storage.

    The remote link is the shared one, or all private ones together.
    """
    network = problem.network
    nodes = len(problem.nodes)
    many = 1 if network.remote_link == "shared" else nodes
    most = min(
        many * network.remote_bytes_per_second, nodes * network.replica_bytes_per_second
    )
    everything = range(len(problem.files))
    touched = set(_fetched(problem))
    best = _pipe_seconds(problem, list(everything), most, touched, end, tail, work)
    for storage in problem.storages:
        own = [f for f in everything if problem.files[f].storage == storage.id]
        rate = storage.bytes_per_second
        seconds = _pipe_seconds(problem, own, rate, touched, end, tail, work)
        best = max(best, seconds)
    return best


def _pipe_seconds(
    problem: ReplicationProblem,
    files: list[int],
    rate: float,
    touched: set[int],
    end: list[float],
    tail: list[float],
    work: list[float],
) -> float:
    """Return the lower bound on the makespan, in seconds, that follows from fetching
    and saving *files* over a pipe of *rate* bytes/s.
    """
    first = _asked(problem)
    come = [f for f in files if f in touched]
    kept = [f for f in files if problem.producer[f] >= 0 and problem.files[f].keep]
    asked = min((first[f] for f in come), default=math.inf)
    made = min((end[problem.producer[f]] for f in kept), default=math.inf)
    fetching = _bytes(problem, come) / rate
    saving = _bytes(problem, kept) / rate
    best = 0.0
    if come:
        after: list[float] = []
        for f in come:
            after.extend(work[k] + tail[k] for k in problem.readers[f])
        best = max(best, asked + fetching + min(after))
    if kept:
        best = max(best, made + saving)
    if come and kept:
        best = max(best, min(asked, made) + fetching + saving)
    return best
