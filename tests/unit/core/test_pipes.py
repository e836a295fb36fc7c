"""A pipe that carries many loads: the quick look agrees with the slow one."""

from __future__ import annotations

import random

import pytest

from ioopt.check import pipes
from ioopt.check.pipes import Load, overloads


def test_loads_at_one_rate_each_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """10 bytes/s: 6 and 4 fit, one after the other and at once; 6 and 5 over one span do not."""
    slow = []
    monkeypatch.setattr(pipes, "FEW", 1)
    monkeypatch.setattr(pipes.heapq, "heappush", lambda heap, item: slow.append(item))
    first, second = Load(0.0, 10.0, 60.0, "a"), Load(0.0, 10.0, 40.0, "b")
    assert overloads(10.0, [first, second, Load(10.0, 20.0, 100.0, "c")]) == []
    assert not slow
    overloads(10.0, [first, second._replace(size=50.0)])
    assert slow


@pytest.mark.parametrize("seed", range(60))
def test_what_is_passed_at_a_glance_is_passed_at_length(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    loads = []
    for k in range(12):
        start, span = rng.randrange(20), rng.randint(1, 9)
        loads.append(Load(float(start), float(start + span), rng.random() * 5 * span, k))
    rate = rng.choice([6.0, 12.0, 24.0])
    at_length = overloads(rate, loads)
    monkeypatch.setattr(pipes, "FEW", 1)
    assert overloads(rate, loads) == at_length
