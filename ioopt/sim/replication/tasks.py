"""The tasks of the timeline simulator: what starts on the cores of a node, and what its end changes.

Plain Python over the arrays of :mod:`ioopt.sim.replication.state`, which numba compiles too.
"""

from ioopt.sim.replication.disk import make_room, settle_in
from ioopt.sim.replication.moves import made_to_keep, stage
from ioopt.sim.replication.state import ENDED, Instance, Log, Queues, State


def start_task(inst: Instance, plan: Queues, st: State, log: Log, i: int, now: float) -> bool:
    """Workflow rule 3: start the staged entry of node *i* if cores idle, inputs are there, outputs fit."""
    if not stage(inst, plan, st, i):
        return False
    files = inst.num_files
    e = plan.entry[st.head[i]]
    if st.idle[i] < inst.cores[e]:
        return False
    # Staged inputs are pinned: those that were found on the disk stay there.
    x = inst.ptr[e] + st.staged[i] - 1
    while x < inst.ptr[e + 1] and st.has[i * files + inst.files[x]] == 1:
        x += 1
    st.staged[i] = x - inst.ptr[e] + 1
    if x < inst.ptr[e + 1]:
        return False
    if st.used[i] + inst.out_bytes[e] > inst.disk[i] and not make_room(
        inst, plan, st, log, i, inst.out_bytes[e], now, False
    ):
        return False
    st.head[i] += 1
    st.staged[i] = 0
    for x in range(inst.ptr[e], inst.ptr[e + 1]):
        st.nxt[i * files + inst.files[x]] = st.follow[x]
    take_cores(inst, st, i, e, now + inst.compute[e] / inst.speed[i])
    for x in range(inst.ptr[e], inst.ptr[e + 1]):
        st.need[inst.files[x]] -= 1
    for x in range(inst.out_ptr[e], inst.out_ptr[e + 1]):
        settle_in(inst, st, i, inst.outs[x])
        st.has[i * files + inst.outs[x]] = 2
    if log.enabled:
        log.task_start[e] = now
    return True


def take_cores(inst: Instance, st: State, i: int, e: int, end: float) -> None:
    """Entry *e* takes the cores of node *i* that idle the longest, ties to the lowest number."""
    st.idle[i] -= inst.cores[e]
    for n in range(inst.cores[e]):
        best = -1
        for c in range(inst.core_ptr[i], inst.core_ptr[i + 1]):
            if st.running[c] < 0 and (best < 0 or st.idle_since[c] < st.idle_since[best]):
                best = c
        st.running[best] = e
        if n == 0:
            st.run_end[best] = end


def finish_task(inst: Instance, plan: Queues, st: State, log: Log, core: int, now: float) -> None:
    """The entry whose first core is *core* has ended."""
    files = inst.num_files
    e = st.running[core]
    i = inst.core_node[core]
    for x in range(inst.ptr[e], inst.ptr[e + 1]):
        f = inst.files[x]
        st.pin[i * files + f] -= 1
        st.last_use[i * files + f] = now
        if e < inst.num_tasks:
            st.freq[f] -= 1
    for x in range(inst.out_ptr[e], inst.out_ptr[e + 1]):
        f = inst.outs[x]
        st.has[i * files + f] = 1
        st.copies[f] = 1
        st.last_use[i * files + f] = now
        if inst.keep[f]:
            made_to_keep(inst, st, i, f, now)
    for c in range(inst.core_ptr[i], inst.core_ptr[i + 1]):
        if st.running[c] == e:
            st.running[c] = -1
            st.run_end[c] = float("inf")
            st.idle_since[c] = now
    st.idle[i] += inst.cores[e]
    st.finished[st.counters[ENDED]] = e
    st.counters[ENDED] += 1
    st.clock[1] = now
    if plan.barriers:
        st.round_left[plan.round_of[st.head[i] - 1]] -= 1
    if log.enabled:
        log.task_end[e] = now
