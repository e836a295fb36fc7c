"""The tool that runs the compiled kernels under sanitizers finds what is planted."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "tools"))

import sanitize

POPULATION = "AT(matrix->population, row) = "
"""In the kernel that puts a gang into a row of the matrix: where it stores the number
of occupied nodes.
"""
needs_sanitizer = pytest.mark.skipif(
    sanitize.sanitizer() is None, reason="gcc with its sanitizers is not here"
)


def test_where_there_is_no_sanitizer_the_tool_says_so_and_ends_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sanitize, "sanitizer", lambda: None)
    monkeypatch.setattr(sys, "argv", ["sanitize.py"])
    assert sanitize.main() == 0
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.slow
@needs_sanitizer
@pytest.mark.parametrize(
    ("planted", "found"),
    [
        (POPULATION, None),
        # The check of the index of a list.
        ("AT(matrix->population, row + matrix->levels) = ", "index 1 of 1"),
        # Behind the back of that check, memory after the end of the list.
        (
            "matrix->population.at[matrix->population.length] = ",
            "heap-buffer-overflow",
        ),
        # More bits than a number has.
        ("matrix->slots = 1 << (row + 64); " + POPULATION, "shift exponent 64"),
    ],
)
def test_what_is_planted_in_a_kernel_is_found(
    tmp_path: Path, planted: str, found: str | None
) -> None:
    text = sanitize.SOURCE.read_text("utf-8")
    assert POPULATION in text
    source = tmp_path / "kernels.c"
    source.write_text(text.replace(POPULATION, planted))
    tests = "tests/unit/gang/test_phases.py::test_an_overdue_job_stops_admission"
    tool = ROOT / "scripts" / "tools" / "sanitize.py"
    run = subprocess.run(
        [sys.executable, tool, "--source", source, tests],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert (run.returncode == 0) == (found is None), run.stdout + run.stderr
    assert found is None or found in run.stderr + run.stdout
