"""When a simulation is given up, what answers then, and which engine a run
takes from its start.
"""

import itertools
import math
import re
from collections.abc import Callable
from copy import copy
from typing import Any

import pytest
from batch_io_traces import FLAT
from conftest import first, needs_kernels

import ioopt
from ioopt import registry
from ioopt.catalog import entries, resolve
from ioopt.cli.main import main
from ioopt.decisions.gang.state import Gang, Timing
from ioopt.errors import OutOfTime, UsageError
from ioopt.generate.gang.generate import generate
from ioopt.options import Deadline, SolveOptions
from ioopt.protocols import SolveRequest
from ioopt.sim.batch_io import simulate
from ioopt.sim.gang.simulate import STEPS_PER_LOOK, GangSimulation
from ioopt.sim.pace import Pace
from ioopt.solvers.gang.policy import GS as POLICY


class Clock:
    """A clock that is told what time it is."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("until", "total"),
    [
        # 20 s in all: the cheapest policy would take 15, more than is left,
        # so begin it at 10 %.
        (1.0, 19.99),
        # 12 s: it takes 9, and 9 are left after 1 s; of 11 s 8.25, left after 1.75 s.
        (1.0, 12.01),
        (1.76, 10.99),
    ],
)
def test_a_run_that_cannot_meet_its_limit_leaves_time_for_the_cheapest(
    until: float, total: float
) -> None:
    """A pace of so many seconds in all, at the instant from which the
    cheapest needs the rest.
    """
    clock = Clock()
    run, steps = Pace(Deadline(10.0, clock, 0.0), cheapest=False), 100_000

    def look() -> None:
        done = round(steps * clock.now / total)
        run.look(done, done, steps)

    look()
    clock.now = until - 0.01
    look()
    clock.now = until + 0.001
    asked = math.ceil((4 if until < total / 10 else 2) * total)
    with pytest.raises(OutOfTime, match=f"about {asked} s would do"):
        look()


def test_the_cheapest_run_and_one_that_will_be_done_go_on_to_the_deadline() -> None:
    clock = Clock()
    cheapest = Pace(Deadline(10.0, clock, 0.0), 3.0)
    able = Pace(Deadline(10.0, clock, 0.0), cheapest=False)
    clock.now = 9.0
    cheapest.look(1, 0, 50)
    able.look(50, 41, 50)  # .9 s are left
    clock.now = 10.0
    # All arrived at once, which says nothing of the pace: what is spent, four times.
    with pytest.raises(
        OutOfTime, match="with 0 of 50 jobs finished; about 40 s would do"
    ):
        cheapest.look(1, 0, 50)
    with pytest.raises(OutOfTime, match="with 41 of 50 jobs"):
        able.look(50, 41, 50)


def test_without_a_limit_the_clock_is_not_judged() -> None:
    clock = Clock()
    run = Pace(Deadline(None, clock, 0.0), cheapest=False)
    clock.now = 1e9
    assert run.look(0, 0, 50) is None


def test_the_time_asked_for_holds() -> None:
    """Every 64 steps take two seconds of this clock; queues do not grow here."""
    gangs = [Gang(k, 1, 1, 1.0, 3.0, 10.0 * k) for k in range(40 * STEPS_PER_LOOK)]

    def run(limit: float) -> None:
        ticks = itertools.count()
        engine = GangSimulation(gangs, Timing(1, 1, 200.0, 0.0, 0, 1e-7), POLICY)
        engine.run(Pace(Deadline(limit, lambda: float(next(ticks)), 0.0)))

    with pytest.raises(OutOfTime) as late:
        run(30.0)
    told = re.search(r"about (\d+) s would do", str(late.value))
    assert told is not None and float(told[1]) > 60
    run(float(told[1]))


@needs_kernels
@pytest.mark.parametrize(
    "solver", ["fill", "base-line", "adaptive", "cons-max-util", "set-10"]
)
def test_batch_io_on_either_engine_is_the_same_to_the_bit(solver: str) -> None:
    path = resolve("mira-day")
    plain = ioopt.solve(path, solver, settings={"engine": "python"})
    found = ioopt.solve(path, solver, settings={"engine": "compiled"})
    assert (found.schedule, found.metrics) == (plain.schedule, plain.metrics)


@needs_kernels
def test_gangs_on_either_engine_are_the_same_to_the_bit() -> None:
    problem = generate(None, {"jobs": 200}, 3)
    for solver in ("migrate-iogs", "index-iogs"):
        plain = ioopt.solve(
            problem, solver, settings={"engine": "python", "history": "no"}
        )
        found = ioopt.solve(
            problem, solver, settings={"engine": "compiled", "history": "no"}
        )
        assert (found.schedule, found.metrics) == (plain.schedule, plain.metrics)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code looks at the clock as often as plain Python."""
    monkeypatch.setattr(simulate, "COMPILED_INSTANTS", simulate.PLAIN_INSTANTS)


def late_but(cheapest: bool) -> Callable[..., None]:
    """A look that ends every run, but where *cheapest* those of the cheapest policy."""

    def look(self: Pace, arrived: int, ended: int, total: int) -> None:
        if not (cheapest and self.cheapest):
            raise OutOfTime(
                f"out of time with {ended} of {total} jobs finished; about 77 s "
                "would do"
            )

    return look


@pytest.mark.usefixtures("looks")
@pytest.mark.parametrize(
    ("instance", "solver", "cheapest"),
    [
        ("mira-day", "adaptive", "base-line"),
        ("gang-crowded-300", "index-iogs", "gs"),
        ("gang-crowded-300", "exact-iogs", "gs"),
    ],
)
def test_the_cheapest_policy_answers_where_time_is_short(
    monkeypatch: pytest.MonkeyPatch, instance: str, solver: str, cheapest: str
) -> None:
    monkeypatch.setattr(Pace, "look", late_but(True))
    result = ioopt.solve(resolve(instance), solver)
    assert (result.status, result.stop, result.violations) == (
        "feasible",
        "fallback",
        (),
    )
    assert result.plan is not None and result.plan["policy"] == cheapest
    assert result.notes[0].startswith(f"{solver}: out of time with ")
    assert result.notes[0].endswith(f"about 77 s would do; answered by {cheapest}")
    assert ioopt.solve(resolve(instance), cheapest).objective == result.objective


@pytest.mark.usefixtures("looks")
@pytest.mark.parametrize(
    ("instance", "solver", "ran"),
    [
        ("mira-day", "adaptive", ["adaptive", "base-line"]),
        ("mira-day", "base-line", ["base-line"]),
        ("mira-day", "auto", ["fill", "base-line"]),
        ("gang-crowded-300", "gs", ["gs"]),
        ("gang-crowded-300", "index-iogs", ["index-iogs", "gs"]),
        ("gang-crowded-300", "auto", ["index-iogs", "gs"]),
    ],
)
def test_no_time_for_the_cheapest_is_exit_4_with_an_estimate(
    monkeypatch: pytest.MonkeyPatch, instance: str, solver: str, ran: list[str]
) -> None:
    monkeypatch.setattr(Pace, "look", late_but(False))
    result = ioopt.solve(resolve(instance), solver)
    assert (result.status, result.stop, result.plan) == ("unknown", "time", None)
    assert [note.partition(":")[0] for note in result.notes] == ran
    assert all(note.endswith("about 77 s would do") for note in result.notes)
    assert main(["-q", "solve", instance, "--solver", solver]) == 4


def test_decisions_that_take_long_are_timed_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Programs of milliseconds each: 64 of them would overrun a limit of
    a tenth of a second.
    """
    looks = itertools.count()
    monkeypatch.setattr(Pace, "look", lambda *given: next(looks))
    found = ioopt.solve(
        resolve("small-8"), "cons-max-util", settings={"knapsack": "cp-sat"}
    )
    assert next(looks) == found.metrics["instants"]


def test_limits_too_short_for_all_rates_record_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """10^-4 s a phase are needed; small-8 has more than 10, so a limit
    of 1 ms is too short.
    """
    monkeypatch.setattr(Pace, "look", lambda *given: None)
    short = ioopt.solve("small-8", "base-line", time_limit=1e-3)
    whole = ioopt.solve("small-8", "base-line")
    assert short.schedule is not None and whole.schedule is not None
    assert "rates" not in short.schedule["jobs"][0]["io"][0]
    assert "rates" in whole.schedule["jobs"][0]["io"][0]
    assert any("phases not recorded (--set rates=yes" in note for note in short.notes)


@pytest.mark.parametrize(
    "name", ["small-8", "two-writers", "gang-figure-3", "gang-mixed-60"]
)
def test_auto_answers_with_the_best_policy(name: str) -> None:
    problem = ioopt.load(name)
    kind = registry.kind_of_problem(problem)
    values = {
        policy: ioopt.solve(problem, policy, bound=False).objective
        for policy in kind.policies
    }
    best: Any = {"min": min, "max": max}[kind.objective.sense]
    found = ioopt.solve(problem, bound=False)
    assert (found.solver, found.stop, found.violations) == ("auto", "finished", ())
    assert found.objective == best(values.values())
    chosen = best(values, key=values.__getitem__)
    assert found.notes == (f"{chosen} is the best of {', '.join(values)}",)


def test_auto_stops_where_the_next_policy_may_not_fit() -> None:
    """Every question takes a second here, so runs take some; the
    notes name what ran.
    """
    ticks = itertools.count()
    problem = ioopt.load("gang-figure-3")
    deadline = Deadline(10.5, lambda: float(next(ticks)), 0.0)
    auto = registry.solver("auto", registry.KINDS["gang-matrix"]).solve_function()
    found = auto(problem, SolveRequest(SolveOptions(), deadline))
    tried, late = (
        note.rpartition(" of " if k == 0 else " for ")[2]
        for k, note in enumerate(found.notes)
    )
    assert found.stop == "time" and found.plan is not None
    assert tried.startswith("index-iogs") and f"{tried}, {late}" == ", ".join(
        registry.KINDS["gang-matrix"].policies
    )


def test_auto_is_no_policy_to_embed() -> None:
    machine = {**FLAT, "nodes": 4, "storage_bytes_per_second": 2}
    with pytest.raises(
        UsageError, match="auto tries several policies on whole instances"
    ):
        ioopt.embed.IoArbiter(machine, "auto")


@pytest.mark.parametrize(
    "kind",
    first(
        4,
        [
            kind
            for kind in registry.KINDS.values()
            if kind.fallback and kind.family != "replication"
        ],
    ),
)
def test_fallbacks_take_every_instance_of_their_kind(kind: registry.Kind) -> None:
    """Also those that the default refuses: bursts that are not random, own rates."""
    names = [name for name, entry in entries().items() if entry["kind"] == kind.kind]
    for name in names:
        assert ioopt.solve(name, kind.fallback, bound=False).status in (
            "feasible",
            "optimal",
        ), name
    assert names


def test_the_fallback_answers_where_the_default_does_not_apply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """minmin takes no workflows; who names it is told so."""
    kind = copy(registry.KINDS["replication"])
    kind.default_solver = "minmin"
    kind.fallback = "fifo"
    monkeypatch.setitem(registry.FORMATS, "replication", kind)
    found = ioopt.solve("flow-groups")
    assert (found.solver, found.stop, found.violations) == ("fifo", "finished", ())
    assert found.notes[0].endswith("; answered by fifo")
    with pytest.raises(UsageError):
        ioopt.solve("flow-groups", "minmin")
