"""Compiled twin of :mod:`ioopt.sim.batch_io.queue`: what one batch pass needs (rules 18 to 20)."""

from __future__ import annotations

import math

import numpy as np

from ioopt.sim.batch_io.compiled_state import (
    FREE,
    NOW,
    QUEUE,
    RUNNING,
    WAITING,
    F,
    Fixed,
    J,
    L,
    Moving,
    W,
    below,
    close,
    kernel,
    tolerance,
)
from ioopt.sim.batch_io.queue import OVERDUE_SECONDS


@kernel
def smallest(s: Moving) -> int:
    """Units of the smallest waiting job."""
    least = s.i[s.l[L.waiting, 0], J.units]
    for k in range(1, s.count[QUEUE]):
        least = min(least, s.i[s.l[L.waiting, k], J.units])
    return least


@kernel
def sort_queue(t: Fixed, s: Moving) -> None:
    """Waiting jobs by WFP score, ties by (submit, id), which is the order of jobs (rule 19).

    The order changes little from one pass to the next, so it is kept and mended by insertion; as in
    :func:`ioopt.sim.batch_io.compiled_state.sort_places`, keys are rounded only where some are close.
    """
    if not t.wfp:
        return
    jobs, keys, now, near = s.l[L.waiting], s.w[W.keys], s.value[NOW], False
    for k in range(s.count[QUEUE]):
        job = jobs[k]
        wait = (now - s.f[job, F.submit]) / s.f[job, F.walltime]
        key = wait * wait * wait * s.f[job, F.nodes]
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
        mend_close(jobs, keys, s.count[QUEUE])


@kernel
def mend_close(jobs: np.ndarray, keys: np.ndarray, count: int) -> None:
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


@kernel
def find_place(t: Fixed, s: Moving, units: int, avoid: int, length: int) -> int:
    """Lowest free block of *units* outside the *length* units from *avoid*; -1: none; flat: 0."""
    if units > s.count[FREE]:
        return -1
    if not t.partition:
        return 0
    for place in range(0, t.total_units - units + 1, units):
        if place < avoid + length and avoid < place + units:
            continue
        free = True
        for unit in range(place, place + units):
            if s.busy[unit]:
                free = False
                break
        if free:
            return place
    return -1


@kernel
def occupy(t: Fixed, s: Moving, job: int, place: int) -> None:
    """Give *job* its units."""
    s.count[FREE] -= s.i[job, J.units]
    if t.partition:
        s.i[job, J.block] = place
        for unit in range(place, place + s.i[job, J.units]):
            s.busy[unit] = 1


@kernel
def vacate(t: Fixed, s: Moving, job: int) -> None:
    """Take the units of *job* back."""
    s.count[FREE] += s.i[job, J.units]
    if t.partition:
        for unit in range(s.i[job, J.block], s.i[job, J.block] + s.i[job, J.units]):
            s.busy[unit] = 0


@kernel
def predicted_end(s: Moving, job: int, passed: float) -> float:
    """Predicted end of a running job, overdue when its walltime was over at *passed* (rule 20)."""
    end = s.f[job, F.start] + s.f[job, F.walltime]
    return end if end > passed else s.value[NOW] + OVERDUE_SECONDS


@kernel
def reserve_flat(t: Fixed, s: Moving, units: int) -> tuple[float, int]:
    """(time at which enough units are free, units free beside the request then)."""
    ends, places, count = s.w[W.keys], s.l[L.order], s.count[RUNNING]
    passed = s.value[NOW] + tolerance(s.value[NOW])
    for k in range(count):
        ends[k] = predicted_end(s, s.l[L.running, k], passed)
        places[k] = k
    for k in range(count // 2 - 1, -1, -1):
        sift(ends, places, k, count)
    free, time = s.count[FREE], s.value[NOW]
    while count > 0:
        k = places[0]
        if free >= units and ends[k] > time + tolerance(time):
            break
        if free < units:
            time = ends[k]
        free += s.i[s.l[L.running, k], J.units]
        count -= 1
        places[0] = places[count]
        sift(ends, places, 0, count)
    return time, free - units


@kernel
def sift(keys: np.ndarray, places: np.ndarray, k: int, count: int) -> None:
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


@kernel
def reserve_block(t: Fixed, s: Moving, units: int) -> tuple[float, int]:
    """(earliest predicted free time of a block of *units*, its first unit); ties: lowest start."""
    passed = s.value[NOW] + tolerance(s.value[NOW])
    for unit in range(t.total_units):
        s.until[unit] = s.value[NOW]
    for k in range(s.count[RUNNING]):
        job = s.l[L.running, k]
        end = predicted_end(s, job, passed)
        for unit in range(s.i[job, J.block], s.i[job, J.block] + s.i[job, J.units]):
            s.until[unit] = end
    best, best_place, sooner = 0.0, -1, math.inf
    for place in range(0, t.total_units - units + 1, units):
        time = s.until[place]
        for unit in range(place + 1, place + units):
            time = max(time, s.until[unit])
        if time < sooner:
            best, best_place, sooner = time, place, time - tolerance(time)
    return best, best_place


@kernel
def drop_started(s: Moving) -> None:
    """Take the jobs that no longer wait out of the queue."""
    kept = 0
    for k in range(s.count[QUEUE]):
        job = s.l[L.waiting, k]
        if s.i[job, J.status] == WAITING:
            s.l[L.waiting, kept] = job
            kept += 1
    s.count[QUEUE] = kept
