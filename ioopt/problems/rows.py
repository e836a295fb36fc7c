"""Rows of a schedule that are held as columns, which take a tenth of the memory of
dictionaries.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from ioopt.problems.base import Json

ROWS_AT_ONCE = 10_000
"""Number of rows that :meth:`Rows.pieces` makes at a time."""


class Rows(ABC):
    """Rows of a schedule, such as ``schedule.jobs``, that are held as columns."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def rows(self, first: int = 0, last: int | None = None) -> list[Json]:
        """Return the rows from *first* to *last* - 1 as dictionaries."""

    def pieces(self) -> Iterator[list[Json]]:
        """Yield the rows as dictionaries, some thousands at a time."""
        for first in range(0, len(self), ROWS_AT_ONCE):
            yield self.rows(first, min(first + ROWS_AT_ONCE, len(self)))

    def __iter__(self) -> Iterator[Json]:
        """Yield the rows as dictionaries."""
        for piece in self.pieces():
            yield from piece


def plain(schedule: Json) -> Json:
    """Return *schedule* with dictionaries in place of columns."""
    return {
        name: part.rows() if isinstance(part, Rows) else part
        for name, part in schedule.items()
    }
