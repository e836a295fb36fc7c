"""One row of a dispatch's record, which files write without its round where that is 0."""

from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from ioopt.problems.base import Count, Name, Seconds

Row = tuple[float, int, str, str]
Short = tuple[Seconds, Name, Name]
Long = tuple[Seconds, Count, Name, Name]


def _with_round(row: object) -> object:
    """*row* with round 0 where it has none."""
    if isinstance(row, (list, tuple)) and len(row) == 3:
        return (row[0], 0, *row[1:])
    return row


def _written(row: Row) -> tuple[float, str, str] | Row:
    """*row* as files hold it: all rounds but those after work of no length are 0."""
    seconds, number, task, node = row
    return row if number else (seconds, task, node)


DispatchRow = Annotated[
    Long,
    BeforeValidator(_with_round, json_schema_input_type=Short | Long),
    PlainSerializer(_written, return_type=Short | Long, when_used="json"),
]
"""(seconds, round, task, node): what was given to whom, and when (workflow rule 12)."""
