"""The bounds of workflow rule 18, recomputed by the checker.

Written from the rule alone: nothing of the models is used.
"""

import math
from collections.abc import Sequence
from functools import cache
from graphlib import TopologicalSorter
from itertools import accumulate, pairwise
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
        follows = [work[j] + tail[j] for j in after[k]]
        tail[k] = max([0.0, *follows, *(reach_seconds(problem, f) for f in kept)])
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
    problem: ReplicationProblem,
    end: list[float],
    tail: list[float],
    work: list[float],
    sweep: bool = False,
) -> float:
    """All that must cross a link or a storage's disk; *sweep*: also by what must follow each file."""
    network = problem.network
    many = 1 if network.remote_link == "shared" else len(problem.nodes)
    pipes: list[tuple[str | None, float]] = [(None, many * network.remote_bytes_per_second)]
    pipes += [(storage.id, storage.bytes_per_second) for storage in problem.storages]
    touched, first = _touched(problem), _asked(problem)
    size = cache(lambda f: problem.files[f].bytes)
    best = 0.0
    for name, rate in pipes:
        own = [f for f, file in enumerate(problem.files) if name in (None, file.storage)]
        come = [f for f in own if f in touched]
        kept = [f for f in own if problem.producer[f] >= 0 and problem.files[f].keep]
        asked = min((first[f] for f in come), default=math.inf)
        made = min((end[problem.producer[f]] for f in kept), default=math.inf)
        if come:
            last = min(work[k] + tail[k] for f in come for k in problem.readers[f])
            best = max(best, asked + sum(map(size, come)) / rate + last)
        if sweep:
            rest = [(max(work[k] + tail[k] for k in problem.readers[f]), size(f)) for f in come]
            rest.sort(reverse=True)
            crossed = accumulate(bytes_ for _, bytes_ in rest)
            ends = (asked + n / rate + after for (after, _), n in zip(rest, crossed, strict=True))
            best = max(best, *ends, 0.0)
        if kept:
            best = max(best, made + sum(map(size, kept)) / rate)
        if come and kept:
            best = max(best, min(asked, made) + sum(map(size, come + kept)) / rate)
    return best


Rows = list[list[float]]
"""By task and kind of node; infinite where the task does not fit."""


def transfer_bound(problem: ReplicationProblem) -> float:
    """The largest of path, cores and links with heads and tails that know transfers, in seconds."""
    if not problem.tasks:
        return 0.0
    plain = times(problem)
    kinds = {(n.speed, n.cores, n.disk_bytes): i for i, n in enumerate(problem.nodes)}
    alike = sorted(kinds.values())
    tasks, nodes = range(len(problem.tasks)), range(len(alike))
    works = [
        [problem.tasks[k].compute_seconds / problem.nodes[i].speed
         if problem.fits(k, i) else math.inf for i in alike]
        for k in tasks
    ]  # fmt: skip
    cores = [problem.nodes[i].cores for i in alike]
    order = list(TopologicalSorter(dict(enumerate(problem.predecessors))).static_order())
    heads = _heads(problem, order, works, cores, plain.start)
    tails = _tails(problem, order, works, cores, plain.work)
    start = [_least(row, plain.start[k]) for k, row in enumerate(heads)]
    tail = [_least(row, 0.0) for row in tails]
    path = max(min(heads[k][i] + works[k][i] + tails[k][i] for i in nodes) for k in tasks)
    end = [_least([heads[k][i] + works[k][i] for i in nodes], start[k]) for k in tasks]
    return max(
        path if path < math.inf else 0.0,
        area(problem, start, tail),
        _shared_cores(problem, start, plain.work, tail),
        links(problem, end, tail, plain.work, sweep=True),
    )


def _shared_cores(
    problem: ReplicationProblem, start: list[float], quick: list[float], tail: list[float]
) -> float:
    """Of the m C + 1 longest tasks on C cores, m + 1 run one after another on some core."""
    cores = sum(node.cores for node in problem.nodes)
    order = sorted(range(len(quick)), key=lambda k: -quick[k])
    best = 0.0
    for m in range(1, (len(order) - 1) // cores + 1):
        among = order[: m * cores + 1]
        row = sum(quick[k] for k in among[-(m + 1) :])
        best = max(best, min(start[k] for k in among) + row + min(tail[k] for k in among))
    return best


def _least(row: Sequence[float], otherwise: float) -> float:
    return min(row) if min(row) < math.inf else otherwise


def _core_seconds(problem: ReplicationProblem, tasks: set[int], i: int, works: Rows) -> float:
    """Core-seconds of *tasks* on a node of kind *i*."""
    return sum(problem.tasks[k].cores * works[k][i] for k in tasks)


def _heads(
    problem: ReplicationProblem,
    order: list[int],
    works: Rows,
    cores: list[int],
    plain: list[float],
) -> Rows:
    """Earliest starts: every producer ran on the node, or its files came over the interface."""
    rate = problem.network.replica_bytes_per_second
    heads: Rows = [[] for _ in works]
    ends = [0.0] * len(works)
    for k in order:
        for i in range(len(cores)):
            head = plain[k] if works[k][i] < math.inf else math.inf
            choices = []
            for p in problem.predecessors[k]:
                files = set(problem.outputs[p]) & set(problem.inputs[k])
                wire = sum(problem.files[f].bytes for f in files) / rate
                choices.append((_core_seconds(problem, {p}, i, works) / cores[i], wire))
                head = max(head, min(heads[p][i] + works[p][i], ends[p] + wire))
            if choices:
                before = problem.predecessors[k]
                first = min(_least(heads[p], 0.0) for p in before)
                head = max(head, _divided(choices, first, min(ends[p] for p in before)))
            heads[k].append(head)
        sums = [head + work for head, work in zip(heads[k], works[k], strict=True)]
        ends[k] = _least(sums, plain[k])
    return heads


def _tails(
    problem: ReplicationProblem,
    order: list[int],
    works: Rows,
    cores: list[int],
    quick: list[float],
) -> Rows:
    """What follows: every reader runs on the node too, or the file leaves over the interface."""
    rate = problem.network.replica_bytes_per_second
    tails: Rows = [[] for _ in works]
    least = [0.0] * len(works)
    for k in reversed(order):
        for i in range(len(cores)):
            tail = 0.0 if works[k][i] < math.inf else math.inf
            choices, here, away = [], [], []
            counted: set[int] = set()
            for f in problem.outputs[k]:
                if problem.files[f].keep:
                    tail = max(tail, reach_seconds(problem, f))
                wire, readers = problem.files[f].bytes / rate, set(problem.readers[f])
                for j in sorted(readers):
                    after = quick[j] + least[j]
                    tail = max(tail, min(works[j][i] + tails[j][i], wire + after))
                    here.append(least[j])
                    away.append(after)
                if readers:
                    new = _core_seconds(problem, readers - counted, i, works) / cores[i]
                    fit = all(works[j][i] < math.inf for j in readers)
                    choices.append((new if fit else math.inf, wire))
                counted |= readers
            if choices:
                tail = max(tail, _divided(choices, min(here), min(away)))
            tails[k].append(tail)
        least[k] = _least(tails[k], 0.0)
    return tails


def _divided(choices: list[tuple[float, float]], here: float, away: float) -> float:
    """Least T with every choice in part here, from *here* on, and in part away, from *away* on.

    The two ends cross at one of the breakpoints of the best division, or between two of them.
    """
    fixed = sum(wire for cores, wire in choices if cores == math.inf)
    open_rows = [row for row in choices if row[0] < math.inf]
    open_rows.sort(key=lambda row: -(row[1] / row[0] if row[0] > 0 else math.inf))
    points = [(here, away + fixed + sum(wire for _, wire in open_rows))]
    for cores, wire in open_rows:
        points.append((points[-1][0] + cores, points[-1][1] - wire))
    best = max(points[0])
    for (left_here, left_away), (right_here, right_away) in pairwise(points):
        best = min(best, max(right_here, right_away))
        gap_left, gap_right = left_away - left_here, right_away - right_here
        if gap_left > 0 > gap_right:
            part = gap_left / (gap_left - gap_right)
            best = min(best, left_here + part * (right_here - left_here))
    return best
