"""The bound of workflow rule 18, what must move between nodes, recomputed by the checker.

Written from the rule alone: nothing of the models is used.
"""

import math
from collections.abc import Sequence
from graphlib import TopologicalSorter
from itertools import pairwise

from ioopt.check.replication.workflow_bound import area, links, reach_seconds, times
from ioopt.problems.replication import ReplicationProblem

Times = list[list[float]]
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


def _core_seconds(problem: ReplicationProblem, tasks: set[int], i: int, works: Times) -> float:
    """Core-seconds of *tasks* on a node of kind *i*."""
    return sum(problem.tasks[k].cores * works[k][i] for k in tasks)


def _heads(
    problem: ReplicationProblem,
    order: list[int],
    works: Times,
    cores: list[int],
    plain: list[float],
) -> Times:
    """Earliest starts: every producer ran on the node, or its files came over the interface."""
    rate = problem.network.replica_bytes_per_second
    heads: Times = [[] for _ in works]
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
    works: Times,
    cores: list[int],
    quick: list[float],
) -> Times:
    """What follows: every reader runs on the node too, or the file leaves over the interface."""
    rate = problem.network.replica_bytes_per_second
    tails: Times = [[] for _ in works]
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
