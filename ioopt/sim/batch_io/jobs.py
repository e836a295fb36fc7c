"""What a running job does: its phases one after the other (rules 1, 3 and 21).

One text for plain Python and for numba: see :mod:`ioopt.sim.batch_io.state`.
"""

from ioopt.sim.batch_io.buffer import STAGED, STAGING_IN
from ioopt.sim.batch_io.plain import enter_machine, leave_machine, set_compute
from ioopt.sim.batch_io.queue_lists import vacate
from ioopt.sim.batch_io.state import (
    COMPUTING,
    ENDED,
    STAGING,
    TRANSFERRING,
    WRITING,
    ActiveRequest,
    Moment,
    World,
)
from ioopt.sim.batch_io.storage import issue, leave, use
from ioopt.sim.batch_io.streams import (
    abandon,
    end_buffered,
    end_stream,
    finish_drain,
    finish_write,
    issue_write,
    open_buffer,
)


def start(w: World, m: Moment, r: ActiveRequest) -> None:
    """Start *r* now."""
    r.start = m.now
    enter_machine(w, m, r)
    if not w.buffered or not has_buffer(w, r) or open_buffer(w, m, r):
        begin_phase(w, m, r, r.place)


def has_buffer(w: World, r: ActiveRequest) -> bool:
    """Whether *r* writes to the burst buffer (rule 38)."""
    return bool(w.buffer.size[r.job] > 0)


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
            if w.buffered:
                ask_for(w, m, r, place)
            else:
                issue(w, m, r, place)
            return
        place += 1
    end_job(w, m, r)


def ask_for(w: World, m: Moment, r: ActiveRequest, place: int) -> None:
    """The I/O of the phase at *place*: a write to the burst buffer (rule 40), or a request."""
    if has_buffer(w, r):
        issue_write(w, m, r, place)
    else:
        issue(w, m, r, place)


def go_on(w: World, m: Moment, r: ActiveRequest) -> None:
    """The compute of a phase ended."""
    place = r.place
    use(w, m, r.began, m.now, r.nodes)
    if w.volume[place] > 0:
        if w.buffered:
            ask_for(w, m, r, place)
        else:
            issue(w, m, r, place)
    else:
        begin_phase(w, m, r, place + 1)


def finish(w: World, m: Moment, r: ActiveRequest) -> None:
    """The request of *r* is done."""
    if w.buffered and r.job >= w.buffer.jobs:
        finish_stream(w, m, r)
        return
    leave(w, m, r)
    w.finish[r.place] = m.now
    r.ideal_so_far += r.volume / r.peak
    begin_phase(w, m, r, r.place + 1)


def end_write(w: World, m: Moment, r: ActiveRequest) -> None:
    """The write of *r* is done."""
    finish_write(w, m, r)
    begin_phase(w, m, r, r.place + 1)


def finish_stream(w: World, m: Moment, s: ActiveRequest) -> None:
    """The stream *s* is done; after its stage-in a job that has its nodes begins (rule 45)."""
    b = w.buffer
    job = s.job - b.jobs
    if b.stage[job] != STAGING_IN:
        finish_drain(w, m, s)
        return
    w.finish[s.place] = m.now
    end_stream(w, m, s)
    b.stage[job] = STAGED
    r = w.jobs[job]
    if r.status == STAGING:
        begin_phase(w, m, r, r.place)


def kill(w: World, m: Moment, r: ActiveRequest) -> None:
    """The walltime of *r* is over (rule 21)."""
    if r.status == TRANSFERRING:
        leave(w, m, r)
    elif r.status == STAGING or r.status == WRITING:
        abandon(w, m, r)
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
    if w.buffered:
        w.buffer.released[r.job] = m.now
        if has_buffer(w, r):
            end_buffered(w, m, r)
            return
    if w.closed:
        vacate(w, m, r)
