"""The integer program of Cons-MaxUtil by hand, against oracles and published
optima, and as a policy.
"""

import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from batch_io_traces import FLAT, snapshot
from conftest import shared_files

import ioopt
from ioopt.decisions.batch_io import KernelView, Limits, Request, View
from ioopt.models.batch_io.max_util import MaxUtilModel
from ioopt.problems.batch_io import Machine
from ioopt.registry.policies import io_policy
from ioopt.result import Status
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.backends.solve import solve_program
from ioopt.solvers.batch_io import max_util

REQUESTS = snapshot(
    {**FLAT, "nodes": 16, "storage_bytes_per_second": 10.0},
    10.0,
    [
        {"id": k, "nodes": n, "request_seconds": float(k), "left_bytes": 5.0}
        for k, n in enumerate([4, 7, 5, 3], 1)
    ],
)


def solved(
    backend: str, weights: list[int], values: list[int], capacity: int
) -> tuple[int, ...]:
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


def test_sizes_at_which_floating_point_ends() -> None:
    # Floating point cannot tell the two apart; both are within the capacity.
    sizes = [10**10, 10**10 - 1]
    assert solved("cp-sat", sizes, sizes, 10**10) in ((0,), (1,))


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
    assert (
        sum(values[k] for k in solved("cp-sat", weights, values, capacity)) == optimum
    )


@pytest.mark.parametrize("name", ["bitset", "cp-sat"])
def test_one_decision(name: str) -> None:
    # 10 nodes may transfer: {7, 3} keeps 10 busy, as does no other pair.
    result = ioopt.solve(REQUESTS, solver="cons-max-util", settings={"knapsack": name})
    assert result.violations == () and result.plan["grants"] == {1: 0, 2: 7, 3: 0, 4: 3}


def first_of_the_fullest(units: list[int], room: int) -> list[int]:
    """By enumeration: the subsets come in lexicographic order, of which ``max`` keeps
    the first.
    """
    subsets: list[list[int]] = []
    for taken in itertools.product((True, False), repeat=len(units)):
        subset = list(itertools.compress(range(len(units)), taken))
        alone = len(subset) == 1
        if alone or sum(units[k] for k in subset) <= room:
            subsets.append(subset)
    return max(subsets, key=lambda subset: sum(units[k] for k in subset))


def view_of(units: list[int], room: float) -> View:
    machine = Machine(
        nodes=10**6,
        unit_nodes=1,
        allocation="flat",
        node_bytes_per_second=1.0,
        storage_bytes_per_second=room,
    )
    limits = Limits.of(machine)
    requests = [Request.made(k, size, limits, 0.0, 1.0) for k, size in enumerate(units)]
    return View(limits, 0.0, requests)


def granted_by_the_kernel(view: View) -> Sequence[int]:
    """What the text that is compiled grants, in plain Python."""
    policy = io_policy("cons-max-util", {})
    kernel_view = KernelView.plain(policy, list(view.requests), view.limits)
    kernel_view.size = len(view.requests)
    rates: list[float] = [0.0] * kernel_view.size
    max_util.mark_by_sums(kernel_view, rates)
    return [k for k, rate in enumerate(rates) if rate]


def test_each_way_takes_the_first_of_the_fullest() -> None:
    rng = random.Random(5)
    for _ in range(400):
        most, step = rng.choice([2, 6, 30, 1000]), rng.choice([1, 1, 2, 3])
        units = [step * rng.randint(1, most) for _ in range(rng.randint(1, 9))]
        room = rng.choice([rng.randint(1, sum(units)), rng.choice(units)])
        wanted = first_of_the_fullest(units, room)
        view = view_of(units, room + rng.choice([0.0, 0.5]))
        assert max_util.fullest(units, room) in (wanted, range(len(wanted)))
        assert granted_by_the_kernel(view) == wanted
        if max(units) <= room < sum(units):
            assert max_util.by_halves(units, room) == wanted
            assert list(max_util.by_sums(units, room)) == wanted


@pytest.mark.parametrize("name", ["cons-max-util", "cons-max-util+top"])
def test_a_decision_grants_what_the_kernel_does(name: str) -> None:
    # Many requests: few sums are read, or a part of the table has to grow.
    rng = random.Random(6)
    policy = io_policy(name, {})
    assert policy.grant is not None
    for _ in range(150):
        size, step = rng.choice([13, 30, 80]), rng.choice([1, 2, 3])
        units = [step * rng.choice([1, 2, 8, rng.randint(1, 400)]) for _ in range(size)]
        view = view_of(units, float(rng.randint(1, sum(units))))
        kernel_view = KernelView.plain(policy, list(view.requests), view.limits)
        kernel_view.size = size
        rates: list[float] = [0.0] * size
        policy.grant(kernel_view, rates)
        assert policy.decide(view) == rates
        chosen = [k for k, rate in enumerate(rates) if rate]
        assert name.endswith("+top") or granted_by_the_kernel(view) == chosen
