"""Every command on batch I/O instances."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ioopt.cli.main import main
from tests.conftest import shared_files

Run = Callable[..., tuple[str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command, hold it to its exit code, return what it printed and complained."""

    def command(*words: Any, code: int = 0) -> tuple[str, str]:
        assert main([str(word) for word in words]) == code
        captured = capsys.readouterr()
        return captured.out, captured.err

    return command


def test_solve_check_simulate_and_plot(tmp_path: Path, run: Run) -> None:
    result = tmp_path / "result.json"
    run("solve", "two-writers", "--solver", "fill", "--set", "arithmetic=exact", "-o", result)
    data = json.loads(result.read_text())
    assert data["objective"] == 3 and data["objective_name"] == "mean_response_seconds"
    assert data["schedule"]["exact"]["mean_response_seconds"] == "3"
    run("check", "two-writers", result)
    timeline = tmp_path / "trace.json"
    replay, _ = run("simulate", "two-writers", result, "--format", "json", "--timeline", timeline)
    assert json.loads(replay)["metrics"]["mean_response_seconds"] == 3
    assert timeline.exists()
    run("plot", result, "-o", tmp_path / "bandwidth.png")
    assert (tmp_path / "bandwidth.png").stat().st_size > 1000
    # B ends too early: its last phase ends at 4.
    data["schedule"]["jobs"][1]["end_seconds"] = 3.5
    result.write_text(json.dumps(data))
    assert "end: B" in run("check", "two-writers", result, code=5)[0]


@pytest.mark.slow
def test_compare_runs_all_policies(tmp_path: Path, run: Run) -> None:
    out, _ = run("compare", "mira-day", "--format", "json", "--set", "loop=open")
    rows = json.loads(out)["rows"]
    assert len(rows) == 10
    assert not any(row["violations"] for row in rows)
    # with given starts nothing is faster than no congestion, so that its bound is met
    proven = [row["solver"] for row in rows if row["status"] != "feasible"]
    assert proven == ["no-congestion"]
    best = min(rows, key=lambda row: row["objective"])
    assert best["solver"] == "no-congestion" and best["ratio_to_best"] is None
    assert min(row["ratio_to_best"] for row in rows if not row["reference"]) == 1


@pytest.mark.parametrize(
    ("solver", "grants"),
    [("base-line", {"A": 2e9, "B": 2e9}), ("cons-fcfs", {"A": 4e9, "B": 0.0})],
)
def test_decide(solver: str, grants: dict[str, float], run: Run) -> None:
    out, _ = run("solve", "two-writers-now", "--now", "--solver", solver)
    assert json.loads(out)["grants"] == grants


def test_bad_settings_and_instances_are_usage_errors(tmp_path: Path, run: Run) -> None:
    _, errors = run("solve", "two-writers", "--solver", "fill", "--set", "alfa=1", code=2)
    assert "no setting 'alfa'" in errors
    bad = tmp_path / "bad.json"
    bad.write_text('{"format": "ioopt/batch-io", "version": 1, "name": "x", "jobs": []}')
    assert "machine: missing" in run("solve", bad, code=2)[1]


def test_several_files_give_paired_ratios_to_base_line(run: Run) -> None:
    out, _ = run(
        "compare", "mira-day", "small-8", "--solver", "base-line", "--solver", "fill",
        "--format", "json",
    )  # fmt: skip
    document = json.loads(out)
    values: dict[str, list[float]] = {"base-line": [], "fill": []}
    for row in document["rows"]:
        values[row["solver"]].append(row["metrics"]["mean_response_seconds"])
    ratios = [fill / base for fill, base in zip(values["fill"], values["base-line"])]
    found = next(
        row for row in document["ratios"]
        if row["solver"] == "fill" and row["metric"] == "mean_response_seconds"
    )  # fmt: skip
    assert found["mean_ratio"] == pytest.approx(sum(ratios) / 2)
    # Two values: the standard error of their mean is half their distance.
    assert found["standard_error"] == pytest.approx(abs(ratios[0] - ratios[1]) / 2)


@pytest.mark.parametrize("path", shared_files("cases/batch-io"), ids=lambda path: path.stem)
def test_worked_cases_through_the_command_line(path: Path, tmp_path: Path, run: Run) -> None:
    case = json.loads(path.read_text())
    instance = tmp_path / "case.json"
    instance.write_text(json.dumps(case["instance"]))
    for name, expected in case["expected"].items():
        solver, _, setting = name.partition(":")
        words = ["--set", setting] if setting else []
        out, _ = run("solve", instance, "--solver", solver, *words, "--format", "json")
        by_id = {job["id"]: job for job in json.loads(out)["schedule"]["jobs"]}
        for job in expected["jobs"]:
            found = by_id.pop(job["id"])
            assert found["start_seconds"] == pytest.approx(float(Fraction(job["start"])), abs=1e-6)
            assert found["end_seconds"] == pytest.approx(float(Fraction(job["end"])), abs=1e-6)
        assert not by_id
