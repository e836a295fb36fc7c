"""Compiled twin of :mod:`ioopt.sim.batch_io_queue`: one batch pass (rules 18 to 20)."""

from __future__ import annotations

import numpy as np
from numba import njit

from ioopt.sim.batch_io_compiled_state import (
    FREE,
    NOW,
    QUEUE,
    RUNNING,
    WAITING,
    F,
    Fixed,
    J,
    Moving,
    rounded,
    tolerance,
)
from ioopt.sim.batch_io_queue import OVERDUE_SECONDS


@njit(cache=True)
def queue_order(t: Fixed, s: Moving) -> np.ndarray:
    """Waiting jobs by WFP score, or as they stand (rule 19)."""
    count = s.count[QUEUE]
    jobs = s.i[J.waiting, :count].copy()
    if not t.wfp:
        return jobs
    keys = np.empty(count)
    for k in range(count):
        job = jobs[k]
        wait = (s.value[NOW] - s.f[F.submit, job]) / s.f[F.walltime, job]
        keys[k] = -rounded(wait * wait * wait * s.f[F.nodes, job])
    return jobs[np.argsort(keys, kind="mergesort")]


@njit(cache=True)
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


@njit(cache=True)
def occupy(t: Fixed, s: Moving, job: int, place: int) -> None:
    """Give *job* its units."""
    s.count[FREE] -= s.i[J.units, job]
    if t.partition:
        s.i[J.block, job] = place
        s.busy[place : place + s.i[J.units, job]] = 1


@njit(cache=True)
def vacate(t: Fixed, s: Moving, job: int) -> None:
    """Take the units of *job* back."""
    s.count[FREE] += s.i[J.units, job]
    if t.partition:
        s.busy[s.i[J.block, job] : s.i[J.block, job] + s.i[J.units, job]] = 0


@njit(cache=True)
def predicted(t: Fixed, s: Moving) -> np.ndarray:
    """Predicted end of every running job, by its place in the list of running jobs (rule 20)."""
    now = s.value[NOW]
    ends = np.empty(s.count[RUNNING])
    for k in range(len(ends)):
        job = s.i[J.running, k]
        end = s.f[F.start, job] + s.f[F.walltime, job]
        ends[k] = end if end > now + tolerance(now) else now + OVERDUE_SECONDS
    return ends


@njit(cache=True)
def reserve_flat(t: Fixed, s: Moving, units: int) -> tuple[float, int]:
    """(time at which enough units are free, units free beside the request then)."""
    ends = predicted(t, s)
    free, time = s.count[FREE], s.value[NOW]
    for k in np.argsort(ends, kind="mergesort"):
        if free >= units and ends[k] > time + tolerance(time):
            break
        if free < units:
            time = ends[k]
        free += s.i[J.units, s.i[J.running, k]]
    return time, free - units


@njit(cache=True)
def reserve_block(t: Fixed, s: Moving, units: int) -> tuple[float, int]:
    """(earliest predicted free time of a block of *units*, its first unit); ties: lowest start."""
    ends = predicted(t, s)
    s.until[:] = s.value[NOW]
    for k in range(len(ends)):
        job = s.i[J.running, k]
        s.until[s.i[J.block, job] : s.i[J.block, job] + s.i[J.units, job]] = ends[k]
    best, best_place = 0.0, -1
    for place in range(0, t.total_units - units + 1, units):
        time = s.until[place : place + units].max()
        if best_place < 0 or time < best - tolerance(best):
            best, best_place = time, place
    return best, best_place


@njit(cache=True)
def drop_started(s: Moving) -> None:
    """Take the jobs that no longer wait out of the queue."""
    kept = 0
    for k in range(s.count[QUEUE]):
        job = s.i[J.waiting, k]
        if s.i[J.status, job] == WAITING:
            s.i[J.waiting, kept] = job
            kept += 1
    s.count[QUEUE] = kept
