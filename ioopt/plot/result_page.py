"""Write a result as one HTML page with panels that can be zoomed.

The page loads nothing from elsewhere. Its data are JSON in the page, and
``result_page.js`` draws them as SVG. What the panels show is made by
:mod:`ioopt.plot.panels`, one function for each family.
"""

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, NamedTuple

from ioopt import units
from ioopt.plot.layout import Unit, unit_for, valued
from ioopt.plot.page import FOLD, page, table
from ioopt.plot.palette import ink, role
from ioopt.problems.base import Json
from ioopt.result import Result
from ioopt.units import quantity

MOST_BOXES = 6_000
"""The largest number of boxes of a panel; the shortest others are left out."""
MOST_STEPS = 3_000
"""The largest number of steps of a curve. Of a longer one, the largest value in each of
so many equal spans is drawn.
"""
SHOWN_LINES = 8
"""The number of lines at the beginning and at the end of a table that are shown."""
COARSER = "Where values change too often to draw, the largest in a short time is drawn."
SECURITY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""The browser loads nothing, whatever the names in a result are."""
STYLE = """
body{max-width:90rem}h2{font-size:1rem;margin:1.2rem 0 0}
section p,#help{color:#57606a;margin:.1rem 0;font-size:.85rem}
#bar{position:sticky;top:0;background:#fff;padding:.4rem 0;z-index:2}
#bar button{font:inherit;margin-right:.3rem}
section svg{display:block;width:100%;cursor:grab;touch-action:pan-y}
svg text{font:11px system-ui,sans-serif}svg .chain{stroke:#d00;stroke-width:2}
.key{font-size:.85rem;margin-right:1rem;white-space:nowrap}
.key i{display:inline-block;width:.8rem;height:.8rem;margin-right:.3rem}
#tip{position:fixed;background:#1b1f24;color:#fff;padding:.3rem .6rem;z-index:3;
font-size:.85rem;white-space:pre;pointer-events:none;border-radius:4px;max-width:40rem}
"""
HELP = (
    "Ctrl + wheel, or + and -: zoom. Drag, or the arrow keys: move. Double click, or "
    "0: show all. Point at a box: what it is, and in red what ended when it began."
)


class Box(NamedTuple):
    """A box of a panel: its kind, which gives the colour, its place and its name.

    Rows are numbered downwards from 0, and row k is between k - 0.5 and k + 0.5.
    ``waits`` is the number of the box at whose end this one began, and ``source`` the
    row that sends what the box receives; -1 if not known.
    """

    kind: str
    low: float
    height: float
    start: float
    end: float
    label: str
    waits: int = -1
    critical: bool = False
    source: int = -1


class Series(NamedTuple):
    """A step function: its name, its colour, and its steps as (time, value)."""

    name: str
    colour: str
    steps: Sequence[Sequence[float]]


@dataclass(frozen=True)
class Boxes:
    """A panel with boxes in rows; ``axis`` names the axis that they lie on.

    ``marks`` are instants, as (kind, row, time, label). ``row_pixels`` is the height of
    a row.
    """

    title: str
    rows: Sequence[str]
    boxes: Sequence[Box]
    note: str = ""
    axis: str = "time"
    marks: Sequence[tuple[str, int, float, str]] = ()
    row_pixels: int = 24


@dataclass(frozen=True)
class Steps:
    """A panel with step functions of one metric, stacked or beside each other.

    ``limit`` is a line, if it is not None. The unit of ``metric`` is empty for counts.
    """

    title: str
    metric: str
    series: Sequence[Series]
    note: str = ""
    limit: float | None = None
    stacked: bool = False
    axis: str = "time"
    pixels: int = 120


class Axis(NamedTuple):
    """A horizontal axis that panels share: its words, its unit and its end."""

    words: str
    unit: Unit
    until: float


class Table(NamedTuple):
    """A table of texts below the panels."""

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Contents:
    """What a page shows: panels, their axes, tables, and colours of kinds of boxes that
    are not in the palette.
    """

    panels: Sequence[Boxes | Steps]
    axes: Mapping[str, Axis]
    tables: Sequence[Table] = ()
    colours: Mapping[str, str] = field(default_factory=dict)


def time_axis(until: float) -> Axis:
    """Return the axis of panels that show times up to *until* seconds."""
    return Axis("time", unit_for("seconds", until), until or 1.0)


def result_page(result: Result, contents: Contents) -> str:
    """Return the page of *result* with *contents*."""
    # "<" is escaped, so that no name in the data can end the script element.
    data = json.dumps(_data(contents), ensure_ascii=False, separators=(",", ":"))
    data = data.replace("<", "\\u003c")
    code = files("ioopt.plot").joinpath("result_page.js").read_text("utf-8")
    title = valued(result)
    body = [
        f"<h1>{html.escape(title)}</h1>",
        f'<div id="bar"><button data-key="+">zoom in</button>'
        f'<button data-key="-">zoom out</button><button data-key="0">all</button>'
        f'<span id="help">{html.escape(HELP)}</span></div>',
        "<noscript>The panels need JavaScript; the tables below do not.</noscript>",
        '<div id="panels"></div>',
    ]
    for item in contents.tables:
        body.append(f"<h2>{html.escape(item.title)}</h2>")
        rows = table(item.headers, item.rows, words=True, shown=SHOWN_LINES)
        body.append(rows)
    facts = table(["what", "value"], list(result.rows()), words=True)
    body.append(f"<h2>The result</h2>{facts}")
    body.append(f'<script type="application/json" id="data">{data}</script>')
    body.append(f"<script>{code}</script>")
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{SECURITY}">'
        f"<style>{STYLE}{FOLD}</style>"
    )
    return page(title, "".join(body), head)


def _data(contents: Contents) -> Json:
    """Return what the script of the page reads."""
    panels = []
    kinds: dict[str, tuple[str, str, str]] = {}
    for panel in contents.panels:
        if isinstance(panel, Steps):
            panels.append(_steps(panel))
            continue
        boxes, note = fewer(panel.boxes)
        for kind in [box.kind for box in boxes] + [mark[0] for mark in panel.marks]:
            words, colour = role(kind)
            if kind in contents.colours:
                words, colour = kind, contents.colours[kind]
            kinds[kind] = (words, colour, ink(colour))
        panels.append(
            {
                "title": panel.title,
                "note": " ".join(filter(None, (panel.note, note))),
                "axis": panel.axis,
                "rows": list(panel.rows),
                "row_pixels": panel.row_pixels,
                "boxes": [_rounded(box) for box in boxes],
                "marks": [_rounded(mark) for mark in panel.marks[:MOST_BOXES]],
            }
        )
    axes = {
        name: {"words": axis.words, "unit": axis.unit, "until": axis.until}
        for name, axis in contents.axes.items()
    }
    return {"axes": axes, "kinds": kinds, "panels": panels}


def fewer(boxes: Sequence[Box]) -> tuple[list[Box], str]:
    """Return at most ``MOST_BOXES`` of *boxes*, the longest, and a sentence on those
    that are left out.
    """
    if len(boxes) <= MOST_BOXES:
        return list(boxes), ""
    longest = sorted(range(len(boxes)), key=lambda k: boxes[k].start - boxes[k].end)
    kept = sorted(longest[:MOST_BOXES])
    new = {old: k for k, old in enumerate(kept)}
    found = [boxes[k]._replace(waits=new.get(boxes[k].waits, -1)) for k in kept]
    first = boxes[longest[MOST_BOXES]]
    most = quantity("seconds", first.end - first.start)
    left = len(boxes) - MOST_BOXES
    return found, f"{left} of {len(boxes)} boxes are left out, of at most {most} each."


def _rounded(values: Sequence[object]) -> list[Any]:
    """Return *values* with numbers of nine digits, which is precise enough to draw."""
    return [float(f"{x:.9g}") if isinstance(x, float) else x for x in values]


def _steps(panel: Steps) -> Json:
    """Return what the script reads of a panel with step functions."""
    tops = [value for item in panel.series for _, value in item.steps]
    coarse = any(len(item.steps) > MOST_STEPS for item in panel.series)
    unit = units.unit_for(panel.metric, max([*tops, panel.limit or 0.0]))
    return {
        "title": panel.title,
        "note": f"{panel.note} {COARSER}".strip() if coarse else panel.note,
        "axis": panel.axis,
        "pixels": panel.pixels,
        "unit": unit,
        "limit": panel.limit,
        "stacked": panel.stacked,
        "series": [
            [item.name, item.colour, [_rounded(step) for step in coarser(item.steps)]]
            for item in panel.series
        ],
    }


def coarser(steps: Sequence[Sequence[float]]) -> Sequence[Sequence[float]]:
    """Return *steps*; if they are too many, the largest value in each of ``MOST_STEPS``
    equal spans of time, and the last step.
    """
    if len(steps) <= MOST_STEPS:
        return steps
    first, last = steps[0][0], steps[-1][0]
    width = (last - first) / MOST_STEPS
    tops: dict[int, float] = {}
    for at, value in steps[:-1]:
        span = int((at - first) / width)
        tops[span] = max(value, tops.get(span, value))
    found = [(first + span * width, value) for span, value in sorted(tops.items())]
    return [*found, steps[-1]]
