"""Pictures of advice, narrow enough for a telephone; savings are in per cent, above 0 is better."""

from collections.abc import Mapping, Sequence
from typing import Any

from ioopt.plot.layout import label_axis, new_axes, unit_for
from ioopt.plot.palette import BOUND, HUES, LIMIT, OTHERS, series
from ioopt.problems.base import Json

WIDTH = 4.6
"""Inches, and at most that many pixels times 96 on a screen."""


def plot_gains(rows: Sequence[Json], measure: str) -> Any:
    """Draw what each option saves each group of a *measure*, with its interval; returns the axes.

    *rows* have ``option``, ``group``, and ``value``, ``low`` and ``high`` as shares.
    """
    options = list(dict.fromkeys(row["option"] for row in rows))
    groups = list(dict.fromkeys(row["group"] for row in rows))
    axes = new_axes(WIDTH, 0.9 + 0.5 * len(options) + 0.2 * len(groups))
    for number, group in enumerate(groups):
        shift = (number - (len(groups) - 1) / 2) * 0.22
        mine = [row for row in rows if row["group"] == group]
        style = {**series(number), "linestyle": "none"}
        axes.errorbar(
            [100 * row["value"] for row in mine],
            [options.index(row["option"]) + shift for row in mine],
            xerr=_errors(mine), capsize=2, lw=1.2, label=group, **style,
        )  # fmt: skip
    axes.axvline(0.0, **LIMIT)
    axes.set_xlim(left=max(-100.0, axes.get_xlim()[0]))
    axes.set_yticks(range(len(options)), options)
    axes.invert_yaxis()
    label_axis(axes.xaxis, f"saved of {measure}", "%")
    return _legend_below(axes, len(groups))


def plot_curve(
    fractions: Sequence[float], lines: Mapping[str, Sequence[Json]], measure: str, worth: float
) -> Any:
    """Draw figures (``value``, ``low``, ``high``) against the I/O fraction; returns the axes.

    A dotted line is at the share that is *worth* a change.
    """
    axes = new_axes(WIDTH, 3.4)
    at = [100 * fraction for fraction in fractions]
    for number, (name, figures) in enumerate(lines.items()):
        values = [100 * figure["value"] for figure in figures]
        axes.errorbar(
            at, values, yerr=_errors(figures), capsize=2, lw=1.2, label=name, **series(number)
        )
    axes.axhline(100 * worth, **LIMIT)
    label_axis(axes.xaxis, "mean share of run time that is I/O", "%")
    label_axis(axes.yaxis, f"share of {measure}", "%")
    return _legend_below(axes, 1)


def _errors(figures: Sequence[Json]) -> list[list[float]]:
    """Lengths of the error bars in per cent; none where there is no interval."""
    return [
        [
            0.0 if row[end] is None else max(0.0, sign * 100 * (row[end] - row["value"]))
            for row in figures
        ]
        for end, sign in (("low", -1), ("high", 1))
    ]


def plot_traffic(traffic: Json) -> Any:
    """Draw the rates of the classes of jobs over a week, a panel an option; returns the last axes.

    *traffic* is what :func:`ioopt.advice.traffic.of` returns: stacked rates, the storage's limit, and
    what the outstanding requests could take together.
    """
    import numpy as np
    from matplotlib.figure import Figure

    options = traffic["options"]
    figure = Figure(figsize=(WIDTH, 0.7 + 2.0 * len(options)), layout="constrained")
    panels = figure.subplots(len(options), sharex=True, sharey=True, squeeze=False)[:, 0]
    limit = traffic["storage_bytes_per_second"]
    unit = unit_for("rate_bytes_per_second", limit)
    for axes, (option, found) in zip(panels, options.items()):
        asked, below = np.array(found["asked"]), np.zeros(len(found["asked"]))
        days = traffic["bin_seconds"] / 86400 * np.arange(len(below) + 1)
        colours = (*HUES[: len(found["classes"]) - 1], OTHERS)
        for (name, rates), colour in zip(found["classes"].items(), colours):
            top = below + np.array(rates) / unit.size
            axes.stairs(top, days, baseline=below, fill=True, color=colour, lw=0, label=name)
            below = top
        axes.stairs(asked / unit.size, days, baseline=None, color=BOUND, lw=0.6, label="asked for")
        axes.axhline(limit / unit.size, color=BOUND, ls="--", lw=1, label="storage limit")
        axes.set_title(option, fontsize="medium", loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        label_axis(axes.yaxis, "rate", unit.name)
    panels[-1].set_xlim(0, traffic["bin_seconds"] / 86400 * len(below))
    panels[-1].set_ylim(0, 2 * limit / unit.size)
    label_axis(panels[-1].xaxis, f"days from day {traffic['first_seconds'] / 86400:.0f} on", "d")
    handles = panels[-1].get_legend_handles_labels()[0]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False,
                  fontsize="small")  # fmt: skip
    return panels[-1]


def _legend_below(axes: Any, columns: int) -> Any:
    axes.spines[["top", "right"]].set_visible(False)
    axes.figure.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize="small")
    return axes
