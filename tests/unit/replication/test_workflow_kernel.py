"""Single rules of workflows, by hand, in the plain form of the kernel."""

from __future__ import annotations

from typing import Any

import pytest

import ioopt
from ioopt.errors import SimulationError
from ioopt.problems.replication import ReplicationPlan
from ioopt.sim.replication.simulate import simulate


def schedule(
    disk: int, cores: int, sizes: dict[str, int], tasks: list[dict[str, Any]], order: list[Any]
) -> dict[str, Any]:
    """One node, link 1 byte/s, copies 4 bytes/s, farthest next use."""
    problem = ioopt.load(
        {
            "format": "ioopt/replication", "version": 1,
            "network": {"remote_bytes_per_second": 1, "replica_bytes_per_second": 4},
            "nodes": [{"id": "n0", "disk_bytes": disk, "cores": cores}],
            "files": [{"id": name, "bytes": size} for name, size in sizes.items()],
            "tasks": tasks,
        }
    )  # fmt: skip
    plan = ReplicationPlan.model_validate({"order": {"n0": order}})
    return simulate(problem, plan, engine="python").schedule


def test_the_limit_asks_for_the_cores_of_the_head() -> None:
    """One of two cores idles, the head takes two: r, which c still reads, stays until w ends at 11 s.

    a reads r 0-2, then w computes 2-11; g of the head b would fit from 2 s on if r went.
    """
    rows = schedule(
        4, 2, {"r": 2, "g": 3},
        [
            {"id": "a", "compute_seconds": 0, "inputs": ["r"]},
            {"id": "w", "compute_seconds": 9},
            {"id": "b", "compute_seconds": 1, "inputs": ["g"], "cores": 2},
            {"id": "c", "compute_seconds": 1, "inputs": ["r"]},
        ],
        ["a", "w", "b", "c"],
    )  # fmt: skip
    assert next((row["file"], row["seconds"]) for row in rows["evictions"]) == ("r", 11.0)


def test_a_copy_before_its_writer_is_a_deadlock() -> None:
    """The copy of x waits for a, which stands behind it."""
    with pytest.raises(SimulationError, match="'copy of x'"):
        schedule(
            9, 1, {"x": 2}, [{"id": "a", "compute_seconds": 1, "outputs": ["x"]}],
            [{"copy": "x"}, "a"],
        )  # fmt: skip
