"""What tasks hold beside cores: overheads, memory, and the disk of their node."""

from typing import Any

import pytest
from conftest import ENGINES

import ioopt
from ioopt.building import Batch
from ioopt.checks.replication.check import check
from ioopt.errors import IooptError, NotApplicableError, SimulationError
from ioopt.explaining import explain
from ioopt.models.replication.workflow_bound import TransferBound, WorkflowBound
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.bind import bind
from ioopt.sim.replication.bound import graph_of
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.dispatch import fifo

NODES = [{"id": "n0", "cores": 2, "memory_bytes": 10}]


def problem_of(
    tasks: list[dict[str, Any]],
    nodes: list[dict[str, Any]] | None = None,
    files: dict[str, int] | None = None,
    **keys: Any,
) -> ReplicationProblem:
    """Return an instance with links of 10 bytes/s."""
    network = {"remote_bytes_per_second": 10, "replica_bytes_per_second": 10}
    rows = [{"id": name, "bytes": size} for name, size in (files or {}).items()]
    given = {"network": network, "nodes": nodes or NODES, "files": rows, **keys}
    return ReplicationProblem.model_validate({**given, "tasks": tasks})


def task(name: str, seconds: float = 1, **keys: Any) -> dict[str, Any]:
    return {"id": name, "compute_seconds": seconds, **keys}


def times(problem: ReplicationProblem, engine: Any, **order: list[str]) -> Any:
    plan = ReplicationPlan.model_validate({"order": order})
    ran = simulate(problem, plan, engine=engine)
    assert check(problem, plan, ran.schedule).violations == ()
    rows = ran.schedule["tasks"]
    return {row["id"]: (row["start_seconds"], row["end_seconds"]) for row in rows}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_head_waits_for_memory_and_nothing_passes_it(engine: Any) -> None:
    """a holds 6 of 10 bytes until 5 s. b needs 5 and waits, and c, which would fit,
    waits behind it; both start at 5 s.
    """
    tasks = [task("a", 5, memory_bytes=6), task("b", memory_bytes=5), task("c")]
    found = times(problem_of(tasks), engine, n0=["a", "b", "c"])
    assert found == {"a": (0, 5), "b": (5, 6), "c": (5, 6)}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_overhead_is_not_divided_by_the_speed(engine: Any) -> None:
    """At speed 2: 3 s of overhead, then 4 s / 2 of computing; f comes for b, 20 bytes
    in 2 s, while a is in its overhead, but b has to wait for the core.
    """
    nodes = [{"id": "n0", "speed": 2}]
    tasks = [task("a", 4, overhead_seconds=3), task("b", 4, inputs=["f"])]
    problem = problem_of(tasks, nodes, {"f": 20})
    assert times(problem, engine, n0=["a", "b"]) == {"a": (0, 5), "b": (5, 7)}
    # a(k) = (4 + 3 x 2) / 2 = 5 and 4 / 2 = 2: 7 s of the one core.
    assert WorkflowBound(problem).core_area == 7
    assert TransferBound(problem).seconds >= 7


@pytest.mark.parametrize("engine", ENGINES)
def test_a_task_ends_when_it_has_computed_and_its_disk_is_done(engine: Any) -> None:
    """The disk takes 10 bytes/s. f comes in 3 s. a computes 1 s from 3 s on, and 30 +
    20 bytes pass the disk in 5 s: 3 to 8 s. With 1 s of overhead: 4 to 9 s. Without the
    key it ends at 4 s.
    """
    nodes = [{"id": "n0", "disk_bytes_per_second": 10}]
    files = {"f": 30, "x": 20}
    for overhead, disk, end in ((0, True, 8), (1, True, 9), (0, False, 4)):
        tasks = [task("a", inputs=["f"], outputs=["x"], overhead_seconds=overhead)]
        problem = problem_of(tasks, nodes, files, task_disk=disk)
        assert times(problem, engine, n0=["a"]) == {"a": (3, end)}


@pytest.mark.parametrize("engine", ENGINES)
def test_transfers_and_tasks_share_a_disk(engine: Any) -> None:
    """f comes in 2 s. From 2 s on a passes 20 bytes and g comes with 40, at 5 bytes/s
    each: a ends at 6 s, with 20 bytes of g left, which come by 8 s. b passes 40 bytes
    from 8 s on, in 4 s.
    """
    nodes = [{"id": "n0", "cores": 2, "disk_bytes_per_second": 10}]
    tasks = [task("a", inputs=["f"]), task("b", inputs=["g"])]
    problem = problem_of(tasks, nodes, {"f": 20, "g": 40}, task_disk=True)
    assert times(problem, engine, n0=["a", "b"]) == {"a": (2, 6), "b": (8, 12)}


def test_memory_bounds_the_makespan() -> None:
    """Four tasks of 6 of 10 bytes for 2 s each: 4 x 2 x 6 / 10 = 4.8 s."""
    tasks = [task(name, 2, memory_bytes=6) for name in "abcd"]
    problem = problem_of(tasks)
    assert WorkflowBound(problem).memory_area == pytest.approx(4.8)
    assert WorkflowBound(problem).seconds == pytest.approx(4.8)
    free = [{"id": "n0", "cores": 2}]
    assert WorkflowBound(problem_of(tasks, free)).memory_area == 0


@pytest.mark.parametrize(
    "solver",
    [
        "auto",
        "link-aware",
        "exact-workflow",
        "heft",
        "b-level",
        "ready-min-min",
        "fifo",
        "locality",
        "rolling",
    ],
)
def test_solvers_know_memory(solver: str) -> None:
    """Only n1 has the memory for a and b; they run one after the other there, and c
    beside them: 8 s.
    """
    nodes = [
        {"id": "n0", "cores": 2, "memory_bytes": 3},
        {"id": "n1", "cores": 2, "memory_bytes": 8},
    ]
    tasks = [task(name, 4, memory_bytes=5) for name in "ab"]
    problem = problem_of([*tasks, task("c", 4, memory_bytes=3)], nodes)
    result = ioopt.solve(problem, solver, time_limit=2)
    assert result.violations == ()
    assert result.metrics["makespan_seconds"] == 8
    assert {result.plan["assign"][name] for name in "ab"} == {"n1"}


@pytest.mark.parametrize("solver", ["ip", "two-stage", "job-data-present"])
def test_solvers_of_batches_refuse_what_they_do_not_know(solver: str) -> None:
    problem = problem_of([task("a", overhead_seconds=1)])
    with pytest.raises(IooptError, match="memory, overheads"):
        ioopt.solve(problem, solver)


def test_a_task_without_enough_memory_is_named() -> None:
    problem = problem_of([task("a", memory_bytes=11)])
    text = r"'a' takes 11 bytes of memory \(most of a node: 10\); no node has all"
    with pytest.raises(IooptError, match=text):
        problem.require_room()
    wide = [*NODES, {"id": "n1", "memory_bytes": 12}]
    problem = problem_of([task("a", memory_bytes=11)], wide)
    plan = ReplicationPlan.model_validate({"order": {"n0": ["a"]}})
    with pytest.raises(SimulationError, match=r"n0 .*'a'.* 11 bytes of memory: .*10"):
        simulate(problem, plan)
    found = check(problem, plan).violations
    assert [(item.rule, item.item) for item in found] == [("memory", "a")]


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("overhead_seconds", -1),
        ("memory_bytes", -5),
        ("memory_bytes", 1.5),
        ("task_disk", "yes"),
        ("task_disk", 1),
    ],
)
def test_bad_values_are_named(where: str, value: Any) -> None:
    row = task("a") if where == "task_disk" else task("a", **{where: value})
    keys = {where: value} if where == "task_disk" else {}
    with pytest.raises(ValueError, match=where):
        problem_of([row], **keys)


def test_keys_are_written_only_if_they_say_something() -> None:
    plain = problem_of([task("a")], [{"id": "n0"}]).model_dump(mode="json")
    assert "task_disk" not in plain
    assert not {"memory_bytes", "overhead_seconds"} & set(plain["tasks"][0])
    assert "memory_bytes" not in plain["nodes"][0]
    problem = problem_of([task("a", memory_bytes=1)], task_disk=True)
    again = ReplicationProblem.model_validate(problem.model_dump(mode="json"))
    assert again == problem


def test_a_batch_is_built_with_memory_and_overhead() -> None:
    batch = Batch(remote="10MB/s", replica="100MB/s")
    batch.add_nodes(2, memory="4GB")
    batch.add_task(8.0, memory="2.5GB", overhead="7s")
    problem = batch.build()
    assert problem.nodes[1].memory_bytes == 4_000_000_000
    assert problem.tasks[0].memory_bytes == 2_500_000_000
    assert problem.tasks[0].overhead_seconds == 7


@pytest.mark.parametrize("engine", ENGINES)
def test_a_dispatcher_gives_tasks_as_memory_is_freed(engine: Any) -> None:
    """n0 has room for one of a and b at a time; c fits beside a."""
    tasks = [
        task("a", 5, memory_bytes=6),
        task("b", 1, memory_bytes=5),
        task("c", 2, memory_bytes=4),
    ]
    problem = problem_of(tasks)
    plan, ran = dispatch(problem, fifo, engine=engine)
    starts = {row["id"]: row["start_seconds"] for row in ran.schedule["tasks"]}
    assert starts == {"a": 0, "c": 0, "b": 5}
    assert check(problem, plan, ran.schedule).violations == ()


def broken(problem: ReplicationProblem, change: Any, **order: list[str]) -> list[str]:
    """Return the rules that the checker finds broken after *change* of a schedule."""
    plan = ReplicationPlan.model_validate({"order": order})
    schedule = simulate(problem, plan).schedule
    change({row["id"]: row for row in schedule["tasks"]})
    return [item.rule for item in check(problem, plan, schedule).violations]


def move(name: str, seconds: float) -> Any:
    def change(rows: dict[str, Any]) -> None:
        rows[name]["start_seconds"] += seconds
        rows[name]["end_seconds"] += seconds

    return change


def stretch(name: str, seconds: float) -> Any:
    def change(rows: dict[str, Any]) -> None:
        rows[name]["end_seconds"] += seconds

    return change


def test_the_checker_finds_each_broken_rule() -> None:
    tasks = [task("a", 5, memory_bytes=6), task("b", memory_bytes=5)]
    assert broken(problem_of(tasks), move("b", -2), n0=["a", "b"]) == ["memory"]
    slow = problem_of([task("a", overhead_seconds=2)])
    assert broken(slow, stretch("a", -2), n0=["a"]) == ["duration"]
    nodes = [{"id": "n0", "disk_bytes_per_second": 10}]
    rows = [task("a", inputs=["f"])]
    disk = problem_of(rows, nodes, {"f": 50}, task_disk=True)
    assert broken(disk, stretch("a", -2), n0=["a"]) == ["rate"]


def test_an_explanation_names_memory_and_the_rate_of_disks() -> None:
    """a and b take turns, since only one has the memory: 10 bytes at 10 bytes/s
    each.
    """
    batch = Batch(remote=100, replica=100, task_disk=True)
    batch.add_node(cores=2, memory=10, disk_rate=10)
    for name in "ab":
        batch.add_task(0.5, name, outputs=[batch.add_file(10)], memory=6)
    problem = batch.build()
    result = ioopt.solve(problem, "fifo")
    assert result.value == pytest.approx(2.0)
    found = explain(problem, result)
    assert (
        "wait for files, other tasks, memory or disk space 50.0 %" in found.sentences[1]
    )
    values = {knob.resource: knob.value for knob in found.knobs}
    assert values["the disks' rate"] == pytest.approx(2 / 1.1)
    assert values["memory"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("keys", "words"),
    [({"task_disk": True}, "task_disk"), ({"products": "shared"}, "shared storage")],
)
def test_no_plan_is_bound_to_rules_that_it_cannot_state(
    keys: dict[str, Any], words: str
) -> None:
    problem = problem_of([task("a", inputs=["f"])], files={"f": 10}, **keys)
    plan = ReplicationPlan.model_validate({"order": {"n0": ["a"]}})
    with pytest.raises(NotApplicableError, match=f"bound plan .*{words}"):
        bind(problem, plan)
    bound = {"order": {"n0": ["a"]}, "moves": [["n0", "f", None]]}
    with pytest.raises(NotApplicableError, match=f"bound plan .*{words}"):
        graph_of(problem, ReplicationPlan.model_validate(bound))
