"""The transfers of the timeline simulator: what starts to move, at which rate, and what arrives.

Flow i < num_nodes is the incoming transfer of node i; in workflows flow num_nodes + i is its
outgoing save. Plain Python over the arrays of :mod:`ioopt.sim.replication.state`, which numba
compiles too.
"""

from typing import Any

from ioopt.sim.replication.bandwidth import fill
from ioopt.sim.replication.disk import make_room, settle_in
from ioopt.sim.replication.state import (
    CHANGED,
    KEEP_LEFT,
    OPEN,
    OPENED,
    OWED,
    REFETCHED,
    REMOTE_BYTES,
    REMOTE_COUNT,
    REPLICA_BYTES,
    REQUEST,
    SAVED_BYTES,
    SAVES,
    SAVING,
    SPILLS,
    TRANSFERS,
    UNSAVED,
    WANTED,
)


def stage(inst: Any, plan: Any, st: Any, i: int) -> bool:
    """Pin the inputs of the first unstarted entry of node *i* (timeline rules 1 and 3).

    False where there is none to stage.
    """
    p = st.head[i]
    if p >= plan.ptr[i + 1] or (plan.barriers and plan.round_of[p] >= st.counters[OPENED]):
        return False
    if plan.growing and plan.entry[p] < 0:
        if plan.entry[p] == OPEN and st.counters[WANTED] == 0:
            st.counters[WANTED] = i + 1
        return False
    if not st.staged[i]:
        e = plan.entry[p]
        if inst.release[e] > st.clock[2]:
            return False
        st.staged[i] = 1
        for x in range(inst.ptr[e], inst.ptr[e + 1]):
            st.pin[i * inst.num_files + inst.files[x]] += 1
    return True


def set_off(
    inst: Any, st: Any, log: Any, y: int, f: int, source: int, target: int, now: float
) -> None:
    """File *f* starts to move as flow *y* from *source* to *target* (-1: the remote storage)."""
    st.recv[y] = f
    st.source[y] = source
    st.left[y] = inst.size[f]
    st.rate[y] = 0.0
    st.since[y] = now
    st.due[y] = now if inst.size[f] == 0 else float("inf")
    st.counters[CHANGED] = 1
    n = st.counters[TRANSFERS]
    if log.enabled and n < len(log.start):
        log.file[n] = f
        log.source[n] = source
        log.destination[n] = target
        log.start[n] = now
    st.slot[y] = n
    st.counters[TRANSFERS] = n + 1


def start_transfer(inst: Any, plan: Any, st: Any, log: Any, i: int, now: float) -> bool:
    """Start the first missing file of node *i*'s staged entry that can start now (timeline rule 2)."""
    if not stage(inst, plan, st, i):
        return False
    files = inst.num_files
    e = plan.entry[st.head[i]]
    for x in range(inst.ptr[e], inst.ptr[e + 1]):
        f = inst.files[x]
        if st.has[i * files + f] != 0 or (
            st.copies[f] == 0 and (st.flying[f] > 0 or st.saved[f] != 2)
        ):
            continue
        if st.used[i] + inst.size[f] > inst.disk[i] and not make_room(
            inst, plan, st, log, i, inst.size[f], now
        ):
            continue
        source = -1
        if st.copies[f] > 0:
            source = 0
            while st.has[source * files + f] != 1:
                source += 1
            st.pin[source * files + f] += 1
            st.counters[REPLICA_BYTES] += inst.size[f]
        else:
            st.counters[OWED] -= inst.size[f]
            st.counters[REMOTE_BYTES] += inst.size[f]
            st.counters[REMOTE_COUNT] += 1
            st.counters[REFETCHED] += inst.product[f]
        settle_in(inst, st, i, f)
        st.has[i * files + f] = 2
        st.flying[f] += 1
        set_off(inst, st, log, i, f, source, i, now)
        return True
    return False


def start_save(inst: Any, st: Any, log: Any, i: int, now: float) -> None:
    """Save what node *i* requested this turn, else its oldest product to keep (workflow rule 8)."""
    files = inst.num_files
    f = st.counters[REQUEST]
    if f < 0:
        place = 0
        while st.has[i * files + st.unsaved[place]] != 1:
            place += 1
        f = st.unsaved[place]
    if inst.keep[f]:
        no_longer_waiting(inst, st, f)
        st.counters[OWED] -= inst.size[f]
    else:
        st.counters[SPILLS] += 1
    st.pin[i * files + f] += 1
    st.saved[f] = 1
    st.counters[SAVING] += 1
    st.counters[SAVES] += 1
    st.counters[SAVED_BYTES] += inst.size[f]
    set_off(inst, st, log, inst.num_nodes + i, f, i, -1, now)


def no_longer_waiting(inst: Any, st: Any, f: int) -> None:
    """Take *f*, whose save begins, off the list of products to keep."""
    place = 0
    while st.unsaved[place] != f:
        place += 1
    st.counters[UNSAVED] -= 1
    for q in range(place, st.counters[UNSAVED]):
        st.unsaved[q] = st.unsaved[q + 1]
    for j in range(inst.num_nodes):
        if st.has[j * inst.num_files + f] == 1:
            st.waiting[j] -= 1


def made_to_keep(inst: Any, st: Any, i: int, f: int, now: float) -> None:
    """Node *i* has made *f*, a product to keep: it waits behind older ones, then by its index."""
    st.made[f] = now
    place = st.counters[UNSAVED]
    while place > 0 and st.made[st.unsaved[place - 1]] == now and st.unsaved[place - 1] > f:
        st.unsaved[place] = st.unsaved[place - 1]
        place -= 1
    st.unsaved[place] = f
    st.counters[UNSAVED] += 1
    st.waiting[i] += 1


def share_out(inst: Any, st: Any, now: float) -> None:
    """Rates of all transfers anew (timeline rule 5), and the end of those whose rate has changed."""
    nodes = inst.num_nodes
    link = nodes + inst.num_storages
    flows = 0
    for y in range(inst.num_flows):
        f = st.recv[y]
        if f < 0 or inst.size[f] == 0:
            continue
        use = 3 * flows
        i = y if y < nodes else y - nodes
        st.use[use] = i
        if st.source[y] >= 0 and y < nodes:
            st.use[use + 1] = st.source[y]
            st.use[use + 2] = -1
        else:
            st.use[use + 1] = link if inst.shared else link + 1 + i
            st.use[use + 2] = nodes + inst.storage[f] if inst.storage[f] >= 0 else -1
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
    st.counters[CHANGED] = 0


def arrive(inst: Any, st: Any, log: Any, y: int, now: float) -> None:
    """The file of flow *y* is complete: on the node that receives it, or saved."""
    files, nodes = inst.num_files, inst.num_nodes
    f = st.recv[y]
    if st.source[y] >= 0:
        st.pin[st.source[y] * files + f] -= 1
    if y < nodes:
        st.has[y * files + f] = 1
        st.copies[f] += 1
        st.flying[f] -= 1
        st.last_use[y * files + f] = now
        if inst.keep[f] and st.saved[f] == 0:
            st.waiting[y] += 1
    else:
        st.saved[f] = 2
        st.counters[SAVING] -= 1
        st.counters[KEEP_LEFT] -= inst.keep[f]
        if inst.keep[f]:
            st.clock[1] = now
    st.recv[y] = -1
    st.due[y] = float("inf")
    st.counters[CHANGED] = 1
    if log.enabled and st.slot[y] < len(log.end):
        log.end[st.slot[y]] = now
