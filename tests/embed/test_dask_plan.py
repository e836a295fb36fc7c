"""Plans that real Dask clusters follow: the worker of each task, and their order."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

import ioopt
from ioopt.errors import InstanceError

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
adapter = pytest.importorskip("ioopt.embed.adapters.dask_plan")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    for name in ("connect", "tcp"):  # only what hangs takes as long
        dask.config.set({f"distributed.comm.timeouts.{name}": "600s"})
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=50,
            processes=False,
        ) as made,
        distributed.Client(made, set_as_default=False) as client,
    ):
        yield client


RAN: list[tuple[str, str]] = []


def work(name: list[str], *inputs: object) -> str:
    """Note and return the name of the worker on which task *name* runs.

    The name is in a list of letters, because Dask takes text for a key.
    """
    worker = str(distributed.get_worker().name)
    RAN.append(("".join(name[1:]), worker))
    return worker


def called(name: str) -> list[str]:
    return ["_", *name.upper()]


def test_a_bound_plan_of_ioopt_is_followed(client: Any) -> None:
    tasks = [
        {
            "id": f"t{k}",
            "compute_seconds": 1.0,
            "inputs": ["f0"] if k else [],
            "outputs": [f"f{k}"],
        }
        for k in range(8)
    ]
    problem = {
        "format": "ioopt/replication",
        "network": {"remote_bytes_per_second": 1e6, "replica_bytes_per_second": 1e9},
        "nodes": [{"id": "0"}, {"id": "1"}],
        "files": [{"id": f"f{k}", "bytes": 1000} for k in range(8)],
        "tasks": tasks,
    }
    plan = ioopt.solve(problem, "heft", settings={"moves": "schedule"}).plan
    assert plan is not None
    graph = {"t0": (work, called("t0"))}
    graph |= {f"t{k}": (work, called(f"t{k}"), "t0") for k in range(1, 8)}
    RAN.clear()
    with adapter.followed(client, plan) as report:
        found = client.get(graph, list(graph))
    assert dict(zip(graph, found, strict=True)) == plan["assign"]
    assert (report.decisions, report.notes) == (8, [])


def test_the_first_of_a_queue_runs_first(client: Any) -> None:
    """All six wait for one task of the other worker, and are ready at once."""
    queue = ["t3", "t5", "t0", "t4", "t2", "t1"]
    graph = {"gate": (work, called("gate"))}
    graph |= {f"t{k}": (work, called(f"t{k}"), "gate") for k in range(6)}
    RAN.clear()
    with adapter.followed(client, {"order": {"1": ["gate"], "0": queue}}) as report:
        client.get(graph, list(graph))
    assert RAN[0] == ("GATE", "1")
    # The worker may begin with the first task of which it hears.
    first = RAN[1]
    rest = [name.upper() for name in queue if name.upper() != first[0]]
    assert RAN[2:] == [(name, "0") for name in rest]
    assert report.decisions == 7


def test_what_the_plan_does_not_say_is_left_to_dask(client: Any) -> None:
    graph = {
        "a": (work, called("a")),
        "b": (work, called("b")),
        "c": (work, called("c")),
    }
    plan = {"order": {"0": ["a"], "elsewhere": ["b"]}}
    with adapter.followed(client, plan) as report:
        assert client.get(graph, ["a", "b", "c"])[0] == "0"
    assert report.decisions == 1
    assert report.notes == [
        "no worker is called 'elsewhere': Dask places 1 task",
        "not in the plan: Dask places 1 task",
    ]
    # Dask takes over again
    assert client.submit(work, called("d")).result() in ("0", "1")


def test_tasks_of_a_worker_that_leaves_are_done_elsewhere() -> None:
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=50,
            processes=False,
        ) as made,
        distributed.Client(made, set_as_default=False) as own,
    ):
        with adapter.followed(own, {"order": {"1": ["a", "b"]}}) as report:
            first = own.get({"a": (work, called("a"))}, "a")
            own.retire_workers(names=[1])
            second = own.get({"b": (work, called("b"), 1)}, "b")
        assert (first, second) == ("1", "0")
        assert "no worker is called '1': Dask places 1 task" in report.notes


def test_tasks_that_wait_for_a_lost_worker_go_back_to_dask() -> None:
    pins = adapter.PlanPins({"order": {"1": ["a", "b"]}})
    tasks = {}
    for key, state in (("a", "no-worker"), ("b", "waiting")):
        restricted = adapter.Pin(["tcp://one"])
        tasks[key] = SimpleNamespace(worker_restrictions=restricted, state=state)
    other = SimpleNamespace(worker_restrictions={"tcp://one"}, state="no-worker")
    scheduler = SimpleNamespace(tasks=tasks | {"own": other}, transitions=Mock())
    pins.remove_worker(scheduler, "tcp://one")
    assert [ts.worker_restrictions for ts in tasks.values()] == [None, None]
    assert other.worker_restrictions == {"tcp://one"}
    assert scheduler.transitions.call_args.args[0] == {"a": "waiting"}
    assert pins.report.notes == ["tcp://one has gone: Dask places 2 tasks"]


def test_what_is_no_plan_is_refused(client: Any) -> None:
    with pytest.raises(InstanceError, match="plan"), adapter.followed(client, {}):
        pass
