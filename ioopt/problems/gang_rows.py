"""Hold the rows ``schedule.jobs`` of gangs as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ioopt.arrays import Flags, Floats, Ints
from ioopt.problems.base import JobId, Json, Real, Rows
from ioopt.problems.columns import Objects, names, numbers
from ioopt.problems.job_columns import joined


@dataclass(frozen=True, eq=False)
class GangRows(Rows):
    """Runs of gangs as columns: the rows ``schedule.jobs`` of a workload.

    Times are in seconds. A row that was read and has no id has the id None.
    """

    ids: Sequence[JobId | None]
    start: Floats
    finish: Floats
    local: Flags

    @classmethod
    def read(cls, rows: Objects) -> GangRows:
        """Return the columns of *rows*, which are those that ioopt writes. Raises one
        of ``UNUSUAL`` for other rows.
        """
        return cls(
            ids=names(rows.take("id")),
            start=numbers(Real, rows.take("start_seconds")),
            finish=numbers(Real, rows.take("finish_seconds")),
            local=np.array(rows.take_truths("local"), bool),
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of all *parts*, one part after the other."""
        return cls(
            ids=joined([part.ids for part in parts]),
            start=joined([part.start for part in parts]),
            finish=joined([part.finish for part in parts]),
            local=joined([part.local for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def taken(self, places: Ints) -> GangRows:
        """Return the rows at *places*, in that order."""
        return GangRows(
            [self.ids[k] for k in places],
            self.start[places],
            self.finish[places],
            self.local[places],
        )

    def rows(self, first: int = 0, last: int | None = None) -> list[Json]:
        """Return the rows from *first* to *last* - 1 as dictionaries."""
        part = slice(first, last)
        return [
            {
                "id": name,
                "start_seconds": start,
                "finish_seconds": finish,
                "local": local,
            }
            for name, start, finish, local in zip(
                self.ids[part],
                self.start[part].tolist(),
                self.finish[part].tolist(),
                self.local[part].tolist(),
            )
        ]
