"""Draw Gantt charts, with one row for each node or job, and below them the bytes on the
nodes' disks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ioopt.errors import UsageError
from ioopt.plot.layout import (
    Box,
    Unit,
    finish,
    headline,
    label_axis,
    name_boxes,
    new_axes,
    patches,
    shortened,
    unit_for,
)
from ioopt.plot.palette import BLACK, IDLE, LIMIT, role, series
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
    label_axis(axes.yaxis, "live bytes", unit.name)
    return finish(axes)


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
STAGING = ("remote", "copy", "save")
MOST_LANES = 8
"""The largest number of lanes for the transfers that a node receives at once, and for
those that it saves.
"""
JUST_AFTER = 1e-9
"""Intervals overlap if they have more than so many seconds in common."""


def plot_timeline(
    timeline: Timeline,
    axes: Axes | None = None,
    title: str = "",
    rows: str = "node",
    idle: bool = True,
    until: float = 0.0,
) -> Axes:
    """Draw *timeline* with one row for each resource, in a suitable unit of time;
    return the axes.

    If there are transfers, each row is divided: transfers are drawn above computing,
    since a node does both at the same time, in several lanes if they overlap.
    Intervals with ``cores`` in their ``info`` take one lane for each core. Intervals
    with ``critical`` are framed. If *idle* is true, time without an interval is drawn
    as idle. Marks are drawn as ticks, unless there are too many intervals. Only the
    first 60 resources are drawn, and names are written where they fit. The time axis
    extends to *until* seconds at least, so that charts can be compared.
    """
    names = timeline.resources[:MOST_ROWS]
    if len(names) < len(timeline.resources):
        title += f", the first {len(names)} of {len(timeline.resources)} {rows}s"
    row_of = {name: row for row, name in enumerate(names)}
    shown = [item for item in timeline.intervals if item.resource in row_of]
    place = _Rows(row_of, shown)
    if axes is None:
        overlapping = max(0, place.staging_lanes - 2)
        height = _height(len(names)) * (1 + 0.2 * overlapping)
        axes = new_axes(10, max(_height(len(names)), min(8.0, height)))
    last = max((item.end for item in shown), default=0.0)
    unit = unit_for("seconds", max(last, until))
    axes.set_xlim(0, max(last, until) / unit.size * 1.01 or 1)
    axes.set_ylim(len(names) - 0.5, -0.5)
    if idle and shown:
        axes.barh(range(len(names)), last / unit.size, 0.76, color=IDLE, linewidth=0)
    _draw_spans(axes, shown, place, unit)
    marks: list[Interval] = []
    if len(shown) <= MOST_SPANS:
        marks = [item for item in timeline.marks if item.resource in row_of]
    _draw_marks(axes, marks, row_of, unit)
    name_rows(axes, names)
    axes.set_ylabel(rows)
    label_axis(axes.xaxis, "time", unit.name)
    kinds = {item.kind for item in [*shown, *marks]}
    critical = [item for item in shown if item.info.get("critical")]
    if critical:
        corners = _corners(critical, place, unit)
        rectangles(axes, corners, "none", BLACK, width=1.4)
        kinds.add("critical")
    if idle:
        kinds.add("idle")
    finish(axes, title, patches(kinds))
    if len(shown) <= MOST_SPANS:
        name_boxes(axes, _boxes(shown, place, unit))
    return axes


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Write the names of the rows, in a smaller font if there are many rows."""
    size: str | int = 6
    if len(names) <= 12:
        size = "medium"
    elif len(names) <= 30:
        size = "small"
    labels = [shortened(name, 24) for name in names]
    axes.set_yticks(range(len(names)), labels, fontsize=size)


def _corners(
    items: Sequence[Interval], place: _Rows, unit: Unit
) -> list[tuple[float, float, float, float]]:
    """Return (left, right, low, height) of each of *items*, with times in *unit*."""
    found = []
    for item in items:
        low, height = place(item)
        found.append((item.start / unit.size, item.end / unit.size, low, height))
    return found


def _height(rows: int) -> float:
    """Return the height in inches of a figure with *rows* rows."""
    inches = 0.15
    if rows <= 12:
        inches = 0.5
    elif rows <= 30:
        inches = 0.26
    return 1.0 + max(1.0, rows * inches)


class _Rows:
    """Compute the place of each interval in its row; rows are numbered downwards.

    ``staging_lanes`` is the number of lanes for transfers in each row.
    """

    def __init__(self, row_of: Mapping[str, int], shown: Sequence[Interval]) -> None:
        """Divide the rows into lanes for the kinds of the intervals *shown*.

        Transfers get a lane as high as the lane of a core, and those that overlap get
        lanes of their own. Saves lie below the other transfers.
        """
        self._row_of = row_of
        self._lanes = max((_last_core(item) for item in shown), default=0) + 1
        received = [item for item in shown if item.kind in STAGING]
        sent = [item for item in received if item.kind == "save"]
        received = [item for item in received if item.kind != "save"]
        lanes = _lanes_of(received)
        lanes_of_saves = _lanes_of(sent)
        first_save = max(1, _count(lanes))
        self._lane_of = dict(lanes)
        for item, lane in lanes_of_saves.items():
            self._lane_of[item] = first_save + lane
        count = 0
        if received or sent:
            count = first_save + _count(lanes_of_saves)
        self.staging_lanes = count
        least = min(0.12 * count, 0.4)
        self._staging = max(least, 0.76 * count / (self._lanes + count))

    def __call__(self, item: Interval) -> tuple[float, float]:
        """Return the lower edge and the height of an interval."""
        top = self._row_of[item.resource] - 0.38
        if item.kind in STAGING:
            each = self._staging / self.staging_lanes
            return top + each * self._lane_of[id(item)], each
        lane = (0.76 - self._staging) / self._lanes
        first = item.info.get("core")
        if first is None:
            return top + self._staging, lane * self._lanes
        cores = _last_core(item) - int(first) + 1
        return top + self._staging + lane * int(first), lane * cores


def _lanes_of(transfers: Iterable[Interval]) -> dict[int, int]:
    """Return the lane of each of *transfers*, by the identity of the interval.

    Transfers of one resource that overlap get different lanes, as far as there are
    ``MOST_LANES``; the others share the last.
    """
    ends: dict[str, list[float]] = {}
    lanes: dict[int, int] = {}
    for item in sorted(transfers, key=lambda item: (item.start, item.end)):
        row = ends.setdefault(item.resource, [])
        free = [lane for lane, end in enumerate(row) if end <= item.start + JUST_AFTER]
        if free:
            lane = free[0]
        elif len(row) < MOST_LANES:
            lane = len(row)
            row.append(item.end)
        else:
            lane = MOST_LANES - 1
        row[lane] = max(row[lane], item.end)
        lanes[id(item)] = lane
    return lanes


def _count(lanes: Mapping[int, int]) -> int:
    """Return the number of *lanes*, which are numbered from 0."""
    return max(lanes.values(), default=-1) + 1


def _last_core(item: Interval) -> int:
    """Return the number of the last core that an interval occupies; 0 if the interval
    does not name cores.
    """
    return int(item.info.get("last_core") or 0)


def _draw_spans(
    axes: Axes, shown: Sequence[Interval], place: _Rows, unit: Unit
) -> None:
    """Draw the intervals *shown*, as one collection for each kind of interval; this is
    fast for any number of intervals.
    """
    width = abs(axes.get_xlim()[1] - axes.get_xlim()[0])
    for kind in sorted({item.kind for item in shown}):
        corners = _corners([item for item in shown if item.kind == kind], place, unit)
        colour = role(kind)[1]
        edges: str | list[str] = "none"
        if len(shown) <= MOST_SPANS:
            # White edges separate neighbours, but would hide narrow intervals.
            edges = []
            for start, end, *_ in corners:
                edges.append("white" if end - start > 0.008 * width else colour)
        rectangles(axes, corners, colour, edges)


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


def _draw_marks(
    axes: Axes, marks: Sequence[Interval], row_of: Mapping[str, int], unit: Unit
) -> None:
    """Draw marks as short ticks at the top of their rows."""
    for kind in sorted({item.kind for item in marks}):
        mine = [item for item in marks if item.kind == kind]
        rows = [row_of[item.resource] for item in mine]
        times = [item.start / unit.size for item in mine]
        low = [row - 0.48 for row in rows]
        high = [row - 0.39 for row in rows]
        axes.vlines(times, low, high, color=role(kind)[1], lw=0.8)


def _boxes(shown: Sequence[Interval], place: _Rows, unit: Unit) -> Iterator[Box]:
    """Yield a box for each interval whose label differs from the name of its row."""
    for item in shown:
        if item.label == item.resource:
            continue
        low, height = place(item)
        start = item.start / unit.size
        width = item.duration / unit.size
        yield Box(start, low, width, height, item.label, role(item.kind)[1])


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
    nodes = (result.plan or {}).get("order", ())
    timeline = replication_timeline(result.schedule, nodes)
    if "cached_bytes" in result.metrics:
        timeline = _of_whole_tasks(timeline)
    disks = result.schedule.get("disks")
    if axes is None and disks:
        from matplotlib.figure import Figure

        lanes = 1 + max(map(_last_core, timeline.intervals), default=0)
        upper = _height(min(MOST_ROWS, len(timeline.resources)))
        heights = (max(upper, min(8.0, upper * (1 + 0.2 * lanes))), 2.2)
        figure = Figure(figsize=(10, sum(heights)), layout="constrained")
        axes, below = figure.subplots(2, sharex=True, height_ratios=heights)
        plot_live_bytes(disks, timeline.makespan, below)
    return plot_timeline(timeline, axes, headline(result, ", ".join(told)), until=until)


def _of_whole_tasks(timeline: Timeline) -> Timeline:
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
