"""Faults put in on purpose: whatever breaks, the engine goes on and no work is lost."""

import errno
import io
import json
import os
import random
import re
import signal
import subprocess
import threading
import time

import pytest
from batsim_stand_in import StandIn
from conftest import ROOT
from damage.service import ask
from embed.test_batsim_adapter import PLATFORM, RATES, arbitrated, spans
from embed.test_service import SNAPSHOT
from embed.test_slurm_adapter import SITE, Recorded, held

from ioopt.embed import IoArbiter, WorkflowDispatcher
from ioopt.embed.adapters.batsim import BatsimDecider
from ioopt.embed.adapters.slurm import SlurmPlacer, run_command
from ioopt.embed.service import Service
from ioopt.embed.transport import StreamServer
from ioopt.errors import BackendFailureError, InstanceError

NETWORK = {"remote_bytes_per_second": 1.0, "replica_bytes_per_second": 10.0}


def chain_of_groups(policy, products):
    """Three groups of a maker and two readers, on three nodes."""
    files = [{"id": f"f{k}", "bytes": 10} for k in range(3)]
    run = WorkflowDispatcher(
        NETWORK,
        [{"id": f"n{k}"} for k in range(3)],
        files,
        policy=policy,
        products=products,
    )
    for k in range(3):
        run.submit([{"id": f"m{k}", "compute_seconds": 2, "outputs": [f"f{k}"]}])
        run.submit(
            [
                {"id": f"r{k}{j}", "compute_seconds": 3, "inputs": [f"f{k}"]}
                for j in "ab"
            ]
        )
    return run


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    ("policy", "products"), [("locality", "nodes"), ("rolling", "storage")]
)
def test_tasks_fail_nodes_die_and_the_scheduler_is_killed(policy, products, seed):
    draw, run, now, ended = (
        random.Random(seed),
        chain_of_groups(policy, products),
        0.0,
        set(),
    )
    running: dict[str, str] = {}
    for step in range(400):
        now += 1.0
        for placed in run.next(now):
            assert placed.task not in running
            running[placed.task] = placed.node
        fault = draw.random() if step < 60 else 1.0
        if (
            fault < 0.15
        ):  # the scheduler is killed, and started again from what it had saved
            run = WorkflowDispatcher.restore(json.loads(json.dumps(run.state())))
        elif fault < 0.3 and running:
            task = draw.choice(sorted(running))
            del running[task]
            run.failed(task, now)
        elif fault < 0.4:
            node = draw.choice(["n0", "n1", "n2"])
            for task in run.lost(node, now):
                running.pop(task, None)
            assert node not in running.values()
            run.back(node)
        elif running:
            task = draw.choice(sorted(running))
            del running[task]
            run.completed(task, now)
            ended.add(task)
        if step > 60 and not running and not run.next(now):
            break
    assert len(ended) == 9 and not run._run.ready and not run._run._running


LOAD = {
    "nb_res": 8,
    "jobs": [
        {"id": name, "subtime": k, "res": 4, "profile": "p", "walltime": 100.0}
        for k, name in enumerate("abc")
    ],
    "profiles": {
        "c": {"type": "delay", "delay": 5},
        "p": {"type": "composed", "seq": ["c", "io"]},
        "io": {"type": "parallel_homogeneous_pfs", "bytes_to_read": 10},
    },
}
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
        next_run = StandIn(LOAD, again.reply, **PLATFORM)
        assert spans(next_run.play()) == wanted and next_run.seen == whole.seen


def test_a_dispatcher_that_hangs_holds_nobody_up():
    release = threading.Event()
    run = chain_of_groups("locality", "storage")
    run._dispatcher._dispatcher = lambda view: release.wait() and None
    assert [step.task for step in run.next(0.0, deadline=0.03)] == ["m0", "m1", "m2"]
    assert "no answer within 0.03 s" in run.notes[0] and len(run.notes) == 1
    release.set()


class Slurm(Recorded):
    """A Slurm of three held jobs; *fails* (words) raises, or gives
    what to answer instead.
    """

    def __init__(self, fails=lambda words: None):
        super().__init__([held(k, "f0") for k in (1, 2, 3)])
        self.fails = fails

    def __call__(self, words):
        other = self.fails(words)
        return super().__call__(words) if other is None else other

    @property
    def released(self):
        return {job["job_id"] for job in self.jobs[:3] if job["state_reason"] == "None"}


def placer(slurm):
    said = []
    site = SITE | {"nodes": [{"id": "n0"}, {"id": "n1"}]}
    made = SlurmPlacer(
        site, "stage {file}", solver="minmin", runner=slurm, say=said.append
    )
    return made, said


@pytest.mark.parametrize("command", ["sbatch", "scontrol update", "scontrol release"])
@pytest.mark.parametrize(
    "error",
    [
        BackendFailureError("slurmctld does not answer"),
        OSError(errno.ENOSPC, "no space left"),
    ],
)
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
    assert (
        len({job["comment"] for job in slurm.jobs[3:]}) == len(slurm.jobs) - 3
    )  # staged once


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "{",
        '{"jobs": [',
        "[]",
        '{"jobs": [{}]}',
        '{"jobs": 3}',
        "slurm_load_jobs error: Unable to contact",
    ],
)
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


@pytest.mark.parametrize("command", ["sbatch", "scontrol update", "scontrol release"])
def test_slurm_does_it_and_the_answer_is_lost(command):
    slurm, left = Slurm(), [1]

    def lossy(words):
        answer = slurm(words)
        if " ".join(words).startswith(command) and left:
            left.pop()
            raise BackendFailureError("the connection was reset")
        return answer

    made, _ = placer(lossy)
    made.place()
    made.place()
    assert slurm.released == {1, 2, 3}
    assert len({job["comment"] for job in slurm.jobs[3:]}) == len(slurm.jobs) - 3


def test_a_queue_that_is_told_twice_or_late_costs_nothing():
    """Job 1 stands in it twice; job 2 was cancelled since."""
    slurm = Slurm()

    def late(words):
        if words[0] == "squeue":
            return json.dumps({"jobs": [*slurm.jobs, slurm.jobs[0]]})
        if "JobId=2" in words:
            raise BackendFailureError("Invalid job id specified")
        return slurm(words)

    made, said = placer(late)
    assert sorted(done.job for done in made.place()) == [1, 3]
    assert said == ["ioopt: job 2 stays held: Invalid job id specified"]


def test_a_command_of_slurms_that_hangs_has_failed(monkeypatch):
    def hangs(words, **options):
        raise subprocess.TimeoutExpired(words, options["timeout"])

    monkeypatch.setattr(subprocess, "run", hangs)
    with pytest.raises(
        BackendFailureError, match="squeue --json: no answer within 120 s"
    ):
        run_command(["squeue", "--json"])


def wall_clock():
    raise AssertionError("a wall clock is read")


def test_no_wall_clock_is_read(monkeypatch):
    monkeypatch.setattr(time, "time", wall_clock)
    slurm = Slurm()
    placer(slurm)[0].place()
    assert slurm.released == {1, 2, 3}
    assert spans(arbitrated(LOAD).play())["a"][1] > 0
    assert ask(Service(), op="ping")["ok"]


def dispatching(service):
    """A session of a chain w -> r on two nodes; gives a function
    that calls its methods.
    """
    opened = {
        "network": NETWORK,
        "nodes": [{"id": "n0"}, {"id": "n1"}],
        "files": [{"id": "f", "bytes": 1}],
        "policy": "locality",
    }
    return session(
        service, ask(service, op="open", object="WorkflowDispatcher", arguments=opened)
    )


def session(service, opened):
    number = opened["result"]["session"]

    def call(method, **arguments):
        if method == "save":
            return ask(service, op="save", session=number)["result"]["state"]
        return ask(
            service, op="call", session=number, method=method, arguments=arguments
        )

    return call


CHAIN = [
    {"id": "w", "compute_seconds": 5, "outputs": ["f"]},
    {"id": "r", "compute_seconds": 5, "inputs": ["f"]},
]
DAY, HOUR = 86400.0, 3600.0


def test_messages_that_come_twice_late_or_in_another_time_change_nothing():
    """What comes again is refused or says nothing new; the clock jumps a day
    ahead and an hour back.
    """
    call = dispatching(Service())
    for now, method, arguments in (
        (0.0, "submit", {"tasks": CHAIN}),
        (0.0, "next", {"now": 0.0}),
        (DAY, "completed", {"task": "w", "now": DAY}),
        (DAY, "next", {"now": DAY - HOUR}),
        (DAY, "completed", {"task": "r", "now": DAY - HOUR + 5}),
    ):
        first = call(method, **arguments)
        assert first["ok"] and (method != "next" or len(first["result"]["value"]) == 1)
        state = call("save")
        again = call(method, **arguments)
        assert again["result"]["value"] == [] if method == "next" else not again["ok"]
        assert call("save") == state | {"round": call("save")["round"]}
        assert state["now"] == now
    assert not call("completed", task="w", now=1.0)["ok"]


@pytest.mark.parametrize("again", ["the same session", "another process"])
def test_an_answer_that_nobody_has_read_is_in_the_state(again):
    """The engine, or the service after its state was saved, dies over next: the
    task is told as running.
    """
    service = Service()
    call = dispatching(service)
    call("submit", tasks=CHAIN)
    call("next", now=0.0)
    state = json.loads(json.dumps(call("save")))
    assert [task["id"] for task, how in state["tasks"] if isinstance(how, list)] == [
        "w"
    ]
    if again == "another process":
        other = Service()
        call = session(
            other, ask(other, op="open", object="WorkflowDispatcher", state=state)
        )
    call("failed", task="w", now=1.0)
    assert [step["task"] for step in call("next", now=1.0)["result"]["value"]] == ["w"]


def test_a_batsim_that_finds_another_decider_amid_its_run_is_told():
    """Ours is killed and begun again: what it cannot know is refused, and not
    answered in silence.
    """
    for kind, data in (
        ("JOB_COMPLETED", {"job_id": "w!a"}),
        ("JOB_SUBMITTED", {"job_id": "w!a", "job": {"res": 1, "profile": "p"}}),
    ):
        with pytest.raises(InstanceError, match="before SIMULATION_BEGINS"):
            BatsimDecider(**RATES).reply(
                {"now": 3.0, "events": [{"type": kind, "data": data}]}
            )


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
    monkeypatch.setattr(transport, "own_streams", lambda: (source, Full()))
    with pytest.raises(Ended):
        transport.main(["1000"])
    assert "ioopt: standard output: No space left" in capsys.readouterr().err


def test_answers_that_come_ten_seconds_late_are_only_late():
    """Time passes between question and answer: transfers move on, and what
    ended meanwhile is gone.
    """
    arbiter, now = IoArbiter(SNAPSHOT["machine"]), 0.0
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


def test_every_cell_of_the_table_names_a_test_that_exists():
    page = (
        (ROOT / "docs/embedding.md")
        .read_text("utf-8")
        .partition("## What a fault costs")[2]
    )
    page = page.partition("\n## ")[0]
    named = dict(
        re.findall(r'^\[(f\d+)\]: #what-a-fault-costs "(.+)"$', page, re.MULTILINE)
    )
    rows = [
        line.strip("| ").split(" | ")
        for line in page.splitlines()
        if line.startswith("| ")
    ]
    assert [len(row) for row in rows] == [9] * 7
    cells = [cell for row in rows[1:] for cell in row[1:] if cell != "not tested"]
    assert {
        re.fullmatch(r"\[[a-z ]+\]\[(f\d+)\]", cell)[1] for cell in cells
    } == named.keys()
    for file, _, test in (name.partition("::") for name in named.values()):
        assert f"\ndef {test}(" in (ROOT / file).read_text("utf-8"), (file, test)
