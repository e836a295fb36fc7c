"""Who leaves a disk first, by hand: corners that random replays do not meet."""

from __future__ import annotations

from typing import Any

import pytest
from replication_samples import made

from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.simulate import simulate


def _problem(sizes: dict[str, int], holds: list[list[str]], tasks: list[Any]) -> ReplicationProblem:
    """Nodes with disks of 6 bytes, a link of 1 byte/s, copies at 1 byte/s."""
    nodes = [{"disk_bytes": 6, "holds": held} for held in holds]
    return made(nodes, sizes, {f"t{k}": (9, files) for k, files in enumerate(tasks)}, 1, 1)


def _evicted(problem: ReplicationProblem, order: dict[str, list[str]], policy: str) -> list[Any]:
    plan = ReplicationPlan.model_validate({"order": order, "eviction": policy})
    schedule = simulate(problem, plan, engine="python").schedule
    return [(row["file"], row["node"]) for row in schedule["evictions"] if row["seconds"] == 0]


def test_popularity_divides_by_the_copies() -> None:
    """(22) on n0, which needs 2 bytes for c: a is worth 2 x 2 / 2 copies = 2, b 1 x 3 / 1 = 3.

    Without the copies a would be worth 4 and b would go.
    """
    problem = _problem({"a": 2, "b": 3, "c": 3}, [["a", "b"], ["a"]], [["c"], ["b"], ["a"], ["a"]])
    order = {"n0": ["t0", "t1"], "n1": ["t2", "t3"]}
    assert _evicted(problem, order, "popularity") == [("a", "n0")]


@pytest.mark.parametrize("policy", ["popularity", "lru", "farthest-next-use"])
def test_equal_victims_leave_by_their_index(policy: str) -> None:
    """x and y are alike in every respect; x stands first in the instance."""
    problem = _problem({"x": 3, "y": 3, "c": 3}, [["y", "x"]], [["c"]])
    assert _evicted(problem, {"n0": ["t0"]}, policy) == [("x", "n0")]
