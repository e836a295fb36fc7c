"""Draw plans of flexible gangs: a frame of columns and windows, or a cycle of time
slots.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from ioopt.plot.gantt import plot_timeline, rectangles
from ioopt.plot.layout import (
    Box,
    finish,
    headline,
    label_axis,
    name_boxes,
    new_axes,
    shortened,
    unit_for,
)
from ioopt.plot.palette import IDLE, IO, role
from ioopt.result import Result
from ioopt.timeline import Interval, Timeline

MOST_INCHES = 9.0
"""The largest height in inches of a picture of a frame."""


def plot_flexible_gang(result: Result) -> Any:
    """Draw one frame of a flexible-gang result; return the axes.

    Loose windows are hatched and contain the names of the I/O jobs that run in them.
    """
    from matplotlib.patches import Patch

    schedule = result.schedule or {}
    columns = schedule["num_columns"]
    rows = schedule["rows"]
    unit = unit_for("seconds", schedule["frame_seconds"])
    frame = schedule["frame_seconds"] / unit.size
    cells = len({cell["start_seconds"] for cell in rows}) + 2 * len(schedule["windows"])
    axes = new_axes(3.0 + min(5.3, 0.9 * columns), min(MOST_INCHES, 1.5 + 0.35 * cells))
    axes.set_xlim(0, columns)
    axes.set_ylim(frame, 0)
    axes.set_facecolor(IDLE)
    corners: dict[str, list[tuple[float, float, float, float]]] = {}
    for cell in rows:
        start = cell["start_seconds"]
        height = (cell["end_seconds"] - start) / unit.size
        corner = (*cell["columns"], start / unit.size, height)
        corners.setdefault(cell["kind"], []).append(corner)
    for kind in sorted(corners):
        rectangles(axes, corners[kind], role(kind)[1], "white")
    for window in schedule["windows"]:
        start = window["start_seconds"] / unit.size
        end = window["end_seconds"] / unit.size
        axes.bar(
            columns / 2,
            end - start,
            columns,
            start,
            color="white",
            edgecolor=IO,
            hatch="//",
            linewidth=0.5,
            zorder=0.5,
        )
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("column of processors (number)")
    label_axis(axes.yaxis, "time in the frame", unit.name)
    handles = [
        Patch(facecolor=role(kind)[1], label=f"{role(kind)[0]}, strict")
        for kind in ("compute", "io")
    ]
    window_box = Patch(
        facecolor="white", edgecolor=IO, hatch="//", label="loose window for I/O"
    )
    finish(
        axes,
        headline(result, "one frame"),
        [*handles, window_box, Patch(facecolor=IDLE, label="idle")],
    )
    name_boxes(axes, _cells(rows, unit.size))
    for text in name_boxes(axes, _windows(schedule, unit.size)):
        # A white box makes the names readable on the hatching.
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.0})
    return axes


def _cells(rows: Iterable[Mapping[str, Any]], size: float) -> Iterator[Box]:
    """Yield a box for each cell of a strict row; *size* is the unit of time in
    seconds.
    """
    for cell in rows:
        first, last = cell["columns"]
        start = cell["start_seconds"] / size
        height = cell["end_seconds"] / size - start
        yield Box(
            first, start, last - first, height, cell["job"], role(cell["kind"])[1]
        )


def _windows(schedule: Mapping[str, Any], size: float) -> Iterator[Box]:
    """Yield a box for each window and each group of neighbouring columns with the same
    loose jobs. The box names these jobs.
    """
    columns = schedule["num_columns"]
    loose: list[list[str]] = [[] for _ in range(columns)]
    for job in schedule["loose_io"]:
        for column in range(*job["columns"]):
            loose[column].append(job["job"])
    edges = [0]
    edges += [k for k in range(1, columns) if loose[k] != loose[k - 1]]
    edges.append(columns)
    for window in schedule["windows"]:
        start = window["start_seconds"] / size
        height = window["end_seconds"] / size - start
        for first, last in pairwise(edges):
            names = loose[first]
            if len(names) <= 4:
                text = "\n".join(names)
            else:
                text = f"{len(names)} I/O jobs"
            yield Box(first, start, last - first, height, text, "#FFFFFF")


def plot_quantum_selection(result: Result) -> Any:
    """Draw the time slots of one cycle, with one row for each job; return the axes.

    I/O jobs are labelled with their slowdown.
    """
    schedule = result.schedule or {}
    slots = [
        Interval(
            slot["start_seconds"],
            slot["end_seconds"],
            slot["job"],
            slot["kind"],
            slot["job"],
        )
        for slot in schedule["slots"]
    ]
    timeline = Timeline.of(slots)
    title = headline(result, "one cycle")
    axes = plot_timeline(
        timeline, title=title, rows="job", until=schedule["cycle_seconds"]
    )
    slowdown = result.metrics.get("slowdown", {})
    labels = []
    for name in timeline.resources[: len(axes.get_yticks())]:
        label = shortened(name, 24)
        if name in slowdown:
            label += f"\nslowdown {slowdown[name]:.2f}"
        labels.append(label)
    axes.set_yticks(axes.get_yticks(), labels)
    return axes
