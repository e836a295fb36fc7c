"""Single values: types of settings, and checks of foreign JSON with messages that name the place."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ioopt.errors import InstanceError
from ioopt.units import parse_rate

LARGEST = 1e18
"""Bytes, operations and seconds of real workloads stay far below."""


def rate(value: Any) -> Any:
    """Text such as ``100Mbps`` as bytes per second; anything else as it is."""
    return parse_rate(value) if isinstance(value, str) else value


Rate = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(rate)]
"""Bytes per second."""
Number = Annotated[int, Field(ge=1, le=1_000_000)]
"""A count of things to make."""


def number(value: Any, where: str, least: float = 0.0) -> float:
    """A finite number of *least* or more, or InstanceError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InstanceError(f"{where}: wanted a number, not {value!r}")
    try:
        real = float(value)
    except OverflowError:
        real = math.inf
    if not real <= LARGEST or real < least:
        raise InstanceError(f"{where}: wanted a finite number of {least:g} or more, not {value!r}")
    return real


def whole(value: Any, where: str, least: int) -> int:
    """A whole number of *least* or more, or InstanceError."""
    if type(value) is not int or not least <= value <= LARGEST:
        raise InstanceError(f"{where}: wanted a whole number of {least} or more, not {value!r}")
    return value
