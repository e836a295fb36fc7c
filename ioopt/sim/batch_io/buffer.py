"""The burst buffer of a run: what jobs hold of it and keep in it
(rules 38, 42, 44 and 49).

Job j of n has a second record, ``jobs[n + j]``: its stream, the request by which the
buffer moves bytes of j to or from the storage (rule 41). Streams have places of their
own behind those of all phases: stage-in, a drain a phase, stage-out.
"""

from __future__ import annotations

from ioopt.compiled import Box
from ioopt.decisions.ordering import Number
from ioopt.sim.batch_io.state import ENDED, Clock, Job, Tables

NONE, AHEAD, STARTED = 0, 1, 2
"""A job holds no bytes, some while it waits (rule 45), or some since its start."""
NOT_STAGED, STAGING_IN, STAGED, STAGING_OUT = 0, 1, 2, 3


def has_room(run: Tables, clock: Clock, j: int) -> bool:
    """Whether the buffer has the bytes of job *j* beside those of started
    ones (rules 44 and 45).
    """
    buffer = run.buffer
    return (
        not buffer.shared
        or clock.held + buffer.size[j] <= buffer.capacity * buffer.slack
    )


def units_held(run: Tables, job: Job) -> int:
    """Units that *job* holds until it ends or, where ended jobs keep their nodes,
    is released (rule 44).
    """
    if run.buffered and job.status == ENDED and not run.buffer.keeps:
        return 0
    return int(job.units)


def release_time(run: Tables, clock: Clock, j: int) -> Number:
    """When job *j*, which has ended, is predicted to release its bytes (rule 44)."""
    buffer, stream = run.buffer, run.jobs[j + run.buffer.jobs]
    left = stream.base
    if stream.rate > 0:
        left = max(
            stream.base - stream.rate * (clock.now - stream.anchor), stream.base * 0
        )
    if buffer.stage[j] != STAGING_OUT:
        left += buffer.undrained[j] - stream.volume
        if not run.jobs[j].killed:
            left += buffer.load_out[j]
    return clock.now + left / stream.peak


def limit_streams(run: Tables, count: int) -> None:
    """Rates of the first *count* of ``out``: streams together have
    D at most (rule 42).
    """
    buffer, rates, total = run.buffer, run.rates, run.limits.storage * 0
    for k in range(count):
        if run.out[k] >= buffer.jobs:
            total += rates[k]
    if total > buffer.drain:
        part = buffer.drain / total
        for k in range(count):
            if run.out[k] >= buffer.jobs:
                rates[k] *= part


def date_streams(run: Tables, clock: Clock) -> None:
    """Bring what the aggregate slowdown of streams is told to now: it is their
    instant one (rule 42).
    """
    for k in range(clock.outstanding):
        stream = run.jobs[run.out[k]]
        if stream.job >= run.buffer.jobs:
            stream.ideal_so_far = stream.moved / stream.peak


def add(jobs: Box, count: int, j: int) -> int:
    """Put job *j* behind the *count* of *jobs*; how many there are."""
    jobs[count] = j
    return count + 1


def drop(jobs: Box, count: int, j: int) -> int:
    """Take job *j* out of the *count* of *jobs*, whose order
    stays; how many are left.
    """
    kept = 0
    for k in range(count):
        if jobs[k] != j:
            jobs[kept] = jobs[k]
            kept += 1
    return kept
