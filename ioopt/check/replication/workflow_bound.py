"""The lower bound of the makespan of a workflow (workflow rule 18), recomputed by the checker.

Written from the rule alone: nothing of the models is used.
"""

from __future__ import annotations

import math
from functools import cache

from ioopt.problems.replication import ReplicationProblem


def lower_bound(problem: ReplicationProblem) -> float:
    """The largest of critical path, core area and link, in seconds."""
    if not problem.tasks:
        return 0.0
    start, tail, work = _times(problem)
    count = range(len(problem.tasks))
    path = max(start[k] + work[k] + tail[k] for k in count)
    return max(path, _area(problem, start, tail), _links(problem, start, tail, work))


def _asked(problem: ReplicationProblem, file: int) -> float:
    return min(problem.tasks[k].release_seconds for k in problem.readers[file])


def _touched(problem: ReplicationProblem) -> set[int]:
    written = {name for task in problem.tasks for name in task.outputs}
    held = {name for node in problem.nodes for name in node.holds}
    read = {name for task in problem.tasks for name in task.inputs}
    return {problem.file_index[name] for name in read - held - written}


def _reach_seconds(problem: ReplicationProblem, file: int) -> float:
    """Least time in which a file crosses everything between a node and the remote storage."""
    entry, network = problem.files[file], problem.network
    speeds = [network.remote_bytes_per_second, network.replica_bytes_per_second]
    speeds += [s.bytes_per_second for s in problem.storages if s.id == entry.storage]
    return entry.bytes / min(speeds)


def _times(problem: ReplicationProblem) -> tuple[list[float], list[float], list[float]]:
    """Earliest start, tail and least compute time of each task."""
    tasks, nodes = problem.tasks, problem.nodes
    touched = _touched(problem)
    order: list[int] = []
    waiting = [len(before) for before in problem.predecessors]
    after: list[list[int]] = [[] for _ in tasks]
    for k, before in enumerate(problem.predecessors):
        for p in before:
            after[p].append(k)
    free = [k for k, n in enumerate(waiting) if n == 0]
    while free:
        k = free.pop()
        order.append(k)
        for j in after[k]:
            waiting[j] -= 1
            if waiting[j] == 0:
                free.append(j)
    hosts = [[i for i in range(len(nodes)) if problem.fits(k, i)] for k in range(len(tasks))]
    work = [
        task.compute_seconds / max(nodes[i].speed for i in hosts[k] or range(len(nodes)))
        for k, task in enumerate(tasks)
    ]
    start = [0.0] * len(tasks)
    tail = [0.0] * len(tasks)
    for k in order:
        born = [f for f in problem.inputs[k] if problem.producer[f] < 0]
        start[k] = max(
            tasks[k].release_seconds,
            *(start[p] + work[p] for p in problem.predecessors[k]),
            *(_asked(problem, f) + _reach_seconds(problem, f) for f in born if f in touched),
            _together(problem, born, hosts[k]),
        )
    for k in reversed(order):
        kept = [f for f in problem.outputs[k] if problem.files[f].keep]
        follows = [work[j] + tail[j] for j in after[k]]
        tail[k] = max([0.0, *follows, *(_reach_seconds(problem, f) for f in kept)])
    return start, tail, work


def _together(problem: ReplicationProblem, born: list[int], hosts: list[int]) -> float:
    """All inputs from outside through one interface, on the node that misses least."""
    if not born or not hosts:
        return 0.0
    missing = [
        sum(problem.files[f].bytes for f in born if f not in problem.holds[i]) for i in hosts
    ]
    rate = problem.network.replica_bytes_per_second
    return min(_asked(problem, f) for f in born) + min(missing) / rate


def _area(problem: ReplicationProblem, start: list[float], tail: list[float]) -> float:
    tasks = problem.tasks
    power = sum(node.cores * node.speed for node in problem.nodes)
    area = [task.cores * task.compute_seconds / power for task in tasks]
    begun = sorted(range(len(tasks)), key=lambda k: -start[k])
    best = _sweep([(start[k], area[k]) for k in begun])
    first, total = math.inf, 0.0
    for k in sorted(range(len(tasks)), key=lambda k: -tail[k]):
        first, total = min(first, start[k]), total + area[k]
        best = max(best, first + total + tail[k])
    return best


def _sweep(rows: list[tuple[float, float]]) -> float:
    best = total = 0.0
    for time, amount in rows:
        total += amount
        best = max(best, time + total)
    return best


def _links(
    problem: ReplicationProblem, start: list[float], tail: list[float], work: list[float]
) -> float:
    network = problem.network
    many = 1 if network.remote_link == "shared" else len(problem.nodes)
    pipes: list[tuple[str | None, float]] = [(None, many * network.remote_bytes_per_second)]
    pipes += [(storage.id, storage.bytes_per_second) for storage in problem.storages]
    touched = _touched(problem)
    size = cache(lambda f: problem.files[f].bytes)
    best = 0.0
    for name, rate in pipes:
        own = [f for f, file in enumerate(problem.files) if name in (None, file.storage)]
        come = [f for f in own if f in touched]
        kept = [f for f in own if problem.producer[f] >= 0 and problem.files[f].keep]
        asked = min((_asked(problem, f) for f in come), default=math.inf)
        made = min(
            (start[k] + work[k] for f in kept for k in [problem.producer[f]]), default=math.inf
        )
        if come:
            last = min(work[k] + tail[k] for f in come for k in problem.readers[f])
            best = max(best, asked + sum(map(size, come)) / rate + last)
        if kept:
            best = max(best, made + sum(map(size, kept)) / rate)
        if come and kept:
            best = max(best, min(asked, made) + sum(map(size, come + kept)) / rate)
    return best
