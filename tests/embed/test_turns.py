"""The tickets of docs/io-turns.md: processes on one machine take turns."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT

SAMPLES = ROOT / "docs" / "samples"
SCRIPT = SAMPLES / "io_turn.py"
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


def outstanding(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.*[0-9]")}


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    """A folder for turns, as the administrator makes it."""
    folder = tmp_path / "turns"
    folder.mkdir()
    folder.chmod(0o1777)
    (folder / "lock").touch()
    (folder / "machine.json").write_text(json.dumps(MACHINE))
    return folder


@pytest.mark.slow
def test_the_second_process_waits_until_the_first_is_done(turns):
    first = start("acquire", turns, "17", 2, 8e9)
    assert first.communicate()[0].strip() == "2000000000.0"
    second = start("acquire", turns, "18", 1, 4e9)
    while outstanding(turns) != {"17", "18"}:
        assert second.poll() is None
        time.sleep(0.05)
    assert second.poll() is None  # it has asked, and the storage is taken
    # A third that comes and dies while it waits is forgotten by the epilog,
    # which may run twice.
    third = start("acquire", turns, "19", 1, 1e9)
    while "19" not in outstanding(turns):
        time.sleep(0.05)
    third.kill()
    third.wait()
    for job in ("19", "19", "17"):
        assert start("release", turns, job).wait() == 0
    assert second.communicate()[0].strip() == "1000000000.0" and second.returncode == 0
    assert outstanding(turns) == {"18"}


class Clock:
    """A clock for the script that only sleeping moves."""

    def __init__(self) -> None:
        self.now = time.time()

    def time(self) -> float:
        return self.now

    monotonic = time

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def script(monkeypatch):
    spec = importlib.util.spec_from_file_location("io_turn", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "io_turn", module)
    spec.loader.exec_module(module)
    module.time = Clock()
    return module


def test_a_ticket_can_be_written_by_its_user_alone(turns, script, capsys):
    """Whatever the mask of that user, others can read it."""
    before = os.umask(0o077)
    try:
        script.main(["acquire", str(turns), "17", "2", "8e9"])
    finally:
        os.umask(before)
    assert capsys.readouterr().out == "2000000000.0\n"
    assert (turns / f"17.{os.getuid()}").stat().st_mode & 0o777 == 0o644


def test_nonsense_and_forged_tickets_hold_nobody_up(turns, script, capsys):
    """A ticket of another user's name, a link, a pipe and broken files are ignored."""
    words = {
        "nodes": 4,
        "size": 8e9,
        "asked": 1.0,
        "seen": 9e9,
        "begun": 2.0,
        "rate": 2e9,
    }
    uid = os.getuid()
    (turns / f"1.{uid + 1}").write_text(json.dumps(words | {"begun": 9e9}))
    (turns / "secret").write_text(json.dumps(words | {"begun": 9e9}))
    (turns / f"2.{uid}").symlink_to(turns / "secret")
    os.mkfifo(turns / f"3.{uid}")
    for number, wrong in enumerate(("size", "asked", "seen", "begun", "rate")):
        (turns / f"{number + 4}.{uid}").write_text(json.dumps(words | {wrong: "x"}))
    (turns / f"9.{uid}").write_text(json.dumps(words | {"size": float("nan")}))
    (turns / f"10.{uid}").write_text(json.dumps(words | {"nodes": -4, "begun": 0}))
    (turns / f"11.{uid}").write_text("{")
    script.main(["acquire", str(turns), "17", "2", "8e9"])
    assert capsys.readouterr().out == "2000000000.0\n"


@pytest.mark.parametrize(
    ("nodes", "size", "said"),
    [
        ("8", "8e9", "nodes"),
        ("2", "", "BYTES is ''"),
        ("", "8e9", "NODES is ''"),
        ("2", "-1", "-1 bytes need no turn"),
        ("2", "0", "0 bytes need no turn"),
    ],
)
def test_a_mistake_never_holds_up_the_io(turns, script, capsys, nodes, size, said):
    script.main(["acquire", str(turns), "17", nodes, size])
    out, err = capsys.readouterr()
    assert out == "" and "job 17 goes on without a turn" in err and said in err
    assert outstanding(turns) == set()


def test_a_size_may_have_a_unit(script):
    """``8GB`` is 8e9, as in the rest of ioopt."""
    sizes = ("8GB", "8e9", "8000000000", "1GiB", "0.5kB")
    found = [script.size_of(words) for words in sizes]
    assert found == [8 * 10**9, 8 * 10**9, 8 * 10**9, 2**30, 500]


def test_a_python_without_ioopt_is_said_in_one_line():
    words = [sys.executable, "-I", "-S", str(SCRIPT), "status", "turns"]
    told = subprocess.run(words, capture_output=True, text=True, check=False)
    assert told.returncode == 1 and told.stdout == ""
    (line,) = told.stderr.splitlines()
    assert line.startswith("io_turn.py: ") and "has no ioopt" in line


def test_a_job_whose_turn_does_not_come_goes_on_without(turns, script, capsys):
    """17 has all of the storage; 18 waits 5 s, and its request is taken back."""
    script.main(["acquire", str(turns), "17", "2", "8e9"])
    script.main(["acquire", str(turns), "18", "1", "4e9", "--max-wait", "5"])
    said = capsys.readouterr()
    assert said.out.split() == ["2000000000.0"]
    assert "job 18 waits for its turn (0 s so far), after 17" in said.err
    assert "goes on without a turn: no turn within 5 s" in said.err
    assert outstanding(turns) == {"17"}


def test_a_step_below_the_least_size_goes_on_at_once(turns, script, capsys):
    """17 has all of the storage; 18 has too few bytes to wait, and leaves no ticket;
    19 has just as many as need a turn, and waits.
    """
    (turns / "machine.json").write_text(json.dumps(MACHINE | {"least_bytes": 4e9}))
    script.main(["acquire", str(turns), "17", "2", "8e9"])
    script.main(["acquire", str(turns), "18", "1", "3999999999"])
    assert capsys.readouterr() == ("2000000000.0\n1000000000.0\n", "")
    assert outstanding(turns) == {"17"}
    script.main(["acquire", str(turns), "19", "1", "4e9", "--max-wait", "5"])
    said = capsys.readouterr()
    assert said.out == "" and "job 19 waits for its turn" in said.err


@pytest.mark.parametrize("least", ["8GB", -1, None])
def test_a_wrong_least_size_is_said(turns, script, capsys, least):
    (turns / "machine.json").write_text(json.dumps(MACHINE | {"least_bytes": least}))
    script.main(["acquire", str(turns), "17", "2", "8e9"])
    out, err = capsys.readouterr()
    assert out == "" and "least_bytes" in err and "goes on without a turn" in err


def test_the_turn_of_a_dead_job_lapses(turns, script, capsys):
    """17 needs 4 s and is dead: 18 begins after 30 s. With 400 s it lapses after three
    times as long.
    """
    script.POLL_SECONDS = 10.0
    script.main(["acquire", str(turns), "17", "2", "8e9"])
    began = script.time.now
    script.main(["acquire", str(turns), "18", "2", "800e9", "--max-wait", "9999"])
    assert 30 <= script.time.now - began <= 40
    script.main(["status", str(turns)])
    holder, dead = capsys.readouterr().out.splitlines()[-2:]
    assert "lapsed" in dead and dead.split()[-1] == "-"
    assert holder.split()[-4:] == ["6.667", "min", "20", "min"]
    began = script.time.now
    script.main(["acquire", str(turns), "19", "2", "8e9", "--max-wait", "9999"])
    assert 1200 <= script.time.now - began <= 1210
    assert "without a turn" not in capsys.readouterr().err


def test_a_waiting_job_that_is_silent_holds_nobody_up(turns, script, capsys):
    """18 asked for all nodes and died while it waited for 17; 19 passes it."""
    script.main(["acquire", str(turns), "17", "2", "8e9"])
    now = script.time.now
    script.Ticket(f"18.{os.getuid()}", 4, 8e9, asked=now, seen=now).write(turns)
    script.main(["status", str(turns)])
    rows = capsys.readouterr().out.splitlines()[-2:]
    assert [row.split()[0] for row in rows] == ["17", "18"]
    assert "transfers" in rows[0] and "waits" in rows[1]
    script.main(["release", str(turns), "17"])
    began = script.time.now
    script.main(["acquire", str(turns), "19", "1", "8e9"])
    assert 59 <= script.time.now - began <= 62
    script.main(["status", str(turns)])
    assert "silent" in capsys.readouterr().out


def test_a_held_lock_is_no_longer_waited_for_than_a_turn(turns, script, capsys):
    with script.locked(turns) as free:
        assert free
        script.main(["acquire", str(turns), "17", "1", "1e9", "--max-wait", "3"])
    assert "no turn within 3 s" in capsys.readouterr().err


def test_the_release_script_removes_the_tickets_of_its_job_alone(turns):
    text = (SAMPLES / "turn-release.sh").read_text()
    own = turns.parent / "release.sh"
    own.write_text(text.replace("/shared/turns", str(turns)))
    for name in ("5.1000", "5.1000.new", "52.1000", "15.1000"):
        (turns / name).touch()
    for job in ("5", "5", ""):  # an epilog may repeat it
        told = {"env": {"SLURM_JOB_ID": job}, "capture_output": True, "text": True}
        done = subprocess.run(["sh", str(own)], **told)
        assert done.returncode == 0 and done.stdout == ""
        silent = "" if job else "SLURM_JOB_ID is not set: no turn was given back"
        assert silent in done.stderr and bool(silent) == bool(done.stderr)
    assert outstanding(turns) == {"52", "15"}
    assert {path.name for path in turns.iterdir()} >= {"lock", "machine.json"}
