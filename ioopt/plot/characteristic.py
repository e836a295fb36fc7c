"""Characteristic plots: change of run time against perturbations (Lee et al., Figure 5)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ioopt.plot.layout import legend_beside, new_axes, shortened
from ioopt.plot.palette import BLUE, GREEN, ORANGE, OTHERS, VERMILLION
from ioopt.problems.flexgang.perturbation import PerturbationSlopes

STYLES = {
    "Sub_FX": {"marker": "s", "color": BLUE, "markersize": 8},
    "Sub_RR": {"marker": "o", "color": ORANGE, "markersize": 5},
    "Add_FX": {"marker": "^", "color": GREEN, "markersize": 8},
    "Add_RR": {"marker": "v", "color": VERMILLION, "markersize": 5},
}
"""Hollow markers, the first of each pair larger, so that curves which coincide are both seen."""
COLUMNS = 4


def plot_perturbation(found: PerturbationSlopes, title: str = "") -> Any:
    """One panel for each application of the laboratory; returns the first axes."""
    from matplotlib.figure import Figure

    items = found.applications
    columns = min(COLUMNS, len(items))
    rows = math.ceil(len(items) / columns)
    figure = Figure(figsize=(1.6 + 2.7 * columns, 0.9 + 2.4 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for item, axes in zip(items, panels):
        curves: dict[str, tuple[tuple[int, float], ...]] = {
            name: item.curves.get(name, ((0, 0.0), (1, slope)))
            for name, slope in item.slopes.items()
        }
        plot_characteristic(curves, found.processors, axes)
        axes.set_title(shortened(item.id, 24), fontsize="medium")
        axes.label_outer()
    for place, axes in enumerate(panels[len(items) :], len(items)):
        axes.set_visible(False)
        panels[place - columns].tick_params(labelbottom=True)
        panels[place - columns].set_xlabel(axes.get_xlabel() or "perturbations (count)")
    figure.suptitle(title, fontsize="medium")
    handles = panels[0].get_legend_handles_labels()[0]
    legend_beside(figure, sorted(handles, key=lambda line: line.get_label() not in STYLES))
    return panels[0]


def plot_characteristic(
    curves: Mapping[str, Sequence[tuple[int, float]]],
    processors: int | None = None,
    axes: Any = None,
) -> Any:
    """Draw (perturbations, change in quanta) by environment; returns the axes.

    With *processors* P the dotted reference lines of the paper are added: all, 1/P, none and -1/P
    of the time taken or given.
    """
    axes = new_axes(5.5, 4.0) if axes is None else axes
    furthest = max((count for points in curves.values() for count, _ in points), default=0)
    share = [] if processors is None else [1 / processors, -1 / processors]
    for slope in (1.0, 0.0, *share):
        axes.plot([0, furthest], [0, slope * furthest], ":", color=OTHERS, lw=0.9)
    if processors is not None:
        axes.lines[-1].set_label(f"slopes 1, 1/{processors}, 0, -1/{processors}")
    for name, points in curves.items():
        counts, changes = zip(*points)
        style: dict[str, Any] = {"lw": 1, "markerfacecolor": "none", **STYLES.get(name, {})}
        axes.plot(counts, changes, label=name, **style)
    axes.set_xlabel("perturbations (count)")
    axes.set_ylabel("change of run time (quanta)")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
