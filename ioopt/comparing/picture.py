"""Draw a comparison as one picture: bars for one instance, ratios for several."""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ioopt import registry
from ioopt.comparing.measures import standing
from ioopt.comparing.summary import why_left_out
from ioopt.errors import UsageError
from ioopt.families import EXACT as PROVES
from ioopt.metrics import (
    Pair,
    base_of,
    geometric_mean,
    independent_ratios,
    ratios_to,
)
from ioopt.plot.layout import (
    CHARACTER,
    label_axis,
    legend_below,
    legend_beside,
    new_axes,
    require_math,
    shortened,
    unit_for,
)
from ioopt.plot.palette import BOUND, EXACT, HEURISTIC, LIMIT, OTHERS, series
from ioopt.problems.base import Json
from ioopt.tables import drawn_length, folded
from ioopt.units import counted
from ioopt.verdict import heading as heading_of
from ioopt.verdict import strongest

Row = Mapping[str, Any]
PROVEN = "proven bound"
RATIO_TITLE = "one stroke per instance, geometric mean; 95 % interval of five or more"
MOST_BARS = 30
INCH = 25.4
"""The millimetres of an inch."""
PLAIN_SIZE = 10.0
"""The font size of pictures in points, unless told otherwise."""
NAME_LETTERS = 36
"""The most characters in a line of a solver's name beside a plain picture."""
LINE = 0.17
"""The height in inches of a line of such a name."""
PAPER = {"font.size": 8.0, "axes.linewidth": 0.6}
"""Settings of matplotlib for a picture that is printed at the size it has."""
NAME_SHARE = 0.45
"""The share of the width of such a picture that names of solvers may take."""
BESIDE = 0.22
"""The share of the width of such a picture that the longest name may take beside the
ratios; longer names stand above their rows.
"""
ROOM = 0.3
"""The height in inches that a row needs beside the names above it."""
HEADING = 0.3
"""The height in inches of the heading of a further panel."""
MEAN_LETTERS = 9
"""The characters of the larger type of ticks that the mean beside such a name takes."""
MM_PER_TICK = 9.0
"""The least distance in millimetres of two ticks of such a picture."""
WIDE = 3.0
"""If the greatest ratio is more than this factor times the least, the axis of ratios is
logarithmic.
"""
DECADE = 10.0
"""Ratios that differ by more than this factor have ticks at 1, 2 and 5 of a decade."""


def plot_comparison(
    rows: Sequence[Row],
    measure: str,
    baseline: str | None = None,
    width: float | None = None,
    parts: Mapping[str, Sequence[Row]] | None = None,
) -> Any:
    """Draw the values of *measure* for each solver of a comparison; return the axes.

    For one instance, the picture has a bar for each solver, and lines for the proven
    bound of the measure and for references, which break a rule of the machine. A solver
    without a value is named with the reason. For several instances, the picture has
    ratios to *baseline* or, if it is None, to the best of each instance; *parts* of the
    rows, keyed by heading, have a panel each. With *width*, in millimetres, the picture
    is for a paper: exactly as wide, and without a title, because its caption stands in
    the text. Raises UsageError for a comparison without rows.
    """
    names = list(dict.fromkeys(row["instance"] for row in rows))
    if not names:
        raise UsageError("the comparison has no rows to draw")
    from matplotlib import rc_context

    with rc_context({} if width is None else PAPER):
        if len(names) > 1:
            axes = _ratios(parts or {"": rows}, measure, baseline, width)
        else:
            axes = _bars(rows, measure, width)
        if width is not None:
            _fit_paper(axes, width)
    return axes


def _bars(rows: Sequence[Row], measure: str, width: float | None) -> Any:
    """Draw the bars of one instance, with the legend beside them or, in a picture of
    *width* millimetres, below them; return the axes.
    """
    bars = [row for row in rows if not row.get("reference")][:MOST_BARS]
    names = _folded([row["solver"] for row in bars], width)
    axes = new_axes(7.2, 1.5 + _height(names, 0.27))
    handles = _panel(axes, rows, bars, measure)
    axes.set_yticks(range(len(names)), names, fontsize="small")
    axes.set_title(shortened(rows[0]["instance"], 40), fontsize="medium")
    entries = [handles[label] for label in sorted(handles, key=_rank)]
    if width is None:
        legend_beside(axes.figure, entries)
    else:
        legend_below(axes.figure, entries)
    return axes


def _letters(width: float) -> float:
    """Return how many characters a picture for a paper, *width* millimetres wide, has
    room for.
    """
    return width / INCH * 72 / (CHARACTER * PAPER["font.size"])


def _folded(names: Iterable[str], width: float | None) -> list[str]:
    """Return *names* in lines that fit beside a picture of *width* millimetres (None:
    a plain one).
    """
    most = NAME_LETTERS if width is None else int(NAME_SHARE * _letters(width))
    return [folded(name, most).replace(NO_BREAK, " ") for name in names]


def _height(names: Sequence[str], least: float) -> float:
    """Return the height in inches of the rows with the folded *names*; each has at
    least *least*.
    """
    lines = max((name.count("\n") + 1 for name in names), default=1)
    return len(names) * max(least, LINE * lines)


def _fit_paper(axes: Any, width: float) -> None:
    """Make the picture *width* millimetres wide; remove its title, and fold its words
    to fit.
    """
    figure = axes.figure
    high = figure.get_figheight()
    figure.set_size_inches(width / INCH, high * PAPER["font.size"] / PLAIN_SIZE)
    for panel in figure.axes:
        panel.tick_params(axis="y", labelsize="medium")
        panel.set_title("")
    beside = NAME_SHARE if len(axes.get_yticks()) else 0.0
    most = int((1 - beside) * _letters(width))
    axes.set_xlabel(textwrap.fill(axes.get_xlabel(), most))


class RatioPanel(NamedTuple):
    """The ratios of each solver, which one panel of a picture shows below its
    *heading*. *left_out* says why solvers have no value; others lack a ratio where the
    baseline has no plan for the same instances.
    """

    ratios: Mapping[str, Sequence[Pair]]
    heading: str = ""
    left_out: Mapping[str, str] = {}


def _ratios(
    parts: Mapping[str, Sequence[Row]],
    measure: str,
    baseline: str | None,
    width: float | None,
) -> Any:
    """Draw the ratios of the solvers over several instances, a panel for each of
    *parts*; return the axes of the last. Raises UsageError if there is no ratio.
    """
    panels = [
        _ratio_panel(rows, told, measure, baseline) for told, rows in parts.items()
    ]
    panels = [panel for panel in panels if panel.ratios]  # none of a baseline alone
    if not any(any(panel.ratios.values()) for panel in panels):
        raise UsageError(
            "no picture: no instance has verified plans of two solvers to compare"
            if baseline is None
            else f"no picture: no instance has verified plans of {baseline}, the "
            "baseline, and of another solver; name another by --baseline"
        )
    over = "the best of the instance" if baseline is None else f"that of {baseline}"
    heading = heading_of(next(iter(parts.values()))[0].get("kind"), measure)
    return plot_ratios(panels, f"{heading} over {over}", width=width)


def _ratio_panel(
    rows: Sequence[Row], heading: str, measure: str, baseline: str | None
) -> RatioPanel:
    """Return the panel of the ratios in *rows* to *baseline* or, if it is None, to the
    best of each instance.
    """
    rows = [row for row in rows if not row.get("reference")]
    found: dict[str, list[Pair]] = {row["solver"]: [] for row in rows}
    if baseline is not None:
        found |= ratios_to(rows, baseline, measure)
        found.pop(baseline, None)
    else:
        for row in rows:
            if row["ratio_to_best"] is not None:
                pair = Pair(base_of(row), row["ratio_to_best"])
                found[row["solver"]].append(pair)
    answered = {row["solver"] for row in rows if row["value"] is not None}
    left_out = {
        row["solver"]: str(why_left_out(row, ""))
        for row in rows
        if row["solver"] not in answered
    }
    return RatioPanel(found, heading, left_out)


def plot_ratios(
    panels: Sequence[RatioPanel],
    words: str,
    title: str = RATIO_TITLE,
    width: float | None = None,
) -> Any:
    """Draw each solver's ratios, their geometric mean and its 95 % interval, one panel
    below the other; return the axes of the last panel.

    *words* name the quantity whose ratios are drawn. The names of the solvers fit
    beside a picture of *width* millimetres (None: a plain one). Raises UsageError if
    the math in a name cannot be drawn.
    """
    names = _names_to_fit(panels, width)
    more = HEADING * (len(panels) - 1)
    figure = new_axes(8, 1.3 + sum(names.heights) + more).figure
    figure.clear()
    drawn = figure.subplots(
        len(panels), 1, sharex=True, squeeze=False, height_ratios=names.heights
    )[:, 0]
    limit = LIMIT if width is None else LIMIT | {"lw": 1.0}
    for axes, panel, lines in zip(drawn, panels, names.folded, strict=True):
        _draw_panel(axes, panel, lines, names.above, axes is drawn[0])
        axes.axvline(1.0, **limit)
        axes.spines[["top", "right"]].set_visible(False)
    last = drawn[-1]
    _ratio_ticks(last, panels, width)
    words += " (factor)"
    if len(panels) == 1:
        last.set_xlabel(_with_pairs(words, panels[0]))
        last.set_title(title, fontsize="small", pad=14)
        return last
    last.set_xlabel(words)
    if width is None:
        figure.suptitle(title, fontsize="small")
    return last


class _Names(NamedTuple):
    """The names of the solvers of each panel, folded to fit, and the height in inches
    of each panel; the names stand ``above`` their rows or beside them.
    """

    folded: list[list[str]]
    heights: list[float]
    above: bool


def _names_to_fit(panels: Sequence[RatioPanel], width: float | None) -> _Names:
    """Return the names of the solvers of *panels* in a picture of *width* millimetres
    (None: a plain one). Raises UsageError if the math in a name cannot be drawn.
    """
    letters = math.inf if width is None else _letters(width)
    named = [_names_of(panel) for panel in panels]
    every = [name for names in named for name in names]
    for name in every:
        require_math(name)
    if max(map(drawn_length, every)) <= BESIDE * letters:
        beside = [_folded(names, width) for names in named]
        return _Names(beside, [_height(names, 0.42) for names in beside], False)
    most = int(letters) - MEAN_LETTERS
    above = [
        [folded(name, most).replace(NO_BREAK, " ") for name in names] for names in named
    ]
    heights = [_height(names, LINE) + ROOM * len(names) for names in above]
    return _Names(above, heights, True)


def _with_pairs(text: str, panel: RatioPanel) -> str:
    """Return *text* with the number of instances that the ratios of *panel* are of,
    unless solvers differ in it.
    """
    said = _pairs_said(panel)
    return f"{text}, {said}" if said else text


def _pairs_said(panel: RatioPanel) -> str:
    """Return how many instances the ratios of *panel* are of; empty if solvers differ
    in it, whose names then say it.
    """
    said = {_count(pairs) for pairs in panel.ratios.values()}
    return said.pop() if len(said) == 1 else ""


def _count(pairs: Sequence[Pair]) -> str:
    """Return the number of *pairs* and, if there are fewer, of base instances."""
    bases = len({pair.base for pair in pairs})
    if bases == len(pairs):
        return f"n = {len(pairs)}"
    return f"{counted(len(pairs), 'pair')}, {bases} independent"


NO_BREAK = "\u00a0"
"""A blank at which a name is not folded."""


def _names_of(panel: RatioPanel) -> list[str]:
    """Return the names of the solvers in *panel*, with the number of their ratios if it
    differs.
    """
    if _pairs_said(panel):
        return list(panel.ratios)
    return [
        f"{name} ({_count(pairs).replace(' ', NO_BREAK)})"
        for name, pairs in panel.ratios.items()
    ]


def _draw_panel(
    axes: Any, panel: RatioPanel, names: Sequence[str], above: bool, first: bool
) -> None:
    """Draw the ratios of each solver of *panel* into *axes*, under the folded *names*
    which stand *above* the rows or beside them. The *first* panel says what the figures
    at the right are.
    """
    for place, (name, pairs) in enumerate(panel.ratios.items()):
        if not pairs:
            why = panel.left_out.get(name, "no pair")
            axes.text(
                1.0, place, f" {why}", va="center", fontsize="small", style="italic"
            )
            continue
        mean = _draw_ratios(axes, place, pairs)
        if mean is not None and above:
            told = "geo. mean " if first and place == 0 else ""
            _above(axes, 1.0, place, f"{told}{mean:.3f}", "right")
        elif mean is not None:
            _beside(axes, place, f"{mean:.3f}")
    _name_rows(axes, names, above, first)
    axes.set_ylim(len(names) - 0.4, -0.9 if above else -0.6)
    if panel.heading:
        heading = _with_pairs(panel.heading, panel)
        axes.set_title(heading, loc="left", fontsize="small", weight="bold")


def _name_rows(axes: Any, names: Sequence[str], above: bool, first: bool) -> None:
    """Write the *names* of the rows, *above* the rows or beside them; in the *first*
    panel, say over the means beside the rows what they are.
    """
    if above:
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        for place, name in enumerate(names):
            _above(axes, 0.0, place, name, "left")
        return
    axes.set_yticks(range(len(names)), names, fontsize="small")
    if first:
        _beside(axes, -0.6, "geo. mean")


def _draw_ratios(axes: Any, place: int, pairs: Sequence[Pair]) -> float | None:
    """Draw the ratios of one solver in the row at *place*, and their geometric mean
    with its 95 % interval; return the mean (None: there is none).
    """
    some = [pair.ratio for pair in pairs]
    axes.plot(some, [place] * len(some), "|", color=OTHERS, markersize=11, zorder=1)
    middle = geometric_mean(independent_ratios(pairs))
    mean, ends = middle.mean, None
    if mean is None:
        return None
    if middle.low is not None and middle.high is not None:
        ends = [[mean - middle.low], [middle.high - mean]]
    # The dot is small, so that short intervals are seen beside it.
    style = {**series(0), "linestyle": "none", "markersize": 3}
    axes.errorbar(mean, place, xerr=ends, capsize=4, lw=1.6, zorder=3, **style)
    return mean


def _beside(axes: Any, place: float, text: str) -> None:
    """Write *text* to the right of the row at *place*."""
    across = axes.get_yaxis_transform()
    axes.text(1.02, place, text, va="center", fontsize="small", transform=across)


def _above(axes: Any, x: float, place: int, text: str, side: str) -> None:
    """Write *text* above the row at *place*, aligned to its *side* at *x*, which is a
    share of the width of the panel.
    """
    axes.annotate(
        text,
        (x, place),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, 8),
        textcoords="offset points",
        ha=side,
        va="bottom",
        fontsize="small",
        bbox={"color": "white", "pad": 0.5},  # the line at 1 does not cross it
    )


def _ratio_ticks(axes: Any, panels: Sequence[RatioPanel], width: float | None) -> None:
    """Scale the axis of the ratios in *panels*, and choose as many round ticks as there
    is room for.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    every = [pairs for panel in panels for pairs in panel.ratios.values()]
    known = [pair.ratio for pairs in every for pair in pairs]
    most = 10 if width is None else max(3, int(width / MM_PER_TICK))
    spread = max(known) / min(known) if known and min(known) > 0 else 1.0
    round_ticks = MaxNLocator(most, steps=[1, 2, 5, 10])
    if spread > WIDE:
        axes.set_xscale("log")
        of_decades = LogLocator(subs=(1.0, 2.0, 5.0))
        axes.xaxis.set_major_locator(of_decades if spread > DECADE else round_ticks)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_locator(round_ticks)


def _rank(label: str) -> tuple[int, str]:
    """Return the sorting key of a label in the legend: bars come first, then lines."""
    known = ("exact", "heuristic", PROVEN)
    return (known.index(label) if label in known else len(known), label)


def _panel(axes: Any, rows: Sequence[Row], bars: Sequence[Row], measure: str) -> Json:
    """Draw the *bars* and, from all *rows*, the lines of one instance; return the
    entries of the legend, keyed by label.
    """
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
    label_axis(axes.xaxis, heading_of(rows[0].get("kind"), measure), unit.name)
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
    name = (row.get("named") or row["solver"]).partition(":")[0]
    kind = row.get("kind") or row["family"]
    return any(
        spec.name == name and kind in spec.kinds and PROVES in spec.abilities
        for spec in registry.SOLVERS
    )
