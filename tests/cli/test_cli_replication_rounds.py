"""Command line of the workloads, the WfFormat import and the solvers in rounds, end to end."""

from __future__ import annotations

import json

import pytest
from conftest import shared_path

from ioopt.cli.main import main


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_generate_solve_check_simulate_plot(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made = run(capsys, "generate", "replication", "--preset", "image-85", "--set", "tasks=16",
               "--set", "disk=400MB", "--seed", "3", "-o", "image.json")  # fmt: skip
    assert made[0] == 0
    again = run(capsys, "generate", "replication", "--preset", "image-85", "--set", "tasks=16",
                "--set", "disk=400MB", "--seed", "3", "-o", "-")  # fmt: skip
    assert again[1] == (tmp_path / "image.json").read_text()
    solved = run(capsys, "solve", "image.json", "--solver", "two-stage", "--set", "barriers=no",
                 "--set", "effort=0.1", "--time-limit", "10", "-o", "result.json")  # fmt: skip
    assert solved[0] == 0, solved
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["violations"] == [] and len(result["plan"]["rounds"]) > 1
    assert run(capsys, "check", "image.json", "result.json")[0] == 0
    replayed = run(capsys, "simulate", "image.json", "result.json", "--link", "per-node")
    assert replayed[0] == 0 and "per-node" in replayed[1]
    assert run(capsys, "plot", "result.json", "-o", "gantt.png")[0] == 0
    assert (tmp_path / "gantt.png").stat().st_size > 1000


def test_import_and_export_wfformat(tmp_path, monkeypatch, capsys):
    source = shared_path("data", "wfformat", "blast-chameleon-small-001.json")
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, "import", "wfformat", str(source), "--select", "program=blastall",
                       "--machine", "disk=33%", "--flatten", "-o", "blast.json")  # fmt: skip
    assert code == 0 and "raised to the" in err
    assert run(capsys, "export", "wfformat", "blast.json", "-o", "again.json")[0] == 0
    assert run(capsys, "import", "wfformat", "again.json", "-o", "back.json")[0] == 0
    first, second = (
        json.loads((tmp_path / name).read_text()) for name in ("blast.json", "back.json")
    )
    assert first["tasks"] == second["tasks"] and len(first["tasks"]) == 40


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("generate", "replication", "--preset", "image-58", "-o", "x.json"), "image-85"),
        (("generate", "replication", "--set", "disk=lots", "-o", "x.json"), "lots"),
        (("solve", "cycle3", "--solver", "two-stage", "--set", "thresh=-1"), "thresh"),
        (("solve", "cycle3", "--solver", "hierarchical", "--set", "hierarchy=4:2"), "8 nodes"),
        (("import", "wfformat", "nowhere.json", "-o", "x.json"), "nowhere.json"),
        (("import", "wfformat", "cut.json", "-o", "x.json"), "cut.json: line 1"),
        (("import", "wfformat", "flow.json", "--select", "level=7", "-o", "x.json"), "levels go"),
        (("import", "wfformat", "flow.json", "--machine", "disk=much", "-o", "x.json"), "much"),
        (("import", "wfformat", "flow.json", "--machine", "nodes=0", "-o", "x.json"), "nodes"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.json").write_text("older\n")
    (tmp_path / "cut.json").write_text('{"schemaVersion": "1.5", "workflow"')
    flow = {
        "schemaVersion": "1.5",
        "name": "f",
        "workflow": {"specification": {"tasks": [{"id": "a"}]}},
    }
    (tmp_path / "flow.json").write_text(json.dumps(flow))
    code, _, err = run(capsys, *arguments)
    assert code == 2 and words in err
    assert len(err.strip().splitlines()) == 1 and "Traceback" not in err
    assert (tmp_path / "x.json").read_text() == "older\n"
