"""Bound plans in other schedulers: runs by name, and the planner that follows them."""

from __future__ import annotations

from typing import Any

import pytest

import ioopt
from ioopt.embed import PlanRun, ReplicationPlanner
from ioopt.embed.bound import Act
from ioopt.errors import InstanceError, UsageError
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem

NETWORK = {"remote_bytes_per_second": 10.0, "replica_bytes_per_second": 100.0}
FILES = [{"id": name, "bytes": 60} for name in "fgh"]


def task(name: str, *inputs: str) -> dict[str, Any]:
    return {"id": name, "compute_seconds": 1.0, "inputs": list(inputs)}


TASKS = [task(f"t{k}", "fgh"[k % 3]) for k in range(9)]


def planner(disk: int | None = 120, **options: Any) -> ReplicationPlanner:
    nodes = [{"id": "n0", "disk_bytes": disk}, {"id": "n1", "disk_bytes": disk}]
    settings = {"moves": "schedule"}
    return ReplicationPlanner(
        NETWORK, nodes, FILES, solver="minmin", settings=settings, **options
    )


class Disks:
    """Carry acts out one after the other, and hold the disks to what they ask for."""

    def __init__(self, disk: int | None = None) -> None:
        self.disk = disk
        self.on: dict[str, set[str]] = {"n0": set(), "n1": set()}
        self.ran: list[str] = []
        self.sent: list[tuple[str, str, str | None]] = []

    def carry_out(self, act: Act) -> None:
        here = self.on[act.node]
        file = str(act.file)
        if act.kind == "transfer":
            assert act.source is None or file in self.on[act.source]
            assert file not in here
            here.add(file)
            self.sent.append((act.node, file, act.source))
            assert self.disk is None or 60 * len(here) <= self.disk
        elif act.kind == "eviction":
            here.remove(file)
        else:
            assert act.kind == "task" and act.task is not None
            assert set(next(t["inputs"] for t in TASKS if t["id"] == act.task)) <= here
            self.ran.append(act.task)


def drain(plan: ReplicationPlanner, disks: Disks) -> None:
    while acts := plan.acts():
        for act in acts:
            plan.started(act)
        for act in acts:
            disks.carry_out(act)
            plan.ended(act)


@pytest.mark.parametrize("disk", [None, 60, 120])
def test_the_planner_hands_out_the_acts_of_its_plan(disk: int | None) -> None:
    plan = planner(disk)
    assert plan.submit(TASKS).value == 9
    disks = Disks(disk)
    drain(plan, disks)
    assert sorted(disks.ran) == sorted(row["id"] for row in TASKS)
    nodes = [{"id": name, "disk_bytes": disk} for name in ("n0", "n1")]
    problem = ReplicationProblem.model_validate(
        {"network": NETWORK, "nodes": nodes, "files": FILES, "tasks": TASKS}
    )
    bound = ioopt.solve(problem, "minmin", settings={"moves": "schedule"}).plan
    assert bound is not None
    assert sorted(map(str, disks.sent)) == sorted(str(tuple(r)) for r in bound["moves"])
    for node in ("n0", "n1"):
        mine = [row[1:] for row in disks.sent if row[0] == node]
        assert mine == [tuple(row[1:]) for row in bound["moves"] if row[0] == node]


def test_acts_say_what_they_wait_for() -> None:
    plan = planner()
    plan.submit(TASKS)
    for act in plan.acts():
        assert act.after_end == () and act.after_start == ()
    first = plan.acts()[0]
    assert (first.kind, first.source) == ("transfer", None)
    plan.started(first)
    with pytest.raises(UsageError, match="cannot start now"):
        plan.started(first)
    assert plan.under_way == (first,)
    plan.ended(first)
    with pytest.raises(UsageError, match="it is not under way"):
        plan.ended(first)
    with pytest.raises(UsageError, match="the plan is bound; take acts"):
        plan.next("n0")


def test_a_new_plan_waits_for_what_is_under_way() -> None:
    plan = planner(120)
    disks = Disks(120)
    plan.submit(TASKS[:6])
    first = plan.acts()[0]
    plan.started(first)
    decision = plan.submit(TASKS[6:])
    assert "1 act under way; call plan() once they have ended" in decision.notes
    assert plan.notes == decision.notes
    assert plan.acts() == ()
    with pytest.raises(UsageError, match="belongs to no plan that runs"):
        plan.started(first)
    disks.carry_out(first)
    plan.ended(first)
    assert plan.plan().value == 9
    drain(plan, disks)
    assert sorted(disks.ran) == sorted(row["id"] for row in TASKS)


def test_what_a_lost_node_did_is_done_again() -> None:
    plan = planner(None)
    plan.submit(TASKS)
    disks = Disks()
    acts = plan.acts()
    for act in acts:
        plan.started(act)
    plan.lost("n1")
    for act in acts:
        plan.ended(act)
        if act.node == "n0":
            disks.carry_out(act)
    plan.plan()
    drain(plan, disks)
    assert sorted(disks.ran) == sorted(row["id"] for row in TASKS)


def test_the_acts_of_a_lost_node_end_with_it() -> None:
    plan = planner(None)
    plan.submit(TASKS)
    acts = plan.acts()
    for act in acts:
        assert act.node == "n0"
        plan.started(act)
    plan.lost("n0")
    assert plan.notes == () and plan.under_way == () and plan.acts()
    plan.ended(acts[0])  # a late message, of what was lost
    plan.failed(acts[0])
    disks = Disks()
    drain(plan, disks)
    assert sorted(disks.ran) == sorted(row["id"] for row in TASKS)


@pytest.mark.parametrize("kind", ["transfer", "task", "eviction"])
@pytest.mark.parametrize("by_name", [False, True])
def test_an_act_that_fails_is_done_again(kind: str, by_name: bool) -> None:
    plan = planner(60)
    plan.submit(TASKS)
    disks = Disks(60)
    failed = None
    while failed is None:
        for act in plan.acts():
            plan.started(act)
            if act.kind == kind:
                failed = act
                break
            disks.carry_out(act)
            plan.ended(act)
    what = failed.task if by_name and failed.task is not None else failed
    assert plan.failed(what).value > 0
    assert plan.notes == () and plan.under_way == ()
    with pytest.raises(UsageError, match=r"is not under way|is not running"):
        plan.failed(what)
    drain(plan, disks)
    assert sorted(disks.ran) == sorted(row["id"] for row in TASKS)


def test_an_act_that_is_none_is_named() -> None:
    plan = planner()
    plan.submit(TASKS)
    with pytest.raises(UsageError, match="act: number: Field required"):
        plan.started({"kind": "transfer", "node": "n0"})


def test_a_solver_that_fails_is_replaced_by_a_bound_greedy_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*args: object, **kwargs: object) -> object:
        raise RuntimeError("broken")

    monkeypatch.setattr("ioopt.embed.replication.solve", broken)
    plan = planner()
    assert "answered by the greedy" in plan.submit(TASKS).notes[0]
    disks = Disks(120)
    drain(plan, disks)
    assert sorted(disks.ran) == sorted(row["id"] for row in TASKS)


def test_without_the_setting_there_are_no_acts() -> None:
    plan = ReplicationPlanner(NETWORK, [{"id": "n0"}], FILES, solver="minmin")
    plan.submit(TASKS)
    with pytest.raises(UsageError, match="only with the setting moves=schedule"):
        plan.acts()


def test_a_restored_planner_plans_anew() -> None:
    plan = planner()
    plan.submit(TASKS)
    again = ReplicationPlanner.restore(plan.state())
    assert again.acts() == ()
    again.plan()
    disks = Disks(120)
    drain(again, disks)
    assert sorted(disks.ran) == sorted(row["id"] for row in TASKS)


# runs of a plan of its own


def _workflow() -> dict[str, Any]:
    return {
        "network": NETWORK,
        "nodes": [{"id": "a"}],
        "files": [{"id": "x", "bytes": 30, "keep": True}],
        "tasks": [
            {
                "id": "p",
                "compute_seconds": 1.0,
                "outputs": ["x"],
                "release_seconds": 2.0,
            }
        ],
    }


def test_a_run_of_a_workflow_waits_for_arrivals_and_saves() -> None:
    plan = {"order": {"a": ["p"]}, "moves": [[None, "x", "a"]]}
    run = PlanRun(_workflow(), plan)
    assert [act.kind for act in run.all_acts] == ["task", "save"]
    assert run.acts(0.0) == ()
    assert run.next_release(0.0) == 2.0
    (made,) = run.acts(2.0)
    run.started(made)
    run.ended(made)
    (save,) = run.acts(3.0)
    assert (save.kind, save.file, save.node) == ("save", "x", "a")
    run.started(save.number)
    assert not run.is_over
    run.ended(save.number)
    assert run.is_over


@pytest.mark.parametrize(
    ("plan", "error", "text"),
    [
        ({"order": {"a": ["p"]}}, UsageError, "solve with settings=.*schedule"),
        ({"order": {"a": ["p"]}, "moves": []}, UsageError, "plan: moves: x is to be"),
        ({"order": {"a": ["p"]}, "moves": [1]}, InstanceError, "plan: moves"),
    ],
)
def test_plans_that_cannot_be_followed(
    plan: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        PlanRun(_workflow(), plan)


def test_a_run_follows_the_order_of_the_simulator() -> None:
    result = ioopt.solve("image-100x4", "minmin", settings={"moves": "schedule"})
    run = PlanRun(
        ioopt.load("image-100x4"), ReplicationPlan.model_validate(result.plan)
    )
    done = 0
    while acts := run.acts():
        for act in acts:
            run.started(act)
        run.ended(acts[0])
        done += 1
        for act in acts[1:]:
            run.ended(act)
            done += 1
    assert run.is_over and done == len(run.all_acts)
