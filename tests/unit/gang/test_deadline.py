"""Both engines give up at the deadline, at which they look every so many steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ioopt
from ioopt import options
from ioopt.catalog import resolve
from ioopt.cli.main import main
from ioopt.decisions.gang.state import Gang, Timing
from ioopt.errors import OutOfTime
from ioopt.generate.gang.generate import BluePacificLike, generate, make_table
from ioopt.options import Deadline
from ioopt.sim.gang.simulate import STEPS_PER_LOOK, GangSimulation
from ioopt.solvers.gang.gs import POLICY


class Looks:
    """A clock that stands still for so many looks; then every deadline is over."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def __call__(self) -> float:
        self.left -= 1
        return 0.0 if self.left >= 0 else 1e9


def open_for(looks: int) -> Deadline:
    """A deadline that has passed from the look on that has this number, counted from 0."""
    return Deadline(1.0, Looks(looks), started=0.0)


@pytest.mark.parametrize("looks", [0, 3])
def test_the_python_engine_stops_at_the_look_that_finds_it_late(looks: int) -> None:
    """One-second jobs, ten seconds apart: a step goes to an arrival, a finish or the end of a slice."""
    gangs = [Gang(k, 1, 1, 1.0, 3.0, 10.0 * k) for k in range(5 * STEPS_PER_LOOK)]
    engine = GangSimulation(gangs, Timing(1, 1, 200.0, 0.0, 0, 1e-7), POLICY)
    with pytest.raises(OutOfTime, match=rf"^out of time with \d+ of {len(gangs)} jobs finished$"):
        engine.run(open_for(looks))
    finished = sum(finish is not None for finish in engine.result.finish)
    steps = STEPS_PER_LOOK * (looks + 1)
    # A job takes two steps, arrival and finish; in every 20 jobs a slice of 200 s ends.
    assert steps / 3 - 1 <= finished <= steps / 2 + 1


def test_the_compiled_engine_stops_and_looking_changes_nothing() -> None:
    gang_compiled: Any = pytest.importorskip("ioopt.sim.gang.compiled")
    # Every job takes a step to finish: two calls and more.
    settings = BluePacificLike(jobs=2 * gang_compiled.STEPS_PER_CALL)
    table, timing = make_table(settings, 0), Timing.of(settings.machine)
    for looks in (0, 1):
        with pytest.raises(OutOfTime, match=f"of {settings.jobs} jobs finished"):
            gang_compiled.run(table, timing, POLICY.rules, deadline=open_for(looks))
    free = gang_compiled.run(table, timing, POLICY.rules)
    watched = gang_compiled.run(table, timing, POLICY.rules, deadline=open_for(10**9))
    assert (free.start, free.finish, free.occupied) == (
        watched.start,
        watched.finish,
        watched.occupied,
    )


@pytest.mark.parametrize("engine", ["python", "compiled"])
@pytest.mark.parametrize("solver", ["gs", "migrate-iogs", "index-iogs"])
def test_out_of_time_is_answered_in_closed_form(
    monkeypatch: pytest.MonkeyPatch, solver: str, engine: str
) -> None:
    monkeypatch.setattr(options, "OVERTIME_SECONDS", 0.0)
    if engine == "compiled":
        pytest.importorskip("numba")
    problem = generate(None, {"jobs": 3000}, 0)
    result = ioopt.solve(problem, solver, time_limit=1e-9, settings={"engine": engine})
    assert (result.status, result.stop) == ("feasible", "fallback")
    assert result.plan is not None and result.plan["policy"] == "dedicated"
    assert "of 3000 jobs finished" in result.notes[0]
    assert result.notes[0].endswith("answered by dedicated")


def test_the_command_line_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "OVERTIME_SECONDS", 0.0)
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(generate(None, {"jobs": 500}, 0).model_dump(mode="json")))
    assert main(["solve", str(path), "--solver", "gs", "--time-limit", "1e-9"]) == 0
    said = capsys.readouterr()
    assert "of 500 jobs finished" in said.out + said.err


def test_one_decision_asks_for_no_bound(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bound of a gang decision is an integer program: seconds where a decision takes none."""
    from ioopt.solvers.gang import bound

    asked = []
    monkeypatch.setattr(bound, "upper_bound", lambda problem: asked.append(problem) or 1e9)
    assert main(["decide", "gang-crowded-now"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"]
    assert not asked
    assert ioopt.solve(resolve("gang-crowded-now")).bound == 1e9
