"""Apply the timeline rules of the replication family to flat arrays.

The code uses only the part of Python that numba compiles. It is therefore both the
plain simulator and the fast one (:mod:`ioopt.compiled`). The rules are in
docs/rules/replication.md; those that hold for workflows alone are in
docs/rules/workflow.md. In short:

Each node computes its queue in order. It stages the first unstarted task, one incoming
transfer at a time. A file comes from the lowest-numbered node with a complete copy. If
there is none and no node is receiving the file, it comes from remote storage. Space is
freed file by file, on demand (:mod:`ioopt.sim.replication.disk`). Rates are max-min
fair (:mod:`ioopt.sim.replication.moves`). At an instant all completions come first;
then passes over the nodes repeat until nothing changes. In workflows, tasks also write
files, use several cores and have arrival times.
"""

from ioopt.problems.replication import JUST_AFTER, RELATIVE_AFTER
from ioopt.sim.replication import state as at
from ioopt.sim.replication.disk import NO_PLACE, evict, make_room, settle_in
from ioopt.sim.replication.moves import (
    arrive,
    share_out,
    stage,
    start_save,
    start_transfer,
)
from ioopt.sim.replication.state import Instance, Log, Queues, State


def start_task(
    inst: Instance, plan: Queues, st: State, log: Log, i: int, now: float
) -> bool:
    """Start the staged entry of node *i* if it can start (workflow rule 3); return
    whether it did.

    The entry can start if enough cores are idle, its inputs are present, and its
    outputs fit.
    """
    if not stage(inst, plan, st, log, i, now):
        return False
    files = inst.num_files
    e = plan.entry[st.head[i]]
    if st.idle[i] < inst.cores[e]:
        return False
    # Staged inputs are pinned, so those found on the disk stay there.
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
    """Give entry *e*, which runs until *end*, those cores of node *i* that have been
    idle longest.

    Ties go to the lowest core number.
    """
    st.idle[i] -= inst.cores[e]
    for n in range(inst.cores[e]):
        best = -1
        for c in range(inst.core_ptr[i], inst.core_ptr[i + 1]):
            if st.running[c] < 0 and (
                best < 0 or st.idle_since[c] < st.idle_since[best]
            ):
                best = c
        st.running[best] = e
        if n == 0:
            st.run_end[best] = end


def finish_task(
    inst: Instance, plan: Queues, st: State, log: Log, core: int, now: float
) -> None:
    """End the entry whose first core is *core*; release its cores and complete its
    outputs.
    """
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
            st.made[f] = now
            st.waiting[i] += 1
    for c in range(inst.core_ptr[i], inst.core_ptr[i + 1]):
        if st.running[c] == e:
            st.running[c] = -1
            st.run_end[c] = float("inf")
            st.idle_since[c] = now
    st.idle[i] += inst.cores[e]
    st.finished[st.counters[at.ENDED]] = e
    st.counters[at.ENDED] += 1
    st.clock[1] = now
    if plan.barriers:
        st.round_left[plan.round_of[st.head[i] - 1]] -= 1
    if log.enabled:
        log.task_end[e] = now


FINISHED = 0
STUCK = 1
LOG_FULL = 2
BEYOND = 3
PAUSED = 4
ASKING = 5
REPLAY = -3
BEGIN = -2
NOBODY = -1
"""Values of *task* that stand for no task. REPLAY: the queues are given. BEGIN: a
dispatch begins. NOBODY: the dispatcher assigns no task, so time advances.
"""


def reset(inst: Instance, plan: Queues, st: State) -> None:
    """Reset the state *st* to time 0: held files are on the disks, and nothing has
    started.
    """
    nodes = inst.num_nodes
    files = inst.num_files
    for x in range(nodes * files):
        st.has[x] = 0
        st.pin[x] = 0
        st.nxt[x] = NO_PLACE
        st.last_use[x] = -1.0
    for x in range(len(st.counters)):
        st.counters[x] = 0
    for f in range(files):
        st.need[f] = 0
        st.freq[f] = 0
        st.copies[f] = 0
        st.flying[f] = 0
        st.saved[f] = 0 if inst.product[f] else 2
    st.clock[0] = 0.0
    st.clock[1] = 0.0
    st.clock[2] = JUST_AFTER
    note_arrivals(inst, st)
    for r in range(plan.num_rounds):
        st.round_left[r] = 0
    for i in range(nodes):
        st.used[i] = 0
        st.num_residents[i] = 0
        st.head[i] = plan.ptr[i]
        st.staged[i] = 0
        st.idle[i] = inst.node_cores[i]
        st.waiting[i] = 0
    for c in range(len(inst.core_node)):
        st.running[c] = -1
        st.run_end[c] = float("inf")
        st.idle_since[c] = 0.0
    for y in range(inst.num_flows):
        st.recv[y] = -1
        st.target[y] = -1
        st.rate[y] = 0.0
        st.due[y] = float("inf")
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
        if (st.need[f] > 0 and st.copies[f] == 0 and st.saved[f] == 2) or inst.keep[f]:
            st.counters[at.OWED] += inst.size[f]


def open_rounds(inst: Instance, plan: Queues, st: State, log: Log, now: float) -> None:
    """Open the first round of a plan, and each later round once the round before it has
    ended on all nodes.
    """
    while st.counters[at.OPENED] < plan.num_rounds and (
        st.counters[at.OPENED] == 0 or st.round_left[st.counters[at.OPENED] - 1] == 0
    ):
        r = st.counters[at.OPENED]
        for x in range(plan.drop_ptr[r], plan.drop_ptr[r + 1]):
            i = plan.drop_node[x]
            f = plan.drop_file[x]
            if st.has[i * inst.num_files + f] == 1:
                evict(inst, st, log, i, f, now)
        st.counters[at.OPENED] = r + 1


def hopeless(inst: Instance, st: State, now: float, horizon: float) -> bool:
    """Return whether the bytes that must still cross the shared link make the replay
    end later than *horizon* seconds.
    """
    if not inst.shared:
        return False
    owed = float(st.counters[at.OWED])
    for y in range(inst.num_flows):
        f = st.recv[y]
        if f >= 0 and (st.source[y] < 0 or (st.target[y] < 0 and inst.keep[f] > 0)):
            owed += max(0.0, st.left[y] - st.rate[y] * (now - st.since[y]))
    return now + owed / inst.capacity[inst.num_nodes + inst.num_storages] > horizon


def next_event(inst: Instance, st: State) -> float:
    """Return the time in seconds of the next end of a task or a transfer, or of the
    next arrival of a task.

    Return infinity if there is no such event.
    """
    soonest = float("inf")
    for c in range(len(inst.core_node)):
        if st.run_end[c] < soonest:
            soonest = st.run_end[c]
    for y in range(inst.num_flows):
        if st.due[y] < soonest:
            soonest = st.due[y]
    if not inst.plain and st.counters[at.ARRIVED] < inst.num_tasks:
        soonest = min(soonest, inst.release[inst.by_release[st.counters[at.ARRIVED]]])
    return soonest


def complete(inst: Instance, plan: Queues, st: State, log: Log, now: float) -> None:
    """Set the time to *now*, and end everything that is due at this instant."""
    if now > st.clock[2]:
        st.counters[at.ROUND] = -1
    st.counters[at.ROUND] += 1
    instant = now + JUST_AFTER + RELATIVE_AFTER * now
    st.clock[0] = now
    st.clock[2] = instant
    for c in range(len(inst.core_node)):
        if st.run_end[c] <= instant:
            finish_task(inst, plan, st, log, c, now)
    for y in range(inst.num_flows):
        if st.due[y] <= instant:
            arrive(inst, st, log, y, now)
    if not inst.plain:
        note_arrivals(inst, st)


def note_arrivals(inst: Instance, st: State) -> None:
    """Count the tasks that have arrived by the present instant."""
    n = st.counters[at.ARRIVED]
    while n < inst.num_tasks and inst.release[inst.by_release[n]] <= st.clock[2]:
        n += 1
    st.counters[at.ARRIVED] = n


def passes(inst: Instance, plan: Queues, st: State, log: Log, now: float) -> None:
    """Make passes over the nodes until a pass changes nothing.

    On each node, a pass starts at most one task, one transfer and, in workflows, one
    save.
    """
    workflow = not inst.plain
    moved = True
    while moved:
        moved = False
        for i in range(inst.num_nodes):
            if workflow:
                st.counters[at.REQUEST] = -1
            if st.idle[i] > 0 and start_task(inst, plan, st, log, i, now):
                moved = True
            if (st.recv[i] < 0 or inst.staging[i] > 1) and start_transfer(
                inst, plan, st, log, i, now
            ):
                moved = True
            if (
                workflow
                and st.recv[inst.num_nodes + i] < 0
                and (st.counters[at.REQUEST] >= 0 or st.waiting[i] > 0)
            ):
                start_save(inst, plan, st, log, i, now)
                moved = True


def over(inst: Instance, st: State, log: Log, total: int) -> int:
    """Return FINISHED once all *total* entries and all saves have ended; PAUSED before
    that.

    Return LOG_FULL instead of FINISHED if the log was too short.
    """
    if st.counters[at.ENDED] < total or st.counters[at.SAVING] > 0:
        return PAUSED
    if log.enabled and (
        st.counters[at.TRANSFERS] > len(log.start)
        or st.counters[at.EVICTIONS] > len(log.evicted_at)
    ):
        return LOG_FULL
    return FINISHED


def replay(
    inst: Instance, plan: Queues, st: State, log: Log, horizon: float
) -> tuple[float, int]:
    """Replay *plan*; return the end of the last entry in seconds, and a status code.

    A replay that must end later than *horizon* seconds is given up with the status
    BEYOND.
    """
    reset(inst, plan, st)
    return advance(inst, plan, st, log, horizon, 1 << 60, REPLAY)


def begin_or_advance(
    inst: Instance,
    plan: Queues,
    st: State,
    log: Log,
    most: int,
    task: int = REPLAY,
    i: int = 0,
) -> tuple[float, int]:
    """Replay a plan in pieces of *most* instants: begin if the state *st* is unused,
    else continue.

    If *task* is not REPLAY, make one step of a dispatch instead (workflow rule 11). A
    task index assigns the task to node *i*; the values BEGIN and NOBODY assign no task.
    Return ASKING once the passes over the nodes change nothing any more. In a dispatch
    ``plan`` has one place for each node. Replay and dispatch share this function so
    that they are compiled once.
    """
    if task == BEGIN or (task == REPLAY and not st.counters[at.BEGUN]):
        reset(inst, plan, st)
        st.counters[at.BEGUN] = 1
    if task == BEGIN:
        leave_unassigned(inst, st)
    elif task >= 0:
        plan.entry[i] = task
        st.head[i] = i
        for x in range(inst.ptr[task], inst.ptr[task + 1]):
            st.follow[x] = NO_PLACE
            st.nxt[i * inst.num_files + inst.files[x]] = i
    return advance(inst, plan, st, log, float("inf"), most, task)


def leave_unassigned(inst: Instance, st: State) -> None:
    """Empty the queues of a dispatch, and leave every task unassigned."""
    for i in range(inst.num_nodes):
        st.head[i] = i + 1
    for x in range(inst.num_nodes * inst.num_files):
        st.nxt[x] = NO_PLACE
    for f in range(inst.num_files):
        st.need[f] = 0
        st.freq[f] = 0
    for x in range(inst.ptr[inst.num_tasks]):
        st.need[inst.files[x]] += 1
        st.freq[inst.files[x]] += 1


def advance(
    inst: Instance,
    plan: Queues,
    st: State,
    log: Log,
    horizon: float,
    most: int,
    task: int,
) -> tuple[float, int]:
    """Continue a replay or a dispatch for at most *most* instants (timeline rule 6);
    return the end of the last entry in seconds, and a status code.

    The status is PAUSED if more instants are needed. A dispatch stops at the next
    question to the dispatcher. If the dispatcher has just assigned a task, the next
    question comes at the present instant. If *task* is NOBODY, it comes after the next
    instant.
    """
    total = inst.num_tasks if task != REPLAY else len(plan.entry)
    now = st.clock[0]
    settled = task == NOBODY
    for _ in range(most):
        if not settled:
            if plan.barriers:
                open_rounds(inst, plan, st, log, now)
            passes(inst, plan, st, log, now)
            code = over(inst, st, log, total)
            if code == PAUSED and task != REPLAY:
                code = ASKING
            if code != PAUSED:
                return st.clock[1], code
        settled = False
        if st.counters[at.CHANGED]:
            share_out(inst, st, now)
        now = next_event(inst, st)
        if now == float("inf"):
            return st.clock[1], STUCK
        if now > horizon or (
            horizon < float("inf") and hopeless(inst, st, now, horizon)
        ):
            return now, BEYOND
        complete(inst, plan, st, log, now)
    return st.clock[1], PAUSED
