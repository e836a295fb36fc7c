"""What the batch I/O checker derives from the problem and reads from the schedule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoPlan, BatchIoProblem, BurstBuffer, Job

SLACK_SECONDS = 4e-9
"""Seconds that instants which are one may lie apart (rule 2 has
1e-9 s for each of two).
"""


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
        """The terms of *plan*; without one no policy is known, EF is 1
        and the loop closed.
        """
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
        return (
            self.shared_buffer is not None and self.problem.options.staging == "ahead"
        )

    @property
    def keeps_nodes(self) -> bool:
        """Whether nodes are held until the buffer is released (rule 44)."""
        buffer, options = self.problem.machine.burst_buffer, self.problem.options
        if buffer is None:
            return False
        return buffer.placement == "per-node" or options.nodes_until == "release"

    @property
    def scaled(self) -> bool:
        """Whether what the policy grants may be scaled down after
        it (rules 29 and 42).
        """
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
    """One I/O record: times in seconds, ``rates`` as (from, until, bytes
    per second) or None.

    ``kind`` is ``io`` or that of a stream (rule 41); ``peak`` and ``volume`` are what
    rules 24, 39 and 41 give it (None for a phase that there is not); ``last`` is when
    it ends, finished or not.
    """

    kind: str
    phase: int
    peak: float
    volume: float | None
    request: float
    grant: float | None
    finish: float | None
    last: float
    rates: Sequence[Sequence[float]] | None

    @property
    def named(self) -> str:
        """What messages call it."""
        return f"phase {self.phase}" if self.kind == "io" else f"stream {self.kind}"


class JobView(NamedTuple):
    """One job of the schedule beside the job of the instance, with
    its legal allocation.
    """

    job: Job
    row: Json
    nodes: int
    peak: float
    stream_peak: float
    phases: list[tuple[float, float]]
    """(compute seconds, I/O bytes) of each phase, expanded, the
    expansion factor applied.
    """
    start: float
    end: float
    released: float
    freed: float
    """When its nodes are free again: at its end, or at the release of
    its buffer (rule 44).
    """
    killed: bool
    slack: float
    """Tolerance for times of this job: rule 2 for both ends, and
    the rounding of sums.
    """
    requests: list[RequestView]
    streams: list[RequestView]

    @classmethod
    def of(cls, terms: Terms, job: Job, row: Json) -> JobView:
        """Read *row*; raises AttributeError, KeyError, TypeError or ValueError
        when it is malformed.
        """
        first, numbers = row.get("first_node"), row.get("nodes")
        if not all(isinstance(node, int) for node in (first or 0, *(numbers or ()))):
            raise TypeError("first_node and nodes are whole numbers")
        nodes = terms.problem.machine.allocated_nodes(job.nodes)
        peak, stream_peak = terms.peaks(job, nodes)
        phases: list[tuple[float, float]] = []
        for phase in job.phases:
            phases += [
                (phase.compute_seconds, phase.io_bytes * terms.ef)
            ] * phase.repeat
        volumes = [volume for _, volume in phases]
        start, end = _finite([row["start_seconds"], row["end_seconds"]])
        (released,) = _finite([row.get("released_seconds", end)])
        _finite(_numbers([*row["io"], *row.get("streams", ())]))
        staged = {
            ("in", -1): job.stage_in_bytes,
            ("out", len(phases)): job.stage_out_bytes,
        }
        streams = []
        for record in row.get("streams", ()):
            stream = _request(record, str(record["kind"]), stream_peak, end, volumes)
            if stream.kind != "drain":
                stream = stream._replace(volume=staged.get((stream.kind, stream.phase)))
            streams.append(stream)
        return cls(
            job=job,
            row=row,
            nodes=nodes,
            peak=peak,
            stream_peak=stream_peak,
            phases=phases,
            start=start,
            end=end,
            released=released,
            freed=released if terms.keeps_nodes else end,
            killed=bool(row["killed"]),
            slack=SLACK_SECONDS + 64 * math.ulp(released),
            requests=[
                _request(record, "io", peak, end, volumes) for record in row["io"]
            ],
            streams=streams,
        )

    @property
    def began(self) -> float:
        """When phase 0 begins: at the start, or when the stage-in
        is through (rule 45).
        """
        staged = [stream.last for stream in self.streams if stream.kind == "in"]
        return max(self.start, staged[-1]) if staged else self.start


def _numbers(records: Sequence[Json]) -> list[Any]:
    """Every time and rate of *records*; ValueError where a span is no triple."""
    rates = [record["rates"] for record in records if record.get("rates") is not None]
    if not set(map(len, chain.from_iterable(rates))) <= {3}:
        raise ValueError("a span is no triple")
    names = ("request_seconds", "first_grant_seconds", "finish_seconds")
    times = (record[name] for name in names for record in records)
    numbers = chain.from_iterable(chain.from_iterable(rates))
    return [*(time for time in times if time is not None), *numbers]


def _finite(values: list[Any]) -> list[float]:
    """*values*, times and rates; ValueError where one is no finite number."""
    if not set(map(type, values)) <= {float, int} or not math.isfinite(sum(values)):
        raise ValueError("a time or a rate is no number")
    return values


def _request(
    record: Json, kind: str, peak: float, end: float, volumes: Sequence[float]
) -> RequestView:
    """A record of a job that ends at *end* and moves so many bytes in each phase."""
    phase, finish = record["phase"], record["finish_seconds"]
    request, grant = record["request_seconds"], record["first_grant_seconds"]
    if type(phase) is not int or request is None:
        raise TypeError("a phase is no whole number, or was never requested")
    volume = volumes[phase] if 0 <= phase < len(volumes) else None
    last = end if finish is None else finish
    return RequestView(
        kind, phase, peak, volume, request, grant, finish, last, record.get("rates")
    )
