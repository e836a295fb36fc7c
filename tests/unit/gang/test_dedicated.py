"""Jobs alone on their file nodes: starts and finishes by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

import ioopt
from ioopt.decisions.gang.state import Gang, Timing
from ioopt.errors import UsageError
from ioopt.generate.gang.generate import generate
from ioopt.sim.gang.dedicated import run_dedicated

TIMING = Timing(nodes=3, levels=2, quantum=4.0, migration=0.0, budget=1, tolerance=1e-7)
GANGS = [
    Gang(0, 2, 0b011, 5.0, 9.0, 0.0),
    Gang(1, 1, 0b100, 3.0, 4.0, 1.0),
    Gang(2, 2, 0b110, 2.0, 3.0, 2.0),
    Gang(3, 1, 0b100, 1.0, 2.0, 9.5),
]
"""Nodes 0 and 1 are free at 5, node 2 at 4: job 2 starts at 5, and job 3 at its arrival."""


@pytest.mark.parametrize(
    ("recompute", "starts", "finishes"),
    [
        ("event", [0.0, 1.0, 5.0, 9.5], [5.0, 4.0, 7.0, 10.5]),
        # Slices begin at 0, 4, 8, 12: job 1 runs from 4 to 7, job 2 from 8 to 10.
        ("boundary", [0.0, 4.0, 8.0, 12.0], [5.0, 7.0, 10.0, 13.0]),
    ],
)
def test_every_job_waits_for_its_file_nodes(
    recompute: str, starts: list[float], finishes: list[float]
) -> None:
    run = run_dedicated(GANGS, TIMING._replace(at_boundary=recompute == "boundary"))
    assert (run.start, run.finish) == (starts, finishes)
    assert all(run.local)
    # 2 rows of 2 x 5, 1 x 3, 2 x 2 and 1 x 1 node-seconds.
    assert run.occupied == 2 * (10 + 3 + 4 + 1)


def test_rationals_stay_rationals() -> None:
    timing = Timing(3, 2, Fraction(4), Fraction(0), 1, Fraction(1, 10**7))
    gangs = [gang._replace(local=Fraction(1, 3), arrival=Fraction(0)) for gang in GANGS]
    assert run_dedicated(gangs, timing).finish == [Fraction(k, 3) for k in (1, 1, 2, 3)]


@pytest.mark.parametrize("seed", range(5))
def test_its_schedule_keeps_every_rule_and_is_replayed(seed: int) -> None:
    problem = generate(None, {"jobs": 60}, seed)
    result = ioopt.solve(problem, "dedicated")
    assert (result.status, result.violations) == ("feasible", ())
    assert ioopt.simulate(problem, result).schedule == result.schedule


def test_one_decision_is_not_for_it() -> None:
    with pytest.raises(UsageError, match="dedicated"):
        ioopt.solve(ioopt.catalog.resolve("gang-figure-7"), "dedicated")
