"""The common form of every schedule: intervals on resources, in seconds.

Every family's simulator produces a :class:`Timeline`; plots, CSV and Trace Event export read
nothing else.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True, order=True)
class Interval:
    """Something that holds a resource from ``start`` to ``end`` seconds.

    ``kind`` is one of the family's words (``compute``, ``remote``, ``copy``, ``io``, ...);
    ``label`` names the task, file or job; ``rate`` is bytes per second where that has a meaning.
    """

    start: float
    end: float
    resource: str
    kind: str
    label: str
    rate: float | None = None
    info: Mapping[str, str | float | int | None] = field(default_factory=dict, compare=False)

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.end - self.start


@dataclass(frozen=True)
class Timeline:
    """Intervals sorted by (start, end, resource, kind, label), and instants such as evictions.

    ``resources`` fixes the order in which rows are drawn. ``marks`` are intervals of no length.
    ``flows`` are pairs of intervals, the second of which needs what the first made; ``counters``
    are step functions, (time, value) at each change, by name.
    """

    intervals: tuple[Interval, ...]
    resources: tuple[str, ...]
    marks: tuple[Interval, ...] = ()
    flows: tuple[tuple[Interval, Interval], ...] = ()
    counters: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        intervals: Iterable[Interval],
        resources: Iterable[str] = (),
        marks: Iterable[Interval] = (),
    ) -> Self:
        """Sort *intervals* and *marks*; resources not named are appended in order of appearance."""
        ordered = tuple(sorted(intervals, key=_interval_key))
        instants = tuple(sorted(marks, key=_interval_key))
        names = dict.fromkeys(resources)
        names.update(dict.fromkeys(item.resource for item in ordered + instants))
        return cls(ordered, tuple(names), instants)

    @property
    def makespan(self) -> float:
        """End of the last interval in seconds; 0 when there is none."""
        return max((item.end for item in self.intervals), default=0.0)

    def on(self, resource: str) -> tuple[Interval, ...]:
        """The intervals of one resource in time order."""
        return tuple(item for item in self.intervals if item.resource == resource)


def _interval_key(item: Interval) -> tuple[float, float, str, str, str]:
    return item.start, item.end, item.resource, item.kind, item.label


def covered_seconds(spans: Iterable[tuple[float, float]]) -> float:
    """How long at least one of the *spans* (start, end) lasted.

    >>> covered_seconds([(0, 2), (5, 6), (1, 3)])
    4.0
    """
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total
