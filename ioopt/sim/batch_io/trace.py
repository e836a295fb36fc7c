"""The trace both engines run (phases expanded, in the arithmetic of the run)
and what a run returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from ioopt.decisions.batch_io import Limits
from ioopt.decisions.ordering import Number
from ioopt.errors import UsageError
from ioopt.problems.batch_io import (
    BatchIoProblem,
    BurstBuffer,
    Job,
    Machine,
    QueueOptions,
)


class Buffered(NamedTuple):
    """Jobs with a burst buffer, in the order of a trace: bytes, and the
    peak rates of rule 39.

    ``iteration`` is the w_iter of each job's streams (rule 42).
    """

    size: Sequence[Number]
    load_in: Sequence[Number]
    load_out: Sequence[Number]
    stream: Sequence[Number]
    iteration: Sequence[Number]


def write_peak(
    buffer: BurstBuffer, limits: Limits, nodes: int, own: float | None
) -> Number:
    """r_w of an allocation of *nodes* whose job has its *own*
    peak or none (rule 39).
    """
    rate = limits.number(buffer.bytes_per_second)
    if buffer.placement == "per-node":
        rate = rate * nodes
    rate = min(limits.node_rate * nodes, rate)
    return rate if own is None else min(rate, limits.number(own))


def stream_peak(buffer: BurstBuffer, limits: Limits, nodes: int) -> Number:
    """r_s of rule 39."""
    rate = limits.number(buffer.drain_bytes_per_second)
    if buffer.placement == "per-node":
        rate = rate * nodes
    return min(rate, limits.storage)


def buffered_jobs(
    jobs: Sequence[Job],
    buffer: BurstBuffer,
    limits: Limits,
    nodes: Sequence[int],
    totals: Any,
) -> Buffered:
    """What *jobs* on so many *nodes* ask; *totals* has (sum of c, sum
    of v, phases) of each.
    """
    number = limits.number
    size = [number(job.buffer_bytes) for job in jobs]
    load_in = [number(job.stage_in_bytes) for job in jobs]
    load_out = [number(job.stage_out_bytes) for job in jobs]
    peaks = [stream_peak(buffer, limits, count) for count in nodes]
    iteration = [
        (seconds + (first + volume + last) / peak) / phases
        for (seconds, volume, phases), first, last, peak in zip(
            totals, load_in, load_out, peaks
        )
    ]
    return Buffered(size, load_in, load_out, peaks, iteration)


@dataclass(frozen=True)
class Trace:
    """Jobs in the order (submit, id), which is how ties of the batch
    queue end (rule 19).

    ``position`` leads back to the problem's jobs; ``rank`` is the place of a job's id
    among all ids (rule 10). The phases of job j are ``offset[j]`` to ``offset[j + 1]``
    of ``compute`` (seconds) and ``volume`` (bytes, EF applied); ``pieces`` are all
    phases in a row as (seconds, bytes, how often). ``units`` and ``allocated`` are the
    allocation. ``licences``, where a site counts them, are those that each job holds
    while it runs, and how many there are: what-if runs set them, no instance has them,
    and machines with a burst buffer or partitions take none.
    """

    machine: Machine
    options: QueueOptions
    limits: Limits
    ids: Sequence[Any]
    position: Sequence[int]
    rank: Sequence[int]
    submit: Sequence[Number]
    walltime: Sequence[Number]
    nodes: Sequence[int]
    units: Sequence[int]
    allocated: Sequence[int]
    peak: Sequence[Number]
    offset: Sequence[int]
    pieces: Sequence[tuple[Number, Number, int]]
    buffered: Buffered | None = None
    licences: tuple[Sequence[int], int] | None = None

    @classmethod
    def of(
        cls, problem: BatchIoProblem, ef: float = 1.0, use_exact: bool = False
    ) -> Trace:
        """Expand *problem*; *ef* multiplies every volume (rule 23)."""
        machine = problem.machine
        limits = Limits.of(machine, use_exact)
        number, factor = limits.number if use_exact else float, limits.number(ef)
        ids = [job.id for job in problem.jobs]
        submits = [number(job.submit_seconds) for job in problem.jobs]
        by_rank = sorted(range(len(ids)), key=ids.__getitem__)
        rank_of = sorted(range(len(ids)), key=by_rank.__getitem__)
        position = sorted(by_rank, key=submits.__getitem__)
        jobs = [problem.jobs[k] for k in position]
        pieces = [
            (
                number(phase.compute_seconds),
                number(phase.io_bytes) * factor,
                phase.repeat,
            )
            for job in jobs
            for phase in job.phases
        ]
        offset = [0, *accumulate(job.num_phases for job in jobs)]
        buffered = None
        nodes = [job.nodes for job in jobs]
        allocation = {size: machine.allocated_nodes(size) for size in set(nodes)}
        peaks = {size: limits.peak(size) for size in set(allocation.values())}
        allocated = [allocation[size] for size in nodes]
        whole = [peaks[size] for size in allocated]
        own = [job.io_bytes_per_second for job in jobs]
        peak = [
            most if p is None else min(most, number(p)) for most, p in zip(whole, own)
        ]
        if buffer := machine.burst_buffer:
            totals = [_totals(job, number, factor) for job in jobs]
            buffered = buffered_jobs(jobs, buffer, limits, allocated, totals)
            for j, job in enumerate(jobs):
                if job.buffer_bytes:
                    peak[j] = write_peak(buffer, limits, allocated[j], own[j])
        limits = limits._replace(own_peaks=peak != whole or buffered is not None)
        return cls(
            machine=machine,
            options=problem.options,
            limits=limits,
            ids=[ids[k] for k in position],
            position=position,
            rank=[rank_of[k] for k in position],
            submit=[submits[k] for k in position],
            walltime=[number(job.walltime_seconds) for job in jobs],
            nodes=nodes,
            units=[size // machine.unit_nodes for size in allocated],
            allocated=allocated,
            peak=peak,
            offset=offset,
            pieces=pieces,
            buffered=buffered,
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def num_phases(self) -> int:
        """Phases of all jobs."""
        return self.offset[-1]

    def most_at_once(self, closed: bool) -> tuple[int, int]:
        """Requests, and units of them, at most at once; the open
        loop counts no nodes.
        """
        jobs, units = len(self), sum(self.units)
        if not closed:
            return jobs, units
        machine = self.machine
        most, most_units = machine.units, machine.units
        early = self.stages_early
        if self.buffered and (early or not self.keeps_nodes):
            assert machine.burst_buffer
            least = min(
                filter(None, self.buffered.size), default=machine.burst_buffer.bytes
            )
            holders = int(machine.burst_buffer.bytes / least) + 1
            most += holders
            most_units += holders * max(self.units, default=0)
        return min(jobs, most), min(units, most_units)

    def most_states(self, closed: bool) -> int:
        """States of the table of rule 26 at most: units by how
        many jobs are looked at.
        """
        jobs, units = self.most_at_once(closed)
        return (jobs + 2) * (units + 1)

    @property
    def num_places(self) -> int:
        """Places of phases and of streams (:mod:`ioopt.sim.batch_io.buffer`)."""
        return 2 * (self.num_phases + len(self)) if self.buffered else self.num_phases

    @property
    def keeps_nodes(self) -> bool:
        """Whether nodes are held until the burst buffer is released (rule 44)."""
        return self.options.keeps_nodes(self.machine.burst_buffer)

    @property
    def stages_early(self) -> bool:
        """Whether jobs stage in while they wait (rule 45)."""
        return self.options.stages_early(self.machine.burst_buffer)

    @cached_property
    def compute(self) -> list[Number]:
        """Compute seconds of every phase."""
        return [seconds for seconds, _, repeat in self.pieces for _ in range(repeat)]

    @cached_property
    def volume(self) -> list[Number]:
        """Bytes of every phase."""
        return [volume for _, volume, repeat in self.pieces for _ in range(repeat)]

    @cached_property
    def ideal(self) -> list[Number]:
        """Uncongested runtime of each job on its allocation: sum of c
        and v / r (rule 22).
        """
        zero = self.limits.number(0)
        sums = []
        for j, peak in enumerate(self.peak):
            phases = slice(self.offset[j], self.offset[j + 1])
            sums.append(
                sum(self.compute[phases], zero) + sum(self.volume[phases], zero) / peak
            )
        if self.buffered and not self.stages_early:  # rule 48
            loads = zip(self.buffered.load_in, self.buffered.stream)
            sums = [total + load / peak for total, (load, peak) in zip(sums, loads)]
        return sums

    @cached_property
    def iteration(self) -> list[Number]:
        """w_iter of rule 16: the mean over a job's phases of compute plus
        uncongested I/O seconds.
        """
        return [
            total / (self.offset[j + 1] - self.offset[j])
            for j, total in enumerate(self.ideal)
        ]

    @property
    def length(self) -> Sequence[Number]:
        """How long each job is taken to run while it waits (rule 35)."""
        return self.ideal if self.options.estimate == "uncongested" else self.walltime

    @cached_property
    def window(self) -> tuple[Number, Number]:
        """Where utilisation is measured: from 10 % of the submit span to the
        last submit (rule 22).
        """
        if not self.ids:
            return self.limits.number(0), self.limits.number(0)
        first, last = self.submit[0], self.submit[-1]
        return first + (last - first) / 10, last


def _totals(job: Job, number: Any, factor: Number) -> tuple[Number, Number, int]:
    """Seconds of computing, bytes and phases of *job*; raises UsageError where EF
    outgrows its buffer.
    """
    volumes = [number(phase.io_bytes) * factor for phase in job.phases]
    if job.buffer_bytes and max(volumes) > number(job.buffer_bytes):
        text = (
            f"phases of {float(max(volumes)):g} bytes exceed buffer_bytes "
            f"{job.buffer_bytes:g}"
        )
        raise UsageError(f"job {job.id!r}: with ef={float(factor):g} {text}")
    seconds = sum(number(phase.compute_seconds) * phase.repeat for phase in job.phases)
    volume = sum(v * phase.repeat for v, phase in zip(volumes, job.phases))
    return seconds, volume, job.num_phases


Spans = Any
"""Rows of (place of a phase, from, until, bytes per second): a list, or an
array in runs of floats.
"""


def known(value: Number) -> bool:
    """Whether a time of a run was ever set."""
    return bool(value == value)


@dataclass
class Run:
    """What an engine found; jobs in the order of the trace, requests by their
    phase's place in it.

    ``block`` is the first unit of the partition (-1: flat), ``units`` are the numbers
    of a job's units where a flat machine has numbered ones (rule 32). ``request``,
    ``grant`` and ``finish`` are NaN where there was none. ``rates`` holds (phase place,
    from, until, bytes per second) of every span at a constant rate above 0, in no fixed
    order, or is None when it was not recorded. ``useful`` is uncongested work done in
    the window of rule 22, in node-seconds.
    """

    start: list[Number]
    end: list[Number]
    killed: list[int]
    block: list[int]
    request: list[Number]
    grant: list[Number]
    finish: list[Number]
    units: list[Sequence[int]] | None = None
    released: list[Number] = field(default_factory=list)
    useful: Number = 0
    rates: Spans | None = None
    events: int = 0
    decisions: int = 0
