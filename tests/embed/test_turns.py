"""The token file of docs/io-turns.md: two processes on one machine take turns."""

import json
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
    text = (folder / "turns.json").read_text()
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
