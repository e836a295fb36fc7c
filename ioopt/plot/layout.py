"""What all pictures share: axes in units that fit, legends beside the data, names that
fit.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ioopt import units
from ioopt.plot.palette import ROLES, ink, role
from ioopt.result import Result

STEPS = {"min": (1, 2, 5, 10, 15, 30, 60), "h": (0.5, 1, 2, 3, 6, 12, 24)}
"""Distances of ticks where tens are not what people count in."""
MOST_TICKS = 9
PLAIN_UNITS = {"slowdown": "factor", "ratio": "factor", "imbalance": "factor"}
TALLEST_LEGEND = 18
CHARACTER = 0.62
"""Width of a character over the size of its font: a cautious mean for DejaVu Sans."""


NARROW = 4.6
"""Inches of a picture that a telephone shows whole."""


class Unit(NamedTuple):
    """A unit that an axis is drawn in: how many base units (s, B, B/s) it has, and its
    name.
    """

    size: float
    name: str


def unit_for(metric: str, largest: float) -> Unit:
    """The unit of an axis whose largest value is *largest*, by the name of the metric.

    >>> unit_for("time_seconds", 7200), unit_for("mean_slowdown", 3.0)
    (Unit(size=3600.0, name='h'), Unit(size=1.0, name='factor'))
    """
    size, name = units.unit_for(metric, abs(largest))
    plain = (unit for word, unit in PLAIN_UNITS.items() if word in metric)
    return Unit(size, name or next(plain, "dimensionless"))


def new_axes(width: float, height: float) -> Any:
    """Axes of their own in a figure of *width* x *height* inches that makes room for
    its words.
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def label_axis(axis: Any, words: str, unit: str) -> None:
    """Name a linear axis with its unit, unless *words* end with one; hours get
    ticks as on a clock.
    """
    from matplotlib.ticker import MultipleLocator, ScalarFormatter

    axis.set_label_text(words if words.endswith(")") else f"{words} ({unit})")
    if isinstance(axis.get_major_formatter(), ScalarFormatter):
        axis.get_major_formatter().set_useOffset(
            False
        )  # "+1e-9" beside an axis reads as a unit
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
    """Set the title and put the legend, with a heading, to the right of the data;
    returns the axes.
    """
    axes.set_title(title, fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    if handles is None:
        found = axes.get_legend_handles_labels()[0]
    else:
        found = handles
    if found:
        if handles is not None:
            options = {"handles": list(handles)}
        else:
            options = {}
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


def legend_beside(figure: Any, handles: Sequence[Any]) -> None:
    """One legend for all panels of a figure, to their right."""
    figure.legend(
        handles=list(handles),
        loc="outside right upper",
        frameon=False,
        fontsize="small",
    )


def patches(kinds: Iterable[str]) -> list[Any]:
    """Legend entries of these roles, in the palette's order."""
    from matplotlib.patches import Patch

    given = set(kinds)
    known = [kind for kind in ROLES if kind in given]
    found = dict(role(kind) for kind in [*known, *sorted(given - set(known))])
    return [Patch(color=colour, label=words) for words, colour in found.items()]


def headline(result: Result, more: str = "") -> str:
    """The title of a result's picture: instance, solver, and what else there is to say."""
    return f"{shortened(result.instance, 48)}: {result.solver}" + (
        f", {more}" if more else ""
    )


def shortened(text: str, most: int) -> str:
    """*text*, its middle left out where it has more than *most* characters.

    >>> shortened("individuals_ID0000017", 12)
    'indivi…00017'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


class Box(NamedTuple):
    """A rectangle of the data that may carry a name."""

    left: float
    low: float
    width: float
    height: float
    text: str
    colour: str


def name_boxes(axes: Any, boxes: Iterable[Box], most: int = 200) -> list[Any]:
    """Write into each of the widest *most* boxes its text, where that fits; returns
    what it wrote.

    A text lies within its box, so two never overlap. Limits of the axes must be set
    before.
    """
    # places the axes, so that data have a size in points
    axes.figure.draw_without_rendering()
    points = 72 / axes.figure.dpi
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    across = axes.bbox.width * points / abs(right - left)
    up = axes.bbox.height * points / abs(high - low)
    written = []
    for box in sorted(boxes, key=lambda box: -box.width)[:most]:
        lines = box.text.split("\n")
        size = min(8.0, box.height * up / len(lines) / 1.3)
        room = size * CHARACTER * (max(map(len, lines)) + 0.6)
        if size < 5.0 or room > box.width * across:
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
            )
        )
    return written
