"""Graphs on real Dask clusters: threads by default, processes in the slow tests."""

import contextlib
import itertools
import os
import signal
import time
from unittest.mock import Mock

import pytest

from ioopt.errors import UsageError

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
adapter = pytest.importorskip("ioopt.embed.adapters.dask")


def cluster(processes: bool, workers: int = 3):
    # which drops copies that are not read for two seconds: a slow machine
    # would count them twice
    dask.config.set({"distributed.scheduler.active-memory-manager.start": False})
    # a worker that a test has paused is not to resume by itself
    dask.config.set({"distributed.worker.memory.pause": False})
    for name in ("connect", "tcp"):  # only what hangs takes as long
        dask.config.set({f"distributed.comm.timeouts.{name}": "600s"})
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        dashboard_address=None,
        silence_logs=50,
        processes=processes,
    )


@pytest.fixture(
    scope="module",
    params=["threads", pytest.param("processes", marks=pytest.mark.slow)],
)
def client(request):
    with (
        cluster(request.param == "processes") as made,
        distributed.Client(made, set_as_default=False) as client,
    ):
        yield client


def tree_graph(leaves: int, depth: int = 0) -> tuple[dict[object, object], object]:
    """A binary sum of *leaves* blocks of 1 kB, in Dask's own keys."""
    graph: dict[object, object] = {("leaf", k): (bytes, 1000) for k in range(leaves)}
    row: list[object] = list(graph)
    while len(row) > 1:
        depth += 1
        pairs = [tuple(row[k : k + 2]) for k in range(0, len(row), 2)]
        row = [("sum", depth, k) for k in range(len(pairs))]
        graph |= {key: (join, *pair) for key, pair in zip(row, pairs)}
    return graph, row[0]


def join(*parts: bytes) -> bytes:
    return b"".join(parts)[:1000]


@pytest.mark.parametrize("policy", ["homes", "rolling", "locality"])
def test_any_graph_is_placed(client, policy):
    graph, last = tree_graph(16)
    with adapter.placed(
        client, adapter.Homes if policy == "homes" else policy, record=True
    ) as report:
        assert client.get(graph, last) == bytes(1000)
    assert report.notes == []
    assert report.decisions == len(graph) == len(report.ran_on) == 31
    # Dask takes over again
    assert client.submit(join, b"a", b"b").result() == b"ab"


def test_collections_are_placed_and_what_is_dead_goes(client):
    pytest.importorskip("numpy")
    import dask.array

    x = dask.array.ones((40, 40), chunks=(10, 10))
    with adapter.placed(client) as report:
        assert client.compute((x + x.T).sum()).result() == 3200
    assert report.decisions > 16 and report.notes == []
    assert (
        client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) == 0
    )


def failing(view):
    raise ValueError("broken")


class Fading:
    """Gives the first task to the first node, and then is asked once more."""

    def __init__(self, then):
        self.then, self.asked = then, 0

    def __call__(self, view):
        self.asked += 1
        return self.then(view) if self.asked > 1 else (view.ready[0], 0)


def silent(view):
    return None


@pytest.mark.parametrize(
    ("make", "leaves", "decisions", "notes"),
    [
        (lambda: failing, 4, 0, ["ValueError: broken"]),
        (
            lambda: Fading(failing),
            8,
            1,
            ["ValueError: broken"],
        ),  # what was decided before is done
        (lambda: silent, 4, 7, []),
    ],
)
def test_a_dispatcher_that_fails_or_is_silent_is_not_waited_for(
    client, make, leaves, decisions, notes
):
    graph, last = tree_graph(leaves)
    with adapter.placed(client, make) as report:
        assert client.get(graph, last) == bytes(1000)
    assert (report.decisions, report.notes) == (decisions, notes)


CLOCK = [0.0]


def late(view):
    CLOCK[0] += 11.0
    return view.ready[0], 1


def test_a_late_answer_is_the_last(client, monkeypatch):
    if client.cluster.processes:
        pytest.skip("the scheduler's clock is another process's")
    monkeypatch.setattr(adapter, "perf_counter", lambda: CLOCK[0])
    graph, last = tree_graph(8)
    with adapter.placed(client, lambda: late) as report:
        assert client.get(graph, last) == bytes(1000)
    assert (
        report.notes == ["TimeoutError: no answer within 10 s"]
        and report.decisions == 1
    )


def test_a_clock_that_jumps_and_a_graph_that_comes_twice_lose_nothing(
    client, monkeypatch
):
    """A day ahead and an hour back at every look; both graphs ask for the same keys."""
    seconds = itertools.accumulate(itertools.cycle([86400.0, -3600.0]))
    monkeypatch.setattr(adapter, "monotonic", lambda: next(seconds))
    graph, last = tree_graph(8)
    with adapter.placed(client) as report:
        futures = [client.get(graph, last, sync=False) for _ in range(2)]
        assert client.gather(futures) == [bytes(1000)] * 2
    assert report.notes == [] and report.decisions == len(graph)


def test_a_scheduler_that_dies_ends_the_graph_with_its_own_error():
    """Dask's futures are lost with it, and what was held; the
    error is not one of ours.
    """
    gone = Mock(**{"run_on_scheduler.side_effect": OSError("timed out")})
    with pytest.raises(KeyError), adapter.placed(gone) as report:
        raise KeyError("future")
    assert report.notes == ["the scheduler is gone: timed out"]


@pytest.mark.slow
def test_a_worker_that_is_killed_takes_no_work_with_it(tmp_path):
    graph, last = tree_graph(16)
    mark = str(tmp_path / "killed")
    graph["fatal"] = (kill_once, mark, ("sum", 1, 0))
    graph["end"] = (join, "fatal", last)
    with (
        cluster(True, 2) as made,
        distributed.Client(made, set_as_default=False) as client,
        adapter.placed(client, record=True) as report,
    ):
        assert client.get(graph, "end") == bytes(1000)
    assert (tmp_path / "killed").exists() and report.notes == []
    assert set(map(str, graph)) == report.ran_on.keys()


def kill_once(mark: str, content: bytes) -> bytes:
    """Kill the process that runs this, the first time."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        os.kill(os.getpid(), signal.SIGKILL)
    return content


def test_kinds_are_learnt_without_looking_at_the_whole_graph_again(client):
    graph = {(f"kind{chr(97 + k)}", j): (bytes, 10) for k in range(9) for j in range(4)}
    with adapter.placed(client) as report:
        client.get(graph, list(graph))
    assert report.decisions == 36 and report.plans == 1


def test_an_error_of_a_task_reaches_the_client(client):
    with adapter.placed(client), pytest.raises(TypeError):
        client.get({"a": (len, 1), "b": (str, "a")}, "b")


def test_a_worker_that_leaves_takes_no_work_with_it():
    with placing(2) as (made, client, report):
        go = distributed.Event("go", client=client)
        futures = [client.submit(wait_for, "go", k) for k in range(6)]
        leaving = made.workers[1]
        made.sync(leaving.close)
        go.set()
        assert sorted(client.gather(futures)) == list(range(6))
    assert report.notes == []


@contextlib.contextmanager
def placing(workers: int, processes: bool = False):
    """A cluster of its own, whose workers come and go, and its graphs placed."""
    with (
        cluster(processes, workers) as made,
        distributed.Client(made, set_as_default=False) as client,
        adapter.placed(client, record=True) as report,
    ):
        yield made, client, report


HANGS_SECONDS = 120.0
"""A condition that has not come true by then never will."""


def until(condition):
    """Look again and again until *condition* holds."""
    end = time.monotonic() + HANGS_SECONDS
    while not condition():
        assert time.monotonic() < end, "it never came true"


def known(client):
    """How many tasks have reached the scheduler."""
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def held(client):
    """How many tasks the plugin keeps back."""

    def count(dask_scheduler):
        return len(dask_scheduler.plugins["ioopt"]._held)

    return client.run_on_scheduler(count)


def busy(client):
    """The workers that have been given tasks, by their addresses."""
    return {address for address, keys in client.processing().items() if keys}


def turn(made, worker, status):
    """Give a worker another status, as its memory monitor does."""

    async def change():
        worker.status = status

    made.sync(change)


def test_a_graph_that_comes_before_all_workers_runs():
    graph, last = tree_graph(8)
    with placing(0) as (made, client, report):
        future = client.get(graph, last, sync=False)
        until(lambda: held(client) == len(graph) == 15)
        made.scale(2)
        assert future.result(timeout=HANGS_SECONDS) == bytes(1000)
    assert report.notes == [] and report.decisions == 15


@pytest.mark.parametrize("before", [0, 1])
def test_workers_that_join_get_work(before):
    """No task ends before both workers have one."""
    with placing(before) as (made, client, report):
        go = distributed.Event("go", client=client)
        futures = [client.submit(wait_for, "go", k) for k in range(6)]
        until(lambda: held(client) > 0)
        for count in range(before + 1, 3):
            made.scale(count)
            until(lambda count=count: len(busy(client)) == count)
        go.set()
        assert client.gather(futures) == list(range(6))
    assert report.notes == [] and set(report.ran_on.values()) == {"0", "1"}


def test_all_workers_go_and_others_of_the_same_names_come():
    graph, last = tree_graph(8)
    graph = {("gate", k): (wait_for, "go", k) for k in range(2)} | graph
    graph["end"] = (join_with, last, *[("gate", k) for k in range(2)])
    with placing(1) as (made, client, report):
        go = distributed.Event("go", client=client)
        future = client.get(graph, "end", sync=False)
        until(lambda: busy(client))
        made.sync(made.workers[0].close, executor_wait=False)
        until(lambda: not client.scheduler_info()["workers"])
        made.scale(0)
        made.scale(2)
        go.set()
        assert future.result(timeout=HANGS_SECONDS) == bytes(1000)
    assert report.notes == []


def join_with(content: bytes, *_: int) -> bytes:
    return content


def test_a_worker_that_pauses_gives_back_what_it_has_not_begun():
    """Each of the two computes a task and has a second one; the first
    pauses, and stays so.
    """
    with placing(2) as (made, client, report):
        go = distributed.Event("go", client=client)
        end = distributed.Event("end", client=client)
        graph = {"gate-0": (wait_for, "end", 0), "gate-1": (wait_for, "go", 1)}
        gates = client.get(graph, [*graph], sync=False)
        until(lambda: len(busy(client)) == 2)
        graph = {f"then-{k}": (wait_for, "go", k) for k in range(2, 8)}
        futures = client.get(graph, [*graph], sync=False)
        until(lambda: [*map(len, client.processing().values())] == [2, 2])
        pausing = next(w for w in made.workers.values() if "gate-0" in w.state.tasks)
        turn(made, pausing, distributed.core.Status.paused)
        go.set()
        assert client.gather([gates[1], *futures]) == list(range(1, 8))
        assert not gates[0].done()
        end.set()
        assert gates[0].result() == 0
    assert report.notes == [] and report.ran_on.pop("gate-0") == str(pausing.name)
    assert set(report.ran_on.values()) == {str(1 - pausing.name)}


def test_work_waits_for_a_paused_worker_to_resume():
    graph, last = tree_graph(8)
    with placing(1) as (made, client, report):
        turn(made, made.workers[0], distributed.core.Status.paused)
        until(
            lambda: (
                not client.run_on_scheduler(
                    lambda dask_scheduler: dask_scheduler.running
                )
            )
        )
        future = client.get(graph, last, sync=False)
        until(lambda: held(client) == 15)
        turn(made, made.workers[0], distributed.core.Status.running)
        assert future.result(timeout=HANGS_SECONDS) == bytes(1000)
    assert report.notes == [] and report.decisions == 15


def test_a_worker_that_is_retired_hands_its_work_on():
    with placing(2) as (made, client, report):
        go = distributed.Event("go", client=client)
        done = client.submit(bytes, 1000, key="done")
        assert done.result() == bytes(1000)
        futures = [client.submit(wait_for, "go", k) for k in range(6)]
        until(lambda: len(busy(client)) == 2)
        made.scale(1)  # retires the other one, and copies what it holds first
        go.set()
        assert client.gather(futures) == list(range(6)) and done.result() == bytes(1000)
    assert report.notes == []


def test_what_is_lost_after_the_placement_ended_is_made_again_anywhere():
    """No pin to the worker that is gone outlives the placement."""
    with (
        cluster(False, 2) as made,
        distributed.Client(made, set_as_default=False) as client,
    ):
        with adapter.placed(client) as report:
            kept = client.submit(bytes, 1000)
            assert kept.result() == bytes(1000) and report.decisions == 0
        (address,) = client.who_has(kept)[kept.key]
        worker = next(w for w in made.workers.values() if w.address == address)
        made.sync(worker.close)
        until(lambda: len(client.scheduler_info()["workers"]) == 1)
        assert kept.result(timeout=HANGS_SECONDS) == bytes(1000)


@pytest.mark.slow
def test_restarted_workers_take_the_next_graph():
    """Dask drops the first graph with its workers; their nannies start them again."""
    graph, last = tree_graph(8)
    with placing(2, processes=True) as (_, client, report):
        blocked = [client.submit(wait_for, "never", k) for k in range(6)]
        # A task that reached the scheduler after the restart would not be dropped.
        until(lambda: known(client) == 6 and len(busy(client)) == 2)
        client.restart()
        assert {future.status for future in blocked} == {"cancelled"}
        assert client.get(graph, last) == bytes(1000)
    assert report.notes == [] and {"('leaf', 0)"} <= report.ran_on.keys()


def wait_for(name: str, k: int) -> int:
    """Return *k* once the event is set, or once the worker closes its connections; its
    result is then lost, and the task runs elsewhere.
    """
    try:
        distributed.Event(name).wait()
    except RuntimeError as error:
        if "ConnectionPool is closed" not in str(error):
            raise
    return k


def second_then_third(view):
    """What reads nothing goes to the second worker, everything else to the third."""
    k = view.ready[0]
    return k, 2 if view.inputs(k) else 1


def test_pins_and_releases(client):
    names = [
        str(row["name"])
        for row in client.scheduler_info(n_workers=-1)["workers"].values()
    ]
    _, second, third = sorted(names)
    with adapter.placed(client, lambda: second_then_third, record=True) as report:
        x = client.submit(bytes, 1000, key="x")
        y = client.submit(len, x, key="y")
        assert y.result() == 1000
        del x, y
        while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            assert client.status == "running"
    assert report.ran_on == {"x": second, "y": third} and report.decisions == 2


def test_only_dispatchers_can_place():
    with pytest.raises(
        UsageError, match="'heft' cannot decide while tasks run; use fifo"
    ):
        adapter.Placement("heft")
