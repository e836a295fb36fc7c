"""Carry out the transfers of the timeline simulator: starts, rates and arrivals.

A flow carries one transfer at a time. Flow i < num_nodes carries the files that node i
receives. In workflows, flow num_nodes + i carries the files that node i saves. Nodes
that receive several files at once have further flows. The text runs as plain Python and
compiled (:mod:`ioopt.compiled.memory`).
"""

from ioopt.sim.fluid import CLOSED, CROSSED, begin_flow, share_rates, weight_of
from ioopt.sim.replication.disk import clear_room, lacking, make_room, settle_in
from ioopt.sim.replication.world import DISK_USE, IDLE, OPEN, World

FASTER = 1e-9
"""Relative difference below which rates count as equal."""


def stage(w: World, i: int, now: float) -> bool:
    """Pin the inputs of the first unstarted entry of node *i* on the node's disk
    (timeline rules 1, 3, 8).

    Return False if no entry can be staged now.
    """
    node = w.nodes[i]
    if node.staged:
        return True
    run = w.run
    p = node.head
    if p >= node.end_place:
        return False
    place = w.places[p]
    if w.barriers and place.round >= run.opened:
        return False
    if w.growing and place.entry < 0:
        if place.entry == OPEN and run.wanted == 0:
            run.wanted = i + 1
        return False
    entry = w.entries[place.entry]
    if entry.release > run.instant:
        return False
    if w.clearing and not clear_room(w, i, p, now):
        return False
    node.staged = 1
    for x in range(entry.first_input, entry.end_input):
        w.cells[i * w.num_files + w.reads[x].file].pin += 1
    return True


def set_off(w: World, y: int, f: int, source: int, target: int, now: float) -> None:
    """Start a transfer of file *f* on flow *y* from node *source* to node *target*.

    -1 stands for the remote storage.
    """
    run = w.run
    flow = w.fluid.flows[y]
    flow.file = f
    flow.source = source
    flow.target = target
    receiver = w.num_nodes if target < 0 else target
    flow.weight = weight_of(w.fluid, f, receiver)
    if begin_flow(w.fluid, flow, w.files[f].size, now):
        run.changed = 1
    n = run.transfers
    if w.logging and n < len(w.transfers):
        transfer = w.transfers[n]
        transfer.file = f
        transfer.source = source
        transfer.destination = target
        transfer.start = now
        transfer.begun = run.starts
    flow.row = n
    run.transfers = n + 1


def start_transfer(w: World, i: int, now: float) -> bool:
    """Start the first possible transfer for the staged entry of node *i* (timeline rule
    2).

    Return whether a transfer started. If the node can receive several files at once
    (workflow rule 21), also look at later entries of its queue, in order.
    """
    if w.carried:
        return carry(w, i, now)
    if not stage(w, i, now):
        return False
    node = w.nodes[i]
    head = node.head
    if node.staging == 1:
        return bring(w, i, i, w.places[head].entry, 0, now, False)
    y = free_slot(w, i)
    if y < 0:
        return False
    for p in range(head, min(head + node.staging, node.end_place)):
        place = w.places[p]
        if w.barriers and place.round >= w.run.opened:
            return False
        kept = lacking(w, i, head, p)
        if w.entries[place.entry].release > w.run.instant:
            continue
        if bring(w, i, y, place.entry, kept, now, p > head):
            return True
    return False


def free_slot(w: World, i: int) -> int:
    """Return a flow on which node *i* can receive another file; -1 if all its flows are
    in use.
    """
    if w.fluid.flows[i].file < 0:
        return i
    for y in range(w.nodes[i].first_slot, w.nodes[i].end_slot):
        if w.fluid.flows[y].file < 0:
            return y
    return -1


def bring(w: World, i: int, y: int, e: int, kept: int, now: float, ahead: bool) -> bool:
    """Start the first possible transfer of an input of entry *e* to node *i*, on flow
    *y*.

    Return whether a transfer started. If *ahead*, the entry is not the first in the
    queue; then *kept* bytes of the disk are reserved for the entries before it.
    """
    files = w.num_files
    cells = w.cells
    node = w.nodes[i]
    entry = w.entries[e]
    first = entry.first_input
    if not ahead:
        first += node.staged - 1
    for x in range(first, entry.end_input):
        f = w.reads[x].file
        if cells[i * files + f].has != 0:
            continue
        file = w.files[f]
        if file.copies == 0 and (file.flying > 0 or file.saved != 2):
            continue
        wanted = file.size + kept
        if node.used + wanted > node.disk and not make_room(w, i, wanted, now, ahead):
            continue
        source = -1
        if file.copies > 0:
            source = 0
            while cells[source * files + f].has != 1:
                source += 1
            if w.least_loaded:
                source = least_loaded(w, i, f)
        send(w, y, f, source, i, now)
        return True
    return False


def send(w: World, y: int, f: int, source: int, i: int, now: float) -> None:
    """Start a transfer of file *f* from *source* to node *i* on flow *y*."""
    run = w.run
    file = w.files[f]
    if source >= 0:
        w.cells[source * w.num_files + f].pin += 1
        run.replica_bytes += file.size
    else:
        if file.copies == 0:
            run.owed -= file.size
        run.remote_bytes += file.size
        run.fetches += 1
        run.refetched += file.product
    settle_in(w, i, f)
    w.cells[i * w.num_files + f].has = 2
    file.flying += 1
    set_off(w, y, f, source, i, now)


def carry(w: World, i: int, now: float) -> bool:
    """Start the first planned transfer to node *i* whose source has the file (timeline
    rule 7).

    Return whether a transfer started.
    """
    if w.fluid.flows[i].file >= 0:
        return False
    node = w.nodes[i]
    number = max(0, w.run.opened - 1)
    for m in range(node.first_move, node.end_move):
        move = w.moves[m]
        f = move.file
        source = move.source
        if move.round != number or w.cells[i * w.num_files + f].has != 0:
            continue
        if source >= 0 and w.cells[source * w.num_files + f].has != 1:
            continue
        if node.used + w.files[f].size <= node.disk:
            send(w, i, f, source, i, now)
            return True
    return False


def least_loaded(w: World, i: int, f: int) -> int:
    """Return the least loaded source of file *f* for node *i* (workflow rule 22); -1 is
    the remote storage.

    Some node must hold the file.
    """
    resources = w.fluid.resources
    use = w.fluid.use
    for resource in resources:
        resource.crossing = 0.0
    for flow in w.fluid.flows:
        if flow.file >= 0 and w.files[flow.file].size > 0:
            cross(w, flow.file, flow.source, flow.target, 0)
            for x in range(w.fluid.crossed):
                if use[x] >= 0:
                    resources[use[x]].crossing += 1
    best = -1
    near = 0.0
    for j in range(w.num_nodes):
        door = resources[j].capacity
        if w.task_disk:
            door = min(door, resources[disk_of(w, j)].capacity)
        share = door / (resources[j].crossing + 1)
        if w.cells[j * w.num_files + f].has == 1 and share > near:
            best = j
            near = share
    if w.files[f].saved == 2:
        far = float("inf")
        cross(w, f, -1, i, 0)
        for x in range(1, CROSSED):
            if use[x] >= 0:
                resource = resources[use[x]]
                far = min(far, resource.capacity / (resource.crossing + 1))
        if far > near * (1.0 + FASTER):
            return -1
    return best


def start_save(w: World, i: int, now: float) -> None:
    """Start a save from node *i* to the remote storage (workflow rule 8).

    Save the file requested in this turn; without a request, save the oldest product on
    the node that must be kept.
    """
    run = w.run
    f = run.request
    if f < 0:
        f = oldest_to_keep(w, i)
    file = w.files[f]
    if file.keep:
        run.owed -= file.size
        for j in range(w.num_nodes):
            if w.cells[j * w.num_files + f].has == 1:
                w.nodes[j].waiting -= 1
    else:
        run.spills += 1
    w.cells[i * w.num_files + f].pin += 1
    file.saved = 1
    run.saving += 1
    run.saves += 1
    run.saved_bytes += file.size
    set_off(w, w.num_nodes + i, f, i, -1, now)


def oldest_to_keep(w: World, i: int) -> int:
    """Return the oldest product on node *i* that must be kept and is not saved yet.

    Ties go to the lowest file index.
    """
    first = i * w.num_files
    best = -1
    for x in range(first, first + w.nodes[i].num_residents):
        f = w.cells[x].resident
        file = w.files[f]
        if file.keep and file.saved == 0 and w.cells[first + f].has == 1:
            earlier = best < 0 or file.made < w.files[best].made
            if earlier or (file.made == w.files[best].made and f < best):
                best = f
    return best


def share_out(w: World, now: float) -> None:
    """Recompute the rates of all transfers (timeline rule 5), and the ends of those
    whose rate has changed.
    """
    fluid = w.fluid
    flows = fluid.flows
    crossed = fluid.crossed
    count = 0
    for y in range(len(flows)):
        flow = flows[y]
        if flow.file == IDLE or flow.rate < 0.0:
            continue
        if flow.file == DISK_USE:
            for x in range(crossed * count, crossed * (count + 1)):
                fluid.use[x] = -1
            fluid.use[crossed * count] = disk_of(w, flow.target)
        elif w.files[flow.file].size == 0:
            continue
        else:
            cross(w, flow.file, flow.source, flow.target, crossed * count)
        fluid.busy[count].flow = y
        count += 1
    share_rates(fluid, count, now)
    w.run.changed = 0


def cross(w: World, f: int, source: int, target: int, x: int) -> None:
    """Write to ``use`` the resources that file *f* crosses on its way from *source* to
    *target*.

    The resources fill ``crossed`` numbers from index *x* on; -1 stands for no resource.
    """
    use = w.fluid.use
    if source >= 0 and target >= 0:
        use[x] = target
        use[x + 1] = source
        use[x + 2] = -1
        if w.task_disk:
            use[x + 2] = disk_of(w, target)
            use[x + 3] = disk_of(w, source)
        return
    i = max(source, target)
    if w.task_disk:
        use[x + 3] = disk_of(w, i)
    link = w.num_nodes + w.num_storages
    storage = w.files[f].storage
    use[x] = i
    use[x + 1] = link if w.shared else link + 1 + i
    use[x + 2] = w.num_nodes + storage if storage >= 0 else -1


def disk_of(w: World, i: int) -> int:
    """Return the resource that is the disk of node *i*, where disks are resources of
    their own.
    """
    return w.num_nodes + w.num_storages + 1 + w.num_nodes + i


def use_disk(w: World, i: int, c: int, now: float) -> None:
    """Let the entry that starts on core *c* read and write its files on the disk of
    node *i* while it computes (workflow rule 25).
    """
    entry = w.entries[w.cores[c].entry]
    limited = w.fluid.resources[disk_of(w, i)].capacity < float("inf")
    if entry.disk_bytes == 0 or not limited:
        return
    flow = w.fluid.flows[w.task_flows + c]
    flow.file = DISK_USE
    flow.source = i
    flow.target = i
    flow.left = entry.disk_bytes
    flow.since = now
    flow.weight = 1.0
    flow.rate = CLOSED
    flow.due = now + entry.overhead
    if entry.overhead == 0.0:
        open_flow(w, w.task_flows + c, now)


def open_flow(w: World, y: int, now: float) -> None:
    """Let the bytes of flow *y* move from now on."""
    flow = w.fluid.flows[y]
    flow.rate = 0.0
    flow.since = now
    flow.due = float("inf")
    w.run.changed = 1


def free_flow(w: World, y: int) -> None:
    """Let flow *y* be idle."""
    w.fluid.flows[y].file = IDLE
    w.fluid.flows[y].due = float("inf")
    w.run.changed = 1


def arrive(w: World, y: int, now: float) -> None:
    """End the transfer on flow *y*: its file is now complete on the receiving node or
    on the remote storage.

    If the latency of the transfer is over, its bytes begin to move instead.
    """
    run = w.run
    flow = w.fluid.flows[y]
    f = flow.file
    if flow.rate < 0.0 and w.files[f].size > 0:
        open_flow(w, y, now)
        return
    i = flow.target
    file = w.files[f]
    if flow.source >= 0:
        w.cells[flow.source * w.num_files + f].pin -= 1
    if i >= 0:
        cell = w.cells[i * w.num_files + f]
        cell.has = 1
        cell.last_use = now
        file.copies += 1
        file.flying -= 1
        if file.keep and file.saved == 0:
            w.nodes[i].waiting += 1
    else:
        file.saved = 2
        run.saving -= 1
        if file.keep:
            run.last_end = now
    free_flow(w, y)
    if w.logging and flow.row < len(w.transfers):
        w.transfers[flow.row].end = now
