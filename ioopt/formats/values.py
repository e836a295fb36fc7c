"""Single values: types of settings, and checks of foreign JSON with messages that name the place."""

import csv
import io
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictInt, ValidationInfo

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.native import named, read_text
from ioopt.units import parse_rate, whole

LARGEST = 1e18
"""Bytes, operations and seconds of real workloads stay far below."""


def figure(parse: Callable[[str], float], **words: str | None) -> BeforeValidator:
    """Text is what one of *words* stands for, else a figure such as ``100Mbps`` that *parse* reads."""

    def read(value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, str):
            return value
        word = value.strip().lower()
        if word in words:
            return words[word]
        try:
            return parse(value)
        except UsageError as error:
            raise UsageError(f"{info.field_name}: {error}") from None

    return BeforeValidator(read)


Rate = Annotated[float, Field(gt=0, allow_inf_nan=False), figure(parse_rate)]
"""Bytes per second."""
Number = Annotated[int, Field(ge=1, le=1_000_000)]
"""A count of things to make."""


Numbers = Annotated[
    tuple[Annotated[float, Field(gt=0)], ...],
    BeforeValidator(lambda value: tuple(value.split(",")) if isinstance(value, str) else value),
]
"""Positive numbers; as text, separated by commas."""
Amount = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False, strict=True)]
"""Bytes, operations or seconds as a number of JSON."""
Count = Annotated[StrictInt, Field(ge=1, le=LARGEST), BeforeValidator(whole)]
"""A whole number of JSON, 1 or more."""


def number(value: float, where: str) -> float:
    """*value*, a finite number of 0 or more, or InstanceError."""
    if not 0 <= value <= LARGEST:
        raise InstanceError(f"{where}: wanted a finite number of 0 or more, not {value!r}")
    return value


def csv_rows(
    source: str | os.PathLike[str], needed: Sequence[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """(place for messages, cells by column) of every row, whatever the heading separates columns by."""
    name = named(source)
    lines = io.StringIO(read_text(source), newline="")
    delimiter = max("\t;,", key=lines.readline().count)
    lines.seek(0)
    reader = csv.DictReader(lines, skipinitialspace=True, delimiter=delimiter)
    try:
        reader.fieldnames = [column.strip() for column in reader.fieldnames or ()]
        for column in needed:
            if column not in reader.fieldnames:
                raise InstanceError(
                    f"{name}: line 1: column {column!r} is missing; needed: {', '.join(needed)}"
                )
        for row in reader:
            yield f"{name}: line {reader.line_num}", row
    except csv.Error as error:
        raise InstanceError(f"{name}: not CSV: {error}") from None
