"""The trace both engines run (phases expanded, in the arithmetic of the run) and what a run returns."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ioopt.decisions.batch_io import Limits, Number
from ioopt.problems.batch_io import BatchIoProblem, Machine, QueueOptions


@dataclass(frozen=True)
class Trace:
    """Jobs in the order (submit, id), which is how ties of the batch queue end (rule 19).

    ``position`` leads back to the problem's jobs; ``rank`` is the place of a job's id among all
    ids (rule 10). The phases of job j are ``offset[j]`` to ``offset[j + 1]`` of ``compute``
    (seconds) and ``volume`` (bytes, EF applied); ``pieces`` are all phases in a row as (seconds,
    bytes, how often). ``units`` and ``allocated`` are the allocation, ``share`` the bytes of the burst
    buffer that a job holds.
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
    share: Sequence[Number]

    @classmethod
    def of(cls, problem: BatchIoProblem, ef: float = 1.0, use_exact: bool = False) -> Trace:
        """Expand *problem*; *ef* multiplies every volume (rule 23)."""
        machine = problem.machine
        limits = Limits.of(machine, use_exact)
        number, factor = limits.number if use_exact else float, limits.number(ef)
        ids = [job.id for job in problem.jobs]
        submits = [number(job.submit_seconds) for job in problem.jobs]
        by_rank = sorted(range(len(ids)), key=ids.__getitem__)
        rank_of = [0] * len(ids)
        for rank, k in enumerate(by_rank):
            rank_of[k] = rank
        position = sorted(by_rank, key=submits.__getitem__)
        jobs = [problem.jobs[k] for k in position]
        pieces: list[tuple[Number, Number, int]] = []
        offset = [0]
        for job in jobs:
            count = offset[-1]
            for phase in job.phases:
                repeat = phase.repeat
                pieces.append(
                    (number(phase.compute_seconds), number(phase.io_bytes) * factor, repeat)
                )
                count += repeat
            offset.append(count)
        nodes = [job.nodes for job in jobs]
        allocation = {size: machine.allocated_nodes(size) for size in set(nodes)}
        peaks = {size: limits.peak(size) for size in set(allocation.values())}
        allocated = [allocation[size] for size in nodes]
        whole = [peaks[size] for size in allocated]
        own = [job.io_bytes_per_second for job in jobs]
        peak = [most if p is None else min(most, number(p)) for most, p in zip(whole, own)]
        limits = replace(limits, own_peaks=peak != whole)
        return cls(
            machine=machine, options=problem.options, limits=limits,
            ids=[ids[k] for k in position], position=position,
            rank=[rank_of[k] for k in position], submit=[submits[k] for k in position],
            walltime=[number(job.walltime_seconds) for job in jobs], nodes=nodes,
            units=[size // machine.unit_nodes for size in allocated], allocated=allocated,
            peak=peak, offset=offset, pieces=pieces, share=[number(job.buffer_bytes) for job in jobs],
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def num_phases(self) -> int:
        """Phases of all jobs."""
        return self.offset[-1]

    def most_at_once(self, closed: bool) -> tuple[int, int]:
        """Jobs, and units of jobs, that run at once at most; the open loop counts no nodes."""
        jobs, units = len(self), sum(self.units)
        if closed:
            return min(jobs, self.machine.units), min(units, self.machine.units)
        return jobs, units

    def most_states(self, closed: bool) -> int:
        """States of the table of rule 26 at most: units by how many jobs are looked at."""
        jobs, units = self.most_at_once(closed)
        return (jobs + 2) * (units + 1)

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
        """Uncongested runtime of each job on its allocation: sum of c and v / r (rule 22)."""
        zero = self.limits.number(0)
        sums = []
        for j, peak in enumerate(self.peak):
            phases = slice(self.offset[j], self.offset[j + 1])
            sums.append(sum(self.compute[phases], zero) + sum(self.volume[phases], zero) / peak)
        return sums

    @cached_property
    def iteration(self) -> list[Number]:
        """w_iter of rule 16: the mean over a job's phases of compute plus uncongested I/O seconds."""
        return [total / (self.offset[j + 1] - self.offset[j]) for j, total in enumerate(self.ideal)]

    @property
    def length(self) -> Sequence[Number]:
        """How long each job is taken to run while it waits (rule 35)."""
        return self.ideal if self.options.estimate == "uncongested" else self.walltime

    @cached_property
    def window(self) -> tuple[Number, Number]:
        """Where utilisation is measured: from 10 % of the submit span to the last submit (rule 22)."""
        if not self.ids:
            return self.limits.number(0), self.limits.number(0)
        first, last = self.submit[0], self.submit[-1]
        return first + (last - first) / 10, last


Span = tuple[int, Number, Number, Number]
"""Place of a phase, from, until, bytes per second."""


def column(length: int, use_exact: bool) -> Any:
    """A column of unknown numbers: NaN in an array of doubles, or None in a list for Fractions."""
    return [None] * length if use_exact else array("d", [math.nan]) * length


def known(value: Any) -> bool:
    """Whether a value of a :func:`column` was ever set."""
    return value is not None and value == value


@dataclass
class Run:
    """What an engine found; jobs in the order of the trace, requests by their phase's place in it.

    ``block`` is the first unit of the partition (-1: flat), ``units`` are the numbers of a job's units
    where a flat machine has numbered ones (rule 32). ``request``, ``grant`` and ``finish``
    are :func:`column` values. ``rates`` holds (phase place, from, until, bytes per second) of every
    span at a constant rate above 0, in no fixed order, or is None when it was not recorded.
    ``useful`` is uncongested work done in the window of rule 22, in node-seconds.
    """

    start: Any
    end: Any
    killed: Any
    block: Any
    request: Any
    grant: Any
    finish: Any
    units: list[Sequence[int]] | None = None
    useful: Number = 0
    rates: list[Span] | None = None
    events: int = 0
    decisions: int = 0
    engine: str = "python"
    notes: list[str] = field(default_factory=list)

    @classmethod
    def empty(cls, trace: Trace, record_rates: bool) -> Run:
        """Nothing known yet about *trace*."""
        jobs, phases, use_exact = len(trace), trace.num_phases, trace.limits.exact
        return cls(
            start=column(jobs, use_exact), end=column(jobs, use_exact),
            killed=bytearray(jobs), block=array("q", [-1]) * jobs,
            request=column(phases, use_exact), grant=column(phases, use_exact),
            finish=column(phases, use_exact), rates=[] if record_rates else None,
        )  # fmt: skip

    def in_lists(self) -> Run:
        """The same with the times of requests in lists, which are quicker to walk than arrays."""
        if isinstance(self.request, list):
            return self
        columns = {name: getattr(self, name).tolist() for name in ("request", "grant", "finish")}
        return replace(self, **columns)
