"""Change one order of all tasks by random moves, for the link-aware search.

The text runs as plain Python and compiled. A plan is an order of all tasks with
producers before readers, a node for each task, and barriers between places of the
order. The queue of a node lists its tasks in this order, so that no queues ever wait
for each other (workflow rule 10). No task behind a barrier starts before all tasks
ahead of the barrier have ended. Without barriers, a node that is ahead of the others
may evict files that would have been kept if the tasks ran in the order.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ioopt.compiled.memory import Int8, Int32
from ioopt.sim.replication.world import World

MODULUS = 2147483647
EXCHANGES = 20
"""On shared storage, one move of so many exchanges all tasks of two nodes."""
LONGEST_BLOCK = 8
"""Largest number of tasks in one move (1 to 20), tuned with the shares of ``MOVES``."""
BARRIER_MOVES = 15
"""Percentage of moves that change a barrier, in plans with barriers (0 to 100).

Chosen on the presets image-85 and bipartite-85 with small disks.
"""
BARRIER_SHIFT = 4
"""Largest shift of a barrier, in places (1 to 10)."""


@dataclass(slots=True)
class Chance:
    """The state of a generator of random numbers."""

    seed: int


@dataclass(slots=True)
class LineFile:
    """A file in the score by bytes: the place of its next reader, the place of its last
    reader so far, and the number of nodes that store it.
    """

    next_place: Int32
    wanted: Int32
    copies: Int32


@dataclass(slots=True)
class LineCell:
    """A file on a node in the score by bytes: 1 if it is stored there (``on``).

    The files that the node stores are ``resident`` of its first cells.
    """

    resident: Int32
    on: Int8


@dataclass(slots=True)
class Line:
    """The plan under search, and constants of the instance.

    ``now`` and ``best``: the scores of the present and of the best plan, in seconds. If
    ``draws`` is not 0, a plan is scored by the mean of so many noisy replays, the first
    by draw number ``first_draw``; a plan whose exact score is above ``most_exact`` is
    not accepted. ``evaluations``: the number of plans scored. ``policy``: the eviction
    policy under which they are replayed. ``barriers``: 1 if the plan has barriers.
    ``order`` lists the tasks; ``place`` is the position of each task in the order;
    ``node`` is the node of each task. ``cut`` is 1 if a barrier stands before a place.
    The fields ``kept_*`` and ``best_*`` are copies of these. For each task, ``before``
    lists the tasks that it waits for, and ``after`` those that wait for it. ``readers``
    lists the readers of each file. ``fits``: at ``task * num_nodes + node``, 1 if the
    task fits the node. ``flag``, ``scratch`` and ``queued`` are scratch.

    The other fields serve the score by bytes
    (:mod:`ioopt.solvers.replication.search.line_kernel`). ``by_bytes``: 1 if plans have
    this score, 0 if they are replayed. ``cells``: at ``node * num_files + file``.
    ``follow``: for each input of a task, the place of the next reader after this task.
    ``used``, ``num_residents``: for each node, its stored bytes and files.
    ``fetch_cost`` and ``copy_cost``: seconds per byte of a fetch and of a copy.
    ``fetched`` and ``copied``: bytes moved so far. ``owed``: bytes of files that are on
    no disk but must still be read.
    """

    now: float
    best: float
    most_exact: float
    draws: int
    first_draw: int
    evaluations: int
    policy: int
    barriers: int
    by_bytes: int
    fetch_cost: float
    copy_cost: float
    fetched: int
    copied: int
    owed: int
    chance: Chance
    order: list[int]
    place: list[int]
    node: list[int]
    cut: list[int]
    kept_order: list[int]
    kept_node: list[int]
    kept_cut: list[int]
    best_order: list[int]
    best_node: list[int]
    best_cut: list[int]
    before_ptr: list[int]
    before: list[int]
    after_ptr: list[int]
    after: list[int]
    reader_ptr: list[int]
    readers: list[int]
    fits: list[int]
    flag: list[int]
    scratch: list[int]
    queued: list[int]
    cells: list[LineCell]
    files: list[LineFile]
    follow: list[int]
    used: list[int]
    num_residents: list[int]


def draw(chance: Chance, below: int) -> int:
    """Return the next random number from 0 to *below* - 1.

    The generator is that of Park and Miller, with their revised multiplier.
    """
    chance.seed = chance.seed * 48271 % MODULUS
    return chance.seed % below


def uniform(chance: Chance) -> float:
    """Return the next random number strictly between 0 and 1."""
    return draw(chance, MODULUS) / MODULUS


def keep(line: Line, order: list[int], node: list[int], cut: list[int]) -> None:
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


def write_queues(w: World, line: Line) -> bool:
    """Write the tasks and rounds of each node to the queues of *w*; return whether they
    changed.
    """
    changed = False
    for i in range(w.num_nodes):
        line.queued[i] = 0
    for k in range(w.num_tasks):
        line.queued[line.node[k]] += 1
    first = 0
    for i in range(w.num_nodes):
        node = w.nodes[i]
        end = first + line.queued[i]
        if node.first_place != first or node.end_place != end:
            node.first_place = first
            node.end_place = end
            changed = True
        line.queued[i] = first
        first = end
    r = 0
    for p in range(w.num_tasks):
        k = line.order[p]
        if p > 0:
            r += line.cut[p]
        place = w.places[line.queued[line.node[k]]]
        line.queued[line.node[k]] += 1
        if place.entry != k:
            place.entry = k
            changed = True
        if w.barriers and place.round != r:
            place.round = r
            changed = True
    return changed


def send(w: World, line: Line, k: int, i: int) -> None:
    """Send task *k* to node *i*, if it fits there."""
    if line.fits[k * w.num_nodes + i]:
        line.node[k] = i


def gather(
    line: Line, k: int, to: int, step: int, ptr: list[int], listed: list[int]
) -> int:
    """Flag task *k* and the tasks that must move with it towards place *to*; return
    their number.

    *step* is the direction, 1 or -1. *listed* gives, for each task, the tasks that must
    stay ahead of it in this direction.
    """
    first = line.place[k]
    distance = (to - first) * step
    for n in range(distance + 1):
        line.flag[line.order[first + n * step]] = 0
    line.flag[k] = 1
    count = 0
    for n in range(distance + 1):
        j = line.order[first + n * step]
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


def pick(chance: Chance, ptr: list[int], listed: list[int], k: int) -> int:
    """Return a random task from the list of *k*; -1 if the list is empty.

    The list is ``listed[ptr[k]:ptr[k + 1]]``.
    """
    width = ptr[k + 1] - ptr[k]
    if width == 0:
        return -1
    return listed[ptr[k] + draw(chance, width)]


def relative(w: World, line: Line, k: int) -> int:
    """Return a random task related to task *k*, or *k* if none is found.

    Related tasks are producers, consumers, and readers of the same files.
    """
    chance = line.chance
    j = -1
    kind = 2
    if not w.plain:
        kind = draw(chance, 4)
    if kind == 0:
        j = pick(chance, line.before_ptr, line.before, k)
    elif kind == 1:
        j = pick(chance, line.after_ptr, line.after, k)
    else:
        entry = w.entries[k]
        width = entry.end_input - entry.first_input
        if width > 0:
            read = w.reads[entry.first_input + draw(chance, width)]
            j = pick(chance, line.reader_ptr, line.readers, read.file)
    return j if j >= 0 else k


def exchange_nodes(w: World, line: Line) -> None:
    """Exchange all tasks of two random nodes, as far as they fit there."""
    one = draw(line.chance, w.num_nodes)
    other = draw(line.chance, w.num_nodes)
    for k in range(w.num_tasks):
        if line.node[k] == one:
            send(w, line, k, other)
        elif line.node[k] == other:
            send(w, line, k, one)


def change_barrier(w: World, line: Line) -> None:
    """Set, remove or shift a barrier at random."""
    tasks = w.num_tasks
    chance = line.chance
    p = draw(chance, tasks)
    kind = draw(chance, 3)
    if kind == 0:
        line.cut[p] = 1 - line.cut[p]
        return
    while p < tasks and not line.cut[p]:
        p += 1
    if p == tasks:
        return
    line.cut[p] = 0
    if kind == 1:
        p += draw(chance, 2 * BARRIER_SHIFT + 1) - BARRIER_SHIFT
        line.cut[min(tasks - 1, max(0, p))] = 1


def exchange_tasks(w: World, line: Line, k: int, other: int) -> None:
    """Exchange the nodes of tasks *k* and *other*, as far as they fit there."""
    node = line.node[k]
    send(w, line, k, line.node[other])
    send(w, line, other, node)


def send_block(w: World, line: Line, k: int, other: int) -> None:
    """Send task *k* and a random number of tasks behind it in its queue to a random
    node; *other* is not used.

    The places of these tasks in the order stay the same.
    """
    i = draw(line.chance, w.num_nodes)
    left = 1 + draw(line.chance, LONGEST_BLOCK)
    a = line.node[k]
    for p in range(line.place[k], w.num_tasks):
        if left > 0 and line.node[line.order[p]] == a:
            send(w, line, line.order[p], i)
            left -= 1


def send_family(w: World, line: Line, k: int, other: int) -> None:
    """Send task *k*, with all its producers or all its consumers, to a random node;
    *other* is not used.
    """
    chance = line.chance
    node = draw(chance, w.num_nodes)
    if draw(chance, 2):
        node = line.node[relative(w, line, k)]
    send(w, line, k, node)
    if draw(chance, 2):
        for x in range(line.before_ptr[k], line.before_ptr[k + 1]):
            send(w, line, line.before[x], node)
    else:
        for x in range(line.after_ptr[k], line.after_ptr[k + 1]):
            send(w, line, line.after[x], node)


def aim(w: World, line: Line, k: int, other: int) -> tuple[int, int]:
    """Return the place to which task *k* shifts, and its node there.

    They are those of *other* or of a task related to *k*; the node may be that of *k*.
    """
    chance = line.chance
    if draw(chance, 2):
        other = relative(w, line, k)
    node = line.node[other]
    if draw(chance, 3) == 0:
        node = line.node[k]
    return line.place[other], node


def shift_block(w: World, line: Line, k: int, other: int) -> None:
    """Move task *k* of a batch, and a random number of tasks behind it, to the place of
    *other* or of a related task.

    At random, these tasks stay on their nodes, or all are sent to the node of that
    task or of *k*.
    """
    to, i = aim(w, line, k, other)
    p = line.place[k]
    stay = draw(line.chance, 2)
    length = min(1 + draw(line.chance, LONGEST_BLOCK), w.num_tasks - p)
    to = min(to, w.num_tasks - length)
    first = min(p, to)
    end = max(p, to) + length
    for q in range(first, end):
        line.flag[line.order[q]] = 0
    for x in range(p, p + length):
        line.flag[line.order[x]] = 1
        if not stay:
            send(w, line, line.order[x], i)
    if to < p:
        part(line, first, end, to, to + length)
    else:
        part(line, first, end, to, p)


def shift_task(w: World, line: Line, k: int, other: int) -> None:
    """Move task *k* to the place and the node of *other* or of a related task.

    At random, the task stops before it passes a producer or consumer, or these tasks
    move along with it. Tasks that move along may also be sent to the node.
    """
    chance = line.chance
    to, i = aim(w, line, k, other)
    alone = draw(chance, 2)
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
    if not alone and draw(chance, 2):
        for p in range(first, first + count):
            send(w, line, line.order[p], i)
    else:
        send(w, line, k, i)


@dataclass(frozen=True, slots=True)
class Move:
    """A kind of move of tasks: its percentage in batches and in workflows, and the
    function that makes it with two random tasks.
    """

    name: str
    in_batches: int
    in_workflows: int
    make: Callable[[World, Line, int, int], None]


MOVES = (
    Move("exchange the nodes of two tasks", 10, 10, exchange_tasks),
    Move("send a block of a queue to a node", 15, 15, send_block),
    Move("send a task and its relatives to a node", 15, 15, send_family),
    Move("shift a task in the order", 45, 60, shift_task),
    Move("shift a block of the order", 15, 0, shift_block),
)
"""The moves of tasks. Each column of percentages has the sum 100."""


def change(w: World, line: Line) -> None:
    """Make one random move: of a barrier in plans with barriers, of all tasks of two
    nodes on shared storage, else one of ``MOVES``.
    """
    chance = line.chance
    if line.barriers and draw(chance, 100) < BARRIER_MOVES:
        change_barrier(w, line)
        return
    if w.products_shared and draw(chance, EXCHANGES) == 0:
        exchange_nodes(w, line)
        return
    kind = draw(chance, 100)
    k = draw(chance, w.num_tasks)
    other = draw(chance, w.num_tasks)
    for move in MOVES:
        kind -= move.in_batches if w.plain else move.in_workflows
        if kind < 0:
            move.make(w, line, k, other)
            return
