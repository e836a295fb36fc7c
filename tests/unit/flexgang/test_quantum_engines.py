"""The two engines of the two-job quantum model: hand-made points,
identities, agreement.

At the end the checkers' own response of an I/O job, by hand and against the chain.
"""

import itertools
import json
import tracemalloc

import pytest
from conftest import shared_path

from ioopt.checks.flexgang.response import respond
from ioopt.errors import InstanceError, UsageError
from ioopt.measure import quantum_model
from ioopt.measure.quantum_chain import Surface, measure, surface
from ioopt.measure.quantum_model import simulate_point
from ioopt.problems.flexgang.flexible_gang import FlexibleJob, SurfaceEntry
from ioopt.problems.flexgang.quantum_model import (
    QuantumModelProblem,
    QuantumPoint,
    TwoJobMeasures,
)


def model(
    qi: float, qc: float, **changes: object
) -> tuple[QuantumModelProblem, QuantumPoint]:
    """An instance with one point, quanta in milliseconds."""
    point = QuantumPoint(qi_seconds=qi / 1000, qc_seconds=qc / 1000)
    return QuantumModelProblem(points=(point,), **changes), point  # type: ignore[arg-type]


def event(qi: float, qc: float, seed: int = 0, **changes: object) -> TwoJobMeasures:
    problem, point = model(qi, qc, **changes)
    return simulate_point(problem, point, seed=seed)


def test_deterministic_cases_come_out() -> None:
    case = json.loads(
        shared_path("cases", "flexgang", "01_rr_deterministic.json").read_text()
    )
    for row in case["expected"]:
        found = event(row["qi"], row["qc"], burst_shape=None)
        assert found.slowdown == pytest.approx(row["slowdown"]["value"], abs=0.001)
        assert found.useful == pytest.approx(row["compute_useful"]["value"], abs=0.001)
        assert found.fragmentation == pytest.approx(0.0, abs=1e-9)


def test_by_hand_two_and_a_half_against_ten() -> None:
    """Q = 12.5: a 5 ms burst takes slots [0, 2.5) and [12.5, 15); it ends
    exactly at slot phase 2.5.

    The I/O lasts until 35, phase 10 of the third cycle, in the compute slot;
    the next burst starts at 37.5. So 37.5 ms an iteration, 1.5 times the 25 of
    a dedicated machine.
    """
    assert event(2.5, 10, burst_shape=None).slowdown == pytest.approx(1.5, abs=1e-9)


def test_an_io_that_ends_at_a_slot_end_waits_and_at_a_slot_start_runs() -> None:
    """Q = 25: burst [0, 5), I/O until 25, the slot start: runs at
    once, 25 ms an iteration.

    With io = 15 and qi = 20 the I/O ends at 20, the slot's end, and waits for 25: again
    25 ms, against 20 on a dedicated machine.
    """
    assert event(20, 5, burst_shape=None).slowdown == pytest.approx(1.0, abs=1e-9)
    waits = event(20, 5, burst_shape=None, io_seconds=0.015)
    assert waits.slowdown == pytest.approx(25 / 20, abs=1e-9)


def test_irrevocable_gives_the_cpu_away_until_the_slot_ends() -> None:
    """qi = 40, qc = 10, burst 5, I/O 20: "return" does two iterations in the 50
    ms cycle, while "irrevocable" gives the CPU away at 5 until 40 and starts
    again at 50: slowdown 2."""
    assert event(40, 10, burst_shape=None).slowdown == pytest.approx(1.0, abs=1e-9)
    kept = event(40, 10, burst_shape=None, donation="irrevocable")
    assert kept.slowdown == pytest.approx(2.0, abs=1e-9)
    assert kept.useful == pytest.approx((10 + 35) / 50, abs=1e-9)


@pytest.mark.parametrize(
    ("qi", "qc", "changes"),
    [
        *(
            (*pair, {"donation": donation})
            for donation in ("return", "irrevocable")
            for pair in ((2.5, 40), (5, 7), (10, 20), (20, 1), (40, 10))
        ),
        *(
            (7, 9, {"burst_shape": shape, "burst_seconds": 0.003, "io_seconds": 0.011})
            for shape in (1, 2, 20)
        ),
    ],
)
def test_engines_agree(qi: float, qc: float, changes: dict[str, object]) -> None:
    problem, point = model(qi, qc, **changes)
    chain, simulated = measure(problem, point), simulate_point(problem, point, seed=3)
    assert chain.slowdown == pytest.approx(simulated.slowdown, rel=0.008)
    assert chain.fragmentation == pytest.approx(simulated.fragmentation, abs=0.01)
    assert chain.response_seconds == pytest.approx(simulated.response_seconds, rel=0.02)
    assert chain.useful == pytest.approx(simulated.useful, abs=0.01)


@pytest.mark.slow
def test_engines_agree_over_the_whole_grid() -> None:
    apart = [
        (
            abs(measure(*model(qi, qc)).slowdown / event(qi, qc, seed=5).slowdown - 1),
            qi,
            qc,
        )
        for qi, qc in itertools.product((2.5, 5, 10, 20), range(1, 41))
    ]
    assert len(apart) == 160
    assert max(apart)[0] <= 0.01, max(apart)


@pytest.mark.parametrize("donation", ["return", "irrevocable"])
def test_cpu_time_is_conserved(donation: str) -> None:
    """Every CPU second is the I/O job's (beta), useful to the
    compute job, or fragmented.
    """
    for qi, qc in ((2.5, 10), (10, 3), (33, 17)):
        exact = surface(qi / 1000, qc / 1000, donation=donation)  # type: ignore[arg-type]
        assert exact.beta + exact.useful + exact.fragmentation == pytest.approx(
            1, abs=2e-4
        )
        drawn = event(qi, qc, donation=donation)
        assert drawn.beta + drawn.useful + drawn.fragmentation == pytest.approx(
            1, abs=2e-3
        )


def test_bound_holds_and_long_slots_cost_nothing() -> None:
    for qi, qc in itertools.product((2.5, 5, 10, 20), (1, 7, 20, 40)):
        problem, point = model(qi, qc)
        assert measure(problem, point).slowdown >= problem.slowdown_bound(point) - 1e-6
    assert surface(0.4, 0.0001).slowdown == pytest.approx(1.0, abs=0.001)


def test_no_compute_slot_is_a_dedicated_machine() -> None:
    found = surface(0.01, 0.0)
    assert found.slowdown == 1.0
    assert found.beta == pytest.approx(0.2)
    assert found.useful == pytest.approx(0.8**32)
    assert event(10, 0).slowdown == pytest.approx(1.0, rel=0.005)
    # Given away until the slot ends, even a slot of the I/O job's own is lost to it.
    kept = surface(0.01, 0.0, donation="irrevocable")
    assert kept.slowdown == pytest.approx(
        event(10, 0, donation="irrevocable").slowdown, rel=0.008
    )
    assert kept.slowdown > 1.1


def test_more_cells_change_little() -> None:
    for qi, qc in ((2.5, 40), (25, 20), (40, 3)):
        coarse = surface(qi / 1000, qc / 1000)
        fine = surface(qi / 1000, qc / 1000, cells=1000)
        assert coarse.slowdown == pytest.approx(fine.slowdown, rel=5e-4)
        assert coarse.fragmentation == pytest.approx(fine.fragmentation, abs=5e-4)


def test_refusals() -> None:
    with pytest.raises(UsageError, match="on > 0 and off >= 0"):
        surface(0.0, 0.01)
    with pytest.raises(UsageError, match="engine=event"):
        surface(0.01, 0.01, shape=None)
    with pytest.raises(UsageError, match=r"horizon_seconds 0\.001 is too short"):
        event(1, 1, horizon_seconds=0.001)


@pytest.mark.slow
def test_memory_of_a_run_is_what_is_asked_for_in_advance() -> None:
    """29,600 bursts of 8-byte numbers: what is counted for one is what
    tracemalloc sees, +- 10 %.
    """
    problem, point = model(2.5, 10, horizon_seconds=50.0)
    simulate_point(problem, point)  # imports are not the run's
    sizes = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            quantum_model,
            "require_numbers",
            lambda count, *texts: sizes.append(8 * count),
        )
        tracemalloc.start()
        simulate_point(problem, point)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert sizes and peak == pytest.approx(max(sizes), rel=0.1)


def job(burst: float, io: float, shape: int = 5) -> FlexibleJob:
    """An I/O job of one process."""
    return FlexibleJob(
        id="io",
        kind="io",
        processes=1,
        burst_seconds=burst,
        io_seconds=io,
        burst_shape=shape,
    )


@pytest.mark.parametrize("burst", [0.002, 0.005, 0.02])
@pytest.mark.parametrize("io", [0.005, 0.02, 0.1])
@pytest.mark.parametrize(
    ("on", "off"), [(0.0025, 0.01), (0.01, 0.01), (0.02, 0.15), (0.1, 0.04)]
)
def test_equals_the_chain_of_the_solvers(
    burst: float, io: float, on: float, off: float
) -> None:
    """Two texts of the same law on the same cells: nothing but
    rounding between them.
    """
    for shape, processors in ((1, 4), (5, 32)):
        mine = respond(job(burst, io, shape), on, off, processors, None)
        theirs = Surface(processors).at(job(burst, io, shape), on, off)
        assert mine == pytest.approx(tuple(theirs), rel=1e-11, abs=1e-11)


def test_alone_and_from_a_table() -> None:
    """5 ms bursts, 20 ms I/O: beta 1/5; 2 processes are both blocked .64
    of the .8 that one is.
    """
    alone = respond(job(0.005, 0.020), 0.01, 0.0, 2, None)
    assert alone == pytest.approx((1.0, 0.2, 0.8 - 0.64))
    table = (SurfaceEntry(on_seconds=0.01, off_seconds=0.02, slowdown=1.5, beta=0.1),)
    assert respond(job(0.005, 0.020), 0.01, 0.02, 2, table) == (1.5, 0.1, None)
    with pytest.raises(
        InstanceError, match=r"no entry for on_seconds 0\.01, off_seconds 0\.03"
    ):
        respond(job(0.005, 0.020), 0.01, 0.03, 2, table)


def test_a_slot_of_half_the_time_at_least_doubles_a_job_that_only_computes() -> None:
    """I/O of next to nothing: every CPU second takes (on + off) / on = 2 seconds."""
    assert respond(job(0.005, 1e-9), 0.01, 0.01, 1, None).slowdown == pytest.approx(
        2.0, rel=1e-3
    )
