"""Properties of every gang policy on random workloads, and of the compiled
phases on random states.
"""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from conftest import both_makers, first
from gang_tools import POLICIES, compiled_phase, random_matrix, random_workload
from hypothesis import given, settings
from hypothesis import strategies as st

import ioopt
from ioopt import solving
from ioopt.checks.gang.check import check
from ioopt.decisions.gang.state import State, state_of
from ioopt.problems.gang_rows import GangRows
from ioopt.sim.gang.update import phases_of

ONLINE = ("gs", "iogs", "adaptive-iogs", "migrate-iogs", "guarded-iogs", "index-iogs")
SEEDS = st.integers(0, 10**6)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_every_policy_passes_the_checker(seed: int) -> None:
    problem = random_workload(seed)
    for name in ONLINE:
        result = ioopt.solve(problem, name)
        assert result.status in ("feasible", "optimal"), (
            name,
            result.violations,
            result.notes,
        )
        metrics = result.metrics
        assert metrics["mean_slowdown"] >= metrics["mean_slowdown_from_start"] > 0
        assert 0 < metrics["matrix_utilisation"] <= 1
        assert ioopt.check(problem, result) == []


@settings(max_examples=6, deadline=None)
@given(SEEDS)
def test_every_decision_passes_the_checker(seed: int) -> None:
    problem = random_matrix(seed)
    for name in ONLINE:
        result = ioopt.solve(problem, name)
        assert result.status in ("feasible", "optimal"), (name, result.violations)
        placed = (result.plan or {})["jobs"]
        assert len(placed) >= len(problem.running)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_names_of_jobs_change_nothing(seed: int) -> None:
    problem = random_workload(seed)
    jobs = [
        job.model_copy(update={"id": f"renamed {k}"})
        for k, job in enumerate(problem.jobs)
    ]
    renamed = problem.model_copy(update={"jobs": tuple(jobs)})
    for name in ONLINE:
        before, after = (
            ioopt.solve(p, name).schedule or {} for p in (problem, renamed)
        )
        assert [job["finish_seconds"] for job in before["jobs"]] == [
            job["finish_seconds"] for job in after["jobs"]
        ]


def _same(plain: State, twin: State) -> None:
    for field in ("columns", "homes", "spans", "moved", "admitted"):
        assert list(getattr(plain, field)) == list(getattr(twin, field)), field
    assert plain.tasks_moved == twin.tasks_moved


@pytest.mark.parametrize("policy", first(2, sorted(POLICIES)))
def test_compiled_phases_do_what_the_phases_do(policy: str) -> None:
    """Phase after phase on 150 random matrices of one and two words."""
    chosen, moved, admitted = POLICIES[policy], 0, 0
    _, machine = both_makers()
    for seed in range(100):
        state = state_of(random_matrix(seed))
        for name in phases_of(chosen.rules):
            after = chosen.update(state, name)
            _same(after, compiled_phase(state, name, chosen.rules, machine))
            moved += after.tasks_moved - state.tasks_moved
            admitted += len(after.admitted)
            state = after._replace(admitted=(), moved=(), tasks_moved=0)
    assert admitted > 50
    assert (moved > 50) == (policy == "migrate-iogs")


def _broken(rng: random.Random, rows: GangRows) -> GangRows:
    """Return some of *rows*, some perhaps twice, with up to three random faults."""
    count = rng.randint(1, len(rows))
    pick = rng.choice([rng.sample, rng.choices])
    rows = rows.taken(np.array(pick(range(len(rows)), k=count)))
    for _ in range(rng.randint(0, 3)):
        k = rng.randrange(len(rows))
        ids = [*rows.ids]
        fault = rng.choice(["start", "finish", "local", "id", "none"])
        if fault in ("start", "finish"):
            shift = rng.choice([1e-9, -1e-9, 1e-3, -50.0, -1e5, math.nan, math.inf])
            getattr(rows, fault)[k] += shift
        elif fault == "local":
            rows.local[k] ^= True
        elif fault == "id":
            ids[k] = rng.choice([10**9, ids[0]])
        rows = replace(rows, ids=ids)
    return rows


def test_columns_and_dictionaries_break_the_same_rules() -> None:
    found: set[str] = set()
    for seed in range(100):
        rng = random.Random(seed)
        problem = random_workload(seed)
        solved = solving.solve(
            problem, "migrate-iogs", settings={"history": "no"}, bound=False
        )
        assert solved.schedule is not None
        rows = solved.schedule["jobs"]
        assert isinstance(rows, GangRows)
        broken = _broken(rng, rows)
        reports = [
            check(problem, None, {"jobs": jobs}) for jobs in (broken, broken.rows())
        ]
        assert str(reports[0]) == str(reports[1])
        found |= {item.rule for item in reports[0].violations}
    assert found == {
        "job-missing",
        "job-twice",
        "start-before-arrival",
        "times",
        "too-short",
        "unknown-job",
    }
