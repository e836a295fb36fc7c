"""A metric against load, one line a policy (Zhang et al., Figures 4, 6, 8, 9 and 10)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any


def plot_load(
    points: Mapping[str, Mapping[float, Sequence[float]]],
    metric: str = "mean slowdown",
    label: str = "mean local execution time t_e (s)",
    log: bool = True,
    axes: Any = None,
) -> Any:
    """Draw ``points[policy][load] = values over seeds``: median line, range as a band.

    *metric* and *label* go on the axes with their units; returns the axes.
    """
    from matplotlib.figure import Figure

    if axes is None:
        axes = Figure(figsize=(6.0, 4.2), layout="constrained").add_subplot()
    for number, (policy, values) in enumerate(points.items()):
        loads = sorted(values)
        median = [statistics.median(values[load]) for load in loads]
        colour = f"C{number}"
        axes.plot(loads, median, marker="o", ms=3, color=colour, label=policy)
        axes.fill_between(
            loads, [min(values[load]) for load in loads], [max(values[load]) for load in loads],
            color=colour, alpha=0.15, linewidth=0,
        )  # fmt: skip
    if log:
        axes.set_yscale("log")
    axes.set_xlabel(label)
    axes.set_ylabel(metric)
    axes.legend(fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
