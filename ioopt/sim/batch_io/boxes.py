"""Boxes of units and bytes over time, and where a waiting job fits among them
(rules 20, 31 and 36).

Sets of units stand in words of ``WORD`` bits: those chosen for a job in its row of
``chosen``. The profile is a step function: ``step_free[k]`` units and
``step_room[k]`` bytes of the burst buffer are free from ``step_times[k]`` on, now
being the first time and infinity the end of the last step. Box [s, e) of a job has
its ends at steps; -infinity says that it has none. Times within the tolerance of rule
2 are one step, so that no sliver of time stands in the way. Bytes count where
``w.buffer.shared`` says so (:func:`bytes_of`); which units are free where they are
numbered follows from the boxes themselves.
"""

import math

from ioopt.compiled import apart
from ioopt.decisions.ordering import Number, sort_by, time_tolerance
from ioopt.sim.batch_io.buffer import release_time, units_held
from ioopt.sim.batch_io.state import NOBODY, WAITING, WORD, Clock, Job, Tables

OVERDUE_SECONDS = 300
"""A job past its walltime is predicted to run this much longer (rule 20)."""


def tolerance(run: Tables, time: Number) -> Number:
    """Within what of *time* it is one instant (rule 2)."""
    return 0 if run.limits.exact else time_tolerance(time)


def passed(run: Tables, clock: Clock) -> Number:
    """Predicted ends up to here have passed; with a pass an event, an end of
    now has not (rule 36).
    """
    if run.event:
        return clock.now - time_tolerance(
            clock.now
        )  # in exact runs too: no end is so close by chance
    return clock.now + tolerance(run, clock.now)


def predicted_end(run: Tables, clock: Clock, job: Job) -> Number:
    """When *job*, which runs, is predicted to end: with its walltime, later
    where that has passed.
    """
    end = job.start + job.walltime
    return end if end > passed(run, clock) else clock.now + OVERDUE_SECONDS


def bytes_of(run: Tables, job: Job) -> Number:
    """Bytes of the burst buffer that the box of *job* takes (rule 44)."""
    return run.buffer.size[job.job] if run.buffer.shared else 0


@apart
def lay_out(run: Tables, clock: Clock) -> None:
    """Make the profile of the running jobs and of the boxes of those in ``line``.

    Bytes are added in the order of time, so that both engines round alike.
    """
    jobs, now, free, room, count = (
        run.jobs,
        clock.now,
        run.total,
        run.buffer.capacity,
        0,
    )
    for k in range(clock.num_running):
        job = jobs[run.running[k]]
        job.box_start, job.box_end = now, predicted_end(run, clock, job)
        free -= job.units
        mark(run, count, 2 * job.job + 1, job.box_end)
        count += 1
    for k in range(clock.num_tails):
        job = jobs[run.buffer.tails[k]]
        job.box_start, job.box_end = now, release_time(run, clock, job.job)
        free -= units_held(run, job)
        mark(run, count, 2 * job.job + 1, job.box_end)
        count += 1
    for k in range(clock.lined_up):
        job = jobs[run.line[k]]
        if job.box_start < job.box_end:
            mark(run, count, 2 * job.job, job.box_start)
            mark(run, count + 1, 2 * job.job + 1, job.box_end)
            count += 2
    sort_by(run.mark_times, run.marks, 0, count)
    if run.buffer.shared:
        for k in range(count):
            job = jobs[run.marks[k] // 2]
            if job.status != WAITING:
                room -= bytes_of(run, job)
    run.step_times[0], run.step_free[0], run.step_room[0] = now, free, room
    clock.steps = 1
    for k in range(count):
        code = run.marks[k]
        time = run.mark_times[code]
        at = clock.steps - 1
        last = run.step_times[at]
        if time > last + tolerance(run, last):
            at, last = clock.steps, time
            open_step(run, clock, at, time)
        job = jobs[code // 2]
        if code % 2:
            job.box_end = last
            shift(run, job, at, at + 1, 1)
        else:
            job.box_start = last
            shift(run, job, at, at + 1, -1)


@apart
def shift(run: Tables, job: Job, first: int, last: int, sign: int) -> None:
    """The steps from *first* to *last* have the units and bytes of *job*
    more (1) or less (-1).
    """
    free, units = run.step_free, sign * units_held(run, job)
    for k in range(first, last):
        free[k] += units
    if run.buffer.shared:
        share = sign * bytes_of(run, job)
        for k in range(first, last):
            run.step_room[k] += share


def step_from(run: Tables, clock: Clock, time: Number) -> int:
    """The first step that begins at *time* or later."""
    low, high, times = 0, clock.steps, run.step_times
    while low < high:
        middle = (low + high) // 2
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    return int(low)


@apart
def put(run: Tables, clock: Clock, job: Job, at: int, length: Number) -> None:
    """Give *job* a box of *length* seconds from step *at* on; a length
    of 0 occupies nothing.
    """
    start = run.step_times[at]
    end = start + length
    job.box_start = job.box_end = start
    slack = tolerance(run, end)
    until = step_from(run, clock, end - slack)
    if until <= at:
        return
    if until == clock.steps or run.step_times[until] > end + slack:
        open_step(run, clock, until, end)
    job.box_end = run.step_times[until]
    shift(run, job, at, until, -1)


@apart
def take_out(run: Tables, clock: Clock, job: Job) -> None:
    """Take the box of *job*, where it has one, out of the profile."""
    if job.box_start < job.box_end:
        shift(
            run,
            job,
            step_from(run, clock, job.box_start),
            step_from(run, clock, job.box_end),
            1,
        )
    drop(job)


def drop(job: Job) -> None:
    """*job* has no box."""
    job.box_start = job.box_end = -math.inf


@apart
def blocked_at(run: Tables, clock: Clock, job: Job, at: int) -> int:
    """NOBODY where *job* fits from step *at* on, else the next step from
    which it may (rule 31).
    """
    times, free, units, steps = run.step_times, run.step_free, job.units, clock.steps
    counted = not (
        run.numbered and run.overlaps
    )  # units of boxes that overlap are counted twice
    start = times[at]
    stop = start + job.length
    stop -= tolerance(run, stop)
    k = at
    while k == at or (k < steps and times[k] < stop):
        if counted and free[k] < units:
            return k + 1
        k += 1
    if run.buffer.shared and bytes_of(run, job) > 0:
        share = bytes_of(run, job) - run.buffer.capacity * run.limits.eps
        for step in range(at, k):
            if run.step_room[step] < share:
                return step + 1
    if run.numbered and not choose_units(run, clock, job, start, stop):
        return at + 1
    return NOBODY


@apart
def first_fit(run: Tables, clock: Clock, job: Job) -> int:
    """The first step from which *job* fits; numbered units are chosen."""
    at = 0
    blocked = blocked_at(run, clock, job, at)
    while blocked != NOBODY:
        at = blocked
        blocked = blocked_at(run, clock, job, at)
    return at


def mark(run: Tables, k: int, code: int, time: Number) -> None:
    """The *k*-th mark: box of job *code* / 2 begins (even) or ends (odd) at *time*."""
    run.marks[k] = code
    run.mark_times[code] = time


def open_step(run: Tables, clock: Clock, at: int, time: Number) -> None:
    """A step begins at *time* as number *at*, with what is free in the one before."""
    times, free, room = run.step_times, run.step_free, run.step_room
    for k in range(clock.steps, at, -1):
        times[k], free[k], room[k] = times[k - 1], free[k - 1], room[k - 1]
    times[at], free[at], room[at] = time, free[at - 1], room[at - 1]
    clock.steps += 1


@apart
def save_steps(run: Tables, clock: Clock) -> None:
    """Keep the profile."""
    clock.saved_steps = clock.steps
    for k in range(clock.steps):
        run.saved_times[k] = run.step_times[k]
        run.saved_free[k] = run.step_free[k]
        run.saved_room[k] = run.step_room[k]


@apart
def load_steps(run: Tables, clock: Clock) -> None:
    """Go back to the profile that was kept."""
    clock.steps = clock.saved_steps
    for k in range(clock.steps):
        run.step_times[k] = run.saved_times[k]
        run.step_free[k] = run.saved_free[k]
        run.step_room[k] = run.saved_room[k]


def note_taken(run: Tables, job: Job, start: Number, stop: Number) -> None:
    """Add the units of *job* to ``taken`` if its box meets the time
    from *start* to *stop*.
    """
    since = job.box_start
    if since < job.box_end and job.box_end > start and (since < stop or since <= start):
        if not units_held(run, job):
            return
        if run.partition:
            for unit in range(job.block, job.block + job.units):
                run.taken[unit // WORD] |= 1 << unit % WORD
        else:
            for word in range(len(run.taken)):
                run.taken[word] |= run.chosen[job.job][word]


@apart
def choose_units(
    run: Tables, clock: Clock, job: Job, start: Number, stop: Number
) -> bool:
    """Choose the lowest units that are free for *job* from *start* to *stop*;
    False: there are none.
    """
    for word in range(len(run.taken)):
        run.taken[word] = 0
    for k in range(clock.num_running):
        note_taken(run, run.jobs[run.running[k]], start, stop)
    for k in range(clock.num_tails if run.buffer.keeps else 0):
        note_taken(run, run.jobs[run.buffer.tails[k]], start, stop)
    for k in range(clock.lined_up):
        note_taken(run, run.jobs[run.line[k]], start, stop)
    if run.partition:
        job.block = lowest_block(run, job.units)
        return bool(job.block >= 0)
    missing = job.units
    for word in range(len(run.taken)):
        count = min(WORD, run.total - word * WORD)
        free, chosen = ~run.taken[word] & ((1 << count) - 1), 0
        while free and missing:
            lowest = free & -free
            chosen |= lowest
            free ^= lowest
            missing -= 1
        run.chosen[job.job][word] = chosen
    return bool(missing == 0)


def lowest_block(run: Tables, units: int) -> int:
    """The lowest aligned block of *units* outside ``taken``; -1: there is none."""
    for place in range(0, run.total - units + 1, units):
        unit = place
        while unit < place + units and not run.taken[unit // WORD] >> unit % WORD & 1:
            unit += 1
        if unit == place + units:
            return place
    return -1


def units_free(run: Tables, job: Job) -> bool:
    """Whether nobody is on the units chosen for *job*."""
    taken = 0
    if run.partition:
        for unit in range(job.block, job.block + job.units):
            taken |= run.busy[unit]
    else:
        for word in range(len(run.taken)):
            taken |= run.chosen[job.job][word] & run.in_use[word]
    return taken == 0
