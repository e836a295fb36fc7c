"""The worked cases of the shared folder, in both engines, by Python and by command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ENGINES, shared_files
from gang_tools import CASE_NAMES, POLICIES, compiled_phase, drawn, phase_case, with_replicas

import ioopt
from ioopt.cli.main import main
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
        assert [job["local"] for job in jobs] == [bool(local) for local in wanted["local"]]
        if engine == "exact":
            assert [job["finish_exact"] for job in jobs] == wanted["tf_exact"]
        _close(result.objective, wanted["mean_slowdown"])
        _close(result.metrics["mean_slowdown_from_start"], wanted["mean_slowdown_start"])
        _close(result.metrics["mean_wait_seconds"], wanted["mean_wait"])
        assert result.metrics["migrated_tasks"] == wanted["tasks_migrated"]


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_workload_by_command_line(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = json.loads(path.read_text("utf-8"))
    instance, answer = str(tmp_path / "instance.json"), str(tmp_path / "result.json")
    Path(instance).write_text(json.dumps(case["instance"]))
    for name, wanted in case["expected"].items():
        assert main(["solve", instance, "--solver", name, "-o", answer]) == 0
        jobs = json.loads(Path(answer).read_text())["schedule"]["jobs"]
        _close([job["finish_seconds"] for job in jobs], wanted["tf"])
        assert main(["check", instance, answer]) == 0
        capsys.readouterr()
        assert main(["simulate", instance, answer, "--format", "json"]) == 0
        replayed = json.loads(capsys.readouterr().out)
        _close(replayed["metrics"]["mean_slowdown"], wanted["mean_slowdown"])


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
        after = compiled_phase(state, case["phase"], policy.rules)
    ids = [job.id for job in (*problem.running, *problem.waiting)]
    plan = plan_of_state(after, ids)
    wanted = case["after"]
    assert drawn(problem, plan) == wanted["matrix"]
    for job, expected in zip(plan.jobs, wanted["running"], strict=True):
        assert (job.id, job.home_row, list(job.rows)) == (
            expected["id"], expected["home"], expected["rows"],
        )  # fmt: skip
        assert list(job.columns) == expected["cols"]
    assert after.tasks_moved == wanted.get("tasks_moved", 0)
    assert [ids[key] for key in after.moved] == list(wanted.get("stall", {}))


@pytest.mark.parametrize("path", PHASES, ids=lambda path: path.stem)
def test_phase_by_command_line(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A snapshot holds home instances only, which is what every phase but clean starts from."""
    case, instance = phase_case(path)
    source = tmp_path / "matrix.json"
    source.write_text(json.dumps(instance))
    arguments = ["solve", str(source), "--now", "--solver", CASE_NAMES[case["policy"]]]
    assert main([*arguments, "--set", f"phase={case['phase']}"]) == 0
    jobs = json.loads(capsys.readouterr().out)["jobs"]
    assert [(job["id"], job["columns"], job["home_row"], job["rows"]) for job in jobs] == [
        (job["id"], job["cols"], job["home"], job["rows"]) for job in case["after"]["running"]
    ]
