"""Bounds of what an I/O policy can reach: the mean response of a trace, the bytes of one decision (ours)."""

import math

from ioopt.models.fluid_bound import SHAVED, Work, least_response
from ioopt.problems.batch_io import BatchIoPlan, BatchIoProblem, IoRequestsProblem, Job

REFERENCE = "no-congestion"
"""The policy that may exceed the storage's bandwidth."""


def mean_response_bound(problem: BatchIoProblem, plan: BatchIoPlan) -> float | None:
    """The largest of three lower bounds of the mean response, in seconds; None without jobs.

    ``alone``: computing and I/O at the peak rate (rule 5), or the walltime. ``nodes`` and ``storage``:
    :func:`ioopt.models.fluid_bound.least_response` of the nodes held and of the bytes moved (not for
    the reference, nor for jobs that may be killed); docs/batch-io.md, Bounds.
    """
    if not problem.jobs:
        return None
    machine, count = problem.machine, len(problem.jobs)
    nodes, storage, around, latest, alone = [], [], 0.0, 0.0, 0.0
    for job in problem.jobs:
        width = machine.allocated_nodes(job.nodes)
        peak = float(machine.peak(width, job.io_bytes_per_second))
        head, seconds, tail, volume = _totals(job, plan.ef)
        moving = volume / peak if volume else 0.0
        least, submit = seconds + moving, float(job.submit_seconds)
        if problem.options.kill:
            least = min(least, float(job.walltime_seconds))
        alone += least
        latest = max(latest, submit + head)
        nodes.append(Work(submit, least * width / machine.nodes, least, 1.0))
        bandwidth = float(machine.storage_bytes_per_second)
        storage.append(Work(submit + head, volume / bandwidth, moving, 1.0))
        around += head + tail
    bounds = [alone, least_response(nodes)]
    if plan.policy != REFERENCE and not problem.options.kill:
        bounds.append(least_response(storage) + around - count * math.ulp(latest))
    return max(bounds) * SHAVED / count


def _totals(job: Job, ef: float) -> tuple[float, float, float, float]:
    """Seconds of computing before the first byte (or all), in all, after the last byte; and the bytes."""
    head = tail = seconds = volume = 0.0
    for phase in job.phases:
        compute, moved = float(phase.compute_seconds), float(phase.io_bytes) * ef
        seconds += compute * phase.repeat
        if moved > 0:
            if volume == 0.0:
                head = seconds - compute * (phase.repeat - 1)
            tail = 0.0
        else:
            tail += compute * phase.repeat
        volume += moved * phase.repeat
    return (head, seconds, tail, volume) if volume else (seconds, seconds, 0.0, 0.0)


def most_granted(problem: IoRequestsProblem, policy: str) -> float | None:
    """The storage's rate, or the peak rates of all that ask; None for the reference."""
    if policy == REFERENCE:
        return None
    machine = problem.machine
    peaks = (
        machine.peak(machine.allocated_nodes(item.nodes), item.io_bytes_per_second)
        for item in problem.requests
    )
    return float(min(machine.storage_bytes_per_second, sum(peaks)))
