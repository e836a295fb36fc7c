"""Own peak rates, readings of sharing and interference (rules 24 to 29), by hand."""

import json
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from batch_io_traces import FLAT, snapshot
from batch_io_traces import view as requests_view

import ioopt
from ioopt.decisions.batch_io import Rates, View
from ioopt.embed import IoArbiter
from ioopt.errors import InstanceError, UsageError
from ioopt.registry.policies import io_policy
from ioopt.solvers.batch_io.set10 import set_of
from tests.conftest import ENGINES
from tests.oracle.batch_io_rates import fullest


def view(*rows: tuple[int, float | None, float], **how: Any) -> View:
    """Requests (nodes, own peak, bytes left) of time 0, 1, ...; now is 100."""
    return requests_view(
        *((nodes, k, left, own) for k, (nodes, own, left) in enumerate(rows)), **how
    )


def rates(name: str, state: View, **settings: Any) -> Rates:
    return io_policy(name, settings).decide(state)


def trace(
    jobs: list[dict[str, Any]], storage: float = 6.0, **machine: Any
) -> dict[str, Any]:
    common = {"submit_seconds": 0, "walltime_seconds": 100}
    return {
        "format": "ioopt/batch-io",
        "version": 1,
        "name": "rates",
        "machine": {
            "nodes": 12,
            "storage_bytes_per_second": storage,
            **FLAT,
            **machine,
        },
        "jobs": [{"id": k, **common, **job} for k, job in enumerate(jobs, 1)],
    }


def writer(nodes: int, size: float, **keys: Any) -> dict[str, Any]:
    return {
        "nodes": nodes,
        "phases": [{"compute_seconds": 0, "io_bytes": size}],
        **keys,
    }


def ends(instance: dict[str, Any], name: str, **settings: Any) -> list[Any]:
    result = ioopt.solve(instance, name, settings={"arithmetic": "exact", **settings})
    assert result.schedule is not None
    return [Fraction(job["exact"]["end"]) for job in result.schedule["jobs"]]


def test_peak_is_the_least_of_three() -> None:
    """Rule 24: own 3; nodes 4; storage 10."""
    state = view((4, 3, 1), (4, 9, 1), (16, 12, 1))
    assert [request.peak for request in state.requests] == [3, 4, 10]
    assert rates("no-congestion", state) == [3, 4, 10]
    assert (
        not view((4, 4, 1)).limits.own_peaks and not view((16, 10, 1)).limits.own_peaks
    )


def test_readings_of_sharing_evenly() -> None:
    """Rule 27: even-split counts the capped one and loses what it leaves;
    per-application does not.
    """
    state = view((4, 1, 1), (4, None, 1), (8, None, 1), storage=6)
    assert rates("base-line", state, share="even-split") == [1, 2, 2]
    assert rates("base-line", state, share="per-application") == [1, 2.5, 2.5]
    # All fit, and still a third of the storage is the most that one gets.
    assert rates(
        "base-line", view((1, None, 1), (1, None, 1), (4, None, 1)), share="even-split"
    ) == [1, 1, Fraction(10, 3)]
    assert rates("base-line", state, share="even-if-congested") == [1, 2, 2]
    jobs = [writer(1, 2), writer(1, 2), writer(4, 10)]
    # 2, 2, 2 of 6: the first two end at 2 with 1 each; the third moved
    # 4, 6 are left at 4.
    assert ends(trace(jobs), "base-line", share="even-split") == [2, 2, 3.5]
    # even-if-congested splits only where not all fit; 1 + 1 + 4 is all of the 6.
    assert ends(trace(jobs), "base-line", share="even-if-congested") == [2, 2, 2.5]
    assert ends(trace(jobs), "base-line") == [2, 2, 2.5]


def test_adaptive_plays_sets_with_own_peaks() -> None:
    # S = {8 nodes at 2}: 10 left, 8 do not fit beside 2 + 2 + 8 = 12 > 10. Together 2,
    # 2, 6: f = 5, 5 and 10/6 = 5/3: mean over three of 35/3. Waiting: f = 5, 5, T = 5,
    # 10/8 = 1.25: 16.25 > 11.67.
    state = view((8, 2, 10), (8, 2, 10), (8, None, 10))
    assert rates("adaptive", state) == [2, 2, 6]
    # 100 left: waiting 5 + 5 + 5 + 100/8 = 27.5; together 30 move by 5, 70
    # at 8 after: 23.75.
    assert rates("adaptive", view((8, 2, 10), (8, 2, 10), (8, None, 100))) == [2, 2, 6]
    # Waiting 1.25 + 1.25 + 10/7 = 3.93; together 5 each, 2 + 2: not taken.
    assert rates("adaptive", view((8, 8, 10), (8, 7, 10))) == [8, 0]


def test_knapsack_equals_enumeration() -> None:
    rng = random.Random(4)
    for number in range(300):
        own = [None, 0.5, 1.0, 2.0, 2.5, 3.0] if number % 3 else [None]
        rows = [
            (rng.randint(1, 16), rng.choice(own), 1.0) for _ in range(rng.randint(1, 8))
        ]
        state = view(*rows, exact=number % 2 == 0)
        limits = replace(state.limits, own_peaks=number % 3 > 0)
        state = View(limits, state.now, state.requests)
        queue = [
            {"peak": request.peak, "n": request.nodes} for request in state.requests
        ]
        chosen = fullest(Fraction(10), queue)
        wanted = [
            row["peak"] if any(row is one for one in chosen) else 0 for row in queue
        ]
        assert rates("cons-max-util", state) == wanted, rows


def test_the_integer_program_takes_whole_peaks() -> None:
    state = view((5, None, 1), (8, 6, 1), (4, None, 1))
    assert rates("cons-max-util", state, knapsack="cp-sat") == [0, 6, 4]
    with pytest.raises(UsageError, match="whole bytes per second; use knapsack=bitset"):
        rates("cons-max-util", view((5, 0.5, 1)), knapsack="cp-sat")


def test_sets_end_at_half_powers() -> None:
    """Rule 28: 10^(k - 1/2) < w <= 10^(k + 1/2), by squares: 316^2 < 10^5 < 317^2."""
    for kind in (float, Fraction):
        assert [set_of(kind(w)) for w in (316, 317, 1, 10, 3, 4)] == [2, 3, 0, 1, 0, 1]
    # Halves of ten have no double of their own: the square of the nearest decides,
    # 3.16...^2 = 10 + 2e-15.
    assert set_of(10**0.5) == 1 and set_of(Fraction(10**0.5)) == 1


@pytest.mark.parametrize(
    ("name", "interference", "wanted"),
    [
        # Three writers at 4 of 6, 8 bytes each, c = 1/4. Base-line: 6 / 1.5 =
        # 4 for 3 until 6 s.
        ("base-line", 0.25, [6, 6, 6]),
        # Alone nobody interferes: 8/4 s each, in turn.
        ("cons-fcfs", 0.25, [2, 4, 6]),
        # 4 and 2 of 6, a partial one counts: 6 / 1.25 = 4.8 of it, 3.2 and 1.6. The
        # first ends at 2.5, the second has 4 left; then 4 and 2 again: 3.2 and 1.6 to
        # 3.75, the third 6 left, alone 1.5 s.
        ("cons-fcfs+top", 0.25, [2.5, 3.75, 5.25]),
        # The reference is exempt.
        ("no-congestion", 0.25, [2, 2, 2]),
        # Nothing is lost while the rates add up to less than the cap: 2 at 4
        # would be 8 > 6 / 2 = 3.
        ("base-line", 1, [12, 12, 12]),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_interference(
    name: str, interference: float, wanted: list[float], engine: str
) -> None:
    """Rule 29: K that transfer get BW / (1 + c (K - 1)) at most, after the policy."""
    instance = trace([writer(4, 8) for _ in range(3)], interference=interference)
    assert ends(instance, name) == wanted
    result = ioopt.solve(instance, name, settings={"engine": engine})
    assert result.schedule is not None
    assert [job["end_seconds"] for job in result.schedule["jobs"]] == pytest.approx(
        wanted
    )


def test_ideal_times_and_bounds_follow_the_peak() -> None:
    """8 bytes at 1: 8 s alone, so no slowdown and no delay; no schedule is quicker."""
    result = ioopt.solve(trace([writer(4, 8, io_bytes_per_second=1)]), "fill")
    assert (
        result.metrics["max_slowdown"] == 1 and result.metrics["io_delay_seconds"] == 0
    )
    assert result.bound == pytest.approx(8)


def test_one_decision_with_own_peaks_and_interference() -> None:
    # 4 and 5 of 10 under a cap of 10 / 1.25 = 8: times 8/9.
    machine = {
        "nodes": 64,
        "storage_bytes_per_second": 10.0,
        "interference": 0.25,
        **FLAT,
    }
    requests = [
        {
            "id": k,
            "nodes": 8,
            "request_seconds": 0.0,
            "left_bytes": 5.0,
            "io_bytes_per_second": own,
        }
        for k, own in ((1, 4.0), (2, 5.0))
    ]
    decision = snapshot(machine, 1.0, requests)
    wanted = {1: pytest.approx(32 / 9), 2: pytest.approx(40 / 9)}
    result = ioopt.solve(decision, "cons-fcfs")
    assert result.plan is not None and result.plan["grants"] == wanted
    assert ioopt.solve(decision, "no-congestion").plan["grants"] == {1: 4, 2: 5}
    arbiter = IoArbiter(machine, "cons-fcfs")
    for request in requests:
        arbiter.request(
            request["id"],
            8,
            5.0,
            0.0,
            io_bytes_per_second=request["io_bytes_per_second"],
        )
    assert arbiter.decide(1.0) == wanted
    again = IoArbiter.restore(json.loads(json.dumps(arbiter.state())))
    assert again.decide(1.0) == wanted
    arbiter.finish(1)
    assert arbiter.decide(1.0) == {2: 5}
    with pytest.raises(InstanceError, match="io_bytes_per_second"):
        arbiter.request(3, 8, 5.0, 0.0, io_bytes_per_second=0.0)
