"""The worked cases of the shared folder, in both engines."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ENGINES, both_makers, shared_files
from gang_tools import (
    CASE_NAMES,
    POLICIES,
    compiled_phase,
    drawn,
    phase_case,
    with_replicas,
)

import ioopt
from ioopt.decisions.gang.state import state_of
from ioopt.problems.gang import GangMatrixProblem
from ioopt.solvers.gang.run import plan_of_state

RUNS = shared_files("cases/gang")
PHASES = shared_files("cases/gang-phases")


def _close(found: Any, wanted: Any) -> None:
    assert found == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("engine", [*ENGINES, "exact"])
@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_workload(path: Path, engine: str) -> None:
    case = json.loads(path.read_text("utf-8"))
    settings = {"arithmetic": "exact"} if engine == "exact" else {"engine": engine}
    for name, wanted in case["expected"].items():
        result = ioopt.solve(case["instance"], name, settings=settings)
        assert result.status in ("feasible", "optimal"), result.violations
        jobs = (result.schedule or {})["jobs"]
        _close([job["start_seconds"] for job in jobs], wanted["ts"])
        _close([job["finish_seconds"] for job in jobs], wanted["tf"])
        assert [job["local"] for job in jobs] == [
            bool(local) for local in wanted["local"]
        ]
        if engine == "exact":
            assert [job["finish_exact"] for job in jobs] == wanted["tf_exact"]
        _close(result.objective, wanted["mean_slowdown"])
        _close(
            result.metrics["mean_slowdown_from_start"], wanted["mean_slowdown_start"]
        )
        _close(result.metrics["mean_wait_seconds"], wanted["mean_wait"])
        assert result.metrics["migrated_tasks"] == wanted["tasks_migrated"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("path", PHASES, ids=lambda path: path.stem)
def test_phase(path: Path, engine: str) -> None:
    case, instance = phase_case(path)
    problem = GangMatrixProblem.model_validate(instance)
    state = with_replicas(state_of(problem), case)
    policy = POLICIES[CASE_NAMES[case["policy"]]]
    if engine == "python":
        after = policy.update(state, case["phase"])
    else:
        make = both_makers()[1]
        after = compiled_phase(state, case["phase"], policy.rules, make)
    plan = plan_of_state(problem, after)
    ids = [job.id for job in (*problem.running, *problem.waiting)]
    wanted = case["after"]
    assert drawn(problem, plan) == wanted["matrix"]
    for job, expected in zip(plan.jobs, wanted["running"], strict=True):
        assert (job.id, job.home_row, list(job.rows)) == (
            expected["id"],
            expected["home"],
            expected["rows"],
        )
        assert list(job.columns) == expected["cols"]
    assert after.tasks_moved == wanted.get("tasks_moved", 0)
    assert [ids[key] for key in after.moved] == list(wanted.get("stall", {}))
