"""Runs at rates that never change: by hand, and equal to the simulator that asks at every instant."""

from __future__ import annotations

from fractions import Fraction

import pytest
from batch_io_traces import random_trace

import ioopt
from ioopt.catalog import resolve
from ioopt.check.batch_io.check import check
from ioopt.errors import UsageError
from ioopt.problems.batch_io import BatchIoPlan
from ioopt.sim.batch_io import simulate
from ioopt.sim.batch_io.results import metrics_of, schedule_of
from ioopt.sim.batch_io.simulate import simulate_steady, simulate_trace
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io.base_line import FIXED_SHARE


def test_two_writers_have_half_the_storage_each() -> None:
    """8 GB at 2 of the 4 GB/s take 4 s each, whoever else writes; base-line lets them end at 4 s too."""
    result = ioopt.solve(resolve("two-writers"), "fixed-share")
    assert result.objective == 4.0
    assert result.schedule is not None
    rates = [job["io"][0]["rates"] for job in result.schedule["jobs"]]
    assert rates == [[[0.0, 4.0, 2e9]], [[0.0, 4.0, 2e9]]]


@pytest.mark.parametrize("seed", range(40))
def test_the_closed_form_is_the_run_of_the_simulator(seed: int) -> None:
    """In rationals, with kills, first come first served: the same schedule and metrics."""
    problem = random_trace(seed)
    queue = {"queue": "fcfs", "backfill": "none"}
    problem = problem.model_copy(
        update={
            "machine": problem.machine.model_copy(update={"allocation": "flat"}),
            "options": problem.options.model_copy(update=queue),
        }
    )
    trace = Trace.of(problem, use_exact=True)
    shares = [
        trace.limits.fixed_share(nodes, trace.limits.peak(nodes)) for nodes in trace.allocated
    ]
    added = simulate_steady(trace, shares, record_rates=True)
    stepped = simulate_trace(trace, FIXED_SHARE, record_rates=True)
    assert list(added.killed) == list(stepped.killed)
    assert metrics_of(trace, added) == metrics_of(trace, stepped)
    assert schedule_of(trace, added) == schedule_of(trace, stepped)


@pytest.mark.parametrize("seed", range(40))
def test_its_schedule_keeps_every_rule(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On blocks too, also where units are taken together."""
    monkeypatch.setattr(simulate, "MOST_CELLS", 5)
    problem = random_trace(seed)
    trace = Trace.of(problem)
    shares = [
        trace.limits.fixed_share(nodes, trace.limits.peak(nodes)) for nodes in trace.allocated
    ]
    schedule = schedule_of(trace, simulate_steady(trace, shares, record_rates=True))
    assert check(problem, BatchIoPlan(policy="fixed-share"), schedule).violations == ()


def test_a_share_is_never_more_than_the_peak() -> None:
    """8 of 16 nodes may have half of 8 GB/s, and have 8 x 1 GB/s at most: 4; of 80 GB/s 8, not 40."""
    problem = random_trace(0)
    machine = problem.machine.model_copy(
        update={"nodes": 16, "node_bytes_per_second": 1, "storage_bytes_per_second": 8}
    )
    for storage, share in ((8, 4), (80, 8)):
        machine = machine.model_copy(update={"storage_bytes_per_second": storage})
        trace = Trace.of(problem.model_copy(update={"machine": machine}), use_exact=True)
        assert trace.limits.fixed_share(8, trace.limits.peak(8)) == Fraction(share)


def test_open_loop_may_use_nodes_twice_and_is_refused() -> None:
    with pytest.raises(UsageError, match="loop=closed"):
        ioopt.solve(resolve("two-writers"), "fixed-share", settings={"loop": "open"})


def test_limits_too_short_for_all_rates_record_none() -> None:
    """10^-4 s a phase are needed; small-8 has more than 10, so a limit of 1 ms is too short."""
    problem = ioopt.load(resolve("small-8"))
    assert Trace.of(problem).num_phases > 10
    short = ioopt.solve(problem, "fixed-share", time_limit=1e-3)
    whole = ioopt.solve(problem, "fixed-share")
    assert short.schedule is not None and whole.schedule is not None
    assert "rates" not in short.schedule["jobs"][0]["io"][0]
    assert "rates" in whole.schedule["jobs"][0]["io"][0]
    assert any("rates not recorded" in note for note in short.notes)
