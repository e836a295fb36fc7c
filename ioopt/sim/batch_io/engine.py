"""The engine of the batch I/O simulator: from instant to instant (rules 1, 2 and 9).

It owns time and feasibility, the policy decides who transfers. The cost of an instant depends on what
is outstanding and waiting then, not on the length of the trace.

One text for plain Python and for numba: see :mod:`ioopt.sim.batch_io.state`.
"""

import math
from math import ulp

from ioopt.decisions.batch_io import TIME_TOLERANCE_SECONDS, TIME_TOLERANCE_ULPS, DecideFunction
from ioopt.sim.batch_io.jobs import end_write, finish, go_on, kill, start
from ioopt.sim.batch_io.plain import collect, next_target, next_time, overdue
from ioopt.sim.batch_io.queue import run_queue
from ioopt.sim.batch_io.queue_lists import arrive
from ioopt.sim.batch_io.state import ENDED, TRANSFERRING, WRITING, Moment, World
from ioopt.sim.batch_io.storage import apply_decision, set_clock
from ioopt.sim.batch_io.streams import next_write, set_write_rates


def advance(w: World, m: Moment, decide: DecideFunction, instants: int) -> bool:
    """Step at most that many instants; False when nothing is left to happen."""
    exact, shared, arrivals, jobs = w.exact, w.shared, w.arrivals, w.jobs
    kills, event, record, due, buffered = w.kill, w.event, w.record, w.due, w.buffered
    slack = 0.0
    for _ in range(instants):
        if record and m.num_spans > w.span_room:
            return True
        instant = next_time(w, m)
        if shared and m.rho > 0:
            # Hot: compared, as min() would be slower.
            reached = m.since + (next_target(w, m) - m.clock) / m.rho
            if reached < instant:
                instant = reached
        if buffered:
            instant = min(instant, next_write(w, m))
        arrival = arrivals[m.arrived]
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
            k = m.arrived
            while arrivals[k] <= until:
                instant = max(instant, arrivals[k])
                k += 1
            until = instant
            if not exact:
                until = instant + (TIME_TOLERANCE_SECONDS + TIME_TOLERANCE_ULPS * ulp(instant))
        m.now, m.until = instant, until
        m.events += 1
        while True:
            m.more = 0
            if shared:
                set_clock(w, m)
                slack = m.rho * (until - instant)
            for k in range(collect(w, m, slack)):
                r = jobs[due[k]]
                if r.status == TRANSFERRING:
                    finish(w, m, r)
                elif r.status == WRITING:
                    end_write(w, m, r)
                else:
                    go_on(w, m, r)
                if event and m.queue_changed:
                    look(w, m)
            if not m.more:
                break
        if kills:
            for k in range(overdue(w, m)):
                r = jobs[due[k]]
                if r.status != ENDED:
                    kill(w, m, r)
                    if event:
                        look(w, m)
        if arrival <= instant:
            take_arrivals(w, m)
        if m.queue_changed:
            look(w, m)
        if buffered and m.writes_changed:
            set_write_rates(w, m)
        if m.changed:
            m.changed = 0
            m.decisions += 1
            apply_decision(w, m, decide)
    return True


def take_arrivals(w: World, m: Moment) -> None:
    """Put the jobs of this instant into the queue; in open loop, start them."""
    while w.arrivals[m.arrived] <= m.now:
        r = w.jobs[w.arrival_jobs[m.arrived]]
        m.arrived += 1
        m.queue_changed = 1
        if w.closed:
            arrive(w, m, r)
            if w.event:
                look(w, m)
        else:
            start(w, m, r)


def look(w: World, m: Moment) -> None:
    """A pass over the queue, which what ends within it does not call for again (rules 1 and 36)."""
    if w.closed:
        run_queue(w, m)
    m.queue_changed = 0
