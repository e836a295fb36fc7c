"""Draw the bytes in a work directory over time, and the makespan against the quota."""

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

from ioopt.plot.gantt import rectangles
from ioopt.plot.layout import finish, headline, label_axis, new_axes, unit_for
from ioopt.plot.palette import HUES, LIMIT, OTHERS, series
from ioopt.problems.base import Json
from ioopt.result import Result


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
    axes = new_axes(10, 5.5)
    below = axes.inset_axes([0, -0.75, 1, 0.55])
    changes = {last}
    for rows in stages.values():
        changes.update(row[0] for row in rows)
    instants = sorted(changes)
    levels = [_at(rows, instants) for rows in stages.values()]
    axes.stackplot(
        [at / time.size for at in instants],
        [[y / size.size for y in row] for row in levels],
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


def _at(rows: Sequence[Sequence[float]], instants: Sequence[float]) -> list[float]:
    """Return the values of a step function at *instants*; *rows* are its steps as
    (instant, value).
    """
    changes = {at: size for at, size in rows}
    found = []
    value = 0.0
    for at in instants:
        value = changes.get(at, value)
        found.append(value)
    return found


def plot_frontier(rows: Sequence[Json], title: str = "") -> Any:
    """Draw the shortest makespan found against the quota, and its lower bound; return
    the axes.
    """
    axes = new_axes(7, 4)
    size = unit_for("bytes", max(row["quota_bytes"] for row in rows))
    found = [row for row in rows if row["makespan_seconds"] is not None]
    time = unit_for(
        "seconds", max([row["makespan_seconds"] or row["bound"] for row in rows])
    )
    for name, key, points, style in (
        ("found", "makespan_seconds", found, series(0)),
        ("bound", "bound", rows, LIMIT),
    ):
        across = [row["quota_bytes"] / size.size for row in points]
        axes.plot(across, [row[key] / time.size for row in points], label=name, **style)
    axes.set_ylim(bottom=0)
    label_axis(axes.xaxis, "quota", size.name)
    label_axis(axes.yaxis, "makespan", time.name)
    return finish(axes, title)
