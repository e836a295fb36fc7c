"""Define the trace that both engines run, and the result of a run.

Phases are expanded, and numbers are in the arithmetic of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from ioopt.decisions.batch_io import Limits
from ioopt.decisions.ordering import Number
from ioopt.problems.batch_io import BatchIoProblem, Job, Machine, QueueOptions

Piece = tuple[Number, Number, int]
"""Equal consecutive phases: compute seconds, bytes, and number of phases."""


@dataclass(frozen=True)
class Trace:
    """Store the jobs in the order (submit, id), which breaks ties in the queue (rule
    19).

    ``position`` holds the index of each job in the problem; ``rank`` the index of its
    id among all sorted ids (rule 10). The phases of job j are ``offset[j]`` to
    ``offset[j + 1]`` of ``compute`` (seconds) and ``volume`` (bytes, multiplied by the
    expansion factor). ``units`` and ``allocated`` are the allocation in units and in
    nodes, ``peak`` is the peak rate.
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
    pieces: Sequence[Piece]

    @classmethod
    def of(
        cls, problem: BatchIoProblem, ef: float = 1.0, use_exact: bool = False
    ) -> Trace:
        """Expand *problem*; *ef* multiplies every volume (rule 23)."""
        machine = problem.machine
        limits = Limits.of(machine, use_exact)
        number = limits.number if use_exact else float
        factor = limits.number(ef)
        ids = [job.id for job in problem.jobs]
        submits = [number(job.submit_seconds) for job in problem.jobs]
        by_rank = sorted(range(len(ids)), key=ids.__getitem__)
        rank_of = sorted(range(len(ids)), key=by_rank.__getitem__)
        position = sorted(by_rank, key=submits.__getitem__)
        jobs = [problem.jobs[k] for k in position]
        nodes = [job.nodes for job in jobs]
        allocation = {size: machine.allocated_nodes(size) for size in set(nodes)}
        allocated = [allocation[size] for size in nodes]
        peak = _peaks(jobs, allocated, limits)
        whole = {size: limits.peak(size) for size in set(allocated)}
        own_peaks = any(rate != whole[size] for rate, size in zip(peak, allocated))
        return cls(
            machine=machine,
            options=problem.options,
            limits=limits._replace(own_peaks=own_peaks),
            ids=[ids[k] for k in position],
            position=position,
            rank=[rank_of[k] for k in position],
            submit=[submits[k] for k in position],
            walltime=[number(job.walltime_seconds) for job in jobs],
            nodes=nodes,
            units=[size // machine.unit_nodes for size in allocated],
            allocated=allocated,
            peak=peak,
            offset=[0, *accumulate(job.num_phases for job in jobs)],
            pieces=_pieces(jobs, number, factor),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def num_phases(self) -> int:
        """Return the number of phases of all jobs."""
        return self.offset[-1]

    def most_at_once(self, closed: bool) -> tuple[int, int]:
        """Return bounds on the requests outstanding at once and on their units.

        In the open loop starts are given and nodes are not counted.
        """
        jobs = len(self)
        units = sum(self.units)
        if closed:
            return min(jobs, self.machine.units), min(units, self.machine.units)
        return jobs, units

    def most_states(self, closed: bool) -> int:
        """Return a bound on the table of rule 26: examined jobs times units."""
        jobs, units = self.most_at_once(closed)
        return (jobs + 2) * (units + 1)

    @cached_property
    def compute(self) -> list[Number]:
        """Return the compute seconds of every phase."""
        found: list[Number] = []
        for seconds, _, repeat in self.pieces:
            found += [seconds] * repeat
        return found

    @cached_property
    def volume(self) -> list[Number]:
        """Return the bytes of every phase."""
        found: list[Number] = []
        for _, volume, repeat in self.pieces:
            found += [volume] * repeat
        return found

    @cached_property
    def ideal(self) -> list[Number]:
        """Return the uncongested run time of each job on its allocation (rule 22)."""
        zero = self.limits.zero
        sums = []
        for j, peak in enumerate(self.peak):
            phases = slice(self.offset[j], self.offset[j + 1])
            computing = sum(self.compute[phases], zero)
            moving = sum(self.volume[phases], zero) / peak
            sums.append(computing + moving)
        return sums

    @cached_property
    def iteration(self) -> list[Number]:
        """Return w_iter of rule 16: mean uncongested seconds of a job's phases."""
        return [
            total / (self.offset[j + 1] - self.offset[j])
            for j, total in enumerate(self.ideal)
        ]

    @property
    def length(self) -> Sequence[Number]:
        """Return the estimated run time of each job while it waits (rule 35)."""
        if self.options.estimate == "uncongested":
            return self.ideal
        return self.walltime

    @cached_property
    def window(self) -> tuple[Number, Number]:
        """Return the time interval over which utilisation is measured (rule 22).

        It lasts from 10 % of the span of the submissions to the last submission.
        """
        if not self.ids:
            return self.limits.zero, self.limits.zero
        first = self.submit[0]
        last = self.submit[-1]
        return first + (last - first) / 10, last


def _peaks(
    jobs: Sequence[Job], allocated: Sequence[int], limits: Limits
) -> list[Number]:
    """Return the peak rates of *jobs* on the nodes *allocated* (rules 5 and 24)."""
    whole = {size: limits.peak(size) for size in set(allocated)}
    peaks = []
    for job, size in zip(jobs, allocated):
        own = job.io_bytes_per_second
        if own is None:
            peaks.append(whole[size])
        else:
            peaks.append(min(whole[size], limits.number(own)))
    return peaks


def _pieces(
    jobs: Sequence[Job], number: Callable[[float], Number], factor: Number
) -> list[Piece]:
    """Return the phases of all *jobs*, their bytes multiplied by *factor*."""
    pieces = []
    for job in jobs:
        for phase in job.phases:
            seconds = number(phase.compute_seconds)
            volume = number(phase.io_bytes) * factor
            pieces.append((seconds, volume, phase.repeat))
    return pieces


Spans = Any
"""Rows (index of a phase, from, until, bytes per second).

The rows are a list, or an array if the run uses floats.
"""


def known(value: Number) -> bool:
    """Return whether a time of a run was set, that is, is not NaN."""
    return bool(value == value)


@dataclass
class Run:
    """Store the result of an engine: jobs in the order of the trace, requests by phase.

    ``block`` is the first unit of a job's partition (-1 on flat machines), ``units``
    are the numbers of its units where flat machines number them (rule 32).
    ``request``, ``grant`` and ``finish`` are NaN where there was none. ``rates`` has a
    row (phase, from, until, bytes per second) for each time span at a constant rate
    above 0, in no particular order; it is None when rates were not recorded.
    ``useful`` is the uncongested work inside the window of rule 22, in node-seconds.
    """

    start: list[Number]
    end: list[Number]
    killed: list[int]
    block: list[int]
    request: list[Number]
    grant: list[Number]
    finish: list[Number]
    units: list[Sequence[int]] | None = None
    useful: Number = 0
    rates: Spans | None = None
    events: int = 0
    decisions: int = 0
