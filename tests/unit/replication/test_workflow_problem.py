"""Workflows as instances: what is refused, by which name, and by whom
(workflow rules 1 and 2).
"""

from typing import Any

import pytest
from replication_samples import document

import ioopt
from ioopt.embed.replication import ReplicationPlanner
from ioopt.errors import InstanceError, NotApplicableError, UnsolvableInstanceError
from ioopt.exchange import export_model
from ioopt.problems.replication import ReplicationProblem
from ioopt.registry import solvers_for

NETWORK = {"remote_bytes_per_second": 10, "replica_bytes_per_second": 40}


def workflow(
    tasks: list[dict[str, Any]], nodes: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Tasks of 1 s on two nodes without disk limit; files r, x, y, z of 10 bytes."""
    data = document(nodes or 2, dict.fromkeys("rxyz", 10), {}, 10, 40)
    return data | {"tasks": [{"compute_seconds": 1, **task} for task in tasks]}


REFUSED = [
    # an output listed twice by one task
    (
        [{"id": "a", "outputs": ["x", "x"]}],
        None,
        r"tasks\[0\] \(a\)\.outputs: file 'x' .* twice",
    ),
    # a file that two tasks write
    (
        [{"id": "a", "outputs": ["x"]}, {"id": "b", "outputs": ["y", "x"]}],
        None,
        r"tasks\[1\] \(b\)\.outputs: file 'x' is written by 'a' and 'b'",
    ),
    # an output that is no file
    ([{"id": "a", "outputs": ["w"]}], None, r"\(a\)\.outputs: there is no file 'w'"),
    # a product on a disk before it is written
    (
        [{"id": "a", "outputs": ["x"]}],
        [{"id": "n0", "holds": ["r", "x"]}],
        r"nodes\[0\] \(n0\)\.holds: file 'x' .* task 'a' writes it",
    ),
    # a task that waits for itself
    (
        [{"id": "a", "inputs": ["x"], "outputs": ["x"]}],
        None,
        r"tasks: dependency cycle through files: 'a'",
    ),
    # a task without cores
    ([{"id": "a", "cores": 0}], None, r"tasks\[0\] \(a\)\.cores"),
    ([{"id": "a", "release_seconds": -1}], None, r"tasks\[0\] \(a\)\.release_seconds"),
    ([{"id": "a"}], [{"id": "n0", "cores": 1.5}], r"nodes\[0\] \(n0\)\.cores"),
]


@pytest.mark.parametrize(("tasks", "nodes", "message"), REFUSED)
def test_a_bad_workflow_is_refused_by_name(
    tasks: Any, nodes: Any, message: str
) -> None:
    with pytest.raises(InstanceError, match=message):
        ioopt.load(workflow(tasks, nodes))


def test_a_cycle_is_named_in_order_and_nothing_that_hangs_on_it() -> None:
    """a writes x for b, b writes y for c, c writes z for a; d only reads y,
    e only writes for c.
    """
    tasks = [
        {"id": "d", "inputs": ["y"]},
        {"id": "c", "inputs": ["y", "r"], "outputs": ["z"]},
        {"id": "a", "inputs": ["z"], "outputs": ["x"]},
        {"id": "e", "outputs": ["r"]},
        {"id": "b", "inputs": ["x"], "outputs": ["y"]},
    ]
    with pytest.raises(InstanceError) as error:
        ioopt.load(workflow(tasks))
    text = str(error.value)
    rounds = ["'a' -> 'b' -> 'c'", "'b' -> 'c' -> 'a'", "'c' -> 'a' -> 'b'"]
    assert any(
        f"tasks: dependency cycle through files: {order}" in text for order in rounds
    )


@pytest.mark.parametrize(
    "nodes",
    [
        [{"id": "n0", "disk_bytes": 29}],  # inputs + outputs take 30 bytes
        [
            {"id": "n0", "disk_bytes": 29, "cores": 2},
            {"id": "n1", "cores": 1},
        ],  # one must do both
    ],
)
def test_a_task_that_fits_no_node_is_refused_before_solving(
    nodes: list[dict[str, Any]],
) -> None:
    tasks = [
        {"id": "b"},
        {"id": "a", "inputs": ["r"], "outputs": ["x", "y"], "cores": 2},
    ]
    instance = workflow(tasks, nodes)
    with pytest.raises(UnsolvableInstanceError, match=r"'a' takes 2 cores .* 30 bytes"):
        ioopt.check(instance)
    instance["nodes"].append({"id": "big", "disk_bytes": 30, "cores": 2})
    assert ioopt.check(instance) == []


NEW_KEYS = [
    workflow([{"id": "a", "outputs": ["x"]}, {"id": "b", "inputs": ["x"]}]),
    workflow([{"id": "a", "inputs": ["r"], "release_seconds": 2}]),
    workflow([{"id": "a", "inputs": ["r"]}], [{"id": "n0", "cores": 2}]),
]
TAKE_WORKFLOWS = {
    "auto",
    "link-aware",
    "exact-workflow",
    "rolling",
    "heft",
    "b-level",
    "ready-min-min",
    "fifo",
    "locality",
}


@pytest.mark.parametrize("instance", NEW_KEYS)
def test_who_plans_batches_refuses_workflows(instance: dict[str, Any]) -> None:
    """Neither order nor cores nor arrivals are ever dropped in silence."""
    problem = ioopt.load(instance)
    assert problem.is_workflow
    names = [
        spec.name
        for spec in solvers_for("replication")
        if spec.name not in TAKE_WORKFLOWS
    ]
    assert {"ip", "minmin", "two-stage", "hierarchical"} <= set(names)
    for name in names:
        with pytest.raises(NotApplicableError, match="not workflows"):
            ioopt.solve(problem, name, time_limit=5)
    with pytest.raises(NotApplicableError, match="the program of replication"):
        export_model(problem, "-", "lp")
    rows = ioopt.compare(problem, ["ip-printed", "minmin"])
    assert list(rows["status"]) == ["does not apply", "does not apply"]


def test_a_planner_refuses_a_task_that_writes_and_forgets_it() -> None:
    planner = ReplicationPlanner(NETWORK, [{"id": "n0"}])
    files = [{"id": "x", "bytes": 1}]
    with pytest.raises(NotApplicableError, match="the planner"):
        planner.submit([{"id": "a", "compute_seconds": 1, "outputs": ["x"]}], files)
    with pytest.raises(NotApplicableError, match="the planner"):
        planner.submit(
            [{"id": "a", "compute_seconds": 1, "cores": 1, "release_seconds": 1}]
        )
    assert planner.submit([{"id": "a", "compute_seconds": 1}]).value == 1


def test_keys_that_say_nothing_are_not_written() -> None:
    batch = ReplicationProblem.model_validate(workflow([{"id": "a", "inputs": ["r"]}]))
    assert not batch.is_workflow
    written = batch.model_dump(mode="json")
    assert set(written["tasks"][0]) == {"id", "compute_seconds", "inputs"}
    assert set(written["nodes"][0]) == {"id", "disk_bytes", "speed", "holds"}
    assert set(written["files"][0]) == {"id", "bytes", "storage"}
    full = workflow(
        [{"id": "a", "outputs": ["x"], "cores": 2, "release_seconds": 3.5}],
        [{"id": "n0", "cores": 4}],
    )
    full["files"][1]["keep"] = True
    problem = ReplicationProblem.model_validate(full)
    assert ReplicationProblem.model_validate(problem.model_dump(mode="json")) == problem
    assert problem.model_dump(mode="json")["tasks"][0]["release_seconds"] == 3.5
