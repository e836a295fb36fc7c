"""Tests of whole validations: what is answered, and what is left out and said."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest
from recorded_samples import MB, pair

from ioopt.errors import UsageError
from ioopt.formats.cluster import Machine
from ioopt.validation.answer import SURE_FROM, on_node_disks, validate_record
from ioopt.validation.storage import Constants, problem_of

HEAD = "hostname,name,status,cpus,submit,start,complete,realtime,%cpu,rchar,wchar"


def trace_of(folder: Path, hosts: bool = True) -> str:
    """Write a trace of three samples, each made and read through storage that moves 10
    MB a second; return its path.
    """
    lines = [HEAD]
    for number in range(3):
        start = 1000 * number
        host = f"h{number % 2}" if hosts else "-"
        made = f"{host},make ({number}),COMPLETED,1,{start},{start},{start + 6000}"
        read = f"{host},use ({number}),COMPLETED,1,{start + 6000},{start + 7000}"
        lines.append(f"{made},2000,100,0,{20 * MB}")
        lines.append(f"{read},{start + 13000},5000,50,{20 * MB},{5 * MB}")
    path = folder / "trace.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def edges_of(folder: Path) -> str:
    """Write the edges of the trace; return the path."""
    path = folder / "edges.csv"
    pairs = [f"use ({number}),make ({number})" for number in range(3)]
    path.write_text("\n".join(["task,reads_output_of", *pairs]) + "\n")
    return str(path)


def test_a_record_is_fitted_replayed_planned_and_foretold(tmp_path: Path) -> None:
    stages: list[str] = []
    answer = validate_record(
        trace_of(tmp_path), edges=edges_of(tmp_path), progress=stages.append
    )
    found = answer.validation
    assert found.recorded.makespan_seconds == 15
    assert found.fitted_on == 2
    assert len(found.fitted) <= 5
    replayed = found.replayed
    assert replayed is not None
    assert abs(replayed.error) < 0.2  # the engine submits a task a second
    assert replayed.error == pytest.approx(replayed.makespan_seconds / 15 - 1)
    least, middle, most = replayed.band
    assert least <= middle <= most
    assert found.undetermined == ()  # it is smaller than the files
    assert found.plan is not None
    assert found.plan.saves == pytest.approx(
        1 - found.plan.makespan_seconds / replayed.makespan_seconds
    )
    assert found.plan.certain == (found.plan.saves >= SURE_FROM)
    off = [abs(task.off) / task.recorded_seconds for task in found.tasks]
    assert replayed.task_error == pytest.approx(median(off))
    assert found.storage_errors.keys() == {"nfs", "ceph"}
    assert found.storage_errors[found.storage] == replayed.error
    assert found.node_disks is not None
    assert found.node_disks.gain > 1
    assert found.node_disks.bytes_per_node >= 25 * MB
    assert [task.recorded_seconds for task in found.tasks[:2]] == [6, 6]
    assert all(task.replayed_seconds is not None for task in found.tasks)
    assert any("cores" in note for note in found.notes)
    assert stages[0] == "fit the storage"
    assert answer.replayed_schedule is not None
    assert answer.planned_schedule is not None


def test_a_stated_rate_is_not_fitted(tmp_path: Path) -> None:
    machine = Machine(remote_rate=11e6)
    answer = validate_record(
        trace_of(tmp_path), machine=machine, storage="nfs", time_limit=5
    )
    assert answer.validation.fitted["remote_bytes_per_second"] == 11e6
    assert answer.validation.plan is None  # without a graph no plan is safe
    assert answer.validation.node_disks is None


def test_without_hosts_only_dispatchers_answer(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, hosts=False)
    edges = edges_of(tmp_path)
    with pytest.raises(UsageError, match="no hosts are recorded"):
        validate_record(trace, edges=edges)
    machine = Machine(nodes=2, cores=1, remote_rate=10e6, replica_rate=10e6)
    found = validate_record(trace, edges=edges, machine=machine).validation
    assert found.replayed is None
    assert found.fitted_on == 0
    assert all(task.replayed_seconds is None for task in found.tasks)
    assert found.plan is not None
    assert found.node_disks is not None
    assert any("no host" in note for note in found.notes)
    assert any("other recorded runs" in note for note in found.notes)


def test_a_run_on_node_disks_is_not_told_to_take_them(tmp_path: Path) -> None:
    answer = validate_record(
        trace_of(tmp_path), edges=edges_of(tmp_path), storage="node"
    )
    assert answer.validation.storage == "node"
    assert answer.validation.node_disks is None


def test_the_gain_of_node_disks_by_hand() -> None:
    """One node: 32 s through NFS (see test_replays), 1 + 2 + 1 + 3 = 7 s on its disk,
    where 100 + 50 MB lie in the end.
    """
    rates = Constants(
        overhead_seconds=1, remote_bytes_per_second=10e6, node_bytes_per_second=10e6
    )
    shared = problem_of(pair(), "nfs", rates)
    node = problem_of(pair(), "node", rates)
    found = on_node_disks(shared, node)
    assert found.shared_makespan_seconds == pytest.approx(32)
    assert found.makespan_seconds == pytest.approx(7)
    assert found.gain == pytest.approx(32 / 7)
    assert found.bytes_per_node == 150 * MB
