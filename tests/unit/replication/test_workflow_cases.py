"""The worked cases of batches and workflows: exact times on both engines, errors
that name what is wrong.
"""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from conftest import ENGINES, shared_files

import ioopt
from ioopt.checks.replication.check import check
from ioopt.errors import IooptError
from ioopt.models.replication.workflow_bound import (
    SharedBound,
    WorkflowBound,
    makespan_bound_seconds,
)
from ioopt.problems.replication import ReplicationPlan
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.dispatch import fifo, locality, ready_min_min
from ioopt.solvers.replication.greedy.job_data_present import plan_job_data_present
from ioopt.solvers.replication.greedy.minmin import plan_minmin

FOLDERS = ("cases/timeline", "cases/workflow", "cases/shared-memory")
FILES = [path for folder in FOLDERS for path in shared_files(folder)]
CASES = {f"{path.parent.name} {path.stem}": path for path in FILES}


def load(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return case


def linked(case: dict[str, Any]) -> Any:
    """The problem of a case with the case's kind of link."""
    network = {**case["instance"]["network"], "remote_link": case["link"]}
    return ioopt.load({**case["instance"], "network": network})


def of_mode(*modes: str) -> list[str]:
    return [
        name
        for name, path in sorted(CASES.items())
        if load(path).get("mode", "replay") in modes
    ]


def near(value: float, exact: str) -> bool:
    wanted = float(Fraction(exact))
    return abs(value - wanted) <= 1e-9 * max(1.0, abs(wanted))


def check_against(
    schedule: dict[str, Any], makespan: float, expected: dict[str, Any]
) -> None:
    assert near(makespan, expected["makespan"])
    tasks = {row["id"]: row for row in schedule["tasks"]}
    assert set(tasks) == set(expected["tasks"])
    for name, (start, end) in expected["tasks"].items():
        assert near(tasks[name]["start_seconds"], start)
        assert near(tasks[name]["end_seconds"], end)
    found = sorted(
        (
            t["file"],
            t["source"] or "remote",
            t["destination"] or "remote",
            t["start_seconds"],
            t["end_seconds"],
        )
        for t in schedule["transfers"]
    )
    wanted = sorted(
        (file, source, target, float(Fraction(start)), float(Fraction(end)))
        for file, source, target, start, end in expected["transfers"]
    )
    assert [row[:3] for row in found] == [row[:3] for row in wanted]
    for row, other in zip(found, wanted, strict=True):
        assert row[3:] == pytest.approx(other[3:], rel=1e-9, abs=1e-9)
    gone = sorted((e["file"], e["node"], e["seconds"]) for e in schedule["evictions"])
    evicted = sorted(
        (f, n, float(Fraction(when))) for f, n, when in expected["evictions"]
    )
    assert [row[:2] for row in gone] == [row[:2] for row in evicted]
    assert [row[2] for row in gone] == pytest.approx(
        [row[2] for row in evicted], abs=1e-9
    )
    copies = {
        (c["file"], c["node"]): c["seconds"] for c in schedule.get("copy_entries", [])
    }
    stated = {
        (f, n): float(Fraction(when)) for f, n, when in expected.get("copy_entries", [])
    }
    assert copies == pytest.approx(stated, abs=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", of_mode("replay", "plan"))
def test_replay_is_as_worked_out_and_the_checker_recounts_it(
    name: str, engine: str
) -> None:
    case = load(CASES[name])
    problem = ioopt.load(case["instance"])
    plan = ReplicationPlan.model_validate(
        {"order": case["order"], "eviction": case["eviction"]}
    )
    actual = case.get("actual_compute_seconds")
    replayed = simulate(problem, plan, case["link"], engine=engine, actual=actual)
    check_against(
        replayed.schedule, replayed.metrics["makespan_seconds"], case["expected"]
    )
    if not problem.is_workflow:  # events of one instant have an order
        for rows, keys in (
            ("transfers", ("file", "destination")),
            ("evictions", ("file", "node")),
        ):
            wanted = [
                [row[0], row[-3] if rows == "transfers" else row[1]]
                for row in case["expected"][rows]
            ]
            assert [
                [row[key] for key in keys] for row in replayed.schedule[rows]
            ] == wanted
    if "cached_bytes" in case["expected"]:
        assert near(replayed.metrics["cached_bytes"], case["expected"]["cached_bytes"])
    report = check(linked(case), plan, replayed.schedule)
    assert report.violations == ()
    for key in replayed.metrics.keys() - report.ranges.keys():
        value = replayed.metrics[key]
        wanted = pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
        assert report.metrics[key] == wanted, key


PLANNERS = {"minmin": plan_minmin, "job-data-present": plan_job_data_present}


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in of_mode("replay")
        if load(CASES[name]).get("planner") in PLANNERS
    ],
)
def test_planner_finds_the_worked_plan(name: str) -> None:
    case = load(CASES[name])
    problem = ioopt.load(case["instance"])
    plan, planned = PLANNERS[case["planner"]](problem)
    written = plan.to_dict()
    for key, wanted in (("order", case["order"]), ("eviction", case["eviction"])):
        assert written[key] == wanted
    assert written["assign"] == case["expected"]["assign"]
    stated = next(iter(case["planned"].values()))
    assert all(
        near(planned[i], stated[node.id]) for i, node in enumerate(problem.nodes)
    )


@pytest.mark.parametrize("name", of_mode("error"))
def test_errors_name_what_is_wrong(name: str) -> None:
    """A circle names exactly its tasks."""
    case = load(CASES[name])
    with pytest.raises(IooptError) as caught:  # noqa: PT012  at any step
        problem = ioopt.load(case["instance"])
        problem.require_room()
        simulate(problem, ReplicationPlan.model_validate({"order": case["order"]}))
    text = str(caught.value)
    named = re.findall(r"'([^']+)'", text) + re.findall(r"\bn\d\b", text)
    assert set(case["expected"]["names"]) <= set(named)
    if case["expected"]["error"] in ("cycle", "order-deadlock"):
        assert sorted(named) == sorted(case["expected"]["names"])


@pytest.mark.parametrize(
    "name",
    [name for name in of_mode("replay", "plan") if "bounds" in load(CASES[name])],
)
def test_bounds_are_as_worked_out(name: str) -> None:
    case = load(CASES[name])
    problem = ioopt.load(case["instance"])
    kind = SharedBound if problem.is_shared else WorkflowBound
    found = kind(problem, case["link"])
    for part, wanted in case["bounds"].items():
        assert near(
            found.seconds if part == "bound" else getattr(found, part), wanted
        ), part
    if problem.is_workflow and "actual_compute_seconds" not in case:
        assert near(
            makespan_bound_seconds(problem, case["link"]), case["bounds"]["bound"]
        )
        assert found.seconds <= float(Fraction(case["expected"]["makespan"])) * (
            1 + 1e-12
        )


DISPATCHERS = {"fifo": fifo, "locality": locality, "ready-min-min": ready_min_min}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", of_mode("dispatch"))
def test_dispatch_is_as_worked_out(name: str, engine: str) -> None:
    case = load(CASES[name])
    problem = linked(case)
    actual = case.get("actual_compute_seconds")
    plan, ran = dispatch(
        problem,
        DISPATCHERS[case["policy"]],
        engine=engine,
        actual=actual,
        prefetch=case["prefetch"],
        eviction=case["eviction"],
    )
    check_against(ran.schedule, ran.metrics["makespan_seconds"], case["expected"])
    assert plan.dispatches is not None
    rows = [(task, node) for _, _, task, node in plan.dispatches]
    assert rows == [(task, node) for task, node, _ in case["expected"]["dispatches"]]
    for (seconds, *_), (*_, when) in zip(
        plan.dispatches, case["expected"]["dispatches"], strict=True
    ):
        assert near(seconds, when)
    assert check(problem, plan, ran.schedule).violations == ()
    assert (
        simulate(problem, plan, engine=engine, actual=actual).schedule == ran.schedule
    )


@pytest.mark.parametrize(
    "name", [name for name in of_mode("plan") if "locality" in name]
)
def test_queues_of_a_dispatch_are_the_planner(name: str) -> None:
    case = load(CASES[name])
    plan, _ = dispatch(ioopt.load(case["instance"]), DISPATCHERS[case["planner"]])
    assert plan.to_dict()["order"] == case["order"]
