"""Anneal the additive batch time (ours); ``ip`` starts from the resulting plan.

The first state puts each task on a node with a low load where few new bytes must
arrive. A move sends a task to another node, exchanges two tasks, or lets another node
fetch a file. Runs with equal instance, seed and number of steps are equal.
"""

import math
from functools import partial

from ioopt.compiled.library import maker
from ioopt.compiled.memory import Maker
from ioopt.models.replication import bounds
from ioopt.models.replication.static import (
    Moves,
    StaticInstance,
    tidied,
)
from ioopt.options import Deadline
from ioopt.solvers.replication.plans import flat, lacking
from ioopt.solvers.replication.search import anneal_kernel as kernel

HOTTEST = 0.2
"""First temperature, as a share of the scale of loads (0 to 1).

This and ``COLDEST`` were chosen on the sweep ``additive``: IMAGE-85, SAT-85 and PPA.
"""
COLDEST = 0.0006
"""Last temperature, as a share of the same scale (0 to ``HOTTEST``)."""
PIECE = 4_000
"""Steps between two checks of the clock with the kernel in plain Python; compiled,
the number is ``Maker.times`` as large.
"""
STEP_SECONDS = 1e-5
"""Seconds of a step of the kernel in plain Python on a busy machine (measured)."""
STEP_SECONDS_PER_READ = 2e-6
"""Further seconds of a step per mean number of inputs of a task (measured)."""
STEP_SECONDS_PER_NODE = 5e-7
"""Further seconds of a step for each node (measured)."""


def anneal(
    instance: StaticInstance,
    replication: bool,
    seed: int,
    steps: int,
    deadline: Deadline,
    start: tuple[int, ...] | None = None,
) -> tuple[Moves | None, bool]:
    """Return the best plan found, and whether all *steps* ended before *deadline*.

    The plan is None if no state was found that fits the disks. *start* gives a node for
    every task, by default :func:`placed_by_disk`.
    """
    scale = max(float(bounds.area(instance)), float(bounds.largest_task(instance)), 1.0)
    make = maker(sum(instance.sizes) * instance.num_nodes)
    run = make.function(kernel.run)
    data = _data(instance, replication, make)
    state = _state(instance, data, list(start or placed_by_disk(instance)), seed, make)
    # On small disks, loads stay far above an even share. If the scale were an even
    # share, their energy would outweigh the penalty for bytes beyond a disk.
    data.scale = max(scale, float(max(state.load)))
    kernel.keep_best(data, state)
    taken = 0
    piece = round(PIECE * make.times)
    while taken < steps and instance.num_nodes > 1 and instance.problem.tasks:
        if deadline.expired():
            break
        some = min(piece, steps - taken)
        run(data, state, some, steps)
        taken += some
    complete = taken >= steps or instance.num_nodes == 1
    if state.best_over > 0:
        return None, complete
    return _decoded(instance, data, state), complete


def steps_within(
    instance: StaticInstance, seconds: float, rounds: int, deadline: Deadline
) -> int:
    """Return the number of steps with which *rounds* runs of annealing end within
    *seconds*.

    The number is that of each run, and lies between 2,000 and 6 million.
    """
    rate = maker().times / _step_seconds(instance)
    return int(min(max(2_000.0, rate * seconds / rounds), 6_000_000.0))


def _step_seconds(instance: StaticInstance) -> float:
    """Return the estimated seconds of one step of the kernel in plain Python on a busy
    machine.
    """
    requests = sum(group.count * len(group.inputs) for group in instance.classes)
    reads = max(1.0, requests / max(1, len(instance.problem.tasks)))
    return (
        STEP_SECONDS
        + STEP_SECONDS_PER_READ * reads
        + STEP_SECONDS_PER_NODE * instance.num_nodes
    )


def _data(instance: StaticInstance, replication: bool, make: Maker) -> kernel.Data:
    """Return the constant data of *instance* for the kernel, all but the scale of
    loads.

    Without *replication* every node fetches its files.
    """
    nodes = instance.num_nodes
    files = instance.num_files
    problem = instance.problem
    ptr, listed = flat(instance.classes[k].inputs for k in instance.class_of)
    work: list[int] = []
    for k in instance.class_of:
        work.extend(instance.work[k])
    held: list[int] = []
    fixed: list[int] = []
    for f in range(files):
        row = [int(f in instance.held[i]) for i in range(nodes)]
        held += row
        fixed.append(int(any(row)))
    pays = 2 * problem.network.remote_bytes_per_second < problem.copy_bytes_per_second
    middles = [(k + 0.5) / kernel.LOG_TABLE for k in range(kernel.LOG_TABLE)]
    ratio = (COLDEST / HOTTEST) ** (1.0 / (kernel.TEMPERATURES - 1))
    return make.table(
        kernel.Data,
        num_nodes=nodes,
        num_tasks=len(instance.class_of),
        num_files=files,
        ptr=make.ints(ptr),
        files=make.ints(listed),
        work=make.ints(work),
        far=make.ints(instance.far),
        near=make.ints(instance.near),
        sizes=make.ints(instance.sizes),
        held=make.ints(held),
        fixed_root=make.ints(fixed),
        room=make.ints([-1 if room is None else room for room in instance.room]),
        copying=int(replication and pays),
        scale=1.0,
        disk_scale=float(max(instance.sizes, default=1) or 1),
        logs=make.floats([-math.log(middle) for middle in middles]),
        temperatures=make.floats(
            [HOTTEST * ratio**k for k in range(kernel.TEMPERATURES)]
        ),
    )


def _state(
    instance: StaticInstance,
    data: kernel.Data,
    assign: list[int],
    seed: int,
    make: Maker,
) -> kernel.State:
    """Return the kernel's state in which the tasks run on the nodes *assign*.

    The root of a file is the node that fetches it and sends it on. At first this is a
    node that holds the file from the start, else the node of its first reader.
    """
    nodes = data.num_nodes
    files = data.num_files
    root = [0] * files
    for task in reversed(range(data.num_tasks)):
        for x in range(data.ptr[task], data.ptr[task + 1]):
            root[data.files[x]] = assign[task]
    for file in range(files):
        if data.fixed_root[file]:
            root[file] = instance.holders(file)[0]
    longest = max(
        (data.ptr[k + 1] - data.ptr[k] for k in range(data.num_tasks)), default=0
    )
    used = [sum(instance.sizes[file] for file in held) for held in instance.held]
    load = [0] * nodes
    if data.copying:
        for file in range(files):
            if not data.fixed_root[file]:
                load[root[file]] += instance.far[file]
                used[root[file]] += instance.sizes[file]
    for task, node in enumerate(assign):
        load[node] += data.work[task * nodes + node]
    most = 1 << 62
    state = make.table(
        kernel.State,
        node=make.ints(assign),
        root=make.ints(root),
        readers=make.ints([0] * (files * nodes)),
        others=make.ints([0] * files),
        load=make.ints(load),
        used=make.ints(used),
        best_node=make.ints(assign),
        best_root=make.ints(root),
        trail=make.ints([0] * (8 * longest + 8)),
        moved=make.records(kernel.Moved, 2),
        seed=seed % (kernel.MODULUS - 2) + 1,
        best_load=most,
        best_over=most,
    )
    for task, node in enumerate(assign):
        for x in range(data.ptr[task], data.ptr[task + 1]):
            kernel.read(data, state, data.files[x], node, 1)
    return state


def _decoded(instance: StaticInstance, data: kernel.Data, state: kernel.State) -> Moves:
    """Return the best state as a plan: each root fetches its file and sends it to the
    readers.
    """
    assign = tuple(state.best_node)
    wanted = lacking(instance, assign)
    if not data.copying:
        return Moves(assign, tuple(wanted), ())
    remote = set()
    copies = []
    for file, node in wanted:
        root = state.best_root[file]
        if not data.fixed_root[file]:
            remote.add((file, root))
        if node != root:
            copies.append((file, root, node))
    return tidied(instance, Moves(assign, tuple(sorted(remote)), tuple(copies)))


def placed_by_disk(instance: StaticInstance) -> tuple[int, ...]:
    """Return, for every task, a node with room for its files, a low load and few new
    bytes.

    Task classes with the most work are placed first.
    """
    sizes = instance.sizes
    nodes = range(instance.num_nodes)
    ceiling = bounds.area(instance)
    disks = [node.disk_bytes for node in instance.problem.nodes]
    files = [set(held) for held in instance.held]
    known = set().union(*files)
    stored = [sum(sizes[file] for file in held) for held in files]
    load = [0] * len(nodes)
    where = [0] * len(instance.problem.tasks)

    def rank(k: int, wanted: int, i: int) -> tuple[int, ...]:
        """Return the sort key of node *i* for a task of class *k*; the least key is
        chosen.

        *wanted* is the number of input bytes of the task.
        """
        disk = disks[i]
        room = instance.room[i]
        here = files[i]
        new = sum([sizes[f] for f in instance.classes[k].inputs if f not in here])
        slowed = load[i] + instance.work[k][i] - instance.least_work[k]
        able = disk is None or wanted <= disk
        fits = able and (room is None or stored[i] + new <= room)
        return not able, not fits, slowed > ceiling, new, slowed, i

    most_work_first = sorted(
        range(len(instance.classes)), key=lambda k: (-sum(instance.work[k]), k)
    )
    for k in most_work_first:
        group = instance.classes[k]
        chosen = []
        wanted = sum(sizes[file] for file in group.inputs)
        for _ in group.tasks:
            node = min(nodes, key=partial(rank, k, wanted))
            for file in set(group.inputs) - files[node]:
                stored[node] += sizes[file]
                if file in known:
                    load[node] += instance.near[file]
                else:
                    load[node] += instance.far[file]
                files[node].add(file)
                known.add(file)
            load[node] += instance.work[k][node]
            chosen.append(node)
        for task, node in zip(group.tasks, sorted(chosen), strict=True):
            where[task] = node
    return tuple(where)
