"""Lay out pictures: axes in suitable units, legends beside the data, and names inside
boxes.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ioopt import units
from ioopt.errors import UsageError
from ioopt.plot.palette import ROLES, ink, role
from ioopt.result import Result
from ioopt.tables import MATH
from ioopt.units import quantity, title

STEPS = {"min": (1, 2, 5, 10, 15, 30, 60), "h": (0.5, 1, 2, 3, 6, 12, 24)}
"""The possible distances between ticks, for units of time that are not decimal."""
MOST_TICKS = 9
"""The largest number of ticks on an axis with such a unit."""
PLAIN_UNITS = {"slowdown": "factor", "ratio": "factor", "imbalance": "factor"}
"""For a word in the name of a metric, the name of the metric's unit."""
LEGEND_COLUMNS = 5
"""The number of columns of a legend above several pictures."""
TALLEST_LEGEND = 18
"""The largest number of entries in a column of a legend."""
CHARACTER = 0.62
"""The mean width of a character as a multiple of the font size, estimated cautiously
for DejaVu Sans.
"""


LARGEST_NAME = 8.0
"""The font size in points of a name in a box that has enough room."""
SMALLEST_NAME = 5.0
"""The smallest font size in points of a name in a box."""
FRAME = 1.4
"""Line width of the frame around what is on the critical path, in points."""
MARK: dict[str, Any] = {"marker": "x", "markersize": 5, "linestyle": "none"}
"""Style of marks above a row, such as evictions: no triangle, as arrows have."""
WIDTH = 8.3
"""The width in inches of a picture. A page that shows it about 830 pixels wide, as the
README does, shows its smallest words 9 pixels high.
"""


class Unit(NamedTuple):
    """The unit of an axis: its size in base units (s, B, B/s) and its name."""

    size: float
    name: str


def unit_for(metric: str, largest: float) -> Unit:
    """Return the unit of an axis that shows values of *metric* up to *largest*.

    >>> unit_for("time_seconds", 7200), unit_for("mean_slowdown", 3.0)
    (Unit(size=3600.0, name='h'), Unit(size=1.0, name='factor'))
    """
    size, name = units.unit_for(metric, abs(largest))
    plain = (unit for word, unit in PLAIN_UNITS.items() if word in metric)
    return Unit(size, name or next(plain, "dimensionless"))


def new_axes(width: float, height: float) -> Any:
    """Return the axes of a new figure, *width* inches wide and *height* inches high."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def label_axis(axis: Any, words: str, unit: str) -> None:
    """Label a linear axis with *words* and its unit; the unit is omitted if *words* end
    with a unit.

    Axes in minutes or hours get ticks at round times.
    """
    from matplotlib.ticker import MultipleLocator, ScalarFormatter

    if not words.endswith(")"):
        words = f"{words} ({unit})"
    axis.set_label_text(words)
    formatter = axis.get_major_formatter()
    if isinstance(formatter, ScalarFormatter):
        formatter.set_useOffset(False)  # "+1e-9" beside an axis would look like a unit.
    low, high = axis.get_view_interval()
    for step in STEPS.get(unit, ()):
        if 2 <= abs(high - low) / step <= MOST_TICKS:
            axis.set_major_locator(MultipleLocator(step))
            return


def finish(
    axes: Any,
    title: str = "",
    handles: Sequence[Any] | None = None,
    legend: str | None = None,
) -> Any:
    """Set the title of a picture, and put its legend to the right of the data; return
    the axes.

    *handles* are the entries of the legend (None: those of the axes), and *legend* is
    its heading.
    """
    axes.set_title(title, fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    found = handles
    options: dict[str, Any] = {}
    if handles is None:
        found = axes.get_legend_handles_labels()[0]
    else:
        options["handles"] = list(handles)
    if found:
        axes.legend(
            **options,
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            borderaxespad=0.0,
            frameon=False,
            fontsize="small",
            title=legend,
            ncols=1 + (len(found) - 1) // TALLEST_LEGEND,
        )
    return axes


def legend_above(
    figure: Any,
    handles: Sequence[Any],
    labels: Sequence[str] | None = None,
    heading: str = "",
) -> Any:
    """Put one legend for all panels of *figure* above the panels, and return it.

    *labels* are those of the *handles* (None: their own), and *heading* is above them.
    """
    return figure.legend(
        handles=list(handles),
        labels=labels or [handle.get_label() for handle in handles],
        title=heading,
        loc="outside upper center",
        frameon=False,
        fontsize="small",
        ncols=LEGEND_COLUMNS,
    )


def legend_beside(figure: Any, handles: Sequence[Any]) -> None:
    """Put one legend for all panels of *figure* to the right of the panels."""
    figure.legend(
        handles=list(handles),
        loc="outside right upper",
        frameon=False,
        fontsize="small",
    )


def legend_below(figure: Any, handles: Sequence[object]) -> None:
    """Put one legend for all panels of *figure* in a line below the panels."""
    figure.legend(
        handles=list(handles),
        loc="outside lower center",
        frameon=False,
        fontsize="small",
        ncols=max(1, len(handles)),
    )


def patches(kinds: Iterable[str]) -> list[Any]:
    """Return a legend entry for each of *kinds*, in the order of the palette. It looks
    as the kind is drawn: a box, the frame of the critical path, or the mark of an
    eviction.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    given = set(kinds)
    known = [kind for kind in ROLES if kind in given]
    found: dict[str, Any] = {}
    for kind in [*known, *sorted(given - set(known))]:
        words, colour = role(kind)
        if kind == "critical":
            found[words] = Patch(fc="none", ec=colour, lw=FRAME, label=words)
        elif kind == "eviction":
            found[words] = Line2D([], [], color=colour, label=words, **MARK)
        else:
            found[words] = Patch(color=colour, label=words)
    return list(found.values())


def headline(result: Result, more: str = "") -> str:
    """Return the title for the picture of a result: its instance, its solver, and
    *more*.
    """
    text = f"{shortened(result.instance, 48)}: {result.solver}"
    if more:
        text += f", {more}"
    return text


def valued(result: Result) -> str:
    """Return the title for the picture of a result, with the solver's objective and
    the measure by which results of its kind are compared.
    """
    values = {result.objective_name: result.objective, result.measure: result.value}
    told = []
    for name, value in values.items():
        if name is not None and value is not None:
            told.append(f"{title(name)} {quantity(name, value)}")
    return headline(result, ", ".join(told))


def shortened(text: str, most: int) -> str:
    """Return *text*; if it has more than *most* characters, replace its middle by "…".

    >>> shortened("individuals_ID0000017", 12)
    'indivi…00017'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def without_workflows(name: str) -> str:
    """Return *name* without the workflows in which Nextflow nests its process.

    >>> without_workflows("NFCORE:ALIGN:STAR_ALIGN (a:1)")
    'STAR_ALIGN (a:1)'
    """
    return re.sub(r"^(\w+:)+(?=\w)", "", name)


def require_math(text: str) -> None:
    """Raise UsageError if *text* has math that matplotlib cannot draw."""
    from matplotlib.mathtext import MathTextParser

    if MATH.search(text):
        try:
            MathTextParser("path").parse(text)
        except ValueError:
            raise UsageError(
                f"--label: matplotlib cannot draw the math of {text!r}; write it with "
                "the commands of LaTeX that it knows, such as $\\sigma=0.3$"
            ) from None


class Box(NamedTuple):
    """A rectangle in data coordinates, its colour, and the text to write into it."""

    left: float
    low: float
    width: float
    height: float
    text: str
    colour: str


def name_boxes(axes: Any, boxes: Iterable[Box], most: int = 200) -> list[Any]:
    """Write the text of each box into the box if it fits; return the texts written.

    Only the *most* widest boxes are considered. A text that is too long for its box is
    written upwards if it fits so, or else smaller. Texts stay within their boxes and so
    never overlap. The limits of the axes must be set before.
    """
    # Place the axes first, so that data have a size in points.
    axes.figure.draw_without_rendering()
    points = 72 / axes.figure.dpi
    left, right = axes.get_xlim()
    low, high = axes.get_ylim()
    across = axes.bbox.width * points / abs(right - left)
    up = axes.bbox.height * points / abs(high - low)
    written = []
    for box in sorted(boxes, key=lambda box: -box.width)[:most]:
        wide, high = box.width * across, box.height * up
        size, rotation = _fitting(box.text, wide, high), 0.0
        if size is None:
            size, rotation = _fitting(box.text, high, wide), 90.0
        if size is None:
            size, rotation = _fitting(box.text, wide, high, SMALLEST_NAME), 0.0
        if size is None:
            continue
        middle = box.left + box.width / 2, box.low + box.height / 2
        written.append(
            axes.text(
                *middle,
                box.text,
                ha="center",
                va="center",
                fontsize=size,
                color=ink(box.colour),
                clip_on=True,
                rotation=rotation,
            )
        )
    return written


def _fitting(
    text: str, wide: float, high: float, largest: float = LARGEST_NAME
) -> float | None:
    """Return the font size, in points and at most the *largest*, at which *text* fits
    into a box of *wide* times *high* points; None if it would be too small to read.
    """
    lines = text.split("\n")
    size = min(largest, high / len(lines) / 1.3)
    room = size * CHARACTER * (max(map(len, lines)) + 0.6)
    if size < SMALLEST_NAME or room > wide:
        return None
    return size
