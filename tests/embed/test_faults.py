"""Faults put in on purpose: whatever breaks, the engine goes on and no work is lost."""

from __future__ import annotations

import errno
import io
import json
import os
import random
import signal
import sys
import threading

import pytest
from batsim_stand_in import StandIn
from embed.test_batsim_adapter import PLATFORM, RATES, arbitrated, spans

from ioopt.embed import IoArbiter, WorkflowDispatcher
from ioopt.embed.adapters.batsim import BatsimDecider
from ioopt.embed.adapters.slurm import SlurmPlacer
from ioopt.embed.service import Service
from ioopt.embed.transport import StreamServer
from ioopt.errors import BackendFailureError, InstanceError

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
    whole = arbitrated(LOAD)
    wanted = spans(whole.play())
    for last in range(whole.messages):
        again, left = BatsimDecider(policy="cons-fcfs", **RATES), [last]

        def dying(message, again=again, left=left):
            if not left[0]:
                raise EOFError
            left[0] -= 1
            return again.reply(message)

        with pytest.raises(EOFError):
            StandIn(LOAD, dying, **PLATFORM).play()
        assert spans(StandIn(LOAD, again.reply, **PLATFORM).play()) == wanted


def test_a_dispatcher_that_hangs_holds_nobody_up():
    release = threading.Event()
    run = chain_of_groups("locality", "storage")
    run._policy = lambda view: release.wait() and None
    assert [step.task for step in run.next(0.0, deadline=0.03)] == ["m0", "m1", "m2"]
    assert "no answer within 0.03 s" in run.notes[0] and len(run.notes) == 1
    release.set()


class Slurm:
    """A Slurm that remembers jobs; *fails* (words) raises, or gives what to answer instead."""

    def __init__(self, fails=lambda words: None):
        self.fails, self.number = fails, 100
        self.jobs = [
            {"job_id": k, "job_state": "PENDING", "state_reason": "JobHeldUser",
             "comment": 'ioopt:{"inputs": ["f"], "compute_seconds": 5}'} for k in (1, 2, 3)
        ]  # fmt: skip

    def __call__(self, words):
        other = self.fails(words)
        if other is not None:
            return other
        if words[0] == "squeue":
            return json.dumps({"jobs": self.jobs})
        if words[0] == "sbatch":
            self.number += 1
            comment = next(w for w in words if w.startswith("--comment=")).partition("=")[2]
            self.jobs.append({"job_id": self.number, "job_state": "PENDING", "state_reason": "None",
                              "comment": comment})  # fmt: skip
            return f"{self.number}\n"
        if words[1] == "release":
            self.jobs[int(words[2]) - 1]["state_reason"] = "None"
        return ""

    @property
    def released(self):
        return {job["job_id"] for job in self.jobs[:3] if job["state_reason"] == "None"}


SITE = {
    "network": NETWORK,
    "nodes": [{"id": "n0"}, {"id": "n1"}],
    "files": [{"id": "f", "bytes": 9}],
}


def placer(slurm):
    said = []
    made = SlurmPlacer(SITE, "stage {file}", solver="minmin", runner=slurm, say=said.append)
    return made, said


@pytest.mark.parametrize("command", ["sbatch", "scontrol update", "scontrol release"])
@pytest.mark.parametrize("error", [BackendFailureError("slurmctld does not answer"),
                                   OSError(errno.ENOSPC, "no space left")])  # fmt: skip
def test_slurm_fails_once_and_every_job_is_placed_in_the_end(command, error):
    left = [error]

    def fails(words):
        if " ".join(words).startswith(command) and left:
            raise left.pop()

    slurm = Slurm(fails)
    made, said = placer(slurm)
    made.place()
    assert len(slurm.released) == 2 and len(said) == 1 and "stays held" in said[0]
    made.place()
    assert slurm.released == {1, 2, 3} and len(said) == 1
    assert len({job["comment"] for job in slurm.jobs[3:]}) == len(slurm.jobs) - 3  # staged once


@pytest.mark.parametrize("answer", ["", "{", '{"jobs": [', "[]", '{"jobs": [{}]}', '{"jobs": 3}',
                                    "slurm_load_jobs error: Unable to contact"])  # fmt: skip
def test_what_squeue_never_says_costs_one_round(answer):
    left = [answer]
    slurm = Slurm(lambda words: left.pop() if words[0] == "squeue" and left else None)
    made, _ = placer(slurm)
    with pytest.raises(InstanceError, match="squeue --json"):
        made.place()
    made.place()
    assert slurm.released == {1, 2, 3}


def test_a_placer_is_killed_at_any_command_and_another_ends_it():
    for last in range(9):
        left = [last]

        def dying(words, left=left):
            if not left[0]:
                left[0] = -1
                raise KeyboardInterrupt
            left[0] -= 1

        slurm = Slurm(dying)
        try:
            placer(slurm)[0].place()
        except KeyboardInterrupt:
            placer(slurm)[0].place()
        assert slurm.released == {1, 2, 3}
        assert len({job["comment"] for job in slurm.jobs[3:]}) == len(slurm.jobs) - 3


MACHINE = {"nodes": 8, "unit_nodes": 1, "allocation": "flat",
           "node_bytes_per_second": 1.0, "storage_bytes_per_second": 4.0}  # fmt: skip


@pytest.mark.parametrize("cut", range(0, 30, 3))
def test_a_line_that_breaks_off_is_answered(cut):
    sink, line = io.BytesIO(), b'{"ioopt": 1, "id": 1, "op": "ping"}'
    assert StreamServer(io.BytesIO(line[:cut]), sink, Service()).run() == (cut > 0)
    replies = [json.loads(reply) for reply in sink.getvalue().splitlines()]
    assert [reply["error"]["code"] for reply in replies] == ["malformed"] * (cut > 0)


def test_an_output_that_is_full_ends_the_service_with_its_reason(monkeypatch, capsys):
    from ioopt.embed import transport

    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    class Ended(Exception):
        pass

    def ended(code):
        raise Ended

    source = io.BytesIO(b'{"ioopt": 1, "op": "ping"}\n')
    monkeypatch.setattr(os, "_exit", ended)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "stdin", type("In", (), {"buffer": source}))
    monkeypatch.setattr(sys, "stdout", type("Out", (), {"buffer": Full(), "flush": lambda: None}))
    with pytest.raises(Ended):
        transport.main(["1000"])
    assert "ioopt: standard output: No space left" in capsys.readouterr().err


def test_answers_that_come_ten_seconds_late_are_only_late():
    """Time passes between question and answer: transfers move on, and what ended meanwhile is gone."""
    arbiter, now = IoArbiter(MACHINE), 0.0
    for name in "abc":
        arbiter.request(name, 4, 40.0, now)
    ended = 0
    for _ in range(20):
        rates = arbiter.decide(now)
        now += 10.0  # the answer is used only now, for what is still there
        for name, rate in rates.items():
            moved = min(40.0, 40.0 - arbiter._by_id[name].left + 10.0 * rate)
            arbiter.progress(name, moved)
            if moved >= 40.0:
                arbiter.finish(name)
                ended += 1
        if not len(arbiter):
            break
    assert ended == 3 and arbiter.decide(now) == {}
