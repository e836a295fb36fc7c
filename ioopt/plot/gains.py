"""Two small pictures of advice: who gains from a policy, and how busy a machine was week by week.

Narrow enough for a telephone; side by side on a wide screen.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ioopt.plot.layout import label_axis, new_axes
from ioopt.plot.palette import COMPUTE, IO, LIMIT, series

WIDTH = 4.6
"""Inches, and at most that many pixels times 96 on a screen."""


def plot_gains(
    found: Mapping[str, Sequence[tuple[str, float, float, float]]], words: str, baseline: str
) -> Any:
    """Draw for each policy (ratio, its lower and upper end) of each group, beside 1; returns the axes.

    *found* is policy -> (group, ratio, lower, upper), *words* say what the ratio is of.
    """
    groups = list(dict.fromkeys(group for rows in found.values() for group, *_ in rows))
    axes = new_axes(WIDTH, 0.9 + 0.55 * len(found) + 0.2 * len(groups))
    for number, group in enumerate(groups):
        shift = (number - (len(groups) - 1) / 2) * 0.22
        points = [
            (place + shift, *row[1:])
            for place, rows in enumerate(found.values())
            for row in rows
            if row[0] == group
        ]
        up, ratio, low, high = zip(*points)
        errors = [
            [max(0.0, a - b) for a, b in zip(ratio, low)],
            [max(0.0, b - a) for a, b in zip(ratio, high)],
        ]
        style = {**series(number), "linestyle": "none"}
        axes.errorbar(ratio, up, xerr=errors, capsize=2, lw=1.2, label=group, **style)
    axes.axvline(1.0, **LIMIT)
    axes.set_yticks(range(len(found)), list(found))
    axes.invert_yaxis()
    label_axis(axes.xaxis, f"{words} over that of {baseline}", "ratio")
    axes.spines[["top", "right"]].set_visible(False)
    axes.figure.legend(
        loc="outside lower center", ncols=len(groups), frameon=False, fontsize="small"
    )
    return axes


def plot_weeks(weeks: Sequence[float], nodes: Sequence[float], storage: Sequence[float]) -> Any:
    """Draw what share of the nodes and of the storage the jobs of each week ask for; returns the axes."""
    axes = new_axes(WIDTH, 2.8)
    axes.step(weeks, [100 * share for share in nodes], where="mid", color=COMPUTE, label="nodes")
    axes.step(weeks, [100 * share for share in storage], where="mid", color=IO, label="storage")
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    label_axis(axes.xaxis, "submitted in week", "number")
    label_axis(axes.yaxis, "asked of what there is", "%")
    axes.spines[["top", "right"]].set_visible(False)
    axes.figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    return axes
