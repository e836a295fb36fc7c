"""Carry out the transfers of the timeline simulator: starts, rates and arrivals.

A flow carries one transfer at a time. Flow i < num_nodes carries the files that node i
receives. In workflows, flow num_nodes + i carries the files that node i saves. Nodes
that receive several files at once have further flows. The module is plain Python over
the arrays of :mod:`ioopt.sim.replication.state`; numba compiles the same code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioopt.compiled import tuned
from ioopt.sim.replication import state as at
from ioopt.sim.replication.disk import clear_room, lacking, make_room, settle_in
from ioopt.sim.replication.state import Instance, Log, Queues, State

if TYPE_CHECKING:
    from ioopt.compiled import Floats, Ints

FASTER = 1e-9
"""Relative difference below which rates count as equal."""


def fill(
    capacity: Floats,
    use: Ints,
    num_flows: int,
    width: int,
    rates: Floats,
    left: Floats,
    count: Ints,
) -> None:
    """Write the max-min fair rate of every flow into *rates* (Bertsekas and Gallager,
    Section 6.5.2).

    The rates of all flows grow together until a resource is full. The flows that cross
    it keep their rate, and the others grow on. ``use[j * width : (j + 1) * width]`` are
    the resources that flow *j* crosses; -1 stands for none. ``capacity`` holds the
    bytes per second of each resource. ``rates`` receives the bytes per second of each
    flow, infinity for a flow that crosses no resource. ``left`` and ``count`` are
    scratch space with one value for each resource.
    """
    for x in range(num_flows * width):
        r = use[x]
        if r >= 0:
            left[r] = capacity[r]
            count[r] = 0
    for j in range(num_flows):
        rates[j] = -1.0
        for x in range(j * width, (j + 1) * width):
            if use[x] >= 0:
                count[use[x]] += 1
    waiting = num_flows
    while waiting > 0:
        share = float("inf")
        tight = -1
        for j in range(num_flows):
            if rates[j] < 0.0:
                for x in range(j * width, (j + 1) * width):
                    r = use[x]
                    if r >= 0 and left[r] < share * count[r]:
                        share = left[r] / count[r]
                        tight = r
        for j in range(num_flows):
            if rates[j] >= 0.0:
                continue
            crosses = tight < 0
            for x in range(j * width, (j + 1) * width):
                if use[x] == tight:
                    crosses = True
            if not crosses:
                continue
            rates[j] = share
            waiting -= 1
            for x in range(j * width, (j + 1) * width):
                r = use[x]
                if r >= 0:
                    count[r] -= 1
                    left[r] = max(0.0, left[r] - share)


def stage(
    inst: Instance, plan: Queues, st: State, log: Log, i: int, now: float
) -> bool:
    """Pin the inputs of the first unstarted entry of node *i* on the node's disk
    (timeline rules 1, 3, 8).

    Return False if no entry can be staged now.
    """
    if st.staged[i]:
        return True
    p = st.head[i]
    if p >= plan.ptr[i + 1] or (
        plan.barriers and plan.round_of[p] >= st.counters[at.OPENED]
    ):
        return False
    if plan.growing and plan.entry[p] < 0:
        if plan.entry[p] == at.OPEN and st.counters[at.WANTED] == 0:
            st.counters[at.WANTED] = i + 1
        return False
    e = plan.entry[p]
    if inst.release[e] > st.clock[2]:
        return False
    if len(plan.clear) > 0 and not clear_room(inst, plan, st, log, i, p, now):
        return False
    st.staged[i] = 1
    for x in range(inst.ptr[e], inst.ptr[e + 1]):
        st.pin[i * inst.num_files + inst.files[x]] += 1
    return True


def set_off(
    inst: Instance,
    st: State,
    log: Log,
    y: int,
    f: int,
    source: int,
    target: int,
    now: float,
) -> None:
    """Start a transfer of file *f* on flow *y* from node *source* to node *target*.

    -1 stands for the remote storage.
    """
    st.recv[y] = f
    st.source[y] = source
    st.target[y] = target
    st.left[y] = inst.size[f]
    st.rate[y] = 0.0
    st.since[y] = now
    st.due[y] = now if inst.size[f] == 0 else float("inf")
    st.counters[at.CHANGED] = 1
    n = st.counters[at.TRANSFERS]
    if log.enabled and n < len(log.start):
        log.file[n] = f
        log.source[n] = source
        log.destination[n] = target
        log.start[n] = now
    st.slot[y] = n
    st.counters[at.TRANSFERS] = n + 1


def start_transfer(
    inst: Instance, plan: Queues, st: State, log: Log, i: int, now: float
) -> bool:
    """Start the first possible transfer for the staged entry of node *i* (timeline rule
    2).

    Return whether a transfer started. If the node can receive several files at once
    (workflow rule 21), also look at later entries of its queue, in order.
    """
    if plan.carried:
        return carry(inst, plan, st, log, i, now)
    if not stage(inst, plan, st, log, i, now):
        return False
    head = st.head[i]
    if inst.staging[i] == 1:
        return bring(inst, plan, st, log, i, i, plan.entry[head], 0, now, False)
    y = free_slot(inst, st, i)
    if y < 0:
        return False
    for p in range(head, min(head + inst.staging[i], plan.ptr[i + 1])):
        e = plan.entry[p]
        if plan.barriers and plan.round_of[p] >= st.counters[at.OPENED]:
            return False
        kept = lacking(inst, plan, st, i, head, p)
        if inst.release[e] <= st.clock[2] and bring(
            inst, plan, st, log, i, y, e, kept, now, p > head
        ):
            return True
    return False


def free_slot(inst: Instance, st: State, i: int) -> int:
    """Return a flow on which node *i* can receive another file; -1 if all its flows are
    in use.
    """
    if st.recv[i] < 0:
        return i
    for y in range(inst.slot_ptr[i], inst.slot_ptr[i + 1]):
        if st.recv[y] < 0:
            return int(y)
    return -1


@tuned(forceinline=True)
def bring(
    inst: Instance,
    plan: Queues,
    st: State,
    log: Log,
    i: int,
    y: int,
    e: int,
    kept: int,
    now: float,
    ahead: bool,
) -> bool:
    """Start the first possible transfer of an input of entry *e* to node *i*, on flow
    *y*.

    Return whether a transfer started. If *ahead*, the entry is not the first in the
    queue; then *kept* bytes of the disk are reserved for the entries before it.
    """
    files = inst.num_files
    for x in range(inst.ptr[e] + (0 if ahead else st.staged[i] - 1), inst.ptr[e + 1]):
        f = inst.files[x]
        if st.has[i * files + f] != 0 or (
            st.copies[f] == 0 and (st.flying[f] > 0 or st.saved[f] != 2)
        ):
            continue
        if st.used[i] + inst.size[f] + kept > inst.disk[i] and not make_room(
            inst, plan, st, log, i, inst.size[f] + kept, now, ahead
        ):
            continue
        source = -1
        if st.copies[f] > 0:
            source = 0
            while st.has[source * files + f] != 1:
                source += 1
            if plan.least_loaded:
                source = least_loaded(inst, st, i, f)
        send(inst, st, log, y, f, source, i, now)
        return True
    return False


@tuned(forceinline=True)
def send(
    inst: Instance, st: State, log: Log, y: int, f: int, source: int, i: int, now: float
) -> None:
    """Start a transfer of file *f* from *source* to node *i* on flow *y*."""
    if source >= 0:
        st.pin[source * inst.num_files + f] += 1
        st.counters[at.REPLICA_BYTES] += inst.size[f]
    else:
        if st.copies[f] == 0:
            st.counters[at.OWED] -= inst.size[f]
        st.counters[at.REMOTE_BYTES] += inst.size[f]
        st.counters[at.REMOTE_COUNT] += 1
        st.counters[at.REFETCHED] += inst.product[f]
    settle_in(inst, st, i, f)
    st.has[i * inst.num_files + f] = 2
    st.flying[f] += 1
    set_off(inst, st, log, y, f, source, i, now)


def carry(
    inst: Instance, plan: Queues, st: State, log: Log, i: int, now: float
) -> bool:
    """Start the first planned transfer to node *i* whose source has the file (timeline
    rule 7).

    Return whether a transfer started.
    """
    if st.recv[i] >= 0:
        return False
    number = max(0, st.counters[at.OPENED] - 1)
    for m in range(plan.move_ptr[i], plan.move_ptr[i + 1]):
        f = plan.move_file[m]
        source = plan.move_source[m]
        if plan.move_round[m] != number or st.has[i * inst.num_files + f] != 0:
            continue
        sent = source < 0 or st.has[source * inst.num_files + f] == 1
        if sent and st.used[i] + inst.size[f] <= inst.disk[i]:
            send(inst, st, log, i, f, source, i, now)
            return True
    return False


def least_loaded(inst: Instance, st: State, i: int, f: int) -> int:
    """Return the least loaded source of file *f* for node *i* (workflow rule 22); -1 is
    the remote storage.

    Some node must hold the file.
    """
    for r in range(len(inst.capacity)):
        st.crossing[r] = 0
    for y in range(inst.num_flows):
        if st.recv[y] >= 0 and inst.size[st.recv[y]] > 0:
            cross(inst, st, st.recv[y], st.source[y], st.target[y], 0)
            for x in range(3):
                if st.use[x] >= 0:
                    st.crossing[st.use[x]] += 1
    best = -1
    near = 0.0
    for j in range(inst.num_nodes):
        share = inst.capacity[j] / (st.crossing[j] + 1)
        if st.has[j * inst.num_files + f] == 1 and share > near:
            best = j
            near = share
    if st.saved[f] == 2:
        far = float("inf")
        cross(inst, st, f, -1, i, 0)
        for x in range(1, 3):
            r = st.use[x]
            if r >= 0:
                far = min(far, inst.capacity[r] / (st.crossing[r] + 1))
        if far > near * (1.0 + FASTER):
            return -1
    return best


def start_save(
    inst: Instance, plan: Queues, st: State, log: Log, i: int, now: float
) -> None:
    """Start a save from node *i* to the remote storage (workflow rule 8).

    Save the file requested in this turn; without a request, save the oldest product on
    the node that must be kept.
    """
    files = inst.num_files
    f = st.counters[at.REQUEST]
    if f < 0:
        f = oldest_to_keep(inst, st, i)
    if inst.keep[f]:
        st.counters[at.OWED] -= inst.size[f]
        for j in range(inst.num_nodes):
            if st.has[j * files + f] == 1:
                st.waiting[j] -= 1
    else:
        st.counters[at.SPILLS] += 1
    st.pin[i * files + f] += 1
    st.saved[f] = 1
    st.counters[at.SAVING] += 1
    st.counters[at.SAVES] += 1
    st.counters[at.SAVED_BYTES] += inst.size[f]
    set_off(inst, st, log, inst.num_nodes + i, f, i, -1, now)


def oldest_to_keep(inst: Instance, st: State, i: int) -> int:
    """Return the oldest product on node *i* that must be kept and is not saved yet.

    Ties go to the lowest file index.
    """
    best = -1
    for s in range(st.num_residents[i]):
        f = st.residents[i * inst.num_files + s]
        if inst.keep[f] and st.saved[f] == 0 and st.has[i * inst.num_files + f] == 1:
            earlier = best < 0 or st.made[f] < st.made[best]
            if earlier or (st.made[f] == st.made[best] and f < best):
                best = f
    return int(best)


def share_out(inst: Instance, st: State, now: float) -> None:
    """Recompute the rates of all transfers (timeline rule 5), and the ends of those
    whose rate has changed.
    """
    flows = 0
    for y in range(inst.num_flows):
        f = st.recv[y]
        if f < 0 or inst.size[f] == 0:
            continue
        cross(inst, st, f, st.source[y], st.target[y], 3 * flows)
        st.receivers[flows] = y
        flows += 1
    fill(inst.capacity, st.use, flows, 3, st.rates, st.room, st.crossing)
    for j in range(flows):
        y = st.receivers[j]
        if st.rates[j] != st.rate[y]:
            st.left[y] = max(0.0, st.left[y] - st.rate[y] * (now - st.since[y]))
            st.since[y] = now
            st.rate[y] = st.rates[j]
            st.due[y] = now + st.left[y] / st.rate[y]
    st.counters[at.CHANGED] = 0


@tuned(forceinline=True)
def cross(
    inst: Instance, st: State, f: int, source: int, target: int, use: int
) -> None:
    """Write to ``st.use`` the resources that file *f* crosses on its way from *source*
    to *target*.

    The resources fill three places from index *use* on; -1 stands for no resource.
    """
    link = inst.num_nodes + inst.num_storages
    if source >= 0 and target >= 0:
        st.use[use] = target
        st.use[use + 1] = source
        st.use[use + 2] = -1
        return
    i = max(source, target)
    st.use[use] = i
    st.use[use + 1] = link if inst.shared else link + 1 + i
    st.use[use + 2] = inst.num_nodes + inst.storage[f] if inst.storage[f] >= 0 else -1


def arrive(inst: Instance, st: State, log: Log, y: int, now: float) -> None:
    """End the transfer on flow *y*: its file is now complete on the receiving node or
    on the remote storage.
    """
    files = inst.num_files
    f = st.recv[y]
    i = st.target[y]
    if st.source[y] >= 0:
        st.pin[st.source[y] * files + f] -= 1
    if i >= 0:
        st.has[i * files + f] = 1
        st.copies[f] += 1
        st.flying[f] -= 1
        st.last_use[i * files + f] = now
        if inst.keep[f] and st.saved[f] == 0:
            st.waiting[i] += 1
    else:
        st.saved[f] = 2
        st.counters[at.SAVING] -= 1
        if inst.keep[f]:
            st.clock[1] = now
    st.recv[y] = -1
    st.due[y] = float("inf")
    st.counters[at.CHANGED] = 1
    if log.enabled and st.slot[y] < len(log.end):
        log.end[st.slot[y]] = now
