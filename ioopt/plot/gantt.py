"""Draw Gantt charts, with one row for each node or job, and below them the bytes on the
nodes' disks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ioopt.errors import UsageError
from ioopt.plot.lanes import FILLED, Rows, most_lanes
from ioopt.plot.layout import (
    FRAME,
    MARK,
    WIDTH,
    Box,
    Unit,
    finish,
    headline,
    label_axis,
    legend_above,
    name_boxes,
    new_axes,
    patches,
    shortened,
    unit_for,
    without_workflows,
)
from ioopt.plot.palette import BLACK, IDLE, LIMIT, role, series
from ioopt.problems.base import Json
from ioopt.problems.replication import ReplicationPlan
from ioopt.result import Result
from ioopt.timeline import Interval, Timeline, jobs_timeline, replication_timeline
from ioopt.units import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NODES = 8
"""The largest number of nodes whose bytes are drawn. If there are more nodes, the nodes
with the highest peaks are drawn.
"""


def plot_live_bytes(
    disks: Mapping[str, Mapping[str, Any]], until: float, axes: Axes
) -> Axes:
    """Draw the live bytes of each node over time, up to *until* seconds; return *axes*.

    *disks* is ``schedule.disks`` of a result. Dotted lines mark the capacities of the
    disks.
    """
    time = unit_for("seconds", until)
    limits = {disk["bytes"] for disk in disks.values() if disk["bytes"] is not None}
    peak = {name: _peak(disk["live"]) for name, disk in disks.items()}
    unit = unit_for("bytes", max([*peak.values(), *limits], default=0))
    names = list(disks)
    if len(names) > MOST_NODES:
        names = sorted(names, key=lambda name: -peak[name])[:MOST_NODES]
    for number, name in enumerate(names):
        steps = disks[name]["live"]
        times = [0.0, *(at / time.size for at, _ in steps), until / time.size]
        values = [0.0, *(value / unit.size for _, value in steps)]
        axes.step(
            times,
            [*values, values[-1]],
            where="post",
            label=name,
            lw=1.1,
            **series(number, marker=False),
        )
    limit_style: dict[str, Any] = dict(LIMIT)
    for number, limit in enumerate(sorted(limits)):
        label = None if number else "disk"
        axes.axhline(limit / unit.size, label=label, **limit_style)
    axes.set_ylim(0, None)
    label_axis(axes.xaxis, "time", time.name)
    label_axis(axes.yaxis, "needed on disk", unit.name)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        frameon=False,
        fontsize="small",
        ncols=MOST_NODES + 1,
    )
    return axes


def _peak(steps: Sequence[tuple[float, int]]) -> int:
    """Return the largest value among *steps*, which are (time, value); 0 if there are
    none.
    """
    return max((value for _, value in steps), default=0)


MOST_ROWS = 60
"""The largest number of rows of a chart; more rows would be unreadable."""
MOST_SPANS = 4_000
"""The largest number of intervals that are drawn with edges and marks. More intervals
are drawn as a bitmap of colours.
"""
MOST_ARROWS = 40
"""The largest number of copies between nodes that are drawn with an arrow from their
source; more arrows would hide the boxes.
"""
MOST_LARGE_MARKS = 12
"""The largest number of marks that are drawn in full size, with their number."""
MOST_HIGH_ROWS = 12
"""The largest number of rows that are high enough for marks of full size."""
SAME_PLACE = 0.002
"""Marks that differ by less than about this share of the time axis are drawn as one."""
SMALL_MARK = 3
"""Size of marks in lower rows, or if there are many, in points."""
ARROW_SHIFT = 6.0
"""Points between arrows to copies of the same time, which would else be one line."""
UNNAMED = "no name: box too small"
"""What the legend says of boxes into which their names do not fit."""


def plot_timeline(
    timeline: Timeline,
    axes: Axes | None = None,
    title: str = "",
    rows: str = "node",
    idle: bool = True,
    until: float = 0.0,
    above: bool = False,
) -> Axes:
    """Draw *timeline* with one row for each resource, in a suitable unit of time;
    return the axes.

    If there are transfers, each row is divided: transfers are drawn above computing,
    since a node does both at the same time, in several lanes if they overlap.
    Intervals with ``cores`` in their ``info`` are as high as so many lanes. Intervals
    with ``critical`` are framed. Arrows lead to copies from the nodes that send them,
    unless there are more than :data:`MOST_ARROWS`. If *idle* is true, time without an
    interval is drawn as idle. Marks are drawn above their rows, unless there are too
    many intervals. Only the first 60 resources are drawn, and names are written where
    they fit. The time axis extends to *until* seconds at least, so that charts can be
    compared. The legend is above the chart if it has a figure of its own, or if *above*
    is true.
    """
    names = timeline.resources[:MOST_ROWS]
    if len(names) < len(timeline.resources):
        title += f", the first {len(names)} of {len(timeline.resources)} {rows}s"
    row_of = {name: row for row, name in enumerate(names)}
    shown = [item for item in timeline.intervals if item.resource in row_of]
    marks = [item for item in timeline.marks if item.resource in row_of]
    place = Rows(row_of, shown)
    if axes is None:
        above = True
        axes = _axes_of(place)
    last = max((item.end for item in shown), default=0.0)
    unit = unit_for("seconds", max(last, until))
    axes.set_xlim(0, max(last, until) / unit.size * 1.01 or 1)
    axes.set_ylim(len(names) - 0.5, -0.5)
    if idle and shown:
        axes.barh(range(len(names)), last / unit.size, 0.76, color=IDLE, linewidth=0)
    chart = _Chart(axes, shown, place, unit)
    entries = chart.draw([] if chart.is_dense else marks, idle)
    name_rows(axes, names)
    axes.set_ylabel(rows)
    label_axis(axes.xaxis, "time", unit.name)
    chart.explain(title, entries, above)
    return axes


@dataclass(frozen=True)
class _Chart:
    """The intervals ``shown`` in ``axes``, each at its ``place``, with times in
    ``unit``.
    """

    axes: Axes
    shown: Sequence[Interval]
    place: Rows
    unit: Unit

    @property
    def is_dense(self) -> bool:
        """Whether there are too many intervals for edges, marks and names."""
        return len(self.shown) > MOST_SPANS

    @property
    def width(self) -> float:
        """The length of the time axis, in its unit."""
        left, right = self.axes.get_xlim()
        return abs(right - left)

    def draw(self, marks: Sequence[Interval], idle: bool) -> list[Any]:
        """Draw intervals, arrows, *marks* and frames; return the entries of the legend,
        with one for time that is drawn as *idle*.
        """
        kinds = {item.kind for item in [*self.shown, *marks]}
        if idle:
            kinds.add("idle")
        arrows = self._draw_arrows()  # first, so that they run behind boxes and names
        self._draw_spans()
        self._draw_marks(marks)
        if self._frame_critical():
            kinds.add("critical")
        entries = patches(kinds)
        if arrows:
            entries.append(_arrow_entry())
        return entries

    def explain(self, title: str, entries: list[Any], above: bool) -> None:
        """Write the *title*, the legend with its *entries*, and names into the boxes;
        the legend says if names do not fit.
        """
        boxes = list(self._boxes())
        if boxes:
            # Its place is kept before names are written, since it may narrow the boxes.
            entries = [*entries, _unnamed()]
        finish(self.axes, title, [] if above else entries)
        legend: Any = self.axes.get_legend()
        if above:
            legend = legend_above(self.axes.figure, entries)
        written = [] if self.is_dense else name_boxes(self.axes, boxes)
        if boxes and len(written) == len(boxes):
            legend.get_texts()[-1].set_visible(False)
            legend.get_patches()[-1].set_visible(False)

    def _draw_spans(self) -> None:
        """Draw the intervals, as one collection for each kind of interval; this is fast
        for any number of intervals.
        """
        for kind in sorted({item.kind for item in self.shown}):
            corners = self._corners([item for item in self.shown if item.kind == kind])
            colour = role(kind)[1]
            edges: str | list[str] = "none"
            if not self.is_dense:
                # White edges separate neighbours, but would hide narrow intervals.
                edges = []
                for start, end, *_ in corners:
                    wide = end - start > 0.008 * self.width
                    edges.append("white" if wide else colour)
            rectangles(self.axes, corners, colour, edges)

    def _draw_arrows(self) -> bool:
        """Draw an arrow to each copy from the node that sends it, unless there are too
        many copies; tell whether any arrow was drawn.
        """
        copies = [
            item
            for item in self.shown
            if item.kind == "copy" and item.info.get("source") in self.place.row_of
        ]
        if len(copies) > MOST_ARROWS:
            return False
        at_once: dict[float, list[Interval]] = {}
        for item in copies:
            at_once.setdefault(item.start + item.end, []).append(item)
        for items in at_once.values():
            for k, item in enumerate(items):
                self._draw_arrow(item, (k - (len(items) - 1) / 2) * ARROW_SHIFT)
        return bool(copies)

    def _draw_arrow(self, item: Interval, shift: float) -> None:
        """Draw an arrow from a dot in the row of the sending node to the box of the
        copy *item*, *shift* points to the right of the middle of the box.
        """
        from matplotlib.lines import Line2D
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.transforms import ScaledTranslation

        source = self.place.row_of[str(item.info["source"])]
        low, height = self.place(item)
        begin, end = source + FILLED / 2, low
        if low < source:
            begin, end = source - FILLED / 2, low + height
        middle = (item.start + item.end) / 2 / self.unit.size
        scale = self.axes.figure.dpi_scale_trans
        shifted = self.axes.transData + ScaledTranslation(shift / 72, 0, scale)
        style: dict[str, Any] = {"color": BLACK, "alpha": 0.75, "transform": shifted}
        arrow = FancyArrowPatch(
            (middle, begin),
            (middle, end),
            arrowstyle="-|>",
            mutation_scale=9,
            lw=0.9,
            shrinkA=0,
            shrinkB=0,
            **style,
        )
        self.axes.add_patch(arrow)
        dot = Line2D([middle], [begin], marker="o", markersize=3, **style)
        self.axes.add_artist(dot)

    def _draw_marks(self, marks: Sequence[Interval]) -> None:
        """Draw *marks* at the top of their rows; a number says how many are at one
        place, as far as the eye can tell, unless there are too many marks.
        """
        row_of = self.place.row_of
        step = SAME_PLACE * self.width
        few = len(marks) <= MOST_LARGE_MARKS
        size = SMALL_MARK
        if few and len(row_of) <= MOST_HIGH_ROWS:
            size = MARK["markersize"]
        for kind in sorted({item.kind for item in marks}):
            places: Counter[tuple[float, float]] = Counter()
            for item in marks:
                if item.kind == kind:
                    time = round(item.start / self.unit.size / step) * step
                    places[time, row_of[item.resource] - 0.44] += 1
            colour = role(kind)[1]
            style: dict[str, Any] = MARK | {"markersize": size, "color": colour}
            self.axes.plot(*zip(*places), **style)
            for place, count in places.items():
                if few and count > 1:
                    self.axes.annotate(
                        str(count),
                        place,
                        (size, 0),
                        textcoords="offset points",
                        va="center",
                        fontsize="x-small",
                        color=colour,
                    )

    def _frame_critical(self) -> bool:
        """Frame the intervals of the critical path; tell whether there are any."""
        critical = [item for item in self.shown if item.info.get("critical")]
        if critical:
            corners = self._corners(critical)
            rectangles(self.axes, corners, "none", BLACK, width=FRAME)
        return bool(critical)

    def _corners(
        self, items: Sequence[Interval]
    ) -> list[tuple[float, float, float, float]]:
        """Return (left, right, low, height) of each of *items*."""
        size = self.unit.size
        return [
            (item.start / size, item.end / size, *self.place(item)) for item in items
        ]

    def _boxes(self) -> Iterator[Box]:
        """Yield a box for each interval whose label differs from the name of its
        row.
        """
        for item in self.shown:
            if item.label == item.resource:
                continue
            low, height = self.place(item)
            start = item.start / self.unit.size
            width = item.duration / self.unit.size
            label = without_workflows(item.label)
            yield Box(start, low, width, height, label, role(item.kind)[1])


def _axes_of(place: Rows) -> Axes:
    """Return the axes of a new figure, as high as the rows and lanes of *place* ask."""
    height = _height(len(place.row_of))
    overlapping = max(0, place.staging_lanes - 2)
    return new_axes(WIDTH, max(height, min(8.0, height * (1 + 0.2 * overlapping))))


def _unnamed() -> Any:
    """Return the entry of the legend for boxes without a name."""
    from matplotlib.patches import Patch

    return Patch(facecolor="none", edgecolor="none", label=UNNAMED)


def _arrow_entry() -> Any:
    """Return the entry of the legend for arrows to copies."""
    from matplotlib.lines import Line2D

    return Line2D(
        [],
        [],
        color=BLACK,
        lw=0.9,
        alpha=0.75,
        marker=">",
        markersize=5,
        label="from the sending node",
    )


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Write the names of the rows, in a smaller font if there are many rows."""
    size: str | int = 6
    if len(names) <= MOST_HIGH_ROWS:
        size = "medium"
    elif len(names) <= 30:
        size = "small"
    labels = [shortened(name, 24) for name in names]
    axes.set_yticks(range(len(names)), labels, fontsize=size)


def _height(rows: int) -> float:
    """Return the height in inches of a figure with *rows* rows."""
    inches = 0.15
    if rows <= MOST_HIGH_ROWS:
        inches = 0.5
    elif rows <= 30:
        inches = 0.26
    return 1.0 + max(1.0, rows * inches)


def rectangles(
    axes: Axes,
    corners: Sequence[Sequence[float]],
    colour: str,
    edges: str | list[str],
    alpha: float = 1.0,
    width: float = 0.5,
    bitmap: bool | None = None,
) -> None:
    """Draw rectangles, given by *corners* as (left, right, low, height), as one
    collection.

    *bitmap* says whether they are drawn as a bitmap (None: if they are many).
    """
    import numpy as np
    from matplotlib.collections import PolyCollection

    if bitmap is None:
        bitmap = len(corners) > MOST_SPANS
    left, right, low, height = np.array(corners, dtype=float).T
    high = low + height
    around = ((left, low), (left, high), (right, high), (right, low))
    vertices: Any = np.stack([np.stack(point, axis=1) for point in around], axis=1)
    axes.add_collection(
        PolyCollection(
            vertices,
            facecolor=colour,
            edgecolor=edges,
            linewidth=width,
            alpha=alpha,
            rasterized=bitmap,
        ),
        autolim=False,
    )


def plot_replication(
    result: Result, axes: Axes | None = None, until: float = 0.0
) -> Axes:
    """Draw the Gantt chart of a replication result, with one row for each node of the
    plan, also for those without tasks; return the axes.

    If the result has the live bytes of disks, they are drawn below. The time axis
    extends to *until* seconds at least.
    """
    if not result.schedule:
        raise UsageError(
            "the result holds no schedule to draw; run `ioopt simulate` on its plan"
        )
    told = []
    makespan = result.metrics.get("makespan_seconds")
    if result.objective is not None and result.objective_name == "additive_seconds":
        told.append(f"additive {quantity('additive_seconds', result.objective)}")
    if makespan is not None:
        told.append(f"makespan {quantity('makespan_seconds', makespan)}")
    more = ", ".join(told)
    plan = result.plan or {}
    if plan.get("moves") == "printed":
        more += _of_a_cycle(plan)
    nodes = plan.get("order", ())
    timeline = replication_timeline(result.schedule, nodes)
    if "cached_bytes" in result.metrics:
        timeline = of_whole_tasks(timeline)
    disks = result.schedule.get("disks")
    if axes is None and disks:
        from matplotlib.figure import Figure

        lanes = most_lanes(timeline.intervals)
        upper = _height(min(MOST_ROWS, len(timeline.resources)))
        heights = (max(upper, min(8.0, upper * (1 + 0.2 * lanes))), 2.2)
        figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
        axes, below = figure.subplots(2, sharex=True, height_ratios=heights)
        axes.tick_params(labelbottom=True)
        plot_live_bytes(disks, timeline.makespan, below)
        return plot_timeline(
            timeline, axes, headline(result, more), until=until, above=True
        )
    return plot_timeline(timeline, axes, headline(result, more), until=until)


def _of_a_cycle(plan: Json) -> str:
    """Return what the title says of a plan whose copies form a cycle; else nothing."""
    file = ReplicationPlan.model_validate(plan).copied_in_cycle
    if file is None:
        return ""
    return (
        f"\nthe copies of {shortened(file, 24)} form a cycle: the sum cannot be "
        "reached, the transfers are the replay's"
    )


def of_whole_tasks(timeline: Timeline) -> Timeline:
    """Return *timeline* with intervals of whole tasks in place of computing: on shared
    storage tasks hold their cores while they read and write.
    """
    intervals = []
    for item in timeline.intervals:
        kind = "task" if item.kind == "compute" else item.kind
        intervals.append(replace(item, kind=kind))
    return replace(timeline, intervals=tuple(intervals))


def plot_jobs(result: Result, axes: Axes | None = None, until: float = 0.0) -> Axes:
    """Draw the Gantt chart of a batch I/O or gang result; return the axes.

    Only the 60 jobs that start first are drawn.
    """
    if not result.schedule:
        raise UsageError(
            "the result holds no schedule to draw; run `ioopt simulate` on its plan"
        )
    jobs = sorted(
        result.schedule["jobs"], key=lambda job: (job["start_seconds"], str(job["id"]))
    )
    title = headline(result)
    if len(jobs) > MOST_ROWS:
        title += f", the first {MOST_ROWS} of {len(jobs)} jobs"
    timeline = jobs_timeline(jobs[:MOST_ROWS])
    return plot_timeline(timeline, axes, title, "job", idle=False, until=until)
