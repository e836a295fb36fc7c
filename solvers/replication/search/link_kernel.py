"""The inner loops of the link-aware solver over flat arrays: pure Python and compiled alike.

``dispatch`` deals the tasks of a given order to the nodes by what they would cost the remote link;
``anneal`` improves the queues of a plan, scored by the timeline simulator itself.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ioopt.sim.replication.kernel import FINISHED, replay

EVALUATIONS, ACCEPTED, IMPROVED = 0, 1, 2
NOW, BEST = 0, 1
LONGEST_BLOCK = 8


class Search(NamedTuple):
    """State of the annealing; queues are laid out as in ``Queues``.

    ``best_*`` and ``kept_*`` are copies of the queues, ``block`` is scratch, ``random`` holds the
    state of the generator; ``values``: present score, best score; ``counts``: evaluations,
    acceptances, improvements.
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


class Dispatch(NamedTuple):
    """State of a dispatch: task order and ranks, planned disks, and the queues that come out.

    Cell (i, f) of ``on`` and ``residents`` stands at ``i * num_files + f``, cell (i, p) of
    ``queue`` at ``i * num_tasks + p``. ``costs``: seconds a byte to fetch and to copy.
    """

    reader_ptr: Any
    readers: Any
    order: Any
    rank: Any
    taken: Any
    on: Any
    copies: Any
    pending: Any
    wanted: Any
    used: Any
    ready: Any
    residents: Any
    num_residents: Any
    queue: Any
    length: Any
    costs: Any
    random: Any


def draw(random: Any, below: int) -> int:
    """The next number in 0 .. below - 1 (Park and Miller's generator, revised multiplier)."""
    random[0] = random[0] * 48271 % 2147483647
    return random[0] % below


def uniform(random: Any) -> float:
    """The next number strictly between 0 and 1."""
    random[0] = random[0] * 48271 % 2147483647
    return random[0] / 2147483647.0


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


def anneal(
    inst: Any, plan: Any, st: Any, log: Any, search: Any, steps: int, first: int, total: int,
    hot: float, cold: float, target: float,
) -> None:  # fmt: skip
    """Moves *first* to *first + steps* of an annealing of *total* moves, from *hot* to *cold* seconds.

    Starts from the queues of *plan*, whose score is ``values[NOW]``; stops at *target* seconds. The
    pieces that a run is cut into do not change it. Without *steps* the queues are only scored: a
    kernel of its own for that would take as long again to compile.
    """
    if steps == 0:
        value, code = replay(inst, plan, st, log, float("inf"))
        search.values[NOW] = value if code == FINISHED else float("inf")
    for step in range(first, first + steps):
        if search.values[BEST] <= target:
            return
        heat = hot * (cold / hot) ** (step / total)
        copy_queues(plan.ptr, plan.entry, search.kept_ptr, search.kept_entry)
        change(inst, plan, search)
        limit = search.values[NOW] - heat * math.log(uniform(search.random))
        value, code = replay(inst, plan, st, log, limit)
        search.counts[EVALUATIONS] += 1
        if code != FINISHED or value > limit:
            copy_queues(search.kept_ptr, search.kept_entry, plan.ptr, plan.entry)
            continue
        search.counts[ACCEPTED] += 1
        search.values[NOW] = value
        if value < search.values[BEST]:
            search.values[BEST] = value
            search.counts[IMPROVED] += 1
            copy_queues(plan.ptr, plan.entry, search.best_ptr, search.best_entry)


def next_rank(inst: Any, work: Any, f: int) -> int:
    """The rank of the first task of the order, not dealt yet, that reads *f*."""
    least = inst.num_tasks
    for x in range(work.reader_ptr[f], work.reader_ptr[f + 1]):
        k = work.readers[x]
        if not work.taken[k] and work.rank[k] < least:
            least = work.rank[k]
    return least


def place_file(inst: Any, work: Any, i: int, f: int, task: int) -> None:
    """Put *f* on the planned disk of node *i*; victims: dead, duplicates, farthest in the order."""
    files = inst.num_files
    while work.used[i] + inst.size[f] > inst.disk[i]:
        best = -1
        worth = -1.0
        for s in range(work.num_residents[i]):
            g = work.residents[i * files + s]
            if work.wanted[g] == task:
                continue
            value = float(next_rank(inst, work, g))
            if work.pending[g] == 0:
                value += 4.0 * inst.num_tasks
            elif work.copies[g] > 1:
                value += 2.0 * inst.num_tasks
            if value > worth:
                worth = value
                best = s
        g = work.residents[i * files + best]
        work.num_residents[i] -= 1
        work.residents[i * files + best] = work.residents[i * files + work.num_residents[i]]
        work.on[i * files + g] = 0
        work.copies[g] -= 1
        work.used[i] -= inst.size[g]
    work.residents[i * files + work.num_residents[i]] = f
    work.num_residents[i] += 1
    work.on[i * files + f] = 1
    work.copies[f] += 1
    work.used[i] += inst.size[f]


def clear(inst: Any, work: Any) -> None:
    """Bring a dispatch to its start: only held files on the disks, nothing dealt."""
    for x in range(inst.num_nodes * inst.num_files):
        work.on[x] = 0
    for f in range(inst.num_files):
        work.copies[f] = 0
        work.pending[f] = work.reader_ptr[f + 1] - work.reader_ptr[f]
        work.wanted[f] = -1
    for i in range(inst.num_nodes):
        work.used[i] = 0
        work.ready[i] = 0.0
        work.num_residents[i] = 0
        work.length[i] = 0
    for k in range(inst.num_tasks):
        work.taken[k] = 0
        work.rank[work.order[k]] = k
    for x in range(len(inst.held_node)):
        i, f = inst.held_node[x], inst.held_file[x]
        work.residents[i * inst.num_files + work.num_residents[i]] = f
        work.num_residents[i] += 1
        work.on[i * inst.num_files + f] = 1
        work.copies[f] += 1
        work.used[i] += inst.size[f]


def dispatch(inst: Any, work: Any, window: int, penalty: float, drift: float, noise: float) -> bool:
    """Deal ``work.order`` to the nodes; False where some task fits none of them.

    The node that is ready first takes, among the first *window* tasks left, the one with the least
    cost: seconds to fetch and copy, plus *penalty* a second's worth of useful bytes it would evict,
    plus *drift* seconds a place further down the order, times 1 + a random share of *noise*.
    """
    clear(inst, work)
    files = inst.num_files
    link = 0.0
    head = 0
    for _ in range(inst.num_tasks):
        while work.taken[work.order[head]]:
            head += 1
        chosen, node = -1, -1
        tried = 0
        while chosen < 0 and tried < inst.num_nodes:
            node = -1
            for i in range(inst.num_nodes):
                if work.ready[i] >= 0.0 and (node < 0 or work.ready[i] < work.ready[node]):
                    node = i
            if node < 0:
                break
            chosen = choose(inst, work, node, head, window, penalty, drift, noise)
            tried += 1
            if chosen < 0:
                work.ready[node] = -1.0
        if chosen < 0:
            return False
        fetched, copied = 0, 0
        work.taken[chosen] = 1
        for x in range(inst.ptr[chosen], inst.ptr[chosen + 1]):
            work.pending[inst.files[x]] -= 1
            work.wanted[inst.files[x]] = chosen
        for x in range(inst.ptr[chosen], inst.ptr[chosen + 1]):
            f = inst.files[x]
            if work.on[node * files + f] == 0:
                if work.copies[f] > 0:
                    copied += inst.size[f]
                else:
                    fetched += inst.size[f]
                place_file(inst, work, node, f, chosen)
        arrives = work.ready[node] + fetched * work.costs[0]
        if inst.shared and fetched > 0:
            link = max(link, work.ready[node]) + fetched * work.costs[0]
            arrives = link
        work.ready[node] = (
            arrives + copied * work.costs[1] + inst.compute[chosen] / inst.speed[node]
        )
        work.queue[node * inst.num_tasks + work.length[node]] = chosen
        work.length[node] += 1
    return True


def choose(
    inst: Any, work: Any, i: int, head: int, window: int, penalty: float, drift: float, noise: float
) -> int:
    """The cheapest task for node *i* among the first *window* left that fit it; -1 for none."""
    files = inst.num_files
    useful = 0
    for s in range(work.num_residents[i]):
        g = work.residents[i * files + s]
        if work.pending[g] > 0 and work.copies[g] == 1:
            useful += inst.size[g]
    chosen = -1
    least = float("inf")
    seen = 0
    for r in range(head, inst.num_tasks):
        k = work.order[r]
        if work.taken[k]:
            continue
        fetched, copied, extra, total = 0, 0, 0, 0
        for x in range(inst.ptr[k], inst.ptr[k + 1]):
            f = inst.files[x]
            total += inst.size[f]
            if work.on[i * files + f] == 0:
                extra += inst.size[f]
                if work.copies[f] > 0:
                    copied += inst.size[f]
                else:
                    fetched += inst.size[f]
            elif work.copies[f] > 1:
                extra += inst.size[f]
        if total > inst.disk[i]:
            continue
        over = max(0, useful + extra - inst.disk[i])
        cost = (fetched + penalty * over) * work.costs[0] + copied * work.costs[1] + drift * seen
        cost *= 1.0 + noise * uniform(work.random)
        if cost < least:
            least = cost
            chosen = k
        seen += 1
        if seen >= window:
            break
    return chosen
