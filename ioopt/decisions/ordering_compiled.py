"""Implement for numba some functions of :mod:`ioopt.decisions.ordering`."""

import math

import numpy as np
from numpy.typing import NDArray

from ioopt.compiled import apart, tuned
from ioopt.decisions.ordering import below

Reals = NDArray[np.float64]
Places = NDArray[np.int64]

POWERS: Reals = np.array([10.0**k for k in range(-300, 301)])
"""Powers of ten; those that numba computes differ in the last digit."""


def ulp(value: float) -> float:
    """Return :func:`math.ulp` of a number that is not negative."""
    return float(np.nextafter(value, np.inf) - value)


def power_of_ten(exponent: int) -> float:
    """Return 10 to a whole *exponent*."""
    return float(POWERS[300 + exponent])


def bisect_right(values: Reals, value: float, place: int, end: int) -> int:
    """Return the index after the *values* that are at most *value*, as :mod:`bisect`
    does.

    The *values* from *place* to *end* are in ascending order.
    """
    while place < end:
        middle = (place + end) // 2
        if value < values[middle]:
            end = middle
        else:
            place = middle + 1
    return place


def sort_places(keys: Reals, order: Places, count: int, use_exact: bool) -> None:
    """Write the indices 0 to *count* - 1 into *order*, sorted by rounded key, then
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
    """Return the least of *count* values from *first* on.

    NaN and signs of zero are ignored, which lets the processor compare several values
    at once.
    """
    result = math.inf
    for k in range(first, first + count):
        result = min(result, values[k])
    return result


@apart
def sort_by(keys: Reals, items: Places, first: int, last: int) -> None:
    """Sort the items from *first* to *last* by key, then by number (Shell sort)."""
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
    """Return whether *one* comes before *other*: by key, then by number."""
    if keys[one] == keys[other]:
        return one < other
    return bool(keys[one] < keys[other])
