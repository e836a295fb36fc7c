"""Whose turn it is on a machine without a clock of rows (rule 22 of gang scheduling)."""

from collections.abc import Sequence

from ioopt.embed.gang_checks import rows_of
from ioopt.sim.gang.standing import StandingBoard

SWITCH_SHARE = 0.05
"""Most of a slice that a change of row may cost."""


class Turns:
    """``row`` has the turn ``until`` then, and jobs ``on`` (slots of a board) run; times are seconds."""

    def __init__(self, quantum: float, switch: float) -> None:
        self.length, self._switch = max(quantum, switch / SWITCH_SHARE), switch
        self.row, self._left, self.until, self.last = -1, 0, 0.0, 0.0
        self.on: list[int] = []

    def count(self, board: StandingBoard, now: float) -> None:
        """Count the service of the jobs that are on, up to *now*."""
        passed = max(0.0, now - self.last)
        for slot in self.on:
            board.jobs.attained[slot] += passed / board.gangs[slot].priority
            board.jobs.need[slot] = max(0.0, board.jobs.need[slot] - passed)
        self.last = max(self.last, float(now))

    def take(self, board: StandingBoard, now: float, suspended: int) -> list[int]:
        """The slots that are on from *now*; jobs on the nodes *suspended* have no turn.

        Rows that hold somebody take turns, each as many slices as its highest priority.
        """
        rows = _rows(board, suspended)
        if not rows:
            self.on, self.until = [], now + self.length
            return []
        over = now >= self.until
        self._left -= over
        if self.row not in rows or self._left <= 0:
            self.row = min((row for row in rows if row > self.row), default=min(rows))
            self._left = max(board.gangs[slot].priority for slot in rows[self.row])
            over = True
        if over:
            self.until = now + self.length
        if self.on and rows[self.row] != self.on:
            self.last += self._switch
        self.on = rows[self.row]
        return self.on

    def state(self) -> list[float]:
        """As plain values, without ``on``."""
        return [self.row, self._left, self.until, self.last]

    def restore(self, state: Sequence[float], on: list[int]) -> None:
        """Go on from a :meth:`state`."""
        row, left, until, last = state
        self.row, self._left, self.until, self.last = int(row), int(left), float(until), float(last)
        self.on = on


def _rows(board: StandingBoard, suspended: int) -> dict[int, list[int]]:
    """Row -> slots that have a turn there; a row whose jobs all stand in another is left out."""
    rows: dict[int, list[int]] = {}
    for slot in board.running:
        if not board.jobs.columns[slot] & suspended:
            for row in rows_of(board.jobs.span[slot]):
                rows.setdefault(row, []).append(slot)
    kept: dict[int, list[int]] = {}
    for row, slots in sorted(rows.items(), key=lambda item: (-len(item[1]), item[0])):
        if not any(set(slots) <= set(others) for others in kept.values()):
            kept[row] = slots
    return kept
