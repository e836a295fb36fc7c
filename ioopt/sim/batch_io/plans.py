"""Plan the waiting jobs in boxes, in passes over the queue (rules 32 to 36).

A box reserves a number of units from one time to another
(:mod:`~ioopt.sim.batch_io.boxes`).
"""

import math

from ioopt.decisions.ordering import Number
from ioopt.sim.batch_io.boxes import (
    blocked_at,
    drop,
    first_fit,
    lay_out,
    passed,
    put,
    take_out,
    tolerance,
    units_free,
)
from ioopt.sim.batch_io.jobs import start
from ioopt.sim.batch_io.state import ENDED, NOBODY, Clock, Job, System
from ioopt.sim.batch_io.waiting import close_pass, line_up, line_up_rest, occupy


def boxed_pass(run: System, clock: Clock) -> bool:
    """Plan the waiting jobs in boxes in one pass over the queue, and start those that
    can start.

    Return whether a job that the pass started ended at once.
    """
    line_up(run, clock)
    if run.rules.conservative:
        again = conservative_pass(run, clock)
    else:
        again = numbered_pass(run, clock)
    close_pass(run, clock)
    return again


def can_start(run: System, clock: Clock, job: Job) -> bool:
    """Return whether the units of *job* are free at this moment, whatever the boxes say
    (rule 36).
    """
    if job.units > clock.free:
        return False
    return not run.rules.numbered or units_free(run, job)


def begin(run: System, clock: Clock, job: Job, length: Number) -> bool:
    """Start *job* in its units; return whether the job ended at once.

    Until the end of the pass the job has a box of *length* seconds.
    """
    take_out(run, clock, job)
    occupy(run, clock, job, job.block)
    start(run, clock, job)
    if job.status == ENDED:
        return True
    put(run, clock, job, 0, length)
    return False


def drop_boxes(run: System, clock: Clock) -> None:
    """Delete the boxes of all waiting jobs."""
    for turn in range(clock.lined_up):
        drop(run.jobs[run.line[turn]])


def numbered_pass(run: System, clock: Clock) -> bool:
    """Make one pass of EASY backfilling or of plain FCFS with numbered units (rule 32).

    Return whether a job that the pass started ended at once.
    """
    drop_boxes(run, clock)
    lay_out(run, clock)
    again = False
    reserved = False
    turn = 0
    while turn < clock.lined_up and clock.free:
        job = run.jobs[run.line[turn]]
        turn += 1
        if reserved and job.units > clock.free:
            continue
        if blocked_at(run, clock, job, 0) == NOBODY and can_start(run, clock, job):
            again = begin(run, clock, job, job.walltime) or again
        elif not run.rules.easy:
            break
        elif not reserved:
            reserved = True
            put(run, clock, job, first_fit(run, clock, job), job.length)
            if run.rules.short_behind:
                line_up_rest(run, clock, turn)
    return again


def conservative_pass(run: System, clock: Clock) -> bool:
    """Give every waiting job a box, its old one or a new one (rules 33 and 34).

    Return whether a job that the pass started ended at once. If the plan is rebuilt at
    every pass, only the starts matter, so the pass ends after the last job that could
    start. If a job then starts although an earlier job waits, it has a box as long as
    its estimated run time until the end of the pass (rule 35).
    """
    jobs = run.jobs
    again = False
    every = clock.freed
    clock.freed = False
    if run.rules.rebuild or missed(run, clock):
        drop_boxes(run, clock)
    last = startable(run, clock, clock.lined_up)
    if run.rules.rebuild and not last:
        return False
    lay_out(run, clock)
    turn = 0
    behind = False
    while turn < last:
        job = jobs[run.line[turn]]
        turn += 1
        if job.box_start > clock.now and not every:
            continue
        take_out(run, clock, job)
        put(run, clock, job, first_fit(run, clock, job), job.length)
        if job.box_start == clock.now and can_start(run, clock, job):
            length = job.walltime
            if behind and run.rules.rebuild:
                length = job.length
            again = begin(run, clock, job, length) or again
            last = startable(run, clock, last)
        else:
            behind = True
    return again


def startable(run: System, clock: Clock, last: int) -> int:
    """Return how many of the first *last* jobs in the queue a pass must examine.

    If the plan is kept from pass to pass, the pass must examine all of these jobs. If
    the plan is rebuilt, the pass stops at the last job for which enough units are free
    now.
    """
    if run.rules.rebuild:
        while last > 0 and run.jobs[run.line[last - 1]].units > clock.free:
            last -= 1
    return last


def missed(run: System, clock: Clock) -> bool:
    """Return whether a waiting job has missed the start of its box, or a running job
    has passed its walltime.
    """
    before = clock.now - tolerance(run, clock.now)
    for turn in range(clock.lined_up):
        if -math.inf < run.jobs[run.line[turn]].box_start < before:
            return True
    limit = passed(run, clock)
    for k in range(clock.num_running):
        job = run.jobs[run.agenda.running[k]]
        if job.start + job.walltime <= limit:
            return True
    return False
