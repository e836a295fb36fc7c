"""Whether the waits of a log can be reproduced: a queue fitted to its first half, judged on the second.

Advice on waits rests on the queue. So the fit comes first, and refuses where the queue that it can
calibrate does not give the waits of jobs that it has not seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy.stats import rankdata

from ioopt.advice.queue import DEPTHS, Floats, Ints, Jobs, Rules, clock
from ioopt.advice.shares import Usage, after_own_end, read_windows, recent_waits
from ioopt.advice.site import Site
from ioopt.compiled.choice import use_machine_code
from ioopt.errors import InstanceError
from ioopt.formats.report import some
from ioopt.formats.swf.log import SwfTrace
from ioopt.options import Deadline
from ioopt.problems.base import Json

WEEK = 7 * 86400.0
MISSING, FEWEST_WEEKS, BLOCK_ERROR, KNOWN = 0.1, 4, 0.2, 0.9
"""Refused before: more of the job ids missing, fewer weeks, a larger error of the mean, fewer known waits."""
RATIOS, RANK, WEEKLY, MEANS = (0.83, 1.2), 0.6, 0.8, 0.9
"""What the unseen half must come to."""
FEWEST = 20
"""Jobs of a week, and of a cell, that its mean is taken of."""
STEPS = 5
"""Bisections of the capacity; each kind of backfilling has its own."""
MUCH = 0.3
"""A share of waiting from which on it is the reason that is told."""
PROMPT = 1800.0
"""Waits with room enough and below this are the delay of the scheduler."""
PLAIN_SECONDS = 5e-3
"""What the whole fit takes in plain Python, a job."""
PLANTED = (
    "Of 112 planted queues of known rules 35 of 48 that a fit can express passed, and 5 of 64 others; "
    "all 40 had the sign of a change of order right."
)
"""What tests with queues of known rules say of a fit that passes: ``scripts/bench.py fit``."""


@dataclass(frozen=True)
class Fit:
    """What a fit found; figures are None where it did not come to them.

    ``ratio`` is the simulated mean wait over the logged one, ``rank`` the rank correlation of both,
    ``recent`` that of the mean of the user's last three waits, ``weekly`` the correlation of weekly
    means, ``cells`` that of means by size and length, ``users`` by user; all of the unseen half.
    ``with_room`` and ``two_users`` are shares of all waiting: while enough processors were idle, and
    of the two users who wait most; ``own_end`` is the share of starts after a wait that follow within
    a minute an end of the same user. ``exact``: ``options`` (of the batch-io queue) and ``processors``
    say the whole queue.
    """

    status: Literal["refused-before", "refused", "passed"]
    reason: str
    logged_seconds: float | None = None
    simulated_seconds: float | None = None
    ratio: float | None = None
    rank: float | None = None
    recent: float | None = None
    weekly: float | None = None
    cells: float | None = None
    users: float | None = None
    with_room: float | None = None
    two_users: float | None = None
    own_end: float | None = None
    knobs: tuple[str, ...] = ()
    options: Json = field(default_factory=dict)
    processors: int | None = None
    exact: bool = False
    job_ids: tuple[int, ...] = ()
    rules: Rules | None = field(default=None, repr=False)
    jobs: Jobs | None = field(default=None, repr=False, compare=False)
    fast: bool = field(default=False, repr=False, compare=False)

    def starts(self, run_seconds: Sequence[float] | None = None) -> list[float]:
        """Starts of ``job_ids`` in the calibrated queue by the log's clock, with other run times."""
        if self.rules is None or self.jobs is None:
            raise ValueError("no queue was calibrated: the log was refused before")
        run = None if run_seconds is None else np.array(run_seconds, float)
        found: list[float] = (
            self.rules.starts(self.jobs, run, self.fast) + self.jobs.first
        ).tolist()
        return found


def fit(log: SwfTrace, site: Site | None = None, deadline: Deadline | None = None) -> Fit:
    """Calibrate a queue on the first half of the jobs of *log*, judge it once on the second.

    What *site* says is not calibrated. The same log has the same answer, unless the *deadline* ends
    the calibration: then the best so far is judged.
    """
    site, deadline = site or Site(), deadline or Deadline(None)
    total = site.processors or log.machine_processors()[0]
    jobs = Jobs(log, total)
    why = _unfit(log, jobs)
    if why:
        mean = float(np.nanmean(jobs.wait)) if np.any(jobs.wait >= 0) else None
        return Fit("refused-before", f"{why} No advice on waits.", logged_seconds=mean)
    usage, zone, half = Usage(jobs), clock(log, site), jobs.head(len(jobs) // 2)
    room = usage.with_room(min(total, usage.most()))
    windows = () if site.windows else tuple(read_windows(half, zone))
    prompt = (room >= jobs.wait) & (jobs.wait < PROMPT)
    rules = Rules(
        site.model_copy(update={"windows": site.windows + windows}), zone, total,
        delay=float(np.median(jobs.wait[prompt])) if prompt.any() else 0.0, outages=usage.outages(),
    )  # fmt: skip
    fast = use_machine_code("queue", deadline, PLAIN_SECONDS * len(jobs))
    never = np.isnan(rules.starts(jobs, fast=fast))
    if never.any() and windows:  # what was read is not what lets jobs start
        rules = replace(rules, site=site)
        never = np.isnan(rules.starts(jobs, fast=fast))
    if never.any():
        which = some(jobs.listed[j].id for j in np.flatnonzero(never))
        raise InstanceError(f"the site's rules never let {int(never.sum())} jobs start: {which}")
    rules = _calibrated(half, rules, usage.most(), deadline, fast)
    figures = _judged(jobs, rules.starts(jobs, fast=fast) - jobs.submit)
    by_user = np.sort(np.bincount(jobs.user, np.nan_to_num(jobs.wait)))
    shares = {
        "with_room": float(room.sum() / by_user.sum()),
        "two_users": float(by_user[-2:].sum() / by_user.sum()), "own_end": after_own_end(jobs),
    }  # fmt: skip
    beyond = (rules.site.windows, site.limits, site.partitions, rules.outages, rules.delay)
    return Fit(
        "passed" if _passes(figures) else "refused", _reason(figures, shares), **figures, **shares,
        knobs=tuple(_knobs(rules, site, total)), options=_options(rules),
        processors=rules.processors, exact=not any(beyond),
        job_ids=tuple(job.id for job in jobs.listed), rules=rules, jobs=jobs, fast=fast,
    )  # fmt: skip


def _unfit(log: SwfTrace, jobs: Jobs) -> str:
    """Why nothing is simulated; empty where it is."""
    known = ~np.isnan(jobs.wait)
    if not len(jobs) or known.mean() < KNOWN or not np.nansum(jobs.wait):
        return f"The log records no waits: {int(known.sum())} of {len(jobs)} jobs have one."
    ids = np.unique([job.id for job in log.jobs])
    missing = 1 - len(ids) / (ids[-1] - ids[0] + 1)
    if missing > MISSING:
        return (
            f"{100 * missing:.0f} % of the job ids between the first and the last are missing: the "
            "queue held jobs that the log does not contain."
        )
    weeks = float(jobs.submit[-1]) / WEEK
    if weeks < FEWEST_WEEKS:
        return f"The log has {weeks:.1f} weeks; at least {FEWEST_WEEKS} are needed to fit and judge a queue."
    block = (jobs.submit[known] // WEEK).astype(int)
    waits, count = np.bincount(block, jobs.wait[known]), np.bincount(block)
    off = waits - count * waits.sum() / count.sum()
    error = math.sqrt(len(off) / (len(off) - 1) * float(off @ off)) / float(waits.sum())
    if error > BLOCK_ERROR:
        return (
            f"The mean wait differs so much from week to week that its error is {100 * error:.0f} %: "
            "no fit could be told from chance."
        )
    return ""


def _calibrated(half: Jobs, rules: Rules, peak: int, deadline: Deadline, fast: bool) -> Rules:
    """The capacity (of *peak* at least) and the backfilling whose waits are closest to the first half's."""
    logged, best = float(np.nanmean(half.wait)), (math.inf, rules)
    fixed = rules.site.processors is not None
    least = rules.processors if fixed else max(int(half.units.max()), peak)
    for kind in (rules.site.backfill,) if rules.site.backfill else DEPTHS:
        low, high = min(least, rules.processors), rules.processors
        middle = high
        for _ in range(STEPS + 1):
            if deadline.expired() and best[0] < math.inf:
                return best[1]
            tried = replace(rules, backfill=kind, processors=middle)
            waits = tried.starts(half, fast=fast) - half.submit
            ratio = float(np.mean(waits)) / logged
            score = abs(math.log(max(ratio, 1e-9))) + 1 - correlation(waits, half.wait)
            best = min(best, (score, tried), key=lambda pair: pair[0])
            low, high = (low, middle) if ratio < 1 else (middle, high)
            if (ratio >= 1 and middle == rules.processors) or high - low < 2:
                break
            middle = (low + high) // 2
    return best[1]


def correlation(a: Floats, b: Floats, ranks: bool = True) -> float:
    """The correlation of (the ranks of) what both know; 0 where one of them is constant."""
    known = ~np.isnan(a) & ~np.isnan(b)
    pair = [rankdata(x[known]) if ranks else x[known] for x in (a, b)]
    if known.sum() < 3 or min(np.ptp(pair[0]), np.ptp(pair[1])) == 0:
        return 0.0
    return float(np.corrcoef(np.array(pair))[0, 1])


def _judged(jobs: Jobs, waits: Floats) -> dict[str, float]:
    """The figures of the second half."""
    unseen = slice(len(jobs) // 2, None)
    simulated, logged = waits[unseen], jobs.wait[unseen]
    week = (jobs.submit[unseen] // WEEK).astype(int)
    grid = [
        np.searchsorted(np.quantile(column, (0.25, 0.5, 0.75)), column)
        for column in (jobs.units[unseen], jobs.length[unseen])
    ]
    groups = {"weekly": week, "cells": 4 * grid[0] + grid[1], "users": jobs.user[unseen]}
    return {
        "logged_seconds": float(np.nanmean(logged)), "simulated_seconds": float(np.mean(simulated)),
        "ratio": float(np.mean(simulated) / np.nanmean(logged)),
        "rank": correlation(simulated, logged),
        "recent": correlation(recent_waits(jobs)[unseen], logged),
        **{
            name: correlation(*_means(group, simulated, logged), ranks=False)
            for name, group in groups.items()
        },
    }  # fmt: skip


def _means(group: Ints, one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """The means of both by group, of those large enough."""
    large = [group == g for g in np.unique(group) if np.sum(group == g) >= FEWEST]
    first, second = ([np.nanmean(x[part]) for part in large] for x in (one, other))
    return np.array(first), np.array(second)


def _passes(figures: Mapping[str, float]) -> bool:
    """Whether the unseen half is reproduced."""
    near = RATIOS[0] <= figures["ratio"] <= RATIOS[1]
    ranked = figures["rank"] >= RANK and figures["rank"] > figures["recent"]
    means = min(figures["cells"], figures["users"])
    return near and ranked and figures["weekly"] >= WEEKLY and means >= MEANS


def _reason(figures: Mapping[str, float], shares: Mapping[str, float]) -> str:
    """What is said of a fit that was judged."""
    told = (
        f"(second half: mean {figures['simulated_seconds'] / 60:.0f} of "
        f"{figures['logged_seconds'] / 60:.0f} min, rank correlation {figures['rank']:.2f}, of the "
        f"user's last three waits {figures['recent']:.2f}, weeks {figures['weekly']:.2f}, size by "
        f"length {figures['cells']:.2f}, users {figures['users']:.2f}"
    )
    if _passes(figures):
        return f"The simulated queue reproduces the waits of this log {told}). {PLANTED}"
    told += f"; needed: within 20 %, {RANK:g} and more than the last three, {WEEKLY:g}, {MEANS:g}, {MEANS:g})"
    if shares["with_room"] >= MUCH:
        why = (
            f"{100 * shares['with_room']:.0f} % of waiting passed while enough processors were "
            "idle: rules of the site decide, which the log does not contain (--site)."
        )
    elif shares["two_users"] >= MUCH or shares["own_end"] >= MUCH:
        why = (
            f"{100 * shares['two_users']:.0f} % of waiting is that of two users, and "
            f"{100 * shares['own_end']:.0f} % of starts after a wait follow an end of the same user: "
            "limits of users decide, which the log does not contain (--site)."
        )
    else:
        why = (
            "The order of the queue is another than that of submission (--site), or is set by hand."
        )
    return f"The simulated queue does not reproduce the waits of this log {told}. {why} No advice on waits."


def _knobs(rules: Rules, site: Site, total: int) -> Iterator[str]:
    """What was read from the log or calibrated, a sentence each."""
    for window in rules.site.windows[len(site.windows) :]:
        days = f"{window.days[0]} to {window.days[-1]}"
        if window.drain:
            yield f"jobs end before {window.from_hour:g}:00, {days} (read from the starts)"
        else:
            yield (
                f"jobs of more than {window.over_hours:g} h do not start from {window.from_hour:g}:00 to "
                f"{window.to_hour:g}:00, {days} (read from the starts)"
            )
    if rules.processors != total:
        yield f"{rules.processors} of {total} processors (calibrated)"
    if not site.backfill:
        yield f"backfilling: {rules.backfill} (calibrated)"
    if rules.delay:
        yield f"jobs start {rules.delay:g} s after the queue could start them (read from short waits)"
    if rules.outages:
        hours = sum(opens - closes for closes, opens, _ in rules.outages) / 3600
        yield f"{len(rules.outages)} outages, {hours:.0f} h together (nothing ran while jobs waited)"


def _options(rules: Rules) -> Json:
    """The queue as the batch I/O simulator has it."""
    backfill = {"none": "none", "easy": "easy", "deep": "conservative"}[rules.backfill]
    return {"queue": rules.site.order, "backfill": backfill} | (
        {"plan": "rebuild"} if rules.backfill == "deep" else {}
    )
