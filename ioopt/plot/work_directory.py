"""Draw the bytes in a work directory over time, and the makespan against the quota."""

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

from ioopt.plot.gantt import rectangles
from ioopt.plot.layout import (
    WIDTH,
    Unit,
    finish,
    headline,
    label_axis,
    new_axes,
    unit_for,
)
from ioopt.plot.palette import HUES, IDLE, LIMIT, OTHERS, VERMILLION, series
from ioopt.problems.base import Json
from ioopt.result import Result
from ioopt.units import quantity


def plot_use(result: Result) -> Any:
    """Draw the bytes in the work directory over time, stacked by stage, with the quota;
    draw the tasks below. Return the axes.
    """
    schedule = result.schedule or {}
    stages = schedule["stages"]
    tasks = schedule["tasks"]
    colours = {
        name: HUES[at % len(HUES)] for at, name in enumerate(stages) if name != "others"
    }
    last = max((task["end_seconds"] for task in tasks), default=0.0)
    quota = schedule["quota_bytes"]
    time = unit_for("seconds", last)
    size = unit_for("bytes", max(quota or 0, result.metrics["peak_bytes"]))
    axes = new_axes(WIDTH, 5.0)
    below = axes.inset_axes([0, -0.75, 1, 0.55])
    changes = {row[0] for rows in stages.values() for row in rows} | {last}
    instants = sorted(changes)
    axes.stackplot(
        [at / time.size for at in instants],
        [_at(rows, instants, size) for rows in stages.values()],
        labels=list(stages),
        colors=[colours.get(name, OTHERS) for name in stages],
        step="post",
    )
    if quota is not None:
        axes.axhline(quota / size.size, label="quota", **LIMIT)
    rows_used = _draw_tasks(below, tasks, colours, time.size)
    for panel in (axes, below):
        panel.set_xlim(0, last / time.size or 1)
        label_axis(panel.xaxis, "time", time.name)
    below.set_ylim(rows_used or 1, 0)
    below.spines[["top", "right"]].set_visible(False)
    label_axis(axes.yaxis, "bytes inside", size.name)
    below.set_ylabel("tasks at a time (count)")
    return finish(axes, headline(result))


def _draw_tasks(
    axes: Any, tasks: Sequence[Json], colours: Mapping[str, str], size: float
) -> int:
    """Draw each task in the first free row; return the number of rows.

    *colours* gives the colour of each stage, and *size* is the unit of time in seconds.
    """
    free: list[tuple[float, int]] = []  # (end of the last task, row)
    boxes: dict[str, list[tuple[float, float, float, float]]] = {}
    for task in sorted(tasks, key=lambda task: task["start_seconds"]):
        start = task["start_seconds"]
        end = task["end_seconds"]
        row = len(free)
        if free and free[0][0] <= start:
            row = heapq.heappop(free)[1]
        heapq.heappush(free, (end, row))
        colour = colours.get(task.get("stage", ""), OTHERS)
        boxes.setdefault(colour, []).append((start / size, end / size, row, 1.0))
    for colour, corners in boxes.items():
        rectangles(axes, corners, colour, "none")
    return len(free)


def _at(
    rows: Sequence[Sequence[float]], instants: Sequence[float], unit: Unit
) -> list[float]:
    """Return the values of a step function at *instants*, in *unit*; *rows* are its
    steps as (instant, value).
    """
    changes = {at: size for at, size in rows}
    found = []
    value = 0.0
    for at in instants:
        value = changes.get(at, value)
        found.append(value / unit.size)
    return found


def plot_frontier(found: Json) -> Any:
    """Draw the shortest makespan found against the quota, and its lower bound; return
    the axes.

    *found* is the answer of ``ioopt budget``: the rows of its ``curve``, the best plan
    ``at_quota`` that the user asked for, and the way of an engine to keep it, ``fits``,
    which is marked. Curves are steps: a plan also keeps every larger quota, and a bound
    also holds for every smaller one. Quotas that no plan keeps are shaded up to the
    ``least``, and have no bound.
    """
    rows, asked, fits = found["curve"], found["at_quota"], found["fits"]
    axes = new_axes(WIDTH, 4)
    known = [*rows, asked] if asked else list(rows)
    known.sort(key=lambda row: row["quota_bytes"])
    size = unit_for("bytes", known[-1]["quota_bytes"])
    too_small = [row["quota_bytes"] for row in known if row["status"] == INFEASIBLE]
    bounded = [row for row in known if row["status"] != INFEASIBLE]
    planned = [row for row in bounded if row["makespan_seconds"] is not None]
    times = [row["makespan_seconds"] or row["bound"] for row in bounded]
    marks = _answers(asked, fits)
    times += marks.values()
    time = unit_for("seconds", max(times, default=0.0))
    for name, key, points, where, style in (
        ("found", "makespan_seconds", planned, "post", series(0)),
        ("proven bound", "bound", bounded, "pre", {**LIMIT, "marker": "."}),
    ):
        across = [row["quota_bytes"] / size.size for row in points]
        up = [row[key] / time.size for row in points]
        axes.plot(across, up, label=name, drawstyle=f"steps-{where}", **style)
    if asked:
        _mark_asked(axes, marks, asked, size, time)
    axes.set_ylim(bottom=0)
    of_curve = known[-2 if asked else -1]["quota_bytes"]
    _scale_quotas(axes, known[-1]["quota_bytes"], of_curve)
    if too_small:
        left = axes.get_xlim()[0]
        right = max(*too_small, found["least"]["bound_bytes"]) / size.size
        axes.axvspan(left, right, color=IDLE, label="no plan fits", zorder=0)
        axes.set_xlim(left=left)
    label_axis(axes.xaxis, "quota", size.name)
    label_axis(axes.yaxis, "makespan", time.name)
    return finish(axes, found["instance"])


def _scale_quotas(axes: Any, most: float, of_curve: float) -> None:
    """Let the axis of quotas begin at 0 or, if the largest quota *most* is far beyond
    the largest one *of_curve*, be logarithmic.
    """
    if most > WIDE * of_curve:
        axes.set_xscale("log")  # Else the curve would be a line at the left.
        axes.xaxis.set_major_formatter("{x:g}")
    else:
        axes.set_xlim(left=0)


INFEASIBLE = "infeasible"
WAYS = {
    "default": "by default",
    "nextflow": "with caps of Nextflow",
    "setting": "with the plugin of Snakemake",
}
"""What to call the ways of ``ioopt budget`` to keep a quota by an engine."""
WIDE = 4
"""The asked quota, as a multiple of the largest one of the curve, above which the axis
of quotas is logarithmic.
"""


def _answers(asked: Json | None, fits: Json | None) -> dict[str, float]:
    """Return the makespans at the asked quota in seconds, by the words for their ways:
    that of an engine before that of the best plan.
    """
    marks = {}
    if fits and fits["way"] in WAYS:
        marks[WAYS[fits["way"]]] = fits["takes_seconds"]
    if asked and asked["makespan_seconds"] is not None:
        marks["by the best plan"] = asked["makespan_seconds"]
    return marks


def _mark_asked(
    axes: Any, marks: Mapping[str, float], asked: Json, size: Unit, time: Unit
) -> None:
    """Mark the quota that the user asked for, and the first of the makespans *marks*
    found for it, if there is any.
    """
    quota = asked["quota_bytes"]
    words = [f"{quantity('makespan_seconds', at)} {way}" for way, at in marks.items()]
    label = f"your quota, {quantity('quota_bytes', quota)}:"
    label = "\n".join((label, *(words or ["no plan found"])))
    axes.axvline(quota / size.size, color=VERMILLION, lw=1.2, label=label)
    for makespan in [*marks.values()][:1]:
        at = ([quota / size.size], [makespan / time.size])
        axes.plot(*at, marker="D", markersize=9, color=VERMILLION, linestyle="none")
