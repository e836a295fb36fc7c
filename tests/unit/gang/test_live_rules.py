"""Rules 18 to 22, which only live schedulers have: by hand, and on random events."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ioopt.embed import GangScheduler
from ioopt.embed.service import Service
from ioopt.errors import UsageError


def machine(nodes, levels):
    return {"nodes": nodes, "levels": levels, "quantum_seconds": 10.0}


@pytest.mark.parametrize("how", [{"memory_bytes": -1.0}, {"switch_seconds": -1.0}])
def test_amounts_below_0_are_refused(how):
    with pytest.raises(UsageError, match="0 or more"):
        GangScheduler(machine(1, 1), "iogs", **how)
    both = {"memory_bytes": -1.0, "switch_seconds": -1.0}
    with pytest.raises(UsageError, match="0 or more"):
        GangScheduler(machine(1, 1), "iogs", **both)


def where(scheduler, now):
    return {job["id"]: (job["columns"], job["home_row"]) for job in scheduler.matrix(now)}


def arrive(scheduler, job, nodes, **more):
    assert scheduler.arrive(job, nodes, 100.0, 200.0, 0.0, **more), scheduler.notes


def test_higher_priority_starts_first_and_fills_first():
    one = GangScheduler(machine(2, 1), "iogs")
    for job, priority in (("a", 1), ("b", 1), ("c", 2)):
        arrive(one, job, [0, 1], priority=priority)
    assert where(one, 0.0) == {"c": ([0, 1], 0)} and one.waiting == ["a", "b"]
    two = GangScheduler(machine(1, 3), "iogs")
    arrive(two, "a", [0])
    arrive(two, "b", [0], priority=2)
    # two rows for two jobs; the third is b's, which is looked at first, whenever it came
    assert [(job["id"], job["rows"]) for job in two.matrix(0.0)] == [("b", [0, 2]), ("a", [1])]


def test_attained_service_weighs_by_priority():
    """30 s for a job of priority 4 are 7.5: less than the 10 s of the other, so the third row is its."""
    for priority, third in ((4, "b"), (1, "a")):
        made = GangScheduler(machine(1, 3), "index-iogs")
        arrive(made, "a", [0])
        arrive(made, "b", [0], priority=priority)
        made.served("a", 10.0, 90.0)
        made.served("b", 30.0, 70.0)
        rows = {job["id"]: len(job["rows"]) for job in made.matrix(0.0)}
        assert rows[third] == 2 and sum(rows.values()) == 3


def test_rows_share_the_memory_of_a_node():
    """10 bytes: 6 and 6 do not go together, in different rows either; nobody passes the second."""
    made = GangScheduler(machine(2, 3), "iogs", memory_bytes=10.0)
    for job, node, size in (("a", 0, 6.0), ("b", 0, 6.0), ("c", 0, 4.0)):
        arrive(made, job, [node], resident_bytes=size)
    assert where(made, 0.0) == {"a": ([0], 0)} and made.waiting == ["b", "c"]
    made.depart("a", 1.0)
    assert where(made, 1.0) == {"b": ([0], 0), "c": ([0], 1)}  # 6 + 4
    away = GangScheduler(machine(2, 3), "adaptive-iogs", memory_bytes=10.0)
    arrive(away, "a", [0], resident_bytes=6.0)
    arrive(away, "b", [0], resident_bytes=6.0)
    assert where(away, 0.0) == {"a": ([0], 0), "b": ([1], 0)}  # remote rather than not at all
    assert not away.arrive("d", [0], 1.0, 2.0, 0.0, resident_bytes=11.0)
    assert "more than a host has" in away.notes[-1]


def test_nodes_of_a_host_share_its_memory():
    made = GangScheduler(machine(4, 2), "iogs", memory_bytes=10.0, host_nodes=2)
    arrive(made, "a", [0], resident_bytes=6.0)
    arrive(made, "b", [2, 3], resident_bytes=5.0)  # 10 on host 1
    arrive(made, "c", [1], resident_bytes=5.0)  # 6 + 5 on host 0
    assert set(where(made, 0.0)) == {"a", "b"}
    assert not made.arrive("d", [0, 1], 1.0, 1.0, 0.0, resident_bytes=6.0)
    with pytest.raises(UsageError, match="iogs"):
        GangScheduler(machine(4, 2), "gs", memory_bytes=1.0, host_nodes=2)


def test_a_job_goes_home_only_where_its_bytes_fit():
    """b runs remote on node 1; when c has left its row, node 0 still lacks the bytes: a has 6 of 10."""
    for size, nodes in ((6.0, [1]), (4.0, [0])):
        made = GangScheduler(machine(2, 2), "migrate-iogs", memory_bytes=10.0)
        arrive(made, "a", [0], resident_bytes=6.0)
        arrive(made, "c", [0])
        arrive(made, "b", [0], resident_bytes=size)
        assert where(made, 0.0)["b"] == ([1], 0)
        made.depart("c", 1.0)
        assert where(made, 1.0)["b"][0] == nodes


def test_a_job_makes_room_for_itself_and_is_remembered():
    """b has 6 of 10 bytes on node 1, which is one of its file nodes: they move with it."""
    made = GangScheduler(machine(3, 1), "migrate-iogs", memory_bytes=10.0)
    arrive(made, "x", [0])
    arrive(made, "b", [0, 1], resident_bytes=6.0)
    assert where(made, 0.0)["b"] == ([1, 2], 0)
    made.depart("x", 1.0)
    assert where(made, 1.0) == {"b": ([0, 1], 0)}
    again = GangScheduler.restore(json.loads(json.dumps(made.state())))
    for scheduler in (made, again):
        arrive(scheduler, "c", [2], resident_bytes=6.0)
        arrive(scheduler, "d", [2], resident_bytes=6.0)
        assert set(where(scheduler, 2.0)) == {"b", "c"} and scheduler.waiting == ["d"]


def test_drained_nodes_take_nobody_new():
    made = GangScheduler(machine(2, 2), "iogs")
    arrive(made, "old", [0])
    made.matrix(0.0)
    assert made.drain([0])
    arrive(made, "a", [0])
    arrive(made, "b", [1])
    # the old one goes on, a is kept out by the drain alone, so that b may pass
    assert where(made, 1.0) == {"old": ([0], 0), "b": ([1], 0)}
    assert made.turn(1.0)["jobs"] == ["old", "b"]
    made.drain([0], suspend=True)
    assert made.turn(2.0)["jobs"] == ["b"] and made.matrix(2.0)[0]["rows"] == []
    made.drain([])
    assert where(made, 3.0)["a"] == ([0], 1)
    assert not made.drain([2]) and not made.drain("0") and len(made.notes) == 2
    away = GangScheduler(machine(2, 2), "adaptive-iogs")
    away.drain([0])
    arrive(away, "a", [0])
    assert where(away, 0.0) == {"a": ([1], 0)}


def test_a_job_is_local_on_any_set_of_its_files():
    made = GangScheduler(machine(3, 1), "iogs")
    arrive(made, "a", [0])
    arrive(made, "b", [0], replicas=[[2]])
    arrive(made, "c", [2], replicas=[[0], [1]])
    assert where(made, 0.0) == {"a": ([0], 0), "b": ([2], 0), "c": ([1], 0)}
    assert all(job["local"] for job in made.matrix(0.0))
    moves = GangScheduler(machine(3, 1), "migrate-iogs")
    arrive(moves, "x", [1])
    arrive(moves, "a", [0])
    arrive(moves, "b", [0], replicas=[[1]])
    assert where(moves, 0.0)["b"] == ([2], 0)  # remote
    moves.depart("x", 1.0)
    assert where(moves, 1.0)["b"] == ([1], 0) and moves.matrix(1.0)[1]["local"]
    assert not made.arrive("d", [0], 1.0, 2.0, 0.0, replicas=[[0, 1]])
    assert "as many in each set" in made.notes[-1]


def test_turns_are_long_beside_a_switch_and_count_service():
    """A switch of 1 s is at most a twentieth: slices of 20 s. The second job has lost 1 of its 20."""
    made = GangScheduler(machine(1, 2), "index-iogs", switch_seconds=1.0)
    arrive(made, "a", [0])
    arrive(made, "b", [0])
    assert made.turn(0.0) == {"row": 0, "until": 20.0, "jobs": ["a"]}
    assert made.turn(5.0)["until"] == 20.0
    assert made.turn(20.0) == {"row": 1, "until": 40.0, "jobs": ["b"]}
    again = GangScheduler.restore(json.loads(json.dumps(made.state())))
    for scheduler in (made, again):
        assert scheduler.turn(40.0) == {"row": 0, "until": 60.0, "jobs": ["a"]}
        jobs = {job["id"]: (job["attained"], job["need"]) for job in scheduler.state()["jobs"]}
        assert jobs == {"a": (20.0, 80.0), "b": (19.0, 81.0)}


def test_the_service_takes_the_new_fields():
    service = Service()

    def ask(**message):
        reply = json.loads(service.handle(json.dumps({"ioopt": 1, **message}).encode()))
        assert reply["ok"], reply
        return reply["result"]

    new = {"machine": machine(2, 2), "policy": "iogs", "memory_bytes": 10, "switch_seconds": 1}
    ask(op="open", object="GangScheduler", arguments=new)

    def call(method, **arguments):
        return ask(op="call", session=1, method=method, arguments=arguments)["value"]

    assert call("arrive", job="a", file_nodes=[0], local_seconds=1, remote_seconds=2, now=0,
                priority=3, resident_bytes=6, replicas=[[1]])  # fmt: skip
    assert call("drain", nodes=[0])
    assert call("turn", now=0) == {"row": 0, "until": 20.0, "jobs": ["a"]}
    assert call("matrix", now=0)[0]["columns"] == [1]
    ask(op="open", object="GangScheduler", state=ask(op="save", session=1)["state"])


NODES = st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True)
EVENTS = st.lists(
    st.tuples(st.integers(0, 5), NODES, NODES, st.integers(1, 3), st.integers(0, 6)),
    min_size=3,
    max_size=30,
)
POLICIES = ("gs", "iogs", "adaptive-iogs", "migrate-iogs", "guarded-iogs", "index-iogs")


def policy_of(kind):
    """A policy by name; or one that knows nothing of limits, whose answers are checked."""
    if kind < len(POLICIES):
        return POLICIES[kind]
    from types import SimpleNamespace

    from ioopt.solvers.gang.policy import GS

    return SimpleNamespace(name="blind", rules=None, update=GS.update)


@settings(max_examples=60, deadline=None)
@given(kind=st.integers(0, len(POLICIES)), events=EVENTS)
def test_no_matrix_breaks_memory_or_drain(kind, events):
    made = GangScheduler(machine(5, 3), policy_of(kind), memory_bytes=10.0)
    drained, here, before = set(), {}, {}
    for now, (what, nodes, others, priority, size) in enumerate(events):
        name = f"j{now}"
        if what <= 2:
            more = [others] if len(others) == len(nodes) else []
            assert made.arrive(name, nodes, 50.0, 90.0, float(now), priority=priority,
                               resident_bytes=float(size), replicas=more)  # fmt: skip
            here[name] = size
        elif what == 3 and here:
            gone = sorted(here)[size % len(here)]
            del here[gone]
            made.depart(gone, float(now))
        elif what == 4:
            drained = set(nodes)
            made.drain(nodes)
        deadline = 3600.0 if what == 5 else None
        after = {job["id"]: job for job in made.matrix(float(now), deadline)}
        held, cells = [0] * 5, set()
        for job in after.values():
            moved = job["columns"] != before.get(job["id"], {}).get("columns")
            assert not (moved and drained & set(job["columns"]))
            for node in job["columns"]:
                held[node] += here[job["id"]]
                cells |= {(row, node) for row in job["rows"]}
        assert max(held) <= 10
        assert len(cells) == sum(len(job["rows"]) * len(job["columns"]) for job in after.values())
        assert after.keys() | set(made.waiting) == here.keys()
        if kind < len(POLICIES):
            state = json.loads(json.dumps(made.state()))
            assert GangScheduler.restore(state).state() == made.state() and not made.notes
        before = after
