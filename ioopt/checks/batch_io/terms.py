"""Prepare the data of the batch I/O checker from the problem, the plan and the
schedule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoPlan, BatchIoProblem, Job

SLACK_SECONDS = 4e-9
"""Largest difference in seconds of two times that count as one instant. Rule 2 allows
1e-9 s for each time.
"""


@dataclass(frozen=True)
class Terms:
    """The problem, with the settings of the run that the plan states.

    ``ef`` is the expansion factor. ``closed`` tells whether jobs wait in a queue for
    free nodes.
    """

    problem: BatchIoProblem
    policy: str | None
    top: bool
    ef: float
    closed: bool

    @classmethod
    def of(cls, problem: BatchIoProblem, plan: BatchIoPlan | None) -> Terms:
        """Return the terms of *plan*.

        Without a plan the policy is unknown, the expansion factor is 1, and the loop is
        closed.
        """
        if plan is None:
            return cls(problem, None, False, 1.0, True)
        return cls(problem, plan.policy, plan.top, plan.ef, plan.loop == "closed")

    @property
    def storage(self) -> float:
        """Return the rate of the storage, BW_max, in bytes per second."""
        return self.problem.machine.storage_bytes_per_second

    @property
    def interferes(self) -> bool:
        """Return whether concurrent requests lower the storage's rate (rule 29)."""
        return self.problem.machine.interference > 0

    @property
    def limited(self) -> bool:
        """Return whether the storage limits the sum of rates; it does not under the
        uncongested reference policy.
        """
        return self.policy != "no-congestion"


class RequestView(NamedTuple):
    """One I/O request of the schedule: times in seconds, ``rates`` as rows (from,
    until, bytes/s).

    ``peak`` is the job's peak rate (rules 5 and 24). ``volume`` is the number of bytes
    of the phase (None if the job has no such phase). ``last`` is the time at which the
    request ends, finished or not.
    """

    phase: int
    peak: float
    volume: float | None
    request: float
    grant: float | None
    finish: float | None
    last: float
    rates: Sequence[Sequence[float]] | None


class JobView(NamedTuple):
    """A job of the schedule, together with the same job in the instance and its legal
    allocation.
    """

    job: Job
    row: Json
    nodes: int
    peak: float
    phases: list[tuple[float, float]]
    """Pair (compute seconds, I/O bytes) for each phase, after ``repeat`` and the
    expansion factor were applied.
    """
    ideal: float
    """Seconds that the job runs without congestion (rule 22)."""
    start: float
    end: float
    killed: bool
    slack: float
    """Tolerance for the job's times in seconds: the tolerance of rule 2 at both ends,
    plus the rounding of sums.
    """
    requests: list[RequestView]

    @classmethod
    def of(cls, terms: Terms, job: Job, row: Json) -> JobView:
        """Return the view of *job* and its row in the schedule.

        Raises AttributeError, KeyError, TypeError or ValueError if *row* is malformed.
        """
        first = row.get("first_node") or 0
        numbers = row.get("nodes") or ()
        if not all(isinstance(node, int) for node in (first, *numbers)):
            raise TypeError("first_node and nodes are whole numbers")
        nodes = terms.problem.machine.allocated_nodes(job.nodes)
        peak = terms.problem.machine.peak(nodes, job.io_bytes_per_second)
        phases: list[tuple[float, float]] = []
        for phase in job.phases:
            phases += [
                (phase.compute_seconds, phase.io_bytes * terms.ef)
            ] * phase.repeat
        volumes = [volume for _, volume in phases]
        start, end = _finite([row["start_seconds"], row["end_seconds"]])
        _finite(_numbers(row["io"]))
        return cls(
            job=job,
            row=row,
            nodes=nodes,
            peak=peak,
            phases=phases,
            ideal=math.fsum([seconds + volume / peak for seconds, volume in phases]),
            start=start,
            end=end,
            killed=bool(row["killed"]),
            slack=SLACK_SECONDS + 64 * math.ulp(end),
            requests=_requests(row["io"], peak, end, volumes),
        )


def _numbers(records: Sequence[Json]) -> list[Any]:
    """Return all times and rates of *records* in one list.

    Raises ValueError for a span that is not a triple.
    """
    rates = [record["rates"] for record in records if record.get("rates") is not None]
    spans = [*chain.from_iterable(rates)]
    if not set(map(len, spans)) <= {3}:
        raise ValueError("a span is not a triple")
    numbers = [*chain.from_iterable(spans)]
    for name in ("request_seconds", "first_grant_seconds", "finish_seconds"):
        times = [record[name] for record in records]
        numbers += [time for time in times if time is not None]
    return numbers


def _finite(values: list[Any]) -> list[float]:
    """Return *values*, which are times and rates; raise ValueError if one of them is
    not a finite number.
    """
    if not set(map(type, values)) <= {float, int} or not math.isfinite(sum(values)):
        raise ValueError("a time or a rate is not a number")
    return values


def _requests(
    records: Sequence[Json], peak: float, end: float, volumes: Sequence[float]
) -> list[RequestView]:
    """Return the views of the I/O *records* of a job.

    *end* is the end of the job, and *volumes* are the bytes of its phases.
    """
    views = []
    for record in records:
        phase = record["phase"]
        request = record["request_seconds"]
        if type(phase) is not int or request is None:
            raise TypeError("a phase is not a whole number, or was never requested")
        volume = volumes[phase] if 0 <= phase < len(volumes) else None
        grant = record["first_grant_seconds"]
        finish = record["finish_seconds"]
        last = end if finish is None else finish
        rates = record.get("rates")
        # By place, not by name: there may be a million.
        views.append(
            RequestView(phase, peak, volume, request, grant, finish, last, rates)
        )
    return views
