"""Writes to the burst buffer and the streams between it and the
storage: rules 40 to 45.

A job that has bytes in the buffer writes its phases there; its stream, at most one
request at a time, stages in, drains what was written, and stages out.
"""

from __future__ import annotations

from ioopt.decisions.batch_io import place_by_level, share_out
from ioopt.decisions.ordering import Number
from ioopt.sim.batch_io import state
from ioopt.sim.batch_io.agenda import leave_slot, take_slot
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
from ioopt.sim.batch_io.state import Clock, Job, Tables
from ioopt.sim.batch_io.storage import change, forget, issue, leave, settle, view_of
from ioopt.sim.batch_io.waiting import line_up_all, vacate


def issue_write(run: Tables, clock: Clock, job: Job, place: int) -> None:
    """*job* writes its phase at *place* (rule 40)."""
    job.status, job.place = state.WRITING, place
    job.volume = job.base = run.volume[place]
    job.requested = job.anchor = run.asked[place] = clock.now
    job.rate = job.granted = 0
    clock.num_writing = add(run.buffer.writing, clock.num_writing, job.job)
    clock.writes_changed = 1


def drop_write(run: Tables, clock: Clock, job: Job) -> None:
    """The write of *job* is over."""
    settle(run, clock, job)
    job.rate = 0
    clock.num_writing = drop(run.buffer.writing, clock.num_writing, job.job)
    clock.writes_changed = 1


def set_write_rates(run: Tables, clock: Clock) -> None:
    """Active writes share the buffer's rate by nodes, none above its
    peak (rules 25 and 40).
    """
    buffer, jobs = run.buffer, run.jobs
    clock.writes_changed = active = 0
    total = buffer.rate * 0
    for k in range(clock.num_writing):
        job = jobs[buffer.writing[k]]
        if (
            job.volume + buffer.undrained[job.job]
            <= buffer.size[job.job] * buffer.slack
        ):
            total += job.peak
            active = add(buffer.active, active, job.job)
    view = view_of(run, clock, buffer.active, active)
    for k in range(active):
        place_by_level(view, k, k, jobs[buffer.active[k]].nodes)
    share_out(view, run.rates, active, buffer.rate)
    crowded = not buffer.alone and total > buffer.rate
    for q in range(active):
        k = view.order[q]
        job = jobs[buffer.active[k]]
        rate = run.rates[k] if crowded else job.peak
        if job.rate != rate:
            change(run, clock, job, rate)


def finish_write(run: Tables, clock: Clock, job: Job) -> None:
    """The write of *job* is done; it waits to be drained."""
    drop_write(run, clock, job)
    buffer = run.buffer
    run.finish[job.place] = clock.now
    buffer.written[job.job] = job.place + 1
    buffer.undrained[job.job] += job.volume
    next_stream(run, clock, job)


def open_buffer(run: Tables, clock: Clock, job: Job) -> bool:
    """*job*, which starts, holds its bytes from now on; whether it need not
    wait for its stage-in.
    """
    buffer, j = run.buffer, job.job
    if buffer.held[j] == AHEAD:
        clock.num_ahead = drop(buffer.ahead, clock.num_ahead, j)
        clock.held_ahead = hold(clock.held_ahead, -buffer.size[j], clock.num_ahead)
    elif buffer.early and run.closed:
        make_room(run, clock, job)
    buffer.held[j] = STARTED
    clock.holders += 1
    clock.held += buffer.size[j]
    if buffer.load_in[j] == 0 or buffer.stage[j] == STAGED:
        return True
    if buffer.stage[j] == NOT_STAGED:
        stage_in(run, clock, job)
    job.status = state.STAGING
    return False


def hold(held: Number, more: Number, holders: int) -> Number:
    """Bytes held after a change; exactly none where nobody holds any."""
    return held + more if holders else held * 0


def stage_in(run: Tables, clock: Clock, job: Job) -> None:
    """Issue the stage-in of *job*, whose first phase is yet to come."""
    buffer = run.buffer
    buffer.stage[job.job] = STAGING_IN
    issue_stream(
        run,
        clock,
        job.job,
        buffer.phases + job.place + 2 * job.job,
        buffer.load_in[job.job],
    )


def issue_stream(run: Tables, clock: Clock, j: int, place: int, volume: Number) -> None:
    """Issue a stream of job *j*."""
    stream = run.jobs[j + run.buffer.jobs]
    run.volume[place] = volume
    stream.start = clock.now
    stream.ideal_so_far = 0
    take_slot(run, run.buffer.jobs + clock.num_streams, stream)
    clock.num_streams += 1
    issue(run, clock, stream, place)


def end_stream(run: Tables, clock: Clock, stream: Job) -> None:
    """The stream *stream* is done, or dropped."""
    leave(run, clock, stream)
    clock.num_streams -= 1
    leave_slot(run, stream, run.buffer.jobs + clock.num_streams)
    stream.status = state.WAITING
    stream.base = stream.volume = stream.rate = stream.rate * 0


def next_stream(run: Tables, clock: Clock, job: Job) -> None:
    """Issue what *job* has to stream next, or release its bytes (rule 41)."""
    buffer, j = run.buffer, job.job
    if run.jobs[j + buffer.jobs].status == state.TRANSFERRING:
        return
    place = buffer.drained[j]
    while place < buffer.written[j]:
        buffer.drained[j] = place + 1
        if run.volume[place] > 0:
            issue_stream(
                run, clock, j, buffer.phases + place + 2 * j + 1, run.volume[place]
            )
            return
        place += 1
    if job.status != state.ENDED:
        return
    if buffer.load_out[j] > 0 and not job.killed and buffer.stage[j] != STAGING_OUT:
        buffer.stage[j] = STAGING_OUT
        issue_stream(
            run,
            clock,
            j,
            buffer.phases + job.last_place + 2 * j + 1,
            buffer.load_out[j],
        )
        return
    release(run, clock, job)


def finish_drain(run: Tables, clock: Clock, stream: Job) -> None:
    """A drain or stage-out *stream* is done."""
    buffer, j = run.buffer, stream.job - run.buffer.jobs
    run.finish[stream.place] = clock.now
    volume = stream.volume
    end_stream(run, clock, stream)
    if buffer.stage[j] != STAGING_OUT:
        left = buffer.undrained[j] - volume
        buffer.undrained[j] = (
            left if buffer.drained[j] < buffer.written[j] else left * 0
        )
        clock.writes_changed = 1
    next_stream(run, clock, run.jobs[j])


def release(run: Tables, clock: Clock, job: Job) -> None:
    """*job* gives back its bytes, and the nodes that it held for them."""
    buffer = run.buffer
    buffer.released[job.job] = clock.now
    buffer.held[job.job] = NONE
    clock.holders -= 1
    clock.held = hold(clock.held, -buffer.size[job.job], clock.holders)
    clock.num_tails = drop(buffer.tails, clock.num_tails, job.job)
    clock.queue_changed = clock.freed = 1
    if buffer.keeps and run.closed:
        vacate(run, clock, job)


def end_buffered(run: Tables, clock: Clock, job: Job) -> None:
    """*job* has ended: its nodes may be free, its bytes once all
    of them are through.
    """
    buffer = run.buffer
    clock.num_tails = add(buffer.tails, clock.num_tails, job.job)
    if not buffer.keeps and run.closed:
        vacate(run, clock, job)
    next_stream(run, clock, job)


def abandon(run: Tables, clock: Clock, job: Job) -> None:
    """*job* is killed while it stages in or writes: neither is finished (rule 43)."""
    if job.status == state.WRITING:
        drop_write(run, clock, job)
    else:
        end_stream(run, clock, run.jobs[job.job + run.buffer.jobs])


def make_room(run: Tables, clock: Clock, job: Job) -> None:
    """For *job*, which starts, waiting jobs lose their bytes, the last in the
    queue first (rule 45).
    """
    buffer = run.buffer
    most = buffer.capacity * buffer.slack - buffer.size[job.job]
    if clock.held + clock.held_ahead <= most:
        return
    k = line_up_all(run, clock)
    while clock.held + clock.held_ahead > most and k > 0:
        k -= 1
        j = run.line_all[k]
        if buffer.held[j] == AHEAD:
            buffer.held[j] = NONE
            clock.num_ahead = drop(buffer.ahead, clock.num_ahead, j)
            clock.held_ahead = hold(clock.held_ahead, -buffer.size[j], clock.num_ahead)
            if buffer.stage[j] == STAGING_IN:
                end_stream(run, clock, run.jobs[j + buffer.jobs])
            buffer.stage[j] = NOT_STAGED
            forget(run, buffer.phases + run.jobs[j].place + 2 * j)


def stage_ahead(run: Tables, clock: Clock) -> None:
    """At the end of a pass waiting jobs take their bytes and stage in, in the
    queue's order (rule 45).
    """
    buffer = run.buffer
    for k in range(line_up_all(run, clock)):
        job = run.jobs[run.line_all[k]]
        if buffer.load_in[job.job] == 0 or buffer.held[job.job]:
            continue
        if (
            clock.held + clock.held_ahead + buffer.size[job.job]
            > buffer.capacity * buffer.slack
        ):
            return
        buffer.held[job.job] = AHEAD
        clock.num_ahead = add(buffer.ahead, clock.num_ahead, job.job)
        clock.held_ahead += buffer.size[job.job]
        stage_in(run, clock, job)
