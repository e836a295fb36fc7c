"""Boxes of units and bytes over time, and where a waiting job fits among them (rules 20, 31 and 36).

The profile is a step function: ``step_free[k]`` units and ``step_room[k]`` bytes of the burst buffer are
free from ``step_times[k]`` on, now being the first time and infinity the end of the last step. Box
[s, e) of a job has its ends at steps; -infinity says that it has none. Times within the tolerance of
rule 2 are one step, so that no sliver of time stands in the way. Bytes count where ``w.bytes`` says
so (:func:`bytes_of`); which units are free where they are numbered follows from the boxes themselves.

One text for plain Python and for numba: see :mod:`ioopt.sim.batch_io.state`.
"""

import math

from ioopt.compiled import apart
from ioopt.decisions.batch_io import FIT_TOLERANCE, Number, time_tolerance
from ioopt.sim.batch_io.box_lists import (
    choose_units,
    first_step,
    line_up_running,
    mark,
    mark_at,
    open_step,
    sort_marks,
)
from ioopt.sim.batch_io.buffer import release_time, units_held
from ioopt.sim.batch_io.state import NOBODY, WAITING, ActiveRequest, Moment, World

OVERDUE_SECONDS = 300
"""A job past its walltime is predicted to run this much longer (rule 20)."""


def tolerance(w: World, time: Number) -> Number:
    """Within what of *time* it is one instant (rule 2)."""
    return 0 if w.exact else time_tolerance(time)


def passed(w: World, m: Moment) -> Number:
    """Predicted ends up to here have passed; with a pass an event, an end of now has not (rule 36)."""
    if w.event:
        return m.now - time_tolerance(m.now)  # in exact runs too: no end is so close by chance
    return m.now + tolerance(w, m.now)


def bytes_of(w: World, r: ActiveRequest) -> Number:
    """Bytes of the burst buffer that the box of *r* takes (rule 44)."""
    return w.buffer.size[r.job] if w.bytes else 0


@apart
def lay_out(w: World, m: Moment) -> None:
    """Make the profile of the running jobs and of the boxes of those in ``line``.

    The box of a running job ends when its walltime does; later where that has passed. Bytes are added
    in the order of time, so that both engines round alike.
    """
    jobs, now, free, room, count = w.jobs, m.now, w.total, w.capacity, 0
    limit = passed(w, m)
    line_up_running(w, m)
    for k in range(m.num_running):
        r = jobs[w.running[k]]
        end = r.start + r.walltime
        r.box_start = now
        r.box_end = end if end > limit else now + OVERDUE_SECONDS
        free -= r.units
        mark(w, count, 2 * r.job + 1, r.box_end)
        count += 1
    for k in range(m.num_tails):
        r = jobs[w.buffer.tails[k]]
        r.box_start, r.box_end = now, release_time(w, m, r.job)
        free -= units_held(w, r)
        mark(w, count, 2 * r.job + 1, r.box_end)
        count += 1
    for k in range(m.lined_up):
        r = jobs[w.line[k]]
        if r.box_start < r.box_end:
            mark(w, count, 2 * r.job, r.box_start)
            mark(w, count + 1, 2 * r.job + 1, r.box_end)
            count += 2
    sort_marks(w, count)
    if w.bytes:
        for k in range(count):
            r = jobs[mark_at(w, k)[0] // 2]
            if r.status != WAITING:
                room -= bytes_of(w, r)
    first_step(w, m, free, room)
    for k in range(count):
        code, time = mark_at(w, k)
        at = m.steps - 1
        last = w.step_times[at]
        if time > last + tolerance(w, last):
            at, last = m.steps, time
            open_step(w, m, at, time)
        r = jobs[code // 2]
        if code % 2:
            r.box_end = last
            shift(w, r, at, at + 1, 1)
        else:
            r.box_start = last
            shift(w, r, at, at + 1, -1)


@apart
def shift(w: World, r: ActiveRequest, first: int, last: int, sign: int) -> None:
    """The steps from *first* to *last* have the units and bytes of *r* more (1) or less (-1)."""
    free, units = w.step_free, sign * units_held(w, r)
    for k in range(first, last):
        free[k] += units
    if w.bytes:
        share = sign * bytes_of(w, r)
        for k in range(first, last):
            w.step_room[k] += share


def step_from(w: World, m: Moment, time: Number) -> int:
    """The first step that begins at *time* or later."""
    low, high, times = 0, m.steps, w.step_times
    while low < high:
        middle = (low + high) // 2
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    return int(low)


@apart
def put(w: World, m: Moment, r: ActiveRequest, at: int, length: Number) -> None:
    """Give *r* a box of *length* seconds from step *at* on; a length of 0 occupies nothing."""
    start = w.step_times[at]
    end = start + length
    r.box_start = r.box_end = start
    slack = tolerance(w, end)
    until = step_from(w, m, end - slack)
    if until <= at:
        return
    if until == m.steps or w.step_times[until] > end + slack:
        open_step(w, m, until, end)
    r.box_end = w.step_times[until]
    shift(w, r, at, until, -1)


@apart
def take_out(w: World, m: Moment, r: ActiveRequest) -> None:
    """Take the box of *r*, where it has one, out of the profile."""
    if r.box_start < r.box_end:
        shift(w, r, step_from(w, m, r.box_start), step_from(w, m, r.box_end), 1)
    drop(r)


def drop(r: ActiveRequest) -> None:
    """*r* has no box."""
    r.box_start = r.box_end = -math.inf


@apart
def blocked_at(w: World, m: Moment, r: ActiveRequest, at: int) -> int:
    """NOBODY where *r* fits from step *at* on, else the next step from which it may (rule 31)."""
    times, free, units, steps = w.step_times, w.step_free, r.units, m.steps
    counted = not (w.numbered and w.overlaps)  # units of boxes that overlap are counted twice
    start = times[at]
    stop = start + r.length
    stop -= tolerance(w, stop)
    k = at
    while k == at or (k < steps and times[k] < stop):
        if counted and free[k] < units:
            return k + 1
        k += 1
    if w.bytes and bytes_of(w, r) > 0:
        share = bytes_of(w, r) - w.capacity * FIT_TOLERANCE * (0 if w.exact else 1)
        for step in range(at, k):
            if w.step_room[step] < share:
                return step + 1
    if w.numbered and not choose_units(w, m, r, start, stop):
        return at + 1
    return NOBODY


@apart
def first_fit(w: World, m: Moment, r: ActiveRequest) -> int:
    """The first step from which *r* fits; numbered units are chosen."""
    at = 0
    blocked = blocked_at(w, m, r, at)
    while blocked != NOBODY:
        at = blocked
        blocked = blocked_at(w, m, r, at)
    return at
