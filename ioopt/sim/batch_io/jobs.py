"""What a running job does: its phases one after the other (rules 1, 3 and 21)."""

from ioopt.sim.batch_io import state
from ioopt.sim.batch_io.agenda import leave_slot, take_slot
from ioopt.sim.batch_io.buffer import STAGED, STAGING_IN
from ioopt.sim.batch_io.state import Clock, Job, Tables
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
from ioopt.sim.batch_io.waiting import vacate


def start(run: Tables, clock: Clock, job: Job) -> None:
    """Start *job* now."""
    job.start = clock.now
    take_slot(run, clock.num_running, job)
    clock.num_running += 1
    if not has_buffer(run, job) or open_buffer(run, clock, job):
        begin_phase(run, clock, job, job.place)


def has_buffer(run: Tables, job: Job) -> bool:
    """Whether *job* writes to the burst buffer (rule 38)."""
    return run.buffered and bool(run.buffer.size[job.job] > 0)


def begin_phase(run: Tables, clock: Clock, job: Job, place: int) -> None:
    """Go to the next compute or request of *job*, from *place*
    on, or end it (rule 3).
    """
    last = job.last_place
    while place < last:
        seconds = run.compute[place]
        if seconds > 0:
            job.compute_so_far += seconds
            job.began = clock.now
            job.place = place
            job.status = state.COMPUTING
            end = clock.now + seconds
            if end <= clock.until:
                clock.more = 1
            job.due = run.times[job.slot] = end
            return
        if run.volume[place] > 0:
            ask_for(run, clock, job, place)
            return
        place += 1
    end_job(run, clock, job)


def ask_for(run: Tables, clock: Clock, job: Job, place: int) -> None:
    """The I/O of the phase at *place*: a write to the burst buffer
    (rule 40), or a request.
    """
    if has_buffer(run, job):
        issue_write(run, clock, job, place)
    else:
        issue(run, clock, job, place)


def go_on(run: Tables, clock: Clock, job: Job) -> None:
    """The compute of a phase ended."""
    place = job.place
    use(run, clock, job.began, clock.now, job.nodes)
    if run.volume[place] > 0:
        ask_for(run, clock, job, place)
    else:
        begin_phase(run, clock, job, place + 1)


def finish(run: Tables, clock: Clock, job: Job) -> None:
    """The request of *job* is done."""
    if run.buffered and job.job >= run.buffer.jobs:
        finish_stream(run, clock, job)
        return
    leave(run, clock, job)
    run.finish[job.place] = clock.now
    job.ideal_so_far += job.volume / job.peak
    begin_phase(run, clock, job, job.place + 1)


def end_write(run: Tables, clock: Clock, job: Job) -> None:
    """The write of *job* is done."""
    finish_write(run, clock, job)
    begin_phase(run, clock, job, job.place + 1)


def finish_stream(run: Tables, clock: Clock, stream: Job) -> None:
    """The stream *stream* is done; after its stage-in a job that has its
    nodes begins (rule 45).
    """
    buffer = run.buffer
    j = stream.job - buffer.jobs
    if buffer.stage[j] != STAGING_IN:
        finish_drain(run, clock, stream)
        return
    run.finish[stream.place] = clock.now
    end_stream(run, clock, stream)
    buffer.stage[j] = STAGED
    job = run.jobs[j]
    if job.status == state.STAGING:
        begin_phase(run, clock, job, job.place)


def kill(run: Tables, clock: Clock, job: Job) -> None:
    """The walltime of *job* is over (rule 21)."""
    if job.status == state.TRANSFERRING:
        leave(run, clock, job)
    elif job.status == state.STAGING or job.status == state.WRITING:
        abandon(run, clock, job)
    else:
        use(run, clock, job.began, clock.now, job.nodes)
    job.killed = 1
    end_job(run, clock, job)


def end_job(run: Tables, clock: Clock, job: Job) -> None:
    """*job* leaves the machine."""
    job.end = clock.now
    job.status = state.ENDED
    clock.ended += 1
    clock.queue_changed = clock.freed = 1
    clock.num_running -= 1
    leave_slot(run, job, clock.num_running)
    if run.buffered:
        run.buffer.released[job.job] = clock.now
    if has_buffer(run, job):
        end_buffered(run, clock, job)
    elif run.closed:
        vacate(run, clock, job)
