"""Time limits of the replication solvers: cheap plans, pieces of planning and
replay, what is left out.
"""

import subprocess
import sys
from typing import Any

import pytest
from conftest import ROOT, ticking
from replication_samples import made

import ioopt
from ioopt.errors import OutOfTime
from ioopt.families import SolverSpec
from ioopt.generate.replication.generate import generate
from ioopt.options import Deadline, SolveOptions
from ioopt.protocols import SolveRequest
from ioopt.result import Status, StopReason
from ioopt.sim.replication import simulate as sim
from ioopt.solvers.replication.exact import ip
from ioopt.solvers.replication.greedy import (
    job_data_present,
    list_scheduler,
    minmin,
)
from ioopt.solvers.replication.rounds import two_stage
from ioopt.solvers.replication.search import link_aware

SMALL = generate("image-85", {"tasks": 30, "nodes": 3, "disk": "400MB"}, 3)


def test_file_order_by_hand() -> None:
    """10 bytes take 10 s to fetch and 1 s to copy; disks of 20
    bytes; tasks compute 5 s.

    t0 (f0): n0, 15 s. t1 (f1): n1, 15 s. t2 (f0 f2): n0 holds f0, fetches f2, 30 s. t3
    (f2): n1 copies f2 beside f1, 21 s. t4 (f3): n1 drops f1, used longest ago, and
    fetches f3, 36 s. t5, t6 (f0): n0, 40 s. t7 (f2): n1 has it still.
    """
    reads = (["f0"], ["f1"], ["f0", "f2"], ["f2"], ["f3"], ["f0"], ["f0"], ["f2"])
    tasks = {f"t{k}": (5, files) for k, files in enumerate(reads)}
    problem = made(
        [{"disk_bytes": 20}] * 2, {f"f{k}": 10 for k in range(4)}, tasks, 1, 10
    )
    plan = job_data_present.plan_in_file_order(problem)
    assert plan.order == {
        "n0": ("t0", "t2", "t5", "t6"),
        "n1": ("t1", "t3", "t4", "t7"),
    }
    assert plan.remote == (("f0", "n0"), ("f1", "n1"), ("f2", "n0"), ("f3", "n1"))
    assert plan.copies == (("f2", "n0", "n1"),)
    assert ioopt.check(problem, plan) == []


@pytest.mark.parametrize("seed", range(3))
def test_file_order_keeps_unequal_disks(seed: int) -> None:
    data = generate(
        "image-85", {"tasks": 30, "nodes": 3, "disk": "400MB"}, seed
    ).model_dump(mode="json", by_alias=True)
    data["nodes"][0]["disk_bytes"] = 0
    problem = ioopt.load(data)
    plan = job_data_present.plan_in_file_order(problem)
    assert plan.order[problem.nodes[0].id] == ()
    assert ioopt.check(problem, plan) == []
    assert ioopt.simulate(problem, plan).metrics["makespan_seconds"] > 0


SOLVERS = [
    *(module.solve for module in (minmin, job_data_present, two_stage, ip)),
    two_stage.solve_hierarchical,
]


@pytest.mark.parametrize("solve", SOLVERS)
def test_a_limit_that_is_too_short_gives_tasks_in_file_order(
    solve: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(minmin, "CHEAP_SECONDS", 0.0)
    for name, value in {"TASKS_A_LOOK": 1, "SLACK_SECONDS": 0.0}.items():
        for place in (list_scheduler, job_data_present, two_stage):
            if hasattr(place, name):
                monkeypatch.setattr(place, name, value)
    monkeypatch.setattr(two_stage, "HASTE_SECONDS_PER_TASK", 1.0)
    monkeypatch.setattr(minmin, "MODEL_SECONDS_PER_READ", 1.0)
    request = SolveRequest(SolveOptions(5.0), ticking(5.0))
    outcome = solve(SMALL, request)
    instead = solve is ip.solve
    assert outcome.stop is (StopReason.FALLBACK if instead else StopReason.TIME)
    assert "planned in the order of the instance" in outcome.notes[0]
    assert outcome.plan == job_data_present.plan_in_file_order(SMALL)


@pytest.mark.parametrize(("limit", "planned"), [(1.0, True), (0.5, False)])
def test_minmin_may_use_what_a_check_leaves_of_the_overtime(
    monkeypatch: Any, limit: float, planned: bool
) -> None:
    """It takes 3 s and may take twice what is left: of 1.05 x 1 s + .8 s 1.85 are
    left, of .5 s 1.325.
    """
    monkeypatch.setattr(minmin, "planning_seconds", lambda problem: 3.0)
    deadline = Deadline(limit, lambda: 0.0, 0.0)
    outcome = minmin.solve(SMALL, SolveRequest(SolveOptions(limit), deadline))
    assert (outcome.stop is StopReason.FINISHED) == planned


@pytest.mark.parametrize("events", [1, 7])
def test_a_replay_ends_with_the_deadline(monkeypatch: Any, events: int) -> None:
    """The clock goes on by a second a look; paused after so many events,
    a replay is the same.
    """
    plan, _ = minmin.plan_minmin(SMALL)
    monkeypatch.setattr(sim, "CHEAP_SECONDS", 0.0)
    monkeypatch.setattr(sim, "INSTANTS", events)
    full = sim.simulate(SMALL, plan, deadline=ticking(1e9))
    assert full == sim.simulate(SMALL, plan)
    with pytest.raises(OutOfTime, match="30 tasks on 3 nodes"):
        sim.simulate(SMALL, plan, deadline=ticking(20.0 / events))
    assert not sim.replay_fits(SMALL, ticking(0.001))


def test_what_is_not_replayed_is_checked_and_measured_by_its_plan(
    monkeypatch: Any,
) -> None:
    """No makespan is known then: the batch time (13) of the plan is the objective."""

    def too_long(problem: Any, deadline: Any, make: Any) -> None:
        if deadline is not None:
            raise OutOfTime("replaying takes longer than the time limit leaves")

    monkeypatch.setattr(sim, "replay_deadline", too_long)
    monkeypatch.setattr(link_aware, "_too_large", lambda problem, request: True)
    result = ioopt.solve(SMALL, "link-aware", time_limit=5)
    assert (result.status, result.stop, result.schedule) == (
        Status.FEASIBLE,
        StopReason.TIME,
        None,
    )
    assert result.objective_name == "additive_seconds"
    assert result.bound is not None and result.objective is not None
    assert result.bound <= result.objective
    assert (
        "MinMin's plan" in result.notes[0]
        and "checked, but not replayed" in result.notes[-1]
    )
    monkeypatch.setattr(link_aware, "_too_large", lambda problem, request: False)
    result = ioopt.solve(SMALL, "link-aware", settings={"evaluations": 1})
    assert (result.objective_name, result.stop) == ("additive_seconds", StopReason.TIME)
    monkeypatch.undo()
    monkeypatch.setattr(link_aware, "_too_large", lambda problem, request: True)
    result = ioopt.solve(SMALL, "link-aware", time_limit=5)
    assert (result.objective_name, result.stop) == ("makespan_seconds", StopReason.TIME)


def test_size_decides_whether_there_is_time_to_search(monkeypatch: Any) -> None:
    """Estimates alone: a thousand times the inputs and nodes are
    too large for a second.
    """
    request = SolveRequest(SolveOptions(1.0), Deadline(1.0, clock=lambda: 0.0))
    assert not link_aware._too_large(SMALL, request)
    monkeypatch.setattr(link_aware, "replay_seconds", lambda *given: 5.0)
    assert link_aware._too_large(SMALL, request)


def test_imports_do_not_count_against_a_call_from_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock gains 100 s while libraries are loaded, as in the first call."""
    clock = [0.0]
    monkeypatch.setattr("ioopt.options.now", lambda: clock[0])
    monkeypatch.setattr("ioopt.solving._IMPORTED", set())

    def load(spec: SolverSpec, backend: str | None, problem: object) -> None:
        clock[0] += 100.0

    monkeypatch.setattr(SolverSpec, "load", load)
    result = ioopt.solve(SMALL, "minmin", time_limit=1)
    assert result.stop is StopReason.FINISHED and result.solve_seconds == 0.0
    assert clock == [100.0]
    # A command sets its own deadline before it imports anything, and all counts.
    ioopt.solve(SMALL, "minmin", deadline=Deadline(1))
    assert clock == [100.0]


LATER = """
import sys, ioopt
from ioopt.families import SolverSpec
from ioopt.generate.replication.generate import generate
whole = SolverSpec.load
def load(spec, backend, problem):
    whole(spec, backend, problem)
    known.append(set(sys.modules))
SolverSpec.load, known = load, []
problem = generate("chains", {"chains": 4}, 0) if "flow" in sys.argv else "cycle3"
ioopt.solve(problem, sys.argv[1], time_limit=1)
late = {name.partition(".")[0] for name in sys.modules.keys() - known[0]}
print(*sorted(late & {"networkx", "pulp", "pandas"}))
print(*[m for m in ("scipy.sparse.linalg", "ortools.sat.python.cp_model")
        if m in sys.modules and m not in known[0]])
"""


@pytest.mark.slow
@pytest.mark.parametrize("words", ["auto", "auto flow", "ip", "link-aware flow"])
def test_no_library_is_imported_while_a_solver_runs(words: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", LATER, *words.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stdout.split()) == (0, []), run.stderr
