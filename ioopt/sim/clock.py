"""Keep the time of a simulation: the events to come, and what is one instant.

Rounding separates times that are the same in the model. Each family has its rule for
them, which plans, policies and checkers know too: ``Ticks.slack`` of work directories,
:func:`ioopt.decisions.ordering.time_tolerance` of batch I/O, ``Timing.tolerance`` of
gangs, and :func:`instant_of` of replication.
"""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from ioopt.problems.replication import JUST_AFTER, RELATIVE_AFTER


class Events(list[tuple[float, int]]):
    """Hold the events to come: a heap of (time, number), of which the first is next.

    Compiled kernels scan their few jobs or flows instead. The runs of work
    directories, which a search makes by the thousand, keep two lists of their own:
    calls of these methods would make them a fifth slower.

    >>> events = Events([(3, 1), (2, 7)])
    >>> events.add(2, 4)
    >>> events.due(2), events.soonest
    ([4, 7], 3)
    """

    __slots__ = ()

    def __init__(self, rows: Iterable[tuple[float, int]] = ()) -> None:
        super().__init__(rows)
        heapify(self)

    @property
    def soonest(self) -> float:
        """Return the time of the next event; there must be one."""
        return self[0][0]

    def add(self, time: float, number: int) -> None:
        """Add event *number* at *time*."""
        heappush(self, (time, number))

    def due(self, time: float) -> list[int]:
        """Remove the events up to *time*; return their numbers, in order of their times
        and numbers.
        """
        found: list[int] = []
        while self and self[0][0] <= time:
            found.append(heappop(self)[1])
        return found


def instant_of(now: float) -> float:
    """Return the last time that is the same instant as *now* in replication.

    The text runs as plain Python and compiled.
    """
    return now + JUST_AFTER + RELATIVE_AFTER * now
