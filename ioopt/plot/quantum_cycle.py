"""The slot sequence of a quantum selection: one cycle, a row a job."""

from collections.abc import Mapping
from typing import Any

from ioopt.plot.gantt import rectangles
from ioopt.plot.layout import finish, headline, label_axis, new_axes, patches, shortened, unit_for
from ioopt.plot.palette import IDLE, role
from ioopt.result import Result


def plot_quantum_selection(result: Result) -> Any:
    """The picture of a quantum-selection result; returns the axes."""
    title = headline(result, "one cycle")
    return plot_slots(result.schedule or {}, result.metrics, title=title)


def plot_slots(
    schedule: Mapping[str, Any], metrics: Mapping[str, Any], axes: Any = None, title: str = ""
) -> Any:
    """Draw the slots of one cycle, I/O jobs labelled with their slowdown; returns the axes."""
    slots = schedule["slots"]
    names = list(dict.fromkeys(slot["job"] for slot in slots))
    row_of = {name: row for row, name in enumerate(names)}
    axes = new_axes(9, min(12.0, 1.2 + 0.4 * len(names))) if axes is None else axes
    unit = unit_for("seconds", schedule["cycle_seconds"])
    cycle = schedule["cycle_seconds"] / unit.size
    axes.barh(range(len(names)), cycle, 0.8, color=IDLE, linewidth=0)
    for kind in sorted({slot["kind"] for slot in slots}):
        corners = [
            (slot["start_seconds"] / unit.size, slot["end_seconds"] / unit.size,
             row_of[slot["job"]] - 0.4, 0.8)
            for slot in slots if slot["kind"] == kind
        ]  # fmt: skip
        rectangles(axes, corners, role(kind)[1], "white")
    slowdown = metrics.get("slowdown", {})
    labels = [
        shortened(name, 24) + (f"\nslowdown {slowdown[name]:.2f}" if name in slowdown else "")
        for name in names
    ]
    axes.set_yticks(range(len(names)), labels, fontsize="small" if len(names) <= 25 else 6)
    axes.set_ylabel("job")
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, cycle)
    label_axis(axes.xaxis, "time in the cycle", unit.name)
    return finish(axes, title, patches({slot["kind"] for slot in slots} | {"idle"}))
