"""Writes to the burst buffer and the streams between it and the storage: rules 40 to 45.

A job that has bytes in the buffer writes its phases there; its stream, at most one request at a
time, stages in, drains what was written, and stages out.

One text for plain Python and for numba: see :mod:`ioopt.sim.batch_io.state`.
"""

from __future__ import annotations

import math

from ioopt.decisions.batch_io import Number
from ioopt.sim.batch_io.buffer import (
    AHEAD,
    NONE,
    NOT_STAGED,
    STAGED,
    STAGING_IN,
    STAGING_OUT,
    STARTED,
    add,
    drop,
)
from ioopt.sim.batch_io.plain import close_stream, forget, open_stream
from ioopt.sim.batch_io.queue_lists import line_up_all, vacate
from ioopt.sim.batch_io.state import (
    ENDED,
    STAGING,
    TRANSFERRING,
    WAITING,
    WRITING,
    ActiveRequest,
    Moment,
    World,
)
from ioopt.sim.batch_io.storage import change, issue, leave, settle


def issue_write(w: World, m: Moment, r: ActiveRequest, place: int) -> None:
    """*r* writes its phase at *place* (rule 40)."""
    r.status, r.place = WRITING, place
    r.volume = r.base = w.volume[place]
    r.requested = r.anchor = w.asked[place] = m.now
    r.rate = r.granted = 0
    r.due = math.inf
    m.num_writing = add(w.buffer.writing, m.num_writing, r.job)
    m.writes_changed = 1


def drop_write(w: World, m: Moment, r: ActiveRequest) -> None:
    """The write of *r* is over."""
    settle(w, m, r)
    r.rate = 0
    m.num_writing = drop(w.buffer.writing, m.num_writing, r.job)
    m.writes_changed = 1


def next_write(w: World, m: Moment) -> Number:
    """When the first write will be done."""
    time = math.inf
    for k in range(m.num_writing):
        due = w.jobs[w.buffer.writing[k]].due
        if due < time:
            time = due
    return time


def set_write_rates(w: World, m: Moment) -> None:
    """Active writes share the buffer's rate by nodes, none above its peak (rules 25 and 40)."""
    b, jobs = w.buffer, w.jobs
    m.writes_changed = active = nodes = 0
    total = b.rate * 0
    for k in range(m.num_writing):
        r = jobs[b.writing[k]]
        if r.volume + b.undrained[r.job] > b.size[r.job] * b.slack:
            continue
        total += r.peak
        nodes += r.nodes
        b.levels[active] = level = r.peak / r.nodes
        at = active
        while at > 0 and b.levels[at - 1] > level:
            b.levels[at], b.order[at] = b.levels[at - 1], b.order[at - 1]
            at -= 1
        b.levels[at], b.order[at] = level, r.job
        active += 1
    left, crowded = b.rate, not b.alone and total > b.rate
    for k in range(active):
        r = jobs[b.order[k]]
        rate = r.peak
        if crowded:
            rate = min(rate, r.nodes * left / nodes)
            left -= rate
            nodes -= r.nodes
        if r.rate != rate:
            change(w, m, r, rate)


def finish_write(w: World, m: Moment, r: ActiveRequest) -> None:
    """The write of *r* is done; it waits to be drained."""
    drop_write(w, m, r)
    b = w.buffer
    w.finish[r.place] = m.now
    b.written[r.job] = r.place + 1
    b.undrained[r.job] += r.volume
    next_stream(w, m, r)


def open_buffer(w: World, m: Moment, r: ActiveRequest) -> bool:
    """*r*, which starts, holds its bytes from now on; whether it need not wait for its stage-in."""
    b, job = w.buffer, r.job
    if b.held[job] == AHEAD:
        m.num_ahead = drop(b.ahead, m.num_ahead, job)
        m.held_ahead = hold(m.held_ahead, -b.size[job], m.num_ahead)
    elif b.early and w.closed:
        make_room(w, m, r)
    b.held[job] = STARTED
    m.holders += 1
    m.held += b.size[job]
    if b.load_in[job] == 0 or b.stage[job] == STAGED:
        return True
    if b.stage[job] == NOT_STAGED:
        stage_in(w, m, r)
    r.status = STAGING
    return False


def hold(held: Number, more: Number, holders: int) -> Number:
    """Bytes held after a change; exactly none where nobody holds any."""
    return held + more if holders else held * 0


def stage_in(w: World, m: Moment, r: ActiveRequest) -> None:
    """Issue the stage-in of *r*, whose first phase is yet to come."""
    b = w.buffer
    b.stage[r.job] = STAGING_IN
    stream(w, m, r.job, b.phases + r.place + 2 * r.job, b.load_in[r.job])


def stream(w: World, m: Moment, job: int, place: int, volume: Number) -> None:
    """Issue a stream of *job*."""
    s = w.jobs[job + w.buffer.jobs]
    w.volume[place] = volume
    s.start = m.now
    s.ideal_so_far = 0
    open_stream(w, m, s)
    issue(w, m, s, place)


def end_stream(w: World, m: Moment, s: ActiveRequest) -> None:
    """The stream *s* is done, or dropped."""
    leave(w, m, s)
    close_stream(w, m, s)
    s.status = WAITING
    s.base = s.volume = s.rate = s.rate * 0


def next_stream(w: World, m: Moment, r: ActiveRequest) -> None:
    """Issue what *r* has to stream next, or release its bytes (rule 41)."""
    b, job = w.buffer, r.job
    if w.jobs[job + b.jobs].status == TRANSFERRING:
        return
    place = b.drained[job]
    while place < b.written[job]:
        b.drained[job] = place + 1
        if w.volume[place] > 0:
            stream(w, m, job, b.phases + place + 2 * job + 1, w.volume[place])
            return
        place += 1
    if r.status != ENDED:
        return
    if b.load_out[job] > 0 and not r.killed and b.stage[job] != STAGING_OUT:
        b.stage[job] = STAGING_OUT
        stream(w, m, job, b.phases + r.last_place + 2 * job + 1, b.load_out[job])
        return
    release(w, m, r)


def finish_drain(w: World, m: Moment, s: ActiveRequest) -> None:
    """A drain or stage-out *s* is done."""
    b, job = w.buffer, s.job - w.buffer.jobs
    w.finish[s.place] = m.now
    volume = s.volume
    end_stream(w, m, s)
    if b.stage[job] != STAGING_OUT:
        left = b.undrained[job] - volume
        b.undrained[job] = left if b.drained[job] < b.written[job] else left * 0
        m.writes_changed = 1
    next_stream(w, m, w.jobs[job])


def release(w: World, m: Moment, r: ActiveRequest) -> None:
    """*r* gives back its bytes, and the nodes that it held for them."""
    b = w.buffer
    b.released[r.job] = m.now
    b.held[r.job] = NONE
    m.holders -= 1
    m.held = hold(m.held, -b.size[r.job], m.holders)
    m.num_tails = drop(b.tails, m.num_tails, r.job)
    m.queue_changed = m.freed = 1
    if b.keeps and w.closed:
        vacate(w, m, r)


def end_buffered(w: World, m: Moment, r: ActiveRequest) -> None:
    """*r* has ended: its nodes may be free, its bytes once all of them are through."""
    b = w.buffer
    m.num_tails = add(b.tails, m.num_tails, r.job)
    if not b.keeps and w.closed:
        vacate(w, m, r)
    next_stream(w, m, r)


def abandon(w: World, m: Moment, r: ActiveRequest) -> None:
    """*r* is killed while it stages in or writes: neither is finished (rule 43)."""
    if r.status == WRITING:
        drop_write(w, m, r)
    else:
        end_stream(w, m, w.jobs[r.job + w.buffer.jobs])


def make_room(w: World, m: Moment, r: ActiveRequest) -> None:
    """For *r*, which starts, waiting jobs lose their bytes, the last in the queue first (rule 45)."""
    b = w.buffer
    most = b.capacity * b.slack - b.size[r.job]
    if m.held + m.held_ahead <= most:
        return
    k = line_up_all(w, m)
    while m.held + m.held_ahead > most and k > 0:
        k -= 1
        job = w.line_all[k]
        if b.held[job] == AHEAD:
            b.held[job] = NONE
            m.num_ahead = drop(b.ahead, m.num_ahead, job)
            m.held_ahead = hold(m.held_ahead, -b.size[job], m.num_ahead)
            if b.stage[job] == STAGING_IN:
                end_stream(w, m, w.jobs[job + b.jobs])
            b.stage[job] = NOT_STAGED
            forget(w, b.phases + w.jobs[job].place + 2 * job)


def stage_ahead(w: World, m: Moment) -> None:
    """At the end of a pass waiting jobs take their bytes and stage in, in the queue's order (rule 45)."""
    b = w.buffer
    for k in range(line_up_all(w, m)):
        r = w.jobs[w.line_all[k]]
        if b.load_in[r.job] == 0 or b.held[r.job]:
            continue
        if m.held + m.held_ahead + b.size[r.job] > b.capacity * b.slack:
            return
        b.held[r.job] = AHEAD
        m.num_ahead = add(b.ahead, m.num_ahead, r.job)
        m.held_ahead += b.size[r.job]
        stage_in(w, m, r)
