"""The options beyond the rules of workflows: by hand, on both engines, and what the checker says of lies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ENGINES

import ioopt
from ioopt.check.replication.check import check
from ioopt.cli.main import main
from ioopt.errors import NotApplicableError, SimulationError
from ioopt.problems.replay_options import DispatchOptions
from ioopt.problems.replication import ReplicationPlan
from ioopt.sim.replication.dispatch import dispatch, replay_record
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.dispatch import fifo

MB = 10**6


def instance(
    nodes: list[dict[str, Any]], files: dict[str, Any], tasks: list[dict[str, Any]], link: str,
    remote: float, replica: float,
) -> dict[str, Any]:  # fmt: skip
    """Files by name: megabytes, or those and what else the row says."""
    rows = [
        {"id": name, **({"bytes": size * MB} if isinstance(size, int) else size)}
        for name, size in files.items()
    ]
    return {
        "format": "ioopt/replication", "version": 1,
        "network": {"remote_bytes_per_second": remote * MB,
                    "replica_bytes_per_second": replica * MB, "remote_link": link},
        "nodes": [{"id": f"n{i}", **node} for i, node in enumerate(nodes)], "files": rows,
        "tasks": [{"compute_seconds": 1, **task} for task in tasks],
    }  # fmt: skip


OTHER = "python"


@pytest.fixture(autouse=True, params=ENGINES)
def _engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "OTHER", request.param)


def ends(data: dict[str, Any], order: dict[str, list[str]], **options: Any) -> float:
    """The makespan on both engines, which agree, of a replay that the checker accepts."""
    problem = ioopt.load(data)
    plan = ReplicationPlan.model_validate({"order": order, **options})
    ran = simulate(problem, plan, engine="python")
    assert check(problem, plan, ran.schedule).violations == ()
    assert simulate(problem, plan, engine=OTHER).schedule == ran.schedule
    return float(ran.metrics["makespan_seconds"])


def staging_head() -> dict[str, Any]:
    """a fetches 1,000 MB at 10 MB/s and computes 1 s; b of 50 s reads nothing; 2 cores."""
    tasks = [{"id": "a", "inputs": ["r"]}, {"id": "b", "compute_seconds": 50}]
    return instance([{"cores": 2}], {"r": 1000}, tasks, "shared", 10, 40)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_task_passes_a_head_that_is_staging(engine: Any) -> None:
    """a computes from 100 to 101 s; b runs beside it, 100 to 150 s, or from 0 to 50 s."""
    problem = ioopt.load(staging_head())
    for options, makespan, queue in (
        (DispatchOptions(), 150.0, ("a", "b")),
        (DispatchOptions(overtake=True), 101.0, ("b", "a")),
    ):
        plan, ran = dispatch(problem, fifo.decide, engine=engine, options=options)
        assert ran.metrics["makespan_seconds"] == makespan
        assert plan.order == {"n0": queue}
        assert [row[2] for row in plan.dispatches or ()] == ["a", "b"]
        assert check(problem, plan, ran.schedule).violations == ()
        assert replay_record(problem, plan, engine=engine).schedule == ran.schedule


def test_a_head_that_waits_for_cores_or_room_is_not_passed() -> None:
    """a has its inputs and waits for two cores; c may not pass. Nor b where its output leaves no room."""
    data = staging_head()
    data["tasks"] = [
        {"id": "s", "compute_seconds": 5}, {"id": "a", "compute_seconds": 1, "cores": 2},
        {"id": "c", "compute_seconds": 1},
    ]  # fmt: skip
    answers = [(0, 0), (1, 0), (2, 0)]
    with pytest.raises(SimulationError, match="'a' has not started, and it may not pass"):
        dispatch(
            ioopt.load(data), lambda view: answers.pop(0), engine="python", prefetch=True,
            options=DispatchOptions(overtake=True),
        )  # fmt: skip
    data = staging_head()
    data["nodes"][0]["disk_bytes"] = 1500 * MB
    data["files"].append({"id": "x", "bytes": 600 * MB})
    data["tasks"][1]["outputs"] = ["x"]
    _, ran = dispatch(
        ioopt.load(data), fifo.decide, engine="python", options=DispatchOptions(overtake=True)
    )
    # b starts at 101 s, after a: then r is dead and makes room.
    assert ran.metrics["makespan_seconds"] == 151.0


def test_a_task_that_passes_makes_room_beside_what_the_head_lacks() -> None:
    """1,000 MB, 400 of them old. a fetches 500 MB in 50 s and writes 200; b writes 100 at once.

    All of it is 1,200 MB: old, which nobody reads, goes as b starts (at 0 s), though b alone would
    leave it until a starts (at 50 s).
    """
    tasks = [
        {"id": "a", "inputs": ["r"], "outputs": ["y"]},
        {"id": "b", "compute_seconds": 70, "outputs": ["x"]},
    ]
    data = instance(
        [{"cores": 2, "disk_bytes": 1000 * MB, "holds": ["old"]}],
        {"old": 400, "r": 500, "y": 200, "x": 100}, tasks, "shared", 10, 40,
    )  # fmt: skip
    problem = ioopt.load(data)
    plan, ran = dispatch(
        problem, fifo.decide, engine="python", options=DispatchOptions(overtake=True)
    )
    assert [(row["file"], row["seconds"]) for row in ran.schedule["evictions"]] == [("old", 0)]
    assert ran.metrics["makespan_seconds"] == 70
    assert check(problem, plan, ran.schedule).violations == ()


def test_a_file_comes_from_the_source_with_the_least_load() -> None:
    """100 MB to 9 nodes at 100 MB/s, links of their own: n0 has it after 1 s; then eight copies share
    its interface for 8 s, or one copies and seven fetch, 1 s. Where two nodes hold it and two read it,
    both copy from n0 at half its rate, 2 s, or one from each, 1 s.
    """
    tasks = [{"id": f"t{i}", "compute_seconds": 0, "inputs": ["f"]} for i in range(9)]
    data = instance([{} for _ in tasks], {"f": 100}, tasks, "per-node", 100, 100)
    order = {f"n{i}": [f"t{i}"] for i in range(9)}
    assert ends(data, order) == pytest.approx(9.0)
    assert ends(data, order, sources="least-loaded") == pytest.approx(2.0)
    held = [{"holds": ["f"]}, {"holds": ["f"]}, {}, {}]
    data = instance(held, {"f": 100}, tasks[:2], "shared", 1, 100)
    order = {"n2": ["t0"], "n3": ["t1"]}
    assert ends(data, order) == pytest.approx(2.0)
    assert ends(data, order, sources="least-loaded") == pytest.approx(1.0)


def two_files(staging: int) -> dict[str, Any]:
    """a reads r (100 MB remote, 10 s) and g (100 MB on n1, 1 s)."""
    nodes = [{"staging": staging}, {"holds": ["g"]}]
    tasks = [{"id": "a", "inputs": ["r", "g"]}]
    return instance(nodes, {"r": 100, "g": 100}, tasks, "shared", 10, 100)


def waits_for_product(staging: int, disk: int | None) -> dict[str, Any]:
    """a waits for p (100 MB), which b makes on n1 within 10 s; behind it c reads r (100 MB)."""
    room = None if disk is None else disk * MB
    nodes = [{"cores": 2, "staging": staging, "disk_bytes": room}, {}]
    tasks = [
        {"id": "a", "inputs": ["p"]}, {"id": "b", "compute_seconds": 10, "outputs": ["p"]},
        {"id": "c", "inputs": ["r"]},
    ]  # fmt: skip
    return instance(nodes, {"p": 100, "r": 100}, tasks, "shared", 10, 100)


def test_several_files_come_in_at_once() -> None:
    """One after the other 10 + 1 s and 1 s of computing; at once r takes 10 of the 100 MB/s, g the
    rest.
    """
    assert ends(two_files(1), {"n0": ["a"]}) == pytest.approx(12.0)
    assert ends(two_files(2), {"n0": ["a"]}) == pytest.approx(11.0)


def test_files_come_for_tasks_behind_the_head_beside_what_it_lacks() -> None:
    """b ends at 10 s, p is there at 11 s. r comes from 11 to 21 s, or at once, to 10 s, if the disk
    has room for it beside p; with 190 MB it comes when p has gone, from 12 s on (a dead p makes room).
    """
    order = {"n0": ["a", "c"], "n1": ["b"]}
    assert ends(waits_for_product(1, None), order) == pytest.approx(22.0)
    assert ends(waits_for_product(2, None), order) == pytest.approx(12.0)
    assert ends(waits_for_product(2, 200), order) == pytest.approx(12.0)
    assert ends(waits_for_product(2, 190), order) == pytest.approx(23.0)


def at_risk() -> dict[str, Any]:
    """x (100 MB) of a has to leave the disk of 200 MB for y (150 MB) of b; then c reads x."""
    tasks = [
        {"id": "a", "outputs": ["x"]}, {"id": "b", "outputs": ["y"]}, {"id": "c", "inputs": ["x"]},
    ]  # fmt: skip
    nodes = [{"disk_bytes": 200 * MB}, {"disk_bytes": 120 * MB}, {"disk_bytes": 300 * MB}]
    return instance(nodes, {"x": 100, "y": 150}, tasks, "shared", 1, 100)


def test_what_is_at_risk_goes_to_a_node_with_room() -> None:
    """Saved at 1 MB/s from 1 to 101 s, b to 102 s, fetched to 202 s, c to 203 s; evacuated at 100
    MB/s to 2 s, b to 3 s, back to 4 s (y is dead), c to 5 s. The node with the most room takes it.
    """
    order = {"n0": ["a", "b", "c"]}
    assert ends(at_risk(), order) == pytest.approx(203.0)
    assert ends(at_risk(), order, evacuate=True) == pytest.approx(5.0)
    problem = ioopt.load(at_risk())
    plan = ReplicationPlan.model_validate({"order": order, "evacuate": True})
    ran = simulate(problem, plan, engine="python")
    assert [row["destination"] for row in ran.schedule["transfers"] if row.get("evacuated")] == [
        "n2"
    ]
    assert ran.metrics["spills"] == 0
    assert ran.metrics["replications"] == 2
    data = at_risk()
    for node in data["nodes"][1:]:
        node["disk_bytes"] = 90 * MB  # no room anywhere: it is saved after all
    assert ends(data, order, evacuate=True) == pytest.approx(203.0)


def test_what_is_at_risk_goes_to_its_reader_first() -> None:
    """c, on one of them, reads x: 250 MB (100 of them for c's x) are preferred to 300 or more."""
    for reader in (1, 2):
        data = at_risk()
        data["nodes"][1]["disk_bytes"] = data["nodes"][2]["disk_bytes"] = 300 * MB
        data["nodes"][reader]["disk_bytes"] = 250 * MB
        problem = ioopt.load(data)
        plan = ReplicationPlan.model_validate(
            {"order": {"n0": ["a", "b"], f"n{reader}": ["c"]}, "evacuate": True}
        )
        ran = simulate(problem, plan, engine="python")
        moved = [
            (row["destination"], bool(row.get("evacuated"))) for row in ran.schedule["transfers"]
        ]
        assert moved == [(f"n{reader}", True)]
        assert check(problem, plan, ran.schedule).violations == ()


def kept() -> dict[str, Any]:
    """k (100 MB, to keep) is made on n0 at 1 s, while r (100 MB) comes to n1 for c of 10 s."""
    tasks = [
        {"id": "a", "outputs": ["k"]}, {"id": "c", "compute_seconds": 10, "inputs": ["r"]},
    ]  # fmt: skip
    files = {"k": {"bytes": 100 * MB, "keep": True}, "r": 100}
    return instance([{}, {}], files, tasks, "shared", 10, 100)


def test_saves_wait_for_fetches() -> None:
    """r has 10 MB after 1 s, then half the link, 18 s: c from 19 to 29 s. Or r comes by 10 s, c ends
    at 20 s, and so does the save, from 10 s on.
    """
    order = {"n0": ["a"], "n1": ["c"]}
    assert ends(kept(), order) == pytest.approx(29.0)
    assert ends(kept(), order, saves="deferred") == pytest.approx(20.0)


def test_the_checker_sees_through_lies() -> None:
    """Schedules of one option checked as another's, or changed."""

    def rules(data: Any, order: Any, changed: Any = None, **told: Any) -> set[str]:
        problem = ioopt.load(data)
        schedule = simulate(problem, ReplicationPlan(order=order, **told.pop("ran", {}))).schedule
        if changed:
            changed(schedule)
        plan = ReplicationPlan(order=order, **told)
        return {found.rule for found in check(problem, plan, schedule).violations}

    order: Any = {"n0": ("a", "b", "c")}
    assert rules(at_risk(), order, ran={"evacuate": True}) == {"evacuation"}
    # Both copies from n0, though n1 was idle: slower than need be.
    tasks = [{"id": f"t{i}", "inputs": ["f"]} for i in range(2)]
    held = [{"holds": ["f"]}, {"holds": ["f"]}, {}, {}]
    data = instance(held, {"f": 100}, tasks, "shared", 1, 100)
    data["tasks"][1]["release_seconds"] = 0.5
    assert rules(data, {"n2": ("t0",), "n3": ("t1",)}, sources="least-loaded") == {"source"}
    assert rules(kept(), {"n0": ("a",), "n1": ("c",)}, saves="deferred") == {"save"}
    # Two files at once where one may come in.
    problem = ioopt.load(two_files(2))
    ran = simulate(problem, ReplicationPlan(order={"n0": ("a",)})).schedule
    found = check(ioopt.load(two_files(1)), ReplicationPlan(order={"n0": ("a",)}), ran).violations
    assert {item.rule for item in found} == {"transfer"}
    # For a task behind those that may be staged for.
    four = waits_for_product(4, None)
    four["tasks"] += [{"id": f"w{n}", "compute_seconds": 1, "inputs": ["p"]} for n in range(2)]
    order = {"n0": ("a", "w0", "w1", "c"), "n1": ("b",)}
    ran = simulate(ioopt.load(four), ReplicationPlan(order=order)).schedule
    four["nodes"][0]["staging"] = 2
    found = check(ioopt.load(four), ReplicationPlan(order=order), ran).violations
    assert {item.rule for item in found} == {"staging"}


def test_a_false_overtaking_is_found() -> None:
    """b is said to pass a head that lacks nothing: r is held from the start."""
    data = staging_head()
    data["nodes"][0] |= {"holds": ["r"], "cores": 2}
    data["tasks"][0] |= {"cores": 2, "release_seconds": 0}
    plan = ReplicationPlan.model_validate(
        {"order": {"n0": ["b", "a"]}, "overtake": True, "prefetch": True,
         "dispatches": [[0, "a", "n0"], [0, "b", "n0"]]}
    )  # fmt: skip
    rows = [
        {"id": "b", "node": "n0", "start_seconds": 0.0, "end_seconds": 50.0},
        {"id": "a", "node": "n0", "start_seconds": 50.0, "end_seconds": 51.0},
    ]
    problem = ioopt.load(data)
    schedule = {"tasks": rows, "transfers": [], "evictions": []}
    found = check(problem, plan, schedule).violations
    # At 0 s nobody can tell what came first; a little later it is plain.
    assert found == ()
    late = plan.model_copy(update={"dispatches": ((0.0, 0, "a", "n0"), (0.5, 0, "b", "n0"))})
    rows[0] |= {"start_seconds": 0.5, "end_seconds": 50.5}
    rows[1] |= {"start_seconds": 50.5, "end_seconds": 51.5}
    found = check(problem, late, schedule).violations
    assert {item.rule for item in found} == {"dispatch"}


def test_options_stand_in_plans_only_where_they_are_set() -> None:
    plain = ReplicationPlan(order={"n0": ("a",)}).to_dict()
    assert not set(plain) & {"sources", "evacuate", "saves", "overtake"}
    chosen = ReplicationPlan(order={"n0": ("a",)}, sources="least-loaded", overtake=True).to_dict()
    assert chosen["sources"] == "least-loaded"
    assert chosen["overtake"] is True
    assert "staging" not in ioopt.load(two_files(1)).model_dump()["nodes"][0]
    assert ioopt.load(two_files(3)).model_dump()["nodes"][0]["staging"] == 3


@pytest.mark.parametrize("solver", ["heft", "locality", "link-aware", "rolling"])
def test_solvers_take_the_options(solver: str) -> None:
    result = ioopt.solve(at_risk(), solver, settings={"evacuate": True}, time_limit=None)
    assert result.plan is not None
    assert result.plan["evacuate"] is True
    assert result.violations == ()
    assert ioopt.check(at_risk(), result) == []


def test_link_aware_searches_with_the_options() -> None:
    """All on n0, with x evacuated, would be 5 s; two tasks beside each other on two nodes are less."""
    best = ioopt.solve(at_risk(), "link-aware", settings={"evacuate": True}, time_limit=None)
    heft = ioopt.solve(at_risk(), "heft", settings={"evacuate": True}, time_limit=None)
    assert best.metrics["makespan_seconds"] <= heft.metrics["makespan_seconds"]


def test_the_exact_search_says_that_it_stages_one_file_at_a_time() -> None:
    with pytest.raises(NotApplicableError, match="staging above 1"):
        ioopt.solve(two_files(2), "exact-workflow")


def test_the_commands_take_the_options(tmp_path: Path, capsys: Any) -> None:
    file, out = tmp_path / "w.json", tmp_path / "r.json"
    file.write_text(json.dumps(at_risk()))
    out.write_text(json.dumps({"plan": {"order": {"n0": ["a", "b", "c"]}}}))
    how = ["--set", "evacuate=true", "--format", "json"]
    assert main(["simulate", str(file), str(out), *how]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["makespan_seconds"] == pytest.approx(5.0)
    file.write_text(json.dumps(staging_head()))
    made = tmp_path / "d.json"
    way = ["--set", "mode=dispatch", "--set", "overtake=true", "-o", str(made)]
    assert main(["solve", str(file), "--solver", "fifo", *way]) == 0
    capsys.readouterr()
    assert main(["check", str(file), str(made)]) == 0
    assert json.loads(made.read_text())["plan"]["overtake"] is True
    policy = ["simulate", str(file), "--policy", "fifo", "--format", "json"]
    capsys.readouterr()
    assert main([*policy, "--set", "overtake=true"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["makespan_seconds"] == 101.0
    assert main(["simulate", str(file), str(made), "--set", "evacuate=true"]) == 2
    assert main([*policy, "--set", "sources=nearest"]) == 2
    assert main(["simulate", str(file), str(out), "--set", "overtake=true"]) == 2
