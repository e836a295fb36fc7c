"""The worked timeline cases: exact times, and the exact order of transfers and evictions."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from conftest import ENGINES, shared_files

import ioopt
from ioopt.problems.replication import ReplicationPlan
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.greedy.job_data_present import plan_job_data_present
from ioopt.solvers.replication.greedy.minmin import plan_minmin

CASES = shared_files("cases/timeline")


def load(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return case


def near(value: float, exact: str) -> bool:
    return abs(value - float(Fraction(exact))) <= 1e-9


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_replay_is_as_worked_out(path: Path, engine: str) -> None:
    case = load(path)
    problem = ioopt.load(case["instance"])
    plan = ReplicationPlan.model_validate({"order": case["order"], "eviction": case["eviction"]})
    replayed = simulate(problem, plan, case["link"], engine=engine)
    schedule, expected = replayed.schedule, case["expected"]
    assert near(replayed.metrics["makespan_seconds"], expected["makespan"])
    tasks = {row["id"]: row for row in schedule["tasks"]}
    assert set(tasks) == set(expected["tasks"])
    for name, (start, end) in expected["tasks"].items():
        assert near(tasks[name]["start_seconds"], start)
        assert near(tasks[name]["end_seconds"], end)
    found = [(t["file"], t["source"] or "remote", t["destination"]) for t in schedule["transfers"]]
    assert found == [tuple(row[:3]) for row in expected["transfers"]]
    for row, (*_, start, end) in zip(schedule["transfers"], expected["transfers"], strict=True):
        assert near(row["start_seconds"], start)
        assert near(row["end_seconds"], end)
    assert [(e["file"], e["node"]) for e in schedule["evictions"]] == [
        tuple(row[:2]) for row in expected["evictions"]
    ]
    for row, (*_, when) in zip(schedule["evictions"], expected["evictions"], strict=True):
        assert near(row["seconds"], when)
    copies = {(row["file"], row["node"]): row for row in schedule.get("copy_entries", [])}
    assert len(copies) == len(expected.get("copy_entries", []))
    for name, node, when in expected.get("copy_entries", []):
        assert near(copies[name, node]["seconds"], when)


PLANNED = [path for path in CASES if "planner" in load(path)]


@pytest.mark.parametrize("path", PLANNED, ids=lambda path: path.stem)
def test_planner_finds_the_worked_plan(path: Path) -> None:
    case = load(path)
    problem = ioopt.load(case["instance"])
    plan_of = {"minmin": plan_minmin, "job-data-present": plan_job_data_present}[case["planner"]]
    plan, planned = plan_of(problem)
    written = plan.to_dict()
    assert written["order"] == case["order"]
    assert written["assign"] == case["expected"]["assign"]
    assert written["eviction"] == case["eviction"]
    stated = next(iter(case["planned"].values()))
    for i, node in enumerate(problem.nodes):
        assert near(planned[i], stated[node.id])
