"""Dealing the tasks of an order to the nodes by link cost: pure Python and compiled alike."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

from ioopt.sim.replication.state import Instance
from ioopt.solvers.replication.search.line_moves import uniform

if TYPE_CHECKING:
    from ioopt.compiled import Floats, Ints

WINDOWS, PENALTIES = (5, 10, 20, 40, 100), (0.3, 1.0, 2.0)
DRIFTS, NOISES = (0.0, 0.02, 0.1), (0.0, 0.1, 0.3)
"""Parameters of a deal, drawn at random."""


class Dealing(NamedTuple):
    """How a node chooses among the tasks left.

    The node that is ready first takes, among the first *window* tasks left, the one with the least
    cost: seconds to fetch and copy, plus *penalty* a second's worth of useful bytes it would evict,
    plus *drift* seconds a place further down the order, times 1 + a random share of *noise*.
    """

    window: int
    penalty: float
    drift: float
    noise: float


def random_dealing(rng: Random, typical: float) -> Dealing:
    """Random parameters; drifts are shares of *typical* seconds."""
    return Dealing(
        rng.choice(WINDOWS), rng.choice(PENALTIES), rng.choice(DRIFTS) * typical, rng.choice(NOISES)
    )


class Dispatch(NamedTuple):
    """State of a dispatch: task order and ranks, planned disks, and the queues that come out.

    Cell (i, f) of ``on`` and ``residents`` stands at ``i * num_files + f``, cell (i, p) of
    ``queue`` at ``i * num_tasks + p``. ``costs``: seconds a byte to fetch and to copy.
    """

    reader_ptr: Ints
    readers: Ints
    order: Ints
    rank: Ints
    taken: Ints
    on: Ints
    copies: Ints
    pending: Ints
    wanted: Ints
    used: Ints
    ready: Floats
    residents: Ints
    num_residents: Ints
    queue: Ints
    length: Ints
    costs: Floats
    random: Ints


def next_rank(inst: Instance, work: Dispatch, f: int) -> int:
    """The rank of the first task of the order, not dealt yet, that reads *f*."""
    least = inst.num_tasks
    for x in range(work.reader_ptr[f], work.reader_ptr[f + 1]):
        k = work.readers[x]
        if not work.taken[k] and work.rank[k] < least:
            least = work.rank[k]
    return least


def place_file(inst: Instance, work: Dispatch, i: int, f: int, task: int) -> None:
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


def clear(inst: Instance, work: Dispatch) -> None:
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


def dispatch(inst: Instance, work: Dispatch, dealing: Dealing) -> bool:
    """Deal ``work.order`` to the nodes, as *dealing* has it; False where some task fits none of them."""
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
            chosen = choose(inst, work, node, head, dealing)
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


def choose(inst: Instance, work: Dispatch, i: int, head: int, dealing: Dealing) -> int:
    """The cheapest task for node *i* among the first of the order left that fit it; -1 for none."""
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
        cost = (fetched + dealing.penalty * over) * work.costs[0] + copied * work.costs[1]
        cost += dealing.drift * seen
        cost *= 1.0 + dealing.noise * uniform(work.random)
        if cost < least:
            least = cost
            chosen = k
        seen += 1
        if seen >= dealing.window:
            break
    return chosen
