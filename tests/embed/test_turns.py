"""The token file of docs/io-turns.md: two processes on one machine take turns."""

import importlib.util
import json
import os
import subprocess
import sys
import time

import pytest
from conftest import ROOT

SCRIPT = ROOT / "docs" / "samples" / "io_turn.py"
MACHINE = {
    "nodes": 4,
    "unit_nodes": 1,
    "allocation": "flat",
    "node_bytes_per_second": 1e9,
    "storage_bytes_per_second": 2e9,
}


def start(*words: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def outstanding(folder) -> set[str]:
    path = folder / "turns.json"
    text = path.read_text() if path.exists() else ""
    return {row["id"] for row in json.loads(text)["requests"]} if text else set()


@pytest.mark.slow
def test_the_second_process_waits_until_the_first_is_done(tmp_path):
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    first = start("acquire", tmp_path, "17", 2, 8e9)
    assert first.communicate()[0].strip() == "2000000000.0"
    second = start("acquire", tmp_path, "18", 1, 4e9)
    while outstanding(tmp_path) != {"17", "18"}:
        assert second.poll() is None
        time.sleep(0.05)
    assert second.poll() is None  # it has asked, and the storage is taken
    # A third that comes and dies while it waits is forgotten by the epilog,
    # which may run twice.
    third = start("acquire", tmp_path, "19", 1, 1e9)
    while "19" not in outstanding(tmp_path):
        time.sleep(0.05)
    third.kill()
    third.wait()
    for job in ("19", "19", "17"):
        assert start("release", tmp_path, job).wait() == 0
    assert second.communicate()[0].strip() == "1000000000.0" and second.returncode == 0
    assert outstanding(tmp_path) == {"18"}


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("io_turn", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_user_may_write_the_token_file(tmp_path, script, capsys):
    """Whoever comes first makes it, whatever the mask of that user."""
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    before = os.umask(0o077)
    try:
        script.main("acquire", str(tmp_path), "17", "2", "8e9")
    finally:
        os.umask(before)
    assert capsys.readouterr().out == "2000000000.0\n"
    assert (tmp_path / "turns.json").stat().st_mode & 0o777 == 0o666


@pytest.mark.parametrize(
    ("nodes", "size", "said"),
    [
        ("8", "8e9", "nodes"),
        ("2", "", "could not convert"),
        ("2", "-1", "must be 0 or more"),
    ],
)
def test_a_mistake_never_holds_up_the_io(tmp_path, script, capsys, nodes, size, said):
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    script.main("acquire", str(tmp_path), "17", nodes, size)
    out, err = capsys.readouterr()
    assert out == "" and "job 17 goes on without a turn" in err and said in err
    assert outstanding(tmp_path) == set()


def test_a_job_whose_turn_does_not_come_goes_on_without(tmp_path, capsys, monkeypatch):
    """17 has all of the storage and never gives it back; 18 waits 5 s of a clock of its
    own, and its request is taken back.
    """
    spec = importlib.util.spec_from_file_location("io_turn", SCRIPT)
    io_turn = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(io_turn)
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    io_turn.main("acquire", str(tmp_path), "17", "2", "8e9")
    seconds = iter(range(100))
    monkeypatch.setattr(io_turn.time, "monotonic", lambda: float(next(seconds)))
    monkeypatch.setattr(io_turn.time, "sleep", lambda _: None)
    io_turn.main("acquire", str(tmp_path), "18", "1", "4e9", max_wait=5.0)
    said = capsys.readouterr()
    assert said.out.split() == ["2000000000.0"]
    assert "job 18 waits for its turn" in said.err
    assert "goes on without a turn: no turn within 5 s" in said.err
    assert outstanding(tmp_path) == {"17"}
