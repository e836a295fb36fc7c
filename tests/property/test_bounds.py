"""Bounds of the measures that users wait for: below every policy, and tight
where arithmetic says so.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from gang_tools import workload
from hypothesis import given, settings
from hypothesis import strategies as st

import ioopt
from ioopt.models.batch_io.bounds import mean_response_bound
from ioopt.models.fluid_bound import SHAVED, Work, least_response
from ioopt.models.gang.slowdown_bound import mean_slowdown_bound
from ioopt.problems.batch_io import BatchIoPlan
from ioopt.problems.gang import GangProblem
from ioopt.registry import KINDS, solvers_for
from tests.batch_io_extension_traces import random_extension
from tests.batch_io_traces import POLICIES, by_hand, random_trace

SEEDS = st.integers(0, 10**9)
FACTORS = st.just(0.0) | st.floats(1e-9, 2)


@pytest.mark.parametrize(
    ("loop", "examples"),
    [("closed", 100), ("open", 5), pytest.param("open", 300, marks=pytest.mark.slow)],
)
def test_no_policy_beats_the_response_bound(loop: str, examples: int) -> None:
    """In an open loop the bound is for given starts."""

    @given(SEEDS, st.sampled_from(POLICIES), FACTORS, st.booleans())
    @settings(max_examples=examples, deadline=None)
    def holds(seed: int, name: str, ef: float, buffers: bool) -> None:
        problem = (
            random_extension(seed, "buffer", "queue") if buffers else random_trace(seed)
        )
        told = {
            "loop": loop,
            "ef": min(ef, 1.0) if buffers else ef,
        }  # more may outgrow a buffer
        result = ioopt.solve(problem, name, settings=told)
        if name == "no-congestion":  # a reference, of which nothing is said
            return
        assert result.objective is not None and result.bound is not None
        assert result.bound > 0 or buffers  # few jobs there, and some only write
        assert result.bound <= result.objective * (1 + 1e-9) and result.violations == ()

    holds()


def _workload(seed: int) -> GangProblem:
    random = Random(seed)
    nodes = random.choice([2, 4, 8])
    jobs, now = [], 0.0
    for _ in range(random.randint(1, 12)):
        now += random.choice([0.0, random.uniform(0, 40)])
        local = random.uniform(1, 100)
        files = random.sample(range(nodes), random.randint(1, nodes))
        jobs.append((now, files, local, local * random.uniform(1, 3)))
    machine = {"nodes": nodes, "levels": random.randint(1, 4), "quantum_seconds": 10}
    return ioopt.load(workload(jobs, **machine))


@given(SEEDS, st.sampled_from([spec.name for spec in solvers_for("gang")]))
@settings(max_examples=60, deadline=None)
def test_no_policy_beats_the_slowdown_bound(seed: int, name: str) -> None:
    result = ioopt.solve(_workload(seed), name)
    assert result.objective is not None and result.bound is not None
    assert 1 - 1e-6 <= result.bound <= result.objective * (1 + 1e-9)


LATE = st.sampled_from([0.0, 1e9, 1_732_000_000.5, 9e9])


Row = tuple[float, float, float, float]
"""The fields of :class:`Work` of one job."""


def columns_of(rows: list[Row]) -> Work:
    return Work(*np.array(rows).T)


def _exact_response(work: list[Row]) -> Fraction:
    """The same rule on rationals, instant by instant: no rounding, no busy periods."""
    jobs = [tuple(map(Fraction, job)) for job in work]
    left, now = [job[1] for job in jobs], Fraction(0)
    total = sum((w * d / 2 for _, _, d, w in jobs), Fraction(0))
    while any(left):
        ready = [k for k, job in enumerate(jobs) if left[k] and job[0] <= now]
        coming = [job[0] for k, job in enumerate(jobs) if left[k] and job[0] > now]
        if not ready:
            now = min(coming)
            continue
        k = min(ready, key=lambda k: (jobs[k][1] / jobs[k][3], k))
        end = min([now + left[k], *coming])
        release, amount, _, weight = jobs[k]
        total += weight * (end - now) / amount * ((now + end) / 2 - release)
        left[k], now = left[k] - (end - now), end
    return total


@given(SEEDS, LATE)
@settings(max_examples=150, deadline=None)
def test_the_bound_is_safe_and_keeps_its_digits_at_late_releases(
    seed: int, late: float
) -> None:
    random = Random(seed)
    work, now = [], late
    for _ in range(random.randint(1, 12)):
        now += random.choice([0.0, random.uniform(0, 40), random.uniform(0, 1e6)])
        amount = 10 ** random.uniform(-9, 3)
        duration = amount * random.uniform(1, 8)
        work.append((now, amount, duration, 10 ** random.uniform(-3, 1)))
    found, true = least_response(columns_of(work)) * SHAVED, _exact_response(work)
    assert float(true) * (1 - 3e-9) <= found <= true


@given(SEEDS, LATE)
@settings(max_examples=40, deadline=None)
def test_late_arrivals_change_no_bound(seed: int, late: float) -> None:
    """Arrivals in whole seconds, so that both workloads are the same to the bit. Gangs
    may end within the tolerance of late times, 2^-49 of the time with rounding; each
    waits for at most all others, and its slowdown counts quanta of a second or more.
    """

    def moved(problem: Any, key: str) -> Iterator[Any]:
        for by in (0, math.floor(late)):
            times = [{key: math.floor(getattr(job, key)) + by} for job in problem.jobs]
            rows = zip(problem.jobs, times, strict=True)
            jobs = tuple(job.model_copy(update=time) for job, time in rows)
            yield problem.model_copy(update={"jobs": jobs})

    gangs = _workload(seed)
    early, later = map(mean_slowdown_bound, moved(gangs, "arrival_seconds"))
    assert early is not None and later is not None
    assert gangs.machine.quantum_seconds >= 1
    sooner = 2.0**-49 * (late + 1e6) * len(gangs.jobs)
    assert early - sooner <= later <= early * (1 + 1e-12)
    plan, traces = (
        BatchIoPlan(policy="fill"),
        moved(random_trace(seed), "submit_seconds"),
    )
    early, later = (mean_response_bound(trace, plan) for trace in traces)
    assert early is not None and later is not None
    assert (
        early - 8e-6 <= later <= early + 8e-6
    )  # ulps of 1e10 s where computing is added


def test_two_writers_by_hand() -> None:
    """Each holds half the nodes and asks for all 4 GB/s for 2 s: they end
    at 2 and 4 s, mean 3.
    """
    problem = ioopt.load("two-writers")
    assert mean_response_bound(problem, BatchIoPlan(policy="fill")) == pytest.approx(
        3.0
    )
    # alone each needs 2 s, and without the storage's limit both end then
    assert mean_response_bound(
        problem, BatchIoPlan(policy="no-congestion")
    ) == pytest.approx(2.0)
    assert ioopt.solve(problem, "fill").status == "optimal"
    assert ioopt.solve(problem, "no-congestion").objective == 2.0


def test_computing_before_and_after_the_bytes_by_hand() -> None:
    """Two jobs, 2 s of computing before the first byte, 16 bytes at 4 a
    second, 3 s after the last.

    The storage ends one at 2 + 4 and the other at 2 + 8 s, and 3 s follow: 9 and 13,
    mean 11. Alone each needs 1 + 2 * (1 + 2) + 3 = 10 s.
    """
    phases = [(1, 0), (1, 8), (1, 8), (3, 0)]
    problem = ioopt.load(by_hand((k, 0, 4, 99, phases) for k in range(2)))
    assert mean_response_bound(problem, BatchIoPlan(policy="fill")) == pytest.approx(
        11.0
    )
    assert mean_response_bound(
        problem, BatchIoPlan(policy="no-congestion")
    ) == pytest.approx(10.0)


def test_two_full_width_jobs_by_hand() -> None:
    """Both fill the machine for 30 s from 0 on: (30 + 60) / 30 / 2 = 1.5,
    one after the other.
    """
    jobs = [(0, [0, 1], 30, 60)] * 2
    problem = ioopt.load(workload(jobs, nodes=2, levels=1, quantum_seconds=10))
    assert mean_slowdown_bound(problem) == pytest.approx(1.5)
    assert ioopt.solve(problem, "gs").objective == pytest.approx(1.5)


def test_a_later_small_job_interrupts_a_large_one() -> None:
    """4 s of work from 0, 1 s from 1: M = (0.5 + 3 * 3.5) / 4 and 1.5;
    halves of 4 and 1 added.

    Less the releases, 0 and 1."""
    work = [(0.0, 4.0, 4.0, 1.0), (1.0, 1.0, 1.0, 1.0)]
    assert least_response(columns_of(work)) == pytest.approx(
        (0.5 + 10.5) / 4 + 1.5 + 2.0 + 0.5 - 1
    )


@pytest.mark.parametrize(
    "name", ["cycle3", "two-pairs", "rounds4", "two-writers", "gang-figure-7"]
)
def test_every_default_measure_has_a_bound(name: str) -> None:
    for solver in ("minmin", "fill", "gs"):
        problem = ioopt.load(name)
        kind = next(spec for spec in KINDS.values() if spec.format == problem.format)
        if solver not in [spec.name for spec in solvers_for(kind.kind)]:
            continue
        row = ioopt.compare(problem, [solver]).iloc[0]
        low, high = sorted([row["bound"], row.iloc[1]])
        assert low > 0 and (row["bound"] == low) == (
            kind.objective.sense == "min" or low == high
        )
