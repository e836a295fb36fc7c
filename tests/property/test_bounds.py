"""Bounds of the measures that users wait for: below every policy, and tight where arithmetic says so."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ioopt
from ioopt.models.batch_io.bounds import mean_response_bound
from ioopt.models.fluid_bound import Work, least_completion
from ioopt.models.gang.slowdown_bound import mean_slowdown_bound
from ioopt.problems.batch_io import BatchIoPlan
from ioopt.problems.gang import GangProblem
from ioopt.registry import KINDS, solvers_for
from tests.batch_io_traces import POLICIES, random_trace

WITH_TOP = (*POLICIES, "set-10+top")

SEEDS = st.integers(0, 10**9)


@given(SEEDS, st.sampled_from(WITH_TOP), st.sampled_from(["closed", "open"]), st.floats(0, 2))
@settings(max_examples=200, deadline=None)
def test_no_policy_beats_the_response_bound(seed: int, name: str, loop: str, ef: float) -> None:
    problem = random_trace(seed)
    result = ioopt.solve(problem, name, settings={"loop": loop, "ef": ef})
    assert result.objective is not None and result.bound is not None and result.bound > 0
    assert result.bound <= result.objective * (1 + 1e-9) and result.violations == ()


def _workload(seed: int) -> GangProblem:
    random = Random(seed)
    nodes = random.choice([2, 4, 8])
    jobs, now = [], 0.0
    for k in range(random.randint(1, 12)):
        now += random.choice([0.0, random.uniform(0, 40)])
        local = random.uniform(1, 100)
        files = random.sample(range(nodes), random.randint(1, nodes))
        times = {"local_seconds": local, "remote_seconds": local * random.uniform(1, 3)}
        jobs.append({"id": k, "arrival_seconds": now, "file_nodes": files, **times})
    machine = {"nodes": nodes, "levels": random.randint(1, 4), "quantum_seconds": 10}
    return GangProblem.model_validate({"machine": machine, "jobs": jobs})


@given(SEEDS, st.sampled_from([spec.name for spec in solvers_for("gang")]))
@settings(max_examples=60, deadline=None)
def test_no_policy_beats_the_slowdown_bound(seed: int, name: str) -> None:
    result = ioopt.solve(_workload(seed), name)
    assert result.objective is not None and result.bound is not None
    assert 1 - 1e-6 <= result.bound <= result.objective * (1 + 1e-9)


def test_two_writers_by_hand() -> None:
    """Each holds half the nodes and asks for all 4 GB/s for 2 s: they end at 2 and 4 s, mean 3."""
    problem = ioopt.load("two-writers")
    assert mean_response_bound(problem, BatchIoPlan(policy="fill")) == pytest.approx(3.0)
    # alone each needs 2 s, and without the storage's limit both end then
    assert mean_response_bound(problem, BatchIoPlan(policy="no-congestion")) == pytest.approx(2.0)
    assert ioopt.solve(problem, "fill").status == "optimal"
    assert ioopt.solve(problem, "no-congestion").objective == 2.0


def test_computing_before_and_after_the_bytes_by_hand() -> None:
    """Two jobs, 2 s of computing before the first byte, 16 bytes at 4 a second, 3 s after the last.

    The storage ends one at 2 + 4 and the other at 2 + 8 s, and 3 s follow: 9 and 13, mean 11.
    Alone each needs 1 + 2 * (1 + 2) + 3 = 10 s.
    """
    phases = [
        {"compute_seconds": 1, "io_bytes": 0}, {"compute_seconds": 1, "io_bytes": 8, "repeat": 2},
        {"compute_seconds": 3, "io_bytes": 0},
    ]  # fmt: skip
    jobs = [
        {"id": k, "submit_seconds": 0, "nodes": 4, "walltime_seconds": 99, "phases": phases}
        for k in range(2)
    ]
    machine = {"nodes": 8, "unit_nodes": 1, "allocation": "flat", "node_bytes_per_second": 1,
               "storage_bytes_per_second": 4}  # fmt: skip
    problem = ioopt.load({"format": "ioopt/batch-io", "machine": machine, "jobs": jobs})
    assert mean_response_bound(problem, BatchIoPlan(policy="fill")) == pytest.approx(11.0)
    assert mean_response_bound(problem, BatchIoPlan(policy="no-congestion")) == pytest.approx(10.0)


def test_two_full_width_jobs_by_hand() -> None:
    """Both fill the machine for 30 s from 0 on: (30 + 60) / 30 / 2 = 1.5, one after the other."""
    jobs = [
        {"id": k, "arrival_seconds": 0, "file_nodes": [0, 1], "local_seconds": 30,
         "remote_seconds": 60}
        for k in range(2)
    ]  # fmt: skip
    machine = {"nodes": 2, "levels": 1, "quantum_seconds": 10}
    problem = GangProblem.model_validate({"machine": machine, "jobs": jobs})
    assert mean_slowdown_bound(problem) == pytest.approx(1.5)
    assert ioopt.solve(problem, "gs").objective == pytest.approx(1.5)


def test_a_later_small_job_interrupts_a_large_one() -> None:
    """4 s of work from 0, 1 s from 1: M = (0.5 + 3 * 3.5) / 4 and 1.5; halves of 4 and 1 added."""
    work = [Work(0.0, 4.0, 4.0, 1.0), Work(1.0, 1.0, 1.0, 1.0)]
    assert least_completion(work) == pytest.approx((0.5 + 10.5) / 4 + 1.5 + 2.0 + 0.5)


@pytest.mark.parametrize("name", ["cycle3", "two-pairs", "rounds4", "two-writers", "gang-figure-7"])
def test_every_default_measure_has_a_bound(name: str) -> None:
    for solver in ("minmin", "fill", "gs"):
        problem = ioopt.load(name)
        kind = next(spec for spec in KINDS.values() if spec.format == problem.format)
        if solver not in [spec.name for spec in solvers_for(kind.kind)]:
            continue
        row = ioopt.compare(problem, [solver]).iloc[0]
        low, high = sorted([row["value_bound"], row["value"]])
        assert low > 0 and (row["value_bound"] == low) == (kind.sense == "min" or low == high)
