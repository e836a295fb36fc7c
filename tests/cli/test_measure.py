"""``ioopt measure`` on quantum models, perturbations and message counts, and who refuses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ioopt.cli.main import main

SMALL = {
    "quantum-model": ["--preset", "figure-2", "--set", "longest_seconds=0.003",
                      "--set", "horizon_seconds=5"],
    "perturbation": ["--preset", "figure-5", "--set", "runs=1", "--set", "work_quanta=30",
                     "--set", "perturbations=4"],
    "message-counts": ["--preset", "laboratory", "--seed", "3"],
}  # fmt: skip


@pytest.mark.parametrize("kind", SMALL)
def test_generate_check_measure(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["instances", "generate", kind, *SMALL[kind], "-o", "in.json"]) == 0
    assert main(["check", "in.json"]) == 0
    assert main(["instances", "schema", kind]) == 0
    capsys.readouterr()
    wanted = ["-o", "out.json", "--plot", "out.svg"]
    assert main(["measure", "in.json", *wanted, "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == json.loads((tmp_path / "out.json").read_text())
    assert (shown["format"], shown["kind"]) == ("ioopt/measurement", kind)
    assert shown["points" if kind == "quantum-model" else "applications"]
    assert "<svg" in (tmp_path / "out.svg").read_text()
    assert main(["measure", "in.json"]) == 0
    table = capsys.readouterr().out
    assert "of all" in table and len(table.splitlines()) > 6


@pytest.mark.parametrize("command", ["solve", "compare", "simulate", "check"])
def test_what_is_measured_is_not_solved(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text('{"plan": {}}')
    more = [str(plan)] if command in ("simulate", "check") else []
    assert main([command, "gangedness-table-3", *more]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "message-counts instances are measured, not solved: ioopt measure FILE" in line


def test_what_is_solved_is_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "cycle3"]) == 2
    assert "replication instances are solved, not measured" in capsys.readouterr().err
    assert main(["measure", "quantum-ties", "--set", "engine=magic"]) == 2
    assert "engine" in capsys.readouterr().err
    assert main(["measure", "quantum-ties", "--time-limit", "1e-9"]) == 4
    assert "0 of 5 points simulated before the time limit" in capsys.readouterr().err


def test_import_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["ganged,running,messages", *["1,1,20"] * 40, *["0,0,1"] * 20]
    (tmp_path / "counts.csv").write_text("\n".join(rows))
    assert main(["import", "messages", "counts.csv", "--processors", "8", "-o", "in.json"]) == 0
    assert main(["measure", "in.json", "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["applications"]
    assert (found["id"], found["verdict"]["gangedness"]) == ("counts", "HIGH")
    assert found["verdict"]["ratio"] == pytest.approx(0.05)
    (tmp_path / "counts.csv").write_text("ganged,running,messages\n1,1,many\n")
    assert main(["import", "messages", "counts.csv", "-o", "in.json"]) == 2
    assert "counts.csv: line 2: messages: must be a finite number" in capsys.readouterr().err


def test_bundled_instances_hold_what_the_catalog_says(capsys: pytest.CaptureFixture[str]) -> None:
    for name, figure, value in (
        ("quantum-ties", "slowdown", 1.28), ("gangedness-laboratory", "unknown_applications", 0),
    ):  # fmt: skip
        assert main(["measure", name, "--format", "json"]) == 0
        metrics = json.loads(capsys.readouterr().out)["metrics"]
        assert metrics[figure] == pytest.approx(value, abs=1e-4)
