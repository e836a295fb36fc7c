"""Draw curves: a metric of each solver against a setting, or shares of run time against
an I/O fraction or storage rate.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from ioopt.plot.layout import WIDTH, finish, label_axis, new_axes, shortened, unit_for
from ioopt.plot.palette import LIMIT, OTHERS, series
from ioopt.units import title as title_of

MOST_VALUES = 10
"""The largest number of values of the setting at which each value gets a tick."""
NEAREST = 0.05
"""The smallest distance of two ticks at which their labels do not overlap, as a share
of the length of the axis.
"""
BESIDE = 3.0
"""The distance in points between the error bars of two solvers at the same setting."""
WIDE = 8.0
"""The smallest ratio of the largest to the smallest value at which the axis becomes
logarithmic.
"""


def plot_sweep(
    lines: Mapping[str, Sequence[tuple[float, float, float, int]]],
    label: str,
    metric: str,
    title: str = "",
    floor: float | None = 0.0,
    marks: Mapping[str, Sequence[tuple[float, float]]] = MappingProxyType({}),
    joined: bool = True,
    axes: Any = None,
) -> Any:
    """Draw a line with error bars for each solver against a setting; return the axes.

    *lines* gives, for each solver, its points as (setting, mean, length of the error
    bar, number of runs). *label* names the setting. *metric* is the name of a metric
    (``makespan_seconds``), or words with their unit. No error bar goes below *floor*,
    the smallest possible value of the metric. *marks* gives, for each label, single
    points (setting, value) beside the lines, such as the numbers that a paper prints.
    If *joined* is false, the settings are numbers of things, such as applications, and
    no line joins their points.
    The picture is drawn into *axes*; None: into those of a new figure.
    """
    if axes is None:
        axes = new_axes(8, 4.2)
    drawn = [point for points in lines.values() for point in points]
    across = unit_for(label, max((point[0] for point in drawn), default=0.0))
    up = unit_for(metric, max((point[1] for point in drawn), default=0.0))
    for number, (name, points) in enumerate(lines.items()):
        style = series(number)
        if not joined:
            style["linestyle"] = "none"
        drawn_line = axes.errorbar(
            **_with_error_bars(points, across.size, up.size, floor),
            capsize=2,
            lw=1.2,
            label=shortened(name, 40),
            **style,
        )
        _shift(axes, drawn_line, number - (len(lines) - 1) / 2)
    for number, (name, spots) in enumerate(marks.items()):
        at, value = zip(*spots)
        hollow = {"facecolors": "none", "edgecolors": "black", "zorder": 5}
        axes.scatter(
            [x / across.size for x in at],
            [y / up.size for y in value],
            label=name,
            marker="Dsv^"[number % 4],
            **hollow,
        )
    _ticks(axes, sorted({point[0] / across.size for point in drawn}))
    label_axis(axes.xaxis, label.replace("_", " "), "count")
    label_axis(axes.yaxis, title_of(metric), up.name)
    if floor == 0.0 and not axes.get_ylim()[0] > 0.4 * axes.get_ylim()[1]:
        axes.set_ylim(bottom=0)
    return finish(axes, title)


def _with_error_bars(
    points: Sequence[tuple[float, float, float, int]],
    across: float,
    up: float,
    floor: float | None,
) -> dict[str, Any]:
    """Return the coordinates of a line and the lengths of its error bars in the units
    of the axes, which are *across* and *up*.

    No error bar goes below *floor*.
    """
    at, mean, error, _ = zip(*sorted(points))
    below = list(error)
    if floor is not None:
        below = [
            max(0.0, min(length, value - floor)) for value, length in zip(mean, error)
        ]
    return {
        "x": [x / across for x in at],
        "y": [y / up for y in mean],
        "yerr": [[x / up for x in below], [x / up for x in error]],
    }


def _shift(axes: Any, line: Any, places: float) -> None:
    """Shift *line* sideways by *places* positions, so that the error bars of several
    solvers are drawn side by side.

    The limits of the axes must be set before.
    """
    from matplotlib.transforms import ScaledTranslation

    inches = places * BESIDE / 72
    beside = ScaledTranslation(inches, 0, axes.figure.dpi_scale_trans)
    for artist in line.get_children():
        artist.set_transform(axes.transData + beside)


def _ticks(axes: Any, values: Sequence[float], digits: int = 4) -> None:
    """Set a tick at each of *values*, unless there are too many, with *digits*
    significant digits. If the values span a wide range, the axis also becomes
    logarithmic.
    """
    if len(values) < 2 or len(values) > MOST_VALUES:
        return
    from matplotlib.ticker import FixedLocator, NullLocator

    logarithmic = values[0] > 0 and values[-1] / values[0] >= WIDE
    if logarithmic:
        axes.set_xscale("log")
    places = list(values)
    if logarithmic:
        places = [math.log(value) for value in values]
    closest = min(right - left for left, right in pairwise(places))
    if closest > NEAREST * (places[-1] - places[0]):
        axes.xaxis.set_major_locator(FixedLocator(list(values)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(
            lambda value, _: f"{float(f'{value:.{digits}g}'):g}"  # 120, not 1.2e+02
        )


def plot_curve(
    values: Sequence[float],
    lines: Mapping[str, Sequence[tuple[float, float, float]]],
    label: str,
    unit: str,
    shown: float,
    worth: float,
    hollow: Sequence[float] = (),
) -> Any:
    """Draw shares of run time with their intervals against *values*; return the axes.

    *lines* gives, for each curve, (share, low, high) at each value; low and high are
    nan where there is no interval. A dotted line marks
    *worth*, the share from which on a change is worthwhile. A grey line marks the value
    *shown*. Points at the values *hollow* are hollow. If the values span a wide range,
    their axis is logarithmic.
    """
    axes = new_axes(WIDTH, 3.4)
    empty = np.isin(values, hollow)
    for number, (name, figures) in enumerate(lines.items()):
        share, low, high = 100 * np.array(figures).T
        style = series(number)
        axes.plot(values, share, lw=1.2, label=name, **style)
        bare = style | {"linestyle": "none", "mfc": "white"}
        axes.plot(np.array(values)[empty], share[empty], **bare)
        axes.fill_between(values, low, high, color=style["color"], alpha=0.2, lw=0)
    axes.axhline(100 * worth, **LIMIT)
    axes.axvline(shown, color=OTHERS, lw=1)
    label_axis(axes.xaxis, label, unit)
    _ticks(axes, values, digits=2)
    label_axis(axes.yaxis, "share of run time", "%")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        frameon=False,
        fontsize="small",
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=len(lines),
    )
    return axes
