"""Annealing of one order of all tasks by the bytes it moves: pure Python and compiled alike.

The tasks run one after the other, each on its node, and a disk lets go what the order reads last (Belady).
Nodes do not wait for each other there, so that a move changes little but the files it touches: annealing gets
much further than over replays, a tenth as long each, and what it finds is where these go on.
"""

import math
from typing import Any, NamedTuple

from ioopt.solvers.replication.search.flow_kernel import LONGEST_BLOCK, draw, keep, put_back
from ioopt.solvers.replication.search.link_kernel import BEST, EVALUATIONS, NOW, uniform


class Order(NamedTuple):
    """The order under search (``order``, ``node`` and copies) and planned disks.

    Cells of ``on`` and ``residents`` as in ``Dispatch``; ``nxt``: place of the next reader of a file,
    ``follow`` of the one after each input, ``wanted`` of the last one. ``costs``: seconds a byte to
    fetch and to copy. ``values``: present and best seconds; ``counts``: evaluations.
    """

    reader_ptr: Any
    readers: Any
    order: Any
    place: Any
    node: Any
    kept_order: Any
    kept_node: Any
    best_order: Any
    best_node: Any
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


def reset(inst: Any, work: Any) -> None:
    """Only held files on the disks; the places of all readers."""
    files, tasks = inst.num_files, inst.num_tasks
    for i in range(inst.num_nodes):
        for x in range(i * files, i * files + work.num_residents[i]):
            work.on[i * files + work.residents[x]] = 0
        work.num_residents[i] = 0
        work.used[i] = 0
    for f in range(files):
        work.copies[f] = 0
        work.nxt[f] = tasks
        work.wanted[f] = -1
    for x in range(len(inst.held_node)):
        settle(inst, work, inst.held_node[x], inst.held_file[x])
    for p in range(tasks - 1, -1, -1):
        k = work.order[p]
        for x in range(inst.ptr[k], inst.ptr[k + 1]):
            work.follow[x] = work.nxt[inst.files[x]]
            work.nxt[inst.files[x]] = p


def settle(inst: Any, work: Any, i: int, f: int) -> None:
    """File *f* takes its space on node *i*."""
    x = i * inst.num_files
    work.residents[x + work.num_residents[i]] = f
    work.num_residents[i] += 1
    work.on[x + f] = 1
    work.copies[f] += 1
    work.used[i] += inst.size[f]


def make_room(inst: Any, work: Any, i: int, size: int, p: int) -> None:
    """Evict from node *i*, for the task at place *p*: dead files, duplicates, then what is read last."""
    base, tasks = i * inst.num_files, inst.num_tasks
    while work.used[i] + size > inst.disk[i]:
        best, worth = -1, -1
        for s in range(work.num_residents[i]):
            g = work.residents[base + s]
            if work.wanted[g] == p:
                continue
            value = work.nxt[g]
            if value == tasks:
                value = 3 * tasks
            elif work.copies[g] > 1:
                value += tasks
            if value > worth:
                best, worth = s, value
        g = work.residents[base + best]
        work.num_residents[i] -= 1
        work.residents[base + best] = work.residents[base + work.num_residents[i]]
        work.on[base + g] = 0
        work.copies[g] -= 1
        work.used[i] -= inst.size[g]


def seconds(inst: Any, work: Any, limit: float) -> float:
    """Seconds of all transfers; given up above *limit*."""
    reset(inst, work)
    total = 0.0
    for p in range(inst.num_tasks):
        k = work.order[p]
        i = work.node[k]
        for x in range(inst.ptr[k], inst.ptr[k + 1]):
            work.wanted[inst.files[x]] = p
            work.nxt[inst.files[x]] = work.follow[x]
        for x in range(inst.ptr[k], inst.ptr[k + 1]):
            f = inst.files[x]
            if work.on[i * inst.num_files + f]:
                continue
            total += inst.size[f] * work.costs[1 if work.copies[f] > 0 else 0]
            if work.used[i] + inst.size[f] > inst.disk[i]:
                make_room(inst, work, i, inst.size[f], p)
            settle(inst, work, i, f)
        if total > limit:
            return total
    return total


def change(inst: Any, work: Any) -> None:
    """One random move: two tasks exchanged, or a block of the order to another place or node."""
    tasks, random = inst.num_tasks, work.random
    p, kind = draw(random, tasks), draw(random, 100)
    k = work.order[p]
    mate = draw(random, tasks)
    if kind < 15:
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


def keep_best(work: Any) -> None:
    """Remember the order and the nodes as the best."""
    for x in range(len(work.order)):
        work.best_order[x] = work.order[x]
        work.best_node[x] = work.node[x]


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
        value = seconds(inst, work, limit)
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
