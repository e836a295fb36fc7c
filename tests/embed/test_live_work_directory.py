"""``WorkDirectory`` live: as the simulator's dispatch, with the bytes that are real,
and when things fail.
"""

import heapq
import json
import random

import pytest
from damage.service import ask
from oracle.work_directory_reference import Run, random_instance

from ioopt.embed import WorkDirectory
from ioopt.embed.service import Service
from ioopt.errors import InstanceError, IooptError, UnsolvableInstanceError, UsageError
from ioopt.problems.work_directory import Fault
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch
from ioopt.sim.work_directory.order import least_order

CHAINS = {
    "cores": 2,
    "quota_bytes": 12,
    "tasks": [
        {"id": "A1", "compute_seconds": 1, "outputs": ["a1"]},
        {"id": "B1", "compute_seconds": 1, "inputs": ["a1"], "outputs": ["b1"]},
        {"id": "A2", "compute_seconds": 1, "outputs": ["a2"]},
        {"id": "B2", "compute_seconds": 1, "inputs": ["a2"], "outputs": ["b2"]},
    ],
    "files": [{"id": name, "bytes": 6} for name in ("a1", "b1", "a2", "b2")],
}


def engine(run, seconds, real=lambda task: None, look=lambda run: None):
    """The starts of an engine that does what *run* says; tasks write *real* bytes."""
    problem, starts, ends = run.problem, [], []
    coming = sorted(
        (t.release_seconds, k) for k, t in enumerate(problem.tasks) if t.release_seconds
    )
    now = 0.0
    while True:
        while ends and ends[0][0] == now:
            name = problem.tasks[heapq.heappop(ends)[1]].id
            run.ended(name, now, real(name))
        while coming and coming[0][0] == now:
            run.ready(problem.tasks[coming.pop(0)[1]].id, now)
        look(run)
        name = run.next()
        if name is not None:
            run.started(name)
            starts.append((now, name))
            heapq.heappush(ends, (now + seconds[name], problem.task_index[name]))
            continue
        left = [row[0][0] for row in (ends, coming) if row]
        if not left:
            return starts
        now = min(left)


def asked(seed):
    rng = random.Random(seed)
    problem = random_instance(rng, rng.randint(1, 9))
    policy = rng.choice(
        (
            "submission",
            "depth-first",
            rng.sample([*problem.task_index], len(problem.tasks)),
        )
    )
    return rng, problem, (policy, rng.random() < 0.6, rng.choice((None, 1, 2)))


def test_a_live_run_starts_what_the_simulator_starts():
    """Also where it is stuck: the starts until then, and the same words."""
    came = set()
    for seed in range(300):
        rng, problem, (policy, safe, cap) = asked(seed)
        actual = {task.id: rng.randint(0, 9) / 2 for task in problem.tasks}
        try:
            run = WorkDirectory(problem, policy, safe=safe, in_flight=cap)
        except UnsolvableInstanceError:
            came.add("no order found")
            continue
        starts, fault = engine(run, actual), None
        try:
            order = [problem.tasks[k].id for k in least_order(problem)]
            dispatcher = Dispatcher(
                problem, policy, problem.quota_bytes, safe, cap, order
            )
            plan = dispatch(problem, dispatcher, actual)
        except Fault as caught:
            fault = caught
        came.add("ended" if fault is None else fault.record["kind"])
        if fault is None:
            assert [*plan.starts] == starts, seed
        else:
            assert run.notes == (str(fault),), seed
            assert len(starts) == len(problem.tasks) - fault.record["left"]
    assert came == {"no order found", "stuck", "ended"}


def test_room_is_counted_by_bytes_that_are_real():
    """Every product has other bytes than planned, told at its task's end
    or at random before.

    At every instant what is inside, and which tasks fit and are admitted, is what a
    second implementation says of an instance with these bytes.
    """
    looked = 0
    for seed in range(200):
        rng, problem, (policy, _, cap) = asked(seed)
        if problem.quota_bytes is None:
            continue
        order = [problem.tasks[k].id for k in least_order(problem)]
        try:
            run = WorkDirectory(problem, policy, in_flight=cap)
        except UnsolvableInstanceError:
            continue
        sizes = {file.id: file.bytes for file in problem.products}

        def other(names, rng=rng, sizes=sizes):
            told = {name: rng.randint(0, 6) for name in names}
            sizes.update(told)
            return told

        def real(name, problem=problem, other=other):
            return other(problem.tasks[problem.task_index[name]].outputs)

        def look(run, problem=problem, sizes=sizes, other=other, order=order, rng=rng):
            nonlocal looked
            if sizes and rng.random() < 0.3:
                run.expect(other([rng.choice([*sizes])]))
            check = Run(problem)
            check.sizes |= sizes
            done = {told[0] for name, told in run._log if name == "ended"}
            names = [told[0] for name, told in run._log if name == "started"]
            assert run.use == check.use(names, done)
            for _, k in run._dispatcher.ready:
                name = problem.tasks[k].id
                looked += 1
                # places of the order before k: those after it are not looked
                # at again (rule B6)
                before = order[: order.index(name)]
                room = check.sequential(before, [*names, name]) <= problem.quota_bytes
                made = problem.tasks[k].outputs
                stays = any(
                    sizes[f] and (check.readers[f] or f in check.keeps) for f in made
                )
                free = not stays or all(
                    b in names for b in before
                )  # it takes no room of another
                assert run._dispatcher.admits(k) == (room or free)

        engine(
            run, {task.id: rng.randint(0, 9) / 2 for task in problem.tasks}, real, look
        )
    assert looked > 500


def test_larger_bytes_by_hand():
    """12 bytes: A1 (6) leaves 6 for B1. A1 wrote 7: B1 lacks one, until it is
    expected to write 5.
    """
    run = WorkDirectory(CHAINS)
    assert run.next() == "A1" and run.next(among=["A2"]) is None
    run.started("A1")
    assert run.next() is None and run.notes == ()
    run.ended("A1", 1.0, {"a1": 7})
    assert run.next(deadline=5.0) is None
    assert "B1 lacks 1 bytes" in run.notes[0]
    run.expect({"b1": 5})
    assert run.next() == "B1" and run.use == 7
    run.started("B1")
    run.failed("B1")
    assert run.use == 7 and run.next() == "B1"
    run.started("B1", {"b1": 3})
    assert run.use == 10


@pytest.mark.parametrize(
    ("call", "told", "error"),
    [
        ("started", ("X",), "no task 'X'"),
        ("started", ("B1",), "not ready"),
        ("started", ("A2", {"zz": 1}), "'zz'"),
        ("started", ("A2", {"a2": -1}), "'a2': -1"),
        ("started", ("A1",), "has started"),
        ("ended", ("A2", 1.0), "not running"),
        ("ended", ("A1", 1.0, {"a1": 1.5}), "1.5"),
        ("failed", ("A2",), "not running"),
        ("ready", ("A1", 0.0), "released already"),
        ("expect", ({"a1": True},), "True"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(call, told, error):
    run = WorkDirectory(CHAINS)
    run.started("A1")
    before = run.state()
    with pytest.raises(IooptError, match=error):
        getattr(run, call)(*told)
    assert run.state() == before and run.use == 6


def test_an_unknown_policy_and_a_damaged_state():
    with pytest.raises(UsageError, match="first-come"):
        WorkDirectory(CHAINS, "first-come")
    with pytest.raises(InstanceError, match="not a saved run"):
        WorkDirectory.restore(
            WorkDirectory(CHAINS).state() | {"events": [["repr", []]]}
        )


@pytest.mark.parametrize("wrong", [ZeroDivisionError, 99])
def test_a_dispatcher_that_fails_never_breaks_the_loop(monkeypatch, wrong):
    def answer(self, among=None):
        if wrong is ZeroDivisionError:
            raise wrong
        return wrong

    monkeypatch.setattr(Dispatcher, "next", answer)
    run = WorkDirectory(CHAINS)
    starts = engine(run, dict.fromkeys(("A1", "B1", "A2", "B2"), 1.0))
    assert starts == [(0.0, "A1"), (1.0, "B1"), (2.0, "A2"), (3.0, "B2")]
    assert "answered by the greedy" in run.notes[0]


def test_over_the_service_and_saved():
    service = Service()

    def call(session, method, **arguments):
        reply = ask(
            service, op="call", session=session, method=method, arguments=arguments
        )
        return reply["result"]["value"] if reply["ok"] else reply["error"]

    arguments = {"instance": CHAINS, "policy": "depth-first", "in_flight": 1}
    ask(service, op="open", object="WorkDirectory", arguments=arguments)
    assert call(1, "next", deadline=5.0) == "A1"
    call(1, "started", task="A1")
    call(1, "ended", task="A1", now=2.0, files={"a1": 5})
    state = json.loads(
        json.dumps(ask(service, op="save", session=1)["result"]["state"])
    )
    assert ask(service, op="open", object="WorkDirectory", state=state)["ok"]
    for session in (1, 2):
        assert call(session, "next") == "B1"
        assert call(session, "ended", task="B1", now=3.0)["code"] == "state"


def test_errors_are_those_of_the_other_objects():
    tasks = [{"id": "a", "compute_seconds": 5, "outputs": ["f"]}]
    instance = {"cores": 1, "tasks": tasks, "files": [{"id": "f", "bytes": 6}]}
    with pytest.raises(UnsolvableInstanceError, match="needs 6 bytes, 2 over it"):
        WorkDirectory(instance | {"quota_bytes": 4})
    for policy in ([], ["a", "a"], ["b"]):
        with pytest.raises(InstanceError, match="policy or in_flight: "):
            WorkDirectory(instance, policy)
