"""What a running job does: its phases one after the other (rules 1, 3 and 21).

One text for plain Python and for numba: see :mod:`ioopt.sim.batch_io.state`.
"""

from ioopt.sim.batch_io.plain import enter_machine, leave_machine, set_compute
from ioopt.sim.batch_io.queue_lists import vacate
from ioopt.sim.batch_io.state import COMPUTING, ENDED, TRANSFERRING, ActiveRequest, Moment, World
from ioopt.sim.batch_io.storage import issue, leave, use


def start(w: World, m: Moment, r: ActiveRequest) -> None:
    """Start *r* now."""
    r.start = m.now
    enter_machine(w, m, r)
    begin_phase(w, m, r, r.place)


def begin_phase(w: World, m: Moment, r: ActiveRequest, place: int) -> None:
    """Go to the next compute or request of *r*, from *place* on, or end it (rule 3)."""
    last = r.last_place
    while place < last:
        seconds = w.compute[place]
        if seconds > 0:
            r.compute_so_far += seconds
            r.began = m.now
            r.place = place
            r.status = COMPUTING
            end = m.now + seconds
            if end <= m.until:
                m.more = 1
            set_compute(w, m, r, end)
            return
        if w.volume[place] > 0:
            issue(w, m, r, place)
            return
        place += 1
    end_job(w, m, r)


def go_on(w: World, m: Moment, r: ActiveRequest) -> None:
    """The compute of a phase ended."""
    place = r.place
    use(w, m, r.began, m.now, r.nodes)
    if w.volume[place] > 0:
        issue(w, m, r, place)
    else:
        begin_phase(w, m, r, place + 1)


def finish(w: World, m: Moment, r: ActiveRequest) -> None:
    """The request of *r* is done."""
    leave(w, m, r)
    w.finish[r.place] = m.now
    r.ideal_so_far += r.volume / r.peak
    begin_phase(w, m, r, r.place + 1)


def kill(w: World, m: Moment, r: ActiveRequest) -> None:
    """The walltime of *r* is over (rule 21)."""
    if r.status == TRANSFERRING:
        leave(w, m, r)
    else:
        use(w, m, r.began, m.now, r.nodes)
    r.killed = 1
    end_job(w, m, r)


def end_job(w: World, m: Moment, r: ActiveRequest) -> None:
    """*r* leaves the machine."""
    r.end = m.now
    r.status = ENDED
    m.ended += 1
    m.queue_changed = m.freed = 1
    leave_machine(w, m, r)
    if w.closed:
        vacate(w, m, r)
