"""The checkers' own response of an I/O job: by hand, and against the chain that the solvers use."""

from __future__ import annotations

import pytest

from ioopt.check.flexgang.response import respond
from ioopt.errors import InstanceError
from ioopt.measure.quantum_chain import Surface
from ioopt.problems.flexgang.flexible_gang import FlexibleJob, SurfaceEntry


def job(burst: float, io: float, shape: int = 5) -> FlexibleJob:
    """An I/O job of one process."""
    return FlexibleJob(
        id="io", kind="io", processes=1, burst_seconds=burst, io_seconds=io, burst_shape=shape
    )


@pytest.mark.parametrize("burst", [0.002, 0.005, 0.02])
@pytest.mark.parametrize("io", [0.005, 0.02, 0.1])
@pytest.mark.parametrize(("on", "off"), [(0.0025, 0.01), (0.01, 0.01), (0.02, 0.15), (0.1, 0.04)])
def test_equals_the_chain_of_the_solvers(burst: float, io: float, on: float, off: float) -> None:
    """Two texts of the same law on the same cells: nothing but rounding between them."""
    for shape, processors in ((1, 4), (5, 32)):
        mine = respond(job(burst, io, shape), on, off, processors, None)
        theirs = Surface(processors).at(job(burst, io, shape), on, off)
        assert mine == pytest.approx(tuple(theirs), rel=1e-11, abs=1e-11)


def test_alone_and_from_a_table() -> None:
    """5 ms bursts, 20 ms I/O: beta 1/5; 2 processes are both blocked .64 of the .8 that one is."""
    alone = respond(job(0.005, 0.020), 0.01, 0.0, 2, None)
    assert alone == pytest.approx((1.0, 0.2, 0.8 - 0.64))
    table = (SurfaceEntry(on_seconds=0.01, off_seconds=0.02, slowdown=1.5, beta=0.1),)
    assert respond(job(0.005, 0.020), 0.01, 0.02, 2, table) == (1.5, 0.1, None)
    with pytest.raises(InstanceError, match=r"no entry for on_seconds 0\.01, off_seconds 0\.03"):
        respond(job(0.005, 0.020), 0.01, 0.03, 2, table)


def test_a_slot_of_half_the_time_at_least_doubles_a_job_that_only_computes() -> None:
    """I/O of next to nothing: every CPU second takes (on + off) / on = 2 seconds."""
    assert respond(job(0.005, 1e-9), 0.01, 0.01, 1, None).slowdown == pytest.approx(2.0, rel=1e-3)
