"""Cons-MaxUtil as an integer program: the same nodes granted as by the bitset program."""

from __future__ import annotations

import random

import pytest

import ioopt
from ioopt.decisions.batch_io import Limits, Request, View
from ioopt.errors import UsageError
from ioopt.problems.batch_io import Machine
from ioopt.registry.policies import io_policy

REQUESTS = {
    "format": "ioopt/io-requests", "version": 1, "now_seconds": 10.0,
    "machine": {"nodes": 16, "unit_nodes": 1, "allocation": "flat", "node_bytes_per_second": 1.0,
                "storage_bytes_per_second": 10.0},
    "requests": [{"id": k, "nodes": n, "request_seconds": float(k), "left_bytes": 5.0}
                 for k, n in enumerate([4, 7, 5, 3], 1)],
}  # fmt: skip


def test_equal_value_on_random_decisions() -> None:
    rng = random.Random(6)
    policies = [io_policy("cons-max-util", {"knapsack": how}) for how in ("bitset", "cp-sat")]
    limits = Limits.of(Machine(**REQUESTS["machine"] | {"storage_bytes_per_second": 15.0}))
    for _ in range(200):
        sizes = [1 << rng.randint(0, 4) for _ in range(rng.randint(1, 12))]
        view = View(limits, 9.0, [Request(k, n, limits, 0.0, 5.0) for k, n in enumerate(sizes)])
        ours, theirs = (
            sum(n for n, rate in zip(sizes, policy.decide(view)) if rate) for policy in policies
        )
        assert ours == theirs <= 16


@pytest.mark.parametrize("name", ["bitset", "cp-sat"])
def test_one_decision(name: str) -> None:
    # 10 nodes may transfer: {7, 3} keeps 10 busy, as does no other pair.
    result = ioopt.solve(REQUESTS, solver="cons-max-util", settings={"knapsack": name})
    assert result.violations == () and result.plan["grants"] == {1: 0, 2: 7, 3: 0, 4: 3}


def test_the_compiled_engine_has_its_own() -> None:
    problem = ioopt.load({
        "format": "ioopt/batch-io", "version": 1, "machine": REQUESTS["machine"],
        "jobs": [{"id": 1, "submit_seconds": 0.0, "nodes": 1, "walltime_seconds": 9.0,
                  "phases": [{"compute_seconds": 1.0, "io_bytes": 2.0}]}],
    })  # fmt: skip
    settings = {"knapsack": "cp-sat", "engine": "compiled"}
    with pytest.raises(UsageError, match="policy=cons-max-util"):
        ioopt.solve(problem, solver="cons-max-util", settings=settings)
    with pytest.raises(UsageError, match="no setting 'knapsack'"):
        ioopt.solve(problem, solver="fill", settings={"knapsack": "cp-sat"})
