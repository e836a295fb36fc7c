"""What ``ioopt compare`` says: one measure, marked rows, tables that fit."""

from __future__ import annotations

import json

import pytest

from ioopt.cli.main import main


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command on a terminal of 80 columns; (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*words: str) -> tuple[int, str, str]:
        code = main(list(words))
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_a_solver_that_cannot_take_the_instance_does_not_apply(run):
    """rounds4: four tasks on disks of one round; ip plans one round, so it says nothing about it."""
    code, _, err = run("solve", "rounds4", "--solver", "ip")
    assert code == 2 and "one round cannot hold the batch" in err
    both = ("--solver", "ip", "--solver", "minmin", "--time-limit", "5")
    code, out, err = run("compare", "rounds4", *both)
    assert code == 0 and "does not apply" in out and "infeasible" not in out
    assert "one round cannot hold" in err
    assert run("compare", "rounds4", "--solver", "ip", "--time-limit", "5")[0] == 2
    rows = json.loads(run("compare", "rounds4", *both, "--format", "json")[1])["rows"]
    assert rows[0]["status"] == "does not apply" and rows[1]["objective"] > 0
