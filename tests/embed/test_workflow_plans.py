"""When ``rolling`` plans anew in a ``WorkflowDispatcher``, what a restore keeps, and
what messages of earlier attempts change.
"""

import json
import random

import pytest

from ioopt.embed import WorkflowDispatcher
from ioopt.embed.workflow import Running
from ioopt.errors import StateError, UsageError

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
    calls = "submit next completed failed staging running evictable withdraw observe"
    calls += " forget lost back joined staged evicted state restore notes"
    assert public == set(calls.split())
