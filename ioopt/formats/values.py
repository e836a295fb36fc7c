"""Define types of settings, and checks of foreign JSON whose messages name the
place.
"""

from collections.abc import Callable
from typing import Annotated

from pydantic import BeforeValidator, Field, StrictInt, ValidationInfo

from ioopt.errors import UsageError
from ioopt.units import parse_rate, whole

LARGEST = 1e18
"""Largest bytes, operations or seconds accepted; real workloads are far below."""


def _no_switch(value: object, info: ValidationInfo) -> object:
    """Return *value*; UsageError for true and false, which Python treats as 1 and 0."""
    if isinstance(value, bool):
        raise UsageError(
            f"{info.field_name}: wanted a number, not {str(value).lower()}"
        )
    return value


def figure(parse: Callable[[str], float], **words: str | None) -> BeforeValidator:
    """Return a validator that turns text into a number: a word of *words*, else by
    *parse*.

    *parse* reads text such as ``100Mbps``.
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
"""Bytes per second."""
Number = Annotated[int, Field(ge=1, le=1_000_000), BeforeValidator(_no_switch)]
"""Number of items to generate."""


def _split(value: object) -> object:
    """Return the comma-separated parts of a text."""
    if isinstance(value, str):
        return tuple(value.split(","))
    return value


Numbers = Annotated[tuple[Annotated[float, Field(gt=0)], ...], BeforeValidator(_split)]
"""Positive numbers; as text, separated by commas."""
Amount = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False, strict=True)]
"""Bytes, operations or seconds as a number of JSON."""
Count = Annotated[StrictInt, Field(ge=1, le=LARGEST), BeforeValidator(whole)]
"""A whole number of JSON, 1 or more."""
