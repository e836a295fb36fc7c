"""The fit of a queue to a log: its replay, its shares by hand, its
refusals, and planted queues.
"""

from dataclasses import replace
from datetime import UTC, timedelta, timezone

import numpy as np
import pytest
from bench.fit import SOUND, UNSOUND, agree, planted, shortest_first
from conftest import shared_path

import ioopt
from ioopt.advice.fit import fit
from ioopt.advice.queue import Jobs, Rules
from ioopt.advice.shares import (
    after_own_end,
    most_at_once,
    read_windows,
    recent_waits,
    usual_most,
    with_room,
)
from ioopt.advice.site import Limit, Site, Window, read_site
from ioopt.errors import InstanceError
from ioopt.formats.io_rule import IoRule
from ioopt.formats.swf.io import batch_io_from_swf
from ioopt.formats.swf.log import SwfJob, SwfTrace, parse_swf, read_swf

DAY = 86400.0


def trace(*rows: tuple[float, float, float, int, int], processors: int = 4) -> SwfTrace:
    """Jobs of (submit, wait, run, processors, user); walltimes are the run times."""
    jobs = tuple(
        SwfJob(k, submit, wait, run, size, requested_seconds=run, user=user)
        for k, (submit, wait, run, size, user) in enumerate(rows, 1)
    )
    return SwfTrace("tiny", {"MaxProcs": (str(processors),)}, jobs)


def starts(
    log: SwfTrace, processors: int = 4, backfill: str = "easy", **site: object
) -> list[float]:
    rules = Rules(Site(**site), UTC, processors, backfill)
    return rules.starts(Jobs(log, processors)).tolist()


@pytest.mark.parametrize("order", ["fcfs", "sjf", "wfp"])
@pytest.mark.parametrize("backfill", ["none", "easy"])
def test_the_replay_is_that_of_the_engine_without_io(order, backfill):
    rng = np.random.default_rng(3)
    columns = (
        rng.integers(0, 90_000, 150),
        rng.integers(60, 9000, 150),
        rng.integers(1, 17, 150),
    )
    jobs = tuple(
        SwfJob(
            k,
            float(at),
            0.0,
            float(run),
            int(size),
            requested_seconds=float(2 * run + k),
        )
        for k, (at, run, size) in enumerate(zip(np.sort(columns[0]), *columns[1:]), 1)
    )
    log = SwfTrace("drawn", {"MaxProcs": ("32",)}, jobs)
    options = {"queue": order, "backfill": backfill}
    problem = batch_io_from_swf(log, io=IoRule(0.0), options=options)
    rows = ioopt.solve(problem, "base-line").schedule["jobs"]
    by_id = {row["id"]: row["start_seconds"] for row in rows}
    assert [by_id[job.id] for job in jobs] == pytest.approx(
        starts(log, 32, backfill, order=order)
    )


def test_deep_backfilling_keeps_the_second_reservation():
    # 2 of 4 run until 100. B (3, 50 s) is reserved for 100 to 150, C (4, 50 s) for 150
    # to 200. D (1, 190 s) fits beside B, so with EASY it starts at once and C waits for
    # its end, 193. Deep: not before C.
    log = trace(
        (0, 0, 100, 2, 1), (1, 0, 50, 3, 1), (2, 0, 50, 4, 1), (3, 0, 190, 1, 1)
    )
    assert starts(log, backfill="none") == [0, 100, 150, 200]
    assert starts(log, backfill="easy") == [0, 100, 193, 3]
    assert starts(log, backfill="deep") == [0, 100, 150, 200]
    # With 80 s D is over before 100: it starts at once in both.
    short = replace(
        log,
        jobs=(
            *log.jobs[:3],
            replace(log.jobs[3], run_seconds=80, requested_seconds=80),
        ),
    )
    assert starts(short, backfill="deep") == [0, 100, 150, 3]


def test_rules_of_a_site_by_hand():
    # Day 0 of the epoch is a Thursday. Jobs above 2 h wait from 8 to 17; the
    # short one does not.
    log = trace((9 * 3600, 0, 3 * 3600, 1, 1), (9 * 3600 + 60, 0, 600, 1, 1))
    log = replace(log, header={**log.header, "UnixStartTime": ("0",)})
    window = Window(from_hour=8, to_hour=17, over_hours=2, days=("thu",))
    assert starts(log, windows=(window,)) == [8 * 3600, 60]
    assert starts(log, windows=(window.model_copy(update={"days": ("fri",)}),)) == [
        0,
        60,
    ]
    # With drain at 10:00 a job of 3 h from 9:00 on waits for 10:00; one of
    # 10 minutes does not.
    drain = Window(from_hour=10, to_hour=10, drain=True)
    assert starts(log, windows=(drain,)) == [3600, 60]
    # Hours from 9:30 on that bind nobody here do not hide the edge behind them.
    assert starts(log, windows=(Window(from_hour=9.5, to_hour=9.75), drain)) == [
        3600,
        60,
    ]
    # One job of user 1 at a time; users 1 and 2 share nothing else. Job 1 runs for 3 h.
    assert starts(log, limits=(Limit(jobs=1),)) == [0, 3 * 3600]
    assert starts(log, limits=(Limit(jobs=1, users=(2,)),)) == [0, 60]
    # Own processors: one of partition 7 (of 1) at a time, though 4 are free.
    parts = replace(log, jobs=tuple(replace(job, partition=7) for job in log.jobs))
    assert starts(parts, partitions={"7": 1}) == [0, 3 * 3600]
    long = trace(*((k * DAY, 60, 3600 if k else 30 * 3600, 1, 1) for k in range(40)))
    with pytest.raises(InstanceError, match="never let 1 jobs start: 1"):
        fit(long, Site(windows=(Window(from_hour=0, to_hour=0, drain=True),)))


def test_windows_span_midnight_and_follow_a_clock():
    window = Window(from_hour=22, to_hour=6, days=("thu",))
    zone = timezone(timedelta(hours=1))
    assert list(window.spans(0, DAY, zone)) == [(21 * 3600, 29 * 3600, False)]


def test_shares_by_hand():
    # 4 processors. Job 1 (4) runs 0-100. Job 2 (2) waits 10-100 without room, runs
    # 100-200. Job 3 (2) waits 50-150: without room until 100, with room for 50 s;
    # starts at 150, long after any end.
    log = trace((0, 0, 100, 4, 1), (10, 90, 100, 2, 1), (50, 100, 10, 2, 2))
    jobs = Jobs(log, 4)
    assert with_room(jobs, 4).tolist() == [0, 0, 50]
    assert (
        usual_most(jobs.begin, jobs.run, jobs.units) == 4 and after_own_end(jobs) == 0.5
    )
    # The last three waits that were over: none; 0 of job 1; user 2 has none,
    # so that of all (0).
    assert recent_waits(jobs).tolist() == [0, 0, 0]
    rows = (
        (0, 0, 9, 1, 1),
        (10, 30, 9, 1, 1),
        (50, 6, 9, 1, 1),
        (60, 0, 9, 1, 1),
        (60, 0, 9, 1, 2),
    )
    later = Jobs(trace(*rows), 4)
    assert recent_waits(later).tolist() == [
        0,
        0,
        15,
        12,
        12,
    ]  # 0, 30; 0, 30, 6; user 2: of all
    # User 1 has one job at a time, but for 1 s of 1000 two; user 2 has two
    # of 1 processor each.
    rows = (0, 0, 500, 2, 1), (499, 0, 500, 2, 1), (0, 0, 9, 1, 2), (1, 0, 9, 1, 2)
    pairs = Jobs(trace(*rows), 4)
    for units, most in ((pairs.units // pairs.units, [1, 2]), (pairs.units, [2, 2])):
        assert most_at_once(pairs, pairs.begin, units).tolist() == most


def test_windows_are_read_from_starts():
    # 40 weekdays: six jobs of 5 h submitted at 9:00 start at 18:00; short
    # ones start at once.
    rows = [
        (
            day * DAY + 9 * 3600 + k,
            9 * 3600.0 if k < 6 else 0.0,
            5 * 3600.0 if k < 6 else 600.0,
            1,
            1,
        )
        for day in range(4, 60)
        if (day + 3) % 7 < 5
        for k in range(12)
    ]
    rows += [
        (at + 3600, wait - 3600 if wait else 0, run, 1, 1) for at, wait, run, *_ in rows
    ]
    log = replace(trace(*rows), header={"MaxProcs": ("64",), "UnixStartTime": ("0",)})
    found = read_windows(Jobs(log, 64), UTC)
    assert [(w.from_hour, w.to_hour, w.over_hours, w.days) for w in found] == [
        (9, 11, 1, ("mon", "tue", "wed", "thu", "fri"))
    ]


def many(days: int, wait: float = 600.0) -> SwfTrace:
    return trace(*((k * DAY / 4, wait, 3600, 1, 1) for k in range(4 * days)))


@pytest.mark.parametrize(
    ("log", "what"),
    [
        (many(40, 0.0), "records no waits: 160 of 160"),
        (parse_swf("1 0 -1 5 1", "a"), "records no waits: 0 of 1"),
        (many(20), "has 2.8 weeks; at least 4"),
        (replace(many(40), jobs=many(40).jobs[::2]), "50 % of the job ids"),
        (
            trace(*((k * DAY / 4, 9e4 * (k > 150), 60, 1, 1) for k in range(160))),
            "error is ",
        ),
    ],
)
def test_refused_before_anything_is_simulated(log, what):
    found = fit(log)
    assert (
        found.status == "refused-before" and what in found.reason and found.rank is None
    )
    assert found.reason.endswith("No advice on waits.")


def test_what_a_fit_that_passes_says():
    log, rules, jobs = planted(1, "EASY, long jobs at night")
    found = fit(log)
    assert found.status == "passed" and found.options == {
        "queue": "fcfs",
        "backfill": "easy",
    }
    assert found.knobs[0].startswith(
        "jobs of more than 4 h do not start from 8:00 to 18:00"
    )
    assert found.reason.startswith(
        "The simulated queue reproduces the waits of this log (unseen second half"
    )
    assert not found.exact and fit(log) == found
    # Longer runs make longer waits; the log's own runs are the default.
    own, longer = (
        found.starts(),
        found.starts([1.2 * float(run) for run in Jobs(log, 128).run]),
    )
    assert own == found.starts(Jobs(log, 128).run.tolist()) and sum(longer) > sum(own)
    assert agree(shortest_first(rules, jobs), shortest_first(found.rules, found.jobs))


def test_machine_code_gives_the_same_starts():
    _, rules, jobs = planted(1, "deep backfilling")
    assert (
        rules.starts(jobs.head(2000), fast=True).tolist()
        == rules.starts(jobs.head(2000)).tolist()
    )


@pytest.mark.slow
def test_no_queue_that_a_fit_cannot_express_passes():
    judged = passed = 0
    for name in (*SOUND, *UNSOUND):
        for seed in range(200, 204):
            log, rules, jobs = planted(seed, name)
            found = fit(log)
            if name in UNSOUND:
                assert found.status != "passed", (name, seed)
                continue
            judged += found.status != "refused-before"
            if found.status == "passed":
                passed += 1
                effects = [
                    shortest_first(*of)
                    for of in ((rules, jobs), (found.rules, found.jobs))
                ]
                assert agree(*effects), (name, seed)
    assert passed >= 0.6 * judged > 0


def test_a_limit_of_jobs_is_seen_where_it_hardly_binds():
    # All correlations are above .95 (the limit changes few waits); with the limit
    # stated the fit passes.
    log = planted(105, "four jobs a user")[0]
    found = fit(log)
    assert found.status == "refused" and found.rank > 0.9 and found.users > 0.99
    assert (
        "No user has more than 4 jobs at once, and 4 users have as many" in found.reason
    )
    assert fit(log, Site(limits=(Limit(jobs=4),))).status == "passed"


def test_logs_at_hand():
    folder = shared_path("data", "swf", "NASA-iPSC-1993-3.1-cln.swf").parent
    for name, what in (
        ("NASA-iPSC-1993-3.1-cln", "no waits"),
        ("HPC2N-2002-excerpt-alea", "56 % of the job ids"),
        ("RICC-2010-2.first20000", "2.6 weeks"),
    ):
        assert what in fit(read_swf(folder / f"{name}.swf")).reason
    kth = read_swf(folder / "KTH-SP2-1996-2.1-cln.first20000.swf")
    found = fit(kth)
    assert (
        found.status == "refused"
        and "51 % of waiting passed while enough" in found.reason
    )
    sample = read_site("docs/samples/kth-site.toml")
    assert fit(kth, sample).rank > found.rank
