"""A metric against load, one line a policy (Zhang et al., Figures 4, 6, 8, 9 and 10)."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ioopt.plot.layout import finish, label_axis, new_axes, unit_for
from ioopt.plot.palette import series
from ioopt.quantities import title as title_of


def plot_load(
    points: Mapping[str, Mapping[float, Sequence[float]]],
    metric: str = "mean_slowdown",
    label: str = "mean local execution time t_e",
    log: bool = True,
    axes: Any = None,
    title: str = "",
) -> Any:
    """Draw ``points[policy][load in seconds] = values over seeds``: median line, range as a band.

    *metric* is a metric's name, *label* the words for the load; returns the axes.
    """
    axes = new_axes(8, 4.2) if axes is None else axes
    every = [
        value for by_load in points.values() for values in by_load.values() for value in values
    ]
    up = unit_for(metric, max(every, default=0.0))
    across = unit_for("seconds", max((max(by_load) for by_load in points.values()), default=0.0))
    for number, (policy, values) in enumerate(points.items()):
        loads = sorted(values)
        at = [load / across.size for load in loads]
        style = series(number)
        median = [statistics.median(values[load]) / up.size for load in loads]
        axes.plot(at, median, label=policy, lw=1.2, **style)
        axes.fill_between(
            at, [min(values[load]) / up.size for load in loads],
            [max(values[load]) / up.size for load in loads],
            color=style["color"], alpha=0.15, linewidth=0,
        )  # fmt: skip
    if log:
        axes.set_yscale("log")
    label_axis(axes.xaxis, label, across.name)
    label_axis(axes.yaxis, title_of(metric), up.name)
    return finish(axes, title)
