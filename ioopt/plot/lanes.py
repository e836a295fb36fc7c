"""Divide the row of a node into lanes, so that each task and each transfer is one box.

A lane of a drawing is not a numbered core: the cores of a task may be apart, but its
lanes are neighbours.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ioopt.timeline import JUST_AFTER, Interval, Timeline, lanes_of

STAGING = ("remote", "copy", "save")
MOST_LANES = 8
"""The largest number of lanes for the transfers that a node receives at once, and for
those that it saves.
"""
FILLED = 0.76
"""The share of the height of a row that its lanes fill."""


class Wide(NamedTuple):
    """A span of time in seconds that needs ``width`` neighbouring lanes."""

    start: float
    end: float
    width: int


TIES: tuple[Callable[[Wide], float], ...] = (
    lambda span: -span.width,
    lambda span: -span.end,
    lambda span: span.end,
)
"""The rules by which spans with the same start are ordered."""


class Packing(NamedTuple):
    """The first lane of each span, and the number of lanes."""

    first: list[int]
    lanes: int


def packed(spans: Sequence[Wide]) -> Packing:
    """Give each of *spans* neighbouring lanes, so that spans that overlap share none.

    Spans are placed in order of their starts, with several rules for ties and for the
    choice of a gap, and the packing with the fewest lanes is returned. It may have more
    lanes than are used at any instant, but no span is ever split.

    >>> packed([Wide(0, 2, 1), Wide(0, 1, 2), Wide(0, 2, 1), Wide(1, 2, 2)])
    Packing(first=[2, 0, 3, 0], lanes=4)
    """
    most = _most_at_once(spans)
    best: Packing | None = None
    for tie in TIES:
        numbers = sorted(
            range(len(spans)), key=lambda k: (spans[k].start, tie(spans[k]))
        )
        for tightest in (False, True):
            found = _placed(spans, numbers, tightest)
            if best is None or found.lanes < best.lanes:
                best = found
            if best.lanes == most:
                return best
    assert best is not None
    return best


def _most_at_once(spans: Sequence[Wide]) -> int:
    """Return the largest number of lanes that *spans* need at any instant."""
    changes = []
    for span in spans:
        changes.append((span.start + JUST_AFTER, span.width))
        changes.append((span.end, -span.width))
    needed = most = 0
    for _, change in sorted(changes):
        needed += change
        most = max(most, needed)
    return most


def _placed(spans: Sequence[Wide], order: Iterable[int], tightest: bool) -> Packing:
    """Place each span, in this *order* of starts, into the lowest gap that is wide
    enough or, if *tightest*, into the narrowest one.
    """
    first = [0] * len(spans)
    lanes = 0
    active: list[tuple[int, Wide]] = []
    for number in order:
        span = spans[number]
        active = [item for item in active if item[1].end > span.start + JUST_AFTER]
        edges = [(lane, lane + other.width) for lane, other in sorted(active)]
        starts = [0, *(high for _, high in edges)]
        ends = [*(low for low, _ in edges), max(lanes, starts[-1] + span.width)]
        gaps = [
            (high - low, low)
            for low, high in zip(starts, ends, strict=True)
            if high - low >= span.width
        ]
        low = min(gaps)[1] if tightest else gaps[0][1]
        first[number] = low
        active.append((low, span))
        lanes = max(lanes, low + span.width)
    return Packing(first, lanes)


class Rows:
    """Compute the place of each interval in its row; rows are numbered downwards.

    ``lanes`` is the number of lanes for computing in each row, and ``staging_lanes``
    the number of lanes for transfers.
    """

    def __init__(self, row_of: Mapping[str, int], shown: Sequence[Interval]) -> None:
        """Divide the rows into lanes for the kinds of the intervals *shown*.

        Transfers get a lane as high as the lane of a core, and those that overlap get
        lanes of their own. Saves lie below the other transfers.
        """
        self.row_of = row_of
        self._first, self.lanes = _lanes_of_tasks(shown)
        received = [item for item in shown if item.kind in STAGING]
        sent = [item for item in received if item.kind == "save"]
        received = [item for item in received if item.kind != "save"]
        lanes = lanes_of(received, MOST_LANES)
        lanes_of_saves = lanes_of(sent, MOST_LANES)
        first_save = max(1, _count(lanes))
        self._lane_of = dict(lanes)
        for item, lane in lanes_of_saves.items():
            self._lane_of[item] = first_save + lane
        count = 0
        if received or sent:
            count = first_save + _count(lanes_of_saves)
        self.staging_lanes = count
        least = min(0.12 * count, 0.4)
        self._staging = max(least, FILLED * count / (self.lanes + count))

    def __call__(self, item: Interval) -> tuple[float, float]:
        """Return the lower edge and the height of an interval."""
        top = self.row_of[item.resource] - FILLED / 2
        if item.kind in STAGING:
            each = self._staging / self.staging_lanes
            return top + each * self._lane_of[id(item)], each
        lane = (FILLED - self._staging) / self.lanes
        top += self._staging
        if id(item) not in self._first:
            return top, lane * self.lanes
        return top + lane * self._first[id(item)], lane * _cores(item)


def lanes_in_all(timeline: Timeline) -> int:
    """Return the number of lanes of all rows of a chart of *timeline*."""
    row_of = {name: row for row, name in enumerate(timeline.resources)}
    rows = Rows(row_of, timeline.intervals)
    return len(row_of) * (rows.lanes + rows.staging_lanes)


def most_lanes(shown: Iterable[Interval]) -> int:
    """Return the number of lanes for computing that a row needs."""
    return _lanes_of_tasks(shown)[1]


def _lanes_of_tasks(shown: Iterable[Interval]) -> tuple[dict[int, int], int]:
    """Return the first lane of each task with a number of cores, by the identity of its
    interval, and the largest number of lanes of a row.
    """
    tasks: dict[str, list[Interval]] = defaultdict(list)
    for item in shown:
        if _cores(item):
            tasks[item.resource].append(item)
    lanes = 1
    found: dict[int, int] = {}
    for items in tasks.values():
        spans = [Wide(item.start, item.end, _cores(item)) for item in items]
        packing = packed(spans)
        lanes = max(lanes, packing.lanes)
        found.update(zip(map(id, items), packing.first, strict=True))
    return found, lanes


def _cores(item: Interval) -> int:
    """Return the number of cores of an interval; 0 if it is not known."""
    return int(item.info.get("cores") or 0)


def _count(lanes: Mapping[int, int]) -> int:
    """Return the number of *lanes*, which are numbered from 0."""
    return max(lanes.values(), default=-1) + 1
