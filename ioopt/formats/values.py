"""Types of setting values and of numbers in imported JSON, with their checks."""

from collections.abc import Callable
from typing import Annotated

from pydantic import BeforeValidator, Field, StrictInt, ValidationInfo

from ioopt.errors import UsageError
from ioopt.units import parse_rate, whole

LARGEST = 1e18
"""Largest accepted number of bytes, operations or seconds; real workloads are far
below.
"""


def _no_switch(value: object, info: ValidationInfo) -> object:
    """Return *value*.

    Raises UsageError for true and false, which Python treats as 1 and 0.
    """
    if isinstance(value, bool):
        raise UsageError(
            f"{info.field_name}: wanted a number, not {str(value).lower()}"
        )
    return value


def figure(parse: Callable[[str], float], **words: str | None) -> BeforeValidator:
    """Return a validator that turns text into a number.

    Text that is a key of *words* becomes the value of that key. Other text, such as
    ``100Mbps``, is converted by *parse*. A number stays as it is.
    """

    def read(value: object, info: ValidationInfo) -> object:
        if not isinstance(value, str):
            return _no_switch(value, info)
        word = value.strip().lower()
        if word in words:
            return words[word]
        try:
            return parse(value)
        except UsageError as error:
            raise UsageError(f"{info.field_name}: {error}") from None

    return BeforeValidator(read)


Rate = Annotated[
    float, Field(gt=0, le=LARGEST, allow_inf_nan=False), figure(parse_rate)
]
"""A rate in bytes per second."""
Number = Annotated[int, Field(ge=1, le=1_000_000), BeforeValidator(_no_switch)]
"""A number of items to generate, from 1 to 1,000,000."""


def _split(value: object) -> object:
    """Return the parts of comma-separated text; return any other value unchanged."""
    if isinstance(value, str):
        return tuple(value.split(","))
    return value


Numbers = Annotated[tuple[Annotated[float, Field(gt=0)], ...], BeforeValidator(_split)]
"""A tuple of positive numbers, which text gives separated by commas."""
Amount = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False, strict=True)]
"""A JSON number of bytes, operations or seconds, 0 or more."""
Count = Annotated[StrictInt, Field(ge=1, le=LARGEST), BeforeValidator(whole)]
"""A whole JSON number, 1 or more."""
