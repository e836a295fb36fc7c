"""What the starts in a log say of its queue before anything is simulated."""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ioopt.advice.queue import Jobs
from ioopt.advice.site import DAYS, Window
from ioopt.formats.job_log import in_use

if TYPE_CHECKING:
    from ioopt.compiled import Floats, Ints

SOON = 60.0
"""A start so many seconds after an end follows it."""
CLOSED, ENOUGH, FEW = 0.1, 100, 10
"""A window: starts over submissions are fewer than the first, of at least so many,
and so many an hour.
"""
CLASSES = (0.0, 1.0, 2.0, 4.0, 8.0, 12.0, 24.0)
"""Hours asked for, above which a window may hold."""
APART = 1e11
"""Seconds between the times of one user and of the next, where those of
all are in one array.
"""


def usual_most(begin: Floats, run: Floats, units: Ints, share: float = 0.99) -> int:
    """The most units in use in all but the busiest 1 - *share* of
    the time that any are.
    """
    times, busy = in_use(begin, begin + run, units)
    order = np.argsort(busy)
    spent = np.cumsum((np.diff(times, append=times[-1:]) * (busy > 0))[order])
    return (
        int(busy[order][np.searchsorted(spent, share * spent[-1])]) if len(spent) else 0
    )


def most_at_once(jobs: Jobs, begin: Floats, units: Ints) -> Ints:
    """Of each user the most units in use if jobs begin then, a two
    hundredth of the time aside.
    """
    last = np.cumsum(np.bincount(jobs.user))[:-1]
    of_each = np.split(np.argsort(jobs.user, kind="stable"), last)
    return np.array(
        [usual_most(begin[of], jobs.run[of], units[of], 0.995) for of in of_each]
    )


def with_room(jobs: Jobs, processors: int) -> Floats:
    """Of each job the seconds of its wait while at least its processors of all
    were idle; nan: unknown.
    """
    times, busy = in_use(jobs.begin, jobs.begin + jobs.run, jobs.units)
    times, busy = np.append(0.0, times), np.append(0, busy)
    found = np.full(len(jobs), np.nan)
    for units in np.unique(jobs.units):
        spent = np.cumsum(np.diff(times) * (busy[:-1] <= processors - units))
        of = jobs.units == units
        at = np.array([jobs.submit[of], jobs.begin[of]])
        found[of] = np.diff(np.interp(at, times, np.append(0.0, spent)), axis=0)[0]
    return found


def after_own_end(jobs: Jobs) -> float:
    """Of the starts after a wait, the share within a minute of an end of a
    job of the same user.
    """
    begin = APART * jobs.user + jobs.begin
    ends = np.append(-np.inf, np.sort(begin + jobs.run))
    starts = begin[jobs.wait > SOON]
    last = ends[np.searchsorted(ends, starts, side="right") - 1]
    return float(np.sum(starts - last <= SOON)) / max(len(starts), 1)


def recent_waits(jobs: Jobs) -> Floats:
    """For each job the mean of its user's last three waits that were
    over at its submission.

    Of a user without any: that of all waits over then; 0 for the first jobs.
    """
    own = _mean_before(jobs, 3, APART)
    found = np.where(np.isnan(own), _mean_before(jobs, len(jobs), 0.0), own)
    return np.nan_to_num(found)


def _mean_before(jobs: Jobs, most: int, apart: float) -> Floats:
    """The mean of the last *most* waits over at each submission, of users *apart*
    by so much; nan: none.
    """
    offset = apart * jobs.user
    order = np.argsort(offset + jobs.begin)[: int(np.sum(~np.isnan(jobs.begin)))]
    total = np.append(0.0, np.cumsum(jobs.wait[order]))
    begin = (offset + jobs.begin)[order]
    to = np.searchsorted(begin, offset + jobs.submit)
    since = np.maximum(np.searchsorted(begin, offset), to - most)
    return np.where(
        to > since, (total[to] - total[since]) / np.maximum(to - since, 1), np.nan
    )


def read_windows(jobs: Jobs, zone: tzinfo) -> list[Window]:
    """Windows that the starts in the log follow, on weekdays and at weekends.

    Closed are hours with hardly a start and many submissions of jobs above a
    length; the longest span.
    """
    submit, begin = (
        local(jobs.zero + times, zone) for times in (jobs.submit, jobs.begin)
    )
    found = []
    for first, last in ((0, 5), (5, 7)):
        closed = []
        for over in CLASSES:
            asked, started = (
                np.bincount(
                    at.hour[
                        (at.day_of_week >= first)
                        & (at.day_of_week < last)
                        & (jobs.length > 3600 * over)
                    ].astype(int),
                    minlength=24,
                )
                for at in (submit, begin)
            )
            closed += [(a - b, over, a, b) for a, b in _closed(asked, started)]
        found += [
            Window(from_hour=a, to_hour=b, days=DAYS[first:last], over_hours=over)
            for _, over, a, b in sorted(closed)[:1]
        ]
    return found


def _closed(asked: Ints, started: Ints) -> list[tuple[int, int]]:
    """Spans of two hours or more, of the day's 24, in which few
    start of many submitted.
    """
    quiet = np.append((asked >= FEW) & (started < CLOSED * asked), False)
    edges = np.flatnonzero(np.diff(np.append(False, quiet).astype(int)))
    return [
        (int(a), int(b))
        for a, b in zip(edges[::2], edges[1::2])
        if b - a > 1 and asked[a:b].sum() >= ENOUGH
    ]


def local(seconds: Floats, zone: tzinfo) -> pd.DatetimeIndex:
    """Times on the clock of *zone*."""
    return pd.to_datetime(seconds, unit="s", utc=True).tz_convert(zone)
