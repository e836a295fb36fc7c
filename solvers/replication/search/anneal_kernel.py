"""Anneal the additive batch time, equation (13).

The same code runs in plain Python and compiled. A state is a node for every task and a
root for every file. The root fetches the file and sends it to every other node where a
task reads it. If copies do not pay, every such node fetches the file instead. Loads are
whole units, so that moves are undone exactly. Random numbers are those of Park and
Miller's generator, so that the kernel gives the same answer compiled or not. The energy
is the sum over the nodes of (load / scale)^16, plus a penalty for bytes beyond a disk.
The largest load dominates this sum, but every load changes it.
"""

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
class State:
    """What a run changes.

    ``node``: node of each task. ``root``: root of each file. ``readers``: at ``file *
    num_nodes + node``, the number of tasks on the node that read the file. ``others``:
    for each file, the number of nodes to which its root sends it. ``load`` and
    ``used``: units and stored bytes of each node. ``best_node`` and ``best_root`` are
    those of the best state, ``best_load`` is its largest load, and ``best_over`` its
    bytes that do not fit. ``trail``: pairs (file, root before this step), of which
    ``trail_length`` numbers are used. ``seed``: the state of the generator of random
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
    seed: int
    step: int
    best_load: int
    best_over: int
    trail_length: int


def draw(state: State, below: int) -> int:
    """Return the next random number from 0 to *below* - 1."""
    state.seed = state.seed * MULTIPLIER % MODULUS
    return state.seed % below


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
    """Move *task* to *node*.

    The task may be the last reader of a file on its former node. If that node is the
    root of the file, *node* becomes the root.
    """
    before = state.node[task]
    shift(data, state, task, node)
    if data.copying == 0:
        return
    for x in range(data.ptr[task], data.ptr[task + 1]):
        file = data.files[x]
        idle = state.readers[file * data.num_nodes + before] == 0
        if idle and state.root[file] == before and not data.fixed_root[file]:
            note(state, file, before)
            reroot(data, state, file, node)


def note(state: State, file: int, root: int) -> None:
    """Append *file* and its present *root* to the trail, before the step changes the
    root.
    """
    state.trail[state.trail_length] = file
    state.trail[state.trail_length + 1] = root
    state.trail_length += 2


def undo_roots(data: Data, state: State) -> None:
    """Restore the roots that this step changed, the last change first."""
    while state.trail_length > 0:
        state.trail_length -= 2
        at = state.trail_length
        reroot(data, state, state.trail[at], state.trail[at + 1])


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
        kind = draw(state, 8)
        state.trail_length = 0
        first = -1
        second = -1
        at = 0
        back = 0
        if kind < 3 and data.copying == 1 and data.num_files > 0:
            file = draw(state, data.num_files)
            target = other_node(data, state, state.root[file])
            if kind > 0:
                other = draw(state, data.num_files)
                target = state.root[other]
                if target == state.root[file]:
                    continue
                if not may_root(data, other, state.root[file]):
                    continue
                note(state, other, target)
                reroot(data, state, other, state.root[file])
            if not may_root(data, file, target):
                undo_roots(data, state)
                continue
            note(state, file, state.root[file])
            reroot(data, state, file, target)
        else:
            first = draw(state, data.num_tasks)
            at = state.node[first]
            target = other_node(data, state, at)
            if kind < 5:
                second = draw(state, data.num_tasks)
                back = state.node[second]
                if back == at:
                    continue
                target = back
            move(data, state, first, target)
            if second >= 0:
                move(data, state, second, at)
        after = energy(data, state)
        if after <= limit:
            if after < now:
                keep_best(data, state)
            now = after
            continue
        undo_roots(data, state)
        if second >= 0:
            shift(data, state, second, back)
        if first >= 0:
            shift(data, state, first, at)
