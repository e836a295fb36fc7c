"""Define the input of a batch I/O simulation, a trace of jobs, and its result.

In a trace, repeated phases are written out, and numbers are in the arithmetic of the
run (floats or Fractions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ioopt.arrays import Ints
from ioopt.decisions.batch_io import Limits
from ioopt.decisions.ordering import Number
from ioopt.problems.batch_io import BatchIoProblem, Machine, QueueOptions
from ioopt.problems.batch_jobs import BatchJobs, jobs_of
from ioopt.problems.job_columns import offsets, parts_taken

Numbers = NDArray[Any]
"""Floats, or in exact runs Fractions."""
Piece = tuple[Number, Number, int]
"""Equal consecutive phases of a job: compute seconds, bytes, and number of phases."""


@dataclass(frozen=True)
class Trace:
    """Store the jobs of a problem, sorted by (submit, id); this order breaks ties in
    the queue (rule 19).

    ``position[j]`` is the index of job j in the problem, and ``rank[j]`` is the
    position of its id among all sorted ids (rule 10). The phases of job j are the items
    ``offset[j]`` to ``offset[j + 1] - 1`` of ``compute`` (seconds) and ``volume``
    (bytes, multiplied by the expansion factor). ``nodes`` is the number of nodes that a
    job asks for. ``units`` and ``allocated`` are its allocation in units and in nodes.
    ``peak`` is its peak rate in bytes/s.
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
        """Return the trace of *problem*; the volume of every phase is multiplied by
        *ef* (rule 23).

        If *use_exact*, the trace has Fractions instead of floats.
        """
        machine = problem.machine
        limits = Limits.of(machine, use_exact)
        number = limits.number if use_exact else float
        factor = limits.number(ef)
        columns = jobs_of(problem)
        ids = columns.ids
        submits = [*map(number, columns.submit.tolist())]
        by_rank = sorted(range(len(ids)), key=ids.__getitem__)
        rank_of = sorted(range(len(ids)), key=by_rank.__getitem__)
        position = sorted(by_rank, key=submits.__getitem__)
        order = np.array(position, np.int64)
        allocated = columns.allocated_nodes(machine)[order].tolist()
        whole = {size: limits.peak(size) for size in set(allocated)}
        peak = [whole[size] for size in allocated]
        for j, own in enumerate(columns.own_peak[order].tolist()):
            if own == own:  # not NaN
                peak[j] = min(peak[j], limits.number(own))
        own_peaks = any(rate != whole[size] for rate, size in zip(peak, allocated))
        return cls(
            machine=machine,
            options=problem.options,
            limits=limits.with_own_peaks() if own_peaks else limits,
            ids=[ids[k] for k in position],
            position=position,
            rank=[rank_of[k] for k in position],
            submit=[submits[k] for k in position],
            walltime=[*map(number, columns.walltime[order].tolist())],
            nodes=columns.nodes[order].tolist(),
            units=[size // machine.unit_nodes for size in allocated],
            allocated=allocated,
            peak=peak,
            offset=offsets(columns.num_phases[order]).tolist(),
            pieces=_pieces(columns, order, number, factor),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def kind(self) -> type[Any]:
        """Return the type of the numbers in arrays: float, or object for Fractions."""
        return object if self.limits.exact else float

    @property
    def num_phases(self) -> int:
        """Return the total number of phases of all jobs."""
        return self.offset[-1]

    def most_at_once(self, closed: bool) -> tuple[int, int]:
        """Return upper bounds on the number of requests that are outstanding at once,
        and on the number of units of their jobs.

        If *closed*, jobs wait in the queue for free nodes. Otherwise (open loop) their
        starts are given and nodes are not counted.
        """
        jobs = len(self)
        units = sum(self.units)
        if closed:
            return min(jobs, self.machine.units), min(units, self.machine.units)
        return jobs, units

    def most_states(self, closed: bool) -> int:
        """Return an upper bound on the size of the table of rule 26: number of requests
        times number of units.
        """
        jobs, units = self.most_at_once(closed)
        return (jobs + 2) * (units + 1)

    @cached_property
    def compute(self) -> Numbers:
        """Return the compute time of every phase, in seconds."""
        return self._of_phases(0)

    @cached_property
    def volume(self) -> Numbers:
        """Return the number of bytes of every phase."""
        return self._of_phases(1)

    def _of_phases(self, item: int) -> Numbers:
        """Return an item of the pieces, repeated for each phase."""
        numbers = [piece[item] for piece in self.pieces]
        repeat = [piece[2] for piece in self.pieces]
        return np.repeat(np.array(numbers, self.kind), repeat)

    @property
    def owner(self) -> NDArray[np.int64]:
        """Return the number of the job of every phase."""
        # Made anew each time: kept, it would be as large as all times of one kind.
        return np.repeat(np.arange(len(self)), np.diff(self.offset))

    def sums(
        self, values: Numbers, owner: NDArray[np.int64], jobs: int
    ) -> list[Number]:
        """Return, for each of *jobs* jobs, the sum of the *values* that it owns, from
        left to right.
        """
        if not self.limits.exact:
            found: list[Number] = np.bincount(owner, values, jobs).tolist()
            return found
        sums = [self.limits.zero] * jobs
        for j, value in zip(owner.tolist(), values):
            sums[j] += value
        return sums

    @cached_property
    def ideal(self) -> list[Number]:
        """Return the run time of each job on its allocated nodes without congestion, in
        seconds (rule 22).
        """
        owner = self.owner
        computing = self.sums(self.compute, owner, len(self))
        moving = self.sums(self.volume, owner, len(self))
        return [
            seconds + volume / peak
            for seconds, volume, peak in zip(computing, moving, self.peak)
        ]

    @cached_property
    def iteration(self) -> list[Number]:
        """Return w_iter of rule 16 for each job: the mean duration of its phases
        without congestion, in seconds.
        """
        return [
            total / (self.offset[j + 1] - self.offset[j])
            for j, total in enumerate(self.ideal)
        ]

    @property
    def length(self) -> Sequence[Number]:
        """Return the run time in seconds that the queue assumes for each waiting job
        (rule 35).
        """
        if self.options.estimate == "uncongested":
            return self.ideal
        return self.walltime

    @cached_property
    def window(self) -> tuple[Number, Number]:
        """Return the start and the end of the time interval over which utilisation is
        measured (rule 22).

        The interval begins after the first 10 % of the span of submissions and ends at
        the last submission.
        """
        if not self.ids:
            return self.limits.zero, self.limits.zero
        first = self.submit[0]
        last = self.submit[-1]
        return first + (last - first) / 10, last


def _pieces(
    columns: BatchJobs, order: Ints, number: Callable[[float], Number], factor: Number
) -> list[Piece]:
    """Return the phases of all jobs in one list, with the jobs in this *order* and
    their bytes multiplied by *factor*.
    """
    _, places = parts_taken(columns.offset, order)
    seconds = columns.seconds[places].tolist()
    volume = columns.volume[places].tolist()
    volumes = [number(amount) * factor for amount in volume]
    repeat = columns.repeat[places].tolist()
    return [*zip(map(number, seconds), volumes, repeat)]


Spans = NDArray[np.float64]
"""Rows (index of a phase, from, until, bytes per second), one for each time span at a
constant rate; in exact runs the numbers are Fractions.
"""


def known(value: Number) -> bool:
    """Return whether a time of a run was set, that is, whether it is not NaN."""
    return bool(value == value)


@dataclass
class Run:
    """Store the result of a simulated run.

    Jobs are in the order of the trace; ``request``, ``grant`` and ``finish`` have one
    time for each phase. ``block`` is the first unit of a job's partition (-1 on flat
    machines). ``units`` are the numbers of a job's units, where a flat machine numbers
    them (rule 32). A time in ``request``, ``grant`` or ``finish`` is NaN if that event
    did not happen. ``rates`` has a row (phase, from, until, bytes per second) for each
    time span at a constant rate above 0; those of a phase are in order of time. It is
    None if rates were not recorded. ``useful`` is the uncongested work inside the
    window of rule 22, in node-seconds.
    """

    start: list[Number]
    end: list[Number]
    killed: list[int]
    block: list[int]
    request: Numbers
    grant: Numbers
    finish: Numbers
    units: list[Sequence[int]] | None = None
    useful: Number = 0
    rates: Spans | None = None
    events: int = 0
    decisions: int = 0
