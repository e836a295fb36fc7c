"""What the batch I/O checker derives from the problem and reads from the schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoPlan, BatchIoProblem, Job

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
    def limited(self) -> bool:
        """Whether the storage limits the total (not in the uncongested reference)."""
        return self.policy != "no-congestion"


class RequestView(NamedTuple):
    """One I/O record: times in seconds, ``rates`` as (from, until, bytes per second) or None."""

    phase: int
    request: float
    grant: float | None
    finish: float | None
    rates: tuple[tuple[float, float, float], ...] | None


@dataclass(frozen=True)
class JobView:
    """One job of the schedule beside the job of the instance, with its legal allocation."""

    job: Job
    row: Json
    nodes: int
    peak: float
    ef: float
    start: float
    end: float
    killed: bool
    requests: tuple[RequestView, ...]

    @classmethod
    def of(cls, terms: Terms, job: Job, row: Json) -> JobView:
        """Read *row*; raises KeyError, TypeError or ValueError when it is malformed."""
        machine = terms.problem.machine
        nodes = machine.allocated_nodes(job.nodes)
        return cls(
            job=job,
            row=row,
            nodes=nodes,
            peak=machine.peak(nodes),
            ef=terms.ef,
            start=_finite(row["start_seconds"]),
            end=_finite(row["end_seconds"]),
            killed=bool(row["killed"]),
            requests=tuple(_request(record) for record in row["io"]),
        )

    @cached_property
    def slack(self) -> float:
        """Tolerance for times of this job: rule 2 for both ends, and the rounding of sums."""
        return SLACK_SECONDS + 64 * math.ulp(self.end)

    @cached_property
    def phases(self) -> list[tuple[float, float]]:
        """(compute seconds, I/O bytes) of each phase, expanded, the expansion factor applied."""
        found: list[tuple[float, float]] = []
        for phase in self.job.phases:
            found += [(phase.compute_seconds, phase.io_bytes * self.ef)] * phase.repeat
        return found


def _finite(value: object) -> float:
    if type(value) is float and value - value == 0.0:  # hot
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a time")
    return float(value)


def _request(record: Json) -> RequestView:
    grant, finish = record["first_grant_seconds"], record["finish_seconds"]
    rates = record.get("rates")
    spans = None
    if rates is not None:
        spans = tuple((_finite(a), _finite(b), _finite(rate)) for a, b, rate in rates)
    return RequestView(
        phase=int(record["phase"]),
        request=_finite(record["request_seconds"]),
        grant=None if grant is None else _finite(grant),
        finish=None if finish is None else _finite(finish),
        rates=spans,
    )
