"""The engine of the batch I/O simulator: from instant to instant (rules 1, 2 and 9).

It owns time and feasibility, the policy decides who transfers. The cost of an instant depends on what
is outstanding and waiting then, not on the length of the trace.

One text for plain Python and for numba: see :mod:`ioopt.sim.batch_io.state`.
"""

import math
from math import ulp

from ioopt.decisions.batch_io import GrantFunction
from ioopt.decisions.ordering import TIME_TOLERANCE_SECONDS, TIME_TOLERANCE_ULPS
from ioopt.sim.batch_io.agenda import collect, next_target, next_time, overdue
from ioopt.sim.batch_io.jobs import end_write, finish, go_on, kill, start
from ioopt.sim.batch_io.queue import run_queue
from ioopt.sim.batch_io.state import ENDED, TRANSFERRING, WRITING, Clock
from ioopt.sim.batch_io.storage import apply_decision, set_clock
from ioopt.sim.batch_io.streams import next_write, set_write_rates
from ioopt.sim.batch_io.tables import Tables
from ioopt.sim.batch_io.waiting import arrive


def advance(run: Tables, clock: Clock, decide: GrantFunction, instants: int) -> bool:
    """Step at most that many instants; False when nothing is left to happen."""
    exact, shared, arrivals, jobs = run.limits.exact, run.shared, run.arrivals, run.jobs
    kills, event, record, due, buffered = run.kill, run.event, run.record, run.due, run.buffered
    slack = 0.0
    for _ in range(instants):
        if record and clock.num_spans > run.span_room:
            return True
        instant = next_time(run, clock)
        if shared and clock.rho > 0:
            # Hot: compared, as min() would be slower.
            reached = clock.since + (next_target(run, clock) - clock.turned) / clock.rho
            if reached < instant:
                instant = reached
        if buffered:
            instant = min(instant, next_write(run, clock))
        arrival = arrivals[clock.arrived]
        if arrival < instant:
            instant = arrival
        if instant == math.inf:
            return False
        # Hot: the tolerance of rule 2 is written out instead of called.
        until = instant
        if not exact:
            until = instant + (TIME_TOLERANCE_SECONDS + TIME_TOLERANCE_ULPS * ulp(instant))
        if arrival <= until:
            # Arrivals are exact inputs: the last that is one instant with it sets the time.
            k = clock.arrived
            while arrivals[k] <= until:
                instant = max(instant, arrivals[k])
                k += 1
            until = instant
            if not exact:
                until = instant + (TIME_TOLERANCE_SECONDS + TIME_TOLERANCE_ULPS * ulp(instant))
        clock.now, clock.until = instant, until
        clock.events += 1
        while True:
            clock.more = 0
            if shared:
                set_clock(run, clock)
                slack = clock.rho * (until - instant)
            for k in range(collect(run, clock, slack)):
                job = jobs[due[k]]
                if job.status == TRANSFERRING:
                    finish(run, clock, job)
                elif job.status == WRITING:
                    end_write(run, clock, job)
                else:
                    go_on(run, clock, job)
                if event and clock.queue_changed:
                    look(run, clock)
            if not clock.more:
                break
        if kills:
            for k in range(overdue(run, clock)):
                job = jobs[due[k]]
                if job.status != ENDED:
                    kill(run, clock, job)
                    if event:
                        look(run, clock)
        if arrival <= instant:
            take_arrivals(run, clock)
        if clock.queue_changed:
            look(run, clock)
        if buffered and clock.writes_changed:
            set_write_rates(run, clock)
        if clock.changed:
            clock.changed = 0
            clock.decisions += 1
            apply_decision(run, clock, decide)
    return True


def take_arrivals(run: Tables, clock: Clock) -> None:
    """Put the jobs of this instant into the queue; in open loop, start them."""
    while run.arrivals[clock.arrived] <= clock.now:
        job = run.jobs[run.arrival_jobs[clock.arrived]]
        clock.arrived += 1
        clock.queue_changed = 1
        if run.closed:
            arrive(run, clock, job)
            if run.event:
                look(run, clock)
        else:
            start(run, clock, job)


def look(run: Tables, clock: Clock) -> None:
    """A pass over the queue, which what ends within it does not call for again (rules 1 and 36)."""
    if run.closed:
        run_queue(run, clock)
    clock.queue_changed = 0
