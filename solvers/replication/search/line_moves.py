"""Change one order of all tasks by random moves, for the link-aware search.

The same code runs in plain Python and compiled. A plan is an order of all tasks with
producers before readers, a node for each task, and barriers between places of the
order. The queue of a node lists its tasks in this order, so that no queues ever wait
for each other (workflow rule 10). No task behind a barrier starts before all tasks
ahead of the barrier have ended. Without barriers, a node that is ahead of the others
may evict files that would have been kept if the tasks ran in the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ioopt.sim.replication.state import Instance, Queues

if TYPE_CHECKING:
    from ioopt.compiled import Floats, Ints

MODULUS = 2147483647
LONGEST_BLOCK = 8
"""Largest number of tasks in one move (1 to 20), tuned with the next two values."""
BARRIER_MOVES = 15
"""Percentage of moves that change a barrier, in plans with barriers (0 to 100).

Chosen on the presets image-85 and bipartite-85 with small disks.
"""
BARRIER_SHIFT = 4
"""Largest shift of a barrier, in places (1 to 10)."""
SWAPS = 10
"""Percentage of moves that exchange the nodes of two tasks.

This and the next three values are thresholds: each kind of move has the percentage
between the threshold before and its own.
"""
BLOCKS = 25
"""From ``SWAPS`` to this percentage, moves send a block of a queue to another node."""
FAMILIES = 40
"""From ``BLOCKS`` to this percentage, moves send a task with its producers or consumers
to another node.
"""
SHIFTS = 85
"""From ``FAMILIES`` to this percentage, moves shift one task.

Above it, moves of a batch shift a block of tasks.
"""
EVALUATIONS = 0
"""Cell of ``counts``: the number of plans scored."""
NOW = 0
BEST = 1
"""Cells of ``values``: the scores of the present and of the best plan, in seconds."""


class Line(NamedTuple):
    """The plan under search, and constants of the instance.

    ``order`` lists the tasks; ``place`` is the position of each task in the order;
    ``node`` is the node of each task. ``cut`` is 1 if a barrier stands before a place.
    The fields ``kept_*`` and ``best_*`` are copies of these. For each task, ``before``
    lists the tasks that it waits for, and ``after`` the tasks that wait for it.
    ``readers`` lists the readers of each file. ``fits``: at ``task * num_nodes +
    node``, 1 if the task fits the node. ``random`` is the state of the random
    generator. ``flag``, ``scratch`` and ``queued`` are scratch.

    The other fields serve the score by bytes
    (:mod:`ioopt.solvers.replication.search.line_kernel`). ``on``: at ``node * num_files
    + file``, 1 if the node stores the file. ``residents``: from ``node * num_files``
    on, the files that the node stores. ``nxt``: for each file, the place of its next
    reader. ``follow``: for each input of a task, the place of the next reader after
    this task. ``wanted``: for each file, the place of the last reader so far.
    ``costs``: seconds per byte of a fetch and of a copy. ``sums``: bytes moved so far.
    """

    order: Ints
    place: Ints
    node: Ints
    cut: Ints
    kept_order: Ints
    kept_node: Ints
    kept_cut: Ints
    best_order: Ints
    best_node: Ints
    best_cut: Ints
    before_ptr: Ints
    before: Ints
    after_ptr: Ints
    after: Ints
    reader_ptr: Ints
    readers: Ints
    fits: Ints
    flag: Ints
    scratch: Ints
    queued: Ints
    random: Ints
    values: Floats
    counts: Ints
    on: Ints
    copies: Ints
    nxt: Ints
    follow: Ints
    wanted: Ints
    used: Ints
    residents: Ints
    num_residents: Ints
    costs: Floats
    sums: Ints


def draw(random: Ints, below: int) -> int:
    """Return the next random number from 0 to *below* - 1.

    The generator is that of Park and Miller, with their revised multiplier.
    """
    random[0] = random[0] * 48271 % MODULUS
    return random[0] % below


def uniform(random: Ints) -> float:
    """Return the next random number strictly between 0 and 1."""
    return draw(random, MODULUS) / MODULUS


def keep(line: Line, order: Ints, node: Ints, cut: Ints) -> None:
    """Copy the order, the nodes and the barriers of the plan to the given arrays."""
    for x in range(len(line.order)):
        order[x] = line.order[x]
        node[x] = line.node[x]
        cut[x] = line.cut[x]


def put_back(line: Line) -> None:
    """Restore the plan from ``kept_order``, ``kept_node`` and ``kept_cut``."""
    for p in range(len(line.order)):
        line.order[p] = line.kept_order[p]
        line.place[line.order[p]] = p
        line.node[p] = line.kept_node[p]
        line.cut[p] = line.kept_cut[p]


def keep_best(line: Line) -> None:
    """Record the present plan as the best plan."""
    keep(line, line.best_order, line.best_node, line.best_cut)


def write_queues(inst: Instance, plan: Queues, line: Line) -> bool:
    """Write the tasks and rounds of each node to the queues of *plan*; return whether
    they changed.
    """
    changed = False
    for i in range(inst.num_nodes + 1):
        line.queued[i] = 0
    for k in range(inst.num_tasks):
        line.queued[line.node[k] + 1] += 1
    for i in range(inst.num_nodes):
        line.queued[i + 1] += line.queued[i]
    for i in range(inst.num_nodes + 1):
        if plan.ptr[i] != line.queued[i]:
            plan.ptr[i] = line.queued[i]
            changed = True
    r = 0
    for p in range(inst.num_tasks):
        k = line.order[p]
        if p > 0:
            r += line.cut[p]
        x = line.queued[line.node[k]]
        line.queued[line.node[k]] += 1
        if plan.entry[x] != k:
            plan.entry[x] = k
            changed = True
        if plan.barriers and plan.round_of[x] != r:
            plan.round_of[x] = r
            changed = True
    return changed


def send(inst: Instance, line: Line, k: int, i: int) -> None:
    """Send task *k* to node *i*, if it fits there."""
    if line.fits[k * inst.num_nodes + i]:
        line.node[k] = i


def gather(line: Line, k: int, to: int, step: int, ptr: Ints, listed: Ints) -> int:
    """Flag task *k* and the tasks that must move with it towards place *to*; return
    their number.

    *step* is the direction, 1 or -1. *listed* gives, for each task, the tasks that must
    stay ahead of it in this direction.
    """
    first = line.place[k]
    for p in range(first, to + step, step):
        line.flag[line.order[p]] = 0
    line.flag[k] = 1
    count = 0
    for p in range(first, to + step, step):
        j = line.order[p]
        if line.flag[j]:
            count += 1
            for x in range(ptr[j], ptr[j + 1]):
                line.flag[listed[x]] = 1
    return count


def part(line: Line, first: int, end: int, flagged: int, others: int) -> None:
    """Separate the flagged tasks at places *first* to *end - 1* from the others.

    The flagged tasks get the places from *flagged* on, the others those from *others*
    on.
    """
    for p in range(first, end):
        line.scratch[p] = line.order[p]
    for p in range(first, end):
        j = line.scratch[p]
        if line.flag[j]:
            line.order[flagged] = j
            line.place[j] = flagged
            flagged += 1
        else:
            line.order[others] = j
            line.place[j] = others
            others += 1


def pick(random: Ints, ptr: Ints, listed: Ints, k: int) -> int:
    """Return a random task from the list of *k*; -1 if the list is empty.

    The list is ``listed[ptr[k]:ptr[k + 1]]``.
    """
    width = ptr[k + 1] - ptr[k]
    return listed[ptr[k] + draw(random, width)] if width else -1


def relative(inst: Instance, line: Line, k: int) -> int:
    """Return a random task related to task *k*, or *k* if none is found.

    Related tasks are producers, consumers, and readers of the same files.
    """
    random = line.random
    j = -1
    kind = 2 if inst.plain else draw(random, 4)
    if kind == 0:
        j = pick(random, line.before_ptr, line.before, k)
    elif kind == 1:
        j = pick(random, line.after_ptr, line.after, k)
    else:
        f = pick(random, inst.ptr, inst.files, k)
        if f >= 0:
            j = pick(random, line.reader_ptr, line.readers, f)
    return j if j >= 0 else k


def change(inst: Instance, line: Line) -> None:
    """Make one random move, which exchanges the nodes of two tasks, sends tasks to
    another node, or shifts tasks in the order.
    """
    random = line.random
    kind = draw(random, 100)
    k = draw(random, inst.num_tasks)
    other = draw(random, inst.num_tasks)
    if kind < SWAPS:
        node = line.node[k]
        send(inst, line, k, line.node[other])
        send(inst, line, other, node)
    elif kind < BLOCKS:
        node = draw(random, inst.num_nodes)
        send_block(inst, line, k, node, 1 + draw(random, LONGEST_BLOCK))
    elif kind < FAMILIES:
        send_family(inst, line, k)
    else:
        if draw(random, 2):
            other = relative(inst, line, k)
        node = line.node[other]
        if draw(random, 3) == 0:
            node = line.node[k]
        if kind >= SHIFTS and inst.plain:
            shift_block(inst, line, k, line.place[other], node)
        else:
            shift(inst, line, k, line.place[other], node)


def send_family(inst: Instance, line: Line, k: int) -> None:
    """Send task *k*, with all its producers or all its consumers, to a random node."""
    random = line.random
    node = draw(random, inst.num_nodes)
    if draw(random, 2):
        node = line.node[relative(inst, line, k)]
    send(inst, line, k, node)
    if draw(random, 2):
        for x in range(line.before_ptr[k], line.before_ptr[k + 1]):
            send(inst, line, line.before[x], node)
    else:
        for x in range(line.after_ptr[k], line.after_ptr[k + 1]):
            send(inst, line, line.after[x], node)


def send_block(inst: Instance, line: Line, k: int, i: int, most: int) -> None:
    """Send task *k* and the next tasks of its queue, at most *most* in all, to node
    *i*.

    The places of these tasks in the order stay the same.
    """
    a = line.node[k]
    left = most
    for p in range(line.place[k], inst.num_tasks):
        if left > 0 and line.node[line.order[p]] == a:
            send(inst, line, line.order[p], i)
            left -= 1


def shift_block(inst: Instance, line: Line, k: int, to: int, i: int) -> None:
    """Move task *k* of a batch, and a random number of tasks behind it, to place *to*.

    At random, these tasks stay on their nodes, or all are sent to node *i*.
    """
    p = line.place[k]
    stay = draw(line.random, 2)
    length = min(1 + draw(line.random, LONGEST_BLOCK), inst.num_tasks - p)
    to = min(to, inst.num_tasks - length)
    first = min(p, to)
    end = max(p, to) + length
    for q in range(first, end):
        line.flag[line.order[q]] = 0
    for x in range(p, p + length):
        line.flag[line.order[x]] = 1
        if not stay:
            send(inst, line, line.order[x], i)
    if to < p:
        part(line, first, end, to, to + length)
    else:
        part(line, first, end, to, p)


def shift(inst: Instance, line: Line, k: int, to: int, i: int) -> None:
    """Move task *k* to place *to* of the order, and to node *i*.

    At random, the task stops before it passes a producer or consumer, or these tasks
    move along with it. Tasks that move along may also be sent to node *i*.
    """
    random = line.random
    alone = draw(random, 2)
    p = line.place[k]
    if p > to:
        if alone:
            for x in range(line.before_ptr[k], line.before_ptr[k + 1]):
                to = max(to, line.place[line.before[x]] + 1)
        count = gather(line, k, to, -1, line.before_ptr, line.before)
        first = to
        part(line, to, p + 1, to, to + count)
    else:
        if alone:
            for x in range(line.after_ptr[k], line.after_ptr[k + 1]):
                to = min(to, line.place[line.after[x]] - 1)
        count = gather(line, k, to, 1, line.after_ptr, line.after)
        first = to + 1 - count
        part(line, p, to + 1, first, p)
    if not alone and draw(random, 2):
        for p in range(first, first + count):
            send(inst, line, line.order[p], i)
    else:
        send(inst, line, k, i)


def change_barriers(inst: Instance, line: Line) -> None:
    """Set, remove or shift a barrier at random, or make one move of :func:`change`."""
    tasks = inst.num_tasks
    random = line.random
    if draw(random, 100) >= BARRIER_MOVES:
        change(inst, line)
        return
    p = draw(random, tasks)
    kind = draw(random, 3)
    if kind == 0:
        line.cut[p] = 1 - line.cut[p]
        return
    while p < tasks and not line.cut[p]:
        p += 1
    if p == tasks:
        return
    line.cut[p] = 0
    if kind == 1:
        p += draw(random, 2 * BARRIER_SHIFT + 1) - BARRIER_SHIFT
        line.cut[min(tasks - 1, max(0, p))] = 1
