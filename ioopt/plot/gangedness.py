"""Message ratios with their intervals against the threshold (after Lee et al., Figure 10)."""

from collections.abc import Sequence
from typing import Any

from ioopt.plot.layout import finish, new_axes, shortened
from ioopt.plot.palette import BLUE, BOUND, OTHERS, VERMILLION
from ioopt.problems.flexgang.message_counts import ApplicationVerdict, GangednessVerdicts

STYLES = {"LOW": (BLUE, "o"), "HIGH": (VERMILLION, "s"), "UNKNOWN": (OTHERS, "D")}
"""Colour and marker of a verdict."""
TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def plot_message_counts(found: GangednessVerdicts, title: str = "") -> Any:
    """The picture of the monitor's verdicts."""
    return plot_ratios(found.applications, title=title)


def plot_ratios(items: Sequence[ApplicationVerdict], axes: Any = None, title: str = "") -> Any:
    """Draw each application's ratio and 90 % interval on a log scale; returns the axes.

    Applications without a ratio above 0 are named but not drawn; thresholds are dashed ticks.
    """
    from matplotlib.lines import Line2D

    axes = new_axes(8.0, min(14.0, 1.2 + 0.35 * len(items))) if axes is None else axes
    drawn = [0.02, 1.0]
    for name, (colour, marker) in STYLES.items():
        chosen = [
            (place, item.verdict)
            for place, item in enumerate(items)
            if item.verdict.gangedness == name and item.verdict.ratio
        ]
        ratios = [verdict.ratio for _, verdict in chosen if verdict.ratio]
        spans = [
            (place, verdict.low, verdict.high)
            for place, verdict in chosen
            if verdict.low is not None and verdict.high is not None
        ]
        drawn += [
            value for value in [*ratios, *(v for span in spans for v in span[1:])] if value > 0
        ]
        label = f"{name}, 90 % interval"
        axes.plot(
            ratios, [place for place, _ in chosen], marker, color=colour,
            label=label if chosen else None,
        )  # fmt: skip
        least = min(drawn) / 2  # an interval that reaches 0 leaves the logarithmic axis
        places, lows, highs = zip(*spans) if spans else ((), (), ())
        axes.hlines(places, [max(low, least) for low in lows], highs, colour)
    marks = [(k, item.verdict.threshold) for k, item in enumerate(items) if item.verdict.threshold]
    axes.vlines(
        [at for _, at in marks], [k - 0.4 for k, _ in marks], [k + 0.4 for k, _ in marks],
        BOUND, "dashed", lw=0.8,
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.set_xlim(min(drawn) / 1.3, max(drawn) * 1.3)
    axes.minorticks_off()
    names = [f"{shortened(item.id, 24)} ({item.verdict.gangedness})" for item in items]
    axes.set_yticks(range(len(items)), names, fontsize="medium" if len(items) <= 30 else 6)
    axes.invert_yaxis()
    axes.set_ylabel("application (gangedness)")
    axes.set_xlabel("messages in disturbed quanta / messages in gang quanta (factor)")
    handles = axes.get_legend_handles_labels()[0]
    if marks:
        handles.append(Line2D([], [], color=BOUND, linestyle="--", lw=0.8, label="threshold"))
    return finish(axes, title, handles)
