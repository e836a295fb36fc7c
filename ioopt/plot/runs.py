"""Draw runs of the same tasks below each other, on one time axis. Rows are nodes, and
each process has the same colour in all runs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from ioopt.plot.gantt import MOST_ROWS, name_rows, rectangles
from ioopt.plot.layout import (
    Unit,
    finish,
    label_axis,
    legend_beside,
    shortened,
    unit_for,
)
from ioopt.plot.palette import BLACK, HUES, OTHERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LANE_INCHES = 0.07
"""The height of a lane. A node has a lane for each task that it runs at once."""
LEAST_ROW_INCHES = 0.22
LARGEST_ROW_INCHES = 0.5
FILLED = 0.86
"""The share of the height of a row that its lanes fill."""
REST = "other processes"
MOST_VECTORS = 3_300
"""The largest number of spans drawn as vectors, 230 bytes each in a page; more spans
are drawn as a bitmap.
"""


class Span(NamedTuple):
    """A task on a node, from ``start`` to ``end`` in seconds."""

    node: str
    process: str
    start: float
    end: float


@dataclass(frozen=True)
class Run:
    """A run to draw: its title and the spans of its tasks."""

    title: str
    spans: Sequence[Span]

    @property
    def end(self) -> float:
        """Return the end of the last task."""
        return max((span.end for span in self.spans), default=0.0)


def plot_runs(runs: Sequence[Run]) -> Axes:
    """Draw *runs* below each other; return the axes of the uppermost one.

    A dotted line marks the end of each run. Only the first 60 nodes are drawn.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    placed = [
        _Placed(run, lanes_of(run.spans), nodes)
        for run, nodes in zip(runs, _nodes_of(runs), strict=True)
    ]
    lanes = 1 + max((max(found.lanes, default=0) for found in placed), default=0)
    row = min(max(LEAST_ROW_INCHES, lanes * LANE_INCHES), LARGEST_ROW_INCHES)
    heights = [0.5 + row * min(len(found.nodes), MOST_ROWS) for found in placed]
    figure = Figure(figsize=(11.0, 0.4 + sum(heights)), layout="constrained")
    panels = figure.subplots(
        len(runs), 1, sharex=True, squeeze=False, height_ratios=heights
    )[:, 0]
    panel = _Panel(
        lanes,
        colours_of(span for run in runs for span in run.spans),
        max(run.end for run in runs),
        sum(len(run.spans) for run in runs) > MOST_VECTORS,
    )
    for axes, found in zip(panels, placed, strict=True):
        panel.draw(axes, found)
    label_axis(panels[-1].xaxis, "time", panel.unit.name)
    entries = []
    for process, colour in panel.colours.items():
        entries.append(Patch(color=colour, label=shortened(process, 30)))
    legend_beside(figure, entries)
    first: Axes = panels[0]
    return first


class _Placed(NamedTuple):
    """A run, the lane of each of its spans, and the nodes that have a row."""

    run: Run
    lanes: list[int]
    nodes: list[str]


def _nodes_of(runs: Sequence[Run]) -> Iterator[list[str]]:
    """Yield the nodes that have a row in the panel of each run: those of all runs that
    share a node with it, so that panels of one machine have the same rows.
    """
    own = [{span.node for span in run.spans} for run in runs]
    for mine in own:
        yield sorted(set().union(*(nodes for nodes in own if nodes & mine)))


def lanes_of(spans: Sequence[Span]) -> list[int]:
    """Return a lane for each span; spans that overlap on a node have different lanes.

    >>> lanes_of([Span("n", "p", 0, 2), Span("n", "p", 1, 3), Span("n", "p", 2, 4)])
    [0, 1, 0]
    """
    found = [0] * len(spans)
    free: dict[str, list[int]] = {}
    busy: dict[str, list[tuple[float, int]]] = {}
    used = Counter[str]()
    for place in sorted(range(len(spans)), key=lambda place: spans[place].start):
        span = spans[place]
        lanes = free.setdefault(span.node, [])
        running = busy.setdefault(span.node, [])
        while running and running[0][0] <= span.start:
            heappush(lanes, heappop(running)[1])
        if not lanes:
            heappush(lanes, used[span.node])
            used[span.node] += 1
        found[place] = heappop(lanes)
        heappush(running, (span.end, found[place]))
    return found


def colours_of(spans: Iterable[Span]) -> dict[str, str]:
    """Return the colour of each process; the last key, REST, is for all processes that
    have no colour of their own, unless it is one alone.

    The processes that take most time get colours, in order of their first start.
    """
    seconds: dict[str, float] = defaultdict(float)
    first: dict[str, float] = {}
    for span in spans:
        seconds[span.process] += span.end - span.start
        first[span.process] = min(span.start, first.get(span.process, span.start))
    largest = sorted(seconds, key=lambda name: (-seconds[name], name))[: len(HUES)]
    largest.sort(key=lambda name: (first[name], name))
    found = dict(zip(largest, HUES))
    rest = seconds.keys() - found.keys()
    if rest:
        found[rest.pop() if len(rest) == 1 else REST] = OTHERS
    return found


class _Panel:
    """What the panels of a picture share: lanes, colours, and the time axis."""

    def __init__(
        self,
        lanes: int,
        colours: dict[str, str],
        until: float,
        bitmap: bool,
    ) -> None:
        self.lanes = lanes
        self.colours = colours
        self.unit: Unit = unit_for("seconds", until)
        self.until = until
        self.bitmap = bitmap

    def draw(self, axes: Axes, placed: _Placed) -> None:
        """Draw a run into *axes*."""
        nodes = placed.nodes[:MOST_ROWS]
        axes.set_xlim(0, self.until / self.unit.size * 1.01 or 1)
        axes.set_ylim(len(nodes) - 0.5, -0.5)
        # White edges separate neighbours, but hide narrow bars of a bitmap.
        edges = "none" if self.bitmap else "white"
        for colour, corners in self._corners(placed).items():
            rectangles(axes, corners, colour, edges, width=0.25, bitmap=self.bitmap)
        axes.axvline(placed.run.end / self.unit.size, color=BLACK, lw=0.9, ls=":")
        name_rows(axes, nodes)
        axes.tick_params(labelbottom=True)
        title = placed.run.title
        hidden = len(placed.nodes) - len(nodes)
        if hidden:
            title += f" ({hidden} more nodes not drawn)"
        finish(axes, title, [])

    def _corners(self, placed: _Placed) -> dict[str, list[tuple[float, ...]]]:
        """Return (left, right, low, height) of the rectangles of each colour."""
        row_of = {name: row for row, name in enumerate(placed.nodes[:MOST_ROWS])}
        height = FILLED / self.lanes
        found: dict[str, list[tuple[float, ...]]] = {}
        for span, lane in zip(placed.run.spans, placed.lanes, strict=True):
            if span.node not in row_of:
                continue
            colour = self.colours.get(span.process, OTHERS)
            left = span.start / self.unit.size
            right = span.end / self.unit.size
            low = row_of[span.node] - FILLED / 2 + lane * height
            found.setdefault(colour, []).append((left, right, low, height))
        return found
