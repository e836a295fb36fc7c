"""Branch and bound over the queues of a plan, along their exact replay.

The text runs as plain Python and compiled. The replay of a node depends on the
first task of its queue and, if its disk is nearly full, on what all queued tasks read
later. The queues therefore grow during the replay. When a step of the replay needs the
next entry of a queue (``run.wanted``), the search branches: the
entry may be any task that may come next, or the end of the queue. Each set of queues is
visited once, and queues with a common beginning share the replay of that beginning. The
module :mod:`ioopt.solvers.replication.exact.queue_bound` computes the lower bound of a
branch.
"""

from dataclasses import dataclass

from ioopt.compiled.text import copy_record
from ioopt.sim.fluid import Flow
from ioopt.sim.replication.disk import NO_PLACE, is_open, queue_end
from ioopt.sim.replication.kernel import (
    complete,
    leave_unassigned,
    next_event,
    passes,
    reset,
)
from ioopt.sim.replication.moves import share_out
from ioopt.sim.replication.world import (
    CLOSED,
    OPEN,
    Cell,
    Core,
    File,
    Node,
    Place,
    Read,
    Run,
    World,
)
from ioopt.solvers.replication.exact.queue_bound import Path, seconds_at_least

DONE = 0
LIMIT = 1
ENDS = 0
ASKS = 1
FAILS = 2
CLOSE = -1
CLOSE_ENOUGH = 1e-9
"""Smallest relative improvement of the makespan that is searched for."""
BEFORE = 0
"""Row of the state from the beginning of the present instant."""


@dataclass(slots=True)
class States:
    """States of a replay with growing queues, one after the other in rows."""

    runs: list[Run]
    files: list[File]
    nodes: list[Node]
    cells: list[Cell]
    reads: list[Read]
    cores: list[Core]
    flows: list[Flow]
    places: list[Place]
    finished: list[int]


@dataclass(slots=True)
class Branching:
    """A branching on the way to the present state: its number of children, and the
    number of the next child to visit.
    """

    children: int
    at: int


@dataclass(slots=True)
class Child:
    """A child of a branching: the row of its state, and its lower bound in seconds."""

    bound: float
    row: int


@dataclass(slots=True)
class Tree:
    """The stack of the search.

    Row 0 of ``kept`` is the state from the beginning of the present instant. Row ``1 +
    depth * (tasks + 2)`` is the state at the branching of that depth; the following
    rows are its children. ``upper``: the least makespan known, in seconds. ``visited``:
    the number of children replayed. ``found``: the number of better plans found.
    ``pressed``: 1 if a file was ever evicted or saved to make room; eviction policies
    differ only then. ``below``: for each task, the tasks that need its files directly
    or indirectly, as a bit set. ``fits``: at ``task * num_nodes + node``, 1 if the task
    fits the node. ``best``: the entries of the best plan.
    """

    upper: float
    depth: int
    visited: int
    found: int
    pressed: int
    begun: int
    kept: States
    branchings: list[Branching]
    children: list[Child]
    below: list[int]
    fits: list[int]
    best: list[int]


def search(w: World, tree: Tree, path: Path, limit: int) -> int:
    """Continue the search until *limit* children are replayed (LIMIT) or none are left
    (DONE).
    """
    width = w.num_tasks + 2
    if not tree.begun:
        begin(w)
        tree.begun = 1
        tree.depth = -1
        verdict = go_on(w, tree)
        if verdict == ASKS:
            tree.depth = 0
            branch(w, tree, path, 0, 0.0)
        elif verdict == ENDS:
            leaf(w, tree)
    while tree.depth >= 0:
        if tree.visited >= limit:
            return LIMIT
        depth = tree.depth
        branching = tree.branchings[depth]
        child = tree.children[depth * width + branching.at]
        if branching.at >= branching.children or not worth(tree, child.bound):
            branching.children = 0
            branching.at = 0
            tree.depth = depth - 1
            continue
        branching.at += 1
        restore(w, tree.kept, child.row)
        tree.depth = depth + 1
        branch(w, tree, path, depth + 1, child.bound)
    return DONE


def worth(tree: Tree, bound: float) -> bool:
    """Return whether *bound* allows a shorter makespan than that of the best plan."""
    return bound < tree.upper * (1.0 - CLOSE_ENOUGH)


def begin(w: World) -> None:
    """Set the state to time 0, with all queues empty but open, and all tasks
    unassigned.
    """
    reset(w)
    leave_unassigned(w)
    for node in w.nodes:
        w.places[node.first_place].entry = OPEN
        node.head = node.first_place


def save(w: World, kept: States, row: int) -> None:
    """Copy the present state into row *row* of *kept*."""
    copy_record(w.run, kept.runs[row])
    for x in range(len(w.files)):
        copy_record(w.files[x], kept.files[row * len(w.files) + x])
    for x in range(len(w.nodes)):
        copy_record(w.nodes[x], kept.nodes[row * len(w.nodes) + x])
    for x in range(len(w.cells)):
        copy_record(w.cells[x], kept.cells[row * len(w.cells) + x])
    for x in range(len(w.reads)):
        copy_record(w.reads[x], kept.reads[row * len(w.reads) + x])
    for x in range(len(w.cores)):
        copy_record(w.cores[x], kept.cores[row * len(w.cores) + x])
    for x in range(len(w.fluid.flows)):
        copy_record(w.fluid.flows[x], kept.flows[row * len(w.fluid.flows) + x])
    for x in range(len(w.places)):
        copy_record(w.places[x], kept.places[row * len(w.places) + x])
    for x in range(w.run.ended):
        kept.finished[row * len(w.finished) + x] = w.finished[x]


def restore(w: World, kept: States, row: int) -> None:
    """Restore the present state from row *row* of *kept*."""
    copy_record(kept.runs[row], w.run)
    for x in range(len(w.files)):
        copy_record(kept.files[row * len(w.files) + x], w.files[x])
    for x in range(len(w.nodes)):
        copy_record(kept.nodes[row * len(w.nodes) + x], w.nodes[x])
    for x in range(len(w.cells)):
        copy_record(kept.cells[row * len(w.cells) + x], w.cells[x])
    for x in range(len(w.reads)):
        copy_record(kept.reads[row * len(w.reads) + x], w.reads[x])
    for x in range(len(w.cores)):
        copy_record(kept.cores[row * len(w.cores) + x], w.cores[x])
    for x in range(len(w.fluid.flows)):
        copy_record(kept.flows[row * len(w.fluid.flows) + x], w.fluid.flows[x])
    for x in range(len(w.places)):
        copy_record(kept.places[row * len(w.places) + x], w.places[x])
    for x in range(w.run.ended):
        w.finished[x] = kept.finished[row * len(w.finished) + x]


def go_on(w: World, tree: Tree) -> int:
    """Replay until a queue needs its next entry (ASKS), the replay ends (ENDS) or fails
    (FAILS).

    With ASKS, everything done at the present instant is undone. A replay fails if it
    gets stuck or cannot beat the best plan.
    """
    run = w.run
    while True:
        save(w, tree.kept, BEFORE)
        passes(w, run.now)
        if run.wanted:
            wanted = run.wanted
            restore(w, tree.kept, BEFORE)
            run.wanted = wanted
            return ASKS
        if run.evictions or run.spills:
            tree.pressed = 1
        if run.ended == w.num_tasks and run.saving == 0:
            return ENDS
        share_out(w, run.now)
        now = next_event(w)
        if not worth(tree, now):
            return FAILS
        complete(w, now)


def leaf(w: World, tree: Tree) -> None:
    """Record the queues of a complete plan if its makespan is the least so far."""
    if worth(tree, w.run.last_end):
        tree.upper = w.run.last_end
        tree.found += 1
        for x in range(len(w.places)):
            tree.best[x] = w.places[x].entry


def branch(w: World, tree: Tree, path: Path, depth: int, least: float) -> None:
    """Replay every child of the present state up to its next branching.

    The children whose bound allows a better plan are stored at *depth*, sorted by
    bound. *least* is the bound of the present state.
    """
    base = 1 + depth * (w.num_tasks + 2)
    save(w, tree.kept, base)
    i = w.run.wanted - 1
    tree.branchings[depth].children = 0
    tree.branchings[depth].at = 0
    loose = unassigned(w)
    for turn in range(w.num_tasks + 1):
        task = path.urgent[turn]
        restore(w, tree.kept, base)
        w.run.wanted = 0
        rest = loose
        if task != CLOSE:
            if not (loose >> task) & 1 or not may_stand(w, tree, i, task):
                continue
            rest = loose & ~(1 << task)
        put(w, i, task)
        if rest == 0:
            for j in range(w.num_nodes):
                if is_open(w, j):
                    put(w, j, CLOSE)
        if not runs_on(w, tree, rest):
            continue
        tree.visited += 1
        bound = max(least, seconds_at_least(w, path))
        if not worth(tree, bound):
            continue
        verdict = go_on(w, tree)
        if verdict == ENDS:
            leaf(w, tree)
        if verdict != ASKS:
            continue
        bound = max(bound, seconds_at_least(w, path))
        if worth(tree, bound):
            add_child(w, tree, depth, bound)


def add_child(w: World, tree: Tree, depth: int, bound: float) -> None:
    """Store the present state as a child of the branching at *depth*, in order of its
    bound.
    """
    branching = tree.branchings[depth]
    row = 2 + depth * (w.num_tasks + 2) + branching.children
    save(w, tree.kept, row)
    first = depth * (w.num_tasks + 2)
    place = first + branching.children
    while place > first and tree.children[place - 1].bound > bound:
        copy_record(tree.children[place - 1], tree.children[place])
        place -= 1
    tree.children[place].bound = bound
    tree.children[place].row = row
    branching.children += 1


def unassigned(w: World) -> int:
    """Return the tasks that are in no queue, as a bit set."""
    loose = (1 << w.num_tasks) - 1
    for node in w.nodes:
        p = node.first_place
        while p < node.end_place and w.places[p].entry >= 0:
            loose &= ~(1 << w.places[p].entry)
            p += 1
    return loose


def put(w: World, i: int, task: int) -> None:
    """Append *task* to the queue of node *i*; the task CLOSE ends the queue."""
    p = queue_end(w, i)
    if task == CLOSE:
        w.places[p].entry = CLOSED
        return
    w.places[p].entry = task
    if p + 1 < w.nodes[i].end_place:
        w.places[p + 1].entry = OPEN
    entry = w.entries[task]
    for x in range(entry.first_input, entry.end_input):
        f = w.reads[x].file
        cell = w.cells[i * w.num_files + f]
        w.reads[x].follow = NO_PLACE
        place = cell.next_place
        if place == NO_PLACE:
            cell.next_place = p
        while place != NO_PLACE:
            y = w.entries[w.places[place].entry].first_input
            while w.reads[y].file != f:
                y += 1
            place = w.reads[y].follow
            if place == NO_PLACE:
                w.reads[y].follow = p


def runs_on(w: World, tree: Tree, loose: int) -> bool:
    """Return whether every task of the bit set *loose* can still be appended to some
    queue.
    """
    for task in range(w.num_tasks):
        found = not (loose >> task) & 1
        for i in range(w.num_nodes):
            if not found and is_open(w, i):
                found = may_stand(w, tree, i, task)
        if not found:
            return False
    return True


def may_stand(w: World, tree: Tree, i: int, task: int) -> bool:
    """Return whether *task* fits node *i*, and no task queued on the node waits for
    *task*.

    A task that stood behind one that waits for it would never start (workflow rule 10).
    """
    if not tree.fits[task * w.num_nodes + i]:
        return False
    late = held_up(w, tree, task)
    for p in range(w.nodes[i].head, queue_end(w, i)):
        if (late >> w.places[p].entry) & 1:
            return False
    return True


def held_up(w: World, tree: Tree, task: int) -> int:
    """Return, as a bit set, the tasks that cannot start before *task* has ended.

    They need files of *task* directly or indirectly, or are queued behind a task that
    does.
    """
    late = tree.below[task]
    grown = True
    while grown:
        grown = False
        for i in range(w.num_nodes):
            waits = False
            for p in range(w.nodes[i].head, queue_end(w, i)):
                e = w.places[p].entry
                waits = waits or ((late >> e) & 1) != 0
                more = late | (1 << e) | tree.below[e]
                if waits and more != late:
                    late = more
                    grown = True
    return late
