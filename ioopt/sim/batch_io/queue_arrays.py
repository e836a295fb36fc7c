"""The batch queue and the units of the machine in the compiled engine: for each of
:mod:`ioopt.sim.batch_io.queue_lists` its namesake in arrays.
"""

from typing import Any

from ioopt.compiled import apart
from ioopt.decisions.batch_io_kernels import below, close
from ioopt.sim.batch_io.buffer import release_time
from ioopt.sim.batch_io.state import WAITING


def arrive(w: Any, m: Any, r: Any) -> None:
    """Put *r* into the queue."""
    w.line[m.waiting] = r.job
    m.waiting += 1


def smallest(w: Any, m: Any) -> int:
    """Units of the smallest waiting job."""
    units = w.jobs[w.line[0]].units
    for k in range(1, m.waiting):
        units = min(units, w.jobs[w.line[k]].units)
    return units


@apart
def line_up(w: Any, m: Any) -> None:
    """Waiting jobs in the order of the queue, ties by (submit, id), which is that of jobs."""
    m.lined_up = m.waiting
    if not w.wfp:
        if w.short_first:
            line_up_rest(w, m, 0)
        elif w.short_behind:
            for k in range(m.waiting):
                w.keys[w.line[k]] = w.line[k]
            sort_by(w.keys, w.line, 0, m.waiting)
        return
    line_up_scores(w, m, w.line, m.waiting)


@apart
def line_up_scores(w: Any, m: Any, jobs: Any, count: int) -> None:
    """The first *count* of *jobs* by WFP score.

    The order changes little from one pass to the next, so it is kept and mended by insertion. Keys
    are rounded only where some are close: compilers take logarithms out of loops, and so for every key.
    """
    keys, near = w.keys, False
    for k in range(count):
        job = jobs[k]
        r = w.jobs[job]
        wait = (m.now - r.submit) / r.walltime
        key = wait * wait * wait * r.asked_nodes
        at = k
        while at > 0:
            before = keys[at - 1]
            near |= close(key, before)
            if key < before or (key == before and jobs[at - 1] < job):
                break
            jobs[at], keys[at] = jobs[at - 1], before
            at -= 1
        jobs[at], keys[at] = job, key
    if near:
        mend_close(jobs, keys, count)


@apart
def line_up_rest(w: Any, m: Any, turn: int) -> None:
    """Order those in ``line`` from *turn* on by (walltime, job): rule 30."""
    for k in range(turn, m.lined_up):
        w.keys[w.line[k]] = w.jobs[w.line[k]].walltime
    sort_by(w.keys, w.line, turn, m.lined_up)


def line_up_all(w: Any, m: Any) -> int:
    """Put all waiting jobs into ``line_all`` in the order of the queue; how many."""
    count, jobs = 0, w.line_all
    for k in range(m.waiting):
        job = w.line[k]
        if w.jobs[job].status == WAITING:
            jobs[count] = job
            w.keys[job] = w.jobs[job].walltime if w.short_first else job
            count += 1
    sort_by(w.keys, jobs, 0, count)
    if w.wfp:
        line_up_scores(w, m, jobs, count)
    return count


def mend_close(jobs: Any, keys: Any, count: int) -> None:
    """Order jobs by rounded key, descending, ties by job."""
    for k in range(count):
        job, key, at = jobs[k], keys[k], k
        while at > 0:
            before = keys[at - 1]
            if below(key, before) or (jobs[at - 1] < job and not below(before, key)):
                break
            jobs[at], keys[at] = jobs[at - 1], before
            at -= 1
        jobs[at], keys[at] = job, key


def take(w: Any, m: Any, r: Any, turn: int) -> None:
    """*r* starts; it leaves the queue at the end of the pass."""


def close_pass(w: Any, m: Any) -> None:
    """Take the jobs that no longer wait out of the queue."""
    kept = 0
    for k in range(m.waiting):
        job = w.line[k]
        if w.jobs[job].status == WAITING:
            w.line[kept] = job
            kept += 1
    m.waiting = kept


def occupy(w: Any, m: Any, r: Any, place: int) -> None:
    """Give *r* its units, from *place* on where there are partitions."""
    m.free -= r.units
    if w.partition:
        r.block = place
        for unit in range(place, place + r.units):
            w.busy[unit] = 1
    elif w.numbered:
        for word in range(len(w.in_use)):
            w.in_use[word] |= w.chosen[r.job, word]


def vacate(w: Any, m: Any, r: Any) -> None:
    """Take the units of *r* back."""
    m.free += r.units
    if w.numbered and not w.partition:
        for word in range(len(w.in_use)):
            w.in_use[word] ^= w.chosen[r.job, word]
    if w.partition:
        for unit in range(r.block, r.block + r.units):
            w.busy[unit] = 0


def find_place(w: Any, m: Any, units: int, avoid: int, length: int) -> int:
    """Lowest free block of *units* outside the *length* units from *avoid*; -1: none; flat: 0."""
    if units > m.free:
        return -1
    if not w.partition:
        return 0
    for place in range(0, w.total - units + 1, units):
        if place < avoid + length and avoid < place + units:
            continue
        free = True
        for unit in range(place, place + units):
            if w.busy[unit]:
                free = False
                break
        if free:
            return place
    return -1


def line_up_ends(w: Any, m: Any, passed: float, late: float) -> int:
    """Heap the running jobs by their predicted ends, *late* once *passed*; how many."""
    count = m.num_running + m.num_tails
    for k in range(m.num_running):
        r = w.jobs[w.running[k]]
        end = r.start + r.walltime
        w.keys[k] = end if end > passed else late
        w.order[k] = k
    for k in range(m.num_running, count):
        w.keys[k] = release_time(w, m, w.buffer.tails[k - m.num_running])
        w.order[k] = k
    for k in range(count // 2 - 1, -1, -1):
        sift(w.keys, w.order, k, count)
    return count


def next_end(w: Any, m: Any, turn: int) -> tuple[float, int]:
    """The predicted end whose *turn* it is (asked in turn, from 0), and the job."""
    top, count = w.order[0], m.num_running + m.num_tails - turn - 1
    w.order[0] = w.order[count]
    sift(w.keys, w.order, 0, count)
    tail = top - m.num_running
    return w.keys[top], w.buffer.tails[tail] if tail >= 0 else w.running[top]


@apart
def sift(keys: Any, places: Any, k: int, count: int) -> None:
    """Let the entry at *k* of a heap of *count* places, the first on top, sink to where it belongs."""
    item = places[k]
    while 2 * k + 1 < count:
        child = 2 * k + 1
        if child + 1 < count and precedes(keys, places[child + 1], places[child]):
            child += 1
        if not precedes(keys, places[child], item):
            break
        places[k] = places[child]
        k = child
    places[k] = item


def precedes(keys: Any, one: int, other: int) -> bool:
    """Whether *one* comes before *other*: by key, then by number."""
    return bool(keys[one] < keys[other] or (keys[one] == keys[other] and one < other))


@apart
def sort_by(keys: Any, items: Any, first: int, last: int) -> None:
    """Bring the items from *first* to *last* into the order of their keys, then of their numbers."""
    part, count = items[first:last], last - first
    for k in range(count // 2 - 1, -1, -1):
        sift(keys, part, k, count)
    for end in range(count - 1, 0, -1):
        item = part[0]
        part[0] = part[end]
        part[end] = item
        sift(keys, part, 0, end)
    for k in range(count // 2):
        item = part[k]
        part[k] = part[count - 1 - k]
        part[count - 1 - k] = item


def line_up_units(w: Any, m: Any, passed: float, late: float) -> None:
    """Predict from when on each unit is free, *late* where the end has *passed*."""
    for unit in range(w.total):
        w.free_from[unit] = m.now
    for k in range(m.num_running):
        r = w.jobs[w.running[k]]
        end = r.start + r.walltime
        for unit in range(r.block, r.block + r.units):
            w.free_from[unit] = end if end > passed else late
    for k in range(m.num_tails if w.buffer.keeps else 0):
        r = w.jobs[w.buffer.tails[k]]
        for unit in range(r.block, r.block + r.units):
            w.free_from[unit] = release_time(w, m, r.job)


def block_free_from(w: Any, m: Any, place: int, units: int) -> float:
    """From when on the *units* from *place* on are all predicted to be free."""
    time = w.free_from[place]
    for unit in range(place + 1, place + units):
        time = max(time, w.free_from[unit])
    return time
