"""One frame of a flexible gang plan: columns across, time down, strict cells and loose windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioopt.result import Result

MILLISECONDS = 1000.0
COLOURS = {"io": "tab:orange", "compute": "tab:blue"}


def plot_flexible_frame(result: Result) -> Any:
    """The picture of a flexible-gang result; returns the axes."""
    return plot_frame(result.schedule or {})


def plot_frame(schedule: Mapping[str, Any], axes: Any = None) -> Any:
    """Draw one frame; loose windows are hatched and list the I/O jobs that run there."""
    from matplotlib.figure import Figure

    columns, frame = schedule["num_columns"], schedule["frame_seconds"] * MILLISECONDS
    if axes is None:
        figure = Figure(figsize=(1.5 + 0.9 * columns, 1.5 + 0.06 * frame), layout="constrained")
        axes = figure.add_subplot()
    for cell in schedule["rows"]:
        start = cell["start_seconds"] * MILLISECONDS
        height = cell["end_seconds"] * MILLISECONDS - start
        first, last = cell["columns"]
        axes.bar(
            (first + last) / 2, height, last - first, start, color=COLOURS[cell["kind"]],
            edgecolor="white",
        )  # fmt: skip
        axes.text((first + last) / 2, start + height / 2, cell["job"], ha="center", va="center")
    for window in schedule["windows"]:
        start = window["start_seconds"] * MILLISECONDS
        height = window["end_seconds"] * MILLISECONDS - start
        axes.bar(
            columns / 2, height, columns, start, color="0.9", edgecolor="0.6", hatch="//", zorder=0
        )
        for column in range(columns):
            names = [
                job["job"]
                for job in schedule["loose_io"]
                if job["columns"][0] <= column < job["columns"][1]
            ]
            text = "\n".join(names)
            axes.text(column + 0.5, start + height / 2, text, ha="center", va="center", fontsize=7)
    axes.set_xlim(0, columns)
    axes.set_ylim(frame, 0)
    axes.set_xlabel("column of processors")
    axes.set_ylabel("time in the frame (ms)")
    return axes
