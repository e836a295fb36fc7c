"""The checker's arrays against its look at every job: the same violations, words and metrics."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

import ioopt
from ioopt.check.batch_io import check as checker
from ioopt.generate.batch_io.generate import generate
from ioopt.protocols import CheckReport

TIMES = ("request_seconds", "first_grant_seconds", "finish_seconds")


def damaged(schedule: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """*schedule* with one value moved, removed, or of a wrong type."""
    changed = copy.deepcopy(schedule)
    for _ in range(rng.choice((1, 1, 2))):
        job = rng.choice(changed["jobs"])
        records = job["io"]
        kind = rng.randrange(10)
        record = rng.choice(records) if records else {}
        spans = record.get("rates") or [[0.0, 0.0, 0.0]]
        amount = rng.choice((1e-9, 5e-9, 1e-6, 1.0, -1e-9, -5e-9, -1e-6, -1.0, 1e4))
        if kind < 3 and record:
            name = rng.choice(TIMES)
            record[name] = rng.choice([None, (record[name] or 0) + amount, True, "3", -1.0])
        elif kind < 5:
            name = rng.choice(("start_seconds", "end_seconds"))
            job[name] += amount
        elif kind < 7:
            rng.choice(spans)[rng.randrange(3)] *= 1 + amount * rng.choice((1e-3, 1))
        elif kind == 7:
            place = rng.choice(("first_node", "allocated_nodes"))
            job[place] = rng.choice((0, 1, 512, 700, None))
        elif kind == 8:
            how = rng.randrange(6)
            if how < 3:
                for part in [part for part in ((records, changed["jobs"], spans)[how],) if part]:
                    part.pop()
            elif how == 3:
                changed["jobs"].reverse()
            else:
                job.update({"killed": True} if how == 4 else {"nodes": [0, 1]})
        elif record:
            record["phase"] = rng.choice((-1, 0, 1, 99))
    return changed


def by_job(monkeypatch: pytest.MonkeyPatch, *what: Any) -> CheckReport:
    """The report of the checks of one job at a time."""
    with monkeypatch.context() as only:
        only.setattr(checker, "plain_columns", lambda terms, rows: None)
        return checker.check(*what)


@pytest.mark.parametrize("policy", ["base-line", "cons-fcfs"])
@pytest.mark.parametrize(("options", "rates"), [({}, "yes"), ({"kill": True}, "yes"), ({}, "no")])
def test_arrays_find_what_a_look_at_every_job_finds(
    policy: str, options: dict[str, Any], rates: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = generate("mira-month", {"jobs": 25, "days": 0.2}, 3)
    jobs = [
        job.model_copy(
            update={"walltime_seconds": 0.8 * job.walltime_seconds, "phases": job.phases * 2}
        )
        for job in problem.jobs
    ]
    still = jobs[0].phases[0].model_copy(update={"io_bytes": 0.0, "repeat": 2})
    jobs[0] = jobs[0].model_copy(update={"phases": (still, *jobs[0].phases, still, still)})
    queue = problem.options.model_copy(update=options)
    problem = problem.model_copy(update={"jobs": tuple(jobs), "options": queue})
    result = ioopt.solve(problem, policy, settings={"rates": rates})
    columns = checker.plain_columns(checker.Terms.of(problem, None), result.schedule["jobs"])
    assert columns is not None and columns.plain.sum() == 25 - sum(columns.killed)
    assert bool(sum(columns.killed)) == bool(options)
    rng = random.Random(f"{policy}{options}{rates}")
    found = 0
    for trial in range(16):
        schedule = damaged(result.schedule, rng) if trial else result.schedule
        quick = checker.check(problem, result.plan, schedule)
        slow = by_job(monkeypatch, problem, result.plan, schedule)
        assert quick.violations == slow.violations
        found += bool(slow.violations)
        assert quick.objectives == slow.objectives
        for report in (quick, slow):
            report.metrics.update({f"{k} least": v[0] for k, v in report.ranges.items()})
            report.metrics.update({f"{k} most": v[1] for k, v in report.ranges.items()})
        assert quick.metrics == pytest.approx(slow.metrics, rel=1e-12)
    assert 6 < found < 16
