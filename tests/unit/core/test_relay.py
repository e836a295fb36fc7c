"""When a plain run goes on, makes room for compiled code, has it compiled elsewhere, or gives up."""

from __future__ import annotations

import math
from itertools import count
from typing import Any

import pytest

import ioopt
from ioopt.catalog import resolve
from ioopt.errors import OutOfTime
from ioopt.generate.gang.generate import generate
from ioopt.options import Deadline
from ioopt.sim import relay
from ioopt.sim.relay import COMPILING_PAYS_SECONDS, Handover, Relay, relay_to


class Clock:
    """A clock that is told what time it is."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Compiler:
    """A stand-in for the process that compiles; ``kept`` is whether machine code stands."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kept: bool) -> None:
        self.kept, self.runs, self.started = kept, False, 0
        monkeypatch.setattr(relay, "compile_apart", self.start)
        monkeypatch.setattr(relay, "is_kept", lambda function: self.kept)

    def start(self, call: str) -> Compiler:
        self.started, self.runs = self.started + 1, True
        return self

    def poll(self) -> int | None:
        return None if self.runs else 0


def judge(clock: Clock, deadline: Deadline | None = None, patient: bool = False) -> Relay:
    return Relay("json:loads", "json:dumps", deadline or Deadline(None), patient, clock)


def test_short_runs_stay_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 1 s with 45 of 100 arrived and 45 ended .11 s are left, at .2 s nothing is known yet."""
    clock, compiler = Clock(), Compiler(monkeypatch, kept=True)
    run = judge(clock)
    for clock.now, arrived, ended in ((0.2, 1, 0), (1.0, 45, 45)):
        run.look(arrived, ended, 50)
    assert not compiler.started


def test_long_runs_are_handed_over_where_the_code_stands_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1 s for 10 of 100 steps: 9 s are left."""
    clock = Clock()
    Compiler(monkeypatch, kept=True)
    run = judge(clock)
    clock.now = 1.0
    with pytest.raises(Handover):
        run.look(10, 0, 50)


def test_other_processes_compile_and_the_run_goes_on_until_they_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, compiler = Clock(), Compiler(monkeypatch, kept=False)
    run = judge(clock)
    clock.now = 1.0
    run.look(100 - 25, 0, 50)  # 1/3 s is left: nothing to compile for
    assert not compiler.started
    for clock.now in (2.0, 3.0, 4.0):
        run.look(10, 0, 50)
    assert compiler.started == 1
    compiler.runs, compiler.kept = False, True
    with pytest.raises(Handover):
        run.look(10, 0, 50)


def test_a_compiler_that_fails_is_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, compiler = Clock(), Compiler(monkeypatch, kept=False)
    run = judge(clock)
    clock.now = 2 * COMPILING_PAYS_SECONDS
    for _ in range(3):
        run.look(10, 0, 50)
        compiler.runs = False
    assert compiler.started == 1


def test_a_run_without_a_compiled_form_is_left_alone() -> None:
    run = relay_to("", "")
    object.__setattr__(run, "started", -1e6)
    run.look(1, 0, 50)
    assert run.compiler is None


@pytest.mark.parametrize(
    ("limit", "patient", "until", "total"),
    [
        # 20 s in all: a cheaper run would take 15, more than is left, so begin it at once: at 10 %.
        (10.0, False, 1.0, 19.99),
        # 12 s: a cheaper run takes 9, and 9 are left after 1 s; of 11 s 8.25, left after 1.75 s.
        (10.0, False, 1.0, 12.01),
        (10.0, False, 1.76, 10.99),
        # A plan in closed form takes 15 % of 19.99 s: 3 s, which are left after 7.
        (10.0, True, 7.002, 19.99),
        (10.0, True, 1.0, 99.9),
        # Another process may have machine code ready before 60 s are over.
        (60.0, False, 36.0, 99.9),
    ],
)
def test_a_run_that_cannot_meet_its_limit_leaves_time_for_a_cheaper_one(
    limit: float, patient: bool, until: float, total: float
) -> None:
    """A pace of so many seconds in all, at the instant from which the cheaper run needs the rest."""
    clock = Clock()
    run = Relay("", "", Deadline(limit, clock, 0.0), patient, clock)
    clock.now = until - 0.01
    steps = 100_000

    def look() -> None:
        run.look(round(2 * steps * clock.now / total), 0, steps)

    look()
    clock.now = until + 0.001
    with pytest.raises(OutOfTime, match=f"about {math.ceil(total)} s would do"):
        look()


@pytest.mark.parametrize(("limit", "handed"), [(0.9, True), (0.6, False)])
def test_under_a_short_limit_code_that_stands_ready_is_loaded_early(
    monkeypatch: pytest.MonkeyPatch, limit: float, handed: bool
) -> None:
    """2 s in all, of which .1 are over: loading takes .6, which are left of .9 but not of .6."""
    clock = Clock()
    Compiler(monkeypatch, kept=True)
    run = Relay("json:loads", "json:dumps", Deadline(limit, clock, 0.0), False, clock)
    clock.now = 0.1
    with pytest.raises(Handover if handed else OutOfTime):
        run.look(5, 5, 100)


def test_whether_code_stands_ready_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, asked = Clock(), []
    monkeypatch.setattr(relay, "is_kept", asked.append)
    run = judge(clock)
    clock.now = 1.0
    for _ in range(3):
        run.look(50, 0, 50)  # 1 s is left
        run.look(30, 0, 50)  # 2.3 s are left
    assert len(asked) == 1


def test_a_run_that_will_meet_its_limit_is_not_given_up() -> None:
    clock = Clock()
    run = Relay("", "", Deadline(10.0, clock, 0.0), False, clock)
    clock.now = 9.0
    run.look(50, 41, 50)  # .9 s are left
    run.look(50, 45, 50)
    assert run.compiler is None


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every run is handed over at its first look; the names of the kernels asked about."""
    asked: list[str] = []

    def look(self: Relay, arrived: int, ended: int, total: int) -> None:
        if self.kernel:
            asked.append(self.kernel)
            raise Handover

    monkeypatch.setattr(Relay, "look", look)
    return asked


@pytest.mark.parametrize("solver", ["fill", "base-line", "adaptive", "cons-max-util", "set-10"])
def test_batch_io_handed_over_is_the_same_to_the_bit(eager: list[str], solver: str) -> None:
    pytest.importorskip("numba")
    path = resolve("mira-day")
    plain = ioopt.solve(path, solver, settings={"engine": "python"})
    assert not eager
    relayed = ioopt.solve(path, solver)
    assert eager == ["ioopt.sim.batch_io.compiled:advance"]
    assert relayed.schedule == plain.schedule
    assert relayed.metrics == plain.metrics


def test_gang_handed_over_is_the_same_to_the_bit(eager: list[str]) -> None:
    pytest.importorskip("numba")
    problem = generate(None, {"jobs": 200}, 3)
    for solver in ("migrate-iogs", "index-iogs"):
        plain = ioopt.solve(problem, solver, settings={"engine": "python", "history": "no"})
        relayed = ioopt.solve(problem, solver, settings={"history": "no"})
        assert relayed.schedule == plain.schedule
        assert relayed.metrics == plain.metrics
    assert eager == 2 * ["ioopt.sim.gang.compiled:_simulate"]


def late_but(patient: bool) -> Any:
    """A look that ends every run, but where *patient* those of the cheapest policy."""

    def look(self: Relay, arrived: int, ended: int, total: int) -> None:
        if not (patient and self.patient):
            raise OutOfTime(
                f"out of time with {ended} of {total} jobs finished; about 77 s would do"
            )

    return look


@pytest.mark.parametrize(
    ("instance", "solver", "cheapest"),
    [("mira-day", "adaptive", "base-line"), ("gang-crowded-300", "index-iogs", "gs"),
     ("mira-day", "adaptive", "fixed-share"), ("gang-crowded-300", "index-iogs", "dedicated"),
     ("mira-day", "base-line", "fixed-share"), ("gang-crowded-300", "gs", "dedicated")],
)  # fmt: skip
def test_a_cheaper_policy_answers_where_time_is_short(
    monkeypatch: pytest.MonkeyPatch, instance: str, solver: str, cheapest: str
) -> None:
    monkeypatch.setattr(Relay, "look", late_but(cheapest in ("base-line", "gs")))
    result = ioopt.solve(resolve(instance), solver)
    assert (result.status, result.stop, result.violations) == ("feasible", "fallback", ())
    assert result.plan is not None
    assert result.plan["policy"] == cheapest
    assert result.notes[0].startswith(f"{solver}: out of time with ")
    assert result.notes[0].endswith(f"about 77 s would do; answered by {cheapest}")
    alone = ioopt.solve(resolve(instance), cheapest)
    assert alone.objective == result.objective


def test_decisions_that_take_long_are_timed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of milliseconds each: 64 of them would overrun a limit of a tenth of a second."""
    looks = count()
    monkeypatch.setattr(Relay, "look", lambda *given: next(looks))
    found = ioopt.solve(resolve("small-8"), "cons-max-util", settings={"knapsack": "or-tools"})
    assert next(looks) == found.metrics["instants"]
