"""Passes of the queue that give waiting jobs boxes: rules 32 to 34 and 47."""

import math

from ioopt.compiled import apart
from ioopt.decisions.ordering import FIT_TOLERANCE, Number
from ioopt.sim.batch_io.boxes import (
    blocked_at,
    drop,
    first_fit,
    lay_out,
    load_steps,
    passed,
    put,
    save_steps,
    take_out,
    tolerance,
    units_free,
)
from ioopt.sim.batch_io.buffer import has_room, release_time
from ioopt.sim.batch_io.jobs import start
from ioopt.sim.batch_io.state import ENDED, NOBODY, Clock, Job, Tables
from ioopt.sim.batch_io.waiting import close_pass, line_up, line_up_rest, occupy

FEW = 5
"""Of so many jobs every order is tried (rule 47)."""
SORTS = 9


@apart
def boxed_pass(run: Tables, clock: Clock) -> bool:
    """One pass; True when a job that it started ended at once."""
    line_up(run, clock)
    again = False
    if run.search:
        again = search_pass(run, clock)
    elif run.conservative:
        again = conservative_pass(run, clock)
    else:
        again = numbered_pass(run, clock)
    close_pass(run, clock)
    return again


@apart
def can_start(run: Tables, clock: Clock, job: Job) -> bool:
    """Whether what *job* needs is free right now, whatever the boxes say (rule 36)."""
    if job.units > clock.free or (
        run.buffer.shared and not has_room(run, clock, job.job)
    ):
        return False
    return not run.numbered or units_free(run, job)


@apart
def begin(run: Tables, clock: Clock, job: Job, length: Number) -> bool:
    """Start *job* at its place, with a box of *length* to the end of the pass;
    True: it ended at once.
    """
    take_out(run, clock, job)
    occupy(run, clock, job, job.block)
    start(run, clock, job)
    if job.status == ENDED:
        if run.buffered and run.buffer.held[job.job]:
            put(run, clock, job, 0, release_time(run, clock, job.job) - clock.now)
        return True
    put(run, clock, job, 0, length)
    return False


def drop_boxes(run: Tables, clock: Clock) -> None:
    """No waiting job has a box."""
    for turn in range(clock.lined_up):
        drop(run.jobs[run.line[turn]])


@apart
def numbered_pass(run: Tables, clock: Clock) -> bool:
    """EASY, or no backfilling, with numbered units (rule 32)."""
    drop_boxes(run, clock)
    lay_out(run, clock)
    again, reserved, turn = False, False, 0
    while turn < clock.lined_up and clock.free:
        job = run.jobs[run.line[turn]]
        turn += 1
        if reserved and job.units > clock.free:
            continue
        if blocked_at(run, clock, job, 0) == NOBODY and can_start(run, clock, job):
            again = begin(run, clock, job, job.walltime) or again
        elif not run.easy:
            break
        elif not reserved:
            reserved = True
            put(run, clock, job, first_fit(run, clock, job), job.length)
            if run.short_behind:
                line_up_rest(run, clock, turn)
    return again


@apart
def conservative_pass(run: Tables, clock: Clock) -> bool:
    """Every waiting job has a box, kept or made anew (rules 33 and 34).

    Of plans made anew only what starts now is left, so the last that can are the last
    looked at. There a job that starts behind one that waits keeps the box of its
    estimate to the end of the pass (rule 35).
    """
    jobs, again, every = run.jobs, False, clock.freed
    clock.freed = 0
    if run.rebuild or missed(run, clock):
        drop_boxes(run, clock)
    last = startable(run, clock, clock.lined_up)
    if run.rebuild and not last:
        return False
    lay_out(run, clock)
    turn, behind = 0, False
    while turn < last:
        job = jobs[run.line[turn]]
        turn += 1
        if job.box_start > clock.now and not every:
            continue
        take_out(run, clock, job)
        put(run, clock, job, first_fit(run, clock, job), job.length)
        if job.box_start == clock.now and can_start(run, clock, job):
            again = (
                begin(
                    run,
                    clock,
                    job,
                    job.length if behind and run.rebuild else job.walltime,
                )
                or again
            )
            last = startable(run, clock, last)
        else:
            behind = True
    return again


def startable(run: Tables, clock: Clock, last: int) -> int:
    """How many of the first *last* jobs a pass has to look at: with kept plans all."""
    if run.rebuild:
        while last > 0 and run.jobs[run.line[last - 1]].units > clock.free:
            last -= 1
    return last


@apart
def missed(run: Tables, clock: Clock) -> bool:
    """Whether a box should have begun before now, or a running job
    is past its walltime.
    """
    before = clock.now - tolerance(run, clock.now)
    for turn in range(clock.lined_up):
        if -math.inf < run.jobs[run.line[turn]].box_start < before:
            return True
    limit = passed(run, clock)
    for k in range(clock.num_running):
        job = run.jobs[run.running[k]]
        if job.start + job.walltime <= limit:
            return True
    return False


@apart
def search_pass(run: Tables, clock: Clock) -> bool:
    """Search the order whose first fits wait least, and start those
    that fit now (rule 47).

    ``trial`` and ``best`` are orders of the jobs behind the first
    ``plan_depth``, whose boxes stay.
    """
    able = False
    for turn in range(clock.lined_up):
        able = able or run.jobs[run.line[turn]].units <= clock.free
    if not able:
        return False
    drop_boxes(run, clock)
    lay_out(run, clock)
    first = min(run.plan_depth, clock.lined_up)
    count = clock.lined_up - first
    for turn in range(first):
        job = run.jobs[run.line[turn]]
        put(run, clock, job, first_fit(run, clock, job), job.length)
    save_steps(run, clock)
    for k in range(count):
        run.trial[k] = run.best[k] = run.line[first + k]
    if count <= FEW:
        permute(run, clock, count)
    else:
        exchange(run, clock, count)
    fit_trial(run, clock, count, math.inf)
    again = False
    for turn in range(clock.lined_up):
        job = run.jobs[run.best[turn - first] if turn >= first else run.line[turn]]
        if job.box_start == clock.now and can_start(run, clock, job):
            again = begin(run, clock, job, job.length) or again
    return again


@apart
def fit_trial(run: Tables, clock: Clock, count: int, limit: Number) -> Number:
    """Give the *count* jobs of ``trial`` their boxes; their waits to the power of the
    plan, up to *limit*.
    """
    load_steps(run, clock)
    for k in range(count):
        drop(run.jobs[run.trial[k]])
    score = clock.now * 0
    for k in range(count):
        job = run.jobs[run.trial[k]]
        put(run, clock, job, first_fit(run, clock, job), job.length)
        wait = power = job.box_start - job.submit
        for _ in range(run.plan_power - 1):
            power *= wait
        score += power
        if score >= limit:
            break
    return score


def below(run: Tables, score: Number) -> Number:
    """A score replaces *score* if it is less than this (rule 49)."""
    return score if run.limits.exact else score * (1 - FIT_TOLERANCE)


def keep_trial(run: Tables, count: int) -> None:
    """The order in ``trial`` is the best."""
    for k in range(count):
        run.best[k] = run.trial[k]


@apart
def permute(run: Tables, clock: Clock, count: int) -> None:
    """All orders of *count* jobs, lexicographic by (submission, id)."""
    limit = below(run, fit_trial(run, clock, count, math.inf))
    while True:
        k = count - 2
        while k >= 0 and run.trial[k] > run.trial[k + 1]:
            k -= 1
        if k < 0:
            break
        other = count - 1
        while run.trial[other] < run.trial[k]:
            other -= 1
        swap(run, k, other)
        for step in range((count - 1 - k) // 2):
            swap(run, k + 1 + step, count - 1 - step)
        score = fit_trial(run, clock, count, limit)
        if score < limit:
            limit = below(run, score)
            keep_trial(run, count)
    for k in range(count):
        run.trial[k] = run.best[k]


def swap(run: Tables, a: int, b: int) -> None:
    """Exchange two positions of ``trial``."""
    j = run.trial[a]
    run.trial[a] = run.trial[b]
    run.trial[b] = j


@apart
def exchange(run: Tables, clock: Clock, count: int) -> None:
    """Sorted orders, then exchanges of two positions of the best,
    as long as they help.
    """
    limit, used = clock.now * 0 + math.inf, 0
    for sort in range(min(SORTS, run.plan_evaluations)):
        sort_trial(run, count, sort)
        score = fit_trial(run, clock, count, limit)
        used += 1
        if score < limit:
            limit = below(run, score)
            keep_trial(run, count)
    for k in range(count):
        run.trial[k] = run.best[k]
    gained = True
    while gained and used < run.plan_evaluations:
        gained = False
        for a in range(count - 1):
            for b in range(a + 1, count):
                if used == run.plan_evaluations:
                    break
                swap(run, a, b)
                score = fit_trial(run, clock, count, limit)
                used += 1
                if score < limit:
                    limit, gained = below(run, score), True
                else:
                    swap(run, a, b)
    keep_trial(run, count)


@apart
def sort_trial(run: Tables, count: int, sort: int) -> None:
    """Bring the order of the queue into the *sort*-th order of rule 47;
    ties stay as they are.
    """
    first = run.plan_depth
    for k in range(count):
        j = run.line[first + k]
        key, at = sort_key(run, run.jobs[j], sort), k
        while at > 0 and key < sort_key(run, run.jobs[run.trial[at - 1]], sort):
            run.trial[at] = run.trial[at - 1]
            at -= 1
        run.trial[at] = j


def sort_key(run: Tables, job: Job, sort: int) -> Number:
    """As queued; units, bytes, bytes a unit, each descending; the last three
    ascending; walltimes.
    """
    share = run.buffer.size[job.job] if run.buffered else 0
    if sort == 1:
        return -job.units
    if sort == 2:
        return -share
    if sort == 3:
        return -share / job.units
    if sort == 4:
        return share / job.units
    if sort == 5:
        return job.units
    if sort == 6:
        return share
    if sort == 7:
        return job.walltime
    return -job.walltime if sort == 8 else 0
