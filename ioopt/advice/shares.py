"""What the starts in a log say of its queue before anything is simulated."""

from __future__ import annotations

from collections import deque
from datetime import datetime, tzinfo
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from ioopt.advice.queue import Floats, Ints, Jobs, Span
from ioopt.advice.site import WEEK, Window

Truths = NDArray[np.bool_]
SOON = 60.0
"""A start so many seconds after an end follows it."""
OUTAGE = 4 * 3600.0
CLOSED, ENOUGH, FEW = 0.1, 100, 10
"""A window: starts over submissions are fewer than the first, of at least so many, and so many an hour."""
CLASSES = (0.0, 1.0, 2.0, 4.0, 8.0, 12.0, 24.0)
"""Hours asked for, above which a window may hold."""
EDGE_HOURS = (0.5, 8.0)
"""Whether jobs end before an edge is read off those that ask for so much."""


class Usage:
    """The processors in use over time, by the starts and ends in the log."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs, known = jobs, ~np.isnan(jobs.begin)
        begin, units = jobs.begin[known], jobs.units[known]
        times = np.concatenate([begin + jobs.run[known], begin])
        order = np.argsort(times, kind="stable")  # ends before starts
        self.times = times[order]
        self.busy = np.cumsum(np.concatenate([-units, units])[order])

    def most(self, share: float = 0.99) -> int:
        """The processors in use in all but the busiest 1 - *share* of the time that any are."""
        order = np.argsort(self.busy[:-1])
        spent = np.cumsum((np.diff(self.times) * (self.busy[:-1] > 0))[order])
        return int(self.busy[order][np.searchsorted(spent, share * spent[-1])])

    def with_room(self, processors: int) -> Floats:
        """Of each job the seconds of its wait while at least its processors of all were idle."""
        jobs, found = self.jobs, np.zeros(len(self.jobs))
        idle = processors - self.busy
        for j in np.flatnonzero(jobs.wait > 0):
            submit, begin, units = jobs.submit[j], jobs.begin[j], jobs.units[j]
            low, high = np.searchsorted(self.times, (submit, begin))
            times = np.concatenate(([submit], self.times[low:high], [begin]))
            before = idle[low - 1 : high] if low else np.append(processors, idle[:high])
            found[j] = np.diff(times) @ (before >= units)
        return found

    def outages(self) -> tuple[Span, ...]:
        """Spans of more than four hours in which nothing runs though a job waits."""
        idle = np.flatnonzero((self.busy[:-1] <= 0) & (np.diff(self.times) > OUTAGE))
        spans = [(float(self.times[k]), float(self.times[k + 1])) for k in idle]
        jobs = self.jobs
        waits = lambda a, b: np.any((jobs.submit < b - OUTAGE) & (jobs.begin >= b))  # noqa: E731
        return tuple((a, b, False) for a, b in spans if waits(a, b))


def after_own_end(jobs: Jobs) -> float:
    """Of the starts after a wait, the share within a minute of an end of a job of the same user."""
    waited = np.flatnonzero(jobs.wait > SOON)
    ends = jobs.begin + jobs.run
    hits = 0
    for user in np.unique(jobs.user[waited]):
        own = np.sort(ends[(jobs.user == user) & ~np.isnan(ends)])
        starts = jobs.begin[waited[jobs.user[waited] == user]]
        at = np.searchsorted(own, starts, side="right")
        hits += int(np.sum((at > 0) & (starts - own[np.maximum(at - 1, 0)] <= SOON)))
    return hits / max(len(waited), 1)


def recent_waits(jobs: Jobs) -> Floats:
    """For each job the mean of its user's last three waits that were known at its submission.

    Of a user without any: that of all waits known then; 0 for the first jobs.
    """
    found = np.zeros(len(jobs))
    open_: list[tuple[float, int]] = []
    last: dict[int, deque[float]] = {}
    total, count = 0.0, 0
    for j in range(len(jobs)):
        while open_ and open_[0][0] <= jobs.submit[j]:
            _, k = heappop(open_)
            last.setdefault(int(jobs.user[k]), deque(maxlen=3)).append(jobs.wait[k])
            total, count = total + jobs.wait[k], count + 1
        own = last.get(int(jobs.user[j]))
        found[j] = np.mean(own) if own else total / max(count, 1)
        if jobs.wait[j] >= 0:
            heappush(open_, (float(jobs.begin[j]), j))
    return found


def read_windows(jobs: Jobs, zone: tzinfo) -> list[Window]:
    """Windows that the starts in the log follow, on weekdays and at weekends.

    Closed hours, the longest span: hardly a start, many submissions, of jobs above a length. Edges:
    hours that hardly a job runs across by its walltime, though as many could as end before it.
    """
    submit = _local(jobs.zero + jobs.submit, zone)
    begin = _local(jobs.zero + np.nan_to_num(jobs.begin), zone)
    known, hours, found = ~np.isnan(jobs.begin), jobs.length / 3600, list[Window]()
    some = known & (hours > EDGE_HOURS[0]) & (hours <= EDGE_HOURS[1])
    for first, last in ((0, 5), (5, 7)):
        free = known.copy()
        for edge in range(24):
            left, on = _until(edge, begin, first, last)
            across = np.sum(some & on & (left < hours))
            before = np.sum(some & on & (left >= hours) & (left < 2 * hours))
            if before >= ENOUGH and across < CLOSED * before:
                found.append(
                    Window(from_hour=edge, to_hour=edge, days=WEEK[first:last], drain=True)
                )
                left, on = _until(edge, submit, first, last)
                free &= ~on | (left >= hours)
        closed = []
        for over in CLASSES:
            asked, started = (
                np.bincount(
                    hour[which & (days >= first) & (days < last) & (hours > over)].astype(int),
                    minlength=24,
                )
                for which, (days, hour) in ((free, submit), (known, begin))
            )
            closed += [(a - b, over, a, b) for a, b in _closed(asked, started)]
        found += [
            Window(from_hour=a, to_hour=b, days=WEEK[first:last], over_hours=over)
            for _, over, a, b in sorted(closed)[:1]
        ]
    return found


def _until(edge: int, at: tuple[Ints, Floats], first: int, last: int) -> tuple[Floats, Truths]:
    """Hours from a time on to the next *edge*, and whether that is on one of the days *first* to *last*."""
    day = (at[0] + (at[1] >= edge)) % 7
    return 24 - (at[1] - edge) % 24, (day >= first) & (day < last)


def _closed(asked: Ints, started: Ints) -> list[tuple[int, int]]:
    """Spans of two hours or more, of the day's 24, in which few start of many submitted."""
    quiet = np.append((asked >= FEW) & (started < CLOSED * asked), False)
    edges = np.flatnonzero(np.diff(np.append(False, quiet).astype(int)))
    return [
        (int(a), int(b))
        for a, b in zip(edges[::2], edges[1::2])
        if b - a > 1 and asked[a:b].sum() >= ENOUGH
    ]


def _local(seconds: Floats, zone: tzinfo) -> tuple[Ints, Floats]:
    """Day of the week (Monday: 0) and hour on the clock of *zone*."""
    known = [datetime.fromtimestamp(second, zone) for second in seconds]
    day = np.array([moment.weekday() for moment in known])
    return day, np.array([moment.hour + moment.minute / 60 for moment in known])
