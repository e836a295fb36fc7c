"""The options beyond the rules of a replay: by hand, on both engines, and what the
checker says of lies.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ENGINES
from replication_samples import document

import ioopt
from ioopt.checks.replication.check import check
from ioopt.errors import NotApplicableError, SimulationError
from ioopt.generate.replication.generate import generate
from ioopt.problems.replication import ReplicationPlan
from ioopt.sim.replication.simulate import simulate

MB = 10**6


OTHER = "python"


@pytest.fixture(autouse=True, params=ENGINES)
def _engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "OTHER", request.param)


def ends(data: dict[str, Any], order: dict[str, list[str]], **options: Any) -> float:
    """The makespan on both engines, which agree, of a replay that
    the checker accepts.
    """
    problem = ioopt.load(data)
    plan = ReplicationPlan.model_validate({"order": order, **options})
    ran = simulate(problem, plan, engine="python")
    assert check(problem, plan, ran.schedule).violations == ()
    assert simulate(problem, plan, engine=OTHER).schedule == ran.schedule
    return float(ran.metrics["makespan_seconds"])


def test_a_file_comes_from_the_source_with_the_least_load() -> None:
    """100 MB to 9 nodes at 100 MB/s, links of their own: n0 has it after 1 s; then
    eight copies share its interface for 8 s, or one copies and seven fetch, 1 s.
    Where two nodes hold it and two read it, both copy from n0 at half its rate, 2 s,
    or one from each, 1 s.
    """
    tasks = {f"t{i}": (0, "f") for i in range(9)}
    data = document(9, {"f": 100 * MB}, tasks, 100 * MB, 100 * MB)
    data["network"]["remote_link"] = "per-node"
    order = {f"n{i}": [f"t{i}"] for i in range(9)}
    assert ends(data, order) == pytest.approx(9.0)
    assert ends(data, order, sources="least-loaded") == pytest.approx(2.0)
    data = two_holders()
    order = {"n2": ["t0"], "n3": ["t1"]}
    assert ends(data, order) == pytest.approx(2.0)
    assert ends(data, order, sources="least-loaded") == pytest.approx(1.0)


def two_files(staging: int) -> dict[str, Any]:
    """a reads r (100 MB remote, 10 s) and g (100 MB on n1, 1 s)."""
    nodes = [{"staging": staging}, {"holds": ["g"]}]
    return document(
        nodes, {"r": 100 * MB, "g": 100 * MB}, {"a": (1, "rg")}, 10 * MB, 100 * MB
    )


def waits_for_product(staging: int) -> dict[str, Any]:
    """a waits for p (100 MB), which b makes on n1 within 10 s; behind
    it c reads r (100 MB).
    """
    nodes = [{"cores": 2, "staging": staging}, {}]
    tasks = {"a": (1, "p"), "b": (10, "", "p"), "c": (1, "r")}
    return document(nodes, {"p": 100 * MB, "r": 100 * MB}, tasks, 10 * MB, 100 * MB)


def test_a_slow_disk_bounds_what_comes_and_what_is_sent() -> None:
    """A copy of 100 MB takes 1 s, from a disk of 25 MB/s 4 s; two from it 8
    s, one from each 4 s.
    """
    data = two_holders()
    for node in data["nodes"][:2]:
        node["disk_bytes_per_second"] = 25 * MB
    assert ends(data, {"n2": ["t0", "t1"]}) == pytest.approx(4.0)
    assert ends(data, {"n2": ["t0"], "n3": ["t1"]}) == pytest.approx(8.0)
    apart = {"n2": ["t0"], "n3": ["t1"]}
    assert ends(data, apart, sources="least-loaded") == pytest.approx(4.0)
    data["nodes"][0]["disk_bytes_per_second"] = 200 * MB
    assert ends(data, {"n2": ["t0", "t1"]}) == pytest.approx(1.0)


ROOMS = document(
    [{"disk_bytes": 100}],
    {"f": 60, "g": 30, "h": 50},
    {"a": (1, "f"), "b": (1, "fg"), "c": (1, "h")},
)
ROOM_ORDER = {"n0": ["a", "b", "c"]}


@pytest.mark.parametrize(
    ("room", "end"), [("missing", 16), ("next", 23), ("largest", 23), ("mean", 23)]
)
def test_room_for_a_task_evicts_its_own_inputs_too(room: str, end: float) -> None:
    """f comes by 6 s and g, beside the computing of a, by 9; b ends at 10, h comes
    by 15, c ends at 16.

    Where room for 90 bytes, or 70 (the mean of b and c), is made once a has ended, at
    7, f comes again by 13, g by 16, h, once b has ended, by 22.
    """
    assert ends(ROOMS, ROOM_ORDER, room=room, eviction="popularity") == pytest.approx(
        end
    )


UNEQUAL = document(
    [{"disk_bytes": 100}],
    {"f": 40, "g": 10, "h": 70},
    {"a": (1, "f"), "b": (1, "fg"), "c": (1, "h")},
)


@pytest.mark.parametrize(
    ("room", "end", "fetched"),
    [("missing", 14, 3), ("next", 15, 3), ("mean", 15, 3), ("largest", 19, 4)],
)
def test_room_for_a_mean_task_is_less_than_for_the_largest(
    room: str, end: float, fetched: int
) -> None:
    """f comes by 4 s, a ends at 5. b needs 50 bytes and c 70, 60 on average: f, 40
    bytes, stays beside 50 or 60 free bytes, g comes by 6, b ends at 7, and c, once f
    has left, at 15. Beside 70 it leaves at 5: f and g come by 10, b ends at 11, c at
    19. Without room, g comes while a computes and h from 6 on: 14.

    MinMin, which commits a, b and c in this order, plans and replays the same.
    """
    assert ends(UNEQUAL, ROOM_ORDER, room=room, eviction="popularity") == pytest.approx(
        end
    )
    result = ioopt.solve(UNEQUAL, "minmin", settings={"room": room})
    assert result.plan is not None
    assert result.plan["order"] == ROOM_ORDER
    assert len(result.plan["remote"]) == fetched
    assert result.metrics["makespan_seconds"] == pytest.approx(end)
    assert ioopt.check(UNEQUAL, result) == []


def pair(links: str = "per-node") -> dict[str, Any]:
    """Two nodes read f, 100 MB: 10 s from the storage, 1 s from each other."""
    tasks = {"t0": (0, "f"), "t1": (0, "f")}
    data = document(3, {"f": 100 * MB}, tasks, 10 * MB, 100 * MB)
    data["network"]["remote_link"] = links
    return data


def test_the_moves_of_a_plan_are_carried_out() -> None:
    """Both fetch at once, 10 s; on demand the second waits and copies, 11 s; two copies
    of what a third node fetched share its interface, 12 s.
    """
    order = {"n0": ["t0"], "n1": ["t1"]}
    both = {"remote": [["f", "n0"], ["f", "n1"]], "carry_out": True}
    assert ends(pair(), order) == pytest.approx(11.0)
    assert ends(pair(), order, **both) == pytest.approx(10.0)
    sent = {"remote": [["f", "n2"]], "copies": [["f", "n2", "n0"], ["f", "n2", "n1"]]}
    assert ends(pair(), order, **sent, carry_out=True) == pytest.approx(12.0)
    result = ioopt.solve("cycle3", "ip", settings={"moves": "plan"}, time_limit=20)
    assert result.violations == ()
    assert result.metrics["replications"] == len(result.plan["copies"])  # type: ignore[index]


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (
            {"copies": [["f", "n1", "n0"], ["f", "n0", "n1"]]},
            "no move of the plan brings f",
        ),
        ({"remote": [["f", "n0"], ["f", "n1"], ["f", "n2"]]}, "where no task reads it"),
        (
            {"remote": [["f", "n0"]], "moves": "replay"},
            "moves of a replay cannot be carried out",
        ),
        (
            {"rounds": [{"tasks": ["t0", "t1"]}]},
            "rounds without barriers cannot be carried out",
        ),
        ({"remote": [["f", "n9"]]}, "there is no node 'n9'"),
    ],
)
def test_moves_that_cannot_be_carried_out_are_refused(
    told: dict[str, Any], message: str
) -> None:
    plan = {"order": {"n0": ["t0"], "n1": ["t1"]}, "carry_out": True, **told}
    with pytest.raises(SimulationError, match=message):
        simulate(ioopt.load(pair()), ReplicationPlan.model_validate(plan))


def test_the_rounds_of_the_paper_are_carried_out_with_and_without_copies() -> None:
    problem = generate("image-85", {"tasks": 24, "link": "per-node"}, 0)
    how = {"moves": "plan", "effort": 0.02, "room": "largest"}
    ran = [
        ioopt.solve(problem, "two-stage", settings={**how, "replication": copies})
        for copies in (True, False)
    ]
    assert [result.violations for result in ran] == [(), ()]
    assert ran[0].metrics["replications"] > 0 == ran[1].metrics["replications"]
    assert ran[0].metrics["makespan_seconds"] < ran[1].metrics["makespan_seconds"]


def test_the_checker_sees_through_lies() -> None:
    """Schedules of one option checked as another's, or changed."""

    def rules(data: Any, order: Any, **told: Any) -> set[str]:
        problem = ioopt.load(data)
        schedule = simulate(problem, ReplicationPlan(order=order)).schedule
        plan = ReplicationPlan(order=order, **told)
        return {found.rule for found in check(problem, plan, schedule).violations}

    # Both copies from n0, though n1 was idle: slower than need be.
    data = two_holders()
    data["tasks"][1]["release_seconds"] = 0.5
    assert rules(data, {"n2": ("t0",), "n3": ("t1",)}, sources="least-loaded") == {
        "source"
    }
    # Room that was not made, and transfers that are not the plan's.
    assert rules(ROOMS, ROOM_ORDER, room="next") == {"room"}
    both = {"remote": (("f", "n0"), ("f", "n1")), "carry_out": True}
    assert rules(pair(), {"n0": ("t0",), "n1": ("t1",)}, **both) == {"carry out"}
    # Two files at once where one may come in.
    problem = ioopt.load(two_files(2))
    ran = simulate(problem, ReplicationPlan(order={"n0": ("a",)})).schedule
    found = check(
        ioopt.load(two_files(1)), ReplicationPlan(order={"n0": ("a",)}), ran
    ).violations
    assert {item.rule for item in found} == {"transfer"}
    # For a task behind those that may be staged for.
    four = waits_for_product(4)
    four["tasks"] += [
        {"id": f"w{n}", "compute_seconds": 1, "inputs": ["p"]} for n in range(2)
    ]
    order: Any = {"n0": ("a", "w0", "w1", "c"), "n1": ("b",)}
    ran = simulate(ioopt.load(four), ReplicationPlan(order=order)).schedule
    four["nodes"][0]["staging"] = 2
    found = check(ioopt.load(four), ReplicationPlan(order=order), ran).violations
    assert {item.rule for item in found} == {"staging"}


def test_options_stand_in_plans_only_where_they_are_set() -> None:
    plain = ReplicationPlan(order={"n0": ("a",)}).to_dict()
    assert not {"sources", "room", "carry_out", "dispatches", "prefetch"} & plain.keys()
    chosen = ReplicationPlan(order={"n0": ("a",)}, sources="least-loaded").to_dict()
    assert chosen["sources"] == "least-loaded"
    assert "staging" not in ioopt.load(two_files(1)).model_dump()["nodes"][0]
    assert ioopt.load(two_files(3)).model_dump()["nodes"][0]["staging"] == 3


def two_holders() -> dict[str, Any]:
    """Two tasks on two nodes read what the two other nodes hold."""
    held = [{"holds": ["f"]}, {"holds": ["f"]}, {}, {}]
    return document(
        held, {"f": 100 * MB}, {"t0": (0, "f"), "t1": (0, "f")}, MB, 100 * MB
    )


@pytest.mark.parametrize(
    "solver",
    [
        "heft",
        "locality",
        "link-aware",
        "rolling",
        "minmin",
        "two-stage",
        "job-data-present",
    ],
)
def test_solvers_take_the_options(solver: str) -> None:
    how = {"sources": "least-loaded"}
    result = ioopt.solve(two_holders(), solver, settings=how, time_limit=None)
    assert result.plan is not None
    assert result.plan["sources"] == "least-loaded"
    assert result.violations == ()
    assert ioopt.check(two_holders(), result) == []


def test_the_exact_search_says_that_it_stages_one_file_at_a_time() -> None:
    with pytest.raises(NotApplicableError, match="staging above 1"):
        ioopt.solve(two_files(2), "exact-workflow")


def test_the_commands_take_the_options(run: Any, tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text(json.dumps(two_holders()))
    plan = {"order": {"n2": ["t0"], "n3": ["t1"]}}
    (tmp_path / "r.json").write_text(json.dumps({"plan": plan}))
    replay = ["simulate", "w.json", "r.json", "--format", "json", "--set"]
    code, out, _ = run(*replay, "sources=least-loaded")
    assert code == 0
    assert json.loads(out)["metrics"]["makespan_seconds"] == pytest.approx(1.0)
    assert run(*replay, "moves=plan")[0] == 5  # the plan states no moves
    assert run(*replay, "room=next", "--set", "barriers=no")[0] == 0
    assert run(*replay, "sources=nearest")[0] == run(*replay, "overtake=true")[0] == 2
    way = ["--set", "mode=dispatch", "--set", "sources=least-loaded", "-o", "d.json"]
    assert run("solve", "w.json", "--solver", "fifo", *way)[0] == 0
    assert run("check", "w.json", "d.json")[0] == 0
    assert (
        json.loads((tmp_path / "d.json").read_text())["plan"]["sources"]
        == "least-loaded"
    )
    assert run("simulate", "w.json", "d.json", "--set", "sources=least-loaded")[0] == 2
