"""Branch and bound over the queues of a plan, along their exact replay.

The same code runs in plain Python and compiled. The replay of a node depends on the
first task of its queue and, if its disk is nearly full, on what all queued tasks read
later. The queues therefore grow during the replay. When a step of the replay needs the
next entry of a queue (counter ``WANTED`` of the simulator), the search branches: the
entry may be any task that may come next, or the end of the queue. Each set of queues is
visited once, and queues with a common beginning share the replay of that beginning. The
module :mod:`ioopt.solvers.replication.exact.queue_bound` computes the lower bound of a
branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ioopt.sim.replication.disk import NO_PLACE, is_open
from ioopt.sim.replication.kernel import (
    complete,
    leave_unassigned,
    next_event,
    passes,
    reset,
)
from ioopt.sim.replication.moves import share_out
from ioopt.sim.replication.state import (
    CLOSED,
    ENDED,
    EVICTIONS,
    OPEN,
    SAVING,
    SPILLS,
    WANTED,
    Instance,
    Log,
    Queues,
    State,
)
from ioopt.solvers.replication.exact.queue_bound import Path, seconds_at_least

if TYPE_CHECKING:
    from ioopt.compiled import Floats, Ints

DEPTH = 0
VISITED = 1
FOUND = 2
PRESSED = 3
BEGUN = 4
"""Cells of ``Tree.numbers``.

They are the depth of the search, the number of children replayed, the number of better
plans found, whether a file was ever evicted or saved to make room, and whether the
search has begun. Eviction policies differ only if a file was evicted or saved.
"""
UPPER = 0
ROOT = 1
"""Cells of ``Tree.seconds``: the least makespan known, and the bound of the root."""
DONE = 0
LIMIT = 1
ENDS = 0
ASKS = 1
FAILS = 2
CLOSE = -1
CLOSE_ENOUGH = 1e-9
"""Smallest relative improvement of the makespan that is searched for."""


class Tree(NamedTuple):
    """The stack of the search.

    The state of the simulator and the queues are stored in one block of ``words``, so
    that one copy saves both. ``before`` is a copy of the block from the beginning of
    the present instant. Row ``depth * (tasks + 2)`` of ``kept`` is the block at the
    branching of that depth; the following rows are its children. For each depth,
    ``children`` is the number of children, and ``at`` the position of the next child to
    visit. For each depth and child, ``row`` is the row in ``kept``, and ``bound`` the
    lower bound in seconds.

    ``below``: for each task, the tasks that need its files directly or indirectly, as a
    bit set. ``fits``: at ``task * num_nodes + node``, 1 if the task fits the node.
    ``best``: the entries of the best plan.
    """

    words: Ints
    before: Ints
    kept: Ints
    children: Ints
    at: Ints
    row: Ints
    bound: Floats
    below: Ints
    fits: Ints
    best: Ints
    numbers: Ints
    seconds: Floats


def search(
    inst: Instance,
    plan: Queues,
    st: State,
    log: Log,
    tree: Tree,
    path: Path,
    limit: int,
) -> int:
    """Continue the search until *limit* children are replayed (LIMIT) or none are left
    (DONE).
    """
    numbers = tree.numbers
    width = inst.num_tasks + 2
    if not numbers[BEGUN]:
        begin(inst, plan, st, tree)
        numbers[BEGUN] = 1
        if go_on(inst, plan, st, log, tree) == ASKS:
            numbers[DEPTH] = 0
            branch(inst, plan, st, log, tree, path, 0, 0.0)
        else:
            leaf(inst, plan, st, tree)
            numbers[DEPTH] = -1
    while numbers[DEPTH] >= 0:
        if numbers[VISITED] >= limit:
            return LIMIT
        depth = numbers[DEPTH]
        child = depth * width + tree.at[depth]
        if tree.at[depth] >= tree.children[depth] or not worth(tree, tree.bound[child]):
            tree.children[depth] = 0
            tree.at[depth] = 0
            numbers[DEPTH] = depth - 1
            continue
        tree.at[depth] += 1
        load(tree, tree.row[child])
        numbers[DEPTH] = depth + 1
        branch(inst, plan, st, log, tree, path, depth + 1, tree.bound[child])
    return DONE


def worth(tree: Tree, bound: float) -> bool:
    """Return whether *bound* allows a shorter makespan than that of the best plan."""
    return bool(bound < tree.seconds[UPPER] * (1.0 - CLOSE_ENOUGH))


def begin(inst: Instance, plan: Queues, st: State, tree: Tree) -> None:
    """Set the state to time 0, with all queues empty but open, and all tasks
    unassigned.
    """
    reset(inst, plan, st)
    leave_unassigned(inst, st)
    for i in range(inst.num_nodes):
        plan.entry[plan.ptr[i]] = OPEN
        st.head[i] = plan.ptr[i]


def keep(tree: Tree, row: int) -> None:
    """Copy the present state into row *row* of ``kept``."""
    length = len(tree.words)
    for x in range(length):
        tree.kept[row * length + x] = tree.words[x]


def load(tree: Tree, row: int) -> None:
    """Restore the present state from row *row* of ``kept``."""
    length = len(tree.words)
    for x in range(length):
        tree.words[x] = tree.kept[row * length + x]


def go_on(inst: Instance, plan: Queues, st: State, log: Log, tree: Tree) -> int:
    """Replay until a queue needs its next entry (ASKS), the replay ends (ENDS) or fails
    (FAILS).

    With ASKS, everything done at the present instant is undone. A replay fails if it
    gets stuck or cannot beat the best plan.
    """
    while True:
        for x in range(len(tree.words)):
            tree.before[x] = tree.words[x]
        passes(inst, plan, st, log, st.clock[0])
        if st.counters[WANTED]:
            wanted = st.counters[WANTED]
            for x in range(len(tree.words)):
                tree.words[x] = tree.before[x]
            st.counters[WANTED] = wanted
            return ASKS
        if st.counters[EVICTIONS] or st.counters[SPILLS]:
            tree.numbers[PRESSED] = 1
        if st.counters[ENDED] == inst.num_tasks and st.counters[SAVING] == 0:
            return ENDS
        share_out(inst, st, st.clock[0])
        now = next_event(inst, st)
        if not worth(tree, now):
            return FAILS
        complete(inst, plan, st, log, now)


def leaf(inst: Instance, plan: Queues, st: State, tree: Tree) -> None:
    """Record the queues of a complete plan if its makespan is the least so far."""
    if worth(tree, st.clock[1]):
        tree.seconds[UPPER] = st.clock[1]
        tree.numbers[FOUND] += 1
        for x in range(len(plan.entry)):
            tree.best[x] = plan.entry[x]


def branch(
    inst: Instance,
    plan: Queues,
    st: State,
    log: Log,
    tree: Tree,
    path: Path,
    depth: int,
    least: float,
) -> None:
    """Replay every child of the present state up to its next branching.

    The children whose bound allows a better plan are stored at *depth*, sorted by
    bound. *least* is the bound of the present state.
    """
    base = depth * (inst.num_tasks + 2)
    keep(tree, base)
    i = st.counters[WANTED] - 1
    tree.children[depth] = 0
    tree.at[depth] = 0
    loose = unassigned(inst, plan)
    for turn in range(inst.num_tasks + 1):
        task = path.urgent[turn]
        load(tree, base)
        st.counters[WANTED] = 0
        rest = loose
        if task != CLOSE:
            if not (loose >> task) & 1 or not may_stand(inst, plan, st, tree, i, task):
                continue
            rest = loose & ~(1 << task)
        put(inst, plan, st, i, task)
        if rest == 0:
            for j in range(inst.num_nodes):
                if is_open(plan, st, j) >= 0:
                    put(inst, plan, st, j, CLOSE)
        if not runs_on(inst, plan, st, tree, rest):
            continue
        tree.numbers[VISITED] += 1
        bound = max(least, seconds_at_least(inst, plan, st, path))
        if not worth(tree, bound):
            continue
        verdict = go_on(inst, plan, st, log, tree)
        if verdict == ENDS:
            leaf(inst, plan, st, tree)
        if verdict != ASKS:
            continue
        bound = max(bound, seconds_at_least(inst, plan, st, path))
        if not worth(tree, bound):
            continue
        # Insert the child in order of its bound. Its state goes to the next free row.
        place = tree.children[depth]
        keep(tree, base + 1 + place)
        while place > 0 and tree.bound[base + place - 1] > bound:
            tree.bound[base + place] = tree.bound[base + place - 1]
            tree.row[base + place] = tree.row[base + place - 1]
            place -= 1
        tree.bound[base + place] = bound
        tree.row[base + place] = base + 1 + tree.children[depth]
        tree.children[depth] += 1


def unassigned(inst: Instance, plan: Queues) -> int:
    """Return the tasks that are in no queue, as a bit set."""
    loose = (1 << inst.num_tasks) - 1
    for i in range(inst.num_nodes):
        p = plan.ptr[i]
        while p < plan.ptr[i + 1] and plan.entry[p] >= 0:
            loose &= ~(1 << plan.entry[p])
            p += 1
    return loose


def put(inst: Instance, plan: Queues, st: State, i: int, task: int) -> None:
    """Append *task* to the queue of node *i*; the task CLOSE ends the queue."""
    p = st.head[i]
    while plan.entry[p] >= 0:
        p += 1
    if task == CLOSE:
        plan.entry[p] = CLOSED
        return
    plan.entry[p] = task
    if p + 1 < plan.ptr[i + 1]:
        plan.entry[p + 1] = OPEN
    for x in range(inst.ptr[task], inst.ptr[task + 1]):
        f = inst.files[x]
        st.follow[x] = NO_PLACE
        place = st.nxt[i * inst.num_files + f]
        if place == NO_PLACE:
            st.nxt[i * inst.num_files + f] = p
        while place != NO_PLACE:
            e = plan.entry[place]
            y = inst.ptr[e]
            while inst.files[y] != f:
                y += 1
            place = st.follow[y]
            if place == NO_PLACE:
                st.follow[y] = p


def runs_on(inst: Instance, plan: Queues, st: State, tree: Tree, loose: int) -> bool:
    """Return whether every task of the bit set *loose* can still be appended to some
    queue.
    """
    for task in range(inst.num_tasks):
        found = not (loose >> task) & 1
        for i in range(inst.num_nodes):
            if not found and is_open(plan, st, i) >= 0:
                found = may_stand(inst, plan, st, tree, i, task)
        if not found:
            return False
    return True


def may_stand(
    inst: Instance, plan: Queues, st: State, tree: Tree, i: int, task: int
) -> bool:
    """Return whether *task* fits node *i*, and no task queued on the node waits for
    *task*.

    A task that stood behind one that waits for it would never start (workflow rule 10).
    """
    if not tree.fits[task * inst.num_nodes + i]:
        return False
    late = held_up(inst, plan, st, tree, task)
    p = st.head[i]
    while p < plan.ptr[i + 1] and plan.entry[p] >= 0:
        if (late >> plan.entry[p]) & 1:
            return False
        p += 1
    return True


def held_up(inst: Instance, plan: Queues, st: State, tree: Tree, task: int) -> int:
    """Return, as a bit set, the tasks that cannot start before *task* has ended.

    They need files of *task* directly or indirectly, or are queued behind a task that
    does.
    """
    late = tree.below[task]
    grown = True
    while grown:
        grown = False
        for i in range(inst.num_nodes):
            waits = False
            p = st.head[i]
            while p < plan.ptr[i + 1] and plan.entry[p] >= 0:
                e = plan.entry[p]
                waits = waits or bool((late >> e) & 1)
                if waits and (late | (1 << e) | tree.below[e]) != late:
                    late |= (1 << e) | tree.below[e]
                    grown = True
                p += 1
    return int(late)
