"""Anneal the additive batch time, equation (13).

The same code runs in plain Python and compiled. A state is a node for every task and a
root for every file. The root fetches the file and sends it to every other node where a
task reads it. If copies do not pay, every such node fetches the file instead. Loads are
whole units, so that moves are undone exactly. Random numbers are those of Park and
Miller's generator, so that the kernel gives the same answer compiled or not. The energy
is the sum over the nodes of (load / scale)^16, plus a penalty for bytes beyond a disk.
The largest load dominates this sum, but every load changes it.
"""

from collections.abc import Callable
from dataclasses import dataclass

MODULUS = 2147483647
MULTIPLIER = 16807
LOG_TABLE = 4096
"""Size of the table of logarithms of uniform random numbers."""
TEMPERATURES = 512
"""Number of temperatures of a run."""


@dataclass(slots=True)
class Data:
    """The constant data of one instance.

    Task k reads ``files[ptr[k]:ptr[k + 1]]``. ``work``: at ``task * num_nodes + node``,
    units of computing. For each file, ``far``: units of a fetch; ``near``: units of one
    end of a copy; ``sizes``: bytes; ``fixed_root``: 1 if some node holds it from the
    start. ``held``: at ``file * num_nodes + node``, 1 if the node holds the file from
    the start. ``room``: bytes of each disk, -1 if unlimited. ``copying``: 0 if every
    node fetches its files. ``scale`` and ``disk_scale``: the units and the bytes that
    count as 1 in the energy. ``logs``: table of ``-log(u)`` for uniform numbers u.
    ``temperatures``: one for each part of a run.
    """

    num_nodes: int
    num_tasks: int
    num_files: int
    ptr: list[int]
    files: list[int]
    work: list[int]
    far: list[int]
    near: list[int]
    sizes: list[int]
    held: list[int]
    fixed_root: list[int]
    room: list[int]
    copying: int
    scale: float
    disk_scale: float
    logs: list[float]
    temperatures: list[float]


@dataclass(slots=True)
class Moved:
    """A task that a step has moved, and its node before the step."""

    task: int
    node: int


@dataclass(slots=True)
class State:
    """What a run changes.

    ``node``: node of each task. ``root``: root of each file. ``readers``: at ``file *
    num_nodes + node``, the number of tasks on the node that read the file. ``others``:
    for each file, the number of nodes to which its root sends it. ``load`` and
    ``used``: units and stored bytes of each node. ``best_node`` and ``best_root`` are
    those of the best state, ``best_load`` is its largest load, and ``best_over`` its
    bytes that do not fit. ``trail``: pairs (file, root before this step), of which
    ``trail_length`` numbers are used. ``moved``: the tasks that this step has moved, of
    which ``num_moved`` are used. ``seed``: the state of the generator of random
    numbers. ``step``: the number of steps taken.
    """

    node: list[int]
    root: list[int]
    readers: list[int]
    others: list[int]
    load: list[int]
    used: list[int]
    best_node: list[int]
    best_root: list[int]
    trail: list[int]
    moved: list[Moved]
    seed: int
    step: int
    best_load: int
    best_over: int
    trail_length: int
    num_moved: int


def draw(state: State, below: int) -> int:
    """Return the next random number from 0 to *below* - 1."""
    state.seed = state.seed * MULTIPLIER % MODULUS
    return state.seed % below


def skip_draw(state: State) -> None:
    """Pass over one random number.

    Exchanges pass over the number by which other moves draw a node, so that a seed
    gives the plan that it always gave.
    """
    draw(state, 1)


def read(data: Data, state: State, file: int, node: int, step: int) -> None:
    """Add (*step* 1) or remove (*step* -1) one task on *node* that reads *file*.

    Loads and stored bytes are updated.
    """
    x = file * data.num_nodes + node
    state.readers[x] += step
    others = state.readers[x] - (1 if step > 0 else 0)
    if others > 0 or data.held[x]:
        return
    if data.copying == 0:
        state.load[node] += step * data.far[file]
        state.used[node] += step * data.sizes[file]
        return
    root = state.root[file]
    if root != node:
        state.load[node] += step * data.near[file]
        state.load[root] += step * data.near[file]
        state.others[file] += step
        state.used[node] += step * data.sizes[file]


def reroot(data: Data, state: State, file: int, node: int) -> None:
    """Make *node* the root of *file*, and update loads and stored bytes."""
    root = state.root[file]
    far = data.far[file]
    near = data.near[file]
    fixed = data.fixed_root[file]
    fetch = 0 if fixed else far
    state.load[root] -= fetch + near * state.others[file]
    if not fixed:
        if state.readers[file * data.num_nodes + root] > 0:
            state.load[root] += near
            state.others[file] += 1
        else:
            state.used[root] -= data.sizes[file]
        if state.readers[file * data.num_nodes + node] > 0:
            state.load[node] -= near
            state.others[file] -= 1
        else:
            state.used[node] += data.sizes[file]
    state.load[node] += fetch + near * state.others[file]
    state.root[file] = node


def move(data: Data, state: State, task: int, node: int) -> None:
    """Move *task* to *node*, and note its former node.

    The task may be the last reader of a file on its former node. If that node is the
    root of the file, *node* becomes the root.
    """
    before = state.node[task]
    moved = state.moved[state.num_moved]
    moved.task = task
    moved.node = before
    state.num_moved += 1
    shift(data, state, task, node)
    if data.copying == 0:
        return
    for x in range(data.ptr[task], data.ptr[task + 1]):
        file = data.files[x]
        idle = state.readers[file * data.num_nodes + before] == 0
        if idle and state.root[file] == before and not data.fixed_root[file]:
            change_root(data, state, file, node)


def change_root(data: Data, state: State, file: int, node: int) -> None:
    """Make *node* the root of *file*; append the file and its former root to the
    trail.
    """
    state.trail[state.trail_length] = file
    state.trail[state.trail_length + 1] = state.root[file]
    state.trail_length += 2
    reroot(data, state, file, node)


def shift(data: Data, state: State, task: int, node: int) -> None:
    """Move *task* to *node*; leave every root unchanged."""
    before = state.node[task]
    for x in range(data.ptr[task], data.ptr[task + 1]):
        read(data, state, data.files[x], before, -1)
        read(data, state, data.files[x], node, 1)
    state.load[before] -= data.work[task * data.num_nodes + before]
    state.load[node] += data.work[task * data.num_nodes + node]
    state.node[task] = node


def energy(data: Data, state: State) -> float:
    """Return the sum of (load / scale)^16 over all nodes, plus a penalty for bytes that
    do not fit.

    For each node with too many bytes, the penalty is 0.5 plus 10 times the excess bytes
    divided by ``disk_scale``.
    """
    total = 0.0
    for node in range(data.num_nodes):
        part = state.load[node] / data.scale
        part = part * part
        part = part * part
        part = part * part
        total += part * part
        if data.room[node] >= 0 and state.used[node] > data.room[node]:
            total += 0.5 + 10.0 * (
                (state.used[node] - data.room[node]) / data.disk_scale
            )
    return total


def keep_best(data: Data, state: State) -> None:
    """Record the present state if it is the best so far.

    Fewer bytes beyond the disks are better; with equal bytes, a lower largest load.
    """
    most = 0
    over = 0
    for node in range(data.num_nodes):
        most = max(most, state.load[node])
        if data.room[node] >= 0 and state.used[node] > data.room[node]:
            over += state.used[node] - data.room[node]
    if over > state.best_over:
        return
    if over == state.best_over and most >= state.best_load:
        return
    state.best_load = most
    state.best_over = over
    for k in range(data.num_tasks):
        state.best_node[k] = state.node[k]
    for file in range(data.num_files):
        state.best_root[file] = state.root[file]


def may_root(data: Data, file: int, node: int) -> bool:
    """Return whether *node* may send *file*; a file held from the start is sent by
    holders only.
    """
    return data.fixed_root[file] == 0 or data.held[file * data.num_nodes + node] == 1


def other_node(data: Data, state: State, node: int) -> int:
    """Return a random node other than *node*."""
    chosen = draw(state, data.num_nodes - 1)
    return chosen + 1 if chosen >= node else chosen


def move_root(data: Data, state: State) -> bool:
    """Make a random node the root of a random file; return whether the node may be."""
    file = draw(state, data.num_files)
    node = other_node(data, state, state.root[file])
    if not may_root(data, file, node):
        return False
    change_root(data, state, file, node)
    return True


def exchange_roots(data: Data, state: State) -> bool:
    """Exchange the roots of two random files; return whether this is allowed and
    changes anything.
    """
    file = draw(state, data.num_files)
    skip_draw(state)
    other = draw(state, data.num_files)
    node = state.root[other]
    before = state.root[file]
    if node == before:
        return False
    if not may_root(data, other, before) or not may_root(data, file, node):
        return False
    change_root(data, state, other, before)
    change_root(data, state, file, node)
    return True


def exchange_tasks(data: Data, state: State) -> bool:
    """Exchange the nodes of two random tasks; return whether this changes anything."""
    first = draw(state, data.num_tasks)
    skip_draw(state)
    second = draw(state, data.num_tasks)
    node = state.node[first]
    if state.node[second] == node:
        return False
    move(data, state, first, state.node[second])
    move(data, state, second, node)
    return True


def send_task(data: Data, state: State) -> bool:
    """Send a random task to another node; return True."""
    task = draw(state, data.num_tasks)
    move(data, state, task, other_node(data, state, state.node[task]))
    return True


@dataclass(frozen=True, slots=True)
class Move:
    """A kind of move: how many of eight moves it makes, if files are copied and if
    every node fetches its files, and the function that makes it.

    The function returns False if it leaves the state as it is.
    """

    name: str
    with_copies: int
    without: int
    make: Callable[[Data, State], bool]


MOVES = (
    Move("let another node fetch a file", 1, 0, move_root),
    Move("exchange the roots of two files", 2, 0, exchange_roots),
    Move("exchange the nodes of two tasks", 2, 5, exchange_tasks),
    Move("send a task to another node", 3, 3, send_task),
)
"""The moves of a run. Each column has the sum 8."""


def change(data: Data, state: State) -> bool:
    """Make one random move of ``MOVES``; return whether the state changed."""
    roots = data.copying == 1 and data.num_files > 0
    kind = draw(state, 8)
    for row in MOVES:
        kind -= row.with_copies if roots else row.without
        if kind < 0:
            return row.make(data, state)
    return False


def undo(data: Data, state: State) -> None:
    """Take back the move of this step: the roots first, then the tasks, the last change
    first.
    """
    while state.trail_length > 0:
        state.trail_length -= 2
        at = state.trail_length
        reroot(data, state, state.trail[at], state.trail[at + 1])
    while state.num_moved > 0:
        state.num_moved -= 1
        moved = state.moved[state.num_moved]
        shift(data, state, moved.task, moved.node)


def run(data: Data, state: State, steps: int, total: int) -> None:
    """Take *steps* of the *total* steps of an annealing run, from the present state."""
    now = energy(data, state)
    for _ in range(steps):
        step = state.step
        state.step = step + 1
        heat = data.temperatures[min(step * TEMPERATURES // total, TEMPERATURES - 1)]
        # Compare energies relative to the present one, because with a few large tasks
        # all energies are far above that of an even load.
        limit = now * (1.0 + heat * data.logs[draw(state, LOG_TABLE)] / data.num_nodes)
        state.trail_length = 0
        state.num_moved = 0
        if not change(data, state):
            continue
        after = energy(data, state)
        if after > limit:
            undo(data, state)
            continue
        if after < now:
            keep_best(data, state)
        now = after
