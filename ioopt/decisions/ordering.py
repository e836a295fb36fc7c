"""Compare numbers as the rules define it: which times are the same instant, which keys
are equal to nine digits, and in which order items come.

The code is kernel text (:mod:`ioopt.compiled.memory`). Four functions use Python's own
sorting and searching; C takes another function of this module in their place
(:func:`~ioopt.compiled.text.in_c`).
"""

import bisect
import math
from collections.abc import Sequence

from ioopt.compiled.text import in_c

Number = float
"""A float; in exact runs a Fraction takes its place, which has the same operators."""

FIT_TOLERANCE = 1e-12
"""Relative tolerance of a test whether something fits (rule 2 of batch I/O)."""
TIME_TOLERANCE_SECONDS = 1e-9
TIME_TOLERANCE_ULPS = 4
CLOSE = 1.1e-8
"""Relative difference above which numbers surely differ in their first nine digits."""


def time_tolerance(now: float) -> float:
    """Return by how many seconds a time may differ from *now* and still be the same
    instant (rule 2 of batch I/O).

    The part in ulps keeps the tolerance above rounding errors at late times. With an
    absolute tolerance alone, events of the same instant would repeat forever after 97
    simulated days.
    """
    return TIME_TOLERANCE_SECONDS + TIME_TOLERANCE_ULPS * math.ulp(now)


def nine_digits(value: float) -> float:
    """Return *value* rounded to nine significant digits (rule 2 of batch I/O).

    >>> nine_digits(0.1234567894)
    0.123456789
    """
    if value == 0.0 or math.isinf(value):
        return value
    exponent = math.floor(math.log10(value))
    if -290 < exponent < 290:
        if exponent <= 8:
            scale = power_of_ten(8 - exponent)
            return math.floor(value * scale + 0.5) / scale
        scale = power_of_ten(exponent - 8)
        return math.floor(value / scale + 0.5) * scale
    return value


def ascending(keys: Sequence[Number], use_exact: bool) -> list[int]:
    """Return the positions of *keys* sorted by key; equal keys stay in the order of
    their positions.

    All keys must be 0 or more. Floats are compared to nine digits (rule 2 of batch
    I/O). Keys are rounded only if some are so close that their nine digits may agree.

    >>> ascending([2.0, 1.00000000001, 1.0], False), ascending([2.0, 1.001, 1.0], False)
    ([1, 2, 0], [2, 1, 0])
    """
    order = sorted(range(len(keys)), key=keys.__getitem__)
    if use_exact or len(order) < 2:
        return order
    before = keys[order[0]]
    for k in order:
        key = keys[k]
        if key != before:
            if not key - before > CLOSE * abs(before):
                near = [nine_digits(key) for key in keys]
                return sorted(range(len(keys)), key=near.__getitem__)
            before = key
    return order


def power_of_ten(exponent: int) -> float:
    """Return 10 to the power of a whole *exponent*."""
    return 10.0**exponent


NEAR = 1 + CLOSE


def below(one: float, other: float) -> bool:
    """Return whether *one* is less than *other* when both are rounded to nine digits.

    Numbers are rounded only if they are close.
    """
    if one * NEAR < other:
        return True
    if other * NEAR < one or one == other:
        return False
    return nine_digits(one) < nine_digits(other)


def close(one: float, other: float) -> bool:
    """Return whether two different numbers, both 0 or more, may be equal to nine
    digits.
    """
    return one != other and not one * NEAR < other and not other * NEAR < one


def insert_by_digits(
    keys: list[Number], order: list[int], count: int, use_exact: bool
) -> None:
    """Do what :func:`sort_places` does for floats, by insertion."""
    for k in range(count):
        at = k
        while at > 0 and below(keys[k], keys[order[at - 1]]):
            order[at] = order[at - 1]
            at -= 1
        order[at] = k


@in_c(insert_by_digits)
def sort_places(
    keys: list[Number], order: list[int], count: int, use_exact: bool
) -> None:
    """Write the indices 0 to *count* - 1 into *order*, sorted as :func:`ascending`
    sorts *keys*.
    """
    order[:count] = ascending(keys[:count], use_exact)


def precedes(keys: list[Number], one: int, other: int) -> bool:
    """Return whether item *one* comes before item *other*: by key, then by item
    number.
    """
    if keys[one] == keys[other]:
        return one < other
    return keys[one] < keys[other]


def shell_sort(keys: list[Number], items: list[int], first: int, last: int) -> None:
    """Do what :func:`sort_by` does, by Shell sort."""
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


@in_c(shell_sort)
def sort_by(keys: list[Number], items: list[int], first: int, last: int) -> None:
    """Sort the items at positions *first* to *last* - 1 by their key, then by item
    number.
    """
    items[first:last] = sorted(items[first:last], key=lambda item: (keys[item], item))


def scan(values: list[Number], first: int, count: int) -> Number:
    """Do what :func:`least` does, by a loop.

    Four values are compared at a time, since no comparison waits for the others.
    """
    last = first + count
    one = math.inf
    two = math.inf
    three = math.inf
    four = math.inf
    k = first
    while k + 4 <= last:
        one = min(one, values[k])
        two = min(two, values[k + 1])
        three = min(three, values[k + 2])
        four = min(four, values[k + 3])
        k += 4
    while k < last:
        one = min(one, values[k])
        k += 1
    return min(one, two, three, four)


@in_c(scan)
def least(values: list[Number], first: int, count: int) -> Number:
    """Return the least of *count* values from position *first* on; infinity if *count*
    is 0.
    """
    return min(values[first : first + count], default=math.inf)


def search(values: list[Number], value: Number, place: int, end: int) -> int:
    """Do what :func:`bisect_right` does, by halving."""
    while place < end:
        middle = (place + end) // 2
        if value < values[middle]:
            end = middle
        else:
            place = middle + 1
    return place


@in_c(search)
def bisect_right(values: list[Number], value: Number, place: int, end: int) -> int:
    """Return the index after those *values* that are at most *value*.

    Only the values from *place* to *end* - 1 are searched; they must be in ascending
    order.
    """
    return bisect.bisect_right(values, value, place, end)
