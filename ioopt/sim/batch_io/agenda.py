"""Keep the running jobs in slots, each with the time of its next event.

The next event is found by a scan over the times of all running jobs, which are in one
array. At the sizes of real machines a scan is faster than a heap. ``running[slot]`` is
the job in a slot; ``times[slot]`` and ``targets[slot]`` belong to that job.
"""

import math

from ioopt.decisions.ordering import Number, least
from ioopt.sim.batch_io.state import COMPUTING, Clock, Job, Tables


def next_time(run: Tables, clock: Clock) -> Number:
    """Return the time in seconds of the next event of a running job; infinity if no job
    runs.

    An event is the end of a compute phase or of a request. With ``kill`` the end of a
    walltime is an event too.
    """
    time = least(run.times, 0, clock.num_running)
    if run.shared and clock.rho > 0:
        target = least(run.targets, 0, clock.num_running)
        time = min(time, clock.since + (target - clock.turned) / clock.rho)
    if run.kill:
        for k in range(clock.num_running):
            job = run.jobs[run.running[k]]
            time = min(time, job.start + job.walltime)
    return time


def collect(run: Tables, clock: Clock, slack: Number) -> int:
    """Put the jobs whose next event is due into ``due``; return their number.

    Ends of requests come first, in order of job id. Ends of compute phases follow, in
    order of time.
    """
    times = run.times
    targets = run.targets
    until = clock.until
    found = 0
    for k in range(clock.num_running):
        if times[k] <= until or (run.shared and targets[k] - clock.turned <= slack):
            put_due(run, found, run.running[k])
            times[k] = targets[k] = math.inf
            found += 1
    return found


def put_due(run: Tables, count: int, j: int) -> None:
    """Insert job *j* into the sorted list ``due``, which holds *count* jobs."""
    while count > 0 and comes_before(run.jobs[j], run.jobs[run.due[count - 1]]):
        run.due[count] = run.due[count - 1]
        count -= 1
    run.due[count] = j


def comes_before(one: Job, other: Job) -> bool:
    """Return whether the event of job *one* comes before that of *other* at the same
    instant (rule 1).
    """
    if one.status != other.status:
        return one.status > other.status
    if one.status == COMPUTING and one.due != other.due:
        return one.due < other.due
    return one.id < other.id


def overdue(run: Tables, clock: Clock) -> int:
    """Put the jobs that have reached their walltime into ``due``, in order of that
    time; return their number.
    """
    found = 0
    for k in range(clock.num_running):
        job = run.jobs[run.running[k]]
        end = job.start + job.walltime
        if end <= clock.until:
            at = found
            while at > 0:
                other = run.jobs[run.due[at - 1]]
                time = other.start + other.walltime
                if time < end:
                    break
                if time == end and other.id < job.id:
                    break
                run.due[at] = run.due[at - 1]
                at -= 1
            run.due[at] = job.job
            found += 1
    return found


def take_slot(run: Tables, slot: int, job: Job) -> None:
    """Put *job* into the slot number *slot* of the running jobs."""
    job.slot = slot
    run.running[slot] = job.job


def leave_slot(run: Tables, job: Job, last: int) -> None:
    """Remove *job* from its slot, and move the job in slot *last* into the freed
    slot.
    """
    slot = int(job.slot)
    run.running[slot] = run.running[last]
    run.jobs[run.running[slot]].slot = slot
    run.times[slot] = run.times[last]
    run.targets[slot] = run.targets[last]
    run.times[last] = math.inf
    run.targets[last] = math.inf
