"""The best I/O order by hand, against a slow simulation, and as a bound on every policy's decision."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import permutations

import pytest
from oracle.batch_io_order import best_order, finish_times

import ioopt
from ioopt.errors import UsageError


def slow_finish(order, left, peaks, storage, step):
    """Fixed small steps of time: shares no code and no event logic with what it tests."""
    remaining, now, finish = list(left), Fraction(0), {}
    while len(finish) < len(left):
        room = storage
        rates = {}
        for k in order:
            if k not in finish:
                rates[k] = min(peaks[k], room)
                room -= rates[k]
        now += step
        for k, rate in rates.items():
            remaining[k] -= rate * step
            if remaining[k] <= 0:
                finish[k] = now
    return tuple(finish[k] for k in range(len(left)))


def test_by_hand() -> None:
    # Storage 4 B/s; A: 8 B at 4 B/s, B: 4 B at 4 B/s. B first: B at 1, A at 3; delays 0 and 1.
    found = best_order([8, 4], [4, 4], Fraction(4))
    assert (found.order, found.finish_seconds, found.delay) == ((1, 0), (3, 1), 1)
    # Weighted 3 to 1 for A: A first costs 1 * 2 = 2 for B, B first costs 3 * 1 for A.
    weighted = best_order([8, 4], [4, 4], Fraction(4), [3, 1])
    assert (weighted.order, weighted.delay) == ((0, 1), 2)


def test_left_over_bandwidth_is_used() -> None:
    # Storage 4: A (3 B/s, 6 B) leaves 1 B/s to B (3 B/s, 6 B). A ends at 2, B has 4 left, at 3 B/s.
    six, three = Fraction(6), Fraction(3)
    found = finish_times([0, 1], [six, six], [three, three], Fraction(4))
    assert found == (2, 2 + Fraction(4, 3))


def test_against_small_steps() -> None:
    rng = random.Random(3)
    for _ in range(25):
        count = rng.randint(1, 4)
        peaks = [Fraction(rng.randint(1, 4)) for _ in range(count)]
        left = [Fraction(rng.randint(1, 6)) for _ in range(count)]
        order = tuple(rng.sample(range(count), count))
        step = Fraction(1, 120)
        slow = slow_finish(order, left, peaks, Fraction(5), step)
        fast = finish_times(order, left, [min(p, Fraction(5)) for p in peaks], Fraction(5))
        # A small step too late for each of the finishes before it, at most.
        assert all(0 <= late - exact <= step * count * 5 for late, exact in zip(slow, fast))


def test_no_order_beats_the_best_and_bytes_are_conserved() -> None:
    rng = random.Random(5)
    for _ in range(20):
        count = rng.randint(2, 5)
        peaks = [Fraction(rng.choice([1, 2, 4])) for _ in range(count)]
        left = [Fraction(rng.randint(1, 20)) for _ in range(count)]
        nodes = [int(peak) for peak in peaks]
        best = best_order(left, peaks, Fraction(4), nodes)
        for order in permutations(range(count)):
            finish = finish_times(order, left, peaks, Fraction(4))
            delay = sum(n * (c - r / p) for n, c, r, p in zip(nodes, finish, left, peaks))
            assert delay >= best.delay
            assert max(finish) * 4 >= sum(left)


def test_smith_order_on_one_machine() -> None:
    rng = random.Random(8)
    for _ in range(20):
        left = [Fraction(rng.randint(1, 50)) for _ in range(5)]
        nodes = [rng.randint(1, 9) for _ in range(5)]
        best = best_order(left, [Fraction(4)] * 5, Fraction(4), nodes)
        smith = sorted(range(5), key=lambda k: left[k] / nodes[k])
        finish = finish_times(smith, left, [Fraction(4)] * 5, Fraction(4))
        ideal = sum(n * r / 4 for n, r in zip(nodes, left))
        assert sum(n * c for n, c in zip(nodes, finish)) - ideal == best.delay


def instance(left: list[int], nodes: list[int]) -> dict:
    machine = {"nodes": 64, "unit_nodes": 1, "allocation": "flat", "node_bytes_per_second": 1.0,
               "storage_bytes_per_second": 8.0}  # fmt: skip
    jobs = [
        {"id": k, "submit_seconds": 0.0, "nodes": n, "walltime_seconds": 1e6,
         "phases": [{"compute_seconds": 0.0, "io_bytes": float(r)}]}
        for k, (r, n) in enumerate(zip(left, nodes), 1)
    ]  # fmt: skip
    return {"format": "ioopt/batch-io", "version": 1, "machine": machine, "jobs": jobs}


@pytest.mark.parametrize("solver", ["fill", "cons-fcfs", "cons-fcfs+top", "cons-max-util"])
def test_priority_policies_never_beat_the_oracle(solver: str) -> None:
    rng = random.Random(11)
    excess = []
    for _ in range(6):
        count = rng.randint(2, 5)
        left = [rng.randint(1, 60) for _ in range(count)]
        nodes = [rng.choice([1, 2, 4, 8]) for _ in range(count)]
        result = ioopt.solve(instance(left, nodes), solver=solver)
        peaks = [Fraction(min(n, 8)) for n in nodes]
        best = best_order([Fraction(r) for r in left], peaks, Fraction(8))
        mean = result.metrics["io_delay_seconds"]
        assert mean * count >= float(best.delay) - 1e-6
        excess.append(mean * count - float(best.delay))
    assert len(excess) == 6


def test_fill_is_the_best_order_for_equal_nodes() -> None:
    left, nodes = [40, 5, 17, 30], [8, 8, 8, 8]
    result = ioopt.solve(instance(left, nodes), solver="fill")
    best = best_order([Fraction(r) for r in left], [Fraction(8)] * 4, Fraction(8))
    # 5, 17, 30, 40 in turn: they finish at 5/8, 22/8, 52/8, 92/8, delays 0, 5/8, 22/8, 52/8.
    assert best.delay == Fraction(79, 8)
    assert result.metrics["io_delay_seconds"] * 4 == pytest.approx(79 / 8)


def test_refused() -> None:
    with pytest.raises(UsageError, match="7 requests"):
        best_order([1] * 7, [1] * 7, 4)
    with pytest.raises(UsageError, match="peak of request 0 is 5"):
        best_order([1], [5], 4)
