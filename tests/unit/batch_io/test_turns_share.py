"""Turns in which some I/O steps take part, as scripts/bench/turns_share.py has them."""

import pytest
from batch_io_traces import FLAT, random_trace
from bench.turns_share import of_jobs, partial_turns, run_seconds

import ioopt
from ioopt.decisions.batch_io import Limits, Request, View
from ioopt.problems.batch_io import Machine
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.trace import Trace

LIMITS = Limits.of(Machine(**FLAT, nodes=4, storage_bytes_per_second=1))


def of_size(least):
    return lambda request: request.left + request.moved >= least


def asked(number, left, moved=0.0):
    request = Request.made(number, 1, LIMITS, float(number), left)
    request.moved = moved
    return request


def test_who_takes_part_waits_and_all_others_share_with_the_turn():
    """Job 2 has its turn, so 0 waits; 1 takes no part, and has half of the rate.

    If 1 alone takes part, it begins: its turn leaves out the two that do not ask.
    """
    requests = [asked(0, 50.0), asked(1, 5.0), asked(2, 20.0, moved=30.0)]
    view = View(LIMITS, 9.0, requests)
    assert partial_turns(of_size(50.0)).decide(view) == pytest.approx([0, 0.5, 0.5])
    assert partial_turns(of_jobs([1])).decide(view) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("seed", range(6))
def test_the_policy_of_large_steps_is_that_of_this_text(seed):
    """Compiled, the setting least_bytes of turns gives the run times of the function
    above, which shares by the policy base-line.
    """
    trace = Trace.of(random_trace(seed))
    least = sorted(trace.volume)[trace.num_phases // 2]
    policy = io_policy("turns", {"least_bytes": least})
    expected = run_seconds(trace, partial_turns(of_size(least)))
    assert run_seconds(trace, policy) == pytest.approx(expected)


def test_all_take_part_is_turns_and_none_is_sharing():
    trace = Trace.of(ioopt.load("small-8"))
    for least, name in ((0.0, "turns"), (float("inf"), "base-line")):
        partial = run_seconds(trace, partial_turns(of_size(least)))
        assert partial == pytest.approx(run_seconds(trace, io_policy(name)))
    assert run_seconds(trace, io_policy("turns")) != pytest.approx(partial)
