"""All embedded objects alike: saved and restored they decide as before, and
nothing breaks a loop.
"""

import json
import threading
from types import SimpleNamespace

import pytest
from damage.service import ask
from embed.test_service import SNAPSHOT
from hypothesis import given, settings
from hypothesis import strategies as st

from ioopt.decisions.batch_io import IoPolicy
from ioopt.embed import (
    GangednessMonitor,
    GangScheduler,
    IoArbiter,
    ReplicationPlanner,
    WorkflowDispatcher,
)
from ioopt.embed.batch import BatchCluster
from ioopt.embed.service import Service
from ioopt.errors import IooptError
from ioopt.families import SolverSpec
from ioopt.protocols import Outcome
from ioopt.solvers.gang.policy import MIGRATE_IOGS

IO_MACHINE = {
    "nodes": 16,
    "unit_nodes": 2,
    "allocation": "flat",
    "node_bytes_per_second": 1.0,
    "storage_bytes_per_second": 6.0,
}
GANG_MACHINE = {
    "nodes": 6,
    "levels": 3,
    "quantum_seconds": 10.0,
    "migration_tasks_per_quantum": 3,
}


def said(function, *arguments, **named):
    """What a call gives, or the text of the error it raises; as JSON,
    to compare all alike.
    """
    try:
        value = function(*arguments, **named)
    except IooptError as error:
        value = f"{type(error).__name__}: {error}"
    return json.loads(json.dumps(value, default=repr))


def arbiter(kind):
    return IoArbiter(
        IO_MACHINE, ("fill", "adaptive", "cons-min-aggr-sld", "base-line")[kind]
    )


def arbiter_call(made, now, what, name, size):
    name = f"r{name}"
    if what == 0:
        return said(
            made.request,
            name,
            1 + size % 16,
            float(1 + size),
            now,
            start_seconds=max(0.0, now - size),
            compute_seconds_so_far=float(size % 7),
            iteration_seconds=float(1 + size),
        )
    if what == 1:
        return said(made.progress, name, size / 2)
    if what == 2:
        return said(made.finish, name)
    return [sorted(said(made.decide, now).items()), list(made.notes)]


def gang(kind):
    policies = ("gs", "migrate-iogs", "guarded-iogs", "index-iogs")
    return GangScheduler(GANG_MACHINE, policies[kind])


def gang_call(made, now, what, name, size):
    if what == 0:
        nodes = [(name + k) % 6 for k in range(1 + size % 4)]
        return said(made.arrive, name, nodes, 5.0 + size, 9.0 + 2 * size, now)
    if what == 1:
        return said(made.depart, name, now)
    if what == 2:
        return said(made.served, name, float(size), 3.0)
    return said(made.matrix, now)


def planner(kind):
    # solvers that stop by themselves: one that uses up its time would
    # not repeat exactly
    solver = ("minmin", "minmin", "job-data-present", "minmin-no-replication")[kind]
    return ReplicationPlanner(
        {"remote_bytes_per_second": 10.0, "replica_bytes_per_second": 70.0},
        [{"id": f"n{k}", "disk_bytes": 250} for k in range(3)],
        [{"id": f"f{k}", "bytes": 40 + k} for k in range(6)],
        solver=solver,
    )


def planner_call(made, now, what, name, size):
    node, file = f"n{size % 3}", f"f{name % 6}"
    if what == 0:
        tasks = [
            {
                "id": f"t{name}.{k}",
                "compute_seconds": float(1 + k),
                "inputs": sorted({file, f"f{(name + k) % 6}"}),
            }
            for k in range(1 + size % 4)
        ]
        found = said(made.submit, tasks, deadline=None)
        return found if isinstance(found, str) else "planned"
    if what == 1:
        return said(made.staged if size % 2 else made.evicted, node, file)
    if what == 2:
        running = sorted(made.state()["running"])
        return said(made.completed, running[size % len(running)] if running else "none")
    return said(made.next, node)


def monitor(kind):
    return GangednessMonitor(processors=(None, 2, 4, 16)[kind])


def monitor_call(made, now, what, name, size):
    if what < 3:
        place = (int(now) // 2, name % 2) if size % 3 else (None, None)
        return said(made.observe, what == 0, what <= 1, float(size), *place)
    return [said(made.classify), said(made.ratio)]


OBJECTS = {
    "IoArbiter": (arbiter, arbiter_call, IoArbiter.restore),
    "GangScheduler": (gang, gang_call, GangScheduler.restore),
    "ReplicationPlanner": (planner, planner_call, ReplicationPlanner.restore),
    "GangednessMonitor": (monitor, monitor_call, GangednessMonitor.restore),
}
CALLS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 7), st.integers(0, 40)),
    min_size=4,
    max_size=40,
)


def test_a_gang_state_of_version_1_is_refused():
    """It may hold priorities or drained nodes, which would be lost in silence."""
    state = GangScheduler(GANG_MACHINE, "iogs").state()
    with pytest.raises(IooptError, match="version 1, not 2"):
        GangScheduler.restore({**state, "version": 1})


@pytest.mark.slow
@pytest.mark.parametrize("name", OBJECTS)
@settings(max_examples=40, deadline=None)
@given(kind=st.integers(0, 3), before=CALLS, after=CALLS)
def test_saved_and_restored_it_decides_as_before(name, kind, before, after):
    make, call, restore = OBJECTS[name]
    made = make(kind)
    for k, change in enumerate(before):
        call(made, float(k), *change)
    state = json.loads(json.dumps(made.state()))
    again = restore(state)
    assert json.loads(json.dumps(again.state())) == state
    for k, change in enumerate([*after, (3, 0, 0)], len(before)):
        assert call(made, float(k), *change) == call(again, float(k), *change)
    assert json.loads(json.dumps(made.state())) == json.loads(json.dumps(again.state()))


NONSENSE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.just(10**30)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=4,
)


def places(value, at=()):
    """The paths of everything inside *value*."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*at, key)
        if isinstance(inner, (dict, list)):
            yield from places(inner, (*at, key))


@pytest.mark.parametrize("name", OBJECTS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_damaged_state_is_refused_or_harmless(name, data):
    make, call, restore = OBJECTS[name]
    made = make(1)
    for k, change in enumerate(
        [(0, 1, 3), (0, 2, 5), (3, 0, 0), (1, 1, 1), (3, 1, 1), (0, 4, 9)]
    ):
        call(made, float(k), *change)
    state = json.loads(json.dumps(made.state()))
    path = data.draw(st.sampled_from(sorted(places(state), key=repr)))
    inside = state
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = data.draw(NONSENSE)
    again = said(lambda: restore(state).state())
    assert isinstance(again, dict) or ("Error: " in again and "\n" not in again)


def ways_to_go_wrong(release):
    """Functions for a solver; one hangs until *release* is set."""
    return {
        "fails": lambda *_, **__: 1 / 0,
        "hangs": lambda *_, **__: release.wait(),
        "nonsense": lambda *_, **__: 7,
        "no plan": lambda *_, **__: Outcome(None),
    }


@pytest.mark.parametrize("how", ["fails", "hangs", "nonsense"])
@pytest.mark.parametrize("name", ["IoArbiter", "GangScheduler", "ReplicationPlanner"])
def test_a_solver_that_goes_wrong_is_answered_by_the_greedy(monkeypatch, name, how):
    release = threading.Event()
    wrong = ways_to_go_wrong(release)[how]
    word = {
        "fails": "ZeroDivisionError",
        "hangs": "no answer within",
        "nonsense": "nonsense",
    }[how]
    deadline = 0.05 if how == "hangs" else 3600.0
    for _ in range(3):
        if name == "IoArbiter":
            made = IoArbiter(IO_MACHINE, IoPolicy.of("wrong", wrong))
            made.request("a", 8, 10.0, 0.0)
            assert made.decide(1.0, deadline) == {"a": 6.0}
            notes = made.notes
        elif name == "GangScheduler":
            policy = SimpleNamespace(name="wrong", rules=None, update=wrong)
            made, sound = (
                GangScheduler(GANG_MACHINE, each) for each in (policy, MIGRATE_IOGS)
            )
            for scheduler in (made, sound):
                assert scheduler.arrive("a", [0, 1], 5.0, 9.0, 0.0)
            assert made.matrix(1.0, deadline) == sound.matrix(1.0) != []
            notes = made.notes
        else:
            with monkeypatch.context() as patch:
                patch.setattr("ioopt.embed.replication.solve", wrong)
                made = planner(0)
                notes = made.submit(
                    [{"id": "t", "compute_seconds": 1.0, "inputs": ["f1"]}],
                    deadline=deadline,
                ).notes
            assert [step.task for k in range(3) if (step := made.next(f"n{k}"))] == [
                "t"
            ]
        assert len(notes) == 1 and "greedy" in notes[0]
        told = ("no attribute", "has no len") if how == "nonsense" else ()
        assert any(text in notes[0] for text in (word, *told))
    release.set()


SMALL_MACHINE = {"nodes": 4, "levels": 2, "quantum_seconds": 200.0}


@pytest.mark.parametrize(
    ("method", "arguments", "why"),
    [
        (
            "arrive",
            ("a", [0], 1.0, 2.0, 0.0),
            "job 'a' refused: a job of that id is here already",
        ),
        ("arrive", ("b", [0], 3.0, 2.0, 0.0), "0 < local_seconds <= remote_seconds"),
        ("depart", ("b", 1.0), "departure of 'b' at 1.0 s ignored: no such job"),
        ("served", ("b", 1.0, 1.0), "service of 'b' ignored: no such job"),
        ("served", ("a", "x", 1.0), "'x' and 1.0 are not times in seconds"),
        ("served", ("a", -1, 1.0), "-1 and 1.0 are not times in seconds"),
        ("arrive", ("b", [0], 1.0, 2.0, "now"), "now must be a number of seconds, not"),
    ],
)
def test_a_gang_scheduler_says_why_it_refuses(method, arguments, why):
    scheduler = GangScheduler(SMALL_MACHINE, "iogs")
    assert scheduler.arrive("a", [0, 1], 1.0, 2.0, 0.0) is True
    answer = getattr(scheduler, method)(*arguments)
    assert not answer and why in answer.why and scheduler.notes == [answer.why]


@pytest.mark.parametrize("most", [None, 3])
def test_a_saved_gang_scheduler_has_only_exact_numbers(most):
    """No limit of migrations is null, not a number beyond 2^53."""
    machine = SMALL_MACHINE | {"migration_tasks_per_quantum": most}
    scheduler = GangScheduler(machine, "migrate-iogs")
    scheduler.arrive("a", [0, 1], 1.0, 2.0, 0.0)
    scheduler.matrix(0.0)
    state = scheduler.state()
    assert state["budget"] == most
    again = GangScheduler.restore(json.loads(json.dumps(state)))
    assert again.state() == state and again._budget == scheduler._budget


def test_a_negative_deadline_is_no_time():
    scheduler = GangScheduler(SMALL_MACHINE, "iogs")
    scheduler.arrive("a", [0, 1], 1.0, 2.0, 0.0)
    assert len(scheduler.matrix(0.0, deadline=-1)) == 1
    assert "wanted seconds of 0 or more, not -1; taken as 0" in scheduler.notes[0]


def test_the_service_says_why_an_answer_is_false():
    service, given = Service(), {"machine": SMALL_MACHINE, "policy": "iogs"}
    ask(service, op="open", object="GangScheduler", arguments=given)
    leaves = {"session": 1, "method": "depart", "arguments": {"job": "b", "now": 1.0}}
    assert ask(service, op="call", **leaves)["result"] == {
        "value": False,
        "why": "departure of 'b' at 1.0 s ignored: no such job",
    }


def test_embedded_objects_say_what_they_hold():
    scheduler = GangScheduler(SMALL_MACHINE, "iogs")
    scheduler.arrive("a", [0, 1], 1.0, 2.0, 0.0)
    assert (
        repr(scheduler) == "GangScheduler(iogs, 4 nodes, 2 rows, 0 running, 1 waiting)"
    )
    scheduler.matrix(0.0)
    assert (
        repr(scheduler) == "GangScheduler(iogs, 4 nodes, 2 rows, 1 running, 0 waiting)"
    )
    arbiter = IoArbiter(IO_MACHINE | {"nodes": 1, "unit_nodes": 1})
    arbiter.request("a", nodes=1, size=1.0, now=0.0)
    assert repr(arbiter) == "IoArbiter(fill, 1 node, 1 request)"
    network = {"remote_bytes_per_second": 1.0, "replica_bytes_per_second": 1.0}
    tasks = [{"id": name, "compute_seconds": 1.0} for name in "ab"]
    planner = ReplicationPlanner(network, [{"id": "n"}])
    planner.submit(tasks)
    planner.next("n")
    assert (
        repr(planner) == "ReplicationPlanner(link-aware, 1 node, 1 waiting, 1 running)"
    )
    dispatcher = WorkflowDispatcher(network, [{"id": "n"}], policy="locality")
    dispatcher.submit(tasks)
    dispatcher.next(0.0)
    assert (
        repr(dispatcher) == "WorkflowDispatcher(locality, 1 node, 1 waiting, 1 running)"
    )
    monitor = GangednessMonitor(4)
    monitor.observe(ganged=True, running=True, messages=20)
    assert repr(monitor) == "GangednessMonitor(1 gang counts, 0 running)"
    cluster = BatchCluster(4)
    cluster.arrive("a", 1, 60.0, 0.0)
    assert repr(cluster) == "BatchCluster(4 nodes, 0 running, 1 waiting)"


@pytest.mark.parametrize("how", ["fails", "hangs", "nonsense", "no plan"])
def test_a_solver_that_goes_wrong_leaves_the_service_standing(monkeypatch, how):
    release = threading.Event()
    wrong, service = ways_to_go_wrong(release)[how], Service()
    deadline = 0.05 if how == "hangs" else 3600.0
    with monkeypatch.context() as patch:
        patch.setattr(SolverSpec, "solve_function", lambda row: wrong)
        for _ in range(7):
            reply = ask(
                service,
                op="decide",
                instance=SNAPSHOT,
                solver="fill",
                deadline=deadline,
            )
            assert reply["id"] == 7 and "ok" in reply
            if how == "hangs":
                assert reply["error"]["code"] == "solver"
        assert ask(service, op="ping")["ok"]
    release.set()


@pytest.mark.parametrize("deadline", [0, -1, "2", True, [], float("1e400")])
def test_deadlines_that_are_none_are_refused(deadline):
    reply = ask(Service(), op="decide", instance=SNAPSHOT, deadline=deadline)
    assert reply["error"]["code"] == (
        "malformed" if deadline == float("inf") else "invalid"
    )
