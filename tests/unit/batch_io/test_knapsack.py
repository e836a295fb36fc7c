"""The knapsack by hand, against an oracle, and against the published optima; engines agree."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest
from conftest import shared_files, shared_path

from ioopt.errors import BackendFailureError, UsageError
from ioopt.options import Deadline
from ioopt.solvers.batch_io.knapsack import KnapsackAnswer, solve_knapsack
from ioopt.solvers.batch_io.knapsack_engines import ENGINES, _verified, engine, solve_by_pulp

OPTIMA = "jooken-hard/optima.csv"


def oracle(weights: list[int], values: list[int], capacity: int) -> int:
    """The best value by weight reached: plain dynamic programming on a dictionary."""
    best = {0: 0}
    for weight, value in zip(weights, values):
        for reached, sum_ in list(best.items()):
            if reached + weight <= capacity:
                key = reached + weight
                best[key] = max(best.get(key, sum_ + value), sum_ + value)
    return max(best.values())


def assert_consistent(answer: KnapsackAnswer, weights, values, capacity) -> None:
    assert answer.value == sum(values[k] for k in answer.chosen)
    assert sum(weights[k] for k in answer.chosen) <= capacity
    assert len(set(answer.chosen)) == len(answer.chosen)
    assert answer.bound >= answer.value


@pytest.mark.parametrize("name", ENGINES)
def test_by_hand(name: str) -> None:
    # Capacity 10: {6, 4} is worth 13, {7, 3} 12, {6, 3} 11.
    answer = engine(name)([6, 4, 7, 3], [8, 5, 9, 3], 10, None)
    assert (answer.chosen, answer.value, answer.bound, answer.optimal) == ((0, 1), 13, 13, True)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    ("weights", "values", "capacity", "value"),
    [
        ([], [], 5, 0),
        ([3], [4], 2, 0),
        ([3], [4], 3, 4),
        ([0, 0], [1, 2], 0, 3),
        ([1, 1], [-3, 0], 5, 0),
        ([2, 2, 2], [3, 3, 3], 5, 6),
    ],
)
def test_edges(name: str, weights, values, capacity: int, value: int) -> None:
    answer = engine(name)(weights, values, capacity, None)
    assert answer.value == value and answer.optimal
    assert_consistent(answer, weights, values, capacity)


@pytest.mark.parametrize("name", ENGINES)
def test_one_unit_in_1e10(name: str) -> None:
    weights = values = [10**10, 10**10 - 1]
    answer = engine(name)(weights, values, 10**10, None)
    assert_consistent(answer, weights, values, 10**10)
    # Floating point cannot tell the two apart, and must not claim that it can.
    assert answer.optimal == (name != "pulp")
    assert not answer.optimal or answer.value == 10**10


def cases(count: int, seed: int):
    rng = random.Random(seed)
    for _ in range(count):
        size, most = rng.randint(0, 14), rng.choice([3, 12, 200])
        weights = [rng.randint(0, most) for _ in range(size)]
        values = [rng.choice([rng.randint(-1, most), w, w + 3, 2 * w]) for w in weights]
        yield weights, values, rng.randint(0, max(1, sum(weights)))


def test_core_against_the_oracle() -> None:
    solved = 0
    for weights, values, capacity in cases(1500, seed=4):
        answer = solve_knapsack(weights, values, capacity)
        assert answer.optimal and answer.value == oracle(weights, values, capacity)
        assert_consistent(answer, weights, values, capacity)
        solved += answer.value > 0
    assert solved > 1000


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "core"])
def test_engines_against_the_core(name: str) -> None:
    for weights, values, capacity in cases(25, seed=9):
        answer = engine(name)(weights, values, capacity, None)
        assert answer.value == solve_knapsack(weights, values, capacity).value
        assert answer.optimal
        assert_consistent(answer, weights, values, capacity)


def test_more_steps_than_a_mask_has_bits() -> None:
    # Strongly correlated, where the core grows wide; the subset-sum oracle is quick enough.
    rng = random.Random(2)
    for _ in range(5):
        weights = [rng.randint(1, 60) for _ in range(150)]
        values = [weight + 10 for weight in weights]
        capacity = sum(weights) // 3
        answer = solve_knapsack(weights, values, capacity)
        assert answer.optimal and answer.value == oracle(weights, values, capacity)
        assert_consistent(answer, weights, values, capacity)


def read_pisinger(path: Path) -> tuple[list[int], list[int], int, int]:
    rows = [line.split() for line in path.read_text().splitlines()]
    count, capacity = int(rows[0][0]), int(rows[0][1])
    items = [(int(p), int(w)) for p, w in rows[1 : count + 1]]
    optimum = int(path.with_name(path.name + ".optimum").read_text())
    return [w for _, w in items], [p for p, _ in items], capacity, optimum


@pytest.mark.parametrize(
    "path", shared_files("data/knapsack/pisinger", "knapPI*_1"), ids=lambda path: path.name
)
def test_published_optima_of_pisinger(path: Path) -> None:
    weights, values, capacity, optimum = read_pisinger(path)
    answer = solve_knapsack(weights, values, capacity)
    assert answer.optimal and answer.value == optimum
    assert_consistent(answer, weights, values, capacity)


def read_jooken(name: str) -> tuple[list[int], list[int], int]:
    lines = shared_path("data", "knapsack", "jooken-hard", f"{name}.in").read_text().splitlines()
    count = int(lines[0])
    items = [tuple(int(word) for word in line.split()) for line in lines[1 : count + 1]]
    return [w for _, _, w in items], [p for _, p, _ in items], int(lines[count + 1])


def optima() -> dict[str, int]:
    paths = shared_files("data/knapsack/jooken-hard", "optima.csv")
    if not paths:
        return {}
    with paths[0].open() as stream:
        return {row["name"]: int(row["optimum"]) for row in csv.DictReader(stream)}


def check_jooken(name: str, optimum: int, deadline: Deadline | None) -> KnapsackAnswer:
    weights, values, capacity = read_jooken(name)
    answer = solve_knapsack(weights, values, capacity, deadline)
    assert_consistent(answer, weights, values, capacity)
    if optimum > 0:  # -1: nobody knows
        assert answer.value <= optimum <= answer.bound
        assert not answer.optimal or answer.value == optimum
    return answer


EASY = ("n_400_c_1000000_g_2_f_0.1_eps_0.001_s_300", "n_1200_c_1000000_g_14_f_0.2_eps_0.001_s_200",
        "n_600_c_10000000000_g_2_f_0.1_eps_0.0001_s_100",
        "n_800_c_10000000000_g_2_f_0.1_eps_0.1_s_300")  # fmt: skip


@pytest.mark.parametrize("name", EASY)
def test_hard_instances_that_are_proven(name: str) -> None:
    assert check_jooken(name, optima().get(name, -1), None).optimal


class Steps:
    """A clock that moves one second a look, so that a deadline is a count of looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_a_deadline_gives_the_best_so_far_with_an_honest_gap() -> None:
    name = "n_400_c_10000000000_g_6_f_0.2_eps_0.001_s_200"
    few = check_jooken(name, optima().get(name, -1), Deadline(5, Steps()))
    more = check_jooken(name, optima().get(name, -1), Deadline(12, Steps()))
    assert not few.optimal and few.gap > 0
    assert more.value >= few.value and more.bound <= few.bound


@pytest.mark.slow
@pytest.mark.parametrize("name", optima())
def test_every_hard_instance(name: str) -> None:
    check_jooken(name, optima()[name], Deadline(3))


@pytest.mark.parametrize(
    ("weights", "values", "capacity", "what"),
    [
        ([1], [], 3, "1 weights but 0 values"),
        ([1.5], [1], 3, "weight 1.5 is not a whole number"),
        ([1], [True], 3, "value True is not a whole number"),
        ([-1], [1], 3, "0 or more"),
        ([1], [1], -3, "0 or more"),
        ([1 << 62], [1], 3, "too large"),
    ],
)
def test_refused(weights, values, capacity, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        solve_knapsack(weights, values, capacity)


def test_unknown_engine_and_a_choice_that_does_not_fit() -> None:
    with pytest.raises(UsageError, match="known: core, or-tools, cp-sat, pulp"):
        engine("magic")
    with pytest.raises(BackendFailureError, match="chose a weight of 4, capacity is 3"):
        _verified([0], 9, [4], [9], 3, "somebody")


def test_pulp_on_highs() -> None:
    assert solve_by_pulp([6, 4, 7, 3], [8, 5, 9, 3], 10, backend="HiGHS").value == 13
