"""Annealing of one order of all tasks by the bytes it moves, and barriers in it: pure Python and compiled.

The tasks run one after the other, each on its node, and a disk lets go what the order reads last (Belady).
Nodes do not wait for each other there, so that a move changes little but the files it touches: annealing gets
much further than over replays, a tenth as long each. In a replay nodes whose files are there run ahead and
throw out what the order would have kept; a barrier, which no task of the order passes before all that stand
ahead of it have ended, keeps them together for the seconds that the link idles while the last of these
computes. Annealing over replays goes on from the order, and moves tasks and barriers.
"""

import math
from typing import Any, NamedTuple

from ioopt.solvers.replication.search.flow_kernel import (
    BEST,
    EVALUATIONS,
    LONGEST_BLOCK,
    NOW,
    draw,
    keep,
    put_back,
    uniform,
)
from ioopt.solvers.replication.search.order_score import MOVED, rescore, seconds

BARRIER_MOVES = 15
"""Per cent of the moves that change a barrier."""
BARRIER_SHIFT = 4
"""Places by which one moves at the most."""


class Order(NamedTuple):
    """The order under search (``order``, ``node``, ``cut`` and copies) and planned disks.

    ``cut`` is 1 where a barrier stands before a place; ``queued``: where the next of a node's queue goes.

    Cells of ``on`` and ``residents`` as in ``Dispatch``; ``nxt``: place of the next reader of a file,
    ``follow`` of the one after each input, ``wanted`` of the last one. ``costs``: seconds a byte to
    fetch and to copy. ``values``: present and best seconds; ``counts``: evaluations, ``moved`` tasks.

    Before a place: bytes ``fetched`` and ``copied``, ``digest`` of the disks by the ``code`` of a cell, and,
    at every so many places, ``marked`` residents a node, in ``mark``.
    """

    reader_ptr: Any
    readers: Any
    order: Any
    place: Any
    node: Any
    cut: Any
    kept_order: Any
    kept_node: Any
    kept_cut: Any
    best_order: Any
    best_node: Any
    best_cut: Any
    queued: Any
    on: Any
    copies: Any
    nxt: Any
    follow: Any
    wanted: Any
    used: Any
    residents: Any
    num_residents: Any
    costs: Any
    random: Any
    values: Any
    counts: Any
    moved: Any
    fetched: Any
    copied: Any
    digest: Any
    code: Any
    marked: Any
    mark: Any
    sums: Any


def change(inst: Any, work: Any) -> None:
    """One random move: two tasks exchanged, or a block of the order to another place or node."""
    tasks, random = inst.num_tasks, work.random
    p, kind = draw(random, tasks), draw(random, 100)
    k = work.order[p]
    mate = draw(random, tasks)
    work.counts[MOVED] = 0
    if kind < 15:
        work.moved[0], work.moved[1] = k, mate
        work.counts[MOVED] = 2
        i = work.node[k]
        work.node[k] = work.node[mate]
        work.node[mate] = i
        work.order[p] = mate
        work.order[work.place[mate]] = k
        return
    count = inst.ptr[k + 1] - inst.ptr[k]
    if count > 0 and draw(random, 100) < 75:
        f = inst.files[inst.ptr[k] + draw(random, count)]
        width = work.reader_ptr[f + 1] - work.reader_ptr[f]
        mate = work.readers[work.reader_ptr[f] + draw(random, width)]
    i = work.node[mate]
    if draw(random, 4) == 0:
        i = draw(random, inst.num_nodes)
    length = 1
    if kind >= 70:
        length = min(1 + draw(random, LONGEST_BLOCK), tasks - p)
    if kind < 85:
        for x in range(p, p + length):
            if fits(inst, work.order[x], i):
                work.node[work.order[x]] = i
    if kind >= 25:
        work.counts[MOVED] = length
        for x in range(length):
            work.moved[x] = work.order[p + x]
        shift(work.order, p, length, work.place[mate] + draw(random, 2))


def fits(inst: Any, k: int, i: int) -> bool:
    """Whether the disk of node *i* holds the inputs of task *k*."""
    size = 0
    for x in range(inst.ptr[k], inst.ptr[k + 1]):
        size += inst.size[inst.files[x]]
    return bool(size <= inst.disk[i])


def shift(row: Any, p: int, length: int, q: int) -> None:
    """The *length* entries from place *p* on go before the one that stands at place *q*."""
    if q > p + length:
        reverse(row, p, p + length)
        reverse(row, p + length, q)
        reverse(row, p, q)
    elif q < p:
        reverse(row, q, p)
        reverse(row, p, p + length)
        reverse(row, q, p + length)


def reverse(row: Any, first: int, end: int) -> None:
    """Turn places *first* to *end* - 1 round."""
    end -= 1
    while first < end:
        x = row[first]
        row[first] = row[end]
        row[end] = x
        first += 1
        end -= 1


def keep_line(work: Any) -> None:
    """Remember order, nodes and barriers."""
    keep(work)
    for p in range(len(work.cut)):
        work.kept_cut[p] = work.cut[p]


def put_back_line(work: Any) -> None:
    """Return to what :func:`keep_line` remembers."""
    put_back(work)
    for p in range(len(work.cut)):
        work.cut[p] = work.kept_cut[p]


def change_barriers(inst: Any, work: Any) -> None:
    """One random move: a barrier set, taken away or shifted, or one of :func:`change`."""
    tasks, random = inst.num_tasks, work.random
    if draw(random, 100) >= BARRIER_MOVES:
        change(inst, work)
        for p in range(tasks):
            work.place[work.order[p]] = p
        return
    p, kind = draw(random, tasks), draw(random, 3)
    if kind == 0:
        work.cut[p] = 1 - work.cut[p]
        return
    while p < tasks and not work.cut[p]:
        p += 1
    if p == tasks:
        return
    work.cut[p] = 0
    if kind == 1:
        p += draw(random, 2 * BARRIER_SHIFT + 1) - BARRIER_SHIFT
        work.cut[min(tasks - 1, max(0, p))] = 1


def write_rounds(inst: Any, plan: Any, work: Any) -> bool:
    """The queues of *plan*, each node's part of the order, and their rounds; whether they have changed."""
    changed = False
    for i in range(inst.num_nodes + 1):
        work.queued[i] = 0
    for k in range(inst.num_tasks):
        work.queued[work.node[k] + 1] += 1
    for i in range(inst.num_nodes):
        work.queued[i + 1] += work.queued[i]
    for i in range(inst.num_nodes + 1):
        if plan.ptr[i] != work.queued[i]:
            plan.ptr[i] = work.queued[i]
            changed = True
    r = 0
    for p in range(inst.num_tasks):
        k = work.order[p]
        if p > 0:
            r += work.cut[p]
        x = work.queued[work.node[k]]
        work.queued[work.node[k]] += 1
        if plan.entry[x] != k or plan.round_of[x] != r:
            plan.entry[x] = k
            plan.round_of[x] = r
            changed = True
    return changed


def keep_best(work: Any) -> None:
    """Remember order, nodes and barriers as the best."""
    for x in range(len(work.order)):
        work.best_order[x] = work.order[x]
        work.best_node[x] = work.node[x]
        work.best_cut[x] = work.cut[x]


def anneal_order(inst: Any, work: Any, schedule: Any) -> None:
    """A stretch of an annealing, as *schedule* has it; at its first step the order is scored."""
    first, hot, cold = schedule.first, schedule.hot, schedule.cold
    if work.counts[EVALUATIONS] == 0:
        work.values[NOW] = seconds(inst, work, float("inf"))
        work.values[BEST] = work.values[NOW]
        keep_best(work)
    for step in range(first, first + schedule.steps):
        if work.values[BEST] <= schedule.target:
            return
        heat = hot * (cold / hot) ** (step / schedule.total)
        keep(work)
        change(inst, work)
        limit = work.values[NOW] - heat * math.log(uniform(work.random))
        value = rescore(inst, work, work.values[NOW], limit)
        work.counts[EVALUATIONS] += 1
        if value > limit:
            put_back(work)
            continue
        for p in range(inst.num_tasks):
            work.place[work.order[p]] = p
        work.values[NOW] = value
        if value < work.values[BEST]:
            work.values[BEST] = value
            keep_best(work)
