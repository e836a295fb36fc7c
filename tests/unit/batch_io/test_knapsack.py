"""The integer program of Cons-MaxUtil by hand, against an oracle, and against published optima."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from conftest import shared_files

from ioopt.models.batch_io.max_util import MaxUtilModel
from ioopt.result import Status
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.backends.solve import solve_program


def solved(backend: str, weights: list[int], values: list[int], capacity: int) -> tuple[int, ...]:
    """Positions that the model chooses, proven and within the capacity."""
    model = MaxUtilModel(weights, values, capacity)
    if backend == "cp-sat":
        answer = solve_by_cpsat(model.program, BackendLimits())
    else:
        answer = solve_program(model.program, backend, BackendLimits())
    assert answer.status is Status.OPTIMAL
    chosen = model.chosen(answer.values)
    assert sum(weights[k] for k in chosen) <= capacity
    return chosen


def oracle(weights: list[int], values: list[int], capacity: int) -> int:
    """The best value by weight reached: plain dynamic programming on a dictionary."""
    best = {0: 0}
    for weight, value in zip(weights, values):
        for reached, sum_ in list(best.items()):
            if reached + weight <= capacity:
                key = reached + weight
                best[key] = max(best.get(key, sum_ + value), sum_ + value)
    return max(best.values())


@pytest.mark.parametrize("backend", ["cp-sat", "CBC", "HiGHS"])
def test_by_hand(backend: str) -> None:
    # Capacity 10: {6, 4} is worth 13, {7, 3} 12, {6, 3} 11.
    assert solved(backend, [6, 4, 7, 3], [8, 5, 9, 3], 10) == (0, 1)


@pytest.mark.parametrize("backend", ["cp-sat", "CBC"])
@pytest.mark.parametrize(
    ("weights", "values", "capacity", "value"),
    [
        ([3], [4], 2, 0),
        ([3], [4], 3, 4),
        ([0, 0], [1, 2], 0, 3),
        ([1, 1], [-3, 0], 5, 0),
        ([2, 2, 2], [3, 3, 3], 5, 6),
    ],
)
def test_edges(backend: str, weights, values, capacity: int, value: int) -> None:
    assert sum(values[k] for k in solved(backend, weights, values, capacity)) == value


@pytest.mark.parametrize("backend", ["cp-sat", "CBC"])
def test_against_the_oracle(backend: str) -> None:
    rng = random.Random(9)
    for _ in range(25):
        size, most = rng.randint(1, 14), rng.choice([3, 12, 200])
        weights = [rng.randint(0, most) for _ in range(size)]
        values = [rng.choice([rng.randint(-1, most), w, w + 3, 2 * w]) for w in weights]
        capacity = rng.randint(0, max(1, sum(weights)))
        value = sum(values[k] for k in solved(backend, weights, values, capacity))
        assert value == oracle(weights, values, capacity)


@pytest.mark.parametrize(
    "path",
    shared_files("data/knapsack/pisinger", "knapPI_*_100_1000_1"),
    ids=lambda path: path.name,
)
def test_published_optima_of_pisinger(path: Path) -> None:
    rows = [line.split() for line in path.read_text().splitlines()]
    count, capacity = int(rows[0][0]), int(rows[0][1])
    items = [(int(p), int(w)) for p, w in rows[1 : count + 1]]
    weights, values = [w for _, w in items], [p for p, _ in items]
    optimum = int(path.with_name(path.name + ".optimum").read_text())
    assert sum(values[k] for k in solved("cp-sat", weights, values, capacity)) == optimum
