"""Reserve boxes of units over time for jobs, and find where a waiting job fits.

Rules 20, 31 and 36 apply. A box reserves a number of units from one time to another.
The profile of free units is a step function: ``step_free[k]`` units are free from
``step_times[k]`` until the next step. The first step begins now, and the last one never
ends. The box [s, e) of a job begins and ends at steps; a job without a box has
-infinity for both times.

Times within the tolerance of rule 2 form one step, so that rounding leaves no short
gaps between boxes. Where units are numbered, the free ones are found from the boxes
themselves, not from the profile. A set of units is stored as bits, in words of ``WORD``
bits; the units chosen for job j are in the words of ``chosen`` from ``words * j`` on.
"""

import math

from ioopt.decisions.ordering import Number, sort_by, time_tolerance
from ioopt.sim.batch_io.state import NOBODY, WORD, Clock, Job, System

OVERDUE_SECONDS = 300
"""Remaining run time in seconds that is predicted for a job past its walltime (rule
20).
"""


def tolerance(run: System, time: Number) -> Number:
    """Return by how many seconds another time may differ from *time* and still count as
    equal (rule 2).
    """
    return 0 if run.limits.exact else time_tolerance(time)


def passed(run: System, clock: Clock) -> Number:
    """Return the latest time at which a predicted end counts as passed.

    If a pass over the queue follows every event, an end at the present time has not
    passed yet (rule 36).
    """
    if run.rules.event:
        # The margin is also kept in exact runs, where no other end is that close to
        # now.
        return clock.now - time_tolerance(clock.now)
    return clock.now + tolerance(run, clock.now)


def predicted_end(run: System, clock: Clock, job: Job) -> Number:
    """Predict the end time of the running *job*.

    A job is predicted to end at its walltime. If its walltime has passed, it is
    predicted to end OVERDUE_SECONDS from now.
    """
    end = job.start + job.walltime
    if end > passed(run, clock):
        return end
    return clock.now + OVERDUE_SECONDS


def lay_out(run: System, clock: Clock) -> None:
    """Build the profile of free units from the running jobs and from the boxes of the
    waiting jobs in ``line``.
    """
    jobs = run.jobs
    profile = run.profile
    now = clock.now
    free = run.rules.total
    count = 0
    for k in range(clock.num_running):
        job = jobs[run.agenda.running[k]]
        job.box_start = now
        job.box_end = predicted_end(run, clock, job)
        free -= job.units
        mark(run, count, 2 * job.number + 1, job.box_end)
        count += 1
    for k in range(clock.lined_up):
        job = jobs[run.line[k]]
        if job.box_start < job.box_end:
            mark(run, count, 2 * job.number, job.box_start)
            mark(run, count + 1, 2 * job.number + 1, job.box_end)
            count += 2
    sort_by(profile.mark_times, profile.marks, 0, count)
    profile.step_times[0] = now
    profile.step_free[0] = free
    clock.steps = 1
    for k in range(count):
        code = profile.marks[k]
        time = profile.mark_times[code]
        at = clock.steps - 1
        last = profile.step_times[at]
        if time > last + tolerance(run, last):
            at = clock.steps
            last = time
            open_step(run, clock, at, time)
        job = jobs[code // 2]
        if code % 2:
            job.box_end = last
            shift(run, job, at, at + 1, 1)
        else:
            job.box_start = last
            shift(run, job, at, at + 1, -1)


def shift(run: System, job: Job, first: int, last: int, sign: int) -> None:
    """Change the free units of the steps *first* to *last* - 1 by the units of *job*.

    *sign* is 1 to add the units and -1 to subtract them.
    """
    free = run.profile.step_free
    units = sign * job.units
    for k in range(first, last):
        free[k] += units


def step_from(run: System, clock: Clock, time: Number) -> int:
    """Return the index of the first step that begins at *time* or later."""
    times = run.profile.step_times
    low = 0
    high = clock.steps
    while low < high:
        middle = (low + high) // 2
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


def put(run: System, clock: Clock, job: Job, at: int, length: Number) -> None:
    """Give *job* a box of *length* seconds that begins with step *at*.

    A box of length 0 occupies no units.
    """
    start = run.profile.step_times[at]
    end = start + length
    job.box_start = start
    job.box_end = start
    slack = tolerance(run, end)
    until = step_from(run, clock, end - slack)
    if until <= at:
        return
    if until == clock.steps or run.profile.step_times[until] > end + slack:
        open_step(run, clock, until, end)
    job.box_end = run.profile.step_times[until]
    shift(run, job, at, until, -1)


def take_out(run: System, clock: Clock, job: Job) -> None:
    """Remove the box of *job*, if it has one, from the profile."""
    if job.box_start < job.box_end:
        first = step_from(run, clock, job.box_start)
        last = step_from(run, clock, job.box_end)
        shift(run, job, first, last, 1)
    drop(job)


def drop(job: Job) -> None:
    """Delete the box of *job* without a change of the profile."""
    job.box_start = -math.inf
    job.box_end = -math.inf


def blocked_at(run: System, clock: Clock, job: Job, at: int) -> int:
    """Return NOBODY if *job* fits into the profile from step *at* on (rule 31).

    If it does not fit, return the index of the next step from which *job* may fit.
    """
    times = run.profile.step_times
    free = run.profile.step_free
    units = job.units
    steps = clock.steps
    # Overlapping boxes count twice in the profile, so it cannot be used then.
    counted = not (run.rules.numbered and run.rules.overlaps)
    start = times[at]
    stop = start + job.length
    stop -= tolerance(run, stop)
    k = at
    while k == at or (k < steps and times[k] < stop):
        if counted and free[k] < units:
            return k + 1
        k += 1
    if run.rules.numbered and not choose_units(run, clock, job, start, stop):
        return at + 1
    return NOBODY


def first_fit(run: System, clock: Clock, job: Job) -> int:
    """Return the index of the first step from which *job* fits.

    Where units are numbered, also choose the units of *job*.
    """
    at = 0
    blocked = blocked_at(run, clock, job, at)
    while blocked != NOBODY:
        at = blocked
        blocked = blocked_at(run, clock, job, at)
    return at


def mark(run: System, k: int, code: int, time: Number) -> None:
    """Store mark number *k*, the start or the end of a box at *time*.

    *code* is twice the job number for the start of the job's box, and one more for the
    end.
    """
    run.profile.marks[k] = code
    run.profile.mark_times[code] = time


def open_step(run: System, clock: Clock, at: int, time: Number) -> None:
    """Insert a step that begins at *time* as number *at*; it has the free units of the
    step before it.
    """
    times = run.profile.step_times
    free = run.profile.step_free
    for k in range(clock.steps, at, -1):
        times[k] = times[k - 1]
        free[k] = free[k - 1]
    times[at] = time
    free[at] = free[at - 1]
    clock.steps += 1


def note_taken(run: System, job: Job, start: Number, stop: Number) -> None:
    """Add the units of *job* to ``taken`` if the time of its box overlaps [*start*,
    *stop*).
    """
    since = job.box_start
    if since >= job.box_end or job.box_end <= start:
        return
    if since >= stop and since > start:
        return
    units = run.units
    if run.rules.partition:
        for unit in range(job.block, job.block + job.units):
            units.taken[unit // WORD] |= 1 << unit % WORD
    else:
        own = job.number * units.words
        for word in range(units.words):
            units.taken[word] |= units.chosen[own + word]


def choose_units(
    run: System, clock: Clock, job: Job, start: Number, stop: Number
) -> bool:
    """Choose for *job* the lowest-numbered units that are free throughout [*start*,
    *stop*).

    Return False if there are not enough such units.
    """
    units = run.units
    for word in range(units.words):
        units.taken[word] = 0
    for k in range(clock.num_running):
        note_taken(run, run.jobs[run.agenda.running[k]], start, stop)
    for k in range(clock.lined_up):
        note_taken(run, run.jobs[run.line[k]], start, stop)
    if run.rules.partition:
        job.block = lowest_block(run, job.units)
        return job.block >= 0
    missing = job.units
    own = job.number * units.words
    for word in range(units.words):
        count = min(WORD, run.rules.total - word * WORD)
        free = ~units.taken[word] & ((1 << count) - 1)
        chosen = 0
        while free and missing:
            lowest = free & -free
            chosen |= lowest
            free ^= lowest
            missing -= 1
        units.chosen[own + word] = chosen
    return missing == 0


def lowest_block(run: System, units: int) -> int:
    """Return the first unit of the lowest aligned block of *units* that has no unit in
    ``taken``; -1 if there is none.
    """
    taken = run.units.taken
    for block in range(run.rules.total // units):
        place = block * units
        unit = place
        while unit < place + units and not taken[unit // WORD] >> unit % WORD & 1:
            unit += 1
        if unit == place + units:
            return place
    return -1


def units_free(run: System, job: Job) -> bool:
    """Return whether all units chosen for *job* are free now."""
    units = run.units
    taken = 0
    if run.rules.partition:
        for unit in range(job.block, job.block + job.units):
            taken |= units.busy[unit]
    else:
        own = job.number * units.words
        for word in range(units.words):
            taken |= units.chosen[own + word] & units.in_use[word]
    return taken == 0
