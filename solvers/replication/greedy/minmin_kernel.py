"""The planning loop of MinMin over flat arrays, pure Python and compiled; a tournament tree a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ioopt.compiled import Floats, Ints
    from ioopt.sim.replication.state import Instance

TIE_SECONDS = 1e-9


class Work(NamedTuple):
    """State of a plan being made. Cell (k, i) of a matrix stands at ``k * num_nodes + i``.

    ``fetch`` and ``copy`` are the bytes that task k misses on node i; ``on`` (node, file) marks
    files present, ``copies`` counts them, ``residents`` lists a node's and ``seat`` says where each
    stands; ``pending`` counts the unassigned readers of a file, ``wanted`` is its latest reader;
    ``seconds`` is the planned time of task k on node i without ``ready``, and ``tree`` a tournament
    a node over ``leaves`` places: the winner of place x stands at ``2 * leaves * i + x``, the
    node's best task at x = 1. ``out_task`` and ``out_node`` list the assignments, ``move_*`` the transfers.
    """

    reader_ptr: Ints
    readers: Ints
    fits: Ints
    on: Ints
    copies: Ints
    pending: Ints
    wanted: Ints
    residents: Ints
    seat: Ints
    num_residents: Ints
    used: Ints
    fetch: Ints
    copy: Ints
    open: Ints
    ready: Floats
    leaves: int
    tree: Ints
    seconds: Floats
    out_task: Ints
    out_node: Ints
    move_file: Ints
    move_source: Ints
    move_node: Ints
    counters: Ints


MOVES, EVICTIONS, BEGUN, STEP = 0, 1, 2, 3


def begin(inst: Instance, work: Work) -> None:
    """Set the bytes that each task misses on each node with only the held files present."""
    nodes, files = inst.num_nodes, inst.num_files
    for x in range(len(inst.held_node)):
        present(inst, work, inst.held_node[x], inst.held_file[x], 1, (0.0, 0.0))
    for k in range(inst.num_tasks):
        work.open[k] = 1
        total = 0
        for x in range(inst.ptr[k], inst.ptr[k + 1]):
            f = inst.files[x]
            total += inst.size[f]
            work.pending[f] += 1
            for i in range(nodes):
                if work.on[i * files + f] == 0:
                    if work.copies[f] > 0:
                        work.copy[k * nodes + i] += inst.size[f]
                    else:
                        work.fetch[k * nodes + i] += inst.size[f]
        for i in range(nodes):
            work.fits[k * nodes + i] = 1 if total <= inst.disk[i] else 0


def planned(inst: Instance, work: Work, k: int, i: int, costs: tuple[float, float]) -> float:
    """Seconds that task *k* would take on node *i*: transfers and compute."""
    x = k * inst.num_nodes + i
    moved = work.fetch[x] * costs[0] + work.copy[x] * costs[1]
    return moved + inst.compute[k] / inst.speed[i]


def better(inst: Instance, work: Work, i: int, left: int, right: int) -> int:
    """Which of two tasks ends first on node *i*: the lower index among equals, -1 is none."""
    if left < 0 or right < 0:
        return max(left, right)
    nodes = inst.num_nodes
    first, second = work.seconds[left * nodes + i], work.seconds[right * nodes + i]
    if left < right:
        return left if first <= second + TIE_SECONDS else right
    return right if second <= first + TIE_SECONDS else left


def update(inst: Instance, work: Work, k: int, i: int) -> None:
    """The time of task *k* on node *i* has changed: play its matches of the node's tree again."""
    base = 2 * work.leaves * i
    x = (work.leaves + k) // 2
    while x >= 1:
        winner = better(inst, work, i, work.tree[base + 2 * x], work.tree[base + 2 * x + 1])
        if winner == work.tree[base + x] and winner != k:
            return
        work.tree[base + x] = winner
        x //= 2


def plant(inst: Instance, work: Work, costs: tuple[float, float]) -> None:
    """Time every task on every node that it fits and build the trees."""
    for i in range(inst.num_nodes):
        base = 2 * work.leaves * i
        for k in range(work.leaves):
            work.tree[base + work.leaves + k] = -1
            if k < inst.num_tasks and work.fits[k * inst.num_nodes + i]:
                work.seconds[k * inst.num_nodes + i] = planned(inst, work, k, i, costs)
                work.tree[base + work.leaves + k] = k
        for x in range(work.leaves - 1, 0, -1):
            work.tree[base + x] = better(
                inst, work, i, work.tree[base + 2 * x], work.tree[base + 2 * x + 1]
            )


def touch(inst: Instance, work: Work, k: int, i: int, costs: tuple[float, float]) -> None:
    """Task *k* has become cheaper or dearer on node *i*."""
    if work.fits[k * inst.num_nodes + i]:
        work.seconds[k * inst.num_nodes + i] = planned(inst, work, k, i, costs)
        update(inst, work, k, i)


def present(
    inst: Instance, work: Work, i: int, f: int, arrives: int, costs: tuple[float, float]
) -> None:
    """File *f* comes to node *i* (``arrives`` 1) or leaves it (0): update all readers' bytes."""
    nodes, size = inst.num_nodes, inst.size[f]
    sign = 1 if arrives else -1
    others = work.copies[f] - (0 if arrives else 1)
    work.copies[f] += sign
    work.on[i * inst.num_files + f] = arrives
    work.used[i] += sign * size
    base = i * inst.num_files
    if arrives:
        work.residents[base + work.num_residents[i]] = f
        work.seat[base + f] = work.num_residents[i]
    else:
        last = work.residents[base + work.num_residents[i] - 1]
        work.residents[base + work.seat[base + f]] = last
        work.seat[base + last] = work.seat[base + f]
    work.num_residents[i] += sign
    for x in range(work.reader_ptr[f], work.reader_ptr[f + 1]):
        k = work.readers[x]
        if not work.open[k]:
            continue
        if others > 0:
            work.copy[k * nodes + i] -= sign * size
        else:
            work.fetch[k * nodes + i] -= sign * size
            for j in range(nodes):
                if j != i:
                    work.fetch[k * nodes + j] -= sign * size
                    work.copy[k * nodes + j] += sign * size
                    touch(inst, work, k, j, costs)
        touch(inst, work, k, i, costs)


def make_space(
    inst: Instance, work: Work, k: int, i: int, size: int, costs: tuple[float, float]
) -> None:
    """Evict the least popular files (22) from node *i* until *size* bytes fit, sparing task *k*'s."""
    files = inst.num_files
    while work.used[i] + size > inst.disk[i]:
        victim = -1
        least = 0.0
        for s in range(work.num_residents[i]):
            f = work.residents[i * files + s]
            value = work.pending[f] * float(inst.size[f]) / work.copies[f]
            if work.wanted[f] != k and (
                victim < 0 or value < least or (value == least and f < victim)
            ):
                victim = f
                least = value
        present(inst, work, i, victim, 0, costs)
        work.counters[EVICTIONS] += 1


def commit(
    inst: Instance, work: Work, k: int, i: int, replicate: bool, costs: tuple[float, float]
) -> None:
    """Assign task *k* to node *i*: its files are there from now on."""
    files = inst.num_files
    work.ready[i] += work.seconds[k * inst.num_nodes + i]
    work.open[k] = 0
    for j in range(inst.num_nodes):
        if work.fits[k * inst.num_nodes + j]:
            work.tree[2 * work.leaves * j + work.leaves + k] = -1
            update(inst, work, k, j)
    for x in range(inst.ptr[k], inst.ptr[k + 1]):
        work.pending[inst.files[x]] -= 1
        work.wanted[inst.files[x]] = k
    for x in range(inst.ptr[k], inst.ptr[k + 1]):
        f = inst.files[x]
        if work.on[i * files + f]:
            continue
        make_space(inst, work, k, i, inst.size[f], costs)
        source = -1
        if replicate and work.copies[f] > 0:
            source = 0
            while work.on[source * files + f] == 0:
                source += 1
        n = work.counters[MOVES]
        work.move_file[n] = f
        work.move_source[n] = source
        work.move_node[n] = i
        work.counters[MOVES] = n + 1
        present(inst, work, i, f, 1, costs)


def plan(
    inst: Instance, work: Work, replicate: bool, fetch_cost: float, copy_cost: float, most: int
) -> int:
    """Assign *most* more tasks, all that fit somewhere in the end; returns how many are assigned.

    The first call sets everything up. Costs are seconds per byte.
    """
    costs = (fetch_cost, copy_cost if replicate else fetch_cost)
    if not work.counters[BEGUN]:
        begin(inst, work)
        plant(inst, work, costs)
        work.counters[BEGUN] = 1
    for _ in range(most):
        step = work.counters[STEP]
        where, chosen = -1, -1
        least = float("inf")
        for i in range(inst.num_nodes):
            k = work.tree[2 * work.leaves * i + 1]
            if k < 0:
                continue
            value = work.ready[i] + work.seconds[k * inst.num_nodes + i]
            if (
                where < 0
                or value < least - TIE_SECONDS
                or (value <= least + TIE_SECONDS and k < chosen)
            ):
                where, chosen = i, k
                least = value
        if where < 0:
            break
        commit(inst, work, chosen, where, replicate, costs)
        work.out_task[step] = chosen
        work.out_node[step] = where
        work.counters[STEP] = step + 1
    return work.counters[STEP]
