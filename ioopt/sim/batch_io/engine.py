"""The engine of the batch I/O simulator: from instant to instant (rules 1, 2
and 9), and its queue.

It owns time and feasibility, the policy decides who transfers. The cost of an instant
depends on what is outstanding and waiting then, not on the length of the trace.
"""

import math

from ioopt.compiled import apart
from ioopt.decisions.batch_io import GrantFunction
from ioopt.decisions.ordering import Number
from ioopt.sim.batch_io.agenda import collect, next_time, overdue
from ioopt.sim.batch_io.boxes import tolerance
from ioopt.sim.batch_io.buffer import has_room, units_held
from ioopt.sim.batch_io.jobs import end_write, finish, go_on, kill, start
from ioopt.sim.batch_io.plans import boxed_pass
from ioopt.sim.batch_io.state import ENDED, TRANSFERRING, WRITING, Clock, Job, Tables
from ioopt.sim.batch_io.storage import apply_decision, set_clock
from ioopt.sim.batch_io.streams import set_write_rates, stage_ahead
from ioopt.sim.batch_io.waiting import (
    arrive,
    block_free_from,
    close_pass,
    find_place,
    line_up,
    line_up_ends,
    line_up_rest,
    line_up_units,
    next_end,
    occupy,
    smallest,
)


@apart
def run_queue(run: Tables, clock: Clock) -> None:
    """One batch pass, repeated while a job started by it ended at once (rule 1)."""
    again = True
    while again:
        again = False
        if clock.waiting and (clock.free or run.keeps):
            again = boxed_pass(run, clock) if run.boxed else batch_pass(run, clock)
        if run.buffered and run.buffer.early:
            stage_ahead(run, clock)


@apart
def batch_pass(run: Tables, clock: Clock) -> bool:
    """One pass over the queue; True when a job that it started ended at
    once (rules 19 and 20).
    """
    least = smallest(run, clock)
    if find_place(run, clock, least, 0, 0) < 0:
        return False
    line_up(run, clock)
    again, turn = False, 0
    while turn < clock.lined_up and clock.free >= least:
        job = run.jobs[run.line[turn]]
        place = (
            find_place(run, clock, job.units, 0, 0)
            if has_room(run, clock, job.job)
            else -1
        )
        if place < 0:
            if run.easy:
                again = backfill(run, clock, turn, least) or again
            break
        again = begin(run, clock, job, place) or again
        turn += 1
    close_pass(run, clock)
    return again


def begin(run: Tables, clock: Clock, job: Job, place: int) -> bool:
    """Start *job* at *place*; True: it ended at once."""
    occupy(run, clock, job, place)
    start(run, clock, job)
    return job.status == ENDED


@apart
def backfill(run: Tables, clock: Clock, turn: int, least: int) -> bool:
    """Start what leaves the reservation of the job at *turn* alone;
    True: one ended at once.

    Nobody needs less than the *least* units. The reservation is made when
    somebody asks. What of one length finds no units rules out what is larger:
    aligned blocks nest.
    """
    head, now, again, reserved = run.jobs[run.line[turn]], clock.now, False, False
    until, extra, avoid, length, spare = now, 0, 0, 0, now * 0
    no_short, no_long = run.total + 1, run.total + 1
    if run.short_behind:
        line_up_rest(run, clock, turn + 1)
    while turn + 1 < clock.lined_up and clock.free >= least:
        turn += 1
        job = run.jobs[run.line[turn]]
        units = job.units
        if units > clock.free or not has_room(run, clock, job.job):
            continue
        if not reserved:
            reserved = True
            ready = bytes_ready(run, clock, head.job)
            if run.partition:
                until, avoid = reserve_block(run, clock, head.units, ready)
                length = head.units
            else:
                until, extra = reserve_flat(run, clock, head.units, ready)
            until += tolerance(run, until)
            spare = spare_bytes(run, clock, head.job, until)
        short = now + job.length <= until
        if not short and run.buffer.shared and run.buffer.size[job.job] > spare:
            continue
        if units >= (no_short if short else no_long):
            continue
        if short:
            place = find_place(run, clock, units, 0, 0)
        elif run.partition:
            place = find_place(run, clock, units, avoid, length)
        else:
            place = 0 if units <= extra else -1
        if place < 0:
            if short:
                no_short = units
            else:
                no_long = units
            continue
        free, held = clock.free, clock.held
        again = begin(run, clock, job, place) or again
        if not short:
            if run.buffered:  # what was given back at once is not used up (rule 46)
                units = free - clock.free
            extra -= units
            spare -= clock.held - held
    return again


def bytes_ready(run: Tables, clock: Clock, j: int) -> Number:
    """When the buffer is predicted to have the bytes of job *j* (rule 46)."""
    buffer, time = run.buffer, clock.now
    held = clock.held
    for turn in range(line_up_ends(run, clock) if buffer.shared else 0):
        if held + buffer.size[j] <= buffer.capacity * buffer.slack:
            break
        time, other = next_end(run, clock, turn)
        held -= buffer.size[other]
    return time


def spare_bytes(run: Tables, clock: Clock, j: int, until: Number) -> Number:
    """Bytes that are predicted to be free *until* then beside those of job *j*."""
    buffer, spare = run.buffer, clock.now * 0
    if not buffer.shared:
        return spare
    spare = buffer.capacity * buffer.slack - clock.held - buffer.size[j]
    for turn in range(line_up_ends(run, clock)):
        end, other = next_end(run, clock, turn)
        if end > until:
            break
        spare += buffer.size[other]
    return spare


def reserve_flat(
    run: Tables, clock: Clock, units: int, ready: Number
) -> tuple[Number, int]:
    """(time from *ready* on at which enough units are free, units free
    beside the request then).
    """
    free, time = clock.free, ready
    for turn in range(line_up_ends(run, clock)):
        end, j = next_end(run, clock, turn)
        if free >= units and end > time + tolerance(run, time):
            break
        if free < units and end > time:
            time = end
        free += units_held(run, run.jobs[j])
    return time, free - units


def reserve_block(
    run: Tables, clock: Clock, units: int, ready: Number
) -> tuple[Number, int]:
    """(earliest predicted free time of a block of *units* from *ready* on, its
    first unit, the lowest).
    """
    line_up_units(run, clock)
    best, best_place, sooner = ready, 0, math.inf
    for place in range(0, run.total - units + 1, units):
        time = max(ready, block_free_from(run, clock, place, units))
        if time < sooner:
            best, best_place = time, place
            sooner = time - tolerance(run, time)
    return best, best_place


def advance(run: Tables, clock: Clock, decide: GrantFunction, instants: int) -> bool:
    """Step at most that many instants; False when nothing is left to happen."""
    for _ in range(instants):
        if run.record and clock.num_spans > run.span_room:
            return True
        arrival = run.arrivals[clock.arrived]
        instant = min(next_time(run, clock), arrival)
        if instant == math.inf:
            return False
        open_instant(run, clock, instant)
        end_due(run, clock)
        if run.kill:
            kill_overdue(run, clock)
        if arrival <= clock.now:
            take_arrivals(run, clock)
        if clock.queue_changed:
            look(run, clock)
        if clock.writes_changed:
            set_write_rates(run, clock)
        if clock.changed:
            clock.changed = 0
            clock.decisions += 1
            apply_decision(run, clock, decide)
    return True


def open_instant(run: Tables, clock: Clock, instant: Number) -> None:
    """It is *instant*, or the last arrival that is one instant with it:
    these are exact inputs.
    """
    until = instant + tolerance(run, instant)
    k = clock.arrived
    while run.arrivals[k] <= until:
        instant = max(instant, run.arrivals[k])
        k += 1
    clock.now, clock.until = instant, instant + tolerance(run, instant)
    clock.events += 1


def end_due(run: Tables, clock: Clock) -> None:
    """End the requests, writes and computes that are due, until none of
    what follows is due too.
    """
    slack = 0.0
    clock.more = 1
    while clock.more:
        clock.more = 0
        if run.shared:
            set_clock(run, clock)
            slack = clock.rho * (clock.until - clock.now)
        for k in range(collect(run, clock, slack)):
            job = run.jobs[run.due[k]]
            if job.status == TRANSFERRING:
                finish(run, clock, job)
            elif job.status == WRITING:
                end_write(run, clock, job)
            else:
                go_on(run, clock, job)
            if run.event and clock.queue_changed:
                look(run, clock)


def kill_overdue(run: Tables, clock: Clock) -> None:
    """Kill the jobs whose walltime is over."""
    for k in range(overdue(run, clock)):
        job = run.jobs[run.due[k]]
        if job.status != ENDED:
            kill(run, clock, job)
            if run.event:
                look(run, clock)


def take_arrivals(run: Tables, clock: Clock) -> None:
    """Put the jobs of this instant into the queue; in open loop, start them."""
    while run.arrivals[clock.arrived] <= clock.now:
        job = run.jobs[run.arrival_jobs[int(clock.arrived)]]
        clock.arrived += 1
        clock.queue_changed = 1
        if run.closed:
            arrive(run, clock, job)
            if run.event:
                look(run, clock)
        else:
            start(run, clock, job)


def look(run: Tables, clock: Clock) -> None:
    """A pass over the queue, which what ends within it does not call for
    again (rules 1 and 36).
    """
    if run.closed:
        run_queue(run, clock)
    clock.queue_changed = 0
