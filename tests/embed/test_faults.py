"""Faults put in on purpose: whatever breaks, the engine goes on and no work is lost."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from batsim_stand_in import StandIn

from ioopt.embed import WorkflowDispatcher
from ioopt.embed.adapters.batsim import BatsimDecider
from ioopt.embed.adapters.processes import ProcessGangs, by_cgroup
from ioopt.embed.http import Calls
from ioopt.embed.service import Service

NETWORK = {"remote_bytes_per_second": 1.0, "replica_bytes_per_second": 10.0}


def chain_of_groups(policy, products):
    """Three groups of a maker and two readers, on three nodes."""
    files = [{"id": f"f{k}", "bytes": 10} for k in range(3)]
    run = WorkflowDispatcher(
        NETWORK, [{"id": f"n{k}"} for k in range(3)], files, policy=policy, products=products
    )
    for k in range(3):
        run.submit([{"id": f"m{k}", "compute_seconds": 2, "outputs": [f"f{k}"]}])
        run.submit([{"id": f"r{k}{j}", "compute_seconds": 3, "inputs": [f"f{k}"]} for j in "ab"])
    return run


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("policy", "products"), [("locality", "nodes"), ("rolling", "storage")])
def test_tasks_fail_nodes_die_and_the_scheduler_is_killed(policy, products, seed):
    draw, run, now, ended = random.Random(seed), chain_of_groups(policy, products), 0.0, set()
    running: dict[str, str] = {}
    for step in range(400):
        now += 1.0
        for placed in run.next(now):
            assert placed.task not in running
            running[placed.task] = placed.node
        fault = draw.random() if step < 60 else 1.0
        if fault < 0.15:  # the scheduler is killed, and started again from what it had saved
            run = WorkflowDispatcher.restore(json.loads(json.dumps(run.state())))
        elif fault < 0.3 and running:
            task = draw.choice(sorted(running))
            del running[task]
            run.failed(task, now)
        elif fault < 0.4:
            node = draw.choice(["n0", "n1", "n2"])
            run.lost(node, now)
            running = {task: where for task, where in running.items() if where != node}
            run.back(node)
        elif running:
            task = draw.choice(sorted(running))
            del running[task]
            run.completed(task, now)
            ended.add(task)
        if step > 60 and not running and not run.next(now):
            break
    assert len(ended) == 9 and not run.ready and not run._running


LOAD = {
    "nb_res": 8,
    "jobs": [{"id": name, "subtime": k, "res": 4, "profile": "p", "walltime": 100.0}
             for k, name in enumerate("abc")],
    "profiles": {"c": {"type": "delay", "delay": 5}, "p": {"type": "composed", "seq": ["c", "io"]},
                 "io": {"type": "parallel_homogeneous_pfs", "bytes_to_read": 10}},
}  # fmt: skip
LOAD["profiles"]["p"]["repeat"] = 1


def test_batsim_dies_at_any_message_and_the_next_run_is_as_the_first():
    def decider():
        return BatsimDecider(
            policy="cons-fcfs", node_bytes_per_second=1.0, storage_bytes_per_second=4.0
        )

    whole = StandIn(LOAD, decider().reply, node_rate=1.0, storage_rate=4.0)
    wanted = {name: (job.start, job.end) for name, job in whole.play().items()}
    for last in range(whole.messages):
        again, left = decider(), [last]

        def dying(message, again=again, left=left):
            if not left[0]:
                raise EOFError
            left[0] -= 1
            return again.reply(message)

        with pytest.raises(EOFError):
            StandIn(LOAD, dying, node_rate=1.0, storage_rate=4.0).play()
        rerun = StandIn(LOAD, again.reply, node_rate=1.0, storage_rate=4.0)
        assert {n: (job.start, job.end) for n, job in rerun.play().items()} == wanted


def test_a_dispatcher_that_hangs_holds_nobody_up():
    release = threading.Event()
    run = chain_of_groups("locality", "storage")
    run._policy = lambda view: release.wait() and None
    assert [step.task for step in run.next(0.0, deadline=0.05)] == ["m0", "m1", "m2"]
    assert "no answer within 0.05 s" in run.notes[0] and len(run.notes) == 1
    release.set()


def test_a_full_disk_does_not_stop_the_turns(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "no space left")

    sent = []
    monkeypatch.setattr(Path, "write_text", full)
    monkeypatch.setattr(os, "killpg", lambda group, number: sent.append(number))
    turns = ProcessGangs({"nodes": 1, "levels": 2, "quantum_seconds": 1.0},
                         switch=by_cgroup({7: str(tmp_path)}))  # fmt: skip
    turns.add("a", {0: 7})
    turns.tick(0.0)
    assert sent == [signal.SIGSTOP, signal.SIGCONT]


def test_a_job_that_is_killed_leaves_its_turns_to_the_others():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE,
                             start_new_session=True)  # fmt: skip
    turns = ProcessGangs({"nodes": 1, "levels": 2, "quantum_seconds": 1.0})
    turns.add("a", {0: child.pid})
    child.kill()
    child.wait(60)
    child.stdin.close()
    for now in range(4):
        turns.tick(float(now))
    assert turns.end("a", 4.0) >= 3.0 and len(turns) == 0


@pytest.mark.parametrize("version", [0, 2, "1", None, [1]])
def test_another_version_is_refused_and_the_service_goes_on(version):
    calls = Calls(Service(), None)
    wrong = json.dumps({"ioopt": version, "id": 1, "op": "ping"}).encode()
    assert json.loads(calls.answer("message", wrong)[1])["error"]["code"] == "version"
    right = b'{"ioopt": 1, "id": 1, "op": "ping"}'
    assert json.loads(calls.answer("message", right)[1])["ok"]
