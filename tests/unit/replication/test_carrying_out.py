"""Carry plans out by real agents on the loopback interface. No test judges times."""

import hashlib
import os
import signal
import subprocess
import sys
from heapq import heappop, heappush
from math import inf
from pathlib import Path

import pytest
from testbed import agent
from testbed.cluster import STORAGE, CarryingFault, Cluster
from testbed.executor import carry_out
from testbed.scale import scaled

import ioopt
from ioopt.errors import UsageError
from ioopt.problems.replication import ReplicationPlan
from ioopt.sim.replication.bind import bind
from ioopt.sim.replication.bound import graph_of
from ioopt.sim.replication.live import LiveRun

SCRIPTS = Path(agent.__file__).parents[1]


def small(name):
    """A bundled instance whose files have some KB and whose tasks take some ms."""
    return scaled(ioopt.load(name), 1e-3)


def planned(problem, solver, **settings):
    result = ioopt.solve(problem, solver, settings=settings)
    return ReplicationPlan.model_validate(result.plan)


@pytest.fixture
def cluster(tmp_path):
    with Cluster(str(tmp_path)) as made:
        yield made


def with_agents(cluster, problem):
    for name in (STORAGE, *(node.id for node in problem.nodes)):
        cluster.add(name)
    return cluster


@pytest.mark.parametrize(
    ("name", "solver"),
    [
        ("eight-tasks", "exact-workflow"),
        ("flow-arrivals", "heft"),
        ("rounds4", "minmin"),
    ],
)
def test_a_bound_plan_is_carried_out_as_its_graph_allows(name, solver, cluster):
    problem = small(name)
    plan = bind(problem, planned(problem, solver))
    record = carry_out(problem, plan, with_agents(cluster, problem))
    actions = graph_of(problem, plan).actions
    begun, done = set(), set()
    for what, number in record.events:
        if what == "start":
            assert done.issuperset(actions[number].after_end)
            assert begun.issuperset(actions[number].after_start)
            begun.add(number)
        else:
            done.add(number)
    assert begun == done == set(range(len(actions)))
    assert_whole(problem, plan, record)
    gone = [(row["node"], row["file"]) for row in record.schedule["evictions"]]
    assert sorted(gone) == sorted((node, file) for node, file, _ in plan.evictions)
    assert gone
    moves = [(to or "", file, source or "") for to, file, source in plan.bound_moves]
    made = [(to, file, source) for file, source, to in record.moves()]
    assert sorted(moves) == sorted(made)


@pytest.mark.parametrize(
    ("name", "solver", "settings"),
    [
        ("eight-tasks", "heft", {}),
        ("flow-groups", "heft", {}),
        ("rounds4", "two-stage", {"barriers": True}),
        ("cycle3", "ip", {}),
    ],
)
def test_a_run_that_decides_again_ends_and_fits(name, solver, settings, cluster):
    problem = small(name)
    plan = planned(problem, solver, **settings)
    record = carry_out(problem, plan, with_agents(cluster, problem))
    assert_whole(problem, plan, record)


def assert_whole(problem, plan, record):
    """Every task ran once where it should, with its files there, and no disk was
    exceeded.
    """
    runs = record.schedule["tasks"]
    where = {task: node for node, queue in plan.order.items() for task in queue}
    assert {run["id"]: run["node"] for run in runs} == where
    assert len(runs) == len(problem.tasks)
    assert record.makespan_seconds >= max(run["end_seconds"] for run in runs)
    there = {(node.id, file): 0.0 for node in problem.nodes for file in node.holds}
    for run in runs:
        for f in problem.outputs[problem.task_index[run["id"]]]:
            there[run["node"], problem.files[f].id] = run["end_seconds"]
    for row in record.schedule["transfers"]:
        place = row["destination"], row["file"]
        there[place] = min(row["end_seconds"], there.get(place, inf))
    for run in runs:
        for f in problem.inputs[problem.task_index[run["id"]]]:
            came = there[run["node"], problem.files[f].id]
            assert came <= run["start_seconds"]
    for row in record.schedule["transfers"]:
        source = row["source"]
        if source is not None or problem.producer[problem.file_index[row["file"]]] >= 0:
            assert there[source, row["file"]] <= row["start_seconds"]
    for node in problem.nodes:
        assert node.disk_bytes is None or record.peaks[node.id] <= node.disk_bytes


@pytest.mark.parametrize(
    ("name", "solver", "settings"),
    [
        ("eight-tasks", "heft", {}),
        ("flow-chains", "heft", {}),
        ("flow-arrivals", "b-level", {}),
        ("flow-montage", "heft", {}),
        ("image-16x3", "minmin", {}),
        ("image-100x4", "job-data-present", {}),
        ("rounds4", "two-stage", {"barriers": True}),
        ("held", "minmin", {}),
    ],
)
def test_decisions_of_a_live_run_are_those_of_the_simulator(name, solver, settings):
    """With the simulated times, a live run makes the simulated schedule."""
    problem = ioopt.load(name)
    result = ioopt.solve(problem, solver, settings=settings)
    plan = ReplicationPlan.model_validate(result.plan)
    assert decided(problem, plan, result.schedule) == []


def decided(problem, plan, schedule):
    """Follow a live run by the times of *schedule*; the rows that it does not make."""
    left = []
    for row in schedule["tasks"]:
        left.append(("task", row["id"], row["node"], row))
    for row in schedule["transfers"]:
        kind = "save" if row["destination"] is None else "transfer"
        left.append((kind, row["file"], row["destination"] or row["source"], row))
    for row in schedule["evictions"]:
        left.append(("eviction", row["file"], row["node"], row))
    run = LiveRun(problem, plan)
    ending = []
    now = 0.0
    while not run.is_over():
        for number in run.ready(now):
            action = run.actions[number]
            is_task = action.kind == "task"
            of = problem.tasks[action.task] if is_task else problem.files[action.file]
            like = (action.kind, of.id, problem.nodes[action.node].id)
            row = next(row for row in left if row[:3] == like and near(row[3], now))
            left.remove(row)
            if action.kind == "transfer" and row[3]["source"] is not None:
                assert problem.nodes[action.source].id == row[3]["source"]
            if action.kind != "eviction":
                heappush(ending, (row[3]["end_seconds"], number))
        release = run.next_release(now)
        if run.is_over():
            break
        now = min([time for time, _ in ending[:1]] + [release or inf])
        while ending and ending[0][0] <= now * (1 + 1e-9) + 1e-9:
            run.ended(heappop(ending)[1])
    return left


def near(row, now):
    start = row.get("start_seconds", row.get("seconds"))
    return abs(start - now) <= 1e-6 * (1 + now)


def test_a_live_run_refuses_what_is_decided_already():
    problem = ioopt.load("eight-tasks")
    dispatched = planned(problem, "locality", mode="dispatch")
    with pytest.raises(UsageError, match="decided while tasks ran"):
        LiveRun(problem, dispatched)
    with pytest.raises(UsageError, match="the plan is bound"):
        LiveRun(problem, bind(problem, dispatched))


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("products", "shared", "a live run does not know products on shared storage"),
        ("task_disk", True, "a live run does not know task_disk"),
    ],
)
def test_a_live_run_refuses_rules_that_it_does_not_know(key, value, told):
    problem = ioopt.load("eight-tasks")
    plan = planned(problem, "heft")
    other = problem.model_copy(update={key: value})
    with pytest.raises(UsageError, match=told):
        LiveRun(other, plan)
    with pytest.raises(CarryingFault, match=f"instance: {key} = .* cannot be carried"):
        carry_out(other, plan, None)


def test_overheads_and_memory_are_carried_out(cluster):
    """A node whose memory takes one task at a time runs one after the other."""
    nodes = [{"id": "n0", "cores": 2, "disk_bytes": None, "memory_bytes": 100}]
    task = {"compute_seconds": 0.0, "inputs": [], "memory_bytes": 60}
    problem = ioopt.load(
        {
            "format": "ioopt/replication",
            "version": 1,
            "name": "memory",
            "network": {
                "remote_bytes_per_second": 1e6,
                "replica_bytes_per_second": 1e6,
            },
            "nodes": nodes,
            "files": [],
            "tasks": [
                {"id": "a", "overhead_seconds": 0.05, **task},
                {"id": "b", "overhead_seconds": 0.05, **task},
            ],
        }
    )
    halved = scaled(problem, 0.5)
    assert [task.overhead_seconds for task in halved.tasks] == [0.025, 0.025]
    plan = planned(halved, "heft")
    record = carry_out(halved, plan, with_agents(cluster, halved))
    first, second = record.schedule["tasks"]
    assert second["start_seconds"] >= first["end_seconds"]
    assert first["end_seconds"] - first["start_seconds"] >= 0.025


def test_the_bytes_of_a_file_follow_from_its_name(cluster, tmp_path):
    cluster.add("n0")
    size = 3 * agent.CHUNK + 5
    cluster.do("n0", "make", file="a/b", bytes=size)
    path = tmp_path / "0" / hashlib.sha256(b"a/b").hexdigest()
    digest = hashlib.sha256(b"a/b").digest()
    assert path.read_bytes() == (digest * (size // 32 + 1))[:size]


def test_what_arrives_damaged_or_too_short_is_a_fault(cluster, tmp_path):
    for name in (STORAGE, "n0"):
        cluster.add(name)
    path = tmp_path / "0" / hashlib.sha256(b"f").hexdigest()
    cluster.do(STORAGE, "make", file="f", bytes=100)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(CarryingFault, match="'f' arrived with other or fewer bytes"):
        cluster.do("n0", "get", file="f", bytes=100, peer=STORAGE)
    cluster.do(STORAGE, "make", file="g", bytes=100)
    with pytest.raises(CarryingFault, match="'g' arrived with other or fewer bytes"):
        cluster.do("n0", "get", file="g", bytes=101, peer=STORAGE)
    with pytest.raises(CarryingFault, match="'h' arrived with other or fewer bytes"):
        cluster.do("n0", "get", file="h", bytes=1, peer=STORAGE)


def test_an_agent_refuses_what_its_disk_or_its_files_do_not_allow(cluster):
    for name in (STORAGE, "n0"):
        cluster.add(name)
    cluster.do("n0", "open", disk=100)
    cluster.do("n0", "make", file="f", bytes=60)
    with pytest.raises(CarryingFault, match="110 bytes are wanted of 100"):
        cluster.do("n0", "make", file="g", bytes=50)
    with pytest.raises(CarryingFault, match="'f' is there already"):
        cluster.do("n0", "make", file="f", bytes=1)
    with pytest.raises(CarryingFault, match="'g' is not there"):
        cluster.do("n0", "evict", file="g")
    with pytest.raises(CarryingFault, match="'g' is not there"):
        cluster.do("n0", "run", seconds=0.0, inputs=[("g", 50)], outputs=[])
    with pytest.raises(CarryingFault, match="'f' has more than 59 bytes"):
        cluster.do("n0", "run", seconds=0.0, inputs=[("f", 59)], outputs=[])
    cluster.do("n0", "evict", file="f")
    assert cluster.do("n0", "make", file="g", bytes=100).peak == 100
    cluster.do(STORAGE, "make", file="g", bytes=100)
    with pytest.raises(CarryingFault, match="'g' did not arrive whole"):
        cluster.do("n0", "put", file="g", bytes=100, peer=STORAGE)


def test_an_agent_that_is_killed_ends_the_run(cluster):
    os.kill(cluster.add("n0"), signal.SIGKILL)
    with pytest.raises(CarryingFault, match="the agent of node 'n0' has ended"):
        cluster.answer()


KILLED = """
import os, signal, sys
from testbed.cluster import Cluster
cluster = Cluster(sys.argv[1])
cluster.add("n0")
cluster.do("n0", "make", file="f", bytes=5)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_agents_end_with_a_killed_executor_and_leave_nothing(tmp_path):
    """Standard error, which the agent inherits, ends only with the agent."""
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
        capture_output=True,
    )
    assert killed.returncode == -signal.SIGKILL and killed.stderr == b""
    assert list(tmp_path.iterdir()) == []
