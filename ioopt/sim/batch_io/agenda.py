"""The jobs that run, by slot, and when something is due of them.

What is due next is found by reading the times of all running jobs in one piece, which
at the sizes of real machines is cheaper than a heap. Times and targets stand by the
``slot`` of a job in ``running``.
"""

import math

from ioopt.decisions.ordering import Number, least
from ioopt.sim.batch_io.state import COMPUTING, Clock, Job, Tables


def next_time(run: Tables, clock: Clock) -> Number:
    """The earliest time of those set or targeted, or at which a walltime is
    over; infinity: none.
    """
    time = least(run.times, 0, clock.num_running)
    if clock.num_streams:
        time = min(time, least(run.times, run.buffer.jobs, clock.num_streams))
    if run.shared and clock.rho > 0:
        target = least(run.targets, 0, clock.num_running)
        time = min(time, clock.since + (target - clock.turned) / clock.rho)
    if run.kill:
        for k in range(clock.num_running):
            job = run.jobs[run.running[k]]
            time = min(time, job.start + job.walltime)
    return time


def collect(run: Tables, clock: Clock, slack: Number) -> int:
    """Put the jobs that are due into ``due``: requests by job id, then
    computes by time; how many.
    """
    times, targets, until, found = run.times, run.targets, clock.until, 0
    for k in range(clock.num_running):
        if times[k] <= until or (run.shared and targets[k] - clock.turned <= slack):
            put_due(run, found, run.running[k])
            times[k] = targets[k] = math.inf
            found += 1
    first = run.buffer.jobs
    for k in range(first, first + clock.num_streams):
        if times[k] <= until:
            put_due(run, found, run.running[k])
            times[k] = math.inf
            found += 1
    return found


def put_due(run: Tables, count: int, j: int) -> None:
    """Put job *j* among the *count* jobs of ``due``."""
    while count > 0 and comes_before(run.jobs[j], run.jobs[run.due[count - 1]]):
        run.due[count] = run.due[count - 1]
        count -= 1
    run.due[count] = j


def comes_before(one: Job, other: Job) -> bool:
    """Whether *one* has its turn before *other*, which is due at the same instant."""
    if one.status != other.status:
        return one.status > other.status
    if one.status == COMPUTING and one.due != other.due:
        return one.due < other.due
    return one.id < other.id


def overdue(run: Tables, clock: Clock) -> int:
    """Put the jobs whose walltime is over into ``due``, by time; how many."""
    found = 0
    for k in range(clock.num_running):
        job = run.jobs[run.running[k]]
        end = job.start + job.walltime
        if end <= clock.until:
            at = found
            while at > 0:
                other = run.jobs[run.due[at - 1]]
                time = other.start + other.walltime
                if time < end or (time == end and other.id < job.id):
                    break
                run.due[at] = run.due[at - 1]
                at -= 1
            run.due[at] = job.job
            found += 1
    return found


def take_slot(run: Tables, slot: int, job: Job) -> None:
    """*job*, or a stream of one, takes *slot*."""
    job.slot = slot
    run.running[slot] = job.job


def leave_slot(run: Tables, job: Job, last: int) -> None:
    """*job* is over; what stands in the slot *last* takes its slot."""
    slot = int(job.slot)
    run.running[slot] = run.running[last]
    run.jobs[run.running[slot]].slot = slot
    run.times[slot], run.targets[slot] = run.times[last], run.targets[last]
    run.times[last] = run.targets[last] = math.inf
