"""When ``rolling`` plans anew in a ``WorkflowDispatcher``, what a restore keeps, and
what messages of earlier attempts change.
"""

import json
import random
import threading
import time

import pytest

from ioopt.embed import WorkflowDispatcher
from ioopt.embed.workflow import Running, Waiting
from ioopt.errors import InstanceError, StateError, UsageError
from ioopt.solvers.replication.online import late_binding
from ioopt.solvers.replication.online.rolling import Rolling

NETWORK = {"remote_bytes_per_second": 10.0, "replica_bytes_per_second": 100.0}


def chains(count, length=3):
    """Return the tasks and files of *count* chains; each begins with a file of the
    storage.
    """
    draw = random.Random(5)
    files, tasks = [], []
    for c in range(count):
        files.append({"id": f"in{c}", "bytes": draw.randint(20, 90)})
        before = f"in{c}"
        for s in range(length):
            product = f"o{c}-{s}"
            files.append({"id": product, "bytes": draw.randint(20, 90)})
            tasks.append(
                {
                    "id": f"t{c}-{s}",
                    "compute_seconds": draw.randint(1, 9),
                    "inputs": [before],
                    "outputs": [product],
                }
            )
            before = product
    return tasks, files


def run_of(policy="rolling", count=8, disk=300, products="nodes"):
    tasks, files = chains(count)
    nodes = [{"id": f"n{i}", "cores": 2, "disk_bytes": disk} for i in range(3)]
    run = WorkflowDispatcher(NETWORK, nodes, files, policy=policy, products=products)
    run.submit(tasks)
    return run


def saved_and_restored(run):
    return WorkflowDispatcher.restore(json.loads(json.dumps(run.state())))


def rolling_of(run):
    return run._dispatcher._dispatcher


def decisions(policy, products, seed, every):
    """Return all that ``next`` and ``lost`` answer in a run with failures, lost nodes
    and a node that joins, restored every *every* events; 0: never.
    """
    draw = random.Random(seed)
    run = run_of(policy, products=products)
    told = []
    now = 0.0
    for event in range(90):
        if every and event % every == 0:
            run = saved_and_restored(run)
        told.append(run.next(now))
        now += 1.0
        going = run.running()
        if event == 20:
            told.append(run.lost("n1", now))
        elif event == 30:
            run.back("n1")
        elif event == 40:
            run.joined({"id": "n3", "cores": 1})
        elif event == 45:
            waits = [t["id"] for t, how in run.state()["tasks"] if how == "waits"]
            for name in waits[-1:]:
                run.withdraw(name)
        elif going:
            done = draw.choice(going)
            end = run.failed if draw.random() < 0.2 else run.completed
            end(done.task, now, node=done.node, attempt=done.attempt)
    return told


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("products", ["storage", "nodes"])
@pytest.mark.parametrize("policy", ["rolling", "locality", "ready-min-min", "fifo"])
def test_a_restored_run_decides_as_the_saved_one_would_have(policy, products, seed):
    whole = decisions(policy, products, seed, 0)
    for every in (1, 7):
        assert decisions(policy, products, seed, every) == whole


def test_a_restore_makes_no_plan():
    run = run_of()
    run.next(0.0)
    again = saved_and_restored(run)
    plans = rolling_of(run).plans
    done = run.running()[0]
    for each in (run, again):
        each.completed(done.task, 4.0, node=done.node)
    assert again.next(4.0) == run.next(4.0)
    assert rolling_of(run).plans == plans and rolling_of(again).plans == 0
    assert again.state() == run.state()


def test_a_state_without_a_plan_is_planned_anew():
    """States of earlier versions have neither a plan nor attempts."""
    run = run_of()
    first = run.next(0.0)
    state = run.state()
    for key in ("dispatcher", "attempts", "failed_on", "node_changes"):
        del state[key]
    again = WorkflowDispatcher.restore(state)
    assert [step.attempt for step in again.running()] == [1] * len(first)
    done = first[0]
    again.completed(done.task, 4.0)
    assert again.next(4.0) and rolling_of(again).plans == 1


def test_a_failed_task_keeps_its_node_and_nothing_is_planned_anew():
    """Six of 24 tasks are placed at 0: that alone is no tenth of what waits, as it is
    counted from the plan on, so the count is begun again by a node that joins.
    """
    run = run_of()
    run.next(0.0)
    run.joined({"id": "idle", "cores": 1, "disk_bytes": 10})  # too small for all
    run.next(0.0)
    plans = rolling_of(run).plans
    rolling_of(run)._binds_late = False  # the plan is followed
    failed = run.running()[0]
    run.failed(failed.task, 1.0, node=failed.node, attempt=failed.attempt)
    (again,) = run.next(1.0)
    assert (again.task, again.node, again.attempt) == (failed.task, failed.node, 2)
    assert rolling_of(run).plans == plans


def test_what_is_planned_anew():
    run = run_of(count=40)
    run.next(0.0)
    rolling = rolling_of(run)
    changes = [
        lambda: run.lost("n1", 1.0),
        lambda: run.back("n1"),
        lambda: run.joined({"id": "n3"}),
        lambda: run.submit([{"id": "new", "compute_seconds": 1.0}]),
    ]
    for count, change in enumerate(changes, start=2):
        change()
        done = run.running()[0]
        run.completed(done.task, 1.0)
        run.next(1.0)
        assert rolling.plans == count


def test_no_plan_counts_on_a_lost_node():
    run = run_of()
    run.next(0.0)
    run.lost("n1", 1.0)
    run.completed(run.running()[0].task, 1.0)
    run.next(1.0)
    orders = rolling_of(run)._orders
    assert orders[1] == [] and sum(map(len, orders)) > 0
    now = 1.0
    while run.running():
        now += 10.0
        for going in run.running():
            run.completed(going.task, now, node=going.node)
        assert all(step.node != "n1" for step in run.next(now))
    assert repr(run) == "WorkflowDispatcher(rolling, 3 nodes, 0 waiting, 0 running)"


def second_attempt(how):
    """Return a run in which attempt 2 of a runs; attempt 1 was ended by *how*."""
    nodes = [{"id": "n0"}, {"id": "n1"}] if how == "lost" else [{"id": "n0"}]
    run = WorkflowDispatcher(NETWORK, nodes, policy="fifo")
    run.submit([{"id": "a", "compute_seconds": 5.0}])
    (first,) = run.next(0.0)
    if how == "failed":
        run.failed("a", 1.0)
    else:
        run.lost("n0", 1.0)
        if how == "back":
            run.back("n0")
    (second,) = run.next(2.0)
    assert (first.node, first.attempt, second.attempt) == ("n0", 1, 2)
    return saved_and_restored(run)


LATE = [
    # (how attempt 1 ended, what the late message names, whether it is told)
    ("failed", {}, False),
    ("failed", {"node": "n0"}, False),
    ("failed", {"attempt": 1}, True),
    ("failed", {"node": "n0", "attempt": 1}, True),
    ("lost", {}, False),
    ("lost", {"node": "n0"}, True),
    ("lost", {"attempt": 1}, True),
    ("lost", {"node": "n0", "attempt": 1}, True),
    ("back", {}, False),
    ("back", {"node": "n0"}, False),
    ("back", {"attempt": 1}, True),
    ("back", {"node": "n0", "attempt": 1}, True),
]


@pytest.mark.parametrize("message", ["completed", "failed"])
@pytest.mark.parametrize(("how", "named", "told"), LATE)
def test_a_message_of_an_earlier_attempt(message, how, named, told):
    """What a late message names decides whether it is told from one of attempt 2."""
    run = second_attempt(how)
    before = run.state()
    getattr(run, message)("a", 3.0, **named)
    assert (run.state() == before) == told
    assert len(run.notes) == told
    if told:
        what = "attempt 1 of 'a'" if "attempt" in named else "'a'"
        where = " on 'n0'" if "node" in named else ""
        said = f"3 s: {what} does not run{where}: the message is ignored"
        assert run.notes == [said]


@pytest.mark.parametrize("message", ["completed", "failed"])
@pytest.mark.parametrize("names", ["node", "attempt", "both", "none"])
def test_a_repeated_message(message, names):
    """Without node and attempt: StateError; with either: a note."""
    run = second_attempt("failed")
    (going,) = run.running()
    assert going == Running("a", "n0", 2.0, attempt=2)
    named = {"node": {"node": "n0"}, "attempt": {"attempt": 2}, "none": {}}
    named["both"] = named["node"] | named["attempt"]
    call = getattr(run, message)
    call("a", 3.0, **named[names])
    before = run.state()
    if names == "none":
        with pytest.raises(StateError, match="task 'a' is not running"):
            call("a", 4.0)
    else:
        call("a", 4.0, **named[names])
        assert len(run.notes) == 1
    assert run.state() == before


@pytest.mark.parametrize("attempt", [0, -1, 1.5, "1", True])
def test_an_attempt_is_a_number_from_1(attempt):
    run = second_attempt("failed")
    with pytest.raises(UsageError, match="attempt: wanted a whole number from 1"):
        run.completed("a", 3.0, attempt=attempt)


def test_help_lists_what_an_engine_calls_and_nothing_else():
    public = {name for name in dir(WorkflowDispatcher) if not name.startswith("_")}
    calls = "submit next completed failed staging running waiting evictable withdraw"
    calls += " observe forget lost back joined staged evicted state restore notes"
    assert public == set(calls.split())


# A plan that is late while tasks arrive. Planning is held up by hand, not by a clock.

LATE_SECONDS = 0.05
"""A deadline that a plan misses that is held up."""


class HeldUp:
    """Let every ``rolling`` plan wait until :meth:`finish`."""

    def __init__(self, monkeypatch):
        self.may_end = threading.Event()
        plan = Rolling._plan

        def held_up(rolling, view):
            plan(rolling, view)
            self.may_end.wait(30)

        monkeypatch.setattr(Rolling, "_plan", held_up)

    def finish(self, run):
        runs = run._dispatcher._late
        self.may_end.set()
        while runs.is_set():
            time.sleep(1e-3)
        self.may_end.clear()


def small(name, **more):
    return {"id": name, "compute_seconds": 5.0} | more


def late_run(monkeypatch):
    """Return a run of 40 tasks on one node whose first plan is under way, and what
    holds it up. One task is placed meanwhile.
    """
    held = HeldUp(monkeypatch)
    run = WorkflowDispatcher(NETWORK, [{"id": "n0", "disk_bytes": 999}])
    run.submit([small(f"t{k}") for k in range(40)])
    assert [step.policy for step in run.next(0.0, deadline=LATE_SECONDS)] == [
        "locality"
    ]
    return run, held


def next_policy(run, now, deadline=9.0):
    """End the task that runs; return which dispatcher places the next one."""
    (going,) = run.running()
    run.completed(going.task, now, attempt=going.attempt)
    (step,) = run.next(now, deadline)
    return step.policy


def test_a_late_plan_is_followed_although_tasks_arrive(monkeypatch):
    run, held = late_run(monkeypatch)
    run.submit([small("new0")])
    assert next_policy(run, 5.0) == "locality"  # the plan is under way
    held.finish(run)
    for k in (1, 2, 3):
        run.submit([small(f"new{k}")])
        assert next_policy(run, 5.0 + k) == "rolling"
    assert rolling_of(run).plans == 1
    run.submit([small(f"new{k}") for k in (4, 5, 6)])  # now a tenth is new
    assert next_policy(run, 9.0, LATE_SECONDS) == "locality"
    assert rolling_of(run).plans == 2
    held.finish(run)


def test_a_late_plan_goes_on_after_a_restore(monkeypatch):
    run, held = late_run(monkeypatch)
    run.submit([small("new")])
    held.finish(run)
    for _ in range(2):
        again = saved_and_restored(run)
        assert again.state() == run.state()
        for each, now in ((run, 5.0), (again, 5.0)):
            assert next_policy(each, now) == "rolling"
        assert again.running() == run.running() and rolling_of(again).plans == 0


def test_what_a_late_plan_lacks_takes_what_it_leaves(monkeypatch):
    """The plan has 20 tasks of two cores; the third core is left."""
    held = HeldUp(monkeypatch)
    nodes = [{"id": "n0", "cores": 3, "disk_bytes": 999}]
    run = WorkflowDispatcher(NETWORK, nodes)
    run.submit([small(f"t{k}", cores=2) for k in range(20)])
    run.next(0.0, deadline=LATE_SECONDS)
    held.finish(run)
    rolling_of(run)._binds_late = False  # the plan is followed
    run.submit([small("new")])
    done = run.running()[0]
    run.completed(done.task, 5.0)
    placed = [(step.task, step.policy) for step in run.next(5.0, deadline=9.0)]
    assert placed == [("t1", "rolling"), ("new", "locality")]


def test_late_binding_takes_what_a_late_plan_lacks_last(monkeypatch):
    """It does not rank all tasks anew, which takes longer than a short deadline."""
    run, held = late_run(monkeypatch)
    held.finish(run)
    rolling_of(run)._binds_late = True
    assert next_policy(run, 5.0) == "rolling"
    ranked = []
    monkeypatch.setattr(late_binding, "places", ranked.append)
    run.submit([small("long", compute_seconds=99.0)])
    assert next_policy(run, 6.0) == "rolling" and ranked == []
    assert run.running()[0].task == "t2"
    order = rolling_of(run)._late_binding.order(run._run.given)
    assert order[-1] == run._run.place["long"]


def test_who_decides_above_the_limit_is_said_once():
    nodes = [{"id": "n0", "cores": 2}]
    run = WorkflowDispatcher(NETWORK, nodes, settings={"most_cells": 3})
    run.submit([small(f"t{k}") for k in range(5)])
    assert [step.policy for step in run.next(0.0)] == ["locality", "locality"]
    (note,) = run.notes.new()
    assert "5 tasks x 1 nodes are left, more than most_cells (3)" in note
    run.completed("t0", 5.0)
    assert [step.policy for step in run.next(5.0)] == ["rolling"]
    run.submit([small(f"u{k}") for k in range(5)])
    run.completed("t1", 5.0)
    assert [step.policy for step in run.next(5.0)] == ["locality"]
    assert run.notes.new() == []


# Tasks that fit no node, and tasks that shall run elsewhere.


@pytest.mark.parametrize("policy", ["rolling", "locality", "fifo", "ready-min-min"])
def test_a_task_that_fits_no_node_is_noted_once_and_holds_up_nobody(policy):
    nodes = [{"id": "n0", "cores": 2}, {"id": "n1", "cores": 16}]
    files = [{"id": "f", "bytes": 1}]
    run = WorkflowDispatcher(NETWORK, nodes, files, policy=policy)
    wide = small("big", cores=12, outputs=["f"])
    run.submit([wide, small("after", inputs=["f"]), small("s", cores=2), small("t")])
    run.lost("n1", 0.0)
    run = saved_and_restored(run)
    (step,) = run.next(0.0)
    assert (step.task, step.policy) == ("s", policy)
    said = "0 s: no node that is there can run task 'big': see waiting()"
    assert run.notes.new() == [said]
    fit = "needs 12 cores, and no node has more than 2"
    assert run.waiting() == [
        Waiting("big", "fit", fit),
        Waiting("after", "inputs", "not written yet: 'f'"),
        Waiting("t", "turn"),
    ]
    run = saved_and_restored(run)
    assert run.next(1.0) == [] and run.notes.new() == []
    run.submit([small("big2", cores=12)])
    run.next(1.0)
    assert run.notes.new() == [said.replace("0 s", "1 s").replace("big", "big2")]
    run.back("n1")
    assert {step.task for step in run.next(2.0)} >= {"big", "t"}
    assert all(row.why != "fit" for row in run.waiting())


def test_why_a_task_waits_when_no_node_is_there():
    run = WorkflowDispatcher(NETWORK, [])
    run.submit([small("a")])
    run.next(0.0)
    assert run.waiting() == [Waiting("a", "fit", "no node is there")]


@pytest.mark.parametrize("policy", ["rolling", "locality", "fifo", "ready-min-min"])
def test_a_task_that_failed_goes_elsewhere_if_it_is_asked_for(policy):
    nodes = [{"id": f"n{i}", "cores": 2, "disk_bytes": 99} for i in range(2)]
    run = WorkflowDispatcher(NETWORK, nodes, policy=policy)
    run.submit([small("bad")])
    seen = []
    for now in range(4):
        (step,) = run.next(now)
        seen.append(step.node)
        run.failed("bad", now, node=step.node, attempt=step.attempt, elsewhere=True)
        run = saved_and_restored(run)
        assert saved_and_restored(run).state() == run.state()
    # It failed on both nodes, so that it may run on each again.
    assert seen[:2] == ["n0", "n1"] and len(seen) == 4


@pytest.mark.parametrize("binds_late", [True, False])
def test_a_plan_keeps_a_task_from_the_node_that_it_avoids(monkeypatch, binds_late):
    """n1 is busy until 50, and the plan would retry the task on n0, which is idle."""
    plan = Rolling._plan

    def planned(rolling, view):
        plan(rolling, view)
        rolling._binds_late = binds_late

    monkeypatch.setattr(Rolling, "_plan", planned)
    nodes = [{"id": f"n{i}", "disk_bytes": 99} for i in range(2)]
    run = WorkflowDispatcher(NETWORK, nodes)
    run.submit([small("long", compute_seconds=50.0), small("bad", compute_seconds=9.0)])
    on = {step.task: step.node for step in run.next(0.0)}
    run.failed("bad", 1.0, elsewhere=True)
    run.submit([small(f"t{k}") for k in range(4)])
    placed = []
    for now in range(1, 30, 5):
        placed += run.next(now)
        for going in run.running():
            if going.task != "long":
                run.completed(going.task, now + 5.0)
    assert {step.task for step in placed} == {"t0", "t1", "t2", "t3"}
    assert {step.node for step in placed} == {on["bad"]}
    run.completed("long", 50.0)
    assert [(step.task, step.node) for step in run.next(50.0)] == [("bad", on["long"])]


def test_a_state_of_a_later_version_is_refused():
    state = run_of().state()
    assert state["version"] == 1
    with pytest.raises(InstanceError, match=r"has version 2.*update ioopt"):
        WorkflowDispatcher.restore(state | {"version": 2})
