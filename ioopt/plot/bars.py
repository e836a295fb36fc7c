"""Draw grouped bars: a metric of each solver for a few named workloads."""

from collections.abc import Mapping, Sequence
from typing import Any

from ioopt.plot.layout import label_axis, legend_beside, shortened, unit_for
from ioopt.plot.palette import series
from ioopt.units import title as title_of

FILLED = 0.8
"""Share of the width of a group that its bars take."""
Bar = tuple[str, float, float]
"""The name of a group, the height of the bar, and half the length of its error bar."""


def plot_bars(
    panels: Mapping[str, Mapping[str, Sequence[Bar]]],
    label: str,
    metric: str,
    title: str = "",
) -> Any:
    """Draw a bar with an error bar for each solver in each group; return the axes of
    the last panel.

    *panels* gives, for each panel, from left to right, and for each solver, its bars;
    all solvers have the same groups. All panels have one vertical axis, which begins at
    0. *label* names the groups. *metric* is the name of a metric
    (``makespan_seconds``), or words with their unit. No error bar goes below 0.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.2 + 3.4 * len(panels), 3.4), layout="constrained")
    places = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    heights = []
    for solvers in panels.values():
        for bars in solvers.values():
            heights += [height for _, height, _ in bars]
    unit = unit_for(metric, max(heights, default=0.0))
    for axes, (name, solvers) in zip(places, panels.items()):
        _panel(axes, solvers, unit.size)
        axes.set_xlabel(label)
        if len(panels) > 1:
            axes.set_title(name, fontsize="small")
    places[0].set_ylim(bottom=0)
    label_axis(places[0].yaxis, title_of(metric), unit.name)
    figure.suptitle(title, fontsize="medium")
    legend_beside(figure, places[0].containers[1::2])
    return places[-1]


def _panel(axes: Any, solvers: Mapping[str, Sequence[Bar]], unit: float) -> None:
    """Draw the bars of one panel in a unit that is *unit* base units large."""
    width = FILLED / max(1, len(solvers))
    groups: list[str] = []
    for number, (name, bars) in enumerate(solvers.items()):
        groups, heights, errors = map(list, zip(*bars))
        left = -FILLED / 2 + (number + 0.5) * width
        below = [min(height, error) for height, error in zip(heights, errors)]
        axes.bar(
            [place + left for place in range(len(groups))],
            [height / unit for height in heights],
            0.9 * width,
            yerr=[[x / unit for x in below], [x / unit for x in errors]],
            capsize=2,
            error_kw={"lw": 1},
            color=series(number)["color"],
            label=shortened(name, 40),
        )
    axes.set_xticks(range(len(groups)), groups)
    axes.spines[["top", "right"]].set_visible(False)
