"""The gang family end to end by command line: every path and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ioopt.cli.main import main


@pytest.fixture
def workload(tmp_path: Path) -> str:
    path = str(tmp_path / "small.json")
    settings = ["jobs=40", "nodes=32", "mean_local_seconds=2500", "intensity=mixed"]
    options = [word for setting in settings for word in ("--set", setting)]
    assert main(["instances", "generate", "gang", *options, "--seed", "3", "-o", path]) == 0
    return path


def test_solve_check_simulate_plot(
    workload: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, picture = str(tmp_path / "result.json"), tmp_path / "matrix.svg"
    assert main(["solve", workload, "--solver", "migrate-iogs", "-o", answer]) == 0
    result = json.loads(Path(answer).read_text())
    assert result["objective_name"] == "mean_slowdown"
    assert {"p99_slowdown", "big_job_slowdown", "max_wait_seconds"} <= set(result["metrics"])
    assert main(["check", workload, answer]) == 0
    assert main(["plot", answer, "-o", str(picture)]) == 0
    assert picture.read_text().lstrip().startswith("<?xml")
    capsys.readouterr()
    assert main(["simulate", workload, answer, "--format", "json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["schedule"] == result["schedule"]


def test_tampered_result_fails_the_check(
    workload: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = tmp_path / "result.json"
    assert main(["solve", workload, "--solver", "iogs", "-o", str(answer)]) == 0
    result = json.loads(answer.read_text())
    result["schedule"]["jobs"][5]["finish_seconds"] -= 50.0
    answer.write_text(json.dumps(result))
    capsys.readouterr()
    assert main(["check", workload, str(answer)]) == 5
    assert "objective" in capsys.readouterr().out


def test_compare(workload: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", workload, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["solver"] for row in rows] == [
        "gs", "iogs", "adaptive-iogs", "migrate-iogs", "guarded-iogs", "index-iogs",
    ]  # fmt: skip
    assert min(row["ratio_to_best"] for row in rows) == 1.0


def test_settings_reach_the_policy(workload: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["solve", workload, "--solver", "index-iogs", "--format", "json"]
    assert main([*call, "--set", "weight=hdf", "--set", "queue=fcfs"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["plan"]["settings"]["weight"] == "hdf"
    assert main([*call, "--set", "weight=best"]) == 2
    assert "weight" in capsys.readouterr().err


def test_schema_names_the_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["instances", "schema", "gang-matrix"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert "migration_tasks_left" in schema["properties"]
