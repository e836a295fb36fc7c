"""Run each job through its phases, one after the other (rules 1, 3 and 21)."""

from ioopt.sim.batch_io import state
from ioopt.sim.batch_io.agenda import leave_slot, take_slot
from ioopt.sim.batch_io.state import Clock, Job, System
from ioopt.sim.batch_io.storage import issue, leave, use
from ioopt.sim.batch_io.waiting import vacate


def start(run: System, clock: Clock, job: Job) -> None:
    """Start *job* now with its first phase."""
    job.start = clock.now
    run.requests[job.number].start = clock.now
    take_slot(run, clock.num_running, job)
    clock.num_running += 1
    begin_phase(run, clock, job, job.place)


def begin_phase(run: System, clock: Clock, job: Job, place: int) -> None:
    """Begin the next compute or request of *job*, searching from phase *place* on.

    Phases that neither compute nor move bytes are skipped (rule 3). If no phase is
    left, end the job.
    """
    last = job.last_place
    while place < last:
        seconds = run.compute[place]
        if seconds > 0:
            run.requests[job.number].compute_so_far += seconds
            job.began = clock.now
            job.place = place
            job.status = state.COMPUTING
            end = clock.now + seconds
            if end <= clock.until:
                clock.more = True
            job.due = end
            run.agenda.times[job.slot] = end
            return
        if run.volume[place] > 0:
            issue(run, clock, job, place)
            return
        place += 1
    end_job(run, clock, job)


def go_on(run: System, clock: Clock, job: Job) -> None:
    """Continue *job* after the compute part of its phase: issue the request of the
    phase, if it has one.
    """
    place = job.place
    use(run, clock, job.began, clock.now, job.nodes)
    if run.volume[place] > 0:
        issue(run, clock, job, place)
    else:
        begin_phase(run, clock, job, place + 1)


def finish(run: System, clock: Clock, job: Job) -> None:
    """Continue *job* with its next phase after its request has finished."""
    leave(run, clock, job)
    run.finish[job.place] = clock.now
    run.requests[job.number].ideal_so_far += job.volume / job.peak
    begin_phase(run, clock, job, job.place + 1)


def kill(run: System, clock: Clock, job: Job) -> None:
    """End *job* at its walltime (rule 21)."""
    if job.status == state.TRANSFERRING:
        leave(run, clock, job)
    else:
        use(run, clock, job.began, clock.now, job.nodes)
    job.killed = True
    end_job(run, clock, job)


def end_job(run: System, clock: Clock, job: Job) -> None:
    """End *job*: remove it from the running jobs and free its units."""
    job.end = clock.now
    job.status = state.ENDED
    clock.ended += 1
    clock.queue_changed = True
    clock.freed = True
    clock.num_running -= 1
    leave_slot(run, job, clock.num_running)
    if run.rules.closed:
        vacate(run, clock, job)
