"""Command line of the workloads, the WfFormat import and the solvers in rounds, end to end."""

from __future__ import annotations

import json

import pytest


def test_import_and_export_wfformat(run, tmp_path):
    """42 tasks, of which the first two levels have 27; 3 % of their bytes is less than one task reads."""
    assert run("export", "wfformat", "flow-montage", "-o", "flow.json")[0] == 0
    code, _, err = run("import", "wfformat", "flow.json", "--select", "level=0-1",
                       "--machine", "nodes=2,disk=3%", "--flatten", "-o", "part.json")  # fmt: skip
    assert code == 0 and "raised to the" in err
    assert run("export", "wfformat", "part.json", "-o", "again.json")[0] == 0
    assert run("import", "wfformat", "again.json", "-o", "back.json")[0] == 0
    first, second = (
        json.loads((tmp_path / name).read_text()) for name in ("part.json", "back.json")
    )
    assert first["tasks"] == second["tasks"] and len(first["tasks"]) == 27
    assert len(first["nodes"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("instances", "generate", "replication", "--preset", "image-58", "-o", "x.json"),
            "image-85",
        ),
        (("instances", "generate", "replication", "--set", "disk=lots", "-o", "x.json"), "lots"),
        (("solve", "cycle3", "--solver", "two-stage", "--set", "thresh=-1"), "thresh"),
        (("solve", "cycle3", "--solver", "hierarchical", "--set", "hierarchy=4:2"), "8 nodes"),
        (("import", "wfformat", "nowhere.json", "-o", "x.json"), "nowhere.json"),
        (("import", "wfformat", "cut.json", "-o", "x.json"), "cut.json: line 1"),
        (("import", "wfformat", "flow.json", "--select", "level=7", "-o", "x.json"), "levels go"),
        (("import", "wfformat", "flow.json", "--machine", "disk=much", "-o", "x.json"), "much"),
        (("import", "wfformat", "flow.json", "--machine", "nodes=0", "-o", "x.json"), "nodes"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run, tmp_path, arguments, words):
    (tmp_path / "x.json").write_text("older\n")
    (tmp_path / "cut.json").write_text('{"schemaVersion": "1.5", "workflow"')
    flow = {
        "schemaVersion": "1.5",
        "name": "f",
        "workflow": {"specification": {"tasks": [{"id": "a"}]}},
    }
    (tmp_path / "flow.json").write_text(json.dumps(flow))
    code, _, err = run(*arguments)
    assert code == 2 and words in err
    assert len(err.strip().splitlines()) == 1 and "Traceback" not in err
    assert (tmp_path / "x.json").read_text() == "older\n"
