"""Plans of flexible gangs: one frame of columns and windows, one cycle of slots."""

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
"""Height of the tallest frame."""


def plot_flexible_gang(result: Result) -> Any:
    """One frame of a flexible-gang result; loose windows are hatched and list the I/O
    jobs there.
    """
    from matplotlib.patches import Patch

    schedule = result.schedule or {}
    columns = schedule["num_columns"]
    rows = schedule["rows"]
    unit = unit_for("seconds", schedule["frame_seconds"])
    frame = schedule["frame_seconds"] / unit.size
    cells = len({cell["start_seconds"] for cell in rows}) + 2 * len(schedule["windows"])
    axes = new_axes(3.0 + min(8.0, 0.9 * columns), min(MOST_INCHES, 1.5 + 0.35 * cells))
    axes.set_xlim(0, columns)
    axes.set_ylim(frame, 0)
    axes.set_facecolor(IDLE)
    for kind in sorted({cell["kind"] for cell in rows}):
        corners = [
            (
                *cell["columns"],
                cell["start_seconds"] / unit.size,
                (cell["end_seconds"] - cell["start_seconds"]) / unit.size,
            )
            for cell in rows
            if cell["kind"] == kind
        ]
        rectangles(axes, corners, role(kind)[1], "white")
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
    for text in name_boxes(
        axes, _windows(schedule, unit.size)
    ):  # readable upon the hatching
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.0})
    return axes


def _cells(rows: Iterable[Mapping[str, Any]], size: float) -> Iterator[Box]:
    for cell in rows:
        (first, last), start = cell["columns"], cell["start_seconds"] / size
        height = cell["end_seconds"] / size - start
        yield Box(
            first, start, last - first, height, cell["job"], role(cell["kind"])[1]
        )


def _windows(schedule: Mapping[str, Any], size: float) -> Iterator[Box]:
    """The names of the jobs that are loose in each run of columns with the same jobs."""
    columns = schedule["num_columns"]
    loose = [
        tuple(
            job["job"]
            for job in schedule["loose_io"]
            if job["columns"][0] <= column < job["columns"][1]
        )
        for column in range(columns)
    ]
    edges = [
        k for k in range(columns + 1) if k in (0, columns) or loose[k] != loose[k - 1]
    ]
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
    """The slots of one cycle, a row a job, I/O jobs labelled with their slowdown;
    returns the axes.
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
    labels = [
        shortened(name, 24)
        + (f"\nslowdown {slowdown[name]:.2f}" if name in slowdown else "")
        for name in timeline.resources[: len(axes.get_yticks())]
    ]
    axes.set_yticks(axes.get_yticks(), labels)
    return axes
