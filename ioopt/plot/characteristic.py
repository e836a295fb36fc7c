"""Characteristic plots: change of run time against perturbations (Lee et al., Figure 5)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ioopt.problems.perturbation import PerturbationPlan
from ioopt.result import Result

MARKERS = {"Sub_FX": "s", "Sub_RR": "o", "Add_FX": "^", "Add_RR": "v"}
COLUMNS = 4


def plot_perturbation(result: Result) -> Any:
    """One panel for each application of a laboratory's result; returns the first axes."""
    from matplotlib.figure import Figure

    plan = PerturbationPlan.model_validate(result.plan)
    items = plan.applications
    columns = min(COLUMNS, len(items))
    rows = math.ceil(len(items) / columns)
    figure = Figure(figsize=(3.4 * columns, 3.0 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for item, axes in zip(items, panels):
        curves: dict[str, tuple[tuple[int, float], ...]] = {
            name: item.curves.get(name, ((0, 0.0), (1, slope)))
            for name, slope in item.slopes.items()
        }
        plot_characteristic(curves, plan.processors, axes)
        axes.set_title(item.id, fontsize="medium")
    for axes in panels[len(items) :]:
        axes.set_visible(False)
    panels[0].legend(fontsize="x-small")
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
    from matplotlib.figure import Figure

    if axes is None:
        axes = Figure(figsize=(4.5, 4.0), layout="constrained").add_subplot()
    furthest = max((count for points in curves.values() for count, _ in points), default=0)
    share = [] if processors is None else [1 / processors, -1 / processors]
    for slope in (1.0, 0.0, *share):
        axes.plot([0, furthest], [0, slope * furthest], ":", color="grey", lw=0.8)
    for name, points in curves.items():
        counts, changes = zip(*points)
        axes.plot(counts, changes, label=name, marker=MARKERS.get(name), markersize=4, lw=1)
    axes.set_xlabel("perturbations")
    axes.set_ylabel("change of run time (quanta)")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
