"""The history of a matrix: what changed at every update, small enough to write down."""

from collections.abc import Sequence
from typing import Any

from ioopt.decisions.gang.rules import Number
from ioopt.decisions.gang.state import State
from ioopt.problems.gang import nodes_of


class History:
    """Observer of a simulation; ``updates`` is the extra key of the schedule.

    Each update is ``{"seconds", "left": [id], "placed": [{"id", "columns", "home_row", "rows",
    "local"}]}`` and names only the jobs whose place differs from the one before; *ids* are by job
    key.
    """

    def __init__(self, ids: Sequence[Any]) -> None:
        self.ids = ids
        self.updates: list[dict[str, Any]] = []
        self._places: dict[int, tuple[int, int, int]] = {}

    def __call__(self, now: Number, index: int, state: State, gone: tuple[int, ...]) -> None:
        """Note the changes of one update."""
        for key in gone:
            del self._places[key]
        placed = []
        for job, *place in zip(state.jobs, state.columns, state.homes, state.spans):
            columns, home, span = place
            if self._places.get(job.key) != (columns, home, span):
                self._places[job.key] = (columns, home, span)
                placed.append(
                    {
                        "id": self.ids[job.key], "columns": list(nodes_of(columns)),
                        "home_row": home, "rows": list(nodes_of(span)), "local": columns == job.files,
                    }
                )  # fmt: skip
        left = [self.ids[key] for key in gone]
        self.updates.append({"seconds": float(now), "left": left, "placed": placed})
