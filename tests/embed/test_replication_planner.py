"""The embedded planner: decisions follow the disks, and no solver can break the loop."""

import gc
import threading
from types import SimpleNamespace

import pytest

from ioopt.embed import ReplicationPlanner
from ioopt.embed.guard import MAX_ABANDONED, Guard
from ioopt.errors import InstanceError, UsageError

NETWORK = {"remote_bytes_per_second": 10.0, "replica_bytes_per_second": 100.0}


def planner(solver="minmin", disk=None, **options):
    nodes = [{"id": "n0", "disk_bytes": disk}, {"id": "n1", "disk_bytes": disk}]
    files = [{"id": "f", "bytes": 60}, {"id": "g", "bytes": 60}]
    return ReplicationPlanner(NETWORK, nodes, files, solver=solver, **options)


def task(name, *inputs):
    return {"id": name, "compute_seconds": 1.0, "inputs": list(inputs)}


def drain(plan):
    """Run everything to the end, round robin; returns (task, node, what was staged) in order."""
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
        ([task("a", "zz")], "'a' reads 'zz', an unknown file"),
        ([task("a", "f"), task("a", "g")], "'a' was submitted before"),
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
    for call in (lambda: plan.next("zz"), lambda: plan.completed("zz"),
                 lambda: plan.staged("n0", "zz")):  # fmt: skip
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
