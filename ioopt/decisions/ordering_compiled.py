"""Implement some functions of :mod:`ioopt.decisions.ordering` for numba."""

import math

import numpy as np
from numpy.typing import NDArray

from ioopt.compiled import apart, tuned
from ioopt.decisions.ordering import below

Reals = NDArray[np.float64]
Places = NDArray[np.int64]

POWERS: Reals = np.array([10.0**k for k in range(-300, 301)])
"""Powers of ten as Python computes them. Those that numba computes differ in the last
digit.
"""


def ulp(value: float) -> float:
    """Return :func:`math.ulp` of a number that is not negative."""
    return float(np.nextafter(value, np.inf) - value)


def power_of_ten(exponent: int) -> float:
    """Return 10 to the power of a whole *exponent*."""
    return float(POWERS[300 + exponent])


def bisect_right(values: Reals, value: float, place: int, end: int) -> int:
    """Return the index after those *values* that are at most *value*, as
    :func:`bisect.bisect_right` does.

    Only the values from *place* to *end* - 1 are searched; they must be in ascending
    order.
    """
    while place < end:
        middle = (place + end) // 2
        if value < values[middle]:
            end = middle
        else:
            place = middle + 1
    return place


def sort_places(keys: Reals, order: Places, count: int, use_exact: bool) -> None:
    """Write the indices 0 to *count* - 1 into *order*, sorted by rounded key, then by
    index.
    """
    for k in range(count):
        at = k
        while at > 0 and below(keys[k], keys[order[at - 1]]):
            order[at] = order[at - 1]
            at -= 1
        order[at] = k


@tuned(fastmath={"nnan", "nsz"})
def least(values: Reals, first: int, count: int) -> float:
    """Return the least of *count* values from position *first* on; infinity if *count*
    is 0.

    NaN and the sign of zero are ignored, so that the processor can compare several
    values at once.
    """
    result = math.inf
    for k in range(first, first + count):
        result = min(result, values[k])
    return result


@apart
def sort_by(keys: Reals, items: Places, first: int, last: int) -> None:
    """Sort the items at positions *first* to *last* - 1 by their key, then by item
    number (Shell sort).
    """
    step = last - first
    while step > 1:
        step = max(1, 4 * step // 9)
        for place in range(first + step, last):
            item = items[place]
            at = place
            while at - step >= first and precedes(keys, item, items[at - step]):
                items[at] = items[at - step]
                at -= step
            items[at] = item


def precedes(keys: Reals, one: int, other: int) -> bool:
    """Return whether item *one* comes before item *other*: by key, then by item
    number.
    """
    if keys[one] == keys[other]:
        return one < other
    return bool(keys[one] < keys[other])
