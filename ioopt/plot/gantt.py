"""Gantt charts: who computes, fetches and copies when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioopt.errors import UsageError
from ioopt.result import Result
from ioopt.timeline import Interval, Timeline

COLOURS = {
    "compute": "#4c72b0",
    "local": "#4c72b0",
    "remote start": "#dd8452",
    "remote": "#c44e52",
    "copy": "#dd8452",
    "io": "#c44e52",
    "eviction": "#555555",
}
OTHER_COLOUR = "#8172b3"
LABELLED_INTERVALS = 40
STAGING = ("remote", "copy")


def plot_timeline(timeline: Timeline, axes: Any = None, title: str = "") -> Any:
    """Draw *timeline*, one row a resource, time in seconds; returns the axes.

    Transfers take the upper half of a row and everything else the lower half, since a node stages
    while it computes. Marks are drawn as ticks. Few enough intervals are labelled.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    if axes is None:
        height = min(16.0, 1.2 + 0.5 * max(1, len(timeline.resources)))
        axes = Figure(figsize=(9, height), layout="constrained").add_subplot()
    row_of = {name: row for row, name in enumerate(timeline.resources)}
    kinds = sorted({item.kind for item in timeline.intervals})
    for kind in kinds:
        halves: dict[float, list[tuple[float, float]]] = {}
        for row, name in enumerate(timeline.resources):
            spans = [(item.start, item.duration) for item in timeline.on(name) if item.kind == kind]
            low = row - 0.4 if kind in STAGING else row
            halves.setdefault(low, []).extend(spans)
        for low, spans in halves.items():
            axes.broken_barh(spans, (low, 0.38), color=colour(kind), linewidth=0)
    for item in timeline.marks:
        row = row_of[item.resource]
        axes.plot([item.start] * 2, [row - 0.45, row - 0.35], color=colour(item.kind), lw=0.8)
    if len(timeline.intervals) <= LABELLED_INTERVALS:
        _label(axes, timeline, row_of)
    axes.set_yticks(range(len(timeline.resources)), list(timeline.resources))
    axes.set_ylim(len(timeline.resources) - 0.4, -0.6)
    axes.set_xlim(0, timeline.makespan * 1.01 or 1)
    axes.set_xlabel("time (s)")
    axes.set_title(title, fontsize="medium")
    shown = [*kinds, *sorted({item.kind for item in timeline.marks})]
    handles = [Patch(color=colour(kind), label=kind) for kind in shown]
    if handles:
        axes.legend(
            handles=handles, fontsize="small", ncols=len(handles), frameon=False,
            loc="upper right", bbox_to_anchor=(1.0, -0.04 - 0.25 / max(1, len(timeline.resources))),
        )  # fmt: skip
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def colour(kind: str) -> str:
    """The colour of a kind of interval."""
    return COLOURS.get(kind, OTHER_COLOUR)


def _label(axes: Any, timeline: Timeline, row_of: Mapping[str, int]) -> None:
    for item in timeline.intervals:
        if item.duration > 0.02 * timeline.makespan:
            height = row_of[item.resource] + (-0.21 if item.kind in STAGING else 0.19)
            axes.text(
                item.start + item.duration / 2, height, item.label, ha="center", va="center",
                fontsize="x-small", color="white", clip_on=True,
            )  # fmt: skip


def replication_timeline(schedule: Mapping[str, Any]) -> Timeline:
    """The timeline of a replication result's ``schedule``: computing, fetches, copies, evictions."""
    intervals = [
        Interval(row["start_seconds"], row["end_seconds"], row["node"], "compute", row["id"])
        for row in schedule["tasks"]
    ]
    intervals += [
        Interval(
            row["start_seconds"], row["end_seconds"], row["destination"],
            "remote" if row["source"] is None else "copy", row["file"],
            info={"source": row["source"]},
        )
        for row in schedule["transfers"]
    ]  # fmt: skip
    marks = [
        Interval(row["seconds"], row["seconds"], row["node"], "eviction", row["file"])
        for row in schedule["evictions"]
    ]
    names = sorted({item.resource for item in [*intervals, *marks]}, key=_natural)
    return Timeline.of(intervals, names, marks)


def _natural(name: str) -> tuple[int, str]:
    return (len(name), name)


def plot_replication(result: Result, axes: Any = None) -> Any:
    """Gantt chart of a replication result by node; returns the axes.

    Raises UsageError for a result without a schedule.
    """
    if not result.schedule:
        raise UsageError("the result holds no schedule to draw; run `ioopt simulate` on its plan")
    makespan = result.metrics.get("makespan_seconds")
    seconds = "" if makespan is None else f", {makespan:.6g} s"
    title = f"{result.instance}: {result.solver}{seconds}"
    return plot_timeline(replication_timeline(result.schedule), axes, title)
