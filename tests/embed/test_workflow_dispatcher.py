"""The dispatcher of workflows in an engine: by hand, against the simulator,
and when things fail.
"""

import itertools
import json
import random
import re
import threading
import time

import pytest
from conftest import first
from replication_samples import made

import ioopt
from ioopt.embed import ReplicationPlanner, WorkflowDispatcher
from ioopt.embed.live_view import make_dispatcher
from ioopt.embed.service import Service
from ioopt.embed.workflow import Evictable, Running
from ioopt.errors import InstanceError, StateError, UsageError
from ioopt.sim.replication.dispatch import dispatch
from ioopt.solvers.replication.dispatch import locality

NETWORK = {"remote_bytes_per_second": 1.0, "replica_bytes_per_second": 10.0}


def task(name, seconds=5.0, reads=(), writes=(), **more):
    return {
        "id": name,
        "compute_seconds": seconds,
        "inputs": reads,
        "outputs": writes,
        **more,
    }


def run_of(policy="locality", nodes=2, **more):
    files = [{"id": name, "bytes": 100} for name in "abcdef"]
    return WorkflowDispatcher(
        NETWORK, [{"id": f"n{k}"} for k in range(nodes)], files, policy=policy, **more
    )


def replace_policy(run, do):
    """Let *do* be asked in place of the dispatcher of *run*, also after a failure."""
    run._dispatcher.make = lambda: do
    run._dispatcher._dispatcher = do


def placed(steps):
    return [(step.task, step.node) for step in steps]


def test_tasks_wait_for_what_they_read_and_follow_it():
    run = run_of()
    assert (
        run.submit(
            [
                task("x", reads=["a"], writes=["b"]),
                task("y", reads=["c"], writes=["d"]),
                task("z", reads=["d"]),
                task("w", reads=["b"]),
            ]
        )
        == 4
    )
    begun = run.next(0.0)
    assert placed(begun) == [("x", "n0"), ("y", "n1")]
    assert begun[0].stage == (("a", None),)
    assert run.next(1.0) == []
    run.completed("y", 4.0)
    assert placed(run.next(4.0)) == [("z", "n1")]  # its input is there
    run.completed("x", 6.0)
    run.completed("z", 6.0)
    assert placed(run.next(6.0)) == [("w", "n0")]


def test_cores_and_disks_are_kept_to():
    run = WorkflowDispatcher(
        NETWORK,
        [{"id": "n", "cores": 3, "disk_bytes": 50}],
        [{"id": "a", "bytes": 40}, {"id": "b", "bytes": 60}],
        policy="fifo",
    )
    run.submit(
        [task("x", cores=2), task("y", cores=2), task("z", cores=1, reads=["a"])]
    )
    assert placed(run.next(0.0)) == [("x", "n"), ("z", "n")]  # y is too wide beside x
    for wrong in (task("big", reads=["b"]), task("wide", cores=4)):
        with pytest.raises(InstanceError, match="can ever run"):
            run.submit([wrong])
    run.completed("x", 5.0)
    assert placed(run.next(5.0)) == [("y", "n")]


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([task("x"), task("x")], "already the id"),
        ([task("x", reads=["zz"])], "unknown"),
        (
            [
                task("x", reads=["a"], writes=["b"]),
                task("y", reads=["b"], writes=["a"]),
            ],
            "dependency cycle",
        ),
        ([task("old")], "submitted before"),
        ([task("x", writes=["f"])], "written by"),
    ],
)
def test_what_contradicts_itself_changes_nothing(tasks, said):
    run = run_of()
    run.submit([task("old", writes=["f"])])
    before = json.dumps(run.state())
    with pytest.raises(InstanceError, match=said):
        run.submit(tasks, files=[{"id": "new", "bytes": 1}])
    assert json.dumps(run.state()) == before and "new" not in run._run.file


def test_nothing_is_lost_with_a_task_or_a_node():
    run = run_of(products="nodes")
    run.submit([task("x", writes=["b"]), task("y", reads=["b"]), task("z")])
    assert placed(run.next(0.0)) == [("x", "n0"), ("z", "n1")]
    run.failed("z", 2.0)
    assert placed(run.next(2.0)) == [("z", "n1")]
    run.completed("x", 5.0)
    assert placed(run.next(5.0)) == [("y", "n0")]
    # y runs there, and b was nowhere else: x has to write it again, first
    assert run.lost("n0", 6.0) == ["y", "x"]
    assert run.next(6.0) == []
    run.completed("z", 7.0)
    assert placed(run.next(7.0)) == [("x", "n1")]
    run.completed("x", 12.0)
    run.back("n0")
    assert placed(run.next(12.0)) == [("y", "n1")]
    for wrong in (
        lambda: run.back("n0"),
        lambda: run.next(12.0, deadline=-1),
        lambda: run.completed("x", 1.0),
        lambda: run.withdraw("y"),
        lambda: run.lost("n9", 1.0),
        lambda: run.failed("q", 1.0),
    ):
        with pytest.raises(UsageError):
            wrong()


@pytest.mark.parametrize("saved", [False, True])
def test_only_what_is_still_needed_runs_again(saved):
    """x writes b for y, y writes c for z; on one node, which is lost."""
    run = run_of(products="nodes", nodes=1)
    run.submit([task("x", writes=["b"]), task("y", reads=["b"], writes=["c"])])
    for now, name in enumerate(["x", "y"]):
        assert placed(run.next(now)) == [(name, "n0")]
        run.completed(name, now + 1)
    # Nobody has read c, and without b it cannot be written again.
    assert run.lost("n0", 2.0) == ["y", "x"]
    run.back("n0")
    for now, name in enumerate(["x", "y"], 3):
        assert placed(run.next(now)) == [(name, "n0")]
        run.completed(name, now + 1)
    run.submit([task("z", reads=["c"])])
    assert placed(run.next(5)) == [("z", "n0")]
    run.completed("z", 6)
    assert run.lost("n0", 7.0) == []  # all files were read by tasks that have ended
    if saved:
        run = WorkflowDispatcher.restore(json.loads(json.dumps(run.state())))
    assert run.next(7.0) == []
    run.back("n0")
    assert run.next(8.0) == []
    # A new task reads c: its producers run again, and before it.
    assert run.submit([task("w", reads=["c"])]) == 3
    for now, name in enumerate(["x", "y", "w"], 9):
        assert placed(run.next(now)) == [(name, "n0")]
        run.completed(name, now + 1)
    assert run.next(20.0) == []


def test_a_source_that_is_still_receiving_is_named():
    """Two tasks read a from the storage; n1 may copy it from n0 once n0 has it."""
    run = run_of(nodes=3, policy="fifo")
    run.submit([task("x", reads=["a"]), task("y", reads=["a"])])
    first, second = run.next(0.0)
    assert first.stage == (("a", None),) and first.arriving == ()
    assert second.stage == (("a", first.node),) and second.arriving == ("a",)
    run = WorkflowDispatcher.restore(run.state())
    run.staged(second.node, "a")
    run.submit([task("z", reads=["a"])])
    (third,) = run.next(1.0)
    assert third.stage == (("a", second.node),) and third.arriving == ()
    run.completed("x", 5.0)
    run.evicted(second.node, "a")
    run.submit([task("w", reads=["a"])], files=[])
    run.completed("y", 6.0)
    run.evicted(second.node, "a")
    steps = {step.node: step for step in run.next(6.0)}
    assert all(step.arriving == () for step in steps.values())


def two_that_share_a_copy():
    """x and y read a, on the two cores of the only node."""
    nodes = [{"id": "n0", "cores": 2}]
    files = [{"id": name, "bytes": 100} for name in "ab"]
    run = WorkflowDispatcher(NETWORK, nodes, files, policy="fifo")
    run.submit([task("x", reads=["a"]), task("y", reads=["a", "b"])])
    return run, run.next(0.0)


def test_a_file_on_its_way_for_another_task_is_to_be_waited_for():
    run, (x, y) = two_that_share_a_copy()
    assert (x.stage, x.arriving) == ((("a", None),), ())
    assert (y.stage, y.arriving) == ((("b", None),), ("a",))
    # x fails; y goes on to wait for the copy of a, and so does x when it is back.
    run.failed("x", 1.0)
    assert [copy.file for copy in run.staging()] == ["a", "b"]
    run = WorkflowDispatcher.restore(json.loads(json.dumps(run.state())))
    (x,) = run.next(2.0)
    assert (x.stage, x.arriving) == ((), ("a",))
    # Both fail: nobody waits for the copies any more, and x begins one anew.
    run.failed("x", 3.0)
    run.failed("y", 3.0)
    assert run.staging() == []
    x, y = run.next(4.0)
    assert (x.stage, x.arriving) == ((("a", None),), ())


@pytest.mark.parametrize("how", ["staged", "completed"])
def test_a_file_that_has_come_is_not_waited_for(how):
    """Either call says that a is there: nothing to stage and to wait for."""
    run, _ = two_that_share_a_copy()
    if how == "staged":
        run.staged("n0", "a")
    run.completed("x", 9.0)
    assert [copy.file for copy in run.staging()] == ["b"]
    run.submit([task("z", reads=["a"])])
    (z,) = run.next(9.0)
    assert (z.task, z.stage, z.arriving) == ("z", (), ())
    run.completed("y", 9.0)
    assert run.staging() == []


def test_products_on_the_storage_outlive_their_node():
    run = run_of()
    run.submit([task("x", writes=["b"]), task("y", reads=["b"])])
    run.next(0.0)
    run.completed("x", 5.0)
    assert run.lost("n0", 5.0) == []
    assert run.next(5.0)[0].stage == (("b", None),)


def test_fifo_gives_to_the_node_that_idles_longest_as_simulated():
    # x computes on n0 from 0 to 2, y on n1 from 0 to 1; z comes at 3 and goes
    # to n1, idle since 1
    run = run_of("fifo")
    run.submit([task("x", 2.0), task("y", 1.0)])
    assert placed(run.next(0.0)) == [("x", "n0"), ("y", "n1")]
    run.completed("y", 1.0)
    run.completed("x", 2.0)
    run.submit([task("z")])
    assert placed(run.next(3.0)) == [("z", "n1")]
    tasks = {"x": (2,), "y": (1,), "z": (5, "", "", {"release_seconds": 3})}
    problem = made(2, {}, tasks, 1, 10)
    plan, _ = dispatch(problem, make_dispatcher("fifo", {}))
    assert plan.order == {"n0": ("x",), "n1": ("y", "z")}


@pytest.mark.parametrize("policy", ["fifo", "locality", "ready-min-min", "rolling"])
@pytest.mark.parametrize("name", ["flow-chains", "flow-montage"])
def test_on_one_node_it_decides_as_simulated(policy, name):
    """One node, no transfers to wait for: what is simulated and what is
    live is the same order.
    """
    problem = ioopt.load(name)
    network = problem.network.model_copy(
        update={"remote_bytes_per_second": 1e15, "replica_bytes_per_second": 1e15}
    )
    node = problem.nodes[0].model_copy(update={"disk_bytes": None})
    tasks = [t.model_copy(update={"release_seconds": 0.0}) for t in problem.tasks]
    alone = problem.model_copy(
        update={"network": network, "nodes": (node,), "tasks": tuple(tasks)}
    )
    plan, _ = dispatch(alone, make_dispatcher(policy, {}), engine="python")
    run = WorkflowDispatcher(network, [node], problem.files, policy=policy)
    run.submit(tasks)
    order, running = [], []
    now = 0.0
    for _ in range(len(tasks) + 1):
        for step in run.next(now):
            order.append(step.task)
            seconds = (
                alone.tasks[alone.task_index[step.task]].compute_seconds / node.speed
            )
            running.append((now + seconds, len(order), step.task))
        if not running:
            break
        running.sort()
        now = running[0][0]
        while running and running[0][0] <= now:
            run.completed(running.pop(0)[2], now)
    assert sorted(order) == sorted(plan.order[node.id])
    if policy != "rolling":  # which plans with prefetch in the simulator
        assert order == list(plan.order[node.id])


@pytest.mark.parametrize("policy", ["locality", "rolling"])
def test_a_restored_run_has_the_state_that_was_saved(policy):
    run = run_of(policy)
    run.submit([task("x", writes=["b"]), task("y", reads=["b"]), task("z"), task("w")])
    run.next(0.0)
    run.failed(
        "z"
        if "z" in run._run.place and run._run.place["z"] in run._run._running
        else "w",
        1.0,
    )
    run.completed("x", 3.0)
    again = WorkflowDispatcher.restore(json.loads(json.dumps(run.state())))
    assert json.dumps(again.state()) == json.dumps(run.state())
    for wrong in (
        {},
        run.state() | {"tasks": [["x"]]},
        run.state() | {"tasks": 3},
        run.state() | {"idle": [[0.0] * 5, []]},
        run.state() | {"down": [9]},
        run.state() | {"policy": "minmin"},
    ):
        with pytest.raises((InstanceError, UsageError)):
            WorkflowDispatcher.restore(wrong)


def test_better_estimates_change_what_is_planned():
    """HEFT's ranks: of two chains for one node the longer goes first, the
    other once it is longer.
    """
    for better, begins in (({}, "x"), ({"y": 50.0}, "y")):
        run = run_of("rolling", nodes=1)
        run.submit([task("x", 20.0), task("y", 10.0)])
        run.observe(better)
        assert placed(run.next(0.0)) == [(begins, "n0")]
        again = WorkflowDispatcher.restore(json.loads(json.dumps(run.state())))
        assert again.state() == run.state() and again._run._tasks == run._run._tasks
    for wrong in ({"q": 1.0}, {"x": -1.0}):
        with pytest.raises((UsageError, InstanceError)):
            run.observe(wrong)


@pytest.mark.parametrize(
    "do",
    [
        lambda view: 1 / 0,
        lambda view: (0, 7),
        lambda view: (3, 0),
        lambda view: "nonsense",
    ],
)
def test_a_dispatcher_that_fails_gives_way_for_that_call(do):
    run = run_of("rolling")
    replace_policy(run, do)
    run.submit([task("x"), task("y", reads=["a"])])
    assert [step.policy for step in run.next(0.0)] == ["locality", "locality"]
    assert len(run.notes) == 1
    assert run.notes[0].endswith("rolling is asked again in the next call")
    run.completed("x", 5.0)
    run.submit([task("z")])
    replace_policy(run, locality)
    assert [step.policy for step in run.next(5.0)] == ["rolling"]
    assert len(run.notes) == 1


def test_a_dispatcher_that_goes_on_failing_is_asked_less_and_less():
    """After n failures in a row, 2^(n-1) - 1 calls pass without it; one good call
    ends the row.
    """
    run = run_of("rolling", nodes=1)
    asked = []
    now = 0.0

    def fails(view):
        asked.append(int(now))
        raise ZeroDivisionError

    replace_policy(run, fails)
    for step in range(200):
        now = float(step)
        run.submit([task(f"t{step}")])
        (placement,) = run.next(now)
        run.completed(placement.task, now)
    gaps = [after - before for before, after in itertools.pairwise(asked)]
    assert gaps == [1, 2, 4, 8, 16, 32, 64, 64]
    assert len(run.notes) == len(asked)
    assert run.notes[2].endswith("rolling is asked again after 3 more calls")
    replace_policy(run, locality)
    decided = []
    for step in range(200, 270):
        run.submit([task(f"t{step}")])
        (placement,) = run.next(float(step))
        decided.append(placement.policy)
        run.completed(placement.task, float(step))
    assert decided == ["locality"] * decided.index("rolling") + ["rolling"] * (
        70 - decided.index("rolling")
    )
    replace_policy(run, fails)
    run.submit([task("last")])
    run.next(300.0)
    assert run.notes[-1].endswith("rolling is asked again in the next call")


def test_the_plan_of_a_dispatcher_that_was_late_is_used():
    """The first question is answered late: the greedy places two tasks, nobody is
    asked while the thread runs, and then its plan is followed, without those two.
    """
    run = run_of("rolling")
    release = threading.Event()
    rolling = run._dispatcher._dispatcher
    plan = rolling._plan

    def slow(view):
        release.wait()
        plan(view)

    rolling._plan = slow
    run.submit([task(f"t{k}", reads=["a"]) for k in range(6)])
    begun = run.next(0.0, deadline=0.05)
    assert [step.policy for step in begun] == ["locality", "locality"]
    assert "plans on, and is asked again in the next call if it has" in run.notes[0]
    run.completed(begun[0].task, 5.0)
    assert [step.policy for step in run.next(5.0, deadline=9.0)] == ["locality"]
    assert run._dispatcher._late.is_set()
    release.set()
    while run._dispatcher._late.is_set():
        time.sleep(0.001)
    run.completed(begun[1].task, 6.0)
    assert [step.policy for step in run.next(6.0, deadline=9.0)] == ["rolling"]
    assert run._dispatcher._dispatcher is rolling and rolling.plans == 1
    assert rolling._given == run._run.given and len(run.notes) == 1


def test_a_message_of_an_attempt_that_was_lost_is_ignored():
    """a runs on n0, which is lost; on n1 it runs again. What n0 says then is late."""
    run = run_of("locality")
    run.submit([task("a")])
    assert placed(run.next(0.0)) == [("a", "n0")]
    run.lost("n0", 1.0)
    run.completed("a", 2.0, node="n0")  # it waits
    assert placed(run.next(3.0)) == [("a", "n1")]
    state = run.state()
    run.completed("a", 4.0, node="n0")
    run.failed("a", 5.0, node="n0")
    assert run.state() == state
    assert run.notes[1] == "4 s: 'a' does not run on 'n0': the message is ignored"
    assert run.running() == [Running("a", "n1", 3.0, attempt=2)]
    run.completed("a", 6.0, node="n1")
    assert run.running() == [] and len(run.notes) == 3
    run.completed("a", 6.0, node="n1")  # repeated
    assert len(run.notes) == 4
    with pytest.raises(StateError, match="'a' is not running"):
        run.completed("a", 7.0)
    for call in (
        lambda: run.completed("b", 7.0, node="n0"),
        lambda: run.completed("a", 7.0, node="n7"),
    ):
        with pytest.raises(UsageError):
            call()


def test_what_may_be_evicted():
    """t reads f, 60 of 100 bytes; g was read by s, which has ended."""
    node = {"id": "n0", "disk_bytes": 100}
    files = [{"id": "f", "bytes": 60}, {"id": "g", "bytes": 70}]
    run = WorkflowDispatcher(NETWORK, [node], files, policy="locality")
    run.submit([task("s", reads=["g"]), task("t", reads=["f"])])
    assert [step.task for step in run.next(0.0)] == ["s"]
    assert run.evictable("n0") == Evictable({}, 0)
    run.completed("s", 5.0)
    assert run.evictable("n0") == Evictable({"g": 70}, 0)
    run.next(5.0)
    assert run.evictable("n0") == Evictable({"g": 70}, 30)
    run.evicted("n0", "g")
    assert run.evictable("n0") == Evictable({}, 0)


def run_of_three_products(disk, **more):
    """A, B, D write 60 bytes each on one node; E, F, G read them, in turn."""
    files = [{"id": name, "bytes": 60} for name in "abd"]
    run = WorkflowDispatcher(
        NETWORK,
        [{"id": "n0", "disk_bytes": disk}],
        [*files, {"id": "i", "bytes": 10}],
        policy="fifo",
        **more,
    )
    run.submit([task(name, reads=["i"], writes=[name.lower()]) for name in "ABD"])
    run.submit([task(r, reads=[f]) for r, f in zip("EFG", "abd", strict=True)])
    return run


def work(run, now, *names):
    for name in names:
        (step,) = run.next(now)
        assert step.task == name
        run.completed(name, now)


def test_the_last_copy_of_a_product_is_offered_only_if_nothing_else_will_do():
    run = run_of_three_products(150, products="nodes")
    work(run, 0.0, "A", "B")
    assert run.evictable("n0") == Evictable({"i": 10}, 0)  # on the storage too
    assert [step.task for step in run.next(2.0)] == ["D"]
    # i is read by D, which runs; 60 + 60 + 60 + 10 bytes are 40 over the disk.
    lost = {"a": ["A"], "b": ["B"]}
    assert run.evictable("n0") == Evictable({"a": 60, "b": 60}, 40, lost)
    assert run.evicted("n0", "a") == ["A"] and run.evictable("n0").over == 0
    said = "2 s: 'A' must run again, because no node has what was written and is"
    assert run.notes[1:] == [f"{said} still needed"]
    run.completed("D", 2.0)
    work(run, 3.0, "F", "G")
    assert [step.task for step in run.next(5.0)] == ["A"]
    assert run.evictable("n0") == Evictable({"b": 60, "d": 60}, 40)
    assert run.evicted("n0", "b") == [] and len(run.notes) == 2
    # b was read by F. A new reader of b makes B run again, with a note.
    run.submit([task("H", reads=["b"])])
    assert len(run.notes) == 3 and "'B' must run again" in run.notes[-1]


def test_the_order_in_which_files_should_go():
    """u reads c of 40 bytes beside a, b, d of 60 and i of 10. a was read; i is on the
    storage and to be read; b is to be read, and d was read by nobody.
    """
    for disk, over in ((190, 40), (130, 100)):
        files = [{"id": name, "bytes": 60} for name in "dbia"]
        files[2]["bytes"] = 10
        run = WorkflowDispatcher(
            NETWORK,
            [{"id": "n0", "disk_bytes": disk}],
            files,
            policy="fifo",
            products="nodes",
        )
        run.submit([task(name, reads=["i"], writes=[name.lower()]) for name in "ABD"])
        run.submit([task("E", reads=["a"])])
        work(run, 0.0, "A", "B", "D", "E")
        run.submit([task("u", reads=["c"])], [{"id": "c", "bytes": 40}])
        run.next(5.0)
        run.submit([task("F", reads=["b"]), task("later", reads=["i"])])
        offered = run.evictable("n0")
        if over == 40:
            assert offered == Evictable({"a": 60, "i": 10}, 40)
        else:
            assert list(offered.files) == ["a", "i", "b", "d"] and offered.over == 100
            assert offered.runs_again == {"b": ["B"], "d": []}
            assert run.evicted("n0", "d") == []


def test_with_products_on_the_storage_nothing_runs_again():
    run = run_of_three_products(150)
    work(run, 0.0, "A", "B")
    run.next(2.0)
    assert run.evictable("n0") == Evictable({"a": 60, "b": 60}, 40)
    assert run.evicted("n0", "a") == []


def test_a_copy_that_another_node_waits_for_is_not_free():
    """y waits on n1 for a copy of b from n0, which nobody else has."""
    run = run_of(nodes=2, policy="fifo", products="nodes")
    run.submit([task("x", writes=["b"])])
    run.next(0.0)
    run.completed("x", 1.0)
    run.submit([task("y", reads=["b"])])
    (step,) = run.next(1.0)
    assert (step.node, step.stage) == ("n1", (("b", "n0"),))
    assert run.evictable("n0") == Evictable({}, 0)
    assert run._run.lost_with(run._run.file["b"], 0) == ["y", "x"]
    assert sorted(run.evicted("n0", "b")) == ["x", "y"]


def test_past_the_deadline_locality_answers():
    run = run_of("rolling")
    replace_policy(run, lambda view: pytest.fail("asked past the deadline"))
    run.submit([task("x")])
    assert placed(run.next(0.0, deadline=0.0)) == [("x", "n0")]
    assert run.notes == []


def test_a_restored_run_knows_when_its_tasks_began():
    """z of 5 s is placed at 3, two seconds after the last event: it is due
    at 8, restored or not.
    """
    run = run_of()
    run.submit([task("z")])
    run.next(3.0)
    again = WorkflowDispatcher.restore(json.loads(json.dumps(run.state())))
    for each in (run, again):
        assert [
            (row.start_seconds, row.end_seconds) for row in each._run.computing(0)
        ] == [(3.0, 8.0)]


@pytest.mark.parametrize("policy", first(1, ["locality", "rolling"]))
def test_what_is_forgotten_leaves_nothing_behind(policy):
    """An engine that never ends: a chain of two, forgotten; tasks that
    are needed are kept.
    """
    run, sizes = run_of(policy), []
    for k in range(700):
        write, read, file = f"w{k}", f"r{k}", f"f{k}"
        run.submit(
            [task(write, writes=[file]), task(read, reads=[file])],
            [{"id": file, "bytes": 1}],
        )
        with pytest.raises(UsageError, match="has not ended"):
            run.forget(write)
        assert [step.task for step in run.next(float(k))] == [write]
        run.completed(write, float(k))
        with pytest.raises(UsageError, match="still needed"):
            run.forget(write)
        assert [step.task for step in run.next(float(k))] == [read]
        run.completed(read, float(k))
        run.forget(read)
        run.forget(write)
        sizes.append(
            (len(run._run._tasks), len(run._run.files), len(json.dumps(run.state())))
        )
    assert (
        max(tasks for tasks, _, _ in sizes) < 600
        and max(files for _, files, _ in sizes) < 600
    )
    assert max(text for _, _, text in sizes[:9]) + 9 > max(text for _, _, text in sizes)
    assert run.notes == []
    run.submit(
        [task("w0", writes=["f0"])], [{"id": "f0", "bytes": 7}]
    )  # the names are free
    assert [step.task for step in run.next(900.0)] == ["w0"]


def test_a_withdrawn_writer_is_remembered():
    """Nobody writes b any more: its reader waits for ever, restored or not."""
    run = run_of()
    run.submit([task("x", writes=["b"]), task("y", reads=["b"])])
    run.withdraw("x")
    again = WorkflowDispatcher.restore(json.loads(json.dumps(run.state())))
    assert run.next(0.0) == again.next(0.0) == []
    assert json.dumps(again.state()) == json.dumps(run.state())


@pytest.mark.parametrize("policy", ["rolling", "locality", "fifo", "ready-min-min"])
def test_tasks_wait_for_nodes_and_those_that_join_get_work(policy):
    """Nobody is asked while no node is there, and a note says so; then each core of a
    new node takes a task.
    """
    no_node = "0 s: no node that is there can run task 't0' and 5 others: see waiting()"
    all_lost = (
        "4 s: no node that is there can run task 't3' and 5 others: see waiting()"
    )
    run = run_of(policy, nodes=0)
    assert run.submit([task(f"t{k}", reads=["a"]) for k in range(6)]) == 6
    assert run.next(0.0) == [] and run.notes.new() == [no_node]
    run.joined({"id": "n0"})
    assert [step.node for step in run.next(1.0)] == ["n0"]
    run.joined({"id": "n1", "cores": 2, "holds": ["a"]})
    begun = run.next(2.0)
    assert [(step.node, step.stage) for step in begun] == [("n1", ()), ("n1", ())]
    run.lost("n0", 3.0)
    run.lost("n1", 3.0)
    assert run.next(4.0) == [] and run.notes.new() == [all_lost]
    run.back("n0")
    run.joined({"id": "n2"})
    assert sorted(step.node for step in run.next(5.0)) == ["n0", "n2"]
    assert run.notes.new() == []


def test_a_task_that_no_node_takes_waits_for_one_that_joins():
    run = run_of("locality", nodes=0)
    run.submit([task("wide") | {"cores": 4}, task("narrow")])
    run.joined({"id": "small", "cores": 1})
    assert placed(run.next(0.0)) == [("narrow", "small")]
    run.joined({"id": "large", "cores": 4})
    assert placed(run.next(1.0)) == [("wide", "large")]


def test_a_cycle_through_a_task_that_waits_is_refused():
    run = run_of()
    run.submit([task("old", reads=["a"], writes=["b"])])
    with pytest.raises(InstanceError, match="dependency cycle"):
        run.submit([task("x", reads=["b"], writes=["a"])])


MANY = [task(f"t{k}", reads=["a"]) for k in range(217)]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (task("b") | {"compute_seconds": -5}, "(b): compute_seconds: must be 0 or mor"),
        (
            {"id": "b", "compute_second": 5},
            "(b): compute_seconds: missing; compute_second: unknown key; did you mean "
            "'compute_seconds'?",
        ),
        (
            {"z": 1, "y": 1, "x": 1, "inputs": 3},
            ": id: missing; compute_seconds: missing; inputs: must be a list, not 3; "
            "z: unknown key; and 2 more",
        ),
        (task("b", reads=["zz"]), "(b).inputs: file 'zz' is unknown; add it to 'files"),
        (task("b", writes=["zz"]), "(b).outputs: file 'zz' is unknown; add it to 'fi"),
        (task("b", writes=["f"]), "(b).outputs: file 'f' is written by task 'old'"),
        (task("b", reads=["a", "a"]), "(b).inputs: file 'a' is listed twice"),
        (task("old"), "(old): was submitted before"),
        (7, ": top level: must be an object, not 7"),
    ],
)
def test_which_of_many_tasks_is_wrong_is_said(wrong, said):
    run = run_of()
    run.submit([task("old", writes=["f"])])
    before = run.state()
    with pytest.raises(InstanceError) as raised:
        run.submit([*MANY, wrong])
    where = str(raised.value).removeprefix("run: ").replace("[217] (", "[217](")
    assert where.startswith(f"tasks[217]{said}"), raised.value
    assert run.state() == before


@pytest.mark.parametrize("embedded", [WorkflowDispatcher, ReplicationPlanner])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"nodes": [{"id": "n0"}, {"id": "n1", "core": 2}]},
            "nodes[1] (n1): core: unk",
        ),
        ({"files": [{"id": "f", "bytes": -1}]}, "files[0] (f): bytes: must be 0 or mo"),
        (
            {"network": {"remote": 1e9}},
            "network: remote_bytes_per_second: missing; replica_bytes_per_second: "
            "missing; remote: unknown key; did you mean 'remote_bytes_per_second'?",
        ),
    ],
)
def test_which_node_file_or_rate_is_wrong_is_said(embedded, given, said):
    with pytest.raises(InstanceError, match=re.escape(said)):
        embedded(**{"network": NETWORK, "nodes": [{"id": "n0"}]} | given)


def test_a_node_joins_once_and_with_known_files():
    run = run_of()
    before = run.state()
    with pytest.raises(UsageError, match=r"'n0' is there already; back\(node\)"):
        run.joined({"id": "n0"})
    with pytest.raises(InstanceError, match="'h' is unknown"):
        run.joined({"id": "n2", "holds": ["h"]})
    assert run.state() == before


def test_failures_are_counted_on_when_a_node_joins():
    run = run_of()
    run.submit([task(name) for name in "xyz"])
    replace_policy(run, lambda view: 1 / 0)
    assert len(run.next(0.0)) == 2 and len(run.notes) == 1
    run.joined({"id": "n2"})
    assert placed(run.next(1.0)) == [("z", "n2")]
    assert run.notes[1].endswith("is asked again after 1 more call")


def test_a_task_waits_until_the_memory_of_a_node_is_free():
    """a and b take 6 of 8 bytes, c takes 2: c fits beside a; b waits for a's end."""
    files = [{"id": "f", "bytes": 1}]
    nodes = [{"id": "n0", "cores": 4, "memory_bytes": 8}]
    run = WorkflowDispatcher(NETWORK, nodes, files, policy="fifo")
    run.submit([task(name, memory_bytes=6) for name in "ab"])
    run.submit([task("c", memory_bytes=2, overhead_seconds=1)])
    assert placed(run.next(0.0)) == [("a", "n0"), ("c", "n0")]
    assert run.next(1.0) == []
    run.completed("c", 6.0)
    assert run.next(6.0) == []
    run.completed("a", 7.0)
    assert placed(run.next(7.0)) == [("b", "n0")]
    with pytest.raises(InstanceError, match="9 bytes of memory"):
        run.submit([task("d", memory_bytes=9)])


POLICIES = ["fifo", "locality", "ready-min-min", "rolling"]


def ends_of_copies(run):
    """Return, for each copy under way, where its chain of sources ends; check that each
    source has the file or receives it.
    """
    copies = {(copy.node, copy.file): copy for copy in run.staging()}
    state = run.state()
    holds = dict(zip(run._run.node, state["holds"], strict=True))
    ends = []
    for start in copies.values():
        copy = start
        for _ in range(len(copies) + 1):
            assert copy.file in holds[copy.node]
            assert copy.arriving == ((copy.source, copy.file) in copies)
            if not copy.arriving:
                break
            copy = copies[copy.source, copy.file]
        assert not copy.arriving, f"a circle: {copies}"
        if copy.source is None:
            assert run._run.on_remote(run._run.file[copy.file]), copy
        else:
            assert copy.file in holds[copy.source], copy
        ends.append(copy.source)
    return ends


@pytest.mark.parametrize("policy", POLICIES)
def test_no_copies_wait_for_each_other_after_a_lost_node(policy):
    """n1 copies f from n0, which still receives it; then n0 is lost, and back."""
    run = run_of(policy)
    run.submit([task("x", reads=["a"]), task("y", reads=["a"])])
    first, second = run.next(0.0)
    assert second.stage == (("a", first.node),) and second.arriving == ("a",)
    assert run.lost(first.node, 1.0) == [first.task]
    (copy,) = run.staging()
    assert (copy.node, copy.file, copy.source) == (second.node, "a", None)
    assert "'a' for 'n1' now comes from the storage" in run.notes[0]
    run.back(first.node)
    steps = run.next(2.0)
    assert steps or policy == "rolling"  # which waits for the node that has the file
    for step in steps:
        assert step.stage == (("a", second.node),) and step.arriving == ("a",)
    assert set(ends_of_copies(run)) == {None}
    run.failed(second.task, 3.0)  # and what it copied is not there
    assert len(ends_of_copies(run)) == len(steps)


def test_a_new_source_is_told_over_the_wire():
    service = Service()

    def ask(**keys):
        reply = service.handle(json.dumps({"ioopt": 1, **keys}).encode())
        return json.loads(reply)["result"]

    def call(method, **arguments):
        return ask(op="call", session=1, method=method, arguments=arguments)

    files = [{"id": "a", "bytes": 100}]
    nodes = [{"id": "n0"}, {"id": "n1"}]
    given = {"network": NETWORK, "nodes": nodes, "files": files, "policy": "fifo"}
    ask(op="open", object="WorkflowDispatcher", arguments=given)
    call("submit", tasks=[task("x", reads=["a"]), task("y", reads=["a"])])
    call("next", now=0.0)
    lost = call("lost", node="n0", now=1.0)
    assert lost["value"] == ["x"] and "see staging()" in lost["notes"][0]
    (copy,) = call("staging")["value"]
    assert copy == {"node": "n1", "file": "a", "source": None, "arriving": False}


def test_files_beyond_a_disk_are_noted_once():
    nodes = [{"id": "n0", "disk_bytes": 150, "cores": 3}]
    files = [{"id": name, "bytes": 100} for name in "abc"]
    run = WorkflowDispatcher(NETWORK, nodes, files, policy="fifo")
    run.submit([task(f"t{name}", reads=[name]) for name in "abc"])
    assert len(run.next(0.0)) == 3
    (said,) = run.notes
    assert "files on node 'n0' need 200 bytes, and its disk has 150" in said
    run.completed("ta", 1.0)
    run.evicted("n0", "a")
    run.submit([task("td", reads=["a"])])
    run.next(1.0)  # 200 bytes of b and c, and a again
    assert run.notes == [said]
    run = WorkflowDispatcher.restore(json.loads(json.dumps(run.state())))
    run.completed("tb", 2.0)
    run.submit([task("te", reads=["b"])])
    run.next(2.0)
    assert run.notes == []
    run.lost("n0", 3.0)
    run.back("n0")  # its disk is empty now
    run.next(4.0)
    (said,) = run.notes
    assert "evict some before" in said and "need 200 bytes" in said


def test_calls_that_cannot_be_meant_are_refused():
    run = run_of()
    run.submit([task("x", reads=["a"])])
    run.next(10.0)
    with pytest.raises(InstanceError, match="file 'zzz' is unknown"):
        run.staged("n0", "zzz")
    run.staged("n0", "zzz", 5)
    with pytest.raises(UsageError, match="tasks: wanted a list"):
        run.submit({"id": "u", "compute_seconds": 1})
    with pytest.raises(InstanceError, match="two of them have the same id"):
        WorkflowDispatcher(NETWORK, [{"id": "n"}, {"id": "n"}])
    with pytest.raises(UsageError, match="products: must be"):
        run_of(products="disk")
    run.completed("x", 5.0)
    assert "ended at 5 s, before its start at 10 s" in run.notes[0]
    run.lost("n0", 11.0)
    with pytest.raises(UsageError, match="node 'n0' is lost"):
        run.staged("n0", "a")


def test_a_copy_that_nobody_can_send_lets_its_task_and_the_writer_wait_again():
    run = run_of(products="nodes", nodes=3, policy="fifo")
    run.submit([task("x", writes=["b"]), task("y", reads=["b"]), task("z")])
    assert placed(run.next(0.0)) == [("x", "n0"), ("z", "n1")]
    run.completed("x", 5.0)
    (step,) = run.next(5.0)
    assert (step.node, step.stage) == ("n2", (("b", "n0"),))
    assert run.lost("n0", 6.0) == ["y", "x"]
    assert run.staging() == []
    assert placed(run.next(6.0)) == [("x", "n2")]


def test_a_failed_task_keeps_the_files_that_arrived():
    run = run_of(nodes=1)
    run.submit([task("x", reads=["a", "b", "c"])])
    run.next(0.0)
    run.staged("n0", "a")
    with pytest.raises(UsageError, match="task 'x' does not read 'd'"):
        run.failed("x", 1.0, arrived=["d"])
    run.failed("x", 1.0, arrived=["b"])
    (again,) = run.next(1.0)
    assert again.stage == (("c", None),)


def test_a_saved_circle_of_copies_is_broken():
    """States of earlier versions name no sources, and may hold a circle."""
    run = run_of(nodes=3, policy="fifo")
    run.submit([task(name, reads=["a"]) for name in "xyz"])
    run.next(0.0)
    state = json.loads(json.dumps(run.state()))
    older = state | {"arriving": [["a"], ["a"], ["a"]]}
    circle = state | {"arriving": [{"a": "n1"}, {"a": "n2"}, {"a": "n0"}]}
    for broken in (older, circle):
        again = WorkflowDispatcher.restore(broken)
        assert ends_of_copies(again) == [None] * 3
        assert "see staging()" in again.notes[0]
    for wrong in ({"a": "n9"}, {"b": None}):
        with pytest.raises((InstanceError, UsageError)):
            WorkflowDispatcher.restore(state | {"arriving": [wrong, {}, {}]})


EVENTS = ["next", "next", "ends", "ends", "arrives", "fails"]
EVENTS += ["lost", "back", "evicted", "saved"]


class Engine:
    """An engine that does at random what may happen to it, and copies files as it is
    told. It knows which node has which file.
    """

    def __init__(self, run, seed):
        self.run = run
        self.random = random.Random(seed)
        self.now = 0.0
        self.running = {}
        self.lost = set()

    def act(self):
        self.now += 1.0
        getattr(self, f"do_{self.random.choice(EVENTS)}")()
        ends_of_copies(self.run)

    def do_next(self):
        for step in self.run.next(self.now):
            assert step.node not in self.lost
            self.running[step.task] = step.node

    def a_task(self):
        return self.random.choice(sorted(self.running))

    def do_arrives(self):
        """End a copy whose source has the file; there must be one."""
        copies = self.run.staging()
        able = [copy for copy in copies if not copy.arriving]
        assert able or not copies, "every copy waits for another"
        if able:
            copy = self.random.choice(able)
            self.run.staged(copy.node, copy.file)

    def do_ends(self):
        """End a task whose node receives nothing from a source that still receives."""
        waiting = {copy.node for copy in self.run.staging() if copy.arriving}
        able = [t for t, node in sorted(self.running.items()) if node not in waiting]
        if able:
            name = self.random.choice(able)
            del self.running[name]
            self.run.completed(name, self.now)

    def do_fails(self):
        if self.running:
            name = self.a_task()
            del self.running[name]
            self.run.failed(name, self.now)

    def waits_again(self, names):
        for name in names:
            self.running.pop(name, None)

    def do_lost(self):
        nodes = sorted(set(self.run._run.node) - self.lost)
        if len(nodes) > 1:
            node = self.random.choice(nodes)
            self.lost.add(node)
            self.waits_again(self.run.lost(node, self.now))
            assert node not in self.running.values()

    def do_back(self):
        if self.lost:
            node = self.random.choice(sorted(self.lost))
            self.lost.discard(node)
            self.run.back(node)

    def do_evicted(self):
        held = self.run.state()["holds"]
        pairs = [(n, f) for n, files in zip(self.run._run.node, held) for f in files]
        if pairs:
            node, file = self.random.choice(pairs)
            at, f = self.run._run.node[node], self.run._run.file[file]
            unused = f in self.run._run.unused(at)
            foretold = self.run._run.lost_with(f, at)
            again = self.run.evicted(node, file)
            assert not unused or sorted(foretold or ()) == sorted(again)
            self.waits_again(again)

    def do_saved(self):
        notes = list(self.run.notes)
        self.run = WorkflowDispatcher.restore(json.loads(json.dumps(self.run.state())))
        assert self.run.notes == [], notes


@pytest.mark.parametrize("products", ["storage", "nodes"])
@pytest.mark.parametrize("policy", POLICIES)
def test_every_copy_has_a_source_whatever_happens(policy, products):
    for seed in range(4):
        run = run_of(policy, nodes=4, products=products)
        rows = [task(f"r{k}", reads=["a", "b"]) for k in range(6)]
        rows += [task(f"w{k}", reads=["a"], writes=["cd"[k]]) for k in range(2)]
        rows += [task(f"u{k}", reads=["c", "d"]) for k in range(6)]
        run.submit(rows)
        engine = Engine(run, seed)
        for _ in range(60):
            engine.act()
        for node in sorted(engine.lost):
            engine.run.back(node)
        engine.lost.clear()
        for _ in range(60):
            engine.now += 1.0
            engine.do_next()
            engine.do_arrives()
            engine.do_ends()
        assert len(engine.run._run.ended) == len(rows), (seed, engine.running)
