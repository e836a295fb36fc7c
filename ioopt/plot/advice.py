"""Pictures of advice, narrow enough for a telephone; savings are in per cent, above 0 is better."""

from collections.abc import Mapping, Sequence
from typing import Any

from ioopt.plot.bandwidth import plot_bandwidth
from ioopt.plot.layout import label_axis, new_axes
from ioopt.plot.palette import LIMIT, series
from ioopt.problems.base import Json

WIDTH = 4.6
"""Inches, and at most that many pixels times 96 on a screen."""
BELOW = {"loc": "outside lower center", "frameon": False, "fontsize": "small"}
"""Where legends are."""


def plot_curve(
    fractions: Sequence[float], lines: Mapping[str, Sequence[Json]], measure: str, worth: float
) -> Any:
    """Draw figures (``value``, ``low``, ``high``) against the I/O fraction; returns the axes.

    A dotted line is at the share that is *worth* a change.
    """
    axes = new_axes(WIDTH, 3.4)
    at = [100 * fraction for fraction in fractions]
    for number, (name, figures) in enumerate(lines.items()):
        axes.plot(at, [100 * row["value"] for row in figures], lw=1.2, label=name, **series(number))
        low, high = (
            [100 * (row["value"] if row[end] is None else row[end]) for row in figures]
            for end in ("low", "high")
        )
        axes.fill_between(at, low, high, color=series(number)["color"], alpha=0.2, lw=0)
    axes.axhline(100 * worth, **LIMIT)
    label_axis(axes.xaxis, "mean share of run time that is I/O", "%")
    label_axis(axes.yaxis, f"share of {measure}", "%")
    axes.spines[["top", "right"]].set_visible(False)
    axes.figure.legend(**BELOW)
    return axes


def plot_traffic(options: Mapping[str, Json], limit: float, slice_seconds: float) -> Any:
    """Draw a panel an option: stacked mean rates of classes of jobs, and the storage's *limit*.

    The mean rates are of slices of time, from the first on; returns the last axes.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 0.7 + 1.9 * len(options)), layout="constrained")
    for axes, (name, found) in zip(
        figure.subplots(len(options), squeeze=False).flat, options.items()
    ):
        spans = {
            kind: [
                (k * slice_seconds, (k + 1) * slice_seconds, rate) for k, rate in enumerate(rates)
            ]
            for kind, rates in found["classes"].items()
        }
        plot_bandwidth(spans, axes, name, limit).get_legend().remove()
    figure.legend(handles=axes.get_legend_handles_labels()[0], ncols=2, **BELOW)
    return axes
