"""Dispatch by hand: what is legal, what a record holds, and the commands."""

import json
from pathlib import Path
from typing import Any

import pytest
from replication_samples import document

import ioopt
from ioopt.checks.replication.check import check
from ioopt.decisions.replication import DispatchView, Pair
from ioopt.errors import SimulationError, UsageError
from ioopt.problems.replication import ReplicationPlan
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import noisy_seconds, simulate
from ioopt.solvers.replication.dispatch import fifo


def instance(cores: int = 1) -> dict[str, Any]:
    """a (2 s) writes x for b (1 s); c (5 s, arrives at 1 s); one node."""
    tasks = {"a": (2, "", "x"), "b": (1, "x"), "c": (5, "", "", {"release_seconds": 1})}
    return document([{"cores": cores}], {"x": 10}, tasks, 10, 40)


def once(*pairs: Pair) -> Any:
    """A dispatcher that answers these pairs one after the other, whatever it sees."""
    left = list(pairs)
    return lambda view: left.pop(0) if left else None


ILLEGAL = [
    (1, once((1, 0)), "'b' to 'n0' at 0 s, but the task is not ready"),  # x is not made
    (
        1,
        once((2, 0)),
        "'c' to 'n0' at 0 s, but the task is not ready",
    ),  # has not arrived
    (2, once((0, 0), (0, 0)), "'a' to 'n0' at 1 s, but the task is not ready"),  # runs
    (1, once((0, 1)), "no such task or node"),
    (1, once((0, 0), (2, 0)), "'c' to 'n0' at 1 s, where 0 cores idle and it takes 1"),
    (
        1,
        once(),
        "the dispatcher assigns none of the ready tasks 'a', 'c'",
    ),
]


@pytest.mark.parametrize(("cores", "dispatcher", "message"), ILLEGAL)
def test_an_illegal_pair_is_named(cores: int, dispatcher: Any, message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        dispatch(ioopt.load(instance(cores)), dispatcher, engine="python")


def test_a_run_without_tasks_ends_at_once() -> None:
    """Its records have no entry; compiled kernels would read beyond their list."""
    plan, ran = dispatch(ioopt.load(document([{}, {}], {}, {}, 10, 40)), fifo)
    assert plan.order == {"n0": (), "n1": ()}
    assert ran.metrics["makespan_seconds"] == 0


def test_an_unlimited_disk_holds_more_than_64_bits_of_bytes() -> None:
    """Twelve files of 10^18 bytes come at 10^17 bytes per second: 120 s, then 1 s."""
    files = {letter: 10**18 for letter in "abcdefghijkl"}
    tasks = {"t": (1, "abcdefghijkl")}
    problem = ioopt.load(document(1, files, tasks, 1e17, 1e17))
    plan, ran = dispatch(problem, fifo)
    assert ran.metrics["makespan_seconds"] == 121
    assert check(problem, plan, ran.schedule).violations == ()


def test_a_dispatcher_sees_plans_and_what_has_arrived() -> None:
    """a computes 9 s instead of 2: at 1 s its planned end is 2, at later
    times never before now.
    """
    seen: list[Any] = []

    def look(view: DispatchView) -> Pair | None:
        seen.append(
            (
                view.now,
                list(view.released()),
                list(view.core_times(0)),
                list(view.ready),
            )
        )
        with pytest.raises(KeyError):
            view.task(2) if view.now < 1 else view.task(99 if view.now > 99 else {}[2])
        return fifo(view)

    dispatch(ioopt.load(instance(2)), look, engine="python", actual={"a": 9.0})
    assert seen[0] == (0.0, [0, 1], [0.0, 0.0], [0])
    assert seen[1] == (1.0, [0, 1, 2], [0.0, 2.0], [2])


def test_prefetch_lets_one_task_wait() -> None:
    """One core, a until 2 s: c is given at 1 s and starts at 2, b
    only when c has started.
    """
    problem = ioopt.load(instance())
    plan, ran = dispatch(problem, fifo, engine="python", prefetch=True)
    assert plan.dispatches == (
        (0.0, 0, "a", "n0"),
        (1.0, 0, "c", "n0"),
        (2.0, 0, "b", "n0"),
    )
    assert check(problem, plan, ran.schedule).violations == ()
    lazy = plan.model_copy(update={"prefetch": False})
    assert {v.rule for v in check(problem, lazy, ran.schedule).violations} == {
        "dispatch"
    }
    with pytest.raises(SimulationError, match="0 cores idle"):
        simulate(problem, lazy)


def test_a_record_is_followed_through_a_task_of_no_length() -> None:
    """b starts at 200 s, where c is given, and ends 1e-7 s later, where c
    starts and d is given.
    """
    tasks = {"a": (200, ""), "b": (1e-7, ""), "c": (1, ""), "d": (1, "")}
    problem = ioopt.load(document([{}], {"x": 10}, tasks, 10, 40))
    plan, ran = dispatch(problem, fifo, engine="python", prefetch=True)
    assert [row[0] for row in plan.dispatches or ()] == [0.0, 0.0, 200.0, 200.0 + 1e-7]
    assert simulate(problem, plan).schedule == ran.schedule


def test_a_false_record_is_found() -> None:
    problem = ioopt.load(instance())
    plan, ran = dispatch(problem, fifo, engine="python")
    rows = list(plan.dispatches or ())
    early = plan.model_copy(
        update={"dispatches": ((0.0, 0, "a", "n0"), (1.5, 0, *rows[1][2:]), rows[2])}
    )
    assert {v.rule for v in check(problem, early, ran.schedule).violations} == {
        "dispatch"
    }
    with pytest.raises(SimulationError, match="no such instant"):
        simulate(problem, early)
    swapped = plan.model_copy(update={"order": {"n0": ("a", "c", "b")}})
    assert check(problem, swapped, ran.schedule).violations
    with pytest.raises(SimulationError, match="order"):
        simulate(problem, swapped)


def test_noise_is_seeded_and_has_median_one() -> None:
    problem = ioopt.load(instance())
    assert noisy_seconds(problem, 0.0) == {"a": 2.0, "b": 1.0, "c": 5.0}
    assert noisy_seconds(problem, 0.3, 4) == noisy_seconds(problem, 0.3, 4)
    assert noisy_seconds(problem, 0.3, 4) != noisy_seconds(problem, 0.3, 5)
    draws = sorted(noisy_seconds(problem, 0.8, seed)["b"] for seed in range(401))
    assert 0.85 < draws[200] < 1.15
    with pytest.raises(UsageError, match="no task 'z'"):
        simulate(
            problem, ReplicationPlan(order={"n0": ("a", "b", "c")}), actual={"z": 1.0}
        )
    plan = ReplicationPlan(order={"n0": ("a", "b", "c")})
    wrong: Any
    for wrong in (-1.0, float("nan"), float("inf"), "1", None):
        with pytest.raises(UsageError, match="no time"):
            simulate(problem, plan, actual={"a": wrong})


@pytest.mark.parametrize("name", ["fifo", "locality", "ready-min-min"])
def test_commands_solve_simulate_and_check(run: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / "w.json").write_text(json.dumps(instance()))
    noisy = ["--actual-noise", "0.3", "--seed", "3", "--format", "json"]
    for mode, code in (("replay", 0), ("dispatch", 2)):
        solved = run(
            "solve", "w.json", "--solver", name, "--set", f"mode={mode}", "-o", "r.json"
        )
        result = json.loads((tmp_path / "r.json").read_text())
        assert solved[0] == 0 and ("dispatches" in result["plan"]) == (
            mode == "dispatch"
        )
        assert result["objective_name"] == "makespan_seconds"
        assert result["objective"] == result["bound"] == 8.0  # all on one core
        assert run("check", "w.json", "r.json")[0] == 0
        assert run("simulate", "w.json", "r.json")[0] == 0
        assert run("simulate", "w.json", "r.json", *noisy)[0] == code
    code, out, _ = run("simulate", "w.json", "--solver", name, *noisy)
    live = json.loads(out)
    assert code == 0 and live["plan"]["dispatches"]
    assert set(live["schedule"]["actual_compute_seconds"]) == {"a", "b", "c"}
    assert run("simulate", "w.json")[0] == 2


def test_files_leave_out_rounds_of_zero() -> None:
    """b follows a, which takes no time, in round 1 of 0 s: that row alone needs its
    round. c ends at 6 s.
    """
    data = instance()
    data["tasks"][0]["compute_seconds"] = 0
    problem = ioopt.load(data)
    plan, ran = dispatch(problem, fifo, engine="python")
    assert ran.metrics["makespan_seconds"] == 6.0
    written = json.loads(json.dumps(plan.to_dict()))
    assert written["dispatches"] == [
        [0.0, "a", "n0"],
        [0.0, 1, "b", "n0"],
        [1.0, "c", "n0"],
    ]
    assert ReplicationPlan.model_validate(written) == plan
    assert ioopt.simulate(problem, written).schedule == ran.schedule
    long = {**written, "dispatches": [list(row) for row in plan.dispatches or ()]}
    assert ReplicationPlan.model_validate(long) == plan
