"""The emulated network, the benchmark of plans that are carried out, and the stored
run. No test judges times.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from bench import testbed as bench
from testbed import network
from testbed.cluster import CarryingFault
from testbed.executor import Record, carry_out
from testbed.scale import RATES, reason_against, scaled

import ioopt
from ioopt.formats.native import read_json
from ioopt.pictures import result_to_draw
from ioopt.problems.replication import ReplicationPlan

ROOT = Path(network.__file__).parents[2]


def test_no_command_runs_in_the_namespace_of_the_machine():
    with pytest.raises(CarryingFault, match="no network namespace of its own"):
        network.run_inside(os.getpid(), "ip", "link")


NAMESPACES = """
import os, signal, sys
from testbed.cluster import STORAGE, Cluster
from testbed.network import Network
network = Network()
cluster = Cluster(sys.argv[1])
for name in (STORAGE, "n0", "n1"):
    network.add(cluster, name, 1e7)
cluster.do(STORAGE, "make", file="f", bytes=50_000)
cluster.do("n0", "get", file="f", bytes=50_000, peer=STORAGE)
cluster.do("n1", "get", file="f", bytes=50_000, peer="n0")
for process in (network._holder, *cluster._agents.values()):
    print(os.readlink(f"/proc/{process.pid}/ns/net"))
sys.stdout.flush()
os.kill(os.getpid(), getattr(signal, sys.argv[2]))
cluster.answer()  # until the signal arrives
"""
LACKING = network.missing()


@pytest.mark.skipif(LACKING is not None, reason=f"no emulated network: {LACKING}")
@pytest.mark.parametrize("kind", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_a_network_ends_with_its_program_and_changes_nothing_else(kind, tmp_path):
    """Standard error, which all its processes inherit, ends with the last of them."""
    before = interfaces()
    ended = subprocess.run(
        [sys.executable, "-c", NAMESPACES, str(tmp_path), kind],
        env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")},
        capture_output=True,
        text=True,
    )
    spaces = set(ended.stdout.split())
    assert ended.returncode == -getattr(signal, kind) and len(spaces) == 4
    assert not spaces & set(namespaces())
    assert list(tmp_path.iterdir()) == [] and interfaces() == before


def interfaces():
    """The interfaces of the machine, but those that come with the module ``ifb``."""
    names = {path.name for path in Path("/sys/class/net").iterdir()}
    return names - {"ifb0", "ifb1"}


def namespaces():
    """The network namespaces of all processes."""
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        with suppress(OSError):
            yield os.readlink(path)


def test_a_machine_without_the_programs_is_told_and_skipped(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "/nowhere")
    bench.main(quick=True)
    bench.smoke()
    lines = capsys.readouterr().out.splitlines()
    told = "testbed: skipped, no ip, tc, unshare, nsenter"
    assert len(lines) == 2 and all(line.startswith(told) for line in lines)


@pytest.mark.parametrize("command", [partial(bench.main, quick=True), bench.smoke])
def test_a_run_that_fails_ends_the_benchmark_in_one_line(command, monkeypatch):
    def carried_out(problem, result, mode):
        raise CarryingFault("the folder is full")

    monkeypatch.setattr(bench, "missing", lambda: None)
    monkeypatch.setattr(bench, "SEARCH_SECONDS", 0.1)
    monkeypatch.setattr(bench, "carried_out", carried_out)
    with pytest.raises(SystemExit) as ended:
        command()
    assert ended.value.code == "testbed: the folder is full"


def test_an_interrupted_benchmark_says_so_in_one_line(tmp_path):
    """It starts no benchmark: a module of the same name in its place is interrupted."""
    text = "def main(quick):\n    raise KeyboardInterrupt\n"
    (tmp_path / "interrupted.py").write_text(text)
    program = (
        "import runpy, sys, bench.sweeps\n"
        "sys.modules['bench.testbed'] = __import__('interrupted')\n"
        "sys.argv = ['bench.py', 'testbed']\n"
        f"runpy.run_path({str(ROOT / 'scripts' / 'bench.py')!r}, run_name='__main__')"
    )
    folders = os.pathsep.join([str(tmp_path), str(ROOT / "scripts")])
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": folders},
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stderr) == (130, "bench.py: interrupted\n")


def test_a_scaled_instance_keeps_its_plans():
    problem = ioopt.load("eight-tasks")
    result = ioopt.solve(problem, "heft")
    again = ioopt.solve(scaled(problem, 0.25), "heft")
    assert again.plan["order"] == result.plan["order"]
    assert again.objective == pytest.approx(0.25 * result.objective, rel=1e-6)
    assert scaled(problem, 0.25).network.remote_bytes_per_second == RATES.link


def test_what_the_network_cannot_carry_is_told():
    problem = ioopt.load("eight-tasks")
    assert reason_against(problem) is None
    private = problem.network.model_copy(update={"remote_link": "per-node"})
    assert "private" in reason_against(problem.model_copy(update={"network": private}))
    slow = problem.nodes[0].model_copy(update={"disk_bytes_per_second": 1e6})
    disks = problem.model_copy(update={"nodes": (slow, *problem.nodes[1:])})
    told = "nodes: disk_bytes_per_second = 1000000.0 cannot be carried out"
    with pytest.raises(CarryingFault, match=told):
        scaled(disks, 1.0)
    with pytest.raises(CarryingFault, match=told):
        carry_out(disks, ReplicationPlan(order={}), None)


def test_the_stored_run_is_the_one_that_the_readme_tells_of():
    planned, measured = (
        result_to_draw(read_json(ROOT / "docs" / "samples" / name), name)
        for name in ("planned.json", "measured.json")
    )
    assert planned.plan == measured.plan
    plan = ReplicationPlan.model_validate(planned.plan)
    assert plan.bound_moves and plan.evictions and len(plan.assign) <= 12
    times = [r.metrics["makespan_seconds"] for r in (planned, measured)]
    told = "{:.4g} s planned, {:.4g} s measured".format(*times)
    assert told in (ROOT / "README.md").read_text()
    for result in (planned, measured):
        runs = result.schedule["tasks"]
        assert {run["id"]: run["node"] for run in runs} == plan.assign
        moves = {
            (m["destination"], m["file"], m["source"])
            for m in result.schedule["transfers"]
        }
        assert moves == set(plan.bound_moves)
    assert "by python scripts/tools/carried_out.py, on" in measured.notes[1]


@pytest.mark.parametrize("case", [bench.SMOKE, *bench.CASES], ids=lambda c: c.simple)
def test_every_case_of_the_benchmark_can_be_emulated(case):
    problem = bench.case_problem(case)
    assert problem.network.remote_bytes_per_second == RATES.link
    assert problem.network.replica_bytes_per_second <= RATES.interface
    assert ioopt.solve(problem, case.simple).status in ("feasible", "optimal")


def carried(late, mode="schedule"):
    """A run of a small plan that ended *late* times as late as planned, and in which
    one copy came from elsewhere.
    """
    problem = bench.case_problem(bench.SMOKE)
    result = bench.solved(problem, bench.SMOKE.simple)
    plan = bench.plan_of(problem, result, mode)
    replay = ioopt.simulate(problem, plan)
    rows = [dict(row) for row in replay.schedule["transfers"]]
    moved = next(row for row in rows if row["source"] is not None)
    moved["source"] = None
    seconds = replay.metrics["makespan_seconds"] * late
    record = Record(seconds, {**replay.schedule, "transfers": rows})
    return problem, bench.Carried("minmin", mode, plan, replay, record)


@pytest.mark.parametrize("way", ["schedule", "live"])
def test_a_row_of_the_table_says_what_was_planned_and_measured(way):
    problem, run = carried(1.1, way)
    name, solver, mode, planned, p95, measured, error, others = bench.row_of(
        problem, run
    )
    assert (name, solver, mode) == ("two-pairs", "minmin", way)
    assert float(planned) <= float(p95) < float(measured) == round(1.1 * run.planned, 2)
    assert (error, others) == ("+10.0 %", "1")


@pytest.mark.parametrize("ends", [(1.01,), (1.06, 0.96), (1.06, 1.06)])
def test_the_smoke_test_tries_twice_and_then_fails(ends, monkeypatch, capsys):
    left = list(ends)
    monkeypatch.setattr(bench, "missing", lambda: None)
    monkeypatch.setattr(bench, "carried_out", lambda *_: carried(left.pop(0))[1])
    if ends[-1] > 1.05:
        with pytest.raises(SystemExit, match="more than 5 % off, twice"):
            bench.smoke()
    else:
        bench.smoke()
    told = capsys.readouterr().out.splitlines()
    assert len(told) == len(ends) and not left
    assert ("second run" in told[-1]) == (len(ends) == 2)
