"""Plans that cannot be replayed say so in one line; the bound of the link."""

from typing import Any

import pytest
from replication_samples import made

import ioopt
from ioopt.errors import SimulationError, UnsolvableInstanceError
from ioopt.models.replication.workflow_bound import link_bound_seconds
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.registry import solvers_for
from ioopt.sim.replication.simulate import simulate


def pair() -> ReplicationProblem:
    """Two nodes of 100 bytes, files f and g of 60, link 10 bytes
    a second, copies 30.
    """
    tasks = {"a": (1, "f"), "b": (2, "g"), "c": (1, "f")}
    return made([{"disk_bytes": 100}] * 2, {"f": 60, "g": 60}, tasks, 10, 30)


def plan(**parts: Any) -> ReplicationPlan:
    return ReplicationPlan.model_validate(parts)


REFUSED = [
    ({"n0": ["a", "b"]}, "task 'c' is in no queue"),
    (
        {"n0": ["a", "b", "c"], "n1": ["a"]},
        "task 'a' is listed twice in the queues: on n0 and on n1",
    ),
    ({"n0": ["a", "b", "c", "z"]}, "order of n0: there is no task 'z'"),
    ({"n2": ["a", "b", "c"]}, "order: there is no node 'n2'"),
    ({"n0": ["a", "b", "c", {"copy": "h"}]}, "order of n0: there is no file 'h'"),
]


@pytest.mark.parametrize(
    ("order", "message"), REFUSED, ids=[text for _, text in REFUSED]
)
def test_bad_queues_are_named(order: dict[str, Any], message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        simulate(pair(), plan(order=order))


def test_a_task_that_its_node_cannot_hold_is_an_error_with_both_sizes() -> None:
    data = pair().model_dump(mode="json")
    data["tasks"][0]["inputs"] = ["f", "g"]
    problem = ioopt.load(data)
    with pytest.raises(
        SimulationError, match=r"n0 can never run task 'a'.*f, g.* 120 bytes.*100"
    ):
        simulate(problem, plan(order={"n0": ["a", "b", "c"]}))
    named = [spec.name for spec in solvers_for("replication")]
    assert {"minmin", "ip", "ip-printed", "two-stage", "link-aware", "auto"} <= set(
        named
    )
    for solver in named:
        with pytest.raises(
            UnsolvableInstanceError, match=r"'a' reads 120 bytes.*holds 100"
        ):
            ioopt.solve(problem, solver)


def test_a_queue_that_waits_for_ever_names_node_entry_and_file() -> None:
    """A copy entry larger than the disk can never be staged."""
    data = pair().model_dump(mode="json")
    data["files"].append({"id": "big", "bytes": 500})
    with pytest.raises(
        SimulationError, match=r"n1 waits for ever at 'copy of big'.*no room for big"
    ):
        simulate(
            ioopt.load(data),
            plan(order={"n0": ["a", "b", "c"], "n1": [{"copy": "big"}]}),
        )


def test_a_queue_against_the_order_of_its_rounds_is_an_error() -> None:
    rounds = [{"tasks": ["a"]}, {"tasks": ["b", "c"]}]
    with pytest.raises(
        SimulationError, match="task 'a' of round 0 comes after one of round 1"
    ):
        simulate(
            pair(), plan(order={"n0": ["c", "a", "b"]}, rounds=rounds, barriers=True)
        )
    rounds = [{"tasks": ["a"]}, {"tasks": ["b"]}]
    with pytest.raises(SimulationError, match="'c' is in no round"):
        simulate(
            pair(), plan(order={"n0": ["a", "b", "c"]}, rounds=rounds, barriers=True)
        )


def test_link_bound_counts_what_is_read_and_not_held() -> None:
    """f and g: 120 bytes at 10 a second, + least compute 1 s; with f held 60 bytes."""
    assert link_bound_seconds(pair()) == 13
    data = pair().model_dump(mode="json")
    data["nodes"][1]["holds"] = ["f"]
    assert link_bound_seconds(ioopt.load(data)) == 7
    queues = plan(order={"n0": ["a", "c"], "n1": ["b"]})
    metrics = ioopt.simulate(pair(), queues, link="per-node").metrics
    assert metrics["link_bound_seconds"] is None
