"""Cons-MaxUtil through every knapsack engine: the same nodes granted as by the bitset program."""

from __future__ import annotations

import random

import pytest

import ioopt
from ioopt.errors import BackendFailureError, UsageError
from ioopt.solvers.batch_io.knapsack_engines import ENGINES, pulp_subset, subset_by
from ioopt.solvers.batch_io.max_util import best_subset, select

REQUESTS = {
    "format": "ioopt/io-requests", "version": 1, "now_seconds": 10.0,
    "machine": {"nodes": 16, "unit_nodes": 1, "allocation": "flat", "node_bytes_per_second": 1.0,
                "storage_bytes_per_second": 10.0},
    "requests": [{"id": k, "nodes": n, "request_seconds": float(k), "left_bytes": 5.0}
                 for k, n in enumerate([4, 7, 5, 3], 1)],
}  # fmt: skip


@pytest.mark.parametrize("name", ENGINES)
def test_equal_value_on_random_decisions(name: str) -> None:
    rng = random.Random(6)
    for _ in range(200 if name == "or-tools" else 15):
        units = [1 << rng.randint(0, 4) for _ in range(rng.randint(1, 12))]
        subset = subset_by(name)(units, 15)
        assert sum(units[k] for k in subset) == sum(units[k] for k in best_subset(units, 15)) <= 15
        chosen = select(units, 15, 16, subset_by(name))
        assert sum(units[k] for k in chosen) == sum(units[k] for k in select(units, 15, 16))


@pytest.mark.parametrize("name", ["bitset", *ENGINES])
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
    with pytest.raises(UsageError, match="knapsack=cp-sat"):
        ioopt.solve(problem, solver="cons-max-util", settings=settings)
    with pytest.raises(UsageError, match="no setting 'knapsack'"):
        ioopt.solve(problem, solver="fill", settings={"knapsack": "cp-sat"})


@pytest.mark.parametrize("name", ENGINES)
def test_sizes_at_which_floating_point_ends(name: str) -> None:
    # Floating point cannot tell the two apart; both are within the capacity.
    assert subset_by(name)([10**10, 10**10 - 1], 10**10) in ([0], [1])
    assert subset_by(name)([], 3) == subset_by(name)([4], 3) == []


def test_a_choice_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "pulp", lambda weights, capacity, values: [0])
    with pytest.raises(BackendFailureError, match="pulp chose a weight of 4, capacity is 3"):
        subset_by("pulp")([4], 3)


def test_pulp_on_highs() -> None:
    assert pulp_subset([6, 5, 7, 3], 10, [6, 5, 7, 3], backend="HiGHS") == [2, 3]
