"""Message ratios with their intervals against the threshold (after Lee et al., Figure 10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ioopt.problems.message_counts import ApplicationVerdict, GangednessPlan
from ioopt.result import Result

COLOURS = {"LOW": "tab:green", "HIGH": "tab:red", "UNKNOWN": "tab:grey"}
TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def plot_message_counts(result: Result) -> Any:
    """The picture of a gangedness result."""
    return plot_ratios(GangednessPlan.model_validate(result.plan).applications)


def plot_ratios(items: Sequence[ApplicationVerdict], axes: Any = None) -> Any:
    """Draw each application's ratio and 90 % interval on a log scale; returns the axes.

    Applications without a ratio above 0 are named but not drawn; thresholds are dashed ticks.
    """
    from matplotlib.figure import Figure

    if axes is None:
        figure = Figure(figsize=(6.0, 1.2 + 0.35 * len(items)), layout="constrained")
        axes = figure.add_subplot()
    drawn = [0.02, 1.0]
    for place, item in enumerate(items):
        verdict = item.verdict
        colour = COLOURS[verdict.gangedness]
        if verdict.threshold is not None:
            axes.vlines(verdict.threshold, place - 0.4, place + 0.4, "black", "dashed", lw=0.8)
        if not verdict.ratio:
            continue
        axes.plot([verdict.ratio], [place], "o", color=colour)
        drawn.append(verdict.ratio)
        if verdict.low is not None and verdict.high is not None:
            drawn += [verdict.low, verdict.high]
            axes.hlines(place, verdict.low, verdict.high, colour)
    axes.set_xscale("log")
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.set_xlim(min(drawn) / 1.3, max(drawn) * 1.3)
    axes.minorticks_off()
    axes.set_yticks(range(len(items)), [f"{item.id} ({item.verdict.gangedness})" for item in items])
    axes.invert_yaxis()
    axes.set_xlabel("messages in disturbed quanta / messages in gang quanta")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
