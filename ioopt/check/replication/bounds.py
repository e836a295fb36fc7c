"""The bounds of workflow rule 18, recomputed by the checker.

Written from the rule alone: nothing of the models is used.
"""

import math
from graphlib import TopologicalSorter
from typing import NamedTuple

from ioopt.problems.replication import ReplicationProblem


class Times(NamedTuple):
    """Earliest start, tail and least compute time of each task, in seconds."""

    start: list[float]
    tail: list[float]
    work: list[float]


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


def _touched(problem: ReplicationProblem) -> set[int]:
    written = {name for task in problem.tasks for name in task.outputs}
    held = {name for node in problem.nodes for name in node.holds}
    read = {name for task in problem.tasks for name in task.inputs}
    return {problem.file_index[name] for name in read - held - written}


def reach_seconds(problem: ReplicationProblem, file: int) -> float:
    """Least time in which a file crosses everything between a node and the remote storage."""
    entry, network = problem.files[file], problem.network
    speeds = [network.remote_bytes_per_second, network.replica_bytes_per_second]
    speeds += [s.bytes_per_second for s in problem.storages if s.id == entry.storage]
    return entry.bytes / min(speeds)


def times(problem: ReplicationProblem) -> Times:
    """What comes before, after and in each task at least."""
    tasks, nodes = problem.tasks, problem.nodes
    touched, asked = _touched(problem), _asked(problem)
    order = list(TopologicalSorter(dict(enumerate(problem.predecessors))).static_order())
    work = [
        task.compute_seconds / max(nodes[i].speed for i in problem.hosts[k] or range(len(nodes)))
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
    return Times(start, tail, work)


def _together(problem: ReplicationProblem, born: list[int], asked: list[float], k: int) -> float:
    """All inputs from outside through one interface, on the node that misses least."""
    if not born or not problem.hosts[k]:
        return 0.0
    disks = {problem.holds[i] for i in problem.hosts[k]}
    missing = [sum(problem.files[f].bytes for f in born if f not in held) for held in disks]
    rate = problem.network.replica_bytes_per_second
    return min(asked[f] for f in born) + min(missing) / rate


def area(problem: ReplicationProblem, start: list[float], tail: list[float]) -> float:
    """All computing on all cores, from each instant on and up to each tail."""
    tasks = problem.tasks
    power = sum(node.cores * node.speed for node in problem.nodes)
    share = [task.cores * task.compute_seconds / power for task in tasks]
    begun = sorted(range(len(tasks)), key=lambda k: -start[k])
    best = _sweep([(start[k], share[k]) for k in begun])
    first, total = math.inf, 0.0
    for k in sorted(range(len(tasks)), key=lambda k: -tail[k]):
        first, total = min(first, start[k]), total + share[k]
        best = max(best, first + total + tail[k])
    return best


def _sweep(rows: list[tuple[float, float]]) -> float:
    best = total = 0.0
    for time, amount in rows:
        total += amount
        best = max(best, time + total)
    return best


def links(
    problem: ReplicationProblem, end: list[float], tail: list[float], work: list[float]
) -> float:
    """All that must cross the remote link, or all private ones, or a storage's disk."""
    network = problem.network
    many = 1 if network.remote_link == "shared" else len(problem.nodes)
    pipes: list[tuple[str | None, float]] = [(None, many * network.remote_bytes_per_second)]
    pipes += [(storage.id, storage.bytes_per_second) for storage in problem.storages]
    touched, first = _touched(problem), _asked(problem)
    best = 0.0
    for name, rate in pipes:
        own = [f for f, file in enumerate(problem.files) if name in (None, file.storage)]
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
