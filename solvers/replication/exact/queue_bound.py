"""Compute lower bounds of the makespan from the exact state of a replay.

The same code runs in plain Python and compiled. The bound is valid for all ways to
complete the queues and for every eviction policy. It is the largest of three:

- the end of the longest chain of waiting tasks, with each queued task on its node, and
  every other task on the node where it would end first;

- the computing left on the cores, plus the time that must follow it;

- the bytes that must still cross the shared link, plus the time that must follow each
  file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ioopt.sim.replication.disk import NO_PLACE, is_open
from ioopt.sim.replication.state import ENDED, Instance, Queues, State

if TYPE_CHECKING:
    from ioopt.compiled import Floats, Ints

LOOSE = 0
QUEUED = 1
RUNNING = 2
ENDED_TASK = 3


class Path(NamedTuple):
    """The data from which the bounds of one instance are computed. Times are in
    seconds.

    ``order``: the tasks, each after its predecessors. For each task, ``quick`` is the
    compute time on the fastest node, and ``tail`` the least time that must follow the
    end of the task. ``urgent``: the tasks in order of falling tail, then -1. ``far``:
    for each file, the least time from or to the remote storage. ``near``: seconds per
    byte through an interface of a node. ``remote_rate``: bytes per second of all remote
    links together. ``producer``: for each file, the task that writes it (-1: none).
    ``fits``: at ``task * num_nodes + node``, 1 if the task fits the node.

    The other fields are scratch. For each task: ``state``, ``on`` (its node), and the
    earliest ``start`` and ``end``. For each file: ``owed``, the bytes that must still
    cross the link, and ``after``, the tail of the file. For each core: the time when it
    is ``free``, and its ``power``.
    """

    order: Ints
    urgent: Ints
    quick: Floats
    tail: Floats
    far: Floats
    near: float
    remote_rate: float
    producer: Ints
    fits: Ints
    state: Ints
    on: Ints
    start: Floats
    end: Floats
    after: Floats
    owed: Floats
    free: Floats
    power: Floats


def seconds_at_least(inst: Instance, plan: Queues, st: State, path: Path) -> float:
    """Return a lower bound of the makespan in seconds, however the queues are
    completed.
    """
    survey(inst, plan, st, path)
    best = max(st.clock[1], longest_path(inst, plan, st, path))
    best = max(best, work_left(inst, plan, st, path))
    return max(best, bytes_left(inst, st, path))


def survey(inst: Instance, plan: Queues, st: State, path: Path) -> None:
    """Record for every task whether it is unassigned, queued, running or ended, and its
    node.
    """
    now = st.clock[0]
    for k in range(inst.num_tasks):
        path.state[k] = LOOSE
        path.on[k] = -1
        path.start[k] = now
        path.end[k] = now
    for i in range(inst.num_nodes):
        p = st.head[i]
        while p < plan.ptr[i + 1] and plan.entry[p] >= 0:
            path.state[plan.entry[p]] = QUEUED
            path.on[plan.entry[p]] = i
            p += 1
    for c in range(len(inst.core_node)):
        k = st.running[c]
        if k >= 0:
            path.state[k] = RUNNING
            path.on[k] = inst.core_node[c]
            if st.run_end[c] < float("inf"):
                path.end[k] = st.run_end[c]
    for x in range(st.counters[ENDED]):
        path.state[st.finished[x]] = ENDED_TASK


def longest_path(inst: Instance, plan: Queues, st: State, path: Path) -> float:
    """Return a lower bound of the makespan from chains of tasks that wait for each
    other.

    It also fills ``path.start`` and ``path.end`` with the earliest start and end of
    each task.
    """
    best = 0.0
    for turn in range(inst.num_tasks):
        k = path.order[turn]
        if path.state[k] == QUEUED:
            i = path.on[k]
            path.start[k] = earliest(inst, plan, st, path, k, i)
            path.end[k] = path.start[k] + inst.compute[k] / inst.speed[i]
        elif path.state[k] == LOOSE:
            path.start[k] = float("inf")
            path.end[k] = float("inf")
            for i in range(inst.num_nodes):
                if path.fits[k * inst.num_nodes + i] and is_open(plan, st, i) >= 0:
                    start = earliest(inst, plan, st, path, k, i)
                    path.start[k] = min(path.start[k], start)
                    path.end[k] = min(
                        path.end[k], start + inst.compute[k] / inst.speed[i]
                    )
        if path.state[k] != ENDED_TASK:
            best = max(best, path.end[k] + path.tail[k])
    return best


def earliest(
    inst: Instance, plan: Queues, st: State, path: Path, k: int, i: int
) -> float:
    """Return the earliest time at which task *k* can start on node *i*."""
    now = st.clock[0]
    start = max(now, inst.release[k])
    # The files of a queued task are staged only after the entries ahead of it have
    # started, and after its release. Those of an unassigned task may be staged before
    # its release, for tasks that will be queued ahead of it.
    begun = start if path.state[k] == QUEUED else now
    first = True
    p = st.head[i]
    while p < plan.ptr[i + 1] and plan.entry[p] >= 0 and plan.entry[p] != k:
        begun = max(begun, path.start[plan.entry[p]])
        first = False
        p += 1
    start = max(start, begun)
    missing = 0.0
    for x in range(inst.ptr[k], inst.ptr[k + 1]):
        f = inst.files[x]
        if st.has[i * inst.num_files + f] == 1:
            continue
        start = max(start, arrival(inst, st, path, f, i))
        coming = st.has[i * inst.num_files + f] == 2
        maker = path.producer[f]
        here = (
            maker >= 0 and path.state[maker] != ENDED_TASK and path.on[maker] in (-1, i)
        )
        # A file that was staged for an earlier entry may already be on the node.
        reader = st.nxt[i * inst.num_files + f]
        if not (coming or here or NO_PLACE < reader < p):
            missing += inst.size[f]
    if missing > 0 and first and st.recv[i] >= 0:
        missing += left_of(st, i, now)
    start = max(start, begun + missing * path.near)
    return max(start, cores_free(inst, st, k, i))


def nowhere(st: State, f: int) -> bool:
    """Return whether file *f* is only on remote storage and no node receives it."""
    return bool(st.copies[f] == 0 and st.flying[f] == 0 and st.saved[f] == 2)


def left_of(st: State, y: int, now: float) -> float:
    """Return the bytes that transfer *y* still has to move at time *now*."""
    return max(0.0, st.left[y] - st.rate[y] * (now - st.since[y]))


def arrival(inst: Instance, st: State, path: Path, f: int, i: int) -> float:
    """Return the earliest time at which file *f* can be complete on node *i*."""
    now = st.clock[0]
    maker = path.producer[f]
    if maker >= 0 and path.state[maker] != ENDED_TASK:
        hop = 0.0 if path.on[maker] in (-1, i) else inst.size[f] * path.near
        return path.end[maker] + hop
    if st.has[i * inst.num_files + f] == 2:
        return now + left_of(st, i, now) * path.near
    if st.copies[f] > 0:
        return now + inst.size[f] * path.near
    if st.flying[f] > 0:
        flight = float("inf")
        for j in range(inst.num_nodes):
            if st.recv[j] == f:
                flight = min(flight, left_of(st, j, now))
        return now + (flight + inst.size[f]) * path.near
    if st.saved[f] == 2:
        return now + path.far[f]
    return now


def cores_free(inst: Instance, st: State, k: int, i: int) -> float:
    """Return the earliest time at which running tasks leave enough cores of node *i*
    for task *k*.
    """
    idle = st.idle[i]
    time = st.clock[0]
    while idle < inst.cores[k]:
        soonest = float("inf")
        for c in range(inst.core_ptr[i], inst.core_ptr[i + 1]):
            if time < st.run_end[c] < soonest:
                soonest = st.run_end[c]
        if soonest == float("inf"):
            return time
        time = soonest
        idle = st.idle[i]
        for c in range(inst.core_ptr[i], inst.core_ptr[i + 1]):
            if st.running[c] >= 0 and st.run_end[c] <= time:
                idle += inst.cores[st.running[c]]
    return time


def work_left(inst: Instance, plan: Queues, st: State, path: Path) -> float:
    """Return a lower bound of the makespan from the computing that has not started.

    For each task in order of falling tail: the task and all before it must be computed
    on the nodes that can still start tasks, and then the tail of the task follows.
    """
    used = 0
    for i in range(inst.num_nodes):
        if in_use(plan, st, i):
            opens = node_opens(inst, plan, st, path, i)
            for c in range(inst.core_ptr[i], inst.core_ptr[i + 1]):
                free = opens
                if st.running[c] >= 0:
                    free = max(free, path.end[st.running[c]])
                place = used
                while place > 0 and path.free[place - 1] > free:
                    path.free[place] = path.free[place - 1]
                    path.power[place] = path.power[place - 1]
                    place -= 1
                path.free[place] = free
                path.power[place] = inst.speed[i]
                used += 1
    best = fresh = 0.0
    first = float("inf")
    for turn in range(inst.num_tasks):
        k = path.urgent[turn]
        if path.state[k] <= QUEUED:
            fresh += inst.compute[k] * inst.cores[k]
            first = min(first, path.start[k])
            best = max(best, filled(path, used, first, fresh) + path.tail[k])
    return best


def in_use(plan: Queues, st: State, i: int) -> bool:
    """Return whether node *i* can start another task: one is queued, or its queue may
    grow.
    """
    p = st.head[i]
    return is_open(plan, st, i) >= 0 or (p < plan.ptr[i + 1] and plan.entry[p] >= 0)


def node_opens(inst: Instance, plan: Queues, st: State, path: Path, i: int) -> float:
    """Return the earliest time at which node *i* can start its next task.

    This is the first task of its queue or, if the queue is empty, any task that fits.
    """
    p = st.head[i]
    if p < plan.ptr[i + 1] and plan.entry[p] >= 0:
        return float(path.start[plan.entry[p]])
    opens = float("inf")
    for k in range(inst.num_tasks):
        if path.state[k] == LOOSE and path.fits[k * inst.num_nodes + i]:
            opens = min(opens, earliest(inst, plan, st, path, k, i))
    return opens


def filled(path: Path, used: int, first: float, work: float) -> float:
    """Return the earliest end of *work* core-seconds on the first *used* cores of
    ``path.free``.

    A core starts when it is free, but not before time *first*.
    """
    power = lost = 0.0
    for c in range(used):
        begun = max(first, path.free[c])
        if begun == float("inf") or (power > 0.0 and begun * power - lost >= work):
            break
        power += path.power[c]
        lost += begun * path.power[c]
    return (work + lost) / power if power > 0.0 else 0.0


def bytes_left(inst: Instance, st: State, path: Path) -> float:
    """Return a lower bound of the makespan from the bytes that must still cross the
    link.

    The tail of a file is the least time from the start of an unstarted reader to the
    end of the run. For each file: the file, and all files with a tail at least as long,
    must cross the link, and then the tail of the file follows.
    """
    now = st.clock[0]
    whole = 0.0
    for f in range(inst.num_files):
        path.owed[f] = 0.0
        path.after[f] = 0.0
        if inst.keep[f] and st.saved[f] == 0:
            whole += inst.size[f]
        elif st.need[f] > 0 and nowhere(st, f):
            path.owed[f] = inst.size[f]
    for y in range(inst.num_flows):
        f = st.recv[y]
        if f < 0:
            continue
        if y < inst.num_nodes and st.source[y] < 0:
            path.owed[f] += left_of(st, y, now)
        elif y >= inst.num_nodes and inst.keep[f]:
            whole += left_of(st, y, now)
    for k in range(inst.num_tasks):
        if path.state[k] <= QUEUED:
            for x in range(inst.ptr[k], inst.ptr[k + 1]):
                f = inst.files[x]
                path.after[f] = max(path.after[f], path.quick[k] + path.tail[k])
    best = 0.0
    for f in range(inst.num_files):
        whole += path.owed[f]
        if path.owed[f] > 0.0:
            total = 0.0
            for g in range(inst.num_files):
                if path.after[g] >= path.after[f]:
                    total += path.owed[g]
            best = max(best, now + total / path.remote_rate + path.after[f])
    if whole > 0.0:
        best = max(best, now + whole / path.remote_rate)
    return best
