"""What embedded objects are told is refused at the call, in one line,
and changes nothing.
"""

import math
from collections.abc import Callable
from typing import Any

import pytest

from ioopt.embed import (
    GangednessMonitor,
    GangScheduler,
    IoArbiter,
    ReplicationPlanner,
    WorkDirectory,
    WorkflowDispatcher,
)
from ioopt.embed.batch import BatchCluster
from ioopt.embed.selection import ReadyJob, select
from ioopt.errors import IooptError, UsageError

NO_TIMES = (None, math.nan, "1", True, [1])
NO_NUMBERS = (*NO_TIMES, 1.5)
NETWORK = {"remote_bytes_per_second": 1e6, "replica_bytes_per_second": 1e9}


def refused(call: Callable[[], object]) -> str:
    """The one line that refuses *call*."""
    with pytest.raises(IooptError) as caught:
        call()
    text = str(caught.value)
    assert text and "\n" not in text and len(text) < 300
    return text


@pytest.mark.parametrize("queue", ["wfp", "fcfs", "sjf"])
def test_a_batch_cluster_refuses_jobs_that_cannot_be(queue: str) -> None:
    cluster = BatchCluster(4, queue=queue)
    for nodes in (*NO_NUMBERS, 0, -1, 5, math.inf):
        assert "nodes: wanted a whole number from 1 to 4" in refused(
            lambda nodes=nodes: cluster.arrive("a", nodes, 10.0, 0.0)
        )
    for walltime in (*NO_TIMES, 0, 0.0, 5e-324, -1.0, -math.inf):
        assert "walltime: wanted at least 1e-9 seconds" in refused(
            lambda walltime=walltime: cluster.arrive("a", 1, walltime, 0.0)
        )
    for now in (*NO_TIMES, math.inf):
        assert "now: wanted a number of seconds" in refused(
            lambda now=now: cluster.arrive("a", 1, 10.0, now)
        )
        assert "now: wanted a number" in refused(lambda now=now: cluster.run(now))
    for name in (None, ["a"], {}):
        assert "wanted a name" in refused(
            lambda name=name: cluster.arrive(name, 1, 10.0, 0.0)
        )
        assert "wanted a name" in refused(lambda name=name: cluster.leave(name))
    assert len(cluster) == 0
    for name, walltime in (("a", 10), ("b", math.inf), ("c", 1e300)):
        cluster.arrive(name, 1, walltime, 0.0)
    assert sorted(name for name, _ in cluster.run(0.0)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "nodes",
    [[-1], [4], [99], ["0"], [0.5], [True], [None], [math.nan], [0, 9], 3, "0", None],
)
def test_nodes_that_are_not_there_cannot_be_taken_down(nodes: Any) -> None:
    cluster = BatchCluster(4)
    cluster.take_down([3])
    assert "take_down: wanted" in refused(lambda: cluster.take_down(nodes))
    assert cluster.can_hold(3) and not cluster.can_hold(4)  # node 3 alone is still out
    cluster.arrive("a", 3, 10.0, 0.0)
    assert cluster.run(0.0) == [("a", [0, 1, 2])]


def planner(**how: Any) -> ReplicationPlanner:
    return ReplicationPlanner(NETWORK, [{"id": "n0"}], [{"id": "f", "bytes": 5}], **how)


def test_a_planner_refuses_solvers_and_settings_that_do_not_exist() -> None:
    assert "did you mean 'minmin'?" in refused(lambda: planner(solver="mimmin"))
    assert "fill" in refused(lambda: planner(solver="fill"))  # of another family
    assert "no setting 'tresh'" in refused(
        lambda: planner(solver="two-stage", settings={"tresh": 1})
    )
    for seed in (*NO_NUMBERS, -1):
        assert "seed: wanted" in refused(lambda seed=seed: planner(seed=seed))


def test_a_planner_refuses_names_and_deadlines_that_cannot_be() -> None:
    made = planner(solver="minmin")
    made.submit([{"id": "t", "compute_seconds": 1, "inputs": ["f"]}])
    for name in (None, 3, ["n0"]):
        for call in (made.next, made.completed):
            assert "wanted a name" in refused(lambda call=call, name=name: call(name))
        for pair in (made.staged, made.evicted):
            assert "wanted a name" in refused(
                lambda pair=pair, name=name: pair(name, "f")
            )
            assert "wanted a name" in refused(
                lambda pair=pair, name=name: pair("n0", name)
            )
    for deadline in (math.nan, "1", True, [1], -1):
        assert "deadline: wanted" in refused(lambda d=deadline: made.plan(d))
        assert "deadline: wanted" in refused(
            lambda d=deadline: made.submit([], deadline=d)
        )
    assert made.next("n0").task == "t"
    assert "inputs: wanted a list" in refused(lambda: made.completed("t", "f"))
    made.completed("t", ["f"])


def test_an_arbiter_refuses_progress_and_decides_all_the_same() -> None:
    machine = {
        "nodes": 8,
        "unit_nodes": 1,
        "allocation": "flat",
        "node_bytes_per_second": 1e9,
        "storage_bytes_per_second": 4e9,
    }
    arbiter = IoArbiter(machine, "fill")
    for size in (*NO_TIMES, -1.0, math.inf):
        refused(lambda size=size: arbiter.request("A", 4, size, 0.0))
    for nodes in (*NO_NUMBERS, 0, 9):
        refused(lambda nodes=nodes: arbiter.request("A", nodes, 8e9, 0.0))
    arbiter.request("A", 4, 8e9, 0.0)
    for moved in (*NO_TIMES, -1.0, 8.0001e9, 9e9, math.inf):
        assert "moved" in refused(lambda moved=moved: arbiter.progress("A", moved))
    rounded = IoArbiter.restore(arbiter.state())
    rounded.progress("A", 8.000008e9)  # a millionth beyond the size
    assert rounded.state()["requests"][0]["left"] == 0.0
    for name in (None, ["A"], "B"):
        assert "is not outstanding" in refused(lambda name=name: arbiter.finish(name))
    for wrong in (math.nan, "soon", [1]):
        assert arbiter.decide(0.0, deadline=wrong) == {"A": 4e9}
        assert "deadline: wanted" in arbiter.notes[0]
        assert arbiter.decide(wrong) == {"A": 4e9}
        assert "now: wanted" in arbiter.notes[0]
    assert arbiter.decide(0.0) == {"A": 4e9} and not arbiter.notes


def test_a_gang_scheduler_answers_with_why() -> None:
    made = GangScheduler({"nodes": 4, "levels": 2, "quantum_seconds": 200.0}, "iogs")
    times = (9.0, 9.0, 0.0)
    for nodes in ([True], [0.0], [4], "01", None, [], [math.nan]):
        assert "file nodes" in made.arrive("a", nodes, *times).why
    for place in range(3):
        for wrong in (None, math.nan, "1", True):
            given = [*times[:place], wrong, *times[place + 1 :]]
            assert not made.arrive("a", [0], *given)
    assert not made.arrive(True, [0], *times) and not made.arrive(None, [0], *times)
    assert made.arrive("a", [0], *times) is True
    assert "must be a number of seconds" in made.depart("a", math.nan).why
    assert made.depart("a", 1.0) is True


@pytest.mark.parametrize(
    "how",
    [
        {"processors": 2.5},
        {"processors": True},
        {"processors": "4"},
        {"threshold": None},
        {"threshold": math.nan},
        {"threshold": math.inf},
        {"running_threshold": 0},
    ],
)
def test_a_monitor_refuses_what_it_cannot_be(how: dict[str, Any]) -> None:
    refused(lambda: GangednessMonitor(**how))


def test_a_monitor_refuses_counts_that_cannot_be() -> None:
    monitor = GangednessMonitor(processors=4)
    for messages in (*NO_TIMES, -1, math.inf):
        refused(lambda messages=messages: monitor.observe(True, True, messages))
    for flag in (None, "yes", 2):
        refused(lambda flag=flag: monitor.observe(flag, True, 1))
    for place in (1.5, "0", True, -1, math.nan):
        refused(
            lambda place=place: monitor.observe(
                True, True, 1, quantum=place, processor=0
            )
        )
        refused(
            lambda place=place: monitor.observe(
                True, True, 1, quantum=0, processor=place
            )
        )
    assert monitor.gang.count == 0
    monitor.observe(True, True, 3, quantum=0, processor=0)
    assert monitor.gang.count == 1


def test_a_workflow_dispatcher_refuses_and_changes_nothing() -> None:
    run = WorkflowDispatcher(
        NETWORK, [{"id": "n0"}], [{"id": "f", "bytes": 5}], policy="locality"
    )
    run.submit(
        [
            {"id": "t", "compute_seconds": 1, "inputs": ["f"]},
            {"id": "u", "compute_seconds": 1, "inputs": ["f"]},
        ]
    )
    before = run.state()
    for now in NO_TIMES:
        assert "now: wanted" in refused(lambda now=now: run.next(now))
        assert "now: wanted" in refused(lambda now=now: run.lost("n0", now))
    for deadline in (math.nan, "1", [1]):
        assert "deadline: wanted" in refused(
            lambda d=deadline: run.next(0.0, deadline=d)
        )
    for name in (None, 3, ["t"]):
        for call in (run.withdraw, run.back, lambda x: run.completed(x, 0.0)):
            assert "wanted a name" in refused(lambda call=call, name=name: call(name))
    refused(lambda: run.staged("nowhere", "new", 7))
    refused(lambda: run.staged("n0", "new", math.nan))
    refused(lambda: run.observe({"t": 5.0, "u": math.nan}))
    assert run.state() == before
    assert [place.task for place in run.next(0.0)] == ["t"]


def test_a_work_directory_refuses_and_changes_nothing() -> None:
    tasks = [
        {"id": "a", "compute_seconds": 5, "outputs": ["x"]},
        {"id": "b", "compute_seconds": 5, "release_seconds": 3},
    ]
    files = [{"id": "x", "bytes": 6}]
    run = WorkDirectory({"cores": 2, "quota_bytes": 10, "tasks": tasks, "files": files})
    before = run.state()
    for now in NO_TIMES:
        assert "now: wanted" in refused(lambda now=now: run.ready("b", now))
    for name in (None, 3, ["a"]):
        assert "wanted a name" in refused(lambda name=name: run.started(name))
    for told in (3, ["x"], {"x": 1.5}, {"x": True}, {"x": None}, {None: 3}):
        refused(lambda told=told: run.expect(told))
    assert run.state() == before
    for deadline in (math.nan, "1"):
        assert run.next(deadline) == "a" and "deadline: wanted" in run.notes[0]
    assert run.next(among=3) == "a" and "among: wanted" in run.notes[0]
    run.started("a")
    for now in NO_TIMES:
        assert "now: wanted" in refused(lambda now=now: run.ended("a", now))
    run.ended("a", 5.0)


def job(need: object = 1, **how: Any) -> ReadyJob:
    return ReadyJob(resources=(need,), **how)


@pytest.mark.parametrize(
    ("jobs", "more", "words"),
    [
        ([job(1.5)], {}, "job 0: resources: wanted a whole number"),
        ([job(1), job(-1)], {}, "job 1: resources"),
        ([job(priority=math.nan)], {}, "job 0: priority: wanted a number, not nan"),
        ([job(priority=None)], {}, "job 0: priority"),
        ([job(cores=None)], {}, "job 0: resources"),
        ([ReadyJob(resources=(1, 2))], {}, "2 resources, but there are 1 capacities"),
        ([job(temp=frozenset("a"))], {}, "bytes of temporary file 'a': wanted"),
        (
            [job(temp=frozenset("a"))],
            {"temp_bytes": {"a": 1}, "readers": {}},
            "readers of",
        ),
        ([job()], {"deadline": math.nan}, "deadline: wanted"),
    ],
)
def test_a_selection_refuses_numbers_that_cannot_be(
    jobs: list[ReadyJob], more: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        select(jobs, [4], **more)
    with pytest.raises(UsageError, match="capacity"):
        select([job()], [None])


def test_of_negative_priorities_the_least_counts_as_zero() -> None:
    """64 cores: 4 jobs of priority 0 and 60 of -5, a core each, all fit; of two
    for one, the higher.
    """
    jobs = [job(priority=0)] * 4 + [job(priority=-5)] * 60
    assert len(select(jobs, [64]).chosen) == 64
    assert select([job(priority=-5), job(priority=-3)], [1]).chosen == (1,)
    assert select([job(priority=-5), job(priority=-5)], [1]).chosen == (0,)
    # Worth as much as the same jobs 5 higher: C = 2 cores, G = 1, so 4
    # C G x 2 + 2 G = 18.
    low = select([job(priority=-5), job(priority=-3)], [1])
    high = select([job(priority=0), job(priority=2)], [1])
    assert low.value == high.value == 18 and low.loss == 0
