"""Arithmetic of :mod:`ioopt.decisions.batch_io` in the part of Python that numba compiles."""

import math
from typing import Any

import numpy as np

POWERS: Any = np.array([10.0**k for k in range(-300, 301)])
"""numba's own power of ten differs in the last digit."""


def ulp(value: float) -> float:
    """:func:`math.ulp` of a number, 0 or more."""
    return float(np.nextafter(value, np.inf) - value)


def nine_digits(value: float) -> float:
    """*value*, 0 or more, rounded to 9 significant digits (rule 2)."""
    if value == 0.0 or math.isinf(value):
        return value
    exponent = math.floor(math.log10(value))
    if -290 < exponent < 290:
        if exponent <= 8:
            scale = POWERS[300 + 8 - exponent]
            return float(math.floor(value * scale + 0.5) / scale)
        scale = POWERS[300 + exponent - 8]
        return float(math.floor(value / scale + 0.5) * scale)
    return value


def bisect_right(values: Any, value: float, place: int, end: int) -> int:
    """The place after all of the ascending *values* from *place* to *end* that are at most *value*."""
    while place < end:
        middle = (place + end) // 2
        if value < values[middle]:
            end = middle
        else:
            place = middle + 1
    return place


def insert_at(values: Any, place: int, size: int, value: float) -> None:
    """Put *value* at *place* among the first *size* of *values*, which has room for it."""
    for k in range(size, place, -1):
        values[k] = values[k - 1]
    values[place] = value
