"""Annealing of the queues of a plan, scored by the timeline simulator: pure Python and compiled alike."""

import math
from typing import Any, NamedTuple

from ioopt.sim.replication.kernel import FINISHED, replay
from ioopt.solvers.replication.search.flow_kernel import (
    ACCEPTED,
    BEST,
    EVALUATIONS,
    IMPROVED,
    LONGEST_BLOCK,
    NOW,
    change_flow,
    draw,
    keep,
    put_back,
    uniform,
)
from ioopt.solvers.replication.search.order_kernel import (
    change_barriers,
    keep_best,
    keep_line,
    put_back_line,
    write_rounds,
)


class Search(NamedTuple):
    """State of the annealing; queues are laid out as in ``Queues``.

    ``best_*`` and ``kept_*`` are copies of the queues, ``block`` is scratch, ``random`` holds the
    state of the generator; ``values``: present score, best score; ``counts``: evaluations,
    acceptances, improvements. Of workflows ``flow``, of plans in rounds ``line`` is what moves change.
    """

    reader_ptr: Any
    readers: Any
    best_ptr: Any
    best_entry: Any
    kept_ptr: Any
    kept_entry: Any
    block: Any
    random: Any
    values: Any
    counts: Any
    flow: Any
    line: Any


class Schedule(NamedTuple):
    """Moves *first* to *first + steps* of *total*, from *hot* to *cold* seconds; ends at *target*."""

    steps: int
    first: int
    total: int
    hot: float
    cold: float
    target: float


def node_at(plan: Any, place: int) -> int:
    """The node whose queue holds *place*."""
    i = 0
    while plan.ptr[i + 1] <= place:
        i += 1
    return i


def lift(inst: Any, plan: Any, search: Any, start: int, length: int) -> None:
    """Take *length* entries from *start* on out of their queue, into ``search.block``."""
    a = node_at(plan, start)
    last = plan.ptr[inst.num_nodes]
    for x in range(length):
        search.block[x] = plan.entry[start + x]
    for p in range(start, last - length):
        plan.entry[p] = plan.entry[p + length]
    for i in range(a + 1, inst.num_nodes + 1):
        plan.ptr[i] -= length


def drop(inst: Any, plan: Any, search: Any, node: int, place: int, length: int, flip: bool) -> None:
    """Put ``search.block`` into the queue of *node* at *place*, reversed if *flip*."""
    last = plan.ptr[inst.num_nodes]
    for p in range(last - 1, place - 1, -1):
        plan.entry[p + length] = plan.entry[p]
    for x in range(length):
        plan.entry[place + x] = search.block[length - 1 - x if flip else x]
    for i in range(node + 1, inst.num_nodes + 1):
        plan.ptr[i] += length


def place_of(plan: Any, total: int, task: int) -> int:
    """The place of *task* in the queues, -1 where it is in none."""
    for p in range(total):
        if plan.entry[p] == task:
            return p
    return -1


def change(inst: Any, plan: Any, search: Any) -> None:
    """One random move: a task or a block to a task it shares a file with or anywhere, or a swap."""
    total = plan.ptr[inst.num_nodes]
    kind = draw(search.random, 100)
    p = draw(search.random, total)
    if kind < 15:
        other = draw(search.random, total)
        entry = plan.entry[p]
        plan.entry[p] = plan.entry[other]
        plan.entry[other] = entry
        return
    a = node_at(plan, p)
    length = 1
    if kind >= 60:
        length = min(1 + draw(search.random, LONGEST_BLOCK), plan.ptr[a + 1] - p)
    task = plan.entry[p]
    mate = -1
    count = inst.ptr[task + 1] - inst.ptr[task]
    if count > 0 and draw(search.random, 100) < 75:
        f = inst.files[inst.ptr[task] + draw(search.random, count)]
        width = search.reader_ptr[f + 1] - search.reader_ptr[f]
        mate = search.readers[search.reader_ptr[f] + draw(search.random, width)]
    lift(inst, plan, search, p, length)
    place = -1
    if mate >= 0:
        place = place_of(plan, total - length, mate)
    if place >= 0:
        node = node_at(plan, place)
        place += draw(search.random, 2)
    else:
        node = draw(search.random, inst.num_nodes)
        place = plan.ptr[node] + draw(search.random, plan.ptr[node + 1] - plan.ptr[node] + 1)
    drop(inst, plan, search, node, place, length, length > 1 and draw(search.random, 4) == 0)


def copy_queues(ptr: Any, entry: Any, to_ptr: Any, to_entry: Any) -> None:
    """Copy one set of queues over another."""
    for i in range(len(ptr)):
        to_ptr[i] = ptr[i]
    for p in range(len(entry)):
        to_entry[p] = entry[p]


def propose(inst: Any, plan: Any, search: Any) -> bool:
    """Make one random move, which :func:`undo` takes back; whether it changed what runs where and when."""
    if plan.barriers:
        keep_line(search.line)
        change_barriers(inst, search.line)
        return write_rounds(inst, plan, search.line)
    if inst.plain:
        copy_queues(plan.ptr, plan.entry, search.kept_ptr, search.kept_entry)
        change(inst, plan, search)
    else:
        keep(search.flow)
        change_flow(inst, plan, search)
    return True


def undo(inst: Any, plan: Any, search: Any) -> None:
    """Take the last move back."""
    if plan.barriers:
        put_back_line(search.line)
        write_rounds(inst, plan, search.line)
    elif inst.plain:
        copy_queues(search.kept_ptr, search.kept_entry, plan.ptr, plan.entry)
    else:
        put_back(search.flow)


def anneal(inst: Any, plan: Any, st: Any, log: Any, search: Any, schedule: Any) -> None:
    """A stretch of an annealing, as *schedule* has it.

    Starts from the queues of *plan*, whose score is ``values[NOW]``. The pieces that a run is cut
    into do not change it. Without steps the queues are only scored: a kernel of its own for that
    would take as long again to compile.
    """
    first, hot, cold = schedule.first, schedule.hot, schedule.cold
    if schedule.steps == 0:
        if plan.barriers:
            write_rounds(inst, plan, search.line)
        value, code = replay(inst, plan, st, log, float("inf"))
        search.values[NOW] = value if code == FINISHED else float("inf")
    for step in range(first, first + schedule.steps):
        if search.values[BEST] <= schedule.target:
            return
        heat = hot * (cold / hot) ** (step / schedule.total)
        changed = propose(inst, plan, search)
        limit = search.values[NOW] - heat * math.log(uniform(search.random))
        value, code = search.values[NOW], FINISHED
        if changed:
            value, code = replay(inst, plan, st, log, limit)
        search.counts[EVALUATIONS] += 1
        if code != FINISHED or value > limit:
            undo(inst, plan, search)
            continue
        search.counts[ACCEPTED] += 1
        search.values[NOW] = value
        if value < search.values[BEST]:
            search.values[BEST] = value
            search.counts[IMPROVED] += 1
            if plan.barriers:
                keep_best(search.line)
            else:
                copy_queues(plan.ptr, plan.entry, search.best_ptr, search.best_entry)
