"""Keep the running jobs in slots, each with the time of its next event.

The next event is found by a scan over the times of all running jobs, which are in one
list. At the sizes of real machines a scan is faster than a heap. ``running[slot]`` is
the job in a slot; ``times[slot]`` and ``targets[slot]`` belong to that job.
"""

import math

from ioopt.decisions.ordering import Number, least
from ioopt.sim.batch_io.state import COMPUTING, Clock, Job, System


def next_time(run: System, clock: Clock) -> Number:
    """Return the time in seconds of the next event of a running job; infinity if no job
    runs.

    An event is the end of a compute phase or of a request. With ``kill`` the end of a
    walltime is an event too.
    """
    agenda = run.agenda
    time = least(agenda.times, 0, clock.num_running)
    if clock.rho > 0:
        target = least(agenda.targets, 0, clock.num_running)
        time = min(time, clock.since + (target - clock.turned) / clock.rho)
    if run.rules.kill:
        for k in range(clock.num_running):
            job = run.jobs[agenda.running[k]]
            time = min(time, job.start + job.walltime)
    return time


def collect(run: System, clock: Clock, slack: Number) -> int:
    """Put the jobs whose next event is due into ``due``; return their number.

    Ends of requests come first, in order of job id. Ends of compute phases follow, in
    order of time.
    """
    times = run.agenda.times
    targets = run.agenda.targets
    until = clock.until
    turned = clock.turned
    shared = run.rules.shared
    found = 0
    for k in range(clock.num_running):
        if times[k] <= until or (shared and targets[k] - turned <= slack):
            put_due(run, found, run.agenda.running[k])
            times[k] = math.inf
            targets[k] = math.inf
            found += 1
    return found


def put_due(run: System, count: int, j: int) -> None:
    """Insert job *j* into the sorted list ``due``, which holds *count* jobs."""
    due = run.agenda.due
    while count > 0 and comes_before(run.jobs[j], run.jobs[due[count - 1]]):
        due[count] = due[count - 1]
        count -= 1
    due[count] = j


def comes_before(one: Job, other: Job) -> bool:
    """Return whether the event of job *one* comes before that of *other* at the same
    instant (rule 1).
    """
    if one.status != other.status:
        return one.status > other.status
    if one.status == COMPUTING and one.due != other.due:
        return one.due < other.due
    return one.id < other.id


def overdue(run: System, clock: Clock) -> int:
    """Put the jobs that have reached their walltime into ``due``, in order of that
    time; return their number.
    """
    due = run.agenda.due
    found = 0
    for k in range(clock.num_running):
        job = run.jobs[run.agenda.running[k]]
        end = job.start + job.walltime
        if end <= clock.until:
            at = found
            while at > 0:
                other = run.jobs[due[at - 1]]
                time = other.start + other.walltime
                if time < end:
                    break
                if time == end and other.id < job.id:
                    break
                due[at] = due[at - 1]
                at -= 1
            due[at] = job.number
            found += 1
    return found


def take_slot(run: System, slot: int, job: Job) -> None:
    """Put *job* into the slot number *slot* of the running jobs."""
    job.slot = slot
    run.agenda.running[slot] = job.number


def leave_slot(run: System, job: Job, last: int) -> None:
    """Remove *job* from its slot, and move the job in slot *last* into the freed
    slot.
    """
    agenda = run.agenda
    slot = job.slot
    moved = agenda.running[last]
    agenda.running[slot] = moved
    run.jobs[moved].slot = slot
    agenda.times[slot] = agenda.times[last]
    agenda.targets[slot] = agenda.targets[last]
    agenda.times[last] = math.inf
    agenda.targets[last] = math.inf
