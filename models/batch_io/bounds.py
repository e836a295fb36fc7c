"""Bound what any I/O policy can reach (ours): mean response, I/O delay, granted
bandwidth.
"""

import math
from collections.abc import Mapping

from ioopt.models.batch_io.prices import Chain, Step, delay_bound
from ioopt.models.fluid_bound import SHAVED, Work, least_response
from ioopt.options import Deadline
from ioopt.problems.base import JobId
from ioopt.problems.batch_io import (
    BatchIoPlan,
    BatchIoProblem,
    IoRequestsProblem,
    Job,
)

REFERENCE = "no-congestion"
"""The reference policy. It alone may exceed the storage's rate."""
ROUNDS = 40
"""Number of rounds in which the prices are adjusted to raise the bound of the I/O
delay.
"""
WORK = 8_000_000
"""Most levels of delay examined in all rounds together; they take a fraction of a
second.
"""

Starts = Mapping[JobId, float]
"""The start time of each job in seconds, keyed by job id, where it is given."""


def mean_response_bound(
    problem: BatchIoProblem,
    plan: BatchIoPlan,
    starts: Starts | None = None,
    delay: float = 0.0,
) -> float | None:
    """Return the largest of three lower bounds of the mean response, in seconds.

    Return None without jobs. The three bounds (docs/batch-io.md, Bounds):

    - *Alone*: each job computes, and does its I/O at its peak rate (rule 5). Where jobs
      may be killed, a job that would exceed its walltime ends there.
    - *Nodes*: :func:`ioopt.models.fluid_bound.least_response` of the node seconds.
    - *Storage*: the same function of the bytes moved. It is not used for the reference
      policy or where jobs may be killed.

    With given *starts* every job waits until its start. The mean *delay*, a bound of
    :func:`delay_bounds`, is then added to *alone*.
    """
    if not problem.jobs:
        return None
    machine = problem.machine
    kill = problem.options.kill
    count = len(problem.jobs)
    bandwidth = float(machine.storage_bytes_per_second)
    nodes = []
    storage = []
    alone = 0.0
    around = 0.0  # Seconds of computing before the first byte and after the last one.
    latest = 0.0
    waits = 0.0
    for job in problem.jobs:
        width = machine.allocated_nodes(job.nodes)
        peak = _peak(problem, job)
        head, seconds, tail, volume = _totals(job, plan.ef)
        moving = volume / peak if volume else 0.0
        least = seconds + moving
        submit = float(job.submit_seconds)
        if starts is not None:
            waits += starts[job.id] - submit
            submit = starts[job.id]
        if kill:
            least = min(least, float(job.walltime_seconds))
        alone += least
        latest = max(latest, submit + head)
        nodes.append(Work(submit, least * width / machine.nodes, least, 1.0))
        storage.append(Work(submit + head, volume / bandwidth, moving, 1.0))
        around += head + tail
    rounding = count * math.ulp(latest)
    bounds = [alone + delay * count, least_response(nodes)]
    if plan.policy != REFERENCE and not kill:
        bounds.append(least_response(storage) + around - rounding)
    if starts is not None:
        waits -= rounding
    return (max(bounds) + waits) * SHAVED / count


def delay_bounds(
    problem: BatchIoProblem,
    plan: BatchIoPlan,
    starts: Starts,
    metrics: Mapping[str, float | None],
    deadline: Deadline | None = None,
) -> dict[str, float]:
    """Return lower bounds of the mean and of the node-weighted I/O delay for given
    *starts*.

    *metrics* are those of any known plan; they set the precision. A bound is 0 for the
    reference policy, where jobs may be killed, where the trace is too long for a quick
    bound, and after the *deadline*.
    """
    found = {"io_delay_bound": 0.0, "node_weighted_io_delay_bound": 0.0}
    if plan.policy == REFERENCE or problem.options.kill:
        return found
    for measure, bound, by_nodes in (
        ("io_delay_seconds", "io_delay_bound", False),
        ("node_weighted_io_delay", "node_weighted_io_delay_bound", True),
    ):
        chains = chains_of(problem, plan.ef, starts, by_nodes)
        if chains:
            total = sum(_weight(problem, job, by_nodes) for job in problem.jobs)
            known = float(metrics[measure] or 0.0) * total
            least = delay_bound(chains, known, ROUNDS, WORK, deadline)
            found[bound] = least / total
    return found


def chains_of(
    problem: BatchIoProblem, ef: float, starts: Starts, by_nodes: bool = False
) -> list[Chain]:
    """Return, for each job with I/O, the chain of its requests after the job's start.

    *starts* are the start times of the jobs. *ef* multiplies the bytes. With *by_nodes*
    a chain's weight is its number of nodes; otherwise it is 1.
    """
    storage = float(problem.machine.storage_bytes_per_second)
    chains = []
    for job in problem.jobs:
        share = _peak(problem, job) / storage
        steps: list[Step] = []
        begin = starts[job.id]
        gap = 0.0  # computing since the last request
        for phase in job.phases:
            amount = float(phase.io_bytes) * ef / storage
            for _ in range(phase.repeat):
                gap += float(phase.compute_seconds)
                if amount > 0:
                    if steps:
                        steps[-1] = steps[-1]._replace(after=gap)
                    else:
                        begin += gap
                    steps.append(Step(amount, share))
                    gap = 0.0
        if steps:
            chains.append(Chain(begin, tuple(steps), _weight(problem, job, by_nodes)))
    return chains


def _weight(problem: BatchIoProblem, job: Job, by_nodes: bool) -> float:
    if by_nodes:
        return float(problem.machine.allocated_nodes(job.nodes))
    return 1.0


def _peak(problem: BatchIoProblem, job: Job) -> float:
    machine = problem.machine
    return float(
        machine.peak(machine.allocated_nodes(job.nodes), job.io_bytes_per_second)
    )


def _totals(job: Job, ef: float) -> tuple[float, float, float, float]:
    """Return (head, seconds, tail, bytes) of a job whose bytes are multiplied by *ef*.

    *seconds* is all computing of the job; *head* is the part before its first byte,
    *tail* the part after its last byte.
    """
    head = 0.0
    seconds = 0.0
    tail = 0.0
    volume = 0.0
    for phase in job.phases:
        compute = float(phase.compute_seconds)
        moved = float(phase.io_bytes) * ef
        seconds += compute * phase.repeat
        if moved > 0:
            if volume == 0.0:
                head = seconds - compute * (phase.repeat - 1)
            tail = 0.0
        else:
            tail += compute * phase.repeat
        volume += moved * phase.repeat
    if not volume:
        return seconds, seconds, 0.0, 0.0
    return head, seconds, tail, volume


def most_granted(problem: IoRequestsProblem, policy: str) -> float | None:
    """Return the most bandwidth that *policy* can grant at once, in bytes per second.

    It is the smaller of the storage's rate and the sum of all peak rates. Return None
    for the reference policy, which may exceed the storage's rate.
    """
    if policy == REFERENCE:
        return None
    machine = problem.machine
    peaks = (
        machine.peak(machine.allocated_nodes(item.nodes), item.io_bytes_per_second)
        for item in problem.requests
    )
    return float(min(machine.storage_bytes_per_second, sum(peaks)))
