"""Containers of the compiled engine: for each of :mod:`ioopt.sim.batch_io.plain` its namesake in arrays.

What is due next is found by reading the times of all running jobs in one piece, which at the sizes of
real machines is cheaper than a heap. Times and targets stand by the ``slot`` of a job in ``running``.
Kernels allocate nothing: what they work in stands in ``w``.
"""

import math
from typing import Any

from ioopt.compiled import tuned
from ioopt.decisions.batch_io import KernelView
from ioopt.decisions.batch_io_kernels import below, close
from ioopt.sim.batch_io.jobs import start
from ioopt.sim.batch_io.state import COMPUTING, TRANSFERRING, WAITING


def set_compute(w: Any, m: Any, r: Any, time: float) -> None:
    """The compute of *r* will end."""
    r.due = time
    w.times[r.slot] = time


def set_finish(w: Any, m: Any, r: Any) -> None:
    """The request of *r* will finish when it is ``due``."""
    w.times[r.slot] = r.due


def set_finishes(w: Any, m: Any, moved: int, count: int) -> None:
    """:func:`set_finish` for the first of ``moved``."""
    for k in range(moved):
        set_finish(w, m, w.jobs[w.moved[k]])


def set_target(w: Any, m: Any, r: Any, target: float) -> None:
    """The request of *r* will finish when the clock of shared storage comes to *target*."""
    w.targets[r.slot] = target


def next_time(w: Any, m: Any) -> float:
    """The earliest time of those set, or at which a walltime is over; infinity: there is none."""
    time = least(w.times, m.num_running)
    if w.kill:
        for k in range(m.num_running):
            r = w.jobs[w.running[k]]
            time = min(time, r.start + r.walltime)
    return time


def next_target(w: Any, m: Any) -> float:
    """The least target that the clock has to reach."""
    return least(w.targets, m.num_running)


@tuned(fastmath={"nnan", "nsz"})
def least(values: Any, count: int) -> float:
    """The least of the first *count* values: without NaN and signs of zero, several at once."""
    result = math.inf
    for k in range(count):
        result = min(result, values[k])
    return result


def collect(w: Any, m: Any, slack: float) -> int:
    """Put the jobs that are due into ``due``: requests by job id, then computes by time; how many."""
    times, targets, until, found = w.times, w.targets, m.until, 0
    for k in range(m.num_running):
        if times[k] <= until or (w.shared and targets[k] - m.clock <= slack):
            put_due(w, found, w.running[k])
            times[k] = targets[k] = math.inf
            found += 1
    return found


def put_due(w: Any, count: int, job: int) -> None:
    """Put *job* among the *count* jobs of ``due``."""
    while count > 0 and comes_before(w.jobs[job], w.jobs[w.due[count - 1]]):
        w.due[count] = w.due[count - 1]
        count -= 1
    w.due[count] = job


def comes_before(one: Any, other: Any) -> bool:
    """Whether *one* has its turn before *other*, which is due at the same instant."""
    if one.status != other.status:
        return one.status == TRANSFERRING
    if one.status == COMPUTING and one.due != other.due:
        return one.due < other.due
    return one.id < other.id


def overdue(w: Any, m: Any) -> int:
    """Put the jobs whose walltime is over into ``due``, by time; how many."""
    found = 0
    for k in range(m.num_running):
        r = w.jobs[w.running[k]]
        end = r.start + r.walltime
        if end <= m.until:
            at = found
            while at > 0:
                other = w.jobs[w.due[at - 1]]
                time = other.start + other.walltime
                if time < end or (time == end and other.id < r.id):
                    break
                w.due[at] = w.due[at - 1]
                at -= 1
            w.due[at] = r.job
            found += 1
    return found


def enter_machine(w: Any, m: Any, r: Any) -> None:
    """*r* starts, in the next slot."""
    r.slot = m.num_running
    w.running[r.slot] = r.job
    m.num_running += 1


def launch(w: Any, m: Any, r: Any) -> None:
    """The queue has *r* start."""
    start(w, m, r)


def leave_machine(w: Any, m: Any, r: Any) -> None:
    """*r* has ended; the last running job takes its slot."""
    m.num_running -= 1
    slot, last = r.slot, m.num_running
    w.running[slot] = w.running[last]
    w.jobs[w.running[slot]].slot = slot
    w.times[slot], w.targets[slot] = w.times[last], w.targets[last]
    w.times[last] = w.targets[last] = math.inf


def enter(w: Any, count: int, r: Any) -> None:
    """Put *r* among the *count* jobs of ``out``, in FCFS order (rule 10)."""
    while count > 0:
        other = w.jobs[w.out[count - 1]]
        if other.requested < r.requested or (other.requested == r.requested and other.id < r.id):
            break
        w.out[count] = other.job
        count -= 1
    w.out[count] = r.job


def remove(w: Any, count: int, r: Any) -> None:
    """Take *r* out of the *count* jobs of ``out``."""
    k = 0
    while w.out[k] != r.job:
        k += 1
    for place in range(k, count - 1):
        w.out[place] = w.out[place + 1]


def clear(w: Any) -> None:
    """Empty ``out``, whose length its user knows."""


def ask(w: Any, m: Any, decide: Any, count: int) -> None:
    """Put the rates of the *count* jobs of ``out`` under the policy into ``rates``."""
    for k in range(count):
        w.rates[k] = 0.0
    decide(
        KernelView(
            w.jobs, w.out, count, m.now, w.storage, w.node_rate, w.capacity_units,
            w.saturating_units, w.own_peaks, w.top, w.keys, w.order, w.depths, w.sizes,
            w.finishes, w.bits, w.loads, w.values, w.rows,
        ),
        w.rates,
    )  # fmt: skip


def note_span(w: Any, m: Any, place: int, since: float, until: float, rate: float) -> None:
    """Record a span at a constant rate; place -1: rho from *since* on."""
    span = w.spans[m.num_spans]
    span.place, span.since, span.until, span.rate = place, since, until, rate
    m.num_spans += 1


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


def line_up(w: Any, m: Any) -> None:
    """Waiting jobs by WFP score, ties by (submit, id), which is the order of jobs (rule 19).

    The order changes little from one pass to the next, so it is kept and mended by insertion. Keys
    are rounded only where some are close: compilers take logarithms out of loops, and so for every key.
    """
    m.lined_up = m.waiting
    if not w.wfp:
        return
    jobs, keys, near = w.line, w.keys, False
    for k in range(m.waiting):
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
        mend_close(jobs, keys, m.waiting)


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


def vacate(w: Any, m: Any, r: Any) -> None:
    """Take the units of *r* back."""
    m.free += r.units
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
    count = m.num_running
    for k in range(count):
        r = w.jobs[w.running[k]]
        end = r.start + r.walltime
        w.keys[k] = end if end > passed else late
        w.order[k] = k
    for k in range(count // 2 - 1, -1, -1):
        sift(w.keys, w.order, k, count)
    return count


def next_end(w: Any, m: Any, turn: int) -> tuple[float, int]:
    """The predicted end whose *turn* it is (asked in turn, from 0), and the units freed by it."""
    top, count = w.order[0], m.num_running - turn - 1
    w.order[0] = w.order[count]
    sift(w.keys, w.order, 0, count)
    return w.keys[top], w.jobs[w.running[top]].units


def sift(keys: Any, places: Any, k: int, count: int) -> None:
    """Let the entry at *k* of a heap of *count* places, least key on top, sink to where it belongs."""
    item = places[k]
    while 2 * k + 1 < count:
        child = 2 * k + 1
        if child + 1 < count and keys[places[child + 1]] < keys[places[child]]:
            child += 1
        if keys[item] <= keys[places[child]]:
            break
        places[k] = places[child]
        k = child
    places[k] = item


def line_up_units(w: Any, m: Any, passed: float, late: float) -> None:
    """Predict from when on each unit is free, *late* where the end has *passed*."""
    for unit in range(w.total):
        w.free_from[unit] = m.now
    for k in range(m.num_running):
        r = w.jobs[w.running[k]]
        end = r.start + r.walltime
        for unit in range(r.block, r.block + r.units):
            w.free_from[unit] = end if end > passed else late


def block_free_from(w: Any, m: Any, place: int, units: int) -> float:
    """From when on the *units* from *place* on are all predicted to be free."""
    time = w.free_from[place]
    for unit in range(place + 1, place + units):
        time = max(time, w.free_from[unit])
    return time
