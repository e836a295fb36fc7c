"""Fits of queues to logs: planted queues of known rules, and the logs that are at hand.

A planted log is a drawn workload whose waits a known queue made. The fit sees the log
alone. Sound are queues that its knobs can express. Of each the change of the mean wait
by shortest-first instead of its own order is computed in the planted queue and in the
fitted one: a passed fit must have its sign. Thresholds and knobs were chosen on seeds 0
to 9, 100 to 107 and 200 to 203; those reported are from 300 on. Of the logs KTH-SP2 was
looked at; nothing was chosen on the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from itertools import product

import numpy as np
import pandas as pd

from bench.frame import ROOT, shared_data, show
from ioopt.advice.fit import GATE, fit
from ioopt.advice.queue import Jobs, Rules
from ioopt.advice.site import Limit, Site, Window, read_site
from ioopt.compiled.choice import use_machine_code
from ioopt.formats.swf.log import SwfJob, SwfTrace, read_swf
from ioopt.options import Deadline
from ioopt.problems.base import Json

FAST = use_machine_code("queue", Deadline(None), math.inf)
REPORTED = range(300, 308)
FIGURES = ("ratio", "recent", *GATE, "with_room", "two_users", "own_end")
PROCESSORS, LARGEST, WEEKS, USERS, PER_WEEK = 128, 32, 20, 40, 400
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri")
NIGHT = Window(from_hour=8, to_hour=18, days=WEEKDAYS, over_hours=4)
DRAIN = Window(from_hour=8, to_hour=8, days=WEEKDAYS, drain=True)
LARGE = Window(from_hour=8, to_hour=18, days=WEEKDAYS, over_processors=16)
SOUND: dict[str, Json] = {
    "first come": {},
    "EASY": {"backfill": "easy"},
    "deep backfilling": {"backfill": "deep"},
    "EASY, 9 of 10 processors": {"backfill": "easy", "processors": 115},
    "EASY, long jobs at night": {"backfill": "easy", "windows": (NIGHT,)},
}
UNSOUND: dict[str, Json] = {
    "drained at 8": {"backfill": "easy", "windows": (DRAIN,)},
    "shortest first": {"backfill": "easy", "order": "sjf"},
    "WFP": {"backfill": "easy", "order": "wfp"},
    "four jobs a user": {"backfill": "easy", "limits": (Limit(jobs=4),)},
    "a quarter of it a user": {"backfill": "easy", "limits": (Limit(processors=32),)},
    "two partitions": {"backfill": "easy", "partitions": {"0": 64, "1": 64}},
    "a quarter of jobs not in the log": {"backfill": "easy"},
    "large jobs at night": {"backfill": "easy", "windows": (LARGE,)},
    "waits of another log": {"backfill": "easy"},
}
"""Names of queues, and what a site would say of them."""


def drawn(seed: int) -> SwfTrace:
    """A workload: users of their own sizes and lengths, sessions by day,
    walltimes in whole hours.
    """
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(USERS, 0.4))
    size, scale = 2 ** rng.integers(0, 6, USERS), rng.lognormal(8.6, 1.2, USERS)
    seconds = WEEKS * 7 * 86400
    submit = rng.uniform(0, seconds, 3 * PER_WEEK * WEEKS)
    busy = np.where(
        (submit % 86400 > 8 * 3600) & (submit % 86400 < 20 * 3600), 1.0, 0.25
    )
    busy *= np.where(submit // 86400 % 7 < 5, 1.0, 0.4)
    chance = busy * (1 + 0.25 * np.sin(submit / 4e5)) / 1.5
    submit = np.sort(submit[rng.random(len(submit)) < chance])
    load = rng.uniform(0.7, 0.9)
    user = rng.choice(USERS, len(submit), p=share)
    units = np.clip(
        size[user] * 2.0 ** rng.integers(-1, 3, len(submit)), 1, LARGEST
    ).astype(int)
    run = np.minimum(scale[user] * rng.lognormal(0, 0.8, len(submit)), 86400)
    run = np.clip(run * load * PROCESSORS * seconds / float(units @ run), 30, 2 * 86400)
    asked = np.minimum(
        3600 * np.ceil(run * rng.uniform(1, 3, len(submit)) / 3600), 2 * 86400
    )
    columns = zip(submit.round(), run.round(), units.tolist(), asked, user.tolist())
    jobs = [
        SwfJob(
            k, at, 0.0, ran, size, requested_seconds=most, user=who, partition=who % 2
        )
        for k, (at, ran, size, most, who) in enumerate(columns, 1)
    ]
    epoch = 4 * 86400  # a Monday
    header = {"UnixStartTime": (str(epoch),), "MaxProcs": (str(PROCESSORS),)}
    return SwfTrace(f"planted {seed}", header, tuple(jobs))


def planted(seed: int, name: str) -> tuple[SwfTrace, Rules, Jobs]:
    """The log of a workload under the queue *name*, its rules, and all of its jobs."""
    rng, site = np.random.default_rng(seed + 1000), Site(**(SOUND | UNSOUND)[name])
    log = drawn(seed)
    rules = Rules(site, UTC, site.processors or PROCESSORS, site.backfill or "none")
    jobs = Jobs(log, PROCESSORS)
    waits = rules.starts(jobs, fast=FAST) - jobs.submit + rng.exponential(30, len(jobs))
    if "another" in name:
        waits = np.roll(waits, len(waits) // 3)
    listed = [
        replace(job, wait_seconds=float(round(w))) for job, w in zip(log.jobs, waits)
    ]
    if "not in the log" in name:
        kept = [job for job, u in zip(listed, rng.random(len(listed))) if u > 0.25]
        listed = [replace(job, id=k) for k, job in enumerate(kept, 1)]
    return replace(log, jobs=tuple(listed)), rules, jobs


def shortest_first(rules: Rules, jobs: Jobs) -> float:
    """The mean wait with shortest-first over that with the queue's own
    order, as a logarithm.
    """
    other = replace(rules, site=rules.site.model_copy(update={"order": "sjf"}))
    waits = [
        np.mean(each.starts(jobs, fast=FAST) - jobs.submit) for each in (other, rules)
    ]
    return math.log(max(float(waits[0]), 1.0) / max(float(waits[1]), 1.0))


def agree(a: float, b: float) -> bool:
    """Whether two effects have one sign, or are both below a tenth."""
    return a * b > 0 or max(abs(a), abs(b)) < 0.1


def trials(seeds: range) -> Iterator[Json]:
    """A row a planted log: what it is, whether it passed, whether the sign of
    an effect was right.
    """
    for kind, queues in (("sound", SOUND), ("unsound", UNSOUND)):
        for name, seed in product(queues, seeds):
            log, rules, jobs = planted(seed, name)
            found = fit(log)
            passed, right = found.status == "passed", False
            if found.rules and found.jobs:
                right = agree(
                    shortest_first(rules, jobs), shortest_first(found.rules, found.jobs)
                )
            yield {
                "kind": kind,
                "queue": name,
                "logs": 1,
                "passed": passed,
                "sign right of passed": passed and right,
                "sign right of all": right,
            }


def logs() -> Iterator[tuple[str, SwfTrace, Site | None]]:
    """The logs at hand, KTH in two parts, without and with the rules of its site."""
    site = read_site(str(ROOT / "docs" / "samples" / "kth-site.toml"))
    for path in sorted(shared_data("swf").glob("*.swf")):
        log, name = read_swf(path), path.stem.partition(".")[0]
        if not name.startswith("KTH"):
            yield name, log, None
            continue
        half = len(log.jobs) // 2
        for part, jobs in enumerate((log.jobs[:half], log.jobs[half:]), 1):
            yield f"{name}, part {part}", replace(log, jobs=jobs), None
            yield f"{name}, part {part}, site", replace(log, jobs=jobs), site


def main(quick: bool) -> None:
    """Print both tables."""
    seeds = REPORTED[:2] if quick else REPORTED
    table = pd.DataFrame(trials(seeds))
    for columns in (["kind", "queue"], ["kind"]):
        counts = table.groupby(columns, sort=False).sum(numeric_only=True).reset_index()
        title = f"Planted queues, seeds {seeds[0]} to {seeds[-1]}"
        show(title, [*map(str, counts)], counts.to_numpy().tolist())
    shown = []
    for name, log, site in logs():
        found = fit(log, site)
        figures = [getattr(found, figure) for figure in FIGURES]
        cells = ["" if value is None else f"{value:.2f}" for value in figures]
        why = (found.reason.partition("). ")[2] or found.reason)[:80]
        shown.append([name, found.status, *cells, why])
    show("Logs", ["log", "status", *FIGURES, "reason"], shown)
