"""The timeline rules of the replication family, over flat arrays: pure Python and compiled alike.

Written in the part of Python that numba compiles, so that one text is both the plain simulator and
the fast one (:mod:`ioopt.compiled`). Rules: each node computes its queue in order and stages the
first unstarted task, one incoming transfer at a time; a file comes from the lowest-numbered
complete copy, else remotely unless it is on its way to somebody; space is made file by file, on
demand; rates are max-min fair; at an instant all completions come first, then passes over the
nodes until nothing changes.
"""

from __future__ import annotations

from typing import Any

from ioopt.sim.replication.bandwidth import fill
from ioopt.sim.replication.state import (
    BEGUN,
    CHANGED,
    ENDED,
    EVICTIONS,
    OPENED,
    OWED,
    REMOTE_BYTES,
    REMOTE_COUNT,
    REPLICA_BYTES,
    TRANSFERS,
)

FINISHED, STUCK, LOG_FULL, BEYOND, PAUSED = 0, 1, 2, 3, 4
CLASS_STEP = 1e12
NO_PLACE = -1


def reset(inst: Any, plan: Any, st: Any) -> None:
    """Bring *st* to time 0: held files on the disks, nothing started."""
    nodes, files = inst.num_nodes, inst.num_files
    for x in range(nodes * files):
        st.has[x] = 0
        st.pin[x] = 0
        st.nxt[x] = NO_PLACE
        st.last_use[x] = -1.0
    for f in range(files):
        st.need[f] = 0
        st.freq[f] = 0
        st.copies[f] = 0
        st.flying[f] = 0
    for x in range(len(st.counters)):
        st.counters[x] = 0
    st.clock[0], st.clock[1] = 0.0, 0.0
    for r in range(plan.num_rounds):
        st.round_left[r] = 0
    for i in range(nodes):
        st.used[i] = 0
        st.num_residents[i] = 0
        st.head[i] = plan.ptr[i]
        st.staged[i] = 0
        st.running[i] = -1
        st.recv[i] = -1
        st.rate[i] = 0.0
    for x in range(len(inst.held_node)):
        settle_in(inst, st, inst.held_node[x], inst.held_file[x])
        st.has[inst.held_node[x] * files + inst.held_file[x]] = 1
        st.copies[inst.held_file[x]] += 1
    for i in range(nodes):
        for p in range(plan.ptr[i + 1] - 1, plan.ptr[i] - 1, -1):
            e = plan.entry[p]
            if plan.barriers:
                st.round_left[plan.round_of[p]] += 1
            for x in range(inst.ptr[e], inst.ptr[e + 1]):
                f = inst.files[x]
                st.follow[x] = st.nxt[i * files + f]
                st.nxt[i * files + f] = p
                st.need[f] += 1
                if e < inst.num_tasks:
                    st.freq[f] += 1
    for f in range(files):
        if st.need[f] > 0 and st.copies[f] == 0:
            st.counters[OWED] += inst.size[f]


def settle_in(inst: Any, st: Any, i: int, f: int) -> None:
    """File *f* takes its space on node *i*."""
    x = i * inst.num_files
    st.residents[x + st.num_residents[i]] = f
    st.seat[x + f] = st.num_residents[i]
    st.num_residents[i] += 1
    st.used[i] += inst.size[f]


def evict(inst: Any, st: Any, log: Any, i: int, f: int, now: float) -> None:
    """The complete copy of *f* leaves node *i*; its space is free at once."""
    x = i * inst.num_files
    last = st.residents[x + st.num_residents[i] - 1]
    st.residents[x + st.seat[x + f]] = last
    st.seat[x + last] = st.seat[x + f]
    st.num_residents[i] -= 1
    st.used[i] -= inst.size[f]
    st.has[x + f] = 0
    st.copies[f] -= 1
    if st.copies[f] == 0 and st.flying[f] == 0 and st.need[f] > 0:
        st.counters[OWED] += inst.size[f]
    n = st.counters[EVICTIONS]
    if log.enabled and n < len(log.evicted_at):
        log.evicted_file[n] = f
        log.evicted_node[n] = i
        log.evicted_at[n] = now
    st.counters[EVICTIONS] = n + 1


def victim_key(inst: Any, plan: Any, st: Any, i: int, f: int) -> float:
    """What the policy orders victims by, least first (timeline rule 4; ties: lowest file index)."""
    files = inst.num_files
    x = i * files + f
    if plan.policy == 1:
        return st.freq[f] * float(inst.size[f]) / st.copies[f]
    if plan.policy == 2:
        return st.last_use[x]
    if st.need[f] == 0:
        return 0.0
    own = st.nxt[x] != NO_PLACE
    distance = st.nxt[x] - st.head[i]
    if not own:
        distance = 1 << 40
        for j in range(inst.num_nodes):
            place = st.nxt[j * files + f]
            if place != NO_PLACE and place - st.head[j] < distance:
                distance = place - st.head[j]
    if st.copies[f] > 1:
        return (2.0 if own else 1.0) * CLASS_STEP - distance
    return 3.0 * CLASS_STEP - distance


def make_room(inst: Any, plan: Any, st: Any, log: Any, i: int, size: int, now: float) -> bool:
    """Evict from node *i* until *size* bytes fit; nothing at all where that cannot be done."""
    short = st.used[i] + size - inst.disk[i]
    if short <= 0:
        return True
    files = inst.num_files
    busy = st.running[i] >= 0
    count = 0
    freeable = 0
    for s in range(st.num_residents[i]):
        f = st.residents[i * files + s]
        x = i * files + f
        if st.has[x] != 1 or st.pin[x] > 0:
            continue
        if busy and st.need[f] > 0 and (st.copies[f] == 1 or st.nxt[x] != NO_PLACE):
            continue
        st.victims[count] = f
        count += 1
        freeable += inst.size[f]
    if freeable < short:
        return False
    for v in range(count):
        st.keys[v] = victim_key(inst, plan, st, i, st.victims[v])
    while short > 0:
        best = 0
        for v in range(1, count):
            if st.keys[v] < st.keys[best] or (
                st.keys[v] == st.keys[best] and st.victims[v] < st.victims[best]
            ):
                best = v
        f = st.victims[best]
        evict(inst, st, log, i, f, now)
        short -= inst.size[f]
        count -= 1
        st.victims[best] = st.victims[count]
        st.keys[best] = st.keys[count]
    return True


def stage(inst: Any, plan: Any, st: Any, i: int) -> bool:
    """Pin the inputs of the first unstarted entry of node *i* (timeline rules 1 and 3).

    False where there is none to stage.
    """
    p = st.head[i]
    if p >= plan.ptr[i + 1] or (plan.barriers and plan.round_of[p] >= st.counters[OPENED]):
        return False
    if not st.staged[i]:
        st.staged[i] = 1
        e = plan.entry[p]
        for x in range(inst.ptr[e], inst.ptr[e + 1]):
            st.pin[i * inst.num_files + inst.files[x]] += 1
    return True


def start_task(inst: Any, plan: Any, st: Any, log: Any, i: int, now: float) -> bool:
    """Start the staged entry of node *i* if the node is idle and all its files are there."""
    if st.running[i] >= 0 or not stage(inst, plan, st, i):
        return False
    files = inst.num_files
    e = plan.entry[st.head[i]]
    for x in range(inst.ptr[e], inst.ptr[e + 1]):
        if st.has[i * files + inst.files[x]] != 1:
            return False
    st.running[i] = e
    st.run_end[i] = now + inst.compute[e] / inst.speed[i]
    st.head[i] += 1
    st.staged[i] = 0
    for x in range(inst.ptr[e], inst.ptr[e + 1]):
        f = inst.files[x]
        st.nxt[i * files + f] = st.follow[x]
        st.need[f] -= 1
    if log.enabled:
        log.task_start[e] = now
    return True


def start_transfer(inst: Any, plan: Any, st: Any, log: Any, i: int, now: float) -> bool:
    """Start the first missing file of node *i*'s staged entry that can start now (timeline rule 2)."""
    if st.recv[i] >= 0 or not stage(inst, plan, st, i):
        return False
    files = inst.num_files
    e = plan.entry[st.head[i]]
    for x in range(inst.ptr[e], inst.ptr[e + 1]):
        f = inst.files[x]
        if st.has[i * files + f] != 0 or (st.copies[f] == 0 and st.flying[f] > 0):
            continue
        if not make_room(inst, plan, st, log, i, inst.size[f], now):
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
        settle_in(inst, st, i, f)
        st.has[i * files + f] = 2
        st.flying[f] += 1
        st.recv[i] = f
        st.source[i] = source
        st.left[i] = inst.size[f]
        st.rate[i] = 0.0
        st.since[i] = now
        st.due[i] = now if inst.size[f] == 0 else float("inf")
        st.counters[CHANGED] = 1
        n = st.counters[TRANSFERS]
        if log.enabled and n < len(log.start):
            log.file[n] = f
            log.source[n] = source
            log.destination[n] = i
            log.start[n] = now
        st.slot[i] = n
        st.counters[TRANSFERS] = n + 1
        return True
    return False


def share_out(inst: Any, st: Any, now: float) -> None:
    """Rates of all transfers anew (timeline rule 5), and the end of those whose rate has changed."""
    nodes = inst.num_nodes
    link = nodes + inst.num_storages
    flows = 0
    for i in range(nodes):
        f = st.recv[i]
        if f < 0 or inst.size[f] == 0:
            continue
        use = 3 * flows
        st.use[use] = i
        if st.source[i] >= 0:
            st.use[use + 1] = st.source[i]
            st.use[use + 2] = -1
        else:
            st.use[use + 1] = link if inst.shared else link + 1 + i
            st.use[use + 2] = nodes + inst.storage[f] if inst.storage[f] >= 0 else -1
        st.receivers[flows] = i
        flows += 1
    fill(inst.capacity, st.use, flows, 3, st.rates, st.room, st.crossing)
    for j in range(flows):
        i = st.receivers[j]
        if st.rates[j] != st.rate[i]:
            st.left[i] = max(0.0, st.left[i] - st.rate[i] * (now - st.since[i]))
            st.since[i] = now
            st.rate[i] = st.rates[j]
            st.due[i] = now + st.left[i] / st.rate[i]
    st.counters[CHANGED] = 0


def arrive(inst: Any, st: Any, log: Any, i: int, now: float) -> None:
    """The file that node *i* receives is complete."""
    files = inst.num_files
    f = st.recv[i]
    st.has[i * files + f] = 1
    st.copies[f] += 1
    st.flying[f] -= 1
    st.last_use[i * files + f] = now
    if st.source[i] >= 0:
        st.pin[st.source[i] * files + f] -= 1
    st.recv[i] = -1
    st.counters[CHANGED] = 1
    if log.enabled and st.slot[i] < len(log.end):
        log.end[st.slot[i]] = now


def finish_task(inst: Any, plan: Any, st: Any, log: Any, i: int, now: float) -> None:
    """The entry that node *i* computes has ended."""
    files = inst.num_files
    e = st.running[i]
    for x in range(inst.ptr[e], inst.ptr[e + 1]):
        f = inst.files[x]
        st.pin[i * files + f] -= 1
        st.last_use[i * files + f] = now
        if e < inst.num_tasks:
            st.freq[f] -= 1
    st.running[i] = -1
    st.counters[ENDED] += 1
    if plan.barriers:
        st.round_left[plan.round_of[st.head[i] - 1]] -= 1
    if log.enabled:
        log.task_end[e] = now


def open_rounds(inst: Any, plan: Any, st: Any, log: Any, now: float) -> None:
    """Open the first round, and each next one when all before it have ended on every node.

    What a round evicts leaves as it opens.
    """
    while st.counters[OPENED] < plan.num_rounds and (
        st.counters[OPENED] == 0 or st.round_left[st.counters[OPENED] - 1] == 0
    ):
        r = st.counters[OPENED]
        for x in range(plan.drop_ptr[r], plan.drop_ptr[r + 1]):
            i, f = plan.drop_node[x], plan.drop_file[x]
            if st.has[i * inst.num_files + f] == 1:
                evict(inst, st, log, i, f, now)
        st.counters[OPENED] = r + 1


def hopeless(inst: Any, st: Any, now: float, horizon: float) -> bool:
    """Whether the bytes still owed by the shared link alone take the replay past *horizon*."""
    if not inst.shared:
        return False
    owed = float(st.counters[OWED])
    for i in range(inst.num_nodes):
        if st.recv[i] >= 0 and st.source[i] < 0:
            owed += max(0.0, st.left[i] - st.rate[i] * (now - st.since[i]))
    return now + owed / inst.capacity[inst.num_nodes + inst.num_storages] > horizon


def next_event(inst: Any, st: Any) -> float:
    """The earliest end of anything under way; infinity when nothing is."""
    soonest = float("inf")
    for i in range(inst.num_nodes):
        if st.running[i] >= 0 and st.run_end[i] < soonest:
            soonest = st.run_end[i]
        if st.recv[i] >= 0 and st.due[i] < soonest:
            soonest = st.due[i]
    return soonest


def replay(inst: Any, plan: Any, st: Any, log: Any, horizon: float) -> tuple[float, int]:
    """Replay *plan*; returns (end of the last entry in seconds, one of the codes above).

    A replay that passes *horizon* seconds, or must, is given up with BEYOND.
    """
    reset(inst, plan, st)
    return advance(inst, plan, st, log, horizon, 1 << 60)


def begin_or_advance(inst: Any, plan: Any, st: Any, log: Any, most: int) -> tuple[float, int]:
    """The replay in pieces of *most* instants: begins where *st* is unused, else goes on."""
    if not st.counters[BEGUN]:
        reset(inst, plan, st)
        st.counters[BEGUN] = 1
    return advance(inst, plan, st, log, float("inf"), most)


def advance(
    inst: Any, plan: Any, st: Any, log: Any, horizon: float, most: int
) -> tuple[float, int]:
    """Go on for *most* instants (timeline rule 6) at which something ends; PAUSED where that was not enough.

    Completions less than about 1e-11 s apart are one instant: they differ by rounding only.
    """
    total = len(plan.entry)
    now, ended = st.clock[0], st.clock[1]
    for _ in range(most):
        if plan.barriers:
            open_rounds(inst, plan, st, log, now)
        moved = True
        while moved:
            moved = False
            for i in range(inst.num_nodes):
                if start_task(inst, plan, st, log, i, now):
                    moved = True
                if start_transfer(inst, plan, st, log, i, now):
                    moved = True
        if st.counters[ENDED] == total:
            full = log.enabled and (
                st.counters[TRANSFERS] > len(log.start)
                or st.counters[EVICTIONS] > len(log.evicted_at)
            )
            return ended, LOG_FULL if full else FINISHED
        if st.counters[CHANGED]:
            share_out(inst, st, now)
        now = next_event(inst, st)
        if now == float("inf"):
            return ended, STUCK
        if now > horizon or (horizon < float("inf") and hopeless(inst, st, now, horizon)):
            return now, BEYOND
        instant = now + 1e-11 + 2e-14 * now
        for i in range(inst.num_nodes):
            if st.running[i] >= 0 and st.run_end[i] <= instant:
                finish_task(inst, plan, st, log, i, now)
                ended = now
            if st.recv[i] >= 0 and st.due[i] <= instant:
                arrive(inst, st, log, i, now)
    st.clock[0], st.clock[1] = now, ended
    return ended, PAUSED
