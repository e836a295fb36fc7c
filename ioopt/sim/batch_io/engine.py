"""Advance the batch I/O simulator from instant to instant, and run its batch queue.

Rules 1, 2, 9, 19 and 20 apply. The engine keeps the time and enforces feasibility; the
policy decides which jobs transfer. The cost of an instant depends on the numbers of
outstanding requests and of waiting jobs, not on the length of the trace.
"""

import math

from ioopt.decisions.batch_io import GrantFunction, KernelView
from ioopt.decisions.ordering import Number
from ioopt.sim.batch_io.agenda import collect, next_time, overdue
from ioopt.sim.batch_io.boxes import tolerance
from ioopt.sim.batch_io.jobs import finish, go_on, kill, start
from ioopt.sim.batch_io.plans import boxed_pass
from ioopt.sim.batch_io.state import ENDED, TRANSFERRING, Clock, Job, System
from ioopt.sim.batch_io.storage import apply_decision, set_clock
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


def run_queue(run: System, clock: Clock) -> None:
    """Make a pass over the queue; repeat it while a pass starts a job that ends at once
    (rule 1).
    """
    again = True
    while again and clock.waiting and (clock.free or run.rules.keeps):
        if run.rules.boxed:
            again = boxed_pass(run, clock)
        else:
            again = batch_pass(run, clock)


def batch_pass(run: System, clock: Clock) -> bool:
    """Make one pass over the batch queue without boxes (rules 19 and 20).

    Return whether a job that the pass started ended at once.
    """
    least = smallest(run, clock)
    if find_place(run, clock, least, 0, 0) < 0:
        return False
    line_up(run, clock)
    again = False
    turn = 0
    while turn < clock.lined_up and clock.free >= least:
        job = run.jobs[run.line[turn]]
        place = find_place(run, clock, job.units, 0, 0)
        if place < 0:
            if run.rules.easy:
                again = backfill(run, clock, turn, least) or again
            break
        again = begin(run, clock, job, place) or again
        turn += 1
    close_pass(run, clock)
    return again


def begin(run: System, clock: Clock, job: Job, place: int) -> bool:
    """Start *job* in the units from *place* on; return whether the job ended at
    once.
    """
    occupy(run, clock, job, place)
    start(run, clock, job)
    return job.status == ENDED


def backfill(run: System, clock: Clock, turn: int, least: int) -> bool:
    """Start jobs that wait behind position *turn* of the queue and do not delay the
    reservation of the job there (rule 20).

    Return whether one of the started jobs ended at once. *least* is the number of units
    of the smallest waiting job. The reservation is computed only when the first
    candidate needs it. A candidate is *short* if it is predicted to end before the
    reserved time. If no place was found for a candidate, larger candidates are not
    tried; short and other candidates are treated separately. This is safe because
    aligned blocks nest.
    """
    head = run.jobs[run.line[turn]]
    now = clock.now
    again = False
    reserved = False
    until = now
    extra = 0  # units left beside the reservation of a flat machine
    avoid = 0  # first unit of the reserved block, and its length in units
    length = 0
    no_short = run.rules.total + 1
    no_long = run.rules.total + 1
    if run.rules.short_behind:
        line_up_rest(run, clock, turn + 1)
    while turn + 1 < clock.lined_up and clock.free >= least:
        turn += 1
        job = run.jobs[run.line[turn]]
        units = job.units
        if units > clock.free:
            continue
        if not reserved:
            reserved = True
            if run.rules.partition:
                until, avoid = reserve_block(run, clock, head.units)
                length = head.units
            else:
                until, extra = reserve_flat(run, clock, head.units)
            until += tolerance(run, until)
        short = now + job.length <= until
        if units >= (no_short if short else no_long):
            continue
        if short:
            place = find_place(run, clock, units, 0, 0)
        else:
            place = find_place_beside(run, clock, units, avoid, length, extra)
        if place < 0:
            if short:
                no_short = units
            else:
                no_long = units
            continue
        again = begin(run, clock, job, place) or again
        if not short:
            extra -= units
    return again


def find_place_beside(
    run: System, clock: Clock, units: int, avoid: int, length: int, extra: int
) -> int:
    """Return the first unit for a job that may run beside a reservation for ever; -1 if
    there is no place.

    The reservation is the block of *length* units from *avoid* on or, on a flat
    machine, leaves *extra* units.
    """
    if run.rules.partition:
        return find_place(run, clock, units, avoid, length)
    return 0 if units <= extra else -1


def reserve_flat(run: System, clock: Clock, units: int) -> tuple[Number, int]:
    """Reserve *units* of a flat machine at the earliest time at which they are
    predicted to be free.

    Return that time in seconds and the number of further units that are free then.
    """
    free = clock.free
    time = clock.now
    for turn in range(line_up_ends(run, clock)):
        end, j = next_end(run, turn)
        if free >= units and end > time + tolerance(run, time):
            break
        if free < units and end > time:
            time = end
        free += run.jobs[j].units
    return time, free - units


def reserve_block(run: System, clock: Clock, units: int) -> tuple[Number, int]:
    """Reserve a block of *units* at the earliest time at which such a block is
    predicted to be free.

    Return that time in seconds and the first unit of the block. Of blocks that are free
    equally early, take the lowest.
    """
    line_up_units(run, clock)
    best = clock.now
    best_place = 0
    sooner = math.inf
    for block in range(run.rules.total // units):
        place = block * units
        time = max(clock.now, block_free_from(run, clock, place, units))
        if time < sooner:
            best = time
            best_place = place
            sooner = time - tolerance(run, time)
    return best, best_place


def advance(run: System, clock: Clock, decide: GrantFunction, instants: int) -> bool:
    """Simulate at most *instants* instants; return whether the run is not finished
    yet.
    """
    for _ in range(instants):
        if run.rules.record and clock.num_spans > run.spans.room:
            return True
        arrival = run.arrivals[clock.arrived]
        instant = min(next_time(run, clock), arrival)
        if instant == math.inf:
            return False
        open_instant(run, clock, instant)
        end_due(run, clock)
        if run.rules.kill:
            kill_overdue(run, clock)
        if arrival <= clock.now:
            take_arrivals(run, clock)
        if clock.queue_changed:
            look(run, clock)
        if clock.changed:
            clock.changed = False
            clock.decisions += 1
            apply_decision(run, clock, decide)
    return True


def open_instant(run: System, clock: Clock, instant: Number) -> None:
    """Set the clock to *instant*, or to the last arrival that counts as the same time
    (rule 2).

    Arrival times are preferred because they are inputs without rounding.
    """
    until = instant + tolerance(run, instant)
    k = clock.arrived
    while run.arrivals[k] <= until:
        instant = max(instant, run.arrivals[k])
        k += 1
    clock.now = instant
    clock.until = instant + tolerance(run, instant)
    clock.events += 1


def end_due(run: System, clock: Clock) -> None:
    """End the requests and the compute phases that are due; if this makes others due,
    end these too.
    """
    slack = run.limits.zero
    clock.more = True
    while clock.more:
        clock.more = False
        if run.rules.shared:
            set_clock(run, clock)
            slack = clock.rho * (clock.until - clock.now)
        for k in range(collect(run, clock, slack)):
            job = run.jobs[run.agenda.due[k]]
            if job.status == TRANSFERRING:
                finish(run, clock, job)
            else:
                go_on(run, clock, job)
            if run.rules.event and clock.queue_changed:
                look(run, clock)


def kill_overdue(run: System, clock: Clock) -> None:
    """Kill the jobs that have reached their walltime."""
    for k in range(overdue(run, clock)):
        job = run.jobs[run.agenda.due[k]]
        if job.status != ENDED:
            kill(run, clock, job)
            if run.rules.event:
                look(run, clock)


def take_arrivals(run: System, clock: Clock) -> None:
    """Put the jobs that arrive now into the queue; in an open-loop run, start them."""
    while run.arrivals[clock.arrived] <= clock.now:
        job = run.jobs[run.arrival_jobs[clock.arrived]]
        clock.arrived += 1
        clock.queue_changed = True
        if run.rules.closed:
            arrive(run, clock, job)
            if run.rules.event:
                look(run, clock)
        else:
            start(run, clock, job)


def look(run: System, clock: Clock) -> None:
    """Make a pass over the queue, and record that no further pass is due (rules 1 and
    36).

    Jobs that end within the pass do not cause another one.
    """
    if run.rules.closed:
        run_queue(run, clock)
    clock.queue_changed = False


def never_asked(view: KernelView, rates: list[Number]) -> None:
    """Stand in for the grant function of a policy that always grants peak rates; it is
    never called.
    """
