"""Whether the waits of a log can be reproduced: a queue fitted to its first half,
judged on the second.

Advice on waits rests on the queue. So the fit comes first, and refuses where the queue
that it can calibrate does not give the waits of jobs that it has not seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from ioopt.advice import shares
from ioopt.advice.queue import DEPTHS, Jobs, Rules, clock
from ioopt.advice.site import Site
from ioopt.advice.spread import WEEK
from ioopt.compiled.choice import use_machine_code
from ioopt.errors import InstanceError
from ioopt.formats.report import some
from ioopt.formats.swf.log import SwfTrace
from ioopt.options import Deadline
from ioopt.problems.base import Json

if TYPE_CHECKING:
    from ioopt.compiled import Floats

MISSING, FEWEST_WEEKS, BLOCK_ERROR, KNOWN = 0.1, 4, 0.2, 0.9
"""Refused before: more of the job ids missing, fewer weeks, a larger error of the
mean, fewer known waits.
"""
RATIOS = (0.83, 1.2)
GATE = {
    "rank": ("rank correlation of jobs", 0.6),
    "weekly": ("of weeks", 0.8),
    "cells": ("of sizes by lengths", 0.9),
    "users": ("of users", 0.9),
    "hours": ("of sizes by hours", 0.95),
}
"""Of each correlation what it is called, and the least that the
unseen half must come to.
"""
TIED = 3
"""So many users with the same most jobs at once, that none exceeds,
are a sign of a limit.
"""
FEWEST = 20
"""Jobs of a week, and of a cell, that its mean is taken of."""
STEPS = 5
"""Bisections of the capacity; each kind of backfilling has its own."""
MUCH, FOLLOW = 30, 10
"""Percentages of waiting with room, and of starts after an own end, from which
on that is the reason.
"""
BACKFILL = {
    "none": {"backfill": "none"},
    "easy": {"backfill": "easy"},
    "deep": {"backfill": "conservative", "plan": "rebuild"},
}
"""As the batch I/O simulator has it."""
PLAIN_SECONDS = 5e-3
"""What the whole fit takes in plain Python, a job."""
PLANTED = (
    "Of 112 planted queues of known rules 29 of 40 that a fit can express passed, "
    "and none of 72 others; all 29 had the sign of a change of order right."
)
"""What tests with queues of known rules say of a fit that passes:
``scripts/bench.py fit``.
"""


@dataclass(frozen=True)
class Fit:
    """What a fit found; figures are None where it did not come to them.

    ``ratio`` is the simulated mean wait over the logged one, ``rank`` the rank
    correlation of both, ``recent`` that of the mean of the user's last three waits,
    ``weekly`` the correlation of weekly means, ``cells`` that of means by size and
    length, ``users`` by user, ``hours`` by size and hour of submission; all of the
    unseen half. ``with_room`` and ``two_users`` are shares of all waiting: while enough
    processors were idle, and of the two users who wait most; ``own_end`` is the share
    of starts after a wait that follow within a minute an end of the same user.
    ``exact``: ``options`` (of the batch-io queue) and ``processors`` say the whole
    queue, but that deep backfilling there gives all that wait a reservation.
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
    with_room: float | None = None
    two_users: float | None = None
    own_end: float | None = None
    knobs: tuple[str, ...] = ()
    options: Json = field(default_factory=dict)
    processors: int | None = None
    exact: bool = False
    job_ids: tuple[int, ...] = ()
    users: float | None = None
    hours: float | None = None
    rules: Rules | None = field(default=None, repr=False)
    jobs: Jobs | None = field(default=None, repr=False, compare=False)
    fast: bool = field(default=False, repr=False, compare=False)

    def starts(self, run_seconds: Sequence[float] | None = None) -> list[float]:
        """Starts of ``job_ids`` in the calibrated queue by the log's clock,
        with other run times.
        """
        if self.rules is None or self.jobs is None:
            raise ValueError("no queue was calibrated: the log was refused before")
        run = None if run_seconds is None else np.array(run_seconds, float)
        starts = self.rules.starts(self.jobs, run, self.fast) + self.jobs.first
        return [float(start) for start in starts]


def fit(log: SwfTrace, site: Site | None = None) -> Fit:
    """Calibrate a queue on the first half of the jobs of *log*, judge
    it once on the second.

    What *site* says is not calibrated. Of the second half the calibration knows
    the largest job alone.
    """
    unsaid = "which neither the log nor the site's file contains"
    if site is None:
        site, unsaid = Site(), "which the log does not contain (--site)"
    total = site.processors or log.machine_processors()[0]
    jobs = Jobs(log, total)
    why = _unfit(log, jobs)
    if why:
        mean = float(np.nanmean(jobs.wait)) if np.any(jobs.wait >= 0) else None
        return Fit("refused-before", f"{why} No advice on waits.", logged_seconds=mean)
    zone, half = clock(log, site), jobs.head(len(jobs) // 2)
    windows = () if site.windows else tuple(shares.read_windows(half, zone))
    rules = Rules(
        site.model_copy(update={"windows": site.windows + windows}), zone, total
    )
    fast = use_machine_code("queue", Deadline(None), PLAIN_SECONDS * len(jobs))
    never = np.isnan(rules.starts(jobs, fast=fast))
    if never.any():
        which = some(jobs.listed[j].id for j in np.flatnonzero(never))
        raise InstanceError(
            f"the site's rules never let {int(never.sum())} jobs start: {which}"
        )
    used = shares.usual_most(half.begin, half.run, half.units)
    rules = _calibrated(half, rules, max(used, int(jobs.units.max())), fast)
    begin = rules.starts(jobs, fast=fast)
    figures = _judged(jobs, begin - jobs.submit, zone)
    room = shares.with_room(
        jobs, min(total, shares.usual_most(jobs.begin, jobs.run, jobs.units))
    )
    by_user = np.sort(np.bincount(jobs.user, np.nan_to_num(jobs.wait)))
    told = {
        "with_room": float(np.nansum(room) / by_user.sum()),
        "two_users": float(by_user[-2:].sum() / by_user.sum()),
        "own_end": shares.after_own_end(jobs),
    }
    capped = _cap(jobs, begin, unsaid)
    passed = _passes(figures) and not capped
    return Fit(
        "passed" if passed else "refused",
        _reason(figures, told, passed, capped, unsaid),
        **figures,
        **told,
        knobs=tuple(_knobs(rules, site, total)),
        processors=rules.processors,
        exact=not (rules.site.windows or site.limits or site.partitions),
        options={"queue": rules.site.order, **BACKFILL[rules.backfill]},
        job_ids=tuple(job.id for job in jobs.listed),
        rules=rules,
        jobs=jobs,
        fast=fast,
    )


def _unfit(log: SwfTrace, jobs: Jobs) -> str:
    """Why nothing is simulated; empty where it is."""
    known = ~np.isnan(jobs.wait)
    if not len(jobs) or known.mean() < KNOWN or not np.nansum(jobs.wait):
        return (
            f"The log records no waits: {int(known.sum())} of {len(jobs)} jobs have "
            "one."
        )
    ids = np.unique([job.id for job in log.jobs])
    missing = 1 - len(ids) / (ids[-1] - ids[0] + 1)
    if missing > MISSING:
        return (
            f"{100 * missing:.0f} % of the job ids between the first and the last are "
            "missing: the queue held jobs that the log does not contain."
        )
    weeks = float(jobs.submit[-1]) / WEEK
    if weeks < FEWEST_WEEKS:
        return (
            f"The log has {weeks:.1f} weeks; at least {FEWEST_WEEKS} are needed to "
            "fit and judge a queue."
        )
    block = (jobs.submit[known] // WEEK).astype(int)
    waits, count = np.bincount(block, jobs.wait[known]), np.bincount(block)
    off = waits - count * waits.sum() / count.sum()
    error = math.sqrt(len(off) / (len(off) - 1) * float(off @ off)) / float(waits.sum())
    if error > BLOCK_ERROR:
        return (
            "The mean wait differs so much from week to week that its error is "
            f"{100 * error:.0f} %: no fit could be told from chance."
        )
    return ""


def _calibrated(half: Jobs, rules: Rules, least: int, fast: bool) -> Rules:
    """The capacity (of *least* at least) and the backfilling whose waits are closest
    to the first half's.
    """
    logged, best = float(np.nanmean(half.wait)), (math.inf, rules)
    for kind in (rules.site.backfill,) if rules.site.backfill else DEPTHS:
        middle = high = rules.processors
        low = high if rules.site.processors else min(least, high)
        for _ in range(STEPS + 1):
            tried = replace(rules, backfill=kind, processors=middle)
            waits = tried.starts(half, fast=fast) - half.submit
            ratio = float(np.mean(waits)) / logged
            ranks = pd.DataFrame({"simulated": waits, "logged": half.wait}).rank()
            score = abs(math.log(max(ratio, 1e-9))) + 1 - correlation(ranks)
            best = min(best, (score, tried), key=lambda pair: pair[0])
            low, high = (low, middle) if ratio < 1 else (middle, high)
            if (ratio >= 1 and middle == rules.processors) or high - low < 2:
                break
            middle = (low + high) // 2
    return best[1]


def _judged(jobs: Jobs, waits: Floats, zone: tzinfo) -> dict[str, float]:
    """The figures of the second half."""
    unseen = slice(len(jobs) // 2, None)
    columns = {
        "simulated": waits,
        "logged": jobs.wait,
        "recent": shares.recent_waits(jobs),
    }
    table = pd.DataFrame({name: column[unseen] for name, column in columns.items()})
    size, length = (
        np.searchsorted(np.quantile(column, (0.25, 0.5, 0.75)), column)
        for column in (jobs.units[unseen], jobs.length[unseen])
    )
    groups = {
        "weekly": jobs.submit[unseen] // WEEK,
        "cells": 4 * size + length,
        "users": jobs.user[unseen],
        "hours": 24 * size + shares.local(jobs.zero + jobs.submit[unseen], zone).hour,
    }
    means, ranks = table.mean(), table.rank()
    figures = {
        "logged_seconds": means["logged"],
        "simulated_seconds": means["simulated"],
        "ratio": means["simulated"] / means["logged"],
        "rank": correlation(ranks),
        "recent": correlation(ranks, "recent"),
    }
    for name, group in groups.items():
        by = table.groupby(pd.Series(group))
        figures[name] = correlation(by.mean()[by.size() >= FEWEST])
    return {name: float(figure) for name, figure in figures.items()}


def correlation(table: pd.DataFrame, one: str = "simulated") -> float:
    """That of a column with ``logged``, of rows that know both; 0 where one
    of them is constant.
    """
    return float(
        np.nan_to_num(table[[one, "logged"]].corr(min_periods=3).to_numpy()[0, 1])
    )


def _cap(jobs: Jobs, begin: Floats, unsaid: str) -> str:
    """What shows that users are limited, even where that changes few waits;
    empty where nothing does.
    """
    for what, units in (
        ("jobs", np.ones(len(jobs), np.int64)),
        ("processors", jobs.units),
    ):
        logged, simulated = (
            shares.most_at_once(jobs, at, units) for at in (jobs.begin, begin)
        )
        most, users = int(logged.max()), int(np.sum(logged == logged.max()))
        if users >= TIED and simulated.max() > most:
            return (
                f"No user has more than {most} {what} at once, and {users} users have "
                f"as many; in the simulated queue one has {int(simulated.max())}: a "
                f"limit decides, {unsaid}."
            )
    return ""


def _passes(figures: Mapping[str, float]) -> bool:
    """Whether the unseen half is reproduced."""
    near = RATIOS[0] <= figures["ratio"] <= RATIOS[1]
    enough = all(figures[name] >= least for name, (_, least) in GATE.items())
    return near and enough and figures["rank"] > figures["recent"]


def _reason(
    figures: Mapping[str, float],
    share: Mapping[str, float],
    passed: bool,
    capped: str,
    unsaid: str,
) -> str:
    """What is said of a fit that was judged."""
    minutes = (figures[f"{name}_seconds"] / 60 for name in ("simulated", "logged"))
    mean, recent = "mean {:.0f} of {:.0f} min".format(*minutes), figures["recent"]
    near = passed or RATIOS[0] <= figures["ratio"] <= RATIOS[1]
    told = [mean if near else f"{mean}, needed within 20 %"]
    for name, (what, least) in GATE.items():
        needs = f"{least:g}"
        if name == "rank":
            needs += (
                f" and more than {recent:.2f}, that of the mean of the user's last "
                "three waits"
            )
        told.append(
            f"{what} {figures[name]:.2f}" + (f", needed {needs}" if not passed else "")
        )
    figures_told = "(unseen second half: " + "; ".join(told) + ")"
    if passed:
        return (
            f"The simulated queue reproduces the waits of this log {figures_told}. "
            f"{PLANTED}"
        )
    room, users, ends = (
        100 * share[name] for name in ("with_room", "two_users", "own_end")
    )
    if capped:
        why = capped
    elif room >= MUCH:
        why = (
            f"{room:.0f} % of waiting passed while enough processors were idle: rules "
            f"of the site decide, {unsaid}."
        )
    elif ends >= FOLLOW:
        why = (
            f"{ends:.0f} % of starts after a wait follow an end of the same user, and "
            f"{users:.0f} % of waiting is that of two users: limits of users decide, "
            f"{unsaid}."
        )
    else:
        why = (
            "Nothing shows why: the order may be another than that of submission, or "
            "set by hand."
        )
    return (
        "The simulated queue does not reproduce the waits of this log "
        f"{figures_told}. {why} No advice on waits."
    )


def _knobs(rules: Rules, site: Site, total: int) -> Iterator[str]:
    """What was read from the log or calibrated, a sentence each."""
    for window in rules.site.windows[len(site.windows) :]:
        yield (
            f"jobs of more than {window.over_hours:g} h do not start from "
            f"{window.from_hour:g}:00 to {window.to_hour:g}:00, {window.days[0]} to "
            f"{window.days[-1]} (read from the starts)"
        )
    if rules.processors != total:
        yield f"{rules.processors} of {total} processors (calibrated)"
    if not site.backfill:
        yield f"backfilling: {rules.backfill} (calibrated)"
