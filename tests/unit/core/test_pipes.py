"""A pipe that carries many loads: what cannot end in time is
named, and nothing else.
"""

import random

import numpy as np
import pytest

from ioopt.checks import Load, overloads
from ioopt.checks.batch_io.rates import pressed


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


def test_the_transfer_that_outlasts_its_busy_period_is_left_out_by_hand() -> None:
    """10 bytes/s, from 0 s on: 60 and 40 bytes keep the storage busy until 10 s. The
    first ends at 12 s, after that, and is left out; the other alone is moved at 4 s and
    ends at 3 s.
    """
    begin, end, size = (
        np.array(column) for column in ([0.0, 0.0], [12.0, 3.0], [60.0, 40.0])
    )
    assert pressed(10.0, begin, end, size).tolist() == [1]
    assert pressed(10.0, begin, end + 2.0, size).tolist() == []


@pytest.mark.parametrize("seed", range(40))
def test_the_pressed_transfers_fit_exactly_if_all_do(seed: int) -> None:
    rng = random.Random(seed)
    scale = 10.0 ** rng.choice([0, 3, 8])
    asked = rng.choice([0.3, 0.6, 1.0])
    loads = []
    for k in range(12):
        start = rng.choice([rng.uniform(0, 10), float(rng.randint(0, 10))])
        span = rng.choice([rng.uniform(0.1, 5), float(rng.randint(1, 5))])
        size = rng.random() * span * asked
        loads.append(Load(start * scale, (start + span) * scale, size * scale, k))
    columns = (np.array([load[k] for load in loads]) for k in range(3))
    chosen = [loads[k] for k in pressed(1.0, *columns)]
    assert (overloads(1.0, chosen) == []) == (overloads(1.0, loads) == [])
