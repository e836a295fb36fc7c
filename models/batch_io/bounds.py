"""Bound what any I/O policy can reach (ours): mean response, I/O delay, granted
bandwidth.
"""

import math
from collections.abc import Mapping

import numpy as np

from ioopt.arrays import Floats
from ioopt.models.batch_io.prices import Chain, Step, delay_bound
from ioopt.models.fluid_bound import SHAVED, Work, least_response, total_of
from ioopt.options import Deadline
from ioopt.problems.base import JobId
from ioopt.problems.batch_io import (
    BatchIoPlan,
    BatchIoProblem,
    IoRequestsProblem,
    Job,
)
from ioopt.problems.batch_jobs import BatchJobs, jobs_of

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
    jobs = jobs_of(problem)
    kill = problem.options.kill
    count = len(jobs)
    width = jobs.allocated_nodes(machine)
    head, seconds, tail, volume = _totals(jobs, plan.ef)
    moving = volume / jobs.peak(machine)
    least = seconds + moving
    submit = jobs.submit
    waits = 0.0
    if starts is not None:
        submit = np.array([starts[name] for name in jobs.ids], float)
        waits = total_of(submit - jobs.submit)
    if kill:
        least = np.minimum(least, jobs.walltime)
    alone = total_of(least)
    weight = np.ones(count)
    rounding = count * math.ulp(float((submit + head).max(initial=0.0)))
    nodes = Work(submit, least * width / machine.nodes, least, weight)
    bounds = [alone + delay * count, least_response(nodes)]
    if plan.policy != REFERENCE and not kill:
        amount = volume / float(machine.storage_bytes_per_second)
        storage = Work(submit + head, amount, moving, weight)
        # Seconds of computing before the first byte and after the last one.
        around = total_of(head + tail)
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


def _totals(jobs: BatchJobs, ef: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return (head, seconds, tail, bytes) of each job, whose bytes are multiplied by
    *ef*.

    *seconds* is all computing of the job; *head* is the part before its first byte,
    *tail* the part after its last byte.
    """
    count = len(jobs)
    phase = np.arange(len(jobs.seconds))
    owner = np.repeat(np.arange(count), jobs.steps)
    computing = jobs.seconds * jobs.repeat
    moved = jobs.volume * ef
    busy = np.flatnonzero(moved > 0)
    # Jobs without bytes have no first and no last phase with I/O.
    first = np.full(count, len(phase))
    last = np.full(count, len(phase))
    first[owner[busy[::-1]]] = busy[::-1]
    last[owner[busy]] = busy
    begins = first[owner]

    def per_job(values: Floats) -> Floats:
        return np.asarray(np.bincount(owner, values, count), float)

    head = per_job(np.where(phase <= begins, computing, 0.0))
    # The first of repeated phases begins to send when the others still have to compute.
    some = np.flatnonzero(first < len(phase))
    opening = first[some]
    head[some] -= jobs.seconds[opening] * (jobs.repeat[opening] - 1)
    after = np.where(phase > last[owner], computing, 0.0)
    return (
        head,
        per_job(computing),
        per_job(after),
        per_job(moved * jobs.repeat),
    )


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
