"""What all pictures share: axes in units that fit, legends beside the data, names that fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from ioopt.result import Result

Dimension = Literal["seconds", "bytes", "bytes_per_second"]


class Unit(NamedTuple):
    """A unit that an axis is drawn in: its name, and how many base units (s, B, B/s) it has."""

    name: str
    size: float


TIMES = (
    (1e-3, Unit("µs", 1e-6)), (1.0, Unit("ms", 1e-3)), (600.0, Unit("s", 1.0)),
    (3 * 3600.0, Unit("min", 60.0)), (96 * 3600.0, Unit("h", 3600.0)),
)  # fmt: skip
"""Times up to so many seconds are drawn in this unit, longer ones in days."""
BYTES = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
STEPS = {"min": (1, 2, 5, 10, 15, 30, 60), "h": (0.5, 1, 2, 3, 6, 12, 24)}
"""Distances of ticks where tens are not what people count in."""
MOST_TICKS = 9
PLAIN_UNITS = {"slowdown": "factor", "ratio": "factor", "utilisation": "share"}
WORDS = {"additive_seconds": "additive cost"}
TALLEST_LEGEND = 18
CHARACTER = 0.62
"""Width of a character over the size of its font: a cautious mean for DejaVu Sans."""


def unit_for(dimension: Dimension | None, largest: float) -> Unit:
    """The unit in which *largest* (in base units) is a number that people can read.

    >>> unit_for("seconds", 7200), unit_for("bytes_per_second", 2.5e11)
    (Unit(name='min', size=60.0), Unit(name='GB/s', size=1000000000.0))
    """
    size = abs(largest)
    if dimension is None:
        return Unit("", 1.0)
    if dimension == "seconds":
        found = (unit for most, unit in TIMES if size <= most and size)
        return next(found, Unit("d", 86400.0) if size else Unit("s", 1.0))
    power = 0
    while power + 1 < len(BYTES) and size >= 1000 ** (power + 1):
        power += 1
    return Unit(BYTES[power] + ("/s" if dimension != "bytes" else ""), 1000.0**power)


def meaning(metric: str) -> tuple[str, Dimension | None, str]:
    """Words, dimension and plain unit (for what has no dimension) of a metric or setting.

    >>> meaning("mean_wait_seconds"), meaning("mean_slowdown")
    (('mean wait', 'seconds', ''), ('mean slowdown', None, 'factor'))
    """
    ends: tuple[Dimension, ...] = ("bytes_per_second", "seconds", "bytes")
    for dimension in ends:
        if metric.endswith("_" + dimension):
            words = metric.removesuffix("_" + dimension).replace("_", " ")
            return WORDS.get(metric, words), dimension, ""
    plain = (unit for word, unit in PLAIN_UNITS.items() if word in metric)
    return metric.replace("_", " "), None, next(plain, "dimensionless")


def new_axes(width: float, height: float) -> Any:
    """Axes of their own in a figure of *width* x *height* inches that makes room for its words."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def label_axis(axis: Any, words: str, unit: Unit | str) -> None:
    """Name a linear axis with its unit; hours and minutes get ticks as on a clock."""
    from matplotlib.ticker import MultipleLocator, ScalarFormatter

    name = unit if isinstance(unit, str) else unit.name
    axis.set_label_text(f"{words} ({name})" if name else words)
    if isinstance(axis.get_major_formatter(), ScalarFormatter):
        axis.get_major_formatter().set_useOffset(False)  # "+1e-9" beside an axis reads as a unit
    low, high = axis.get_view_interval()
    for step in STEPS.get(name, ()):
        if 2 <= abs(high - low) / step <= MOST_TICKS:
            axis.set_major_locator(MultipleLocator(step))
            return


def finish(
    axes: Any, title: str = "", handles: Sequence[Any] | None = None, legend: str | None = None
) -> Any:
    """Set the title and put the legend, with a heading, to the right of the data; returns the axes."""
    axes.set_title(title, fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    found = axes.get_legend_handles_labels()[0] if handles is None else handles
    if found:
        options = {"handles": list(handles)} if handles is not None else {}
        axes.legend(
            **options, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0,
            frameon=False, fontsize="small", title=legend,
            ncols=1 + (len(found) - 1) // TALLEST_LEGEND,
        )  # fmt: skip
    return axes


def legend_beside(figure: Any, handles: Sequence[Any], **options: Any) -> None:
    """One legend for all panels of a figure, to their right."""
    figure.legend(
        handles=list(handles), loc="outside right upper", frameon=False, fontsize="small", **options
    )


def patches(kinds: Iterable[str]) -> list[Any]:
    """Legend entries of these roles."""
    from matplotlib.patches import Patch

    from ioopt.plot.palette import role

    found = dict(role(kind) for kind in kinds)
    return [Patch(color=colour, label=words) for words, colour in found.items()]


def headline(result: Result, more: str = "") -> str:
    """The title of a result's picture: instance, solver, and what else there is to say."""
    return f"{shortened(result.instance, 48)}: {result.solver}" + (f", {more}" if more else "")


def shortened(text: str, most: int) -> str:
    """*text*, its middle left out where it has more than *most* characters.

    >>> shortened("individuals_ID0000017", 12)
    'indivi…00017'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def amount(value: float, dimension: Dimension | None) -> str:
    """A number with the unit that fits it, three significant digits.

    >>> amount(19216.1, "seconds"), amount(0.0, "seconds"), amount(1.0, None)
    ('5.34 h', '0 s', '1')
    """
    unit = unit_for(dimension, value)
    return f"{value / unit.size:.3g} {unit.name}".strip()


class Box(NamedTuple):
    """A rectangle of the data that may carry a name."""

    left: float
    low: float
    width: float
    height: float
    text: str
    colour: str


def name_boxes(axes: Any, boxes: Iterable[Box], most: int = 200) -> int:
    """Write into each of the widest *most* boxes its text, where that fits; returns how many did.

    A text lies within its box, so two never overlap. Limits of the axes must be set before.
    """
    from ioopt.plot.palette import ink

    axes.figure.draw_without_rendering()  # places the axes, so that data have a size in points
    points = 72 / axes.figure.dpi
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    across = axes.bbox.width * points / abs(right - left)
    up = axes.bbox.height * points / abs(high - low)
    written = 0
    for box in sorted(boxes, key=lambda box: -box.width)[:most]:
        lines = box.text.split("\n")
        size = min(8.0, box.height * up / len(lines) / 1.3)
        room = size * CHARACTER * (max(map(len, lines)) + 0.6)
        if size < 5.0 or room > box.width * across:
            continue
        axes.text(
            box.left + box.width / 2, box.low + box.height / 2, box.text, ha="center", va="center",
            fontsize=size, color=ink(box.colour), clip_on=True,
        )  # fmt: skip
        written += 1
    return written
