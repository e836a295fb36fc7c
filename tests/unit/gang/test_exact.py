"""exact-iogs: never below its greedy, laid out soundly, repeatable,
stopped by its deadline.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import first
from gang_tools import random_matrix, random_workload
from unit.gang.test_exact_models import TWO_RUN_TWO_WAIT

import ioopt
from ioopt.catalog import resolve
from ioopt.checks.gang.matrix import value_of
from ioopt.decisions.gang.state import State, Timing, gangs_of, state_of
from ioopt.embed import GangScheduler
from ioopt.errors import UsageError
from ioopt.models.gang.question import ask
from ioopt.options import Deadline
from ioopt.problems.gang import GangMatrixPlan, nodes_of
from ioopt.sim.gang.simulate import GangSimulation
from ioopt.solvers.gang import exact
from ioopt.solvers.gang.exact import urgent_rows_first
from ioopt.solvers.gang.exact_layout import lay_out, tightest_run, with_columns
from ioopt.solvers.gang.policy import IndexSettings, index


@pytest.mark.parametrize("weight", first(1, ["las", "hdf", "one"]))
def test_decisions_are_sound_and_not_below_the_greedy(weight: str) -> None:
    """On 30 snapshots; somewhere the exact decision is better than the greedy's."""
    better = 0
    for seed in range(30):
        problem = random_matrix(seed, 8, 3, 8)
        result = ioopt.solve(problem, "exact-iogs", settings={"weight": weight})
        assert result.violations == ()
        assert result.objective_name == f"value_{weight}"
        assert result.objective is not None and result.bound is not None
        assert result.objective <= result.bound * (1 + 1e-9)
        greedy = ioopt.solve(
            problem,
            "index-iogs",
            settings={"weight": weight, "age_seconds": 0, "pack_ratio": 1},
        )
        plan = GangMatrixPlan.model_validate(greedy.plan)
        floor = value_of(problem, plan, weight)
        assert result.objective >= floor * (1 - 1e-12)
        better += result.objective > floor * (1 + 1e-9)
    assert better >= 5


def test_backends_decide_alike() -> None:
    """Each of the three proves its decisions; only CP-SAT may run a whole workload."""
    for seed in range(6):
        problem = random_matrix(seed, 6, 2, 5)
        for backend in ("CP-SAT", "HiGHS", "CBC"):
            result = ioopt.solve(problem, "exact-iogs", backend=backend)
            assert result.metrics["proven_decisions"] == 1.0
            assert result.violations == ()
    with pytest.raises(UsageError, match="single decisions"):
        ioopt.solve(random_workload(1), "exact-iogs", backend="HiGHS")


def test_a_better_matrix_than_the_greedy_by_hand() -> None:
    """P = 4, M = 2, weight one: a (0-1) and b (2-3, b remote on 0-1) run; c
    needs 2-3, d node 3.

    Best: b moves to 1-2 costs its task and blocks node 1; staying, a and b share nodes
    0-1 (one row each, worth 1 + 1/2), c and d share nodes 2-3: c twice is worth 2, c
    once and d once too. d remote (2/3) on node 2 beside d local is less. Together 3.5
    from columns 0-1 and 2-3; moving b gives a 1, b 0.9 and one row of c or two of d:
    3.9, and c local in row 0, d local in row 1.
    """
    result = ioopt.solve(TWO_RUN_TWO_WAIT, "exact-iogs", settings={"weight": "one"})
    assert result.objective == pytest.approx(1 + 0.9 + 1 + 1)
    assert result.metrics["proven_decisions"] == 1.0
    assert result.metrics["migrated_tasks"] == 1


def test_workloads_run_check_and_repeat() -> None:
    """The same matrices twice, every one of them sound, and the plan
    replays to the same times.
    """
    decisions = 0
    for seed in range(8):
        problem = random_workload(seed)
        first = ioopt.solve(problem, "exact-iogs", time_limit=None)
        again = ioopt.solve(problem, "exact-iogs", time_limit=None)
        assert first.violations == ()
        assert first.metrics["matrix_checked"]
        assert first.schedule == again.schedule
        replayed = ioopt.simulate(problem, first)
        assert replayed.schedule == first.schedule
        decisions += first.metrics["exact_decisions"]
    assert decisions > 50


def test_after_the_deadline_the_greedy_decides_and_the_plan_says_since_when() -> None:
    problem = random_workload(4)
    stopped = ioopt.solve(problem, "exact-iogs", time_limit=1e-9)
    assert stopped.stop == "time"
    assert stopped.plan is not None and stopped.plan["settings"]["exact_events"] == 0
    assert stopped.notes[0].startswith("the greedy decided from event 0 of")
    greedy = exact.policy(exact.Settings(exact_events=0))
    run = GangSimulation(gangs_of(problem), Timing.of(problem.machine), greedy).run()
    finish = sorted(job["finish_seconds"] for job in (stopped.schedule or {})["jobs"])
    assert finish == sorted(run.finish)
    policy = exact.ExactPolicy(
        exact.Settings(), Deadline(1.0, lambda: 10.0, started=0.0)
    )
    policy.update(state_of(TWO_RUN_TWO_WAIT))
    assert policy.stopped_at == 0


def test_fcfs_decisions_start_no_job_before_an_earlier_one() -> None:
    started = 0
    for seed in range(30):
        problem = random_matrix(seed, 6, 2, 8)
        result = ioopt.solve(problem, "exact-iogs", settings={"queue": "fcfs"})
        assert result.plan is not None
        placed = {job["id"] for job in result.plan["jobs"]}
        starts = [job.id in placed for job in problem.waiting]
        assert starts == sorted(starts, reverse=True)
        started += sum(starts)
    assert started > 20


def test_urgent_rows_run_first() -> None:
    """At 450 s with T = 100, M = 2 row 0 runs: it becomes the row of the
    job with less service.

    That is b of the snapshot when a has had 10,000 s. Columns, and which
    jobs share a row, stay.
    """
    running = [
        job.model_copy(update={"attained_seconds": attained})
        for job, attained in zip(TWO_RUN_TWO_WAIT.running, (10_000.0, 0.0))
    ]
    problem = TWO_RUN_TWO_WAIT.model_copy(
        update={"running": tuple(running), "now_seconds": 450.0, "waiting": ()}
    )
    before = state_of(problem)._replace(rows=[0b0011, 0b0011])
    after = urgent_rows_first(before, "las")
    assert (list(before.homes), list(after.homes)) == ([0, 1], [1, 0])
    assert list(after.spans) == [0b10, 0b01]
    assert list(after.columns) == list(before.columns)


def test_gaps_and_layouts() -> None:
    """The tightest gap; remote jobs stand in gaps, or in pieces where a
    row has only pieces.
    """
    assert tightest_run(0b0110111, 2) == 0b0110000
    assert tightest_run(0b0101, 2) is None
    question = ask(state_of(TWO_RUN_TWO_WAIT), "one")
    placed = lay_out(question, {0: 1, 1: 1, 4: 1, 5: 1})
    assert placed is not None
    assert placed[4][0] == 0b1100
    assert placed[4][1] != placed[5][1]
    assert lay_out(question, {0: 2, 1: 1}) is None
    pieces = with_columns(question, {2: 0b01, 4: 0b01})
    assert nodes_of(pieces[4][0]) == (0, 3)


def test_embedded_scheduler_and_decide(run: Any) -> None:
    scheduler = GangScheduler(
        {"nodes": 4, "levels": 2, "quantum_seconds": 200.0},
        "exact-iogs",
        {"weight": "las"},
    )
    scheduler.arrive("a", [0, 1], 900.0, 1800.0, now=0.0)
    scheduler.arrive("b", [1, 2], 900.0, 1800.0, now=0.0)
    assert [
        (job["id"], job["local"]) for job in scheduler.matrix(0.0, deadline=3600.0)
    ] == [
        ("a", True),
        ("b", False),
    ]
    # a in both rows and b beside it at half speed (2 + 1) beat one row
    # each at full speed (2)
    assert scheduler.notes == []
    Path("matrix.json").write_text(
        json.dumps(TWO_RUN_TWO_WAIT.model_dump(mode="json")), "utf-8"
    )
    how = ("--now", "--solver", "exact-iogs", "--set", "weight=one")
    decided = run("solve", "matrix.json", *how)
    compared = run("compare", "matrix.json", "--format", "json")
    assert decided[0] == compared[0] == 0
    assert {job["id"] for job in json.loads(decided[1])["jobs"]} == {"a", "b", "c", "d"}
    rows = json.loads(compared[1])["rows"]
    assert "exact-iogs" in {row["solver"] for row in rows}
    assert all(row["bound"] == pytest.approx(rows[0]["bound"]) for row in rows)
    assert all(row["gap"] is not None for row in rows)


def test_an_empty_matrix_is_left_alone() -> None:
    empty = TWO_RUN_TWO_WAIT.model_copy(update={"running": (), "waiting": ()})
    state: State = state_of(empty)
    assert exact.policy(exact.Settings()).update(state).jobs == []
    assert index(IndexSettings()).update(state).jobs == []
    assert ioopt.solve(empty, "exact-iogs").objective == 0.0


@pytest.mark.slow
def test_both_gaps_of_a_decision_are_named() -> None:
    """The own model's gap is a metric; bound and gap of the result
    hold for every policy.
    """
    result = ioopt.solve("gang-crowded-now", "exact-iogs", time_limit=30)
    assert result.metrics["model_bound"] <= result.bound * (1 + 1e-6)
    assert 0 <= result.metrics["model_gap"] < result.gap <= 1
    assert (
        "bound of its own model" in result.notes[0]
        and "every policy" in result.notes[0]
    )


def test_moves_that_cost_millions_of_slices_are_left_alone() -> None:
    """A move costs 20 s of a slice of 1e-12 s: 1 - C/(2T) is -1e13, which no
    solver holds when scaled.
    """
    problem = json.loads(Path(resolve("gang-figure-7")).read_text())
    problem["machine"]["quantum_seconds"] = 1e-12
    assert problem["machine"]["migration_seconds"] == 20.0
    result = ioopt.solve(problem, "exact-iogs")
    assert (result.status, result.metrics["migrated_jobs"]) == ("optimal", 0)
    assert result.bound is not None and result.bound > 0
