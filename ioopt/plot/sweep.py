"""A metric against a swept setting, one line a solver, with error bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def plot_sweep(
    lines: Mapping[str, Sequence[tuple[float, float, float, int]]],
    label: str,
    metric: str,
    axes: Any = None,
) -> Any:
    """Draw *lines* (solver -> (setting, mean, length of the error bar, runs)); returns the axes."""
    from matplotlib.figure import Figure

    if axes is None:
        axes = Figure(figsize=(6, 4), layout="constrained").add_subplot()
    for name, points in lines.items():
        at, mean, error, _ = zip(*sorted(points))
        axes.errorbar(at, mean, yerr=error, marker="o", ms=3, capsize=2, label=name)
    axes.set_xlabel(label)
    axes.set_ylabel(metric)
    axes.legend(fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
