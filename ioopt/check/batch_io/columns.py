"""A schedule as arrays: the jobs that break no rule of one job alone, found all at once.

What is *plain* here passes every check of :mod:`ioopt.check.batch_io.check` that looks at one job; the
rest goes through those, one by one, which also word the violations.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain, pairwise
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from ioopt.check.batch_io.terms import SLACK_SECONDS, Figures, JobView, Terms
from ioopt.check.pipes import Load
from ioopt.problems.base import Json

RELATIVE = 1e-9
Array = Any
"""An array of numpy, whose operators have no types of their own."""


class Spans(NamedTuple):
    """Spans at a constant rate: seconds, bytes per second, and whether a stream's (rule 41)."""

    since: Array
    until: Array
    rate: Array
    peak: Array
    stream: Array


def plain_columns(terms: Terms, rows: list[Json]) -> Columns | None:
    """The *rows* as arrays; None where they are not the instance's jobs in their order, hold a
    value that is no number, or where a burst buffer adds streams; None without any.
    """
    try:
        return None if terms.problem.machine.burst_buffer or not rows else Columns(terms, rows)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        return None


def _numbers(values: list[Any], *others: type) -> Array:
    """Finite *values*, NaN for None where that is one of the *others* that may stand there."""
    kinds = set(map(type, values))
    if not kinds <= {float, int, *others}:
        raise TypeError("not all of these are numbers")
    found = np.array(values, dtype=float)
    absent = 0 if type(None) not in kinds else values.count(None)
    if np.count_nonzero(np.isfinite(found)) + absent != len(found):
        raise ValueError("not all of these are finite")
    return found


class Columns:
    """Arrays by job, by record of I/O (``owner`` is its job), by phase and by span of a rate."""

    def __init__(self, terms: Terms, rows: list[Json]) -> None:
        problem = terms.problem
        self.terms, self.rows, self.jobs = terms, rows, problem.jobs
        if [row["id"] for row in rows] != [job.id for job in self.jobs]:
            raise ValueError("other jobs, or in another order")
        if any("released_seconds" in row or row.get("streams") for row in rows):
            raise ValueError("streams")
        sizes = [problem.machine.allocated_nodes(job.nodes) for job in self.jobs]
        self.nodes = np.array(sizes)
        self.peak = np.array([terms.peaks(job, n)[0] for job, n in zip(self.jobs, sizes)])
        self.submit = np.array([job.submit_seconds for job in self.jobs])
        self.start = _numbers([row["start_seconds"] for row in rows])
        self.end = _numbers([row["end_seconds"] for row in rows])
        self.killed = np.array([bool(row["killed"]) for row in rows], dtype=bool)
        self.slack = SLACK_SECONDS + 64 * np.spacing(np.abs(self.end))
        self._read_phases()
        self._read_records()

    def _read_phases(self) -> None:
        pieces = [phase for job in self.jobs for phase in job.phases]
        repeat = [phase.repeat for phase in pieces]
        self.compute = np.repeat([phase.compute_seconds for phase in pieces], repeat)
        self.volume = np.repeat([phase.io_bytes * self.terms.ef for phase in pieces], repeat)
        counts = [job.num_phases for job in self.jobs]
        self.first = np.concatenate([[0], np.cumsum(counts, dtype=int)])
        self.job_of = np.repeat(np.arange(len(counts)), counts)

    def _read_records(self) -> None:
        records: list[Json] = list(chain.from_iterable(row["io"] for row in self.rows))
        self.held = np.array([len(row["io"]) for row in self.rows], dtype=int)
        self.owner = np.repeat(np.arange(len(self.rows)), self.held)
        phases = [record["phase"] for record in records]
        if not set(map(type, phases)) <= {int}:
            raise TypeError("a phase is no whole number")
        self.phase = np.array(phases, dtype=int)
        self.request = _numbers([record["request_seconds"] for record in records])
        self.grant = _numbers([record["first_grant_seconds"] for record in records], type(None))
        self.finish = _numbers([record["finish_seconds"] for record in records], type(None))
        self.ended = ~np.isnan(self.finish)
        self.last = np.where(self.ended, self.finish, self.end[self.owner])
        rates = [record.get("rates") for record in records]
        self.recorded = np.array([spans is not None for spans in rates], dtype=bool)
        self.spans_of = np.array([len(spans or ()) for spans in rates], dtype=int)
        spans = list(chain.from_iterable(filter(None, rates)))
        if not set(map(len, spans)) <= {3}:
            raise ValueError("a span is no triple")
        triples = _numbers(list(chain.from_iterable(spans))).reshape(-1, 3)
        self.since, self.until, self.rate = triples.T.copy()
        self.record_of = np.repeat(np.arange(len(records)), self.spans_of)

    @cached_property
    def place(self) -> Array:
        """The place of each record's phase among all phases; of one that there is not the last."""
        known = (self.phase >= 0) & (self.phase < np.diff(self.first)[self.owner])
        return np.where(known, self.first[self.owner] + self.phase, -1)

    @cached_property
    def plain(self) -> Array:
        """Which jobs break no rule of one job alone; killed jobs are not told."""
        matched, records, places = self._matched()
        bad = ~matched | self._broken_times()
        bad[self.owner[self._broken_records()]] = True
        bad[self.owner[records[self._late(records, places)]]] = True
        ends = np.where(self.volume > 0, self._finishes, self._due)[self.first[1:] - 1]
        return ~bad & (np.abs(self.end - ends) <= self.slack)

    def _matched(self) -> tuple[Array, Array, Array]:
        """Jobs with one record for each phase with I/O; their records, and the places of those."""
        asks = self.volume > 0
        count = np.bincount(self.job_of, asks, len(self.jobs)).astype(int)
        matched = ~self.killed & (self.held == count)
        records = np.flatnonzero(matched[self.owner])
        places = np.flatnonzero(asks & matched[self.job_of])
        wrong = self.place[records] != places
        matched[self.owner[records[wrong]]] = False
        return matched, records[~wrong], places[~wrong]

    @cached_property
    def _finishes(self) -> Array:
        _, records, places = self._matched()
        finishes = np.full(len(self.volume), np.nan)
        finishes[places] = self.finish[records]
        return finishes

    @cached_property
    def begins(self) -> Array:
        """When each phase begins by the records before it; NaN where they do not say."""
        begins = np.full(len(self.volume), np.nan)
        begins[1:] = np.where(self.volume[:-1] > 0, self._finishes[:-1], np.nan)
        begins[self.first[:-1]] = self.start
        after_none = np.flatnonzero(self.volume[:-1] <= 0) + 1  # phases after one without I/O
        after_none = after_none[~np.isin(after_none, self.first[:-1])]
        for _ in range(64):
            open_ = after_none[np.isnan(begins[after_none])]
            if not len(open_):
                break
            begins[open_] = begins[open_ - 1] + self.compute[open_ - 1]
        return begins

    @cached_property
    def _due(self) -> Array:
        return self.begins + self.compute

    def _late(self, records: Array, places: Array) -> Array:
        """Rules 3, 5 and 9: requests not at the end of their compute, or sooner than at the peak."""
        slack, request = self.slack[self.owner[records]], self.request[records]
        least = self.volume[places] / self.peak[self.owner[records]]
        right = np.abs(request - self._due[places]) <= slack
        right &= self.finish[records] >= request + least - slack - least * RELATIVE
        return ~right

    def _broken_times(self) -> Array:
        """Jobs whose own times, allocation or walltime may be wrong (rules 18, 21, 32)."""
        machine, rows, options = self.terms.problem.machine, self.rows, self.terms.problem.options
        bad = (self.start < self.submit - self.slack) | (self.end < self.start)
        if options.kill:
            limit = self.start + np.array([job.walltime_seconds for job in self.jobs])
            bad |= self.end > limit + self.slack
        stated = _numbers([row.get("allocated_nodes") for row in rows], type(None))
        bad |= ~np.isnan(stated) & (stated != self.nodes)
        bad |= np.array(["allocated_nodes" in row for row in rows]) & np.isnan(stated)
        bad |= np.array([row.get("nodes") is not None for row in rows], dtype=bool)
        here = ~np.isnan(self.block)
        if machine.allocation == "flat":
            return bad | here
        inside = (self.block >= 0) & (self.block <= machine.nodes - self.nodes)
        return bad | (here & (~inside | (np.nan_to_num(self.block) % self.nodes != 0)))

    @cached_property
    def block(self) -> Array:
        """The first node of each job's partition, NaN where it says none."""
        return _numbers([row.get("first_node") for row in self.rows], type(None))

    def _broken_records(self) -> Array:
        """Records whose grant or rates may be wrong: the rules of ``check_grants``, ``check_rates``."""
        slack, peak = self.slack[self.owner], self.peak[self.owner]
        granted = ~np.isnan(self.grant)
        inside = (self.request - slack <= self.grant) & (self.grant <= self.last + slack)
        bad = np.where(granted, ~inside, self.ended)
        head = np.cumsum(self.spans_of) - self.spans_of
        some = np.flatnonzero(self.spans_of)
        bad[some] |= ~(np.abs(self.since[head[some]] - self.grant[some]) <= slack[some])
        of, before = self.record_of, np.empty_like(self.until)
        before[1:] = self.until[:-1]
        before[head[some]] = self.request[some]
        wrong = (self.since < before - slack[of]) | (self.until < self.since)
        wrong |= self.until > self.last[of] + slack[of]
        wrong |= (self.rate < 0) | (self.rate > peak[of] * (1 + RELATIVE))
        terms = self.terms
        if (terms.policy or "").startswith("cons-") and not terms.top and not terms.scaled:
            wrong |= self.rate < peak[of] * (1 - RELATIVE)
        bad[of[wrong]] = True
        volume = self.volume[self.place]
        moved = np.bincount(of, (self.until - self.since) * self.rate, len(volume))
        rounding = RELATIVE * volume + peak * slack
        off = (moved > volume + rounding) | (self.ended & (moved < volume - rounding))
        return bad | (self.recorded & off)

    def crowded(self) -> bool:
        """Whether nodes may be used twice at once (rules 18 and 32)."""
        runs = np.flatnonzero(self.end - self.start > self.slack)
        since, until, nodes = (self.start + self.slack)[runs], self.end[runs], self.nodes[runs]
        time = np.concatenate([until, since])
        order = np.argsort(time, kind="stable")  # at one instant what ends goes first
        if np.cumsum(np.concatenate([-nodes, nodes])[order]).max(initial=0) > self._machine_nodes:
            return True
        if any(row.get("nodes") is not None for row in self.rows):
            return True
        unit = self.terms.problem.machine.unit_nodes
        placed = ~np.isnan(self.block[runs])
        wide = np.where(placed, -(-nodes // unit), 0)
        which = np.repeat(np.arange(len(runs)), wide)
        step = np.arange(len(which)) - np.repeat(np.cumsum(wide) - wide, wide)
        cell = np.nan_to_num(self.block[runs])[which] + step * unit
        order = np.lexsort((since[which], cell))
        cell, which = cell[order], which[order]
        again = cell[1:] == cell[:-1]
        return bool((again & (since[which[1:]] < until[which[:-1]])).any())

    @property
    def _machine_nodes(self) -> int:
        return self.terms.problem.machine.nodes

    def unprompted(self) -> bool:
        """Whether a job may start when none arrives or ends (rule 1)."""
        times = np.sort(np.concatenate([self.submit, self.end]))
        near = np.searchsorted(times, self.start - self.slack)
        return bool((np.append(times, np.inf)[near] > self.start + self.slack).any())

    def spans(self) -> Spans:
        """All spans at a rate above 0."""
        some = self.rate > 0
        peak = self.peak[self.owner[self.record_of[some]]]
        stream = np.zeros(len(peak), dtype=bool)
        return Spans(self.since[some], self.until[some], self.rate[some], peak, stream)

    def loads(self) -> Iterator[Load]:
        """What went through the storage, where a request does not say at what rates."""
        if self.recorded.all():
            return
        ended = np.flatnonzero(self.ended)
        begin = np.where(np.isnan(self.grant), self.request, self.grant)[ended].tolist()
        jobs, volume = self.owner[ended].tolist(), self.volume[self.place[ended]].tolist()
        for row in zip(begin, self.finish[ended].tolist(), volume, jobs):
            yield Load(*row[:3], self.jobs[row[3]].id)

    def figures(self, views: dict[int, JobView]) -> Figures:
        """What the metrics are made of; *views* are the jobs that are not plain, by their place."""
        work = (self.compute + self.volume / self.peak[self.job_of]).tolist()
        first = self.first.tolist()
        late = self.finish - self.request - self.volume[self.place] / self.peak[self.owner]
        delays, until = late[self.ended].tolist(), np.concatenate([[0], np.cumsum(self.held)])
        until = np.concatenate([[0], np.cumsum(self.ended)])[until].tolist()
        ends = self.end.tolist()  # without a burst buffer nodes and buffer are free then
        return Figures(
            submits=self.submit.tolist(), starts=self.start.tolist(), ends=ends, freed=ends,
            released=ends, nodes=self.nodes.tolist(),
            ideals=[fsum(work[a:b]) for a, b in pairwise(first)],
            delays=[fsum(delays[a:b]) for a, b in pairwise(until)],
            recorded=bool(self.recorded.all()), useful=self._useful,
            views=views,
        )  # fmt: skip

    def _useful(self, begin: float, end: float) -> list[tuple[float, float]]:
        """Least and most seconds of uncongested work of each plain job inside the window."""

        def inside(since: Array, until: Array) -> Array:
            within: Array = np.minimum(until, end) - np.maximum(since, begin)
            return np.maximum(within, 0.0, out=within)

        jobs, peak = len(self.jobs), self.peak[self.owner]
        begins = np.nan_to_num(self.begins)
        until = np.minimum(begins + self.compute, self.end[self.job_of])
        compute = np.bincount(self.job_of, inside(begins, until), jobs)
        moved = inside(self.since, self.until) * self.rate / peak[self.record_of]
        known = np.bincount(self.record_of, moved, len(peak))
        work, within = self.volume[self.place] / peak, inside(self.request, self.last)
        sure = np.where(self.ended, work, 0.0)
        least = np.maximum(0.0, sure - (self.last - self.request - within))
        least = np.where(self.recorded, known, least)
        most = np.where(self.recorded, known, np.minimum(work, within))
        sides = [compute + np.bincount(self.owner, side, jobs) for side in (least, most)]
        return list(zip(*(side.tolist() for side in sides)))
