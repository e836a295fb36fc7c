"""Check the arguments of calls on the objects of :mod:`ioopt.embed`.

A wrong value is a UsageError of one line, which names the argument and the value. A
scheduler that passes None, NaN or a fraction thus gets an error from that call, and not
from a later decision that fails because of the value. In all functions *what* is the
name of the argument in the message.
"""

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import TypeVar

from ioopt.errors import UsageError
from ioopt.options import shown

K = TypeVar("K")

SHORTEST_SECONDS = 1e-9
"""The shortest duration that is accepted, because durations are divisors."""


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
    """Return *value*, a time in seconds, as a float; raise UsageError unless it is a
    finite number.
    """
    if not is_real(value) or not math.isfinite(value):  # type: ignore[arg-type]
        raise UsageError(f"{what}: wanted a number of seconds, not {shown(value)}")
    return float(value)  # type: ignore[arg-type]


def duration(value: object, what: str) -> float:
    """Return *value*, a duration in seconds that may be infinite, as a float; raise
    UsageError if it is less than 1 ns.
    """
    if not is_real(value) or not value >= SHORTEST_SECONDS:  # type: ignore[operator]
        raise UsageError(f"{what}: wanted at least 1e-9 seconds, not {shown(value)}")
    return float(value)  # type: ignore[arg-type]


def number(value: object, what: str) -> float:
    """Return *value* as a float; raise UsageError unless it is a finite number of 0 or
    more.
    """
    if not is_real(value) or not 0 <= value < math.inf:  # type: ignore[operator]
        raise UsageError(f"{what}: wanted a number of 0 or more, not {shown(value)}")
    return float(value)  # type: ignore[arg-type]


def whole(value: object, what: str, least: int, most: int) -> int:
    """Return *value* as an int; raise UsageError unless it is a whole number from
    *least* to *most*.
    """
    good = isinstance(value, Integral) and not isinstance(value, bool)
    if not good or not least <= value <= most:  # type: ignore[operator]
        raise UsageError(
            f"{what}: wanted a whole number from {least} to {most}, not {shown(value)}"
        )
    return int(value)  # type: ignore[call-overload]


def name(value: object, what: str) -> str:
    """Return *value*; raise UsageError unless it is non-empty text."""
    if not isinstance(value, str) or not value:
        raise UsageError(f"{what}: wanted a name, not {shown(value)}")
    return value


def key(value: K, what: str) -> K:
    """Return *value* if it can be an identifier; raise UsageError for None and for
    values that cannot be keys of a dictionary.
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
    """Return *value*, a deadline in seconds or None for no deadline; raise UsageError
    for anything else.
    """
    if value is None:
        return None
    if not is_real(value) or value < 0:  # type: ignore[operator]
        raise UsageError(
            f"deadline: wanted seconds of 0 or more, or None, not {shown(value)}"
        )
    return float(value)  # type: ignore[arg-type]


def usable_deadline(value: object) -> tuple[float | None, tuple[str, ...]]:
    """Return (deadline, notes) for a call that must not raise. A negative deadline
    becomes 0, and one that is not a number becomes None; a note says so.
    """
    if is_real(value) and value < 0:  # type: ignore[operator]
        said = f"deadline: wanted seconds of 0 or more, not {shown(value)}; taken as 0"
        return 0.0, (said,)
    try:
        return deadline(value), ()
    except UsageError as error:
        return None, (f"{error}; it is left out",)


def names(values: Iterable[K], what: str) -> list[K]:
    """Return *values* as a list; raise UsageError for text, for a mapping and for a
    single value.
    """
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise UsageError(f"{what}: wanted a list, not {shown(values)}")
    return list(values)
