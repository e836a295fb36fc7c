"""Bounds of what an I/O policy can reach: mean response, I/O delay, the bytes of
one decision (ours).
"""

import math
from collections.abc import Mapping
from typing import Any

from ioopt.models.batch_io.prices import Chain, Step, delay_bound
from ioopt.models.fluid_bound import SHAVED, Work, least_response
from ioopt.options import Deadline
from ioopt.problems.batch_io import (
    BatchIoPlan,
    BatchIoProblem,
    IoRequestsProblem,
    Job,
)

REFERENCE = "no-congestion"
"""The policy that may exceed the storage's bandwidth."""
ROUNDS, WORK = 40, 8_000_000
"""Rounds of ascent for a bound of the I/O delay, and levels looked at in all: a
fraction of a second.
"""

Starts = Mapping[Any, float]
"""When each job starts, by its id: given in open loop."""


def mean_response_bound(
    problem: BatchIoProblem,
    plan: BatchIoPlan,
    starts: Starts | None = None,
    delay: float = 0.0,
) -> float | None:
    """Return the largest of three lower bounds of the mean response, in seconds.

    None without jobs. *Alone*: each job computes and does its I/O at the peak rate
    (rule 5), or runs to its walltime where it may be killed. *Nodes* and *storage*:
    :func:`ioopt.models.fluid_bound.least_response` of the nodes held and of the bytes
    moved (docs/batch-io.md, Bounds); *storage* holds neither for the reference nor for
    jobs that may be killed. With given *starts* jobs wait until then, and the mean
    *delay*, a bound of :func:`delay_bounds`, is added to *alone*.
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
    around = 0.0  # seconds of computing before the first byte and after the last one
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
    metrics: Mapping[str, Any],
    deadline: Deadline | None = None,
) -> dict[str, float]:
    """Bounds of the mean and of the node-weighted I/O delay for given *starts*;
    *metrics* of some plan.

    0 for the reference, for jobs that may be killed, and where the trace is too long
    for a quick ascent or the *deadline* has passed.
    """
    found = {}
    for name, by_nodes in (
        ("io_delay_seconds", False),
        ("node_weighted_io_delay", True),
    ):
        chains = chains_of(problem, plan.ef, starts, by_nodes)
        free = plan.policy == REFERENCE or problem.options.kill
        weight = sum(chain.weight for chain in chains)
        total = sum(_weight(problem, job, by_nodes) for job in problem.jobs)
        known = float(metrics[name] or 0.0) * total
        least = (
            0.0
            if free or not weight
            else delay_bound(chains, known, ROUNDS, WORK, deadline)
        )
        found[name.replace("_seconds", "") + "_bound"] = least / total if total else 0.0
    return found


def chains_of(
    problem: BatchIoProblem, ef: float, starts: Starts, by_nodes: bool = False
) -> list[Chain]:
    """Return the jobs that use the storage as chains of requests from *starts* on."""
    storage = float(problem.machine.storage_bytes_per_second)
    chains = []
    for job in problem.jobs:
        share = _peak(problem, job) / storage
        steps: list[Step] = []
        begin, gap = starts[job.id], 0.0
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
    return float(problem.machine.allocated_nodes(job.nodes)) if by_nodes else 1.0


def _peak(problem: BatchIoProblem, job: Job) -> float:
    machine = problem.machine
    return float(
        machine.peak(machine.allocated_nodes(job.nodes), job.io_bytes_per_second)
    )


def _totals(job: Job, ef: float) -> tuple[float, float, float, float]:
    """Seconds of computing before, in all, and after the storage's first and
    last byte; its bytes.
    """
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
