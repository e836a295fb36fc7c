"""Gantt charts: who computes, fetches, copies and waits when, a row a node or a job;
bytes on disks below.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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

MOST_NODES = 8
"""Nodes with a line each; of more, the fullest."""


def plot_live_bytes(
    disks: Mapping[str, Mapping[str, Any]], until: float, axes: Any
) -> Any:
    """Draw ``schedule.disks``: live bytes a node, up to *until* seconds, limits
    dotted; returns *axes*.
    """
    time = unit_for("seconds", until)
    limits = sorted(
        {disk["bytes"] for disk in disks.values() if disk["bytes"] is not None}
    )
    peak = max((step[1] for disk in disks.values() for step in disk["live"]), default=0)
    unit = unit_for("bytes", max([peak, *limits]))
    lines = {name: disk["live"] for name, disk in disks.items()}
    if len(lines) > MOST_NODES:
        fullest = sorted(
            lines, key=lambda name: -max((value for _, value in lines[name]), default=0)
        )
        lines = {name: lines[name] for name in fullest[:MOST_NODES]}
    for number, (name, steps) in enumerate(lines.items()):
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
    for number, limit in enumerate(limits):
        axes.axhline(limit / unit.size, label=None if number else "disk", **LIMIT)
    axes.set_ylim(0, None)
    label_axis(axes.xaxis, "time", time.name)
    label_axis(axes.yaxis, "live bytes", unit.name)
    return finish(axes)


MOST_ROWS = 60
"""Rows drawn; more cannot be read."""
MOST_SPANS = 4_000
"""Intervals drawn with edges and marks; of more, their colours alone, as a bitmap."""
STAGING = ("remote", "copy", "save")


def plot_timeline(
    timeline: Timeline,
    axes: Any = None,
    title: str = "",
    rows: str = "node",
    idle: bool = True,
    until: float = 0.0,
) -> Any:
    """Draw *timeline*, one row a resource, time in the unit that
    fits; returns the axes.

    Where anything is staged, transfers take the upper half of a row and computing the
    lower one, since a node does both at a time; intervals with ``cores`` in their
    ``info`` take a lane a core, those with ``critical`` are framed. What nothing covers
    is *idle*. Marks are ticks (none among too many intervals). The first 60 resources
    are drawn; names are written where they fit. Time goes on to *until* seconds at
    least, for charts that are compared.
    """
    names = timeline.resources[:MOST_ROWS]
    if len(names) < len(timeline.resources):
        title += f", the first {len(names)} of {len(timeline.resources)} {rows}s"
    axes = new_axes(10, _height(len(names))) if axes is None else axes
    row_of = {name: row for row, name in enumerate(names)}
    shown = [item for item in timeline.intervals if item.resource in row_of]
    last = max((item.end for item in shown), default=0.0)
    unit = unit_for("seconds", max(last, until))
    last, until = last / unit.size, max(last, until) / unit.size
    place = _Rows(row_of, shown)
    axes.set_xlim(0, until * 1.01 or 1)
    axes.set_ylim(len(names) - 0.5, -0.5)
    if idle and shown:
        axes.barh(range(len(names)), last, 0.76, color=IDLE, linewidth=0)
    _draw_spans(axes, shown, place, unit)
    marks = [item for item in timeline.marks if item.resource in row_of]
    if len(shown) > MOST_SPANS:
        marks = []
    _draw_marks(axes, marks, row_of, unit)
    size = "medium" if len(names) <= 12 else "small" if len(names) <= 30 else 6
    axes.set_yticks(
        range(len(names)), [shortened(name, 24) for name in names], fontsize=size
    )
    axes.set_ylabel(rows)
    label_axis(axes.xaxis, "time", unit.name)
    kinds = {item.kind for item in [*shown, *marks]}
    if critical := [item for item in shown if item.info.get("critical")]:
        corners = [
            (item.start / unit.size, item.end / unit.size, *place(item))
            for item in critical
        ]
        rectangles(axes, corners, "none", BLACK, width=1.4)
        kinds.add("critical")
    finish(axes, title, patches(kinds | ({"idle"} if idle else set())))
    if len(shown) <= MOST_SPANS:
        name_boxes(axes, _boxes(shown, place, unit))
    return axes


def _height(rows: int) -> float:
    """Inches of a figure with so many rows."""
    return 1.0 + max(1.0, rows * (0.5 if rows <= 12 else 0.26 if rows <= 30 else 0.15))


class _Rows:
    """Where an interval is drawn: lower edge and height (rows count downwards)."""

    def __init__(self, row_of: Mapping[str, int], shown: Sequence[Interval]) -> None:
        self._row_of = row_of
        self._split = any(item.kind in STAGING for item in shown)
        self._lanes = max((_last_core(item) for item in shown), default=0) + 1
        # Transfers keep a lane as high as a core's, saves, which run at the same
        # time, another below.
        self._sending = self._split and any(item.kind == "save" for item in shown)
        kinds = self._split + self._sending
        self._staging = max(0.12 * kinds, 0.76 * kinds / (self._lanes + kinds))

    def __call__(self, item: Interval) -> tuple[float, float]:
        low = -0.38
        row = self._row_of[item.resource]
        if self._split and item.kind in STAGING:
            each = self._staging / (1 + self._sending)
            return row + low + each * (item.kind == "save"), each
        lane = (0.76 - self._staging) / self._lanes
        first = item.info.get("core")
        last = _last_core(item)
        if first is None:
            return row + low + self._staging, lane * self._lanes
        return row + low + self._staging + lane * int(first), lane * (
            last - int(first) + 1
        )


def _last_core(item: Interval) -> int:
    return int(item.info.get("last_core") or 0)


def _draw_spans(axes: Any, shown: Sequence[Interval], place: _Rows, unit: Unit) -> None:
    """One collection a kind, whatever the number of intervals."""
    width = abs(axes.get_xlim()[1] - axes.get_xlim()[0])
    for kind in sorted({item.kind for item in shown}):
        corners = [
            (item.start / unit.size, item.end / unit.size, *place(item))
            for item in shown
            if item.kind == kind
        ]
        colour = role(kind)[1]
        # Neighbours are told apart by white edges, what is too narrow for
        # these stays visible.
        edges: Any = [
            "white" if end - start > 0.008 * width else colour
            for start, end, *_ in corners
        ]
        if len(shown) > MOST_SPANS:
            edges = "none"
        rectangles(axes, corners, colour, edges)


def rectangles(
    axes: Any,
    corners: Sequence[Sequence[float]],
    colour: str,
    edges: Any,
    alpha: float = 1.0,
    width: float = 0.5,
) -> None:
    """Draw (left, right, low, height) of *corners* as one collection, as a
    bitmap if they are many.
    """
    import numpy as np
    from matplotlib.collections import PolyCollection

    left, right, low, height = np.array(corners, dtype=float).T
    high = low + height
    vertices: Any = np.stack(
        [
            np.stack(pair, axis=1)
            for pair in ((left, low), (left, high), (right, high), (right, low))
        ],
        axis=1,
    )
    axes.add_collection(
        PolyCollection(
            vertices,
            facecolor=colour,
            edgecolor=edges,
            linewidth=width,
            alpha=alpha,
            rasterized=len(corners) > MOST_SPANS,
        ),
        autolim=False,
    )


def _draw_marks(
    axes: Any, marks: Sequence[Interval], row_of: Mapping[str, int], unit: Unit
) -> None:
    for kind in sorted({item.kind for item in marks}):
        rows = [row_of[item.resource] for item in marks if item.kind == kind]
        times = [item.start / unit.size for item in marks if item.kind == kind]
        low = [row - 0.48 for row in rows]
        high = [row - 0.39 for row in rows]
        axes.vlines(times, low, high, color=role(kind)[1], lw=0.8)


def _boxes(shown: Sequence[Interval], place: _Rows, unit: Unit) -> Iterator[Box]:
    """What has a name of its own, beside that of its row."""
    for item in (item for item in shown if item.label != item.resource):
        low, height = place(item)
        start = item.start / unit.size
        width = item.duration / unit.size
        yield Box(start, low, width, height, item.label, role(item.kind)[1])


def plot_replication(result: Result, axes: Any = None, until: float = 0.0) -> Any:
    """Gantt chart of a replication result by node; returns the axes."""
    if not result.schedule:
        raise UsageError(
            "the result holds no schedule to draw; run `ioopt simulate` on its plan"
        )
    makespan = result.metrics.get("makespan_seconds")
    more = (
        "" if makespan is None else f"makespan {quantity('makespan_seconds', makespan)}"
    )
    timeline = replication_timeline(result.schedule)
    disks = result.schedule.get("disks")
    if axes is None and disks:
        from matplotlib.figure import Figure

        lanes = 1 + max(map(_last_core, timeline.intervals), default=0)
        upper = _height(min(MOST_ROWS, len(timeline.resources)))
        heights = max(upper, min(8.0, upper * (1 + 0.2 * lanes))), 2.2
        figure = Figure(figsize=(10, sum(heights)), layout="constrained")
        axes, below = figure.subplots(2, sharex=True, height_ratios=heights)
        plot_live_bytes(disks, timeline.makespan, below)
    return plot_timeline(timeline, axes, headline(result, more), until=until)


def plot_jobs(result: Result, axes: Any = None, until: float = 0.0) -> Any:
    """Gantt chart of a batch I/O or gang result, the first 60 jobs by
    start; returns the axes.
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
