"""Searches through rows of times, several numbers at once."""

from __future__ import annotations

import math
from typing import Any

from ioopt.compiled import tuned

STRIDE = 8
"""Times are searched in blocks of this many, so their rows end in as many infinite ones."""
NO_NAN = tuned(fastmath={"nnan", "nsz"})
"""For loops over times: without NaN, and with no sign of zero, they run several at once."""


@NO_NAN
def least(blocks: Any, count: int) -> float:
    """The least of the first *count* values, those up to the next multiple of STRIDE being infinite.

    Four minima at a time: one would wait for itself at every value.
    """
    one = two = three = four = math.inf
    for k in range((count + STRIDE - 1) // STRIDE):
        one = min(one, min(blocks[k, 0], blocks[k, 4]))
        two = min(two, min(blocks[k, 1], blocks[k, 5]))
        three = min(three, min(blocks[k, 2], blocks[k, 6]))
        four = min(four, min(blocks[k, 3], blocks[k, 7]))
    return min(min(one, two), min(three, four))


@NO_NAN
def due_at(values: Any, count: int, base: float, until: float) -> tuple[int, int]:
    """How many values exceed *base* by at most *until*, and the sum of their places: the place of one."""
    found, places = 0, 0
    for k in range((count + STRIDE - 1) // STRIDE * STRIDE):
        due = values[k] - base <= until
        found += due
        places += k if due else 0
    return found, places
