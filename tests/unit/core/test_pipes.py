"""A pipe that carries many loads: what cannot end in time is
named, and nothing else.
"""

import random

import pytest

from ioopt.checks import Load, overloads


def test_loads_at_one_rate_each_by_hand() -> None:
    """10 bytes/s: 6 and 4 fit, one after the other and at once; 6 and 5
    over one span do not.
    """
    first, second = Load(0.0, 10.0, 60.0, "a"), Load(0.0, 10.0, 40.0, "b")
    assert overloads(10.0, [first, second, Load(10.0, 20.0, 100.0, "c")]) == []
    more = second._replace(size=50.0)
    assert overloads(10.0, [first, more]) == [(more, pytest.approx(10.0))]


@pytest.mark.parametrize("seed", range(60))
def test_loads_fit_when_every_span_holds_what_lies_in_it(seed: int) -> None:
    """All loads can end in time if and only if no span is asked for more
    than rate x its length.
    """
    rng = random.Random(seed)
    loads = []
    for k in range(8):
        start, span = rng.randrange(20), rng.randint(1, 9)
        loads.append(
            Load(float(start), float(start + span), rng.random() * 3 * span, k)
        )
    rate = rng.choice([4.0, 6.0, 9.0, 12.0])
    fits = all(
        sum(load.size for load in loads if start <= load.start and load.end <= end)
        <= rate * (end - start)
        for start in {load.start for load in loads}
        for end in {load.end for load in loads if load.end > start}
    )
    assert (overloads(rate, loads) == []) == fits
