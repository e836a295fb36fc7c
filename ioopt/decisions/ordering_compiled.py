"""What :mod:`ioopt.decisions.ordering` has in C, in the part of Python
that numba compiles.
"""

import math

import numpy as np
from numpy.typing import NDArray

from ioopt.compiled import apart, tuned
from ioopt.decisions.ordering import below

Reals = NDArray[np.float64]
Places = NDArray[np.int64]

POWERS: Reals = np.array([10.0**k for k in range(-300, 301)])
"""numba's own power of ten differs in the last digit."""


def ulp(value: float) -> float:
    """:func:`math.ulp` of a number, 0 or more."""
    return float(np.nextafter(value, np.inf) - value)


def power_of_ten(exponent: int) -> float:
    """10 to a whole *exponent*."""
    return float(POWERS[300 + exponent])


def bisect_right(values: Reals, value: float, place: int, end: int) -> int:
    """The place after all of the ascending *values* from *place* to *end* that
    are at most *value*.
    """
    while place < end:
        middle = (place + end) // 2
        if value < values[middle]:
            end = middle
        else:
            place = middle + 1
    return place


def sort_places(keys: Reals, order: Places, count: int, use_exact: bool) -> None:
    """Places 0 to *count* by rounded key, ascending, ties by place, into *order*."""
    for k in range(count):
        at = k
        while at > 0 and below(keys[k], keys[order[at - 1]]):
            order[at] = order[at - 1]
            at -= 1
        order[at] = k


@tuned(fastmath={"nnan", "nsz"})
def least(values: Reals, first: int, count: int) -> float:
    """The least of *count* values from *first* on: without NaN and signs of
    zero, several at once.
    """
    result = math.inf
    for k in range(first, first + count):
        result = min(result, values[k])
    return result


@apart
def sort_by(keys: Reals, items: Places, first: int, last: int) -> None:
    """Bring the items from *first* to *last* into the order of their keys, then of
    their numbers (Shell).
    """
    step = last - first
    while step > 1:
        step = max(1, 4 * step // 9)
        for place in range(first + step, last):
            item, at = items[place], place
            while at - step >= first and precedes(keys, item, items[at - step]):
                items[at] = items[at - step]
                at -= step
            items[at] = item


def precedes(keys: Reals, one: int, other: int) -> bool:
    """Whether *one* comes before *other*: by key, then by number."""
    return bool(keys[one] < keys[other] or (keys[one] == keys[other] and one < other))
