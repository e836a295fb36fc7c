"""Draw a comparison as one picture: bars for one instance, ratios for several."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ioopt import registry
from ioopt.comparing.measures import standing
from ioopt.errors import UsageError
from ioopt.families import EXACT as PROVES
from ioopt.metrics import geometric_mean, ratios_to
from ioopt.plot.layout import (
    CHARACTER,
    label_axis,
    legend_below,
    legend_beside,
    new_axes,
    shortened,
    unit_for,
)
from ioopt.plot.palette import BOUND, EXACT, HEURISTIC, LIMIT, OTHERS, series
from ioopt.problems.base import Json
from ioopt.units import title
from ioopt.verdict import strongest

Row = Mapping[str, Any]
PROVEN = "proven bound"
RATIO_TITLE = "one stroke per instance, geometric mean; 95 % interval of five or more"
MOST_BARS = 30
INCH = 25.4
"""The millimetres of an inch."""
PLAIN_SIZE = 10.0
"""The font size of pictures in points, unless told otherwise."""
PAPER = {"font.size": 8.0, "axes.linewidth": 0.6}
"""Settings of matplotlib for a picture that is printed at the size it has."""
NAME_SHARE = 0.45
"""The share of the width of such a picture that names of solvers may take."""
WIDE = 3.0
"""If the greatest ratio is more than this factor times the least, the axis of ratios is
logarithmic.
"""


def plot_comparison(
    rows: Sequence[Row],
    measure: str,
    baseline: str | None = None,
    width: float | None = None,
) -> Any:
    """Draw the values of *measure* for each solver of a comparison; return the axes.

    For one instance, the picture has a bar for each solver, and lines for the proven
    bound of the measure and for references, which break a rule of the machine. A solver
    without a value is named with the reason. For several instances, the picture has
    ratios to *baseline* or, if it is None, to the best of each instance. With *width*,
    in millimetres, the picture is for a paper: exactly as wide, and without a title,
    because its caption stands in the text. Raises UsageError for a comparison without
    rows.
    """
    names = list(dict.fromkeys(row["instance"] for row in rows))
    if not names:
        raise UsageError("the comparison has no rows to draw")
    from matplotlib import rc_context

    with rc_context({} if width is None else PAPER):
        if len(names) > 1:
            axes = _ratios(rows, measure, baseline)
        else:
            axes = _bars(rows, measure, below=width is not None)
        if width is not None:
            _fit_paper(axes, width)
    return axes


def _bars(rows: Sequence[Row], measure: str, below: bool) -> Any:
    """Draw the bars of one instance, with the legend beside or *below* them; return the
    axes.
    """
    axes = new_axes(7.2, 1.5 + 0.27 * min(MOST_BARS, len(rows)))
    handles = _panel(axes, rows, measure)
    axes.set_title(shortened(rows[0]["instance"], 40), fontsize="medium")
    entries = [handles[label] for label in sorted(handles, key=_rank)]
    if below:
        legend_below(axes.figure, entries)
    else:
        legend_beside(axes.figure, entries)
    return axes


def _fit_paper(axes: Any, width: float) -> None:
    """Make the picture *width* millimetres wide; remove its title, and shorten its
    words to fit.
    """
    figure = axes.figure
    high = figure.get_figheight()
    figure.set_size_inches(width / INCH, high * PAPER["font.size"] / PLAIN_SIZE)
    letters = width / INCH * 72 / (CHARACTER * PAPER["font.size"])
    names = [text.get_text() for text in axes.get_yticklabels()]
    shown = [shortened(name, int(NAME_SHARE * letters)) for name in names]
    axes.set_yticks(axes.get_yticks(), shown, fontsize="medium")
    axes.set_xlabel(textwrap.fill(axes.get_xlabel(), int((1 - NAME_SHARE) * letters)))
    axes.set_title("")


def _ratios(rows: Sequence[Row], measure: str, baseline: str | None) -> Any:
    """Draw the ratios of the solvers over several instances; return the axes."""
    rows = [row for row in rows if not row.get("reference")]
    found: dict[str, list[float]] = {row["solver"]: [] for row in rows}
    if baseline is not None:
        found |= ratios_to(rows, baseline, measure)
        found.pop(baseline)
    else:
        for row in rows:
            if row["ratio_to_best"] is not None:
                found[row["solver"]].append(row["ratio_to_best"])
    over = "the best of the instance" if baseline is None else f"that of {baseline}"
    return plot_ratios(found, f"{title(measure)} over {over}")


def plot_ratios(
    ratios: Mapping[str, Sequence[float]], words: str, title: str = ""
) -> Any:
    """Draw each solver's ratios, their geometric mean and its 95 % interval; return the
    axes.

    *words* name the quantity whose ratios are drawn.
    """
    axes = new_axes(8, 1.3 + 0.42 * len(ratios))
    known = [ratio for some in ratios.values() for ratio in some]
    for place, some in enumerate(ratios.values()):
        if not some:
            axes.text(
                1.0, place, " no answer", va="center", fontsize="small", style="italic"
            )
            continue
        axes.plot(some, [place] * len(some), "|", color=OTHERS, markersize=11, zorder=1)
        middle = geometric_mean(some)
        if middle.mean is None:
            continue
        mean, ends = middle.mean, None
        if middle.low is not None and middle.high is not None:
            ends = [[mean - middle.low], [middle.high - mean]]
        style = {**series(0), "linestyle": "none", "markersize": 6}
        axes.errorbar(mean, place, xerr=ends, capsize=4, lw=1.8, zorder=3, **style)
        axes.text(
            1.02,
            place,
            f"{mean:.3f}",
            va="center",
            fontsize="small",
            transform=axes.get_yaxis_transform(),
        )
    axes.axvline(1.0, **LIMIT)
    if known and max(known) > WIDE * min(known) > 0:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(
            lambda value, _: f"{value:g}" if max(known) < 10 else ""
        )
    names = [f"{shortened(name, 40)} ({len(some)})" for name, some in ratios.items()]
    axes.set_yticks(range(len(names)), names, fontsize="small")
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(f"{words} (factor)")
    axes.set_ylabel("solver (instances)", fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    axes.text(
        1.02, -0.6, "mean", fontsize="small", transform=axes.get_yaxis_transform()
    )
    axes.set_title(title or RATIO_TITLE, fontsize="small", pad=14)
    return axes


def _rank(label: str) -> tuple[int, str]:
    """Return the sorting key of a label in the legend: bars come first, then lines."""
    known = ("exact", "heuristic", PROVEN)
    return (known.index(label) if label in known else len(known), label)


def _panel(axes: Any, rows: Sequence[Row], measure: str) -> Json:
    """Draw the bars and lines of one instance; return the entries of the legend, keyed
    by label.
    """
    bars = [row for row in rows if not row.get("reference")][:MOST_BARS]
    lines = _lines(rows, measure)
    values = [row["value"] for row in bars]
    known = [value for value in [*values, *lines.values()] if value is not None]
    unit = unit_for(measure, max(map(abs, known), default=0.0))
    high, low = max([0.0, *known]) / unit.size, min([0.0, *known]) / unit.size
    axes.set_xlim(low * 1.04, high * 1.04 or 1)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    handles: Json = {}
    for place, (row, value) in enumerate(zip(bars, values)):
        if value is None:
            reason = f" {standing(row)}"
            axes.text(0, place, reason, va="center", fontsize="small", style="italic")
            continue
        kind, colour = ("exact", EXACT) if _exact(row) else ("heuristic", HEURISTIC)
        handles[kind] = axes.barh(
            place, value / unit.size, 0.78, color=colour, label=kind
        )
        # Write beside the panel, where no bar and no line crosses the text.
        axes.text(
            1.02,
            place,
            f"{value / unit.size:.4g}",
            va="center",
            fontsize="small",
            transform=axes.get_yaxis_transform(),
        )
    for label, value in lines.items():
        dashes = "--" if label == PROVEN else ":"
        handles[label] = axes.axvline(
            value / unit.size, color=BOUND, linestyle=dashes, lw=1.2
        )
        handles[label].set_label(label)
    names = [shortened(row["solver"], 32) for row in bars]
    axes.set_yticks(range(len(bars)), names, fontsize="small")
    label_axis(axes.xaxis, title(measure), unit.name)
    axes.spines[["top", "right"]].set_visible(False)
    return handles


def _lines(rows: Sequence[Row], measure: str) -> dict[str, float]:
    """Return the lines to draw, keyed by label: the strongest proven bound of the
    measure, and the value of each reference.
    """
    kind = registry.KINDS.get(rows[0].get("kind") or rows[0]["family"])
    sense = "min" if kind is None else kind.metric(measure).sense
    # The bound of a reference is for another machine; a failed row has no valid bound.
    bounds = [
        row["bound"]
        for row in rows
        if not row.get("reference") and row["status"] != "error"
    ]
    lines: dict[str, float] = {}
    proven = strongest(sense, bounds)
    if proven is not None:
        lines[PROVEN] = proven
    for row in rows:
        if row.get("reference") and row["value"] is not None:
            lines[row["solver"]] = row["value"]
    return lines


def _exact(row: Row) -> bool:
    """Return whether the row's solver proves optimality when it is given enough
    time.
    """
    name = row["solver"].partition(":")[0]
    kind = row.get("kind") or row["family"]
    return any(
        spec.name == name and kind in spec.kinds and PROVES in spec.abilities
        for spec in registry.SOLVERS
    )
