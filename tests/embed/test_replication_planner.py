"""The embedded planner: decisions follow the disks, and no
solver can break the loop.
"""

import gc
import json
import threading
from types import SimpleNamespace

import pytest

from ioopt.embed import ReplicationPlanner
from ioopt.embed.guard import MAX_ABANDONED, Guard
from ioopt.errors import InstanceError, UnsolvableInstanceError, UsageError

NETWORK = {"remote_bytes_per_second": 10.0, "replica_bytes_per_second": 100.0}


def planner(solver="minmin", disk=None, **options):
    nodes = [{"id": "n0", "disk_bytes": disk}, {"id": "n1", "disk_bytes": disk}]
    files = [{"id": "f", "bytes": 60}, {"id": "g", "bytes": 60}]
    return ReplicationPlanner(NETWORK, nodes, files, solver=solver, **options)


def test_what_is_no_list_of_tasks_changes_nothing():
    plan = planner()
    for tasks in (None, 7, "ab"):
        with pytest.raises(UsageError, match="tasks: wanted a list"):
            plan.submit(tasks, [{"id": "new", "bytes": 5}])
    with pytest.raises(InstanceError, match="file 'new' is unknown"):
        plan.submit([task("t", "new")])


def task(name, *inputs):
    return {"id": name, "compute_seconds": 1.0, "inputs": list(inputs)}


def drain(plan):
    """Run everything to the end, round robin; returns (task, node, what
    was staged) in order.
    """
    done = []
    while True:
        steps = [(node, plan.next(node)) for node in ("n0", "n1")]
        steps = [(node, step) for node, step in steps if step is not None]
        if not steps:
            return done
        for node, step in steps:
            done.append((step.task, node, step.stage))
            plan.completed(step.task)


def test_every_task_runs_once_and_held_files_are_not_staged_again():
    plan = planner()
    assert plan.submit([task(f"t{k}", "fg"[k % 2]) for k in range(6)]).value == 6
    done = drain(plan)
    assert sorted(name for name, _, _ in done) == [f"t{k}" for k in range(6)]
    staged = [(node, file) for _, node, stage in done for file, _ in stage]
    assert len(staged) == len(set(staged))


def test_a_second_copy_comes_from_the_node_that_has_it():
    plan = planner(solver="job-data-present")
    plan.staged("n0", "f")
    plan.submit([task("a", "f")])
    done = drain(plan)
    assert done == [("a", "n0", ())]
    plan.staged("n1", "g")
    plan.evicted("n0", "f")
    plan.submit([task("b", "f", "g")])
    (_, node, stage) = drain(plan)[0]
    assert dict(stage).get("g") == (None if node == "n1" else "n1")


def test_what_does_not_fit_is_taken_for_evicted():
    plan = planner(disk=100)
    plan.submit([task("a", "f"), task("b", "g")])
    drain(plan)
    assert all(len(held) <= 1 for held in plan.state()["holds"].values())


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([task("a", "zz")], r"tasks\[0\] \(a\).inputs: file 'zz' is unknown"),
        ([task("a", "f"), task("a", "g")], r"tasks\[1\] \(a\): was submitted before"),
        ([task("a", "f", "g")], "'a' reads 120 bytes, but the largest disk holds 100"),
        ([{"id": "a"}], "compute_seconds: missing"),
    ],
)
def test_invalid_tasks_change_nothing(tasks, message):
    plan = planner(disk=100)
    before = plan.state()
    with pytest.raises(InstanceError, match=message):
        plan.submit(tasks)
    assert plan.state() == before


def test_calls_about_the_unknown_are_refused():
    plan = planner()
    for call in (
        lambda: plan.next("zz"),
        lambda: plan.completed("zz"),
        lambda: plan.staged("n0", "zz"),
    ):
        with pytest.raises(UsageError):
            call()


def test_a_wrong_plan_is_answered_by_the_greedy(monkeypatch):
    wrong = SimpleNamespace(plan={"order": {"n0": ["a", "a"]}})
    monkeypatch.setattr("ioopt.embed.replication.solve", lambda *_, **__: wrong)
    plan = planner()
    decision = plan.submit([task("a", "f"), task("b", "g")])
    assert "wrong" in decision.notes[0] and "greedy" in decision.notes[0]
    assert sorted(name for name, _, _ in drain(plan)) == ["a", "b"]


def test_a_hanging_solver_is_given_up_and_threads_do_not_pile_up(monkeypatch):
    release = threading.Event()
    monkeypatch.setattr("ioopt.embed.replication.solve", lambda *a, **k: release.wait())
    plan = planner()
    decision = plan.submit([task("a", "f")], deadline=0.05)
    assert "no answer within 0.05 s" in decision.notes[0]
    notes = [plan.plan(deadline=0.01).notes[0] for _ in range(MAX_ABANDONED + 2)]
    assert "not asked again" in notes[-1]
    release.set()
    assert [name for name, _, _ in drain(plan)] == ["a"]


def test_the_guard_passes_good_answers_through():
    assert Guard().run(lambda: 3, lambda: 0, lambda v: None, 3600.0) == (3, ())
    assert Guard().run(lambda: 3, lambda: 0, lambda v: "odd", None)[0] == 0


@pytest.mark.slow
def test_a_guard_keeps_one_thread_which_ends_with_it():
    guard, seen = Guard(), set()
    for _ in range(5):
        value, notes = guard.run(threading.get_ident, lambda: 0, lambda v: None, 1e300)
        assert notes == () and value != threading.get_ident()
        seen.add(value)
    assert len(seen) == 1
    (thread,) = [t for t in threading.enumerate() if t.ident in seen]
    del guard
    gc.collect()
    thread.join(timeout=60)
    assert not thread.is_alive()


def restored(plan):
    return ReplicationPlanner.restore(json.loads(json.dumps(plan.state())))


@pytest.mark.parametrize("solver", ["minmin", "link-aware", "job-data-present"])
def test_tasks_that_came_before_all_nodes_run_on_those_that_join(solver):
    files = [{"id": "f", "bytes": 60}]
    plan = ReplicationPlanner(NETWORK, [], files, solver=solver)
    decision = plan.submit([task(f"t{k}", "f") for k in range(6)])
    assert decision.value == 6 and decision.notes == ()
    with pytest.raises(
        UsageError, match=r"no node 'n0'; nodes: none; joined\(node\) adds one"
    ):
        plan.next("n0")
    plan = restored(plan)
    assert plan.joined({"id": "n0"}).value == 6
    assert plan.next("n0").stage == (("f", None),)
    # of the five that wait the new node gets some
    assert plan.joined({"id": "n1", "holds": ["f"]}).value == 5
    assert plan.next("n1").stage == ()
    assert len(drain(plan)) == 4


def test_the_work_of_a_lost_node_goes_to_others_and_waits_where_there_are_none():
    plan = planner()
    plan.submit([task(f"t{k}", "f") for k in range(4)])
    begun = plan.next("n0").task
    assert plan.lost("n0").value == 4  # what ran there waits again
    with pytest.raises(UsageError, match="not running"):
        plan.completed(begun)
    assert plan.lost("n1").value == 4
    plan = restored(plan)
    assert plan.joined({"id": "n1"}).value == 4
    names = []
    while (step := plan.next("n1")) is not None:
        names.append(step.task)
        plan.completed(step.task)
    assert sorted(names) == ["t0", "t1", "t2", "t3"]


def test_a_task_too_large_for_the_nodes_that_are_left_waits_for_one_that_takes_it():
    """f has 60 bytes, n0 and n1 50 and 100: after n1 only g's
    task (10 bytes) can run.
    """
    files = [{"id": "f", "bytes": 60}, {"id": "g", "bytes": 10}]
    nodes = [{"id": "n0", "disk_bytes": 50}, {"id": "n1", "disk_bytes": 100}]
    plan = ReplicationPlanner(NETWORK, nodes, files, solver="minmin")
    plan.submit([task("large", "f"), task("small", "g")])
    decision = plan.lost("n1")
    assert decision.value == 2
    assert (
        decision.notes[-1]
        == "task 'large' fits no node, and waits for one that it fits"
    )
    plan = restored(plan)
    assert plan.next("n0").task == "small" and plan.next("n0") is None
    with pytest.raises(UnsolvableInstanceError, match="'huge'"):
        plan.submit([task("huge", "f")])
    assert (
        plan.submit([task("tiny", "g")]).value == 2 and plan.next("n0").task == "tiny"
    )
    assert plan.joined({"id": "n2", "disk_bytes": 60}).value == 1
    assert plan.next("n2").task == "large"


def test_a_node_joins_once_and_with_known_files():
    plan = planner()
    before = plan.state()
    with pytest.raises(UsageError, match="node 'n0' is there already"):
        plan.joined({"id": "n0"})
    with pytest.raises(InstanceError, match="'h'"):
        plan.joined({"id": "n2", "holds": ["h"]})
    with pytest.raises(UsageError, match="no node 'n3'"):
        plan.lost("n3")
    assert plan.state() == before


def test_a_task_that_failed_waits_again():
    plan = planner()
    plan.submit([task("t", "f")])
    (step,) = filter(None, map(plan.next, ("n0", "n1")))
    assert plan.failed("t").value == 1
    (again,) = filter(None, map(plan.next, ("n0", "n1")))
    assert again == step  # its file did not come to stay
    with pytest.raises(UsageError, match="task 'u' is not running"):
        plan.failed("u")
