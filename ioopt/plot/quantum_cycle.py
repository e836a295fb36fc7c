"""The slot sequence of a quantum selection: one cycle, a row a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioopt.result import Result

MILLISECONDS = 1000.0
COLOURS = {"io": "tab:orange", "compute": "tab:blue"}


def plot_quantum_cycle(result: Result) -> Any:
    """The picture of a quantum-selection result; returns the axes."""
    return plot_slots(result.schedule or {}, result.metrics)


def plot_slots(schedule: Mapping[str, Any], metrics: Mapping[str, Any], axes: Any = None) -> Any:
    """Draw the slots of one cycle, I/O jobs labelled with their slowdown; returns the axes."""
    from matplotlib.figure import Figure

    slots = schedule["slots"]
    names = list(dict.fromkeys(slot["job"] for slot in slots))
    if axes is None:
        figure = Figure(figsize=(8.0, 1.2 + 0.4 * len(names)), layout="constrained")
        axes = figure.add_subplot()
    for slot in slots:
        start = slot["start_seconds"] * MILLISECONDS
        length = slot["end_seconds"] * MILLISECONDS - start
        axes.barh(names.index(slot["job"]), length, 0.8, start, color=COLOURS[slot["kind"]])
    slowdown = metrics.get("slowdown", {})
    labels = [f"{name} (S = {slowdown[name]:.2f})" if name in slowdown else name for name in names]
    axes.set_yticks(range(len(names)), labels)
    axes.invert_yaxis()
    axes.set_xlim(0, schedule["cycle_seconds"] * MILLISECONDS)
    axes.set_xlabel("time in the cycle (ms)")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
