"""Apply the timeline rules of the replication family to the records of a world.

The text runs as plain Python and compiled (:mod:`ioopt.compiled.memory`). It is
therefore both the plain simulator and the fast one. The rules are in
docs/rules/replication.md; those that hold for workflows alone are in
docs/rules/workflow.md. In short:

Each node computes its queue in order. It stages the first unstarted task, one incoming
transfer at a time. A file comes from the lowest-numbered node with a complete copy. If
there is none and no node is receiving the file, it comes from remote storage. Space is
freed file by file, on demand (:mod:`ioopt.sim.replication.disk`). Rates are max-min
fair (:mod:`ioopt.sim.fluid`). At an instant all completions come first;
then passes over the nodes repeat until nothing changes. In workflows, tasks also write
files, use several cores and have arrival times.
"""

from ioopt.sim.clock import instant_of
from ioopt.sim.fluid import left_on
from ioopt.sim.replication.disk import (
    NO_PLACE,
    enter_cache,
    evict,
    make_room,
    settle_in,
)
from ioopt.sim.replication.moves import (
    arrive,
    free_flow,
    open_flow,
    set_off,
    share_out,
    stage,
    start_save,
    start_transfer,
    use_disk,
)
from ioopt.sim.replication.world import DISK_USE, World

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


def start_task(w: World, i: int, now: float) -> bool:
    """Start the staged entry of node *i* if it can start (workflow rule 3); return
    whether it did.

    The entry can start if enough cores are idle and enough memory is free, its inputs
    are present, and its outputs fit.
    """
    if not stage(w, i, now):
        return False
    first = i * w.num_files
    cells = w.cells
    reads = w.reads
    node = w.nodes[i]
    e = w.places[node.head].entry
    entry = w.entries[e]
    if node.idle < entry.cores or node.free_memory < entry.memory:
        return False
    # Staged inputs are pinned, so those found on the disk stay there.
    x = entry.first_input + node.staged - 1
    while x < entry.end_input and cells[first + reads[x].file].has == 1:
        x += 1
    node.staged = x - entry.first_input + 1
    if x < entry.end_input:
        return False
    full = node.used + entry.out_bytes > node.disk
    if full and not make_room(w, i, entry.out_bytes, now, False):
        return False
    node.head += 1
    node.staged = 0
    for x in range(entry.first_input, entry.end_input):
        read = reads[x]
        cells[first + read.file].next_place = read.follow
    c = take_cores(w, i, e, now + (entry.overhead + entry.compute / node.speed))
    if w.task_disk:
        use_disk(w, i, c, now)
    for x in range(entry.first_input, entry.end_input):
        w.files[reads[x].file].need -= 1
    for x in range(entry.first_output, entry.end_output):
        settle_in(w, i, w.outputs[x])
        cells[first + w.outputs[x]].has = 2
    if w.logging:
        entry.start = now
        entry.turn = w.run.starts
        w.run.starts += 1
    return True


def take_cores(w: World, i: int, e: int, end: float) -> int:
    """Give entry *e*, which runs until *end*, its memory and those cores of node *i*
    that have been idle longest; return the first of these cores.

    Ties go to the lowest core number.
    """
    first = -1
    node = w.nodes[i]
    wanted = w.entries[e].cores
    node.idle -= wanted
    node.free_memory -= w.entries[e].memory
    for n in range(wanted):
        best = -1
        for c in range(node.first_core, node.end_core):
            core = w.cores[c]
            if core.entry >= 0:
                continue
            if best < 0 or core.idle_since < w.cores[best].idle_since:
                best = c
        w.cores[best].entry = e
        if n == 0:
            w.cores[best].end = end
            first = best
    return first


def finish_task(w: World, c: int, now: float) -> None:
    """End the entry whose first core is *c*; release its cores and its memory, and
    complete its outputs.
    """
    e = w.cores[c].entry
    i = w.cores[c].node
    entry = w.entries[e]
    node = w.nodes[i]
    first = i * w.num_files
    for x in range(entry.first_input, entry.end_input):
        f = w.reads[x].file
        cell = w.cells[first + f]
        cell.pin -= 1
        cell.last_use = now
        if e < w.num_tasks:
            w.files[f].freq -= 1
    for x in range(entry.first_output, entry.end_output):
        f = w.outputs[x]
        cell = w.cells[first + f]
        cell.has = 1
        cell.last_use = now
        file = w.files[f]
        file.copies = 1
        if file.keep:
            file.made = now
            node.waiting += 1
    if w.barriers:
        w.rounds[w.places[node.head - 1].round].left -= 1
    free_cores(w, i, e, now)


def free_cores(w: World, i: int, e: int, now: float) -> None:
    """Record the end of entry *e*, and free its cores and its memory on node *i*."""
    run = w.run
    node = w.nodes[i]
    entry = w.entries[e]
    for other in range(node.first_core, node.end_core):
        core = w.cores[other]
        if core.entry == e:
            core.entry = -1
            core.end = float("inf")
            core.idle_since = now
    node.idle += entry.cores
    node.free_memory += entry.memory
    w.finished[run.ended] = e
    run.ended += 1
    run.last_end = now
    if w.logging:
        entry.end = now


def start_entries(w: World, now: float) -> None:
    """Make passes over the nodes, with shared products, until no entry starts any more.

    On each node, a pass starts at most one entry (workflow rule 26).
    """
    moved = True
    while moved:
        moved = False
        for i in range(w.num_nodes):
            if w.nodes[i].idle > 0 and start_on_shared(w, i, now):
                moved = True


def start_on_shared(w: World, i: int, now: float) -> bool:
    """Start the first unstarted entry of node *i* with its first step; return whether
    it could start.

    It can start if it has arrived, its inputs are made, and cores and memory suffice.
    """
    node = w.nodes[i]
    if node.head >= node.end_place:
        return False
    e = w.places[node.head].entry
    entry = w.entries[e]
    if entry.release > w.run.instant:
        return False
    if node.idle < entry.cores or node.free_memory < entry.memory:
        return False
    for x in range(entry.first_input, entry.end_input):
        if w.files[w.reads[x].file].saved != 2:
            return False
    node.head += 1
    entry.missing = 0
    for x in range(entry.first_input, entry.end_input):
        read = w.reads[x]
        cell = w.cells[i * w.num_files + read.file]
        cell.next_place = read.follow
        w.files[read.file].need -= 1
        if cell.has == 0:
            entry.missing += w.files[read.file].size
    c = take_cores(w, i, e, float("inf"))
    w.cores[node.first_core + node.running].started = c
    node.running += 1
    if w.logging:
        entry.start = now
        entry.turn = w.run.starts
        w.run.starts += 1
    w.cores[c].step = -1
    w.cores[c].end = now + entry.overhead
    if entry.overhead == 0.0:
        begin_next_step(w, c, now)
    return True


def end_steps(w: World, now: float) -> None:
    """End all steps that are due at this instant, and then begin the next steps
    (workflow rule 28).
    """
    instant = w.run.instant
    for i in range(w.num_nodes):
        node = w.nodes[i]
        for x in range(node.first_core, node.first_core + node.running):
            c = w.cores[x].started
            w.cores[c].step_ended = 0
            flow = w.fluid.flows[c]
            if w.cores[c].end <= instant:
                w.cores[c].step_ended = 1
            elif flow.due <= instant:
                if flow.rate < 0.0 and w.files[flow.file].size > 0:
                    open_flow(w, c, now)
                else:
                    end_flow(w, c, now)
                    w.cores[c].step_ended = 1
            last = last_step(w, c)
            if w.cores[c].step_ended and w.cores[c].step == last:
                finish_on_shared(w, c, now)
        forget_finished(w, i)
    for node in w.nodes:
        for x in range(node.first_core, node.first_core + node.running):
            if w.cores[w.cores[x].started].step_ended:
                begin_next_step(w, w.cores[x].started, now)


def last_step(w: World, c: int) -> int:
    """Return the number of the last step of the entry whose first core is *c*."""
    entry = w.entries[w.cores[c].entry]
    inputs = entry.end_input - entry.first_input
    return inputs + entry.end_output - entry.first_output


def forget_finished(w: World, i: int) -> None:
    """Remove the entries that have ended from the running entries of node *i*."""
    node = w.nodes[i]
    kept = 0
    for x in range(node.first_core, node.first_core + node.running):
        c = w.cores[x].started
        if w.cores[c].entry >= 0:
            w.cores[node.first_core + kept].started = c
            kept += 1
    node.running = kept


def end_flow(w: World, c: int, now: float) -> None:
    """End the read or write of the entry on core *c*; its file may enter the node's
    cache (workflow rule 27).
    """
    flow = w.fluid.flows[c]
    f = flow.file
    if w.logging and flow.row < len(w.transfers):
        w.transfers[flow.row].end = now
    reading = flow.source < 0
    free_flow(w, c)
    if reading or w.caches_made:
        enter_cache(w, w.cores[c].node, f, now)


def finish_on_shared(w: World, c: int, now: float) -> None:
    """End the entry whose first core is *c*: all its products are made."""
    e = w.cores[c].entry
    entry = w.entries[e]
    for x in range(entry.first_input, entry.end_input):
        if e < w.num_tasks:
            w.files[w.reads[x].file].freq -= 1
    for x in range(entry.first_output, entry.end_output):
        w.files[w.outputs[x]].saved = 2
    free_cores(w, w.cores[c].node, e, now)


def begin_next_step(w: World, c: int, now: float) -> None:
    """Begin the next step of the entry whose first core is *c* (workflow rule 26).

    Inputs that the cache has are passed over.
    """
    run = w.run
    core = w.cores[c]
    i = core.node
    entry = w.entries[core.entry]
    inputs = entry.end_input - entry.first_input
    core.end = float("inf")
    core.step += 1
    while core.step < inputs:
        f = w.reads[entry.first_input + core.step].file
        cell = w.cells[i * w.num_files + f]
        file = w.files[f]
        if cell.has == 0:
            if file.flying == 0 and file.copies == 0 and file.product == 0:
                run.owed -= file.size
            file.flying = 1
            run.remote_bytes += file.size
            run.fetches += 1
            run.refetched += file.product
            set_off(w, c, f, -1, i, now)
            return
        cell.last_use = now
        run.cached_bytes += file.size
        core.step += 1
    if core.step == inputs:
        core.end = now + entry.compute / w.nodes[i].speed
        return
    f = w.outputs[entry.first_output + core.step - inputs - 1]
    run.owed -= w.files[f].size
    run.saved_bytes += w.files[f].size
    run.saves += 1
    set_off(w, c, f, i, -1, now)


def reset(w: World) -> None:
    """Reset the state of *w* to time 0: held files are on the disks, and nothing has
    started.
    """
    reset_numbers(w)
    for cell in w.cells:
        cell.has = 0
        cell.pin = 0
        cell.next_place = NO_PLACE
        cell.last_use = -1.0
    for file in w.files:
        file.need = 0
        file.unassigned = 0
        file.freq = 0
        file.copies = 0
        file.flying = 0
        file.saved = 0 if file.product else 2
    note_arrivals(w)
    for r in range(w.num_rounds):
        w.rounds[r].left = 0
    reset_nodes(w)
    for held in w.held:
        settle_in(w, held.node, held.file)
        w.cells[held.node * w.num_files + held.file].has = 1
        w.files[held.file].copies += 1
        if w.products_shared:
            w.files[held.file].flying = 1
    for i in range(w.num_nodes):
        count_readers(w, i)
    for file in w.files:
        to_fetch = file.need > 0 and file.copies == 0 and file.saved == 2
        if to_fetch or file.keep or (w.products_shared and file.product):
            w.run.owed += file.size


def reset_nodes(w: World) -> None:
    """Empty all nodes; nothing runs or moves."""
    for node in w.nodes:
        node.used = 0
        node.num_residents = 0
        node.head = node.first_place
        node.staged = 0
        node.idle = node.cores
        node.free_memory = node.memory
        node.waiting = 0
        node.running = 0
    for core in w.cores:
        core.entry = -1
        core.end = float("inf")
        core.idle_since = 0.0
    for flow in w.fluid.flows:
        flow.file = -1
        flow.target = -1
        flow.rate = 0.0
        flow.due = float("inf")


def reset_numbers(w: World) -> None:
    """Reset the numbers of the replay as a whole."""
    run = w.run
    run.now = 0.0
    run.last_end = 0.0
    run.instant = instant_of(0.0)
    run.owed = 0
    run.remote_bytes = 0
    run.replica_bytes = 0
    run.saved_bytes = 0
    run.cached_bytes = 0
    run.transfers = 0
    run.evictions = 0
    run.fetches = 0
    run.refetched = 0
    run.saves = 0
    run.spills = 0
    run.opened = 0
    run.ended = 0
    run.arrived = 0
    run.saving = 0
    run.request = 0
    run.wanted = 0
    run.passed = 0
    run.changed = 0
    run.begun = 0
    run.starts = 0


def count_readers(w: World, i: int) -> None:
    """Count the readers of files in the queue of node *i*, and link each to the next
    reader of the file in that queue.
    """
    first = i * w.num_files
    node = w.nodes[i]
    for p in range(node.end_place - 1, node.first_place - 1, -1):
        e = w.places[p].entry
        entry = w.entries[e]
        if w.barriers:
            w.rounds[w.places[p].round].left += 1
        for x in range(entry.first_input, entry.end_input):
            read = w.reads[x]
            cell = w.cells[first + read.file]
            file = w.files[read.file]
            read.follow = cell.next_place
            cell.next_place = p
            file.need += 1
            if e < w.num_tasks:
                file.freq += 1


def open_rounds(w: World, now: float) -> None:
    """Open the first round of a plan, and each later round once the round before it has
    ended on all nodes.
    """
    run = w.run
    while run.opened < w.num_rounds and (
        run.opened == 0 or w.rounds[run.opened - 1].left == 0
    ):
        opened = w.rounds[run.opened]
        for x in range(opened.first_drop, opened.end_drop):
            drop = w.drops[x]
            if w.cells[drop.node * w.num_files + drop.file].has == 1:
                evict(w, drop.node, drop.file, now)
        run.opened += 1


def hopeless(w: World, now: float, horizon: float) -> bool:
    """Return whether the bytes that must still cross the shared link make the replay
    end later than *horizon* seconds.
    """
    if not w.shared:
        return False
    owed = float(w.run.owed)
    for y in range(len(w.fluid.flows)):
        flow = w.fluid.flows[y]
        f = flow.file
        if f < 0:
            continue
        owes = flow.target < 0 and (w.files[f].keep > 0 or w.products_shared > 0)
        if flow.source < 0 or owes:
            owed += left_on(w.fluid.flows[y], now)
    link = w.fluid.resources[w.num_nodes + w.num_storages]
    return now + owed / link.capacity > horizon


def next_event(w: World) -> float:
    """Return the time in seconds of the next end of a task or a transfer, or of the
    next arrival of a task.

    Return infinity if there is no such event.
    """
    soonest = float("inf")
    for core in w.cores:
        if core.end < soonest:
            soonest = core.end
    for flow in w.fluid.flows:
        if flow.due < soonest:
            soonest = flow.due
    if not w.plain and w.run.arrived < w.num_tasks:
        soonest = min(soonest, w.entries[w.by_release[w.run.arrived]].release)
    return soonest


def complete(w: World, now: float) -> None:
    """Set the time to *now*, and end everything that is due at this instant."""
    run = w.run
    if now > run.instant:
        run.passed = -1
    run.passed += 1
    instant = instant_of(now)
    run.now = now
    run.instant = instant
    if w.products_shared:
        end_steps(w, now)
        note_arrivals(w)
        return
    for c in range(len(w.cores)):
        if w.cores[c].end <= instant:
            if w.task_disk and w.fluid.flows[w.task_flows + c].file == DISK_USE:
                w.cores[c].end = float("inf")
            else:
                finish_task(w, c, now)
    flows = w.fluid.flows
    for y in range(len(flows)):
        if flows[y].due <= instant:
            if flows[y].file == DISK_USE:
                end_disk_use(w, y, now)
            else:
                arrive(w, y, now)
    if not w.plain:
        note_arrivals(w)


def end_disk_use(w: World, y: int, now: float) -> None:
    """End the disk use on flow *y*, and its entry if that has computed; if the entry
    has just begun to compute, let the bytes move instead.
    """
    if w.fluid.flows[y].rate < 0.0:
        open_flow(w, y, now)
        return
    free_flow(w, y)
    c = y - w.task_flows
    if w.cores[c].end == float("inf"):
        finish_task(w, c, now)


def note_arrivals(w: World) -> None:
    """Count the tasks that have arrived by the present instant."""
    run = w.run
    n = run.arrived
    while n < w.num_tasks and w.entries[w.by_release[n]].release <= run.instant:
        n += 1
    run.arrived = n


def passes(w: World, now: float) -> None:
    """Make passes over the nodes until a pass changes nothing.

    On each node, a pass starts at most one task, one transfer and, in workflows, one
    save.
    """
    if w.products_shared:
        start_entries(w, now)
        return
    run = w.run
    nodes = w.nodes
    flows = w.fluid.flows
    workflow = not w.plain
    moved = True
    while moved:
        moved = False
        for i in range(w.num_nodes):
            node = nodes[i]
            if workflow:
                run.request = -1
            if node.idle > 0 and start_task(w, i, now):
                moved = True
            receives = flows[i].file >= 0 and node.staging == 1
            if not receives and start_transfer(w, i, now):
                moved = True
            if not workflow or flows[w.num_nodes + i].file >= 0:
                continue
            if run.request >= 0 or node.waiting > 0:
                start_save(w, i, now)
                moved = True


def over(w: World, total: int) -> int:
    """Return FINISHED once all *total* entries and all saves have ended; PAUSED before
    that.

    Return LOG_FULL instead of FINISHED if the log was too short.
    """
    run = w.run
    if run.ended < total or run.saving > 0:
        return PAUSED
    if w.logging and (
        run.transfers > len(w.transfers) or run.evictions > len(w.evictions)
    ):
        return LOG_FULL
    return FINISHED


def replay(w: World, horizon: float) -> tuple[float, int]:
    """Replay the plan of *w*; return the end of the last entry in seconds, and a status
    code.

    A replay that must end later than *horizon* seconds is given up with the status
    BEYOND.
    """
    reset(w)
    return advance(w, horizon, 1 << 60, REPLAY)


def begin_or_advance(w: World, most: int, task: int, i: int) -> tuple[float, int]:
    """Replay a plan in pieces of *most* instants: begin if ``run.begun`` is 0, else
    continue.

    If *task* is not REPLAY, make one step of a dispatch instead (workflow rule 11). A
    task index assigns the task to node *i*; the values BEGIN and NOBODY assign no task.
    Return ASKING once the passes over the nodes change nothing any more. In a dispatch
    the plan has one place for each node.
    """
    if task == BEGIN or (task == REPLAY and not w.run.begun):
        reset(w)
        w.run.begun = 1
    if task == BEGIN:
        leave_unassigned(w)
    elif task >= 0:
        w.places[i].entry = task
        w.nodes[i].head = i
        entry = w.entries[task]
        for x in range(entry.first_input, entry.end_input):
            w.reads[x].follow = NO_PLACE
            w.cells[i * w.num_files + w.reads[x].file].next_place = i
            w.files[w.reads[x].file].unassigned -= 1
    return advance(w, float("inf"), most, task)


def leave_unassigned(w: World) -> None:
    """Empty the queues of a dispatch, and leave every task unassigned."""
    for i in range(w.num_nodes):
        w.nodes[i].head = i + 1
    for cell in w.cells:
        cell.next_place = NO_PLACE
    for file in w.files:
        file.need = 0
        file.unassigned = 0
        file.freq = 0
    for k in range(w.num_tasks):
        for x in range(w.entries[k].first_input, w.entries[k].end_input):
            file = w.files[w.reads[x].file]
            file.need += 1
            file.unassigned += 1
            file.freq += 1


def advance(w: World, horizon: float, most: int, task: int) -> tuple[float, int]:
    """Continue a replay or a dispatch for at most *most* instants (timeline rule 6);
    return the end of the last entry in seconds, and a status code.

    The status is PAUSED if more instants are needed. A dispatch stops at the next
    question to the dispatcher. If the dispatcher has just assigned a task, the next
    question comes at the present instant. If *task* is NOBODY, it comes after the next
    instant.
    """
    run = w.run
    total = w.num_tasks if task != REPLAY else w.num_entries
    now = run.now
    settled = task == NOBODY
    for _ in range(most):
        if not settled:
            if w.barriers:
                open_rounds(w, now)
            passes(w, now)
            code = over(w, total)
            if code == PAUSED and task != REPLAY:
                code = ASKING
            if code != PAUSED:
                return run.last_end, code
        settled = False
        if run.changed:
            share_out(w, now)
        now = next_event(w)
        if now == float("inf"):
            return run.last_end, STUCK
        if now > horizon or (horizon < float("inf") and hopeless(w, now, horizon)):
            return now, BEYOND
        complete(w, now)
    return run.last_end, PAUSED
