"""Policies that are not told how much is left, and the policy for the total delay."""

from fractions import Fraction

import pytest
from batch_io_traces import FLAT, random_trace

import ioopt
from ioopt.embed import IoArbiter
from ioopt.errors import UsageError
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io.run import run_trace

MACHINE = {**FLAT, "nodes": 8, "storage_bytes_per_second": 4.0}
SETTINGS = [
    {"estimate": how, "volume_noise": noise}
    for how in ("exact", "job-mean", "history", "none")
    for noise in (0.0, 0.7)
]


def _arbiter(policy: str, **settings: object) -> IoArbiter:
    """A (4 nodes, 12 B), after a request of 2 B; B (4 nodes, 8 B), after one of 20 B: one at a time."""
    arbiter = IoArbiter(MACHINE, policy, settings)
    for name, first, size in (("A", 2.0, 12.0), ("B", 20.0, 8.0)):
        arbiter.request(name, 4, first, 0.0)
        arbiter.finish(name)
        arbiter.request(name, 4, size, 12.0, mean_bytes=(first + size) / 2)
    return arbiter


def test_what_is_believed_decides_who_goes_first() -> None:
    """Exact: B, 8 < 12. Means 7 and 14, history 2 and 20: A. Nothing known: the first who came, A."""
    first = {}
    for how in ("exact", "job-mean", "history", "none"):
        granted = _arbiter("fill", estimate=how).decide(12.0)
        first[how] = max(granted, key=granted.__getitem__)
    assert first == {"exact": "B", "job-mean": "A", "history": "A", "none": "A"}


def test_a_restored_arbiter_believes_the_same() -> None:
    arbiter = _arbiter("adaptive", estimate="history", volume_noise=0.7)
    again = IoArbiter.restore(arbiter.state())
    for one in (arbiter, again):
        one.finish("A")
        one.request("A", 4, 3.0, 13.0)
    assert again.decide(13.0) == arbiter.decide(13.0)
    assert [r.belief for r in again._requests] == [r.belief for r in arbiter._requests]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fill", "adaptive", "least-delay"])
def test_both_engines_agree_to_the_bit(name: str) -> None:
    pytest.importorskip("numba")
    for seed in range(4):
        trace = Trace.of(random_trace(seed))
        ends = set()
        for settings in SETTINGS:
            runs = [
                run_trace(trace, io_policy(name, settings), "open", engine)
                for engine in ("python", "compiled")
            ]
            assert list(runs[0].end) == list(runs[1].end), (seed, settings)
            ends.add(tuple(runs[0].end))
        assert len(ends) > 1 or seed
    assert io_policy(name).believes is None


def test_noise_is_seeded_and_of_each_request() -> None:
    believes = io_policy("fill", {"volume_noise": 0.5}).believes
    assert believes is not None
    drawn = [believes("a", done, 1.0, 1.0, 1.0) for done in range(400)]
    assert drawn == [believes("a", done, 1.0, 1.0, 1.0) for done in range(400)]
    other = io_policy("fill", {"volume_noise": 0.5, "volume_seed": 1}).believes
    assert other is not None and other("a", 0, 1.0, 1.0, 1.0) != drawn[0]
    within = sum(0.5**0.5 < value < 2**0.5 for value in drawn) / 400
    assert 0.43 < within < 0.60  # ln 2 / 2 is 0.69 sigma: 51 %


def test_no_snapshot_has_a_history() -> None:
    with pytest.raises(UsageError, match="for traces and IoArbiter"):
        ioopt.solve("two-writers-now", "fill", settings={"estimate": "history"})


def test_plans_keep_their_estimate_and_only_then() -> None:
    problem = random_trace(3)
    assert not ioopt.solve(problem, "fill").plan.get("settings")
    found = ioopt.solve(problem, "fill", settings={"estimate": "none", "volume_noise": 0.3})
    assert found.plan["settings"] == {"estimate": "none", "volume_noise": 0.3}
    again = ioopt.simulate(problem, found)
    assert again.metrics["mean_response_seconds"] == found.objective


def test_least_delay_lets_narrow_requests_run_together() -> None:
    """A wide one wants all 4 B/s for 7 B, two narrow ones 2 B/s each for 8 B.

    Keys 7 x 8^.5 = 19.8 and 8 x 2^.5 = 11.3: both narrow ones run, at 4 s the wide one; it loses 4 s.
    The wide one first, as with FILL (7 / 8^.5 = 2.5 against 5.7), costs 1.75 s twice: here FILL is right.
    """
    for name, granted in (("least-delay", (0.0, 2.0, 2.0)), ("fill", (4.0, 0.0, 0.0))):
        arbiter = IoArbiter(MACHINE, name)
        for job, nodes, size in (("wide", 8, 7.0), ("x", 2, 8.0), ("y", 2, 8.0)):
            arbiter.request(job, nodes, size, 0.0)
        assert tuple(arbiter.decide(0.0).values()) == granted


def test_exact_arithmetic_has_the_key_of_least_delay() -> None:
    for seed in range(6):
        problem = random_trace(seed)
        floats, rationals = (
            run_trace(Trace.of(problem, 1.0, exactly), io_policy("least-delay"), "open", "python")
            for exactly in (False, True)
        )
        assert all(isinstance(end, (Fraction, int)) for end in rationals.end)
        assert [float(end) for end in rationals.end] == pytest.approx(list(floats.end), rel=1e-7)
