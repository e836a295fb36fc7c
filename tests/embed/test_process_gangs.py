"""Time slices for process groups: by hand with a recorded switch, and with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from ioopt.embed.adapters.processes import ProcessGangs, by_cgroup, by_signal, run
from ioopt.errors import UsageError

MACHINE = {"nodes": 2, "levels": 3, "quantum_seconds": 10.0}


class Record:
    """Which groups are on; two groups of one node at a time would be an error."""

    def __init__(self):
        self.on, self.said = set(), []

    def __call__(self, group, on):
        (self.on.add if on else self.on.discard)(group)
        self.said.append((group, on))
        assert len({g % 10 for g in self.on}) == len(self.on), "two on one node"


def gangs(**more):
    record = Record()
    return record, ProcessGangs(MACHINE, switch=record, **more)


def test_rows_take_turns_and_priority_is_slices():
    record, turns = gangs()
    turns.add("a", {0: 10, 1: 11})  # groups end in their node's number
    turns.add("b", {0: 20, 1: 21}, priority=2)
    shown = []
    for slice_ in range(6):
        assert turns.tick(10.0 * slice_) == 10.0 * slice_ + 10
        shown.append(sorted(record.on))
    # b has two slices of three, and the first row, as it is looked at first
    assert shown == [[20, 21], [20, 21], [10, 11], [20, 21], [20, 21], [10, 11]]
    turns.tick(60.0)
    assert (turns.seconds("a"), turns.seconds("b")) == (20.0, 40.0)
    assert turns.tick(64.0) == 70.0  # in the middle of a slice nothing changes
    assert sorted(record.on) == [20, 21]
    assert turns.end("b", 65.0) == 45.0
    record.on -= {20, 21}  # their processes have ended
    turns.tick(65.0)
    assert len(turns) == 1 and record.on == {10, 11}


def test_two_halves_share_a_row():
    record, turns = gangs()
    turns.add("a", {0: 10})
    turns.add("b", {1: 11})
    turns.tick(0.0)
    assert record.on == {10, 11} and turns.switches == 1
    turns.tick(10.0)
    assert turns.switches == 1  # the same row: no signals


def test_memory_keeps_jobs_out_and_nobody_passes():
    record, turns = gangs(memory_bytes=10)
    turns.add("a", {0: 10}, resident_bytes=6)
    turns.add("b", {1: 21}, resident_bytes=6)
    turns.add("c", {1: 31}, resident_bytes=1)
    turns.tick(0.0)
    assert record.on == {10}
    turns.add("urgent", {1: 41}, resident_bytes=4, priority=5)
    turns.tick(1.0)
    assert record.on == {10, 41}
    record.on -= {10}
    turns.end("a", 2.0)
    record.on -= {10}
    for now in (2.0, 12.0, 22.0, 32.0, 42.0, 52.0, 62.0):
        turns.tick(now)
    assert turns.seconds("b") > 0 and turns.seconds("urgent") > turns.seconds("b")
    for wrong in ({"groups": {5: 1}}, {"groups": {}}, {"groups": {0: 1}, "priority": 0},
                  {"groups": {0: 1}, "resident_bytes": 11}):  # fmt: skip
        with pytest.raises(UsageError):
            turns.add("wrong", **wrong)
    with pytest.raises(UsageError):
        turns.add("b", {0: 1})


def test_drained_nodes_are_left_to_others():
    record, turns = gangs()
    turns.add("a", {0: 10})
    turns.add("b", {1: 11})
    turns.tick(0.0)
    turns.drain([1])
    turns.tick(1.0)
    assert record.on == {10}
    turns.drain([])
    turns.tick(2.0)
    assert record.on == {10, 11}
    turns.drain([0, 1])
    turns.tick(3.0)
    assert record.on == set()
    record.said.clear()
    record.on.clear()
    turns.close()
    assert record.said == [(10, True), (11, True)]


def test_a_cgroup_is_frozen_and_without_one_signals_do(tmp_path, monkeypatch):
    sent = []
    monkeypatch.setattr(os, "killpg", lambda group, number: sent.append((group, number)))
    (tmp_path / "cgroup.freeze").write_text("0")
    switch = by_cgroup({7: str(tmp_path), 8: str(tmp_path / "gone")})
    switch(7, False)
    assert (tmp_path / "cgroup.freeze").read_text() == "1" and sent == []
    switch(7, True)
    assert (tmp_path / "cgroup.freeze").read_text() == "0"
    switch(8, False)
    switch(9, True)
    assert sent == [(8, signal.SIGSTOP), (9, signal.SIGCONT)]


def test_real_processes_stop_go_on_and_a_dead_one_hurts_nobody():
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.readline()"], stdin=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    turns = ProcessGangs(MACHINE)
    turns.add("a", {0: child.pid})
    assert os.waitstatus_to_exitcode is not None
    _, status = os.waitpid(child.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    turns.tick(0.0)
    _, status = os.waitpid(child.pid, os.WCONTINUED)
    assert os.WIFCONTINUED(status)
    child.stdin.write(b"\n")
    child.stdin.close()
    assert child.wait(60) == 0
    by_signal(child.pid, False)  # it has ended
    turns.end("a", 1.0)


def test_jobs_of_real_processes_run_to_their_end():
    code = [sys.executable, "-c", "sum(range(1000000))"]
    machine = MACHINE | {"quantum_seconds": 0.05}
    ended = run({"a": [code, code], "b": [code, code], "c": [code]}, machine)
    assert set(ended) == {"a", "b", "c"}


def test_what_runs_when_the_scheduler_fails_is_ended():
    made = []
    real = subprocess.Popen

    def wait(seconds):
        raise KeyboardInterrupt

    class Noted(real):
        def __init__(self, *args, **more):
            super().__init__(*args, **more)
            made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", Noted)
        with pytest.raises(KeyboardInterrupt):
            run({"a": [[sys.executable, "-c", "input()"]]}, MACHINE, wait=wait)
    assert made and all(task.returncode is not None for task in made)
