"""Draw measurements in the form of Lee et al., Figures 2, 3, 5 and 10."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ioopt.plot.layout import finish, legend_beside, new_axes, shortened
from ioopt.plot.palette import BLUE, BOUND, GREEN, ORANGE, OTHERS, VERMILLION, series
from ioopt.problems.base import Json
from ioopt.problems.flexgang.message_counts import GangednessVerdicts, Verdict
from ioopt.problems.flexgang.perturbation import PerturbationSlopes
from ioopt.problems.flexgang.quantum_model import QuantumMeasures

MILLISECONDS = 1000.0


def plot_quantum_model(found: QuantumMeasures, title: str = "") -> Any:
    """Draw slowdown (left) and CPU fragmentation (right) of the quantum model; return
    the left axes.

    The horizontal axis is the quantum with more values, compute or I/O. There is one
    curve for each value of the other quantum.
    """
    from matplotlib.figure import Figure

    left, right = Figure(figsize=(11.0, 4.0), layout="constrained").subplots(1, 2)
    points = found.points
    distinct_qi = {point.qi_seconds for point in points}
    distinct_qc = {point.qc_seconds for point in points}
    if len(distinct_qi) > len(distinct_qc):
        x_name = "qi_seconds"
        x_label = "I/O quantum qi (ms)"
        curve_name = "qc_seconds"
        curve_label = "qc"
    else:
        x_name = "qc_seconds"
        x_label = "compute quantum qc (ms)"
        curve_name = "qi_seconds"
        curve_label = "qi"
    handles = []
    for number, value in enumerate(
        sorted({getattr(point, curve_name) for point in points})
    ):
        curve = sorted(
            (point for point in points if getattr(point, curve_name) == value),
            key=lambda point: float(getattr(point, x_name)),
        )
        x = [getattr(point, x_name) * MILLISECONDS for point in curve]
        style = {
            **series(number),
            "label": f"{curve_label} = {value * MILLISECONDS:g} ms",
        }
        style["markevery"] = max(1, len(x) // 8)
        handles += left.plot(x, [point.slowdown for point in curve], **style)
        right.plot(x, [100 * point.fragmentation for point in curve], **style)
    left.set_ylabel("slowdown of the I/O job (factor)")
    right.set_ylabel("CPU fragmentation (% of all CPUs)")
    for axis in (left, right):
        axis.set_xlabel(x_label)
        axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
    legend_beside(left.figure, handles)
    left.figure.suptitle(title, fontsize="medium")
    return left


ENVIRONMENTS = {
    "Sub_FX": {"marker": "s", "color": BLUE, "markersize": 8},
    "Sub_RR": {"marker": "o", "color": ORANGE, "markersize": 5},
    "Add_FX": {"marker": "^", "color": GREEN, "markersize": 8},
    "Add_RR": {"marker": "v", "color": VERMILLION, "markersize": 5},
}
"""The style of the curve of each environment.

Markers are hollow, and the first marker of each pair is larger, so that two coinciding
curves are both visible.
"""
COLUMNS = 4
"""The largest number of panels side by side."""


def plot_perturbation(found: PerturbationSlopes, title: str = "") -> Any:
    """Draw one panel for each application, with a curve for each environment; return
    the axes of the first panel.
    """
    from matplotlib.figure import Figure

    items = found.applications
    columns = min(COLUMNS, len(items))
    rows = math.ceil(len(items) / columns)
    figure = Figure(
        figsize=(1.6 + 2.7 * columns, 0.9 + 2.4 * rows), layout="constrained"
    )
    panels = figure.subplots(
        rows, columns, squeeze=False, sharex=True, sharey=True
    ).ravel()
    for item, axes in zip(items, panels):
        curves: dict[str, tuple[tuple[int, float], ...]] = {
            name: item.curves.get(name, ((0, 0.0), (1, slope)))
            for name, slope in item.slopes.items()
        }
        _panel(axes, curves, found.processors)
        axes.set_title(shortened(item.id, 24), fontsize="medium")
        axes.label_outer()
    for place, axes in enumerate(panels[len(items) :], len(items)):
        axes.set_visible(False)
        panels[place - columns].tick_params(labelbottom=True)
        panels[place - columns].set_xlabel(axes.get_xlabel() or "perturbations (count)")
    figure.suptitle(title, fontsize="medium")
    handles = panels[0].get_legend_handles_labels()[0]
    legend_beside(
        figure, sorted(handles, key=lambda line: line.get_label() not in ENVIRONMENTS)
    )
    return panels[0]


def _panel(
    axes: Any, curves: Mapping[str, Sequence[tuple[int, float]]], processors: int
) -> None:
    """Draw, for each environment, a curve of (number of perturbations, change of run
    time in quanta).

    The dotted reference lines are those of the paper: slopes of 1, 1/P, 0 and -1/P
    quanta for each perturbation, with P *processors*.
    """
    furthest = 0
    for points in curves.values():
        furthest = max(furthest, max((count for count, _ in points), default=0))
    for slope in (1.0, 0.0, 1 / processors, -1 / processors):
        axes.plot([0, furthest], [0, slope * furthest], ":", color=OTHERS, lw=0.9)
    axes.lines[-1].set_label(f"slopes 1, 1/{processors}, 0, -1/{processors}")
    for name, points in curves.items():
        counts, changes = zip(*points)
        style: Json = {"lw": 1, "markerfacecolor": "none", **ENVIRONMENTS.get(name, {})}
        axes.plot(counts, changes, label=name, **style)
    axes.set_xlabel("perturbations (count)")
    axes.set_ylabel("change of run time (quanta)")
    axes.spines[["top", "right"]].set_visible(False)


VERDICTS = {"LOW": (BLUE, "o"), "HIGH": (VERMILLION, "s"), "UNKNOWN": (OTHERS, "D")}
"""The colour and the marker for each verdict."""
TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def plot_message_counts(found: GangednessVerdicts, title: str = "") -> Any:
    """Draw the ratio of each application, with its 90 % interval, on a logarithmic
    axis; return the axes.

    Applications whose ratio is 0 or unknown are named but not drawn. Thresholds are
    short dashed lines.
    """
    items = found.applications
    verdicts = [item.verdict for item in items]
    axes = new_axes(8.0, min(14.0, 1.2 + 0.35 * len(items)))
    axes.set_xscale("log")
    drawn = [0.02, 1.0]
    for place, verdict in enumerate(verdicts):
        drawn += _draw_verdict(axes, place, verdict)
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.set_xlim(min(drawn) / 1.3, max(drawn) * 1.3)
    axes.minorticks_off()
    names = [f"{shortened(item.id, 24)} ({item.verdict.gangedness})" for item in items]
    size: str | int = "medium"
    if len(items) > 30:
        size = 6
    axes.set_yticks(range(len(items)), names, fontsize=size)
    axes.invert_yaxis()
    axes.set_ylabel("application (gangedness)")
    axes.set_xlabel("messages in disturbed quanta / messages in gang quanta (factor)")
    return finish(axes, title, _entries_for(verdicts))


def _draw_verdict(axes: Any, place: int, verdict: Verdict) -> list[float]:
    """Draw the threshold, the ratio and its interval in the row at *place*, as far as
    they are known; return the ratios drawn that are on a logarithmic axis.
    """
    if verdict.threshold:
        low, high = place - 0.4, place + 0.4
        axes.vlines(verdict.threshold, low, high, BOUND, "dashed", lw=0.8)
    if not verdict.ratio:
        return []
    colour, marker = VERDICTS[verdict.gangedness]
    axes.plot(verdict.ratio, place, marker, color=colour)
    if verdict.low is None or verdict.high is None:
        return [verdict.ratio]
    # An interval that reaches 0 leaves the logarithmic axis.
    axes.hlines(place, max(verdict.low, TICKS[0] / 100), verdict.high, colour)
    return [x for x in (verdict.ratio, verdict.low, verdict.high) if x > 0]


def _entries_for(verdicts: Sequence[Verdict]) -> list[Any]:
    """Return the entries of the legend for the *verdicts* with a ratio, and for
    thresholds.
    """
    from matplotlib.lines import Line2D

    shown = {verdict.gangedness for verdict in verdicts if verdict.ratio}
    entries = [
        Line2D(
            [],
            [],
            color=colour,
            marker=marker,
            ls="none",
            label=f"{name}, 90 % interval",
        )
        for name, (colour, marker) in VERDICTS.items()
        if name in shown
    ]
    if any(verdict.threshold for verdict in verdicts):
        entries.append(Line2D([], [], color=BOUND, ls="--", lw=0.8, label="threshold"))
    return entries
