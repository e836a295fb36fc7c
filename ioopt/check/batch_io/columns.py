"""What the checker derives from the problem, and the schedule as arrays: phases, records of I/O, spans."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoPlan, BatchIoProblem, BurstBuffer, Job

SLACK_SECONDS = 4e-9
"""Seconds that instants which are one may lie apart (rule 2 has 1e-9 s for each of two)."""


@dataclass(frozen=True)
class Terms:
    """The problem as the plan runs it."""

    problem: BatchIoProblem
    policy: str | None
    top: bool
    ef: float
    closed: bool

    @classmethod
    def of(cls, problem: BatchIoProblem, plan: BatchIoPlan | None) -> Terms:
        """The terms of *plan*; without one no policy is known, EF is 1 and the loop closed."""
        if plan is None:
            return cls(problem, None, False, 1.0, True)
        return cls(problem, plan.policy, plan.top, plan.ef, plan.loop == "closed")

    @property
    def storage(self) -> float:
        """BW_max in bytes per second."""
        return self.problem.machine.storage_bytes_per_second

    @property
    def shared_buffer(self) -> BurstBuffer | None:
        """The burst buffer, where all jobs share one."""
        buffer = self.problem.machine.burst_buffer
        return buffer if buffer is not None and buffer.placement == "shared" else None

    @property
    def ahead(self) -> bool:
        """Whether jobs stage in before they start (rule 45)."""
        return self.shared_buffer is not None and self.problem.options.staging == "ahead"

    @property
    def keeps_nodes(self) -> bool:
        """Whether nodes are held until the buffer is released (rule 44)."""
        buffer, options = self.problem.machine.burst_buffer, self.problem.options
        if buffer is None:
            return False
        return buffer.placement == "per-node" or options.nodes_until == "release"

    @property
    def scaled(self) -> bool:
        """Whether what the policy grants may be scaled down after it (rules 29 and 42)."""
        return bool(self.problem.machine.interference) or self.shared_buffer is not None

    def peaks(self, job: Job, nodes: int) -> tuple[float, float]:
        """The peak rates of the job's own I/O and of its streams (rules 5, 24, 39)."""
        machine, buffer = self.problem.machine, self.problem.machine.burst_buffer
        if buffer is None or not job.buffer_bytes:
            return machine.peak(nodes, job.io_bytes_per_second), 0.0
        width = 1 if self.shared_buffer else nodes
        own = job.io_bytes_per_second or math.inf
        into = width * buffer.bytes_per_second
        stream = min(width * buffer.drain_bytes_per_second, self.storage)
        return min(own, machine.node_bytes_per_second * nodes, into), stream

    @property
    def limited(self) -> bool:
        """Whether the storage limits the total (not in the uncongested reference)."""
        return self.policy != "no-congestion"


class RequestView(NamedTuple):
    """One I/O record: times in seconds.

    ``kind`` is ``io`` or that of a stream (rule 41); ``peak`` and ``volume`` are what rules 24, 39
    and 41 give it (None for a phase that there is not).
    """

    kind: str
    phase: int
    peak: float
    volume: float | None
    request: float
    grant: float | None
    finish: float | None


class JobView(NamedTuple):
    """One job of the schedule beside the job of the instance, with its legal allocation."""

    job: Job
    row: Json
    nodes: int
    peak: float
    stream_peak: float
    start: float
    end: float
    released: float
    freed: float
    """When its nodes are free again: at its end, or at the release of its buffer (rule 44)."""
    killed: bool
    slack: float
    """Tolerance for times of this job: rule 2 for both ends, and the rounding of sums."""

    @classmethod
    def of(cls, terms: Terms, job: Job, row: Json) -> JobView:
        """Read *row*; raises KeyError, TypeError or ValueError when it is malformed."""
        first, numbers = row.get("first_node"), row.get("nodes")
        if not all(isinstance(node, int) for node in (first or 0, *(numbers or ()))):
            raise TypeError("first_node and nodes are whole numbers")
        nodes = terms.problem.machine.allocated_nodes(job.nodes)
        peak, stream_peak = terms.peaks(job, nodes)
        start, end = _finite(row["start_seconds"]), _finite(row["end_seconds"])
        released = _finite(row.get("released_seconds", end))
        freed = released if terms.keeps_nodes else end
        slack = SLACK_SECONDS + 64 * math.ulp(released)
        return cls(
            job, row, nodes, peak, stream_peak, start, end, released, freed, bool(row["killed"]), slack
        )  # fmt: skip


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a time")
    return float(value)


Reals = NDArray[np.float64]
Places = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Spans(NamedTuple):
    """Spans at a constant rate: seconds, bytes per second, and whether a stream's (rule 41)."""

    since: Reals
    until: Reals
    rate: Reals
    peak: Reals
    stream: Mask


def _numbers(values: list[Any], *others: type) -> Reals:
    """Finite *values*, NaN for None where that is one of the *others* that may stand there."""
    kinds = set(map(type, values))
    if not kinds <= {float, int, *others}:
        raise TypeError("not all of these are numbers")
    found = np.array(values, dtype=float)
    absent = 0 if type(None) not in kinds else values.count(None)
    if np.count_nonzero(np.isfinite(found)) + absent != len(found):
        raise ValueError("not all of these are finite")
    return found


class Records:
    """Records of I/O, or of streams: times in seconds, NaN for those that are null.

    ``owner`` is the place of a record's job; ``last`` is when it ends, finished or not; span s is
    one of record ``record_of[s]``.
    """

    def __init__(self, held: list[list[Json]], ends: Reals, kind: str | None = None) -> None:
        records: list[Json] = list(chain.from_iterable(held))
        self.held: Places = np.array([len(rows) for rows in held], dtype=np.int64)
        self.head: Places = np.cumsum(self.held) - self.held
        self.owner: Places = np.repeat(np.arange(len(held)), self.held)
        self.kind = [kind or str(record["kind"]) for record in records]
        phases = [record["phase"] for record in records]
        if not set(map(type, phases)) <= {int}:
            raise TypeError("a phase is no whole number")
        self.phase: Places = np.array(phases, dtype=np.int64)
        self.request = _numbers([record["request_seconds"] for record in records])
        self.grant = _numbers([record["first_grant_seconds"] for record in records], type(None))
        self.finish = _numbers([record["finish_seconds"] for record in records], type(None))
        self.ended: Mask = ~np.isnan(self.finish)
        self.last: Reals = np.where(self.ended, self.finish, ends[self.owner])
        rates = [record.get("rates") for record in records]
        self.recorded: Mask = np.array([spans is not None for spans in rates], dtype=bool)
        self.spans_of: Places = np.array([len(spans or ()) for spans in rates], dtype=np.int64)
        spans = list(chain.from_iterable(filter(None, rates)))
        if not set(map(len, spans)) <= {3}:
            raise ValueError("a span is no triple")
        triples = _numbers(list(chain.from_iterable(spans))).reshape(-1, 3)
        self.since, self.until, self.rate = triples.T.copy()
        self.record_of: Places = np.repeat(np.arange(len(records)), self.spans_of)
        self.volume = self.peak = np.zeros(0)

    def named(self, k: int) -> str:
        """What messages call record *k*."""
        kind = self.kind[k]
        return f"phase {self.phase[k]}" if kind == "io" else f"stream {kind}"

    def moved(self, begin: float, end: float) -> tuple[Reals, Reals]:
        """Seconds at the peak that each moves from *begin* to *end*: the least and the most.

        The same where its rates are recorded, else what it cannot, and what it can, have moved outside.
        """
        spans = overlaps(self.since, self.until, begin, end) * self.rate
        known = np.bincount(self.record_of, spans / self.peak[self.record_of], len(self.peak))
        work, within = self.volume / self.peak, overlaps(self.request, self.last, begin, end)
        sure = np.where(self.ended, work, 0.0)
        least = np.maximum(0.0, sure - (self.last - self.request - within))
        most = np.minimum(work, within)
        return np.where(self.recorded, known, least), np.where(self.recorded, known, most)

    def views(self, k: int) -> tuple[RequestView, ...]:
        """The records of job *k*, one by one."""
        found = []
        for r in range(self.head[k], self.head[k] + self.held[k]):
            volume, grant, finish = (
                None if np.isnan(column[r]) else float(column[r])
                for column in (self.volume, self.grant, self.finish)
            )
            times = float(self.peak[r]), volume, float(self.request[r]), grant, finish
            found.append(RequestView(self.kind[r], int(self.phase[r]), *times))
        return tuple(found)


def overlaps(since: Reals, until: Reals, begin: float, end: float) -> Reals:
    """Seconds of each span inside a window."""
    within: Reals = np.minimum(until, end) - np.maximum(since, begin)
    return np.maximum(within, 0.0, out=within)


class Columns:
    """Arrays by job, by phase (``job_of``; those of job j begin at ``first[j]``), by record."""

    def __init__(self, terms: Terms, views: list[JobView]) -> None:
        self.terms, self.views, rows = terms, views, [view.row for view in views]
        self.start, self.end, self.slack, self.peak, self.stream_peak, self.began = np.array(
            [(v.start, v.end, v.slack, v.peak, v.stream_peak, v.start) for v in views], dtype=float
        ).reshape(-1, 6).T  # fmt: skip
        self.killed: Mask = np.array([view.killed for view in views], dtype=bool)
        self.buffered: Mask = self.stream_peak > 0
        self.io = Records([row["io"] for row in rows], self.end, "io")
        self.streams = Records([row.get("streams", []) for row in rows], self.end)
        pieces = [phase for view in views for phase in view.job.phases]
        repeat = [phase.repeat for phase in pieces]
        self.compute: Reals = np.repeat([phase.compute_seconds for phase in pieces], repeat)
        self.volume: Reals = np.repeat([phase.io_bytes * terms.ef for phase in pieces], repeat)
        counts = [view.job.num_phases for view in views]
        self.first: Places = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self.job_of: Places = np.repeat(np.arange(len(counts)), counts)
        for part, peak in ((self.io, self.peak), (self.streams, self.stream_peak)):
            known = (part.phase >= 0) & (part.phase < np.diff(self.first)[part.owner])
            place = np.where(known, self.first[part.owner] + part.phase, 0)
            volumes = self.volume if len(self.volume) else np.full(1, np.nan)
            part.volume = np.where(known, volumes[place], np.nan)
            part.peak = peak[part.owner]
        for k, kind in enumerate(self.streams.kind):
            j = int(self.streams.owner[k])
            job, phase = views[j].job, int(self.streams.phase[k])
            ends = {("in", -1): job.stage_in_bytes, ("out", counts[j]): job.stage_out_bytes}
            if kind != "drain":
                self.streams.volume[k] = ends.get((kind, phase), np.nan)
            if kind == "in":  # phase 0 begins when the stage-in is through (rule 45)
                self.began[j] = max(self.start[j], self.streams.last[k])

    @cached_property
    def asking(self) -> tuple[Places, Places]:
        """The places of phases with I/O; how many of them are before those of each job."""
        asks = self.volume > 0
        return np.flatnonzero(asks), np.concatenate([[0], np.cumsum(asks)])[self.first]

    @cached_property
    def expected(self) -> Places:
        """The place that each record should be of, by its rank in its job; -1: there is none."""
        places, before = self.asking
        rank = before[self.io.owner] + np.arange(len(self.io.owner)) - self.io.head[self.io.owner]
        there = rank < before[self.io.owner + 1]
        return np.where(there, np.append(places, -1)[np.where(there, rank, -1)], -1)

    @cached_property
    def begins(self) -> Reals:
        """When each phase begins by the records before it, each taken for the one expected."""
        after = np.full(len(self.volume) + 1, np.nan)
        after[self.expected] = self.io.last
        begins = np.append(np.nan, after[:-2]) if len(self.volume) else np.zeros(0)
        begins[self.first[:-1]] = self.began
        for place in np.flatnonzero(np.isnan(begins)).tolist():
            begins[place] = begins[place - 1] + self.compute[place - 1]
        return begins

    @cached_property
    def due(self) -> Reals:
        """When each phase's compute ends."""
        return self.begins + self.compute

    def spans(self) -> Spans:
        """All spans at a rate above 0 through the storage; of a buffered job those of its streams."""
        parts = []
        for part, stream in ((self.io, False), (self.streams, True)):
            of = part.record_of
            some = (part.rate > 0) & (stream | ~self.buffered[part.owner[of]])
            columns = (part.since, part.until, part.rate, part.peak[of], np.full(len(of), stream))
            parts.append([column[some] for column in columns])
        return Spans(*(np.concatenate(columns) for columns in zip(*parts)))

    def useful(self, begin: float, end: float) -> tuple[Reals, Reals]:
        """Least and most seconds of uncongested work of each job inside the window (rule 22).

        A stage-in counts where the job waits for it on its nodes.
        """
        until = np.minimum(self.due, self.end[self.job_of])
        compute = np.bincount(
            self.job_of, overlaps(self.begins, until, begin, end), len(self.views)
        )
        staged = np.array([kind == "in" and not self.terms.ahead for kind in self.streams.kind])
        io, streams = self.io.moved(begin, end), self.streams.moved(begin, end)
        least, most = np.zeros(len(self.views)), np.zeros(len(self.views))
        for side, amounts in enumerate((least, most)):
            amounts += compute
            amounts += np.bincount(self.io.owner, io[side], len(self.views))
            amounts += np.bincount(self.streams.owner, streams[side] * staged, len(self.views))
        return least, most
