"""Set the columns of a batch I/O schedule beside those of its instance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ioopt.arrays import Flags, Floats, Ints
from ioopt.checks.batch_io.terms import SLACK_SECONDS, Terms
from ioopt.problems.base import LARGEST, Count, JobId, Json, NodeNumber, Real
from ioopt.problems.batch_jobs import jobs_of
from ioopt.problems.columns import Objects, labels, names, numbers, reals_or_nan
from ioopt.problems.job_columns import NO_NODE, JobColumns, blocks, offsets, parts_taken
from ioopt.result import Violation, violation

UNREADABLE = (AttributeError, KeyError, OverflowError, TypeError, ValueError)


class Requests(NamedTuple):
    """The requests of one row, as lists. ``numbers`` are those of all spans of rates,
    three for each; ``spans`` is the number of spans of each request.
    """

    phase: list[int]
    request: list[float]
    grant: list[float | None]
    finish: list[float | None]
    timed: list[bool]
    spans: list[int]
    numbers: list[float]

    @classmethod
    def of(cls, records: Sequence[Json]) -> Requests:
        """Read *records*. Raises one of ``UNREADABLE`` if one is malformed."""
        rates = [record.get("rates") for record in records]
        spans = [*chain.from_iterable(part for part in rates if part is not None)]
        if not set(map(len, spans)) <= {3}:
            raise ValueError("a span is not a triple")
        found = cls(
            [record["phase"] for record in records],
            [record["request_seconds"] for record in records],
            [record["first_grant_seconds"] for record in records],
            [record["finish_seconds"] for record in records],
            [part is not None for part in rates],
            [len(part or ()) for part in rates],
            [*chain.from_iterable(spans)],
        )
        if not set(map(type, found.phase)) <= {int}:
            raise TypeError("a phase is not a whole number")
        known = [time for time in found.grant + found.finish if time is not None]
        _require_finite([*found.request, *known, *found.numbers])
        return found

    def append(self, more: Requests) -> None:
        """Append the requests of another row."""
        self.phase.extend(more.phase)
        self.request.extend(more.request)
        self.grant.extend(more.grant)
        self.finish.extend(more.finish)
        self.timed.extend(more.timed)
        self.spans.extend(more.spans)
        self.numbers.extend(more.numbers)


class Reader:
    """Read rows of a schedule into columns, one after the other."""

    def __init__(self) -> None:
        self.ids: list[JobId] = []
        self.start: list[float] = []
        self.end: list[float] = []
        self.killed: list[bool] = []
        self.allocated: list[object] = []
        self.first_node: list[int] = []
        self.nodes: list[Sequence[int] | None] = []
        self.counts: list[int] = []
        self.requests = Requests([], [], [], [], [], [], [])

    def add(self, row: Json) -> None:
        """Append the row of a job and its requests.

        Raises one of ``UNREADABLE``, and appends nothing, if *row* is malformed.
        """
        requests = Requests.of(row["io"])
        times = [row["start_seconds"], row["end_seconds"]]
        _require_finite(times)
        first = row.get("first_node")
        nodes = row.get("nodes")
        numbered = [first or 0, *(nodes or ())]
        if not all(isinstance(node, int) for node in numbered):
            raise TypeError("first_node and nodes are whole numbers")
        if max(map(abs, numbered + requests.phase)) > LARGEST:
            raise OverflowError("a number of a node or a phase is too large")
        name = row["id"]
        hash(name)
        killed = bool(row["killed"])
        self.ids.append(name)
        self.start.append(times[0])
        self.end.append(times[1])
        self.killed.append(killed)
        self.allocated.append(row.get("allocated_nodes"))
        self.first_node.append(NO_NODE if first is None else first)
        self.nodes.append(nodes)
        self.counts.append(len(requests.phase))
        self.requests.append(requests)

    def columns(self) -> JobColumns:
        """Return the rows that were read."""
        found = self.requests
        return JobColumns(
            ids=self.ids,
            start=np.array(self.start, float),
            end=np.array(self.end, float),
            killed=np.array(self.killed, bool),
            allocated=self.allocated,
            first_node=np.array(self.first_node, np.int64),
            nodes=self.nodes,
            offset=offsets(self.counts),
            phase=np.array(found.phase, np.int64),
            request=np.array(found.request, float),
            grant=np.array(found.grant, float),
            finish=np.array(found.finish, float),
            timed=np.array(found.timed, bool),
            edges=offsets(found.spans),
            spans=np.array(found.numbers, float).reshape(-1, 3),
        )


def _require_finite(values: list[Any]) -> None:
    """Raise ValueError if one of *values* is not a finite number."""
    if not set(map(type, values)) <= {float, int} or not math.isfinite(sum(values)):
        raise ValueError("a time or a rate is not a number")


def read_rows(rows: Sequence[Json]) -> tuple[JobColumns, list[Violation]]:
    """Return the columns of *rows*, and a violation for each row that is left out
    because it cannot be read.
    """
    found: list[Violation] = []
    reader = Reader()
    for k, row in enumerate(rows):
        try:
            reader.add(row)
        except UNREADABLE as error:
            text = f"cannot be read ({type(error).__name__}: {error})"
            found.append(violation("schedule", f"jobs[{k}]", text))
    return reader.columns(), found


def read_columns(rows: Objects) -> JobColumns:
    """Return the columns of *rows*, which are those that ioopt writes.

    Raises one of ``UNUSUAL`` for rows that :func:`read_rows` has to judge.
    """
    of_jobs = rows.take("io")
    first = labels(NodeNumber, rows.take("first_node"))
    requests = Objects([*chain.from_iterable(of_jobs)])
    rates = requests.take_optional("rates")
    spans = [*chain.from_iterable(part for part in rates if part is not None)]
    lists = [*of_jobs, *(part for part in rates if part is not None), *spans]
    if not set(map(type, lists)) <= {list} or not set(map(len, spans)) <= {3}:
        raise ValueError("requests or rates are no lists")
    found = JobColumns(
        ids=names(rows.take("id")),
        start=numbers(Real, rows.take("start_seconds")),
        end=numbers(Real, rows.take("end_seconds")),
        killed=np.array(rows.take_truths("killed"), bool),
        allocated=labels(Count, rows.take("allocated_nodes")),
        first_node=np.array([NO_NODE if k is None else k for k in first], np.int64),
        nodes=None,
        offset=offsets([*map(len, of_jobs)]),
        phase=numbers(Count, requests.take("phase")),
        request=numbers(Real, requests.take("request_seconds")),
        grant=reals_or_nan(Real, requests.take("first_grant_seconds")),
        finish=reals_or_nan(Real, requests.take("finish_seconds")),
        timed=np.array([part is not None for part in rates], bool),
        edges=offsets([len(part or ()) for part in rates]),
        spans=numbers(Real, [*chain.from_iterable(spans)]).reshape(-1, 3),
    )
    rows.keys += requests.keys
    return found


@dataclass(frozen=True)
class Table:
    """The jobs of a schedule in the order of the instance, with what the instance says
    of them.

    ``submit`` and ``walltime`` are in seconds. ``nodes`` and ``peak`` are a job's legal
    allocation and its peak rate in bytes/s (rules 5 and 24). The phases of job k are
    the items from ``offset[k]`` to ``offset[k + 1] - 1`` of ``seconds`` (of computing),
    ``volumes`` (bytes, after the expansion factor was applied) and ``repeat``.
    ``compute`` and ``volume`` have an item for each repetition; those of job k are the
    items from ``first_phase[k]`` to ``first_phase[k + 1] - 1``. Requests and spans are
    those of the schedule; ``owner`` is the job of each request.
    """

    ids: Sequence[JobId]
    submit: Floats
    walltime: Floats
    asked_nodes: Ints
    rows: JobColumns
    nodes: Ints
    peak: Floats
    offset: Ints
    seconds: Floats
    volumes: Floats
    repeat: Ints

    @classmethod
    def of(cls, terms: Terms, rows: JobColumns) -> tuple[Table, list[Violation]]:
        """Return the table, and a violation for each job that is unknown, missing, or
        stands in *rows* twice.
        """
        problem = terms.problem
        columns = jobs_of(problem)
        order, found = _matched(columns.ids, rows.ids)
        jobs = np.array([k for k, _ in order], np.int64)
        places = [place for _, place in order]
        if places != list(range(len(rows))):
            rows = rows.taken(np.array(places, np.int64))
        offset, phases = parts_taken(columns.offset, jobs)
        return cls(
            ids=[columns.ids[k] for k, _ in order],
            submit=columns.submit[jobs],
            walltime=columns.walltime[jobs],
            asked_nodes=columns.nodes[jobs],
            rows=rows,
            nodes=columns.allocated_nodes(problem.machine)[jobs],
            peak=columns.peak(problem.machine)[jobs],
            offset=offset,
            seconds=columns.seconds[phases],
            volumes=columns.volume[phases] * terms.ef,
            repeat=columns.repeat[phases],
        ), found

    def __len__(self) -> int:
        return len(self.ids)

    def blocks(self) -> Iterator[Table]:
        """Yield the jobs in blocks, so that columns of phases need little memory."""
        parts = [*blocks(self.first_phase)]
        if len(parts) <= 1:
            yield self
            return
        for part in parts:
            steps = slice(int(self.offset[part.start]), int(self.offset[part.stop]))
            yield Table(
                ids=self.ids[part],
                submit=self.submit[part],
                walltime=self.walltime[part],
                asked_nodes=self.asked_nodes[part],
                rows=self.rows.taken(np.arange(part.start, part.stop)),
                nodes=self.nodes[part],
                peak=self.peak[part],
                offset=self.offset[part.start : part.stop + 1] - steps.start,
                seconds=self.seconds[steps],
                volumes=self.volumes[steps],
                repeat=self.repeat[steps],
            )

    @cached_property
    def first_phase(self) -> Ints:
        """Return where the phases of each job begin, and their number."""
        return offsets(self.repeat)[self.offset]

    @cached_property
    def compute(self) -> Floats:
        """Return the seconds of computing of each phase."""
        return np.repeat(self.seconds, self.repeat)

    @cached_property
    def volume(self) -> Floats:
        """Return the bytes of each phase."""
        return np.repeat(self.volumes, self.repeat)

    @cached_property
    def owner(self) -> Ints:
        """Return the job of each request."""
        return self.rows.owner

    @cached_property
    def slack(self) -> Floats:
        """Return the tolerance for the times of each job in seconds: that of rule 2 at
        both ends, plus the rounding of sums.
        """
        return SLACK_SECONDS + 64 * np.spacing(np.abs(self.rows.end))

    @cached_property
    def ideal(self) -> Floats:
        """Return the seconds that each job runs without congestion (rule 22)."""
        return np.concatenate([_ideal(part) for part in self.blocks()])

    @cached_property
    def asked(self) -> Floats:
        """Return the bytes of the phase of each request; NaN if there is no such
        phase.
        """
        return np.concatenate([_asked(part) for part in self.blocks()])

    @cached_property
    def last(self) -> Floats:
        """Return the time at which each request ends, finished or not, in seconds."""
        finish = self.rows.finish
        return np.where(np.isnan(finish), self.rows.end[self.owner], finish)

    @cached_property
    def share(self) -> Ints:
        """Return the request of each span."""
        return np.repeat(np.arange(len(self.owner)), np.diff(self.rows.edges))

    def name(self, job: int) -> JobId:
        """Return the id of a job."""
        return self.ids[job]


def _asked(table: Table) -> Floats:
    """Return the bytes of the phase of each request; NaN if there is no such phase."""
    phase = table.rows.phase
    exists = (phase >= 0) & (phase < np.diff(table.first_phase)[table.owner])
    place = np.where(exists, table.first_phase[table.owner] + phase, 0)
    if not len(table.volume):
        return np.full(len(phase), math.nan)
    return np.where(exists, table.volume[place], math.nan)


def _ideal(table: Table) -> Floats:
    """Return the seconds that each job runs without congestion, from its phases."""
    owner = np.repeat(np.arange(len(table)), np.diff(table.first_phase))
    seconds = table.compute + table.volume / table.peak[owner]
    return sums(seconds, table.first_phase[:-1])


def marked(flags: Flags) -> list[int]:
    """Return the indices of the items that are true."""
    found: list[int] = np.flatnonzero(flags).tolist()
    return found


def sums(values: Floats, first: Ints) -> Floats:
    """Return the sum of each part of *values*; *first* are the indices at which the
    parts begin. No part is empty.
    """
    if not len(first):
        return np.zeros(0)
    return np.add.reduceat(values, first)


def parts_of(table: Table) -> tuple[Ints, Ints]:
    """Return the part of each phase, and the first phase of each part. A part ends with
    a phase with I/O, or with its job.
    """
    opens = np.zeros(len(table.volume) + 1, bool)
    opens[table.first_phase[:-1]] = True
    opens[np.flatnonzero(table.volume > 0) + 1] = True
    return np.cumsum(opens[:-1]) - 1, np.flatnonzero(opens[:-1])


def _matched(
    known: Sequence[JobId], ids: Sequence[JobId]
) -> tuple[list[tuple[int, int]], list[Violation]]:
    """Pair the index of each job, whose ids are *known*, with that of its row, in the
    order of the jobs; return the pairs and the violations found.
    """
    found: list[Violation] = []
    index = {name: k for k, name in enumerate(known)}
    rows: dict[int, int] = {}
    for place, name in enumerate(ids):
        k = index.get(name)
        if k is None:
            text = "the instance has no such job"
            found.append(violation("unknown-job", str(name), text))
        elif k in rows:
            text = "stands twice in the schedule"
            found.append(violation("job-twice", str(name), text))
        else:
            rows[k] = place
    for name, k in index.items():
        if k not in rows:
            found.append(violation("job-missing", str(name), "is not in the schedule"))
    return sorted(rows.items()), found
