"""Manage the disks of the timeline simulator: space, evictions and saves.

The text runs as plain Python and compiled (:mod:`ioopt.compiled.memory`). Timeline
rules refer to docs/rules/replication.md, workflow rules to docs/rules/workflow.md.
"""

from ioopt.sim.replication.world import (
    FARTHEST_NEXT_USE,
    LRU,
    OPEN,
    POPULARITY,
    World,
)

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


def settle_in(w: World, i: int, f: int) -> None:
    """Add file *f* to the files of node *i*, and allot its space on the disk."""
    first = i * w.num_files
    node = w.nodes[i]
    w.cells[first + node.num_residents].resident = f
    w.cells[first + f].seat = node.num_residents
    node.num_residents += 1
    node.used += w.files[f].size


def evict(w: World, i: int, f: int, now: float) -> None:
    """Remove the complete copy of file *f* from node *i*; its space is free at once."""
    run = w.run
    node = w.nodes[i]
    file = w.files[f]
    first = i * w.num_files
    cell = w.cells[first + f]
    last = w.cells[first + node.num_residents - 1].resident
    w.cells[first + cell.seat].resident = last
    w.cells[first + last].seat = cell.seat
    node.num_residents -= 1
    node.used -= file.size
    cell.has = 0
    file.copies -= 1
    lost = file.copies == 0 and file.flying == 0 and file.need > 0
    if lost and not w.products_shared:
        run.owed += file.size
    if file.keep and file.saved == 0:
        node.waiting -= 1
    n = run.evictions
    if w.logging and n < len(w.evictions):
        eviction = w.evictions[n]
        eviction.file = f
        eviction.node = i
        eviction.at = now
        eviction.moves = run.transfers
        eviction.begun = run.starts
    run.evictions = n + 1


def at_risk(w: World, f: int) -> bool:
    """Return whether a complete copy of file *f* is the last one and is still needed
    (workflow rule 6).

    The caller has already found a complete copy of the file on some node.
    """
    file = w.files[f]
    if file.saved == 2 or file.copies > 1:
        return False
    return file.need > 0 or file.keep > 0


def distance_to_use(w: World, i: int, f: int) -> int:
    """Return how far the next reader of file *f* is from the head of node *i*'s queue,
    in positions of the queue.

    If no task in the queue of node *i* reads the file, return the least distance over
    the queues of the other nodes.
    """
    if w.files[f].need == 0:
        return DEAD
    place = w.cells[i * w.num_files + f].next_place
    if place != NO_PLACE:
        return place - w.nodes[i].head
    distance = UNASSIGNED
    for j in range(w.num_nodes):
        place = w.cells[j * w.num_files + f].next_place
        if place != NO_PLACE and place - w.nodes[j].head < distance:
            distance = place - w.nodes[j].head
    return distance


def victim_key(w: World, i: int, f: int) -> float:
    """Return the key of file *f* for the eviction policy; the file with the least key
    leaves node *i* first.

    The order is that of timeline rule 4. Ties go to the lowest file index.
    """
    file = w.files[f]
    cell = w.cells[i * w.num_files + f]
    if w.policy == POPULARITY:
        return file.freq * float(file.size) / file.copies
    if w.policy == LRU:
        return cell.last_use
    if file.need == 0:
        return 0.0
    distance = distance_to_use(w, i, f)
    if file.copies > 1:
        return (2.0 if cell.next_place != NO_PLACE else 1.0) * CLASS_STEP - distance
    return 3.0 * CLASS_STEP - distance


def enter_cache(w: World, i: int, f: int, now: float) -> None:
    """Let file *f* enter the cache of node *i*, or use it if it is there (workflow rule
    27).

    Files leave in the order of the eviction policy until all fit. If *f* would be among
    them, nothing changes.
    """
    first = i * w.num_files
    cell = w.cells[first + f]
    if cell.has == 1:
        cell.last_use = now
        return
    node = w.nodes[i]
    w.victims[0].file = f
    w.victims[0].key = cache_key(w, i, f, now)
    for x in range(node.num_residents):
        w.victims[x + 1].file = w.cells[first + x].resident
        w.victims[x + 1].key = cache_key(w, i, w.victims[x + 1].file, now)
    short = node.used + w.files[f].size - node.disk
    leaving = 0
    while short > 0:
        best = first_victim(w, leaving, node.num_residents + 1)
        if w.victims[best].file == f:
            return
        swap_victims(w, leaving, best)
        short -= w.files[w.victims[leaving].file].size
        leaving += 1
    for v in range(leaving):
        evict(w, i, w.victims[v].file, now)
    settle_in(w, i, f)
    cell.has = 1
    cell.last_use = now
    w.files[f].copies += 1


def swap_victims(w: World, a: int, b: int) -> None:
    """Exchange ``w.victims[a]`` and ``w.victims[b]``."""
    one = w.victims[a]
    other = w.victims[b]
    key = one.key
    file = one.file
    one.key = other.key
    one.file = other.file
    other.key = key
    other.file = file


def cache_key(w: World, i: int, f: int, now: float) -> float:
    """Return the key of file *f*, which is in the cache of node *i* or enters it now:
    the file with the least key leaves first (workflow rule 27).
    """
    cell = w.cells[i * w.num_files + f]
    enters = cell.has == 0
    if w.policy == POPULARITY:
        copies = w.files[f].copies
        if enters:
            copies += 1
        return w.files[f].freq * float(w.files[f].size) / copies
    if w.policy == LRU:
        return now if enters else cell.last_use
    return -float(distance_in_cache(w, i, f))


def distance_in_cache(w: World, i: int, f: int) -> int:
    """Return how far the next read of file *f* on node *i* is, in positions of its
    queue; 0 for a read by an entry that runs, if its turn has not come.
    """
    node = w.nodes[i]
    for x in range(node.first_core, node.first_core + node.running):
        core = w.cores[w.cores[x].started]
        if core.entry < 0:
            continue
        entry = w.entries[core.entry]
        for n in range(entry.first_input + core.step + 1, entry.end_input):
            if w.reads[n].file == f:
                return 0
    place = w.cells[i * w.num_files + f].next_place
    if place != NO_PLACE:
        return place - node.head + 1
    return UNASSIGNED if w.files[f].unassigned > 0 else DEAD


def list_victims(w: World, i: int, limited: bool, risky: bool) -> tuple[int, int]:
    """List in ``w.victims`` the files that may leave node *i*; return their number and
    their total bytes.

    If *limited*, the first task in the queue waits for cores or memory. Then only two
    kinds of files may leave: files without readers, and duplicates that the node's own
    queue does not need. If *risky*, list only files at risk (workflow rule 6), else
    only files not at risk.
    """
    cells = w.cells
    first = i * w.num_files
    count = 0
    freeable = 0
    for x in range(first, first + w.nodes[i].num_residents):
        f = cells[x].resident
        cell = cells[first + f]
        if cell.has != 1 or cell.pin > 0:
            continue
        file = w.files[f]
        needed_here = file.copies == 1 or cell.next_place != NO_PLACE
        if limited and file.need > 0 and needed_here:
            continue
        if (file.saved != 2 and at_risk(w, f)) != risky:
            continue
        w.victims[count].file = f
        count += 1
        freeable += file.size
    return count, freeable


def first_victim(w: World, start: int, end: int) -> int:
    """Return the position of the file with the least key among
    ``w.victims[start:end]``.
    """
    best = start
    for v in range(start + 1, end):
        victim = w.victims[v]
        least = w.victims[best]
        if victim.key < least.key or (
            victim.key == least.key and victim.file < least.file
        ):
            best = v
    return best


def lacking(w: World, i: int, first: int, last: int) -> int:
    """Return the number of bytes that the disk of node *i* still lacks for a part of
    the node's queue.

    The part of the queue is its entries at places *first* to *last* - 1.
    """
    size = 0
    for p in range(first, last):
        entry = w.entries[w.places[p].entry]
        size += entry.out_bytes
        for x in range(entry.first_input, entry.end_input):
            f = w.reads[x].file
            if w.cells[i * w.num_files + f].has == 0:
                size += w.files[f].size
    return size


def make_room(w: World, i: int, size: int, now: float, aside: bool) -> bool:
    """Evict files from node *i* until *size* bytes fit; evict nothing if they cannot
    fit (workflow rule 7).

    Return whether they fit. If a file at risk would have to leave, request a save of
    the first such file instead. If *aside*, the space is not for the first task in the
    queue: eviction is then limited as in :func:`list_victims`, and no save is
    requested.
    """
    node = w.nodes[i]
    short = node.used + size - node.disk
    head = w.entries[w.places[node.head].entry]
    waits = node.idle < head.cores or node.free_memory < head.memory
    limited = aside or waits
    if w.growing and open_question(w, i, limited):
        return False
    count, freeable = list_victims(w, i, limited, False)
    if freeable < short:
        if not w.plain and not aside and w.run.request < 0:
            request_save(w, i, limited, short - freeable)
        return False
    evict_some(w, i, count, short, now)
    return True


def clear_room(w: World, i: int, p: int, now: float) -> bool:
    """Free the bytes that the entry at place *p* of the queues asks for, once node *i*
    computes nothing (timeline rule 8).

    Return False if the node still computes.
    """
    wanted = w.places[p].clear
    if wanted == 0:
        return True
    node = w.nodes[i]
    if node.idle < node.cores:
        return False
    count, _ = list_victims(w, i, False, False)
    evict_some(w, i, count, node.used + wanted - node.disk, now)
    return True


def evict_some(w: World, i: int, count: int, short: int, now: float) -> None:
    """Evict files from node *i* in the order of the eviction policy until *short* bytes
    are free.

    Only the files that are the first *count* of ``w.victims`` may be evicted.
    """
    for v in range(count):
        victim = w.victims[v]
        victim.key = victim_key(w, i, victim.file)
    while short > 0 and count > 0:
        best = w.victims[first_victim(w, 0, count)]
        evict(w, i, best.file, now)
        short -= w.files[best.file].size
        count -= 1
        best.file = w.victims[count].file
        best.key = w.victims[count].key


def request_save(w: World, i: int, limited: bool, short: int) -> None:
    """Request a save of the first file at risk on node *i*, if all such files together
    free *short* bytes.
    """
    count, freeable = list_victims(w, i, limited, True)
    if freeable < short:
        return
    for v in range(count):
        victim = w.victims[v]
        if w.policy == FARTHEST_NEXT_USE:
            victim.key = -float(distance_to_use(w, i, victim.file))
        else:
            victim.key = victim_key(w, i, victim.file)
    w.run.request = w.victims[first_victim(w, 0, count)].file


def queue_end(w: World, i: int) -> int:
    """Return the place behind the last entry of node *i*'s growing queue."""
    node = w.nodes[i]
    p = node.head
    while p < node.end_place and w.places[p].entry >= 0:
        p += 1
    return p


def is_open(w: World, i: int) -> bool:
    """Return whether the queue of node *i* may still grow."""
    p = queue_end(w, i)
    return p < w.nodes[i].end_place and w.places[p].entry == OPEN


def has_loose_reader(w: World, f: int) -> bool:
    """Return whether some unstarted reader of file *f* is not yet in any of the growing
    queues.
    """
    loose = w.files[f].need
    for j in range(w.num_nodes):
        for p in range(w.nodes[j].head, queue_end(w, j)):
            entry = w.entries[w.places[p].entry]
            for x in range(entry.first_input, entry.end_input):
                if w.reads[x].file == f:
                    loose -= 1
    return loose > 0


def open_question(w: World, i: int, limited: bool) -> bool:
    """Return whether an eviction on node *i* depends on entries that will be added to
    growing queues.

    If the eviction depends on such entries, note in ``run.wanted`` which queue must
    grow. It does so if a file that could leave has a reader that is in no queue yet.
    Without the place of that reader, the file cannot be ordered by its next use. While
    the head of the queue waits for cores or memory, even whether the file may leave
    depends on the queue of that reader.
    """
    if w.policy != FARTHEST_NEXT_USE and not limited:
        return False
    first = i * w.num_files
    for x in range(first, first + w.nodes[i].num_residents):
        f = w.cells[x].resident
        cell = w.cells[first + f]
        if cell.has != 1 or cell.pin > 0 or w.files[f].need == 0:
            continue
        if has_loose_reader(w, f):
            if w.run.wanted == 0:
                j = i
                if not is_open(w, i):
                    j = 0
                    while not is_open(w, j):
                        j += 1
                w.run.wanted = j + 1
            return True
    return False
