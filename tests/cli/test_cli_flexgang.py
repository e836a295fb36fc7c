"""Every command on the kinds quantum-model, perturbation and message-counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ioopt.cli.main import main

SMALL = {
    "quantum-model": [
        "--preset",
        "figure-2",
        "--set",
        "longest_seconds=0.003",
        "--set",
        "horizon_seconds=5",
    ],
    "perturbation": ["--preset", "figure-5", "--set", "runs=2"],
    "message-counts": ["--preset", "laboratory", "--seed", "3"],
}
SOLVERS = {
    "quantum-model": ["chain", "event"],
    "perturbation": ["laboratory"],
    "message-counts": ["gangedness"],
}


@pytest.mark.parametrize("kind", SMALL)
def test_generate_solve_check_plot(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["generate", kind, *SMALL[kind], "-o", "in.json"]) == 0
    assert main(["check", "in.json"]) == 0
    for solver in SOLVERS[kind]:
        assert main(["solve", "in.json", "--solver", solver, "-o", "out.json"]) == 0
        assert main(["check", "in.json", "out.json"]) == 0
        assert main(["plot", "out.json", "-o", f"{solver}.svg"]) == 0
        assert "<svg" in (tmp_path / f"{solver}.svg").read_text()
    assert main(["schema", kind]) == 0
    capsys.readouterr()
    names = [word for solver in SOLVERS[kind] for word in ("--solver", solver)]
    assert main(["compare", "in.json", *names, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["solver"] for row in rows] == SOLVERS[kind]


@pytest.mark.parametrize("kind", ["quantum-model", "perturbation"])
def test_simulate_replays_with_other_draws(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["generate", kind, *SMALL[kind], "-o", "in.json"])
    main(["solve", "in.json", "-o", "out.json"])
    capsys.readouterr()
    assert main(["simulate", "in.json", "out.json", "--timeline", "t.csv", "--format", "json"]) == 0
    metrics: dict[str, Any] = json.loads(capsys.readouterr().out)["metrics"]
    difference = (
        "worst_slowdown_difference" if kind == "quantum-model" else "worst_slope_difference"
    )
    assert 0 <= metrics[difference] < 0.05
    assert len((tmp_path / "t.csv").read_text().splitlines()) > 20


def test_a_changed_result_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["solve", "gangedness-table-3", "-o", "out.json"]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["class", "Enum", "LOW"] in shown
    assert ["class", "Water", "HIGH"] in shown
    result = json.loads((tmp_path / "out.json").read_text())
    result["plan"]["applications"][0]["verdict"]["gangedness"] = "HIGH"
    (tmp_path / "out.json").write_text(json.dumps(result))
    capsys.readouterr()
    assert main(["check", "gangedness-table-3", "out.json"]) == 5
    assert "class: Enum: the plan says HIGH, the counts give LOW" in capsys.readouterr().out


def test_import_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["ganged,running,messages", *["1,1,20"] * 40, *["0,0,1"] * 20]
    (tmp_path / "counts.csv").write_text("\n".join(rows))
    assert main(["import", "messages", "counts.csv", "--processors", "8", "-o", "in.json"]) == 0
    assert main(["solve", "in.json", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["metrics"]["class"] == {"counts": "HIGH"}
    assert answer["metrics"]["ratio"]["counts"] == pytest.approx(0.05)
    (tmp_path / "counts.csv").write_text("ganged,running,messages\n1,1,many\n")
    assert main(["import", "messages", "counts.csv", "-o", "in.json"]) == 2
    assert "counts.csv: line 2: messages: must be a finite number" in capsys.readouterr().err


def test_bundled_instances_hold_what_the_catalog_says(capsys: pytest.CaptureFixture[str]) -> None:
    for name, solver in (("quantum-ties", "event"), ("gangedness-laboratory", "gangedness")):
        assert main(["instances", "show", name]) == 0
        capsys.readouterr()
        assert main(["solve", name, "--solver", solver, "--format", "json"]) == 0
        result = json.loads(capsys.readouterr().out)
        best = {"quantum-ties": 1.28, "gangedness-laboratory": 0.0}[name]
        assert result["objective"] == pytest.approx(best, abs=1e-4)
