"""Manage the disks of the timeline simulator: space, evictions and saves.

The module is plain Python over the flat arrays of :mod:`ioopt.sim.replication.state`;
numba compiles the same code. Timeline rules refer to docs/rules/replication.md,
workflow rules to docs/rules/workflow.md.
"""

from ioopt.compiled import tuned
from ioopt.sim.replication import state as at
from ioopt.sim.replication.state import Instance, Log, Queues, State

CLASS_STEP = 1e12
"""Distance between the keys of two classes of files in the order of eviction."""
NO_PLACE = -1
"""Stands in place of a queue position if a file has no reader."""
UNASSIGNED = 1 << 39
"""Distance to the next use of a file that only unassigned tasks read; larger than any
position in a queue.
"""
DEAD = 1 << 40
"""Distance to the next use of a file that no unstarted task reads; larger than
UNASSIGNED.
"""


def settle_in(inst: Instance, st: State, i: int, f: int) -> None:
    """Add file *f* to the files of node *i*, and allot its space on the disk."""
    x = i * inst.num_files
    st.residents[x + st.num_residents[i]] = f
    st.seat[x + f] = st.num_residents[i]
    st.num_residents[i] += 1
    st.used[i] += inst.size[f]


def evict(inst: Instance, st: State, log: Log, i: int, f: int, now: float) -> None:
    """Remove the complete copy of file *f* from node *i*; its space is free at once."""
    x = i * inst.num_files
    last = st.residents[x + st.num_residents[i] - 1]
    st.residents[x + st.seat[x + f]] = last
    st.seat[x + last] = st.seat[x + f]
    st.num_residents[i] -= 1
    st.used[i] -= inst.size[f]
    st.has[x + f] = 0
    st.copies[f] -= 1
    if st.copies[f] == 0 and st.flying[f] == 0 and st.need[f] > 0:
        st.counters[at.OWED] += inst.size[f]
    if inst.keep[f] and st.saved[f] == 0:
        st.waiting[i] -= 1
    n = st.counters[at.EVICTIONS]
    if log.enabled and n < len(log.evicted_at):
        log.evicted_file[n] = f
        log.evicted_node[n] = i
        log.evicted_at[n] = now
    st.counters[at.EVICTIONS] = n + 1


def at_risk(inst: Instance, st: State, f: int) -> bool:
    """Return whether a complete copy of file *f* is the last one and is still needed
    (workflow rule 6).

    The caller has already found a complete copy of the file on some node.
    """
    if st.saved[f] == 2 or st.copies[f] > 1:
        return False
    return bool(st.need[f] > 0 or inst.keep[f] > 0)


def distance_to_use(inst: Instance, st: State, i: int, f: int) -> int:
    """Return how far the next reader of file *f* is from the head of node *i*'s queue,
    in positions of the queue.

    If no task in the queue of node *i* reads the file, return the least distance over
    the queues of the other nodes.
    """
    x = i * inst.num_files + f
    if st.need[f] == 0:
        return DEAD
    if st.nxt[x] != NO_PLACE:
        return int(st.nxt[x] - st.head[i])
    distance = UNASSIGNED
    for j in range(inst.num_nodes):
        place = st.nxt[j * inst.num_files + f]
        if place != NO_PLACE and place - st.head[j] < distance:
            distance = place - st.head[j]
    return distance


def victim_key(inst: Instance, plan: Queues, st: State, i: int, f: int) -> float:
    """Return the key of file *f* for the eviction policy; the file with the least key
    leaves node *i* first.

    The order is that of timeline rule 4. Ties go to the lowest file index.
    """
    x = i * inst.num_files + f
    if plan.policy == 1:
        return st.freq[f] * float(inst.size[f]) / st.copies[f]
    if plan.policy == 2:
        return st.last_use[x]
    if st.need[f] == 0:
        return 0.0
    distance = distance_to_use(inst, st, i, f)
    if st.copies[f] > 1:
        return (2.0 if st.nxt[x] != NO_PLACE else 1.0) * CLASS_STEP - distance
    return 3.0 * CLASS_STEP - distance


def list_victims(
    inst: Instance, st: State, i: int, limited: bool, risky: bool
) -> tuple[int, int]:
    """List in ``st.victims`` the files that may leave node *i*; return their number and
    their total bytes.

    If *limited*, the first task in the queue waits for cores. Then only two kinds of
    files may leave: files without readers, and duplicates that the node's own queue
    does not need. If *risky*, list only files at risk (workflow rule 6), else only
    files not at risk.
    """
    files = inst.num_files
    count = 0
    freeable = 0
    for s in range(st.num_residents[i]):
        f = st.residents[i * files + s]
        x = i * files + f
        if st.has[x] != 1 or st.pin[x] > 0:
            continue
        if limited and st.need[f] > 0 and (st.copies[f] == 1 or st.nxt[x] != NO_PLACE):
            continue
        if (st.saved[f] != 2 and at_risk(inst, st, f)) != risky:
            continue
        st.victims[count] = f
        count += 1
        freeable += inst.size[f]
    return count, freeable


def first_victim(st: State, count: int) -> int:
    """Return the position of the file with the least key among the first *count* of
    ``st.victims``.
    """
    best = 0
    for v in range(1, count):
        if st.keys[v] < st.keys[best] or (
            st.keys[v] == st.keys[best] and st.victims[v] < st.victims[best]
        ):
            best = v
    return best


def lacking(
    inst: Instance, plan: Queues, st: State, i: int, first: int, last: int
) -> int:
    """Return the number of bytes that the disk of node *i* still lacks for a part of
    the node's queue.

    The part of the queue is its entries at positions *first* to *last* - 1.
    """
    size = 0
    for p in range(first, last):
        e = plan.entry[p]
        size += inst.out_bytes[e]
        for x in range(inst.ptr[e], inst.ptr[e + 1]):
            if st.has[i * inst.num_files + inst.files[x]] == 0:
                size += inst.size[inst.files[x]]
    return size


def make_room(
    inst: Instance,
    plan: Queues,
    st: State,
    log: Log,
    i: int,
    size: int,
    now: float,
    aside: bool,
) -> bool:
    """Evict files from node *i* until *size* bytes fit; evict nothing if they cannot
    fit (workflow rule 7).

    Return whether they fit. If a file at risk would have to leave, request a save of
    the first such file instead. If *aside*, the space is not for the first task in the
    queue: eviction is then limited as in :func:`list_victims`, and no save is
    requested.
    """
    short = st.used[i] + size - inst.disk[i]
    limited = aside or st.idle[i] < inst.cores[plan.entry[st.head[i]]]
    if plan.growing and open_question(inst, plan, st, i, limited):
        return False
    count, freeable = list_victims(inst, st, i, limited, False)
    if freeable < short:
        if not inst.plain and not aside and st.counters[at.REQUEST] < 0:
            request_save(inst, plan, st, i, limited, short - freeable)
        return False
    evict_some(inst, plan, st, log, i, count, short, now)
    return True


def clear_room(
    inst: Instance, plan: Queues, st: State, log: Log, i: int, p: int, now: float
) -> bool:
    """Free the bytes that the entry at place *p* of the queues asks for, once node *i*
    computes nothing (timeline rule 8).

    Return False if the node still computes.
    """
    if plan.clear[p] == 0:
        return True
    if st.idle[i] < inst.node_cores[i]:
        return False
    count, _ = list_victims(inst, st, i, False, False)
    evict_some(
        inst, plan, st, log, i, count, st.used[i] + plan.clear[p] - inst.disk[i], now
    )
    return True


@tuned(forceinline=True)
def evict_some(
    inst: Instance,
    plan: Queues,
    st: State,
    log: Log,
    i: int,
    count: int,
    short: int,
    now: float,
) -> None:
    """Evict files from node *i* in the order of the eviction policy until *short* bytes
    are free.

    Only the files that are the first *count* of ``st.victims`` may be evicted.
    """
    for v in range(count):
        st.keys[v] = victim_key(inst, plan, st, i, st.victims[v])
    while short > 0 and count > 0:
        best = first_victim(st, count)
        f = st.victims[best]
        evict(inst, st, log, i, f, now)
        short -= inst.size[f]
        count -= 1
        st.victims[best] = st.victims[count]
        st.keys[best] = st.keys[count]


def request_save(
    inst: Instance, plan: Queues, st: State, i: int, limited: bool, short: int
) -> None:
    """Request a save of the first file at risk on node *i*, if all such files together
    free *short* bytes.
    """
    count, freeable = list_victims(inst, st, i, limited, True)
    if freeable < short:
        return
    for v in range(count):
        f = st.victims[v]
        if plan.policy == 0:
            st.keys[v] = -float(distance_to_use(inst, st, i, f))
        else:
            st.keys[v] = victim_key(inst, plan, st, i, f)
    st.counters[at.REQUEST] = st.victims[first_victim(st, count)]


def is_open(plan: Queues, st: State, i: int) -> int:
    """Return the number of unstarted entries in the queue of node *i*, if the queue may
    still grow; -1 if it is closed.
    """
    p = st.head[i]
    while p < plan.ptr[i + 1] and plan.entry[p] >= 0:
        p += 1
    if p < plan.ptr[i + 1] and plan.entry[p] == at.OPEN:
        return int(p - st.head[i])
    return -1


def has_loose_reader(inst: Instance, plan: Queues, st: State, f: int) -> bool:
    """Return whether some unstarted reader of file *f* is not yet in any of the growing
    queues.
    """
    loose = st.need[f]
    for j in range(inst.num_nodes):
        p = st.head[j]
        while p < plan.ptr[j + 1] and plan.entry[p] >= 0:
            e = plan.entry[p]
            for x in range(inst.ptr[e], inst.ptr[e + 1]):
                if inst.files[x] == f:
                    loose -= 1
            p += 1
    return bool(loose > 0)


def open_question(
    inst: Instance, plan: Queues, st: State, i: int, limited: bool
) -> bool:
    """Return whether an eviction on node *i* depends on entries that will be added to
    growing queues.

    If the eviction depends on such entries, note in WANTED which queue must grow. It
    does so if a file that could leave has a reader that is in no queue yet. Without the
    place of that reader, the file cannot be ordered by its next use. While the head of
    the queue waits for cores, even whether the file may leave depends on the queue of
    that reader.
    """
    if plan.policy != 0 and not limited:
        return False
    for s in range(st.num_residents[i]):
        f = st.residents[i * inst.num_files + s]
        x = i * inst.num_files + f
        if st.has[x] != 1 or st.pin[x] > 0 or st.need[f] == 0:
            continue
        if has_loose_reader(inst, plan, st, f):
            if st.counters[at.WANTED] == 0:
                j = i
                if is_open(plan, st, i) < 0:
                    j = 0
                    while is_open(plan, st, j) < 0:
                        j += 1
                st.counters[at.WANTED] = j + 1
            return True
    return False
