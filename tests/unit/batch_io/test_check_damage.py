"""Schedules with one value moved, removed, or of a wrong type: found, or still within the rules."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

import ioopt
from ioopt.check.batch_io.check import check
from ioopt.generate.batch_io.generate import generate

TIMES = ("request_seconds", "first_grant_seconds", "finish_seconds")


def damaged(schedule: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """*schedule* with one value changed by more than rounding."""
    changed = copy.deepcopy(schedule)
    job = rng.choice([job for job in changed["jobs"] if job["io"]])
    record, kind = rng.choice(job["io"]), rng.randrange(6)
    if kind == 0:
        name = rng.choice(TIMES)
        record[name] = rng.choice([True, "3", -1.0, (record[name] or 0.0) + 1.0])
    elif kind == 1:
        job[rng.choice(("start_seconds", "end_seconds"))] += rng.choice((-1.0, 1e-6, 1.0))
    elif kind == 2 and record.get("rates"):
        rng.choice(record["rates"])[2] *= rng.choice((0.9, 1.1, -1.0))
    elif kind == 3:
        job[rng.choice(("first_node", "allocated_nodes"))] = rng.choice((1, 700, "x"))
    elif kind == 4:
        job["io"].remove(record)
    else:
        record["phase"] = rng.choice((-1, 99, 0.5))
    return changed


@pytest.mark.parametrize("policy", ["base-line", "cons-fcfs"])
@pytest.mark.parametrize(("options", "rates"), [({}, "yes"), ({"kill": True}, "yes"), ({}, "no")])
def test_damage_is_found(policy: str, options: dict[str, Any], rates: str) -> None:
    problem = generate("mira-month", {"jobs": 25, "days": 0.2}, 3)
    still = problem.jobs[0].phases[0].model_copy(update={"io_bytes": 0.0, "repeat": 2})
    jobs = [
        job.model_copy(
            update={
                "walltime_seconds": 0.8 * job.walltime_seconds,
                "phases": (still, *job.phases, still) if k % 3 else job.phases * 2,
            }
        )
        for k, job in enumerate(problem.jobs)
    ]
    queue = problem.options.model_copy(update=options)
    problem = problem.model_copy(update={"jobs": tuple(jobs), "options": queue})
    result = ioopt.solve(problem, policy, settings={"rates": rates})
    report = check(problem, result.plan, result.schedule)
    assert report.violations == ()
    assert any(job["killed"] for job in result.schedule["jobs"]) == bool(options)
    for name, value in report.metrics.items():
        assert result.metrics[name] == pytest.approx(value, rel=1e-9), name
    rng = random.Random(f"{policy}{options}{rates}")
    for trial in range(40):
        schedule = damaged(result.schedule, rng)
        if schedule != result.schedule:
            assert check(problem, result.plan, schedule).violations, trial
