"""Both engines give up at the deadline, at which they look every so many steps."""

import json
from itertools import chain, repeat
from typing import Any

import numpy as np
import pytest
from conftest import both_makers

import ioopt
from ioopt.catalog import resolve
from ioopt.compiled import library
from ioopt.compiled.memory import Plain
from ioopt.decisions.gang.state import Gang, Timing
from ioopt.errors import OutOfTime
from ioopt.generate.gang.generate import BluePacificLike, make_table
from ioopt.options import Deadline
from ioopt.sim.gang.matrix import NOT_YET
from ioopt.sim.gang.results import Trajectory
from ioopt.sim.gang.simulate import STEPS_PER_LOOK, GangSimulation, largest_number
from ioopt.sim.pace import Pace
from ioopt.solvers.flexgang import linear
from ioopt.solvers.gang import bound
from ioopt.solvers.gang.policy import GS as POLICY


def open_for(looks: int) -> Pace:
    """The pace of a run whose deadline has passed from the look on of
    this number, from 0.
    """
    clock = chain(repeat(0.0, 2 + 2 * looks), repeat(1e9))  # 2 at the start, 2 a look
    return Pace(Deadline(1.0, clock.__next__, started=0.0))


@pytest.mark.parametrize("looks", [0, 3])
def test_the_python_engine_stops_at_the_look_that_finds_it_late(looks: int) -> None:
    """One-second jobs, ten seconds apart: a step goes to an arrival, a finish
    or the end of a slice.
    """
    gangs = [Gang(k, 1, 1, 1.0, 3.0, 10.0 * k) for k in range(5 * STEPS_PER_LOOK)]
    engine = GangSimulation(gangs, Timing(1, 1, 200.0, 0.0, 0, 1e-7), POLICY)
    with pytest.raises(
        OutOfTime, match=rf"^out of time with \d+ of {len(gangs)} jobs finished; about"
    ):
        engine.run(open_for(looks))
    finished = sum(job.finish != NOT_YET for job in engine.matrix.jobs)
    steps = STEPS_PER_LOOK * (looks + 1)
    # A job takes two steps, arrival and finish; in every 20 jobs a slice of 200 s ends.
    assert steps / 3 - 1 <= finished <= steps / 2 + 1


def test_the_compiled_engine_stops_and_looking_changes_nothing() -> None:
    _, machine = both_makers()
    # Every job takes a step to finish: two calls and more.
    settings = BluePacificLike(jobs=2 * round(STEPS_PER_LOOK * machine.times))
    gangs, timing = make_table(settings, 0).gangs(), Timing.of(settings.machine)

    def run(pace: Pace | None) -> Trajectory:
        return GangSimulation(gangs, timing, POLICY, make=machine).run(pace)

    for looks in (0, 1):
        with pytest.raises(OutOfTime, match=f"of {settings.jobs} jobs finished"):
            run(open_for(looks))
    assert run(None) == run(open_for(10**9))


def test_slices_beyond_64_bits_are_left_to_plain_python() -> None:
    """A million seconds in slices of 10^-15 s are 10^21 slices."""
    timing = Timing(1, 1, 1e-15, 0.0, 0, 1e-7)
    most = largest_number(0.0, np.array([1e6]), timing)
    assert most > library.MOST
    assert isinstance(library.maker(most), Plain)


def test_one_decision_asks_for_no_bound(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound of a gang decision is an integer program: seconds where a
    decision takes none.
    """
    asked: list[object] = []

    def upper_bound(problem: object, deadline: Deadline) -> float:
        asked.append(problem)
        return 0.005

    monkeypatch.setattr(bound, "upper_bound", upper_bound)
    code, out, _ = run("solve", "gang-crowded-now", "--now")
    assert code == 0 and json.loads(out)["jobs"] and not asked
    assert ioopt.solve(resolve("gang-crowded-now")).bound == 0.005


def test_bounds_of_the_front_door_keep_to_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The program of this decision takes some 4 s, and loading its solver one."""

    def refuse(*given: object, **options: object) -> None:
        raise AssertionError("asked past the limit")

    monkeypatch.setattr(bound, "solve_by_cpsat", refuse)
    found = ioopt.solve(resolve("gang-crowded-now"), "adaptive-iogs", time_limit=0.1)
    assert found.objective is not None and found.bound is not None
    assert 0 < found.objective <= found.bound
    with pytest.raises(AssertionError):
        ioopt.solve(resolve("gang-crowded-now"), "adaptive-iogs", time_limit=1000.0)
    monkeypatch.setattr(linear, "relaxed_bound", refuse)
    flexible = ioopt.solve(resolve("flexgang-tiny"), "strict", time_limit=1e-9)
    assert flexible.objective is not None and flexible.bound is not None
    assert flexible.objective <= flexible.bound
