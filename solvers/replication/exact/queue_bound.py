"""Compute lower bounds of the makespan from the exact state of a replay.

The text runs in plain Python and compiled. The bound is valid for all ways to
complete the queues and for every eviction policy. It is the largest of three:

- the end of the longest chain of waiting tasks, with each queued task on its node, and
  every other task on the node where it would end first;

- the computing left on the cores, plus the time that must follow it;

- the bytes that must still cross the shared link, plus the time that must follow each
  file.
"""

from dataclasses import dataclass

from ioopt.compiled.memory import Int32
from ioopt.sim.fluid import left_on
from ioopt.sim.replication.disk import NO_PLACE, is_open, queue_end
from ioopt.sim.replication.world import World

LOOSE = 0
QUEUED = 1
RUNNING = 2
ENDED_TASK = 3


@dataclass(slots=True)
class PathTask:
    """A task. Times are in seconds.

    ``quick``: compute time on the fastest node. ``tail``: the least time that must
    follow its end. The other fields are scratch: its ``state``, the node that it is
    ``on`` (-1: none), and its earliest ``start`` and ``end``.
    """

    quick: float
    tail: float
    start: float
    end: float
    state: Int32
    on: Int32


@dataclass(slots=True)
class PathFile:
    """A file. ``far``: the least seconds from or to the remote storage. ``producer``:
    the task that writes it (-1: none).

    Scratch: ``owed``, the bytes that must still cross the link, and ``after``, the tail
    of the file in seconds.
    """

    far: float
    after: float
    owed: float
    producer: Int32


@dataclass(slots=True)
class PathCore:
    """Scratch: a core, the time when it is ``free``, and its ``power``."""

    free: float
    power: float


@dataclass(slots=True)
class Path:
    """The data from which the bounds of one instance are computed.

    ``order``: the tasks, each after its predecessors. ``urgent``: the tasks in order of
    falling tail, then -1. ``near``: seconds per byte through an interface of a node.
    ``remote_rate``: bytes per second of all remote links together. ``fits``: at ``task
    * num_nodes + node``, 1 if the task fits the node.
    """

    near: float
    remote_rate: float
    tasks: list[PathTask]
    files: list[PathFile]
    cores: list[PathCore]
    order: list[int]
    urgent: list[int]
    fits: list[int]


def seconds_at_least(w: World, path: Path) -> float:
    """Return a lower bound of the makespan in seconds, however the queues are
    completed.
    """
    survey(w, path)
    best = max(w.run.last_end, longest_path(w, path))
    best = max(best, work_left(w, path))
    return max(best, bytes_left(w, path))


def survey(w: World, path: Path) -> None:
    """Record for every task whether it is unassigned, queued, running or ended, and its
    node.
    """
    now = w.run.now
    for task in path.tasks:
        task.state = LOOSE
        task.on = -1
        task.start = now
        task.end = now
    for i in range(w.num_nodes):
        for p in range(w.nodes[i].head, queue_end(w, i)):
            task = path.tasks[w.places[p].entry]
            task.state = QUEUED
            task.on = i
    for core in w.cores:
        if core.entry >= 0:
            task = path.tasks[core.entry]
            task.state = RUNNING
            task.on = core.node
            if core.end < float("inf"):
                task.end = core.end
    for x in range(w.run.ended):
        path.tasks[w.finished[x]].state = ENDED_TASK


def longest_path(w: World, path: Path) -> float:
    """Return a lower bound of the makespan from chains of tasks that wait for each
    other.

    It also records the earliest start and end of each task.
    """
    best = 0.0
    for k in path.order:
        task = path.tasks[k]
        compute = w.entries[k].compute
        overhead = w.entries[k].overhead
        if task.state == QUEUED:
            task.start = earliest(w, path, k, task.on)
            task.end = task.start + (overhead + compute / w.nodes[task.on].speed)
        elif task.state == LOOSE:
            task.start = float("inf")
            task.end = float("inf")
            for i in range(w.num_nodes):
                if path.fits[k * w.num_nodes + i] and is_open(w, i):
                    start = earliest(w, path, k, i)
                    task.start = min(task.start, start)
                    busy = overhead + compute / w.nodes[i].speed
                    task.end = min(task.end, start + busy)
        if task.state != ENDED_TASK:
            best = max(best, task.end + task.tail)
    return best


def earliest(w: World, path: Path, k: int, i: int) -> float:
    """Return the earliest time at which task *k* can start on node *i*."""
    now = w.run.now
    node = w.nodes[i]
    entry = w.entries[k]
    start = max(now, entry.release)
    # The files of a queued task are staged only after the entries ahead of it have
    # started, and after its release. Those of an unassigned task may be staged before
    # its release, for tasks that will be queued ahead of it.
    begun = now
    if path.tasks[k].state == QUEUED:
        begun = start
    first = True
    p = node.head
    while p < node.end_place and w.places[p].entry >= 0 and w.places[p].entry != k:
        begun = max(begun, path.tasks[w.places[p].entry].start)
        first = False
        p += 1
    start = max(start, begun)
    missing = 0.0
    for x in range(entry.first_input, entry.end_input):
        f = w.reads[x].file
        cell = w.cells[i * w.num_files + f]
        if cell.has == 1:
            continue
        start = max(start, arrival(w, path, f, i))
        coming = cell.has == 2
        here = is_made_on(path, path.files[f].producer, i)
        # A file that was staged for an earlier entry may already be on the node.
        reader = cell.next_place
        if not (coming or here or NO_PLACE < reader < p):
            missing += w.files[f].size
    if missing > 0 and first and w.fluid.flows[i].file >= 0:
        missing += left_on(w.fluid.flows[i], now)
    start = max(start, begun + missing * path.near)
    return max(start, cores_free(w, k, i))


def is_made_on(path: Path, k: int, i: int) -> bool:
    """Return whether task *k* has not ended, and is on node *i* or may get there; False
    if *k* is -1.
    """
    if k < 0:
        return False
    task = path.tasks[k]
    return task.state != ENDED_TASK and (task.on == -1 or task.on == i)


def nowhere(w: World, f: int) -> bool:
    """Return whether file *f* is only on remote storage and no node receives it."""
    file = w.files[f]
    return file.copies == 0 and file.flying == 0 and file.saved == 2


def arrival(w: World, path: Path, f: int, i: int) -> float:
    """Return the earliest time at which file *f* can be complete on node *i*."""
    now = w.run.now
    file = w.files[f]
    maker = path.files[f].producer
    if maker >= 0 and path.tasks[maker].state != ENDED_TASK:
        hop = 0.0
        if not is_made_on(path, maker, i):
            hop = file.size * path.near
        return path.tasks[maker].end + hop
    if w.cells[i * w.num_files + f].has == 2:
        left = left_on(w.fluid.flows[i], now)
        return now + left * path.near
    if file.copies > 0:
        return now + file.size * path.near
    if file.flying > 0:
        flight = float("inf")
        for j in range(w.num_nodes):
            if w.fluid.flows[j].file == f:
                flight = min(flight, left_on(w.fluid.flows[j], now))
        return now + (flight + file.size) * path.near
    if file.saved == 2:
        return now + path.files[f].far
    return now


def cores_free(w: World, k: int, i: int) -> float:
    """Return the earliest time at which running tasks leave enough cores of node *i*
    for task *k*.
    """
    node = w.nodes[i]
    idle = node.idle
    time = w.run.now
    if w.task_disk:
        # The end of a running task is not known while it uses its disk.
        return time
    while idle < w.entries[k].cores:
        soonest = float("inf")
        for c in range(node.first_core, node.end_core):
            if time < w.cores[c].end < soonest:
                soonest = w.cores[c].end
        if soonest == float("inf"):
            return time
        time = soonest
        idle = node.idle
        for c in range(node.first_core, node.end_core):
            core = w.cores[c]
            if core.entry >= 0 and core.end <= time:
                idle += w.entries[core.entry].cores
    return time


def work_left(w: World, path: Path) -> float:
    """Return a lower bound of the makespan from the computing that has not started.

    For each task in order of falling tail: the task and all before it must be computed
    on the nodes that can still start tasks, and then the tail of the task follows.
    """
    used = 0
    for i in range(w.num_nodes):
        if in_use(w, i):
            used = add_cores(w, path, i, used)
    best = 0.0
    fresh = 0.0
    first = float("inf")
    for turn in range(w.num_tasks):
        k = path.urgent[turn]
        task = path.tasks[k]
        if task.state <= QUEUED:
            fresh += w.entries[k].compute * w.entries[k].cores
            first = min(first, task.start)
            best = max(best, filled(path, used, first, fresh) + task.tail)
    return best


def add_cores(w: World, path: Path, i: int, used: int) -> int:
    """Insert the cores of node *i* into the first *used* of ``path.cores`` in order of
    the times when they are free; return the new number.
    """
    node = w.nodes[i]
    opens = node_opens(w, path, i)
    for c in range(node.first_core, node.end_core):
        free = opens
        running = w.cores[c].entry
        if running >= 0:
            free = max(free, path.tasks[running].end)
        place = used
        while place > 0 and path.cores[place - 1].free > free:
            path.cores[place].free = path.cores[place - 1].free
            path.cores[place].power = path.cores[place - 1].power
            place -= 1
        path.cores[place].free = free
        path.cores[place].power = node.speed
        used += 1
    return used


def in_use(w: World, i: int) -> bool:
    """Return whether node *i* can start another task: one is queued, or its queue may
    grow.
    """
    end = queue_end(w, i)
    return end > w.nodes[i].head or is_open(w, i)


def node_opens(w: World, path: Path, i: int) -> float:
    """Return the earliest time at which node *i* can start its next task.

    This is the first task of its queue or, if the queue is empty, any task that fits.
    """
    node = w.nodes[i]
    if node.head < node.end_place and w.places[node.head].entry >= 0:
        return path.tasks[w.places[node.head].entry].start
    opens = float("inf")
    for k in range(w.num_tasks):
        if path.tasks[k].state == LOOSE and path.fits[k * w.num_nodes + i]:
            opens = min(opens, earliest(w, path, k, i))
    return opens


def filled(path: Path, used: int, first: float, work: float) -> float:
    """Return the earliest end of *work* core-seconds on the first *used* of
    ``path.cores``.

    A core starts when it is free, but not before time *first*.
    """
    power = 0.0
    lost = 0.0
    for c in range(used):
        core = path.cores[c]
        begun = max(first, core.free)
        if begun == float("inf") or (power > 0.0 and begun * power - lost >= work):
            break
        power += core.power
        lost += begun * core.power
    if power > 0.0:
        return (work + lost) / power
    return 0.0


def bytes_left(w: World, path: Path) -> float:
    """Return a lower bound of the makespan from the bytes that must still cross the
    link.

    The tail of a file is the least time from the start of an unstarted reader to the
    end of the run. For each file: the file, and all files with a tail at least as long,
    must cross the link, and then the tail of the file follows.
    """
    now = w.run.now
    whole = owe_bytes(w, path)
    for k in range(w.num_tasks):
        task = path.tasks[k]
        if task.state <= QUEUED:
            tail = task.quick + task.tail
            for x in range(w.entries[k].first_input, w.entries[k].end_input):
                file = path.files[w.reads[x].file]
                file.after = max(file.after, tail)
    best = 0.0
    for file in path.files:
        whole += file.owed
        if file.owed > 0.0:
            total = 0.0
            for other in path.files:
                if other.after >= file.after:
                    total += other.owed
            best = max(best, now + total / path.remote_rate + file.after)
    if whole > 0.0:
        best = max(best, now + whole / path.remote_rate)
    return best


def owe_bytes(w: World, path: Path) -> float:
    """Record the bytes of each file that must still reach a node over the link; return
    the bytes that must still be saved.
    """
    now = w.run.now
    saves = 0.0
    for f in range(w.num_files):
        file = w.files[f]
        path.files[f].owed = 0.0
        path.files[f].after = 0.0
        if file.keep and file.saved == 0:
            saves += file.size
        elif file.need > 0 and nowhere(w, f):
            path.files[f].owed = file.size
    for y in range(len(w.fluid.flows)):
        flow = w.fluid.flows[y]
        if flow.file < 0:
            continue
        if y < w.num_nodes and flow.source < 0:
            path.files[flow.file].owed += left_on(w.fluid.flows[y], now)
        elif y >= w.num_nodes and w.files[flow.file].keep:
            saves += left_on(w.fluid.flows[y], now)
    return saves
