"""Check the arguments of calls on embedded objects, with errors of one line that name
the value.

A scheduler that passes None, NaN or a fraction gets an error from that call, and not
from a later decision that fails because of the value.
"""

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import TypeVar

from ioopt.errors import UsageError
from ioopt.options import shown

K = TypeVar("K")

SHORTEST_SECONDS = 1e-9
"""The shortest length of time: queues divide by such times."""


def is_real(value: object) -> bool:
    """Return whether *value* is a number other than NaN; True and False are not
    numbers.
    """
    return (
        isinstance(value, Real)
        and not isinstance(value, bool)
        and not math.isnan(value)
    )


def seconds(value: object, what: str) -> float:
    """Return a time as a float; UsageError unless it is a finite number."""
    if not is_real(value) or not math.isfinite(value):  # type: ignore[arg-type]
        raise UsageError(f"{what}: wanted a number of seconds, not {shown(value)}")
    return float(value)  # type: ignore[arg-type]


def duration(value: object, what: str) -> float:
    """Return a length of time, which may be infinite; UsageError for less than 1 ns."""
    if not is_real(value) or not value >= SHORTEST_SECONDS:  # type: ignore[operator]
        raise UsageError(f"{what}: wanted at least 1e-9 seconds, not {shown(value)}")
    return float(value)  # type: ignore[arg-type]


def number(value: object, what: str) -> float:
    """Return a finite number of 0 or more as a float; UsageError for anything else."""
    if not is_real(value) or not 0 <= value < math.inf:  # type: ignore[operator]
        raise UsageError(f"{what}: wanted a number of 0 or more, not {shown(value)}")
    return float(value)  # type: ignore[arg-type]


def whole(value: object, what: str, least: int, most: int) -> int:
    """Return a whole number from *least* to *most*; UsageError for anything else."""
    good = isinstance(value, Integral) and not isinstance(value, bool)
    if not good or not least <= value <= most:  # type: ignore[operator]
        raise UsageError(
            f"{what}: wanted a whole number from {least} to {most}, not {shown(value)}"
        )
    return int(value)  # type: ignore[call-overload]


def name(value: object, what: str) -> str:
    """Return a name; UsageError unless it is text."""
    if not isinstance(value, str) or not value:
        raise UsageError(f"{what}: wanted a name, not {shown(value)}")
    return value


def key(value: K, what: str) -> K:
    """Return *value* if it can be an identifier; UsageError for None and for values
    that cannot be keys of a dictionary.
    """
    try:
        hash(value)
        known = value is not None
    except TypeError:
        known = False
    if not known:
        raise UsageError(f"{what}: wanted a name")
    return value


def deadline(value: object) -> float | None:
    """Return a deadline in seconds, or None for no deadline; UsageError for anything
    else.
    """
    if value is None:
        return None
    if not is_real(value):
        raise UsageError(
            f"deadline: wanted a number of seconds or None, not {shown(value)}"
        )
    return float(value)  # type: ignore[arg-type]


def usable_deadline(value: object) -> tuple[float | None, tuple[str, ...]]:
    """Return a deadline for a call that must not raise, and notes; a bad deadline is
    replaced by None with a note.
    """
    try:
        return deadline(value), ()
    except UsageError as error:
        return None, (f"{error}; it is left out",)


def names(values: Iterable[K], what: str) -> list[K]:
    """Return several values as a list; UsageError for text and for a single value."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise UsageError(f"{what}: wanted a list, not {shown(values)}")
    return list(values)
