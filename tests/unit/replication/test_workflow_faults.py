"""Corners of the rules that a wrong simulator once passed by, or that random
replays do not meet.

Each is small enough for a pencil. Of workflows 10 bytes a second come from remote
storage, 40 go between nodes.
"""

from typing import Any

import pytest
from conftest import ENGINES
from replication_samples import document, made

import ioopt
from ioopt.check.replication.check import check
from ioopt.decisions.replication import DispatchView, Pair
from ioopt.errors import SimulationError
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.dispatch import fifo


def test_what_an_unassigned_task_reads_goes_before_what_another_node_waits_for() -> (
    None
):
    """Rule 7: n0 holds x and y, 20 of 25 bytes, when a is to write 10.

    b, given to n1 at 0 s and fetching z until 8 s, reads x: place 0. c, which
    arrives at 1 s, reads y: farther than any place, so y goes, although x
    comes first in the file.
    """
    tasks = {
        "b": (1, "zx"),
        "a": (1, "", "o"),
        "c": (1, "y", "", {"release_seconds": 1}),
    }
    nodes = [{"disk_bytes": 25, "holds": ["x", "y"]}, {}]
    problem = made(nodes, {"x": 10, "y": 10, "z": 80, "o": 10}, tasks, replica=40)
    pairs: list[Pair] = [(0, 1), (1, 0)]

    def decide(view: DispatchView) -> Pair | None:
        return pairs.pop(0) if pairs else fifo(view)

    plan, ran = dispatch(problem, decide, engine="python")
    assert ran.schedule["evictions"][0] == {"file": "y", "node": "n0", "seconds": 0.0}
    assert check(problem, plan, ran.schedule).violations == ()


def test_what_nobody_reads_is_saved_before_what_a_task_still_to_be_assigned_reads() -> (
    None
):
    """Rule 7: a leaves q (for c) and p (to keep, read by nobody) on 25
    bytes; b is to write 10.

    Both are at risk. p is farther, dead: its save, 1-2 s, makes room, b 2-3 s and no
    spill. c has to wait for b's core, 3-4 s.
    """
    tasks = {"a": (1, "", "qp"), "b": (1, "", "r"), "c": (1, "q")}
    data = document(
        [{"disk_bytes": 25}], {"q": 10, "p": 10, "r": 10}, tasks, replica=40
    )
    data["files"][1]["keep"] = True
    problem = ioopt.load(data)
    plan, ran = dispatch(problem, fifo, engine="python", prefetch=True)
    assert [
        (row["file"], row["start_seconds"]) for row in ran.schedule["transfers"]
    ] == [("p", 1)]
    assert ran.metrics["spills"] == 0 and ran.metrics["makespan_seconds"] == 4
    assert check(problem, plan, ran.schedule).violations == ()


def test_a_request_stands_though_a_later_file_can_start() -> None:
    """Rule 8: b needs x (20 bytes), then y (5), on 35 bytes that hold q
    (20, at risk) and s (5).

    At 1 s, when b arrives, x needs s and q: q is requested. y needs nobody's room and
    starts in the same turn, and so does the save of q.
    """
    tasks = {
        "a": (1, "", "q"),
        "b": (1, "xy", "", {"release_seconds": 1}),
        "c": (1, "qs"),
    }
    nodes = [{"disk_bytes": 35, "holds": ["s"]}]
    problem = made(nodes, {"q": 20, "s": 5, "x": 20, "y": 5}, tasks, replica=40)
    plan = ReplicationPlan(order={"n0": ("a", "b", "c")})
    ran = simulate(problem, plan, engine="python")
    rows = [
        (row["file"], row["source"], row["start_seconds"])
        for row in ran.schedule["transfers"]
    ]
    assert rows[:2] == [("y", None, 1.0), ("q", "n0", 1.0)]
    assert ran.metrics["spills"] == 1
    assert check(problem, plan, ran.schedule).violations == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_spill_that_outlasts_the_makespan_ends_and_counts(engine: Any) -> None:
    """Rule 19: q and z fill 200 of 250 bytes, d reads z on the other
    core; b is to write 100.

    At 1 s only q could go: its save takes 10 s. d ends at 2 s, z is dead and
    makes room: b 2-3 s, c beside it, as it writes nothing. The save has its row
    and its bytes all the same.
    """
    tasks = {"a": (1, "", "q"), "d": (2, "z"), "b": (1, "", "r"), "c": (1, "q")}
    nodes = [{"disk_bytes": 250, "holds": ["z"], "cores": 2}]
    problem = made(nodes, {"q": 100, "z": 100, "r": 100}, tasks, replica=40)
    plan = ReplicationPlan(order={"n0": ("a", "d", "b", "c")})
    ran = simulate(problem, plan, engine=engine)
    ends = {row["id"]: row["end_seconds"] for row in ran.schedule["tasks"]}
    assert ends == {"a": 1, "d": 2, "b": 3, "c": 3}
    (save,) = ran.schedule["transfers"]
    assert (save["file"], save["destination"]) == ("q", None)
    assert (save["start_seconds"], save["end_seconds"]) == (1, 11)
    assert ran.metrics["makespan_seconds"] == 3
    assert (ran.metrics["spills"], ran.metrics["saved_bytes"]) == (1, 100)
    assert check(problem, plan, ran.schedule).violations == ()


def test_a_planned_end_that_has_passed_is_now() -> None:
    """Rule 12: a was to end at 2 s and computes 9; when b ends, at 6 s,
    its planned end is 6 s.
    """
    problem = made([{"cores": 2}], {}, {"a": (2,), "b": (6,), "c": (1,)}, replica=40)
    seen: dict[float, Any] = {}

    def look(view: DispatchView) -> Pair | None:
        ends = [(row.task, row.end_seconds) for row in view.computing(0)]
        seen.setdefault(view.now, (list(view.core_times(0)), ends))
        return fifo(view)

    dispatch(problem, look, engine="python", actual={"a": 9.0})
    assert seen[6.0] == ([6.0, 6.0], [(0, 6.0)])


def test_the_limit_asks_for_the_cores_of_the_head() -> None:
    """One of two cores idles, the head takes two: r, which c still reads, stays
    until w ends at 11 s.

    a reads r 0-2, then w computes 2-11; g of the head b would fit
    from 2 s on if r went.
    """
    tasks = {"a": (0, "r"), "w": (9,), "b": (1, "g", "", {"cores": 2}), "c": (1, "r")}
    nodes = [{"disk_bytes": 40, "cores": 2}]
    problem = made(nodes, {"r": 20, "g": 30}, tasks, replica=40)
    rows = simulate(
        problem, ReplicationPlan(order={"n0": ("a", "w", "b", "c")}), engine="python"
    )
    assert next((r["file"], r["seconds"]) for r in rows.schedule["evictions"]) == (
        "r",
        11.0,
    )


def test_a_copy_before_its_writer_is_a_deadlock() -> None:
    """The copy of x waits for a, which stands behind it."""
    problem = made(1, {"x": 20}, {"a": (1, "", "x")}, replica=40)
    plan = ReplicationPlan.model_validate({"order": {"n0": [{"copy": "x"}, "a"]}})
    with pytest.raises(SimulationError, match="'copy of x'"):
        simulate(problem, plan, engine="python")


def _problem(
    sizes: dict[str, int], holds: list[list[str]], tasks: list[Any]
) -> ReplicationProblem:
    """Nodes with disks of 6 bytes, a link of 1 byte/s, copies at 1 byte/s."""
    nodes = [{"disk_bytes": 6, "holds": held} for held in holds]
    return made(
        nodes, sizes, {f"t{k}": (9, files) for k, files in enumerate(tasks)}, 1, 1
    )


def _evicted(
    problem: ReplicationProblem, order: dict[str, list[str]], policy: str
) -> list[Any]:
    plan = ReplicationPlan.model_validate({"order": order, "eviction": policy})
    schedule = simulate(problem, plan, engine="python").schedule
    return [
        (row["file"], row["node"])
        for row in schedule["evictions"]
        if row["seconds"] == 0
    ]


def test_popularity_divides_by_the_copies() -> None:
    """(22) on n0, which needs 2 bytes for c: a is worth 2 x 2 / 2 copies
    = 2, b 1 x 3 / 1 = 3.

    Without the copies a would be worth 4 and b would go.
    """
    problem = _problem(
        {"a": 2, "b": 3, "c": 3}, [["a", "b"], ["a"]], [["c"], ["b"], ["a"], ["a"]]
    )
    order = {"n0": ["t0", "t1"], "n1": ["t2", "t3"]}
    assert _evicted(problem, order, "popularity") == [("a", "n0")]


@pytest.mark.parametrize("policy", ["popularity", "lru", "farthest-next-use"])
def test_equal_victims_leave_by_their_index(policy: str) -> None:
    """x and y are alike in every respect; x stands first in the instance."""
    problem = _problem({"x": 3, "y": 3, "c": 3}, [["y", "x"]], [["c"]])
    assert _evicted(problem, {"n0": ["t0"]}, policy) == [("x", "n0")]


def test_a_copy_in_flight_is_no_copy_yet() -> None:
    """(22) on n2, which needs 3 bytes for c, while a flies from n0 to n1, 0-4 s.

    a (4 bytes, 3 readers) has two complete copies: 3 x 4 / 2 = 6; b (5 bytes, 1 reader)
    5 / 1 = 5 goes. With the copy in flight a would be worth 3 x 4 / 3 = 4 and would go.
    """
    nodes = [{"holds": ["a"]}, {}, {"disk_bytes": 9, "holds": ["a", "b"]}]
    tasks = {
        "t0": (9, "a"),
        "t1": (9, "a"),
        "t2": (9, "a"),
        "t3": (9, "c"),
        "t4": (9, "b"),
    }
    problem = made(nodes, {"a": 4, "b": 5, "c": 3}, tasks, 1, 1)
    order = {"n1": ["t0", "t1", "t2"], "n2": ["t3", "t4"]}
    plan = ReplicationPlan.model_validate({"order": order, "eviction": "popularity"})
    schedule = simulate(problem, plan, engine="python").schedule
    flight = next(row for row in schedule["transfers"] if row["file"] == "a")
    assert (flight["source"], flight["destination"]) == ("n0", "n1")
    first = schedule["evictions"][0]
    assert flight["start_seconds"] <= first["seconds"] < flight["end_seconds"]
    assert (first["file"], first["node"]) == ("b", "n2")
