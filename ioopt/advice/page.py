"""Write the advice as one page, in HTML with pictures or as text."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from ioopt.advice.answer import Advice, Axis, AxisPoint, Kind, Switch
from ioopt.advice.knobs import IDEAL, Option, suspends
from ioopt.advice.replays import BIN_SECONDS
from ioopt.advice.spread import LEVEL, WORTH, Figure
from ioopt.advice.verdict import (
    MEASURED,
    MOST_WAITING_WORDS,
    assumption,
    axis_lines,
    cost_line,
    effect,
    fraction_text,
    load_line,
    machine_line,
    percent,
    period_text,
    place,
    policy_line,
    rate_text,
    sentence,
    wrapped_answer,
)
from ioopt.advice.workload import HEAVY, LARGE, SHIFT_SECONDS, TOP_SHARE
from ioopt.plot.bandwidth import plot_traffic
from ioopt.plot.curves import plot_curve
from ioopt.plot.layout import unit_for
from ioopt.plot.page import NO_PICTURES, can_draw, figure, page, table
from ioopt.tables import render
from ioopt.units import counted, quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TODAY = "today's sharing"
"""What the pages call the baseline."""
TENTH = f"{100 * (1 - TOP_SHARE):g} %"
OWN_FRACTION = (
    "How to find your own I/O fraction: give Darshan logs with --darshan, or divide "
    "the I/O time in the summaries of Darshan logs by the run time. A lower bound for "
    "the whole machine is the mean throughput that LMT, collectl or iostat shows on "
    "the servers, divided by the rate of a node times the number of nodes in use. "
    "Then run this again with --io-fraction."
)
UNTRUSTED = (
    f"* More than {MOST_WAITING_WORDS} of the I/O time is waiting here, so no "
    "conclusion is drawn: the result depends on what the jobs really write, or the "
    "rates do not fit the Darshan logs. "
    "A row without intervals was replayed once."
)
_FUTURE = ", which a file system of the future could follow,"
CURVE_WORDS = (
    f"Shaded: {100 * LEVEL:g} % intervals; dotted: worth a change; grey: the value of "
    "the verdict; hollow points: no conclusion is drawn (* in the table)."
)


@dataclass(frozen=True)
class Picture:
    """The axes of a picture on the page, and the caption below it."""

    axes: Axes
    caption: str


@dataclass(frozen=True)
class Part:
    """One part of the page: a heading, followed by words, a table, a block of lines
    (configuration or a command), and a picture, which is given by its name.
    """

    heading: str
    words: Sequence[str] = ()
    headers: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = field(default_factory=list)
    lines: Sequence[str] = ()
    picture: str = ""


def parts(advice: Advice, command: str) -> Iterator[Part]:
    """Yield the parts of the page from top to bottom. *command* is the command that
    produced the advice.
    """
    pasted = () if advice.pasted is None else advice.pasted.lines
    yield Part("The verdict", [sentence(advice)], lines=pasted)
    yield Part(
        "What decides it",
        [*axis_lines(advice), machine_line(advice), assumption(advice)],
    )
    yield Part("What congestion costs", [cost_line(advice), policy_line(advice)])
    yield Part("The log", [load_line(advice)])
    yield Part("Intervals", [_intervals(advice)])
    if advice.assumed_jobs:
        yield _by_fraction(advice)
    yield _by_storage(advice)
    if not advice.period.known:
        yield _by_period(advice)
    yield _settings(advice)
    yield _groups(advice)
    yield _busiest_week(advice)
    yield Part(
        "What was assumed",
        [
            "A log does not record the I/O of its jobs or the rate of the storage. "
            "Replace what is invented below by measurements first (--darshan, "
            "--io-fraction, --machine node_rate=..., storage_rate=...). Invented "
            f"bytes are scaled (here by {advice.scale:.3g}) so that under sharing "
            "the jobs without a Darshan log run as long as in the log.",
            *([MEASURED] if advice.measured_jobs else []),
            *(f"- {text}" for text in advice.warnings),
        ],
    )
    yield Part(
        "How to repeat it", ["In the folder where this was run:"], lines=[command]
    )


def _intervals(advice: Advice) -> str:
    """Return the paragraph that explains the intervals."""
    if advice.cost.low is None:
        return "No intervals: the log has too few days, and one replay has no spread."
    drawn = []
    if advice.blocks:
        drawn.append(f"the {advice.blocks} of the log")
    if advice.draws > 1:
        moved = f"starts move by up to {quantity('seconds', SHIFT_SECONDS)}"
        drawn.append(
            f"{counted(advice.draws - 1, 'further replay')}, in which {moved} and "
            "invented I/O is drawn anew"
        )
    return (
        f"In brackets are {100 * LEVEL:g} % intervals: {advice.resamples} resamples of "
        f"{' and '.join(drawn)}. Levels and the best option were chosen on the log as "
        f"it stands. A change pays where it saves {100 * WORTH:g} % of run time; it is "
        "advised where the whole interval is above that, and the figures that are not "
        "known do not decide."
    )


def _lines(advice: Advice) -> dict[str, str]:
    """Return the headings of the columns "cost", "policy" and "setting" of the tables;
    the curves of the pictures have the same names.
    """
    return {
        "cost": "congestion costs",
        "policy": f"{advice.policy} saves",
        "setting": "best setting saves",
    }


def _row(value: str, point: AxisPoint) -> list[str]:
    figures = (point.cost, point.policy, point.setting)
    cells = [percent(found, level="") for found in figures]
    mark = "" if point.trusted else " *"
    return [value, *cells, point.setting_name + mark]


def _by_fraction(advice: Advice) -> Part:
    words = [
        "The cost of congestion, and the savings of the policy "
        f"{advice.policy}{_FUTURE if advice.policy_suspends else ''} and of the "
        "best setting, which is chosen at each fraction anew, in per cent of the run "
        "time of all jobs, for several mean I/O fractions (shares of run time that are "
        "I/O, of jobs without a Darshan log). Below 0: it costs run time."
    ]
    more = () if advice.fraction.value is not None else (OWN_FRACTION,)
    points = advice.fraction.points
    return _along(
        advice, "I/O fraction", words, points, fraction_text, "fraction", more
    )


def _along(
    advice: Advice,
    heading: str,
    words: Sequence[str],
    points: Sequence[AxisPoint],
    text: Callable[[float], str],
    picture: str,
    more: Sequence[str] = (),
) -> Part:
    """Return the part "By *heading*" with a row for each of *points*, whose value
    *text* writes; *more* words follow the remark on points that are not trusted.
    """
    doubt = () if all(point.trusted for point in points) else (UNTRUSTED,)
    return Part(
        f"By {heading}",
        [*words, *doubt, *more],
        (heading, *_lines(advice).values(), "setting"),
        [_row(text(point.value), point) for point in points],
        picture=picture,
    )


def _by_storage(advice: Advice) -> Part:
    words = [
        f"The same at {fraction_text(advice.fraction.shown)} I/O, by the rate of the "
        "storage."
    ]
    points = advice.storage.points
    return _along(advice, "storage rate", words, points, rate_text, "storage")


def _by_period(advice: Advice) -> Part:
    words = [
        f"The same {place(advice)}, by the I/O period: the run time of a job for each "
        "of its I/O steps. State yours with --io-period."
    ]
    points = advice.period.points
    return _along(advice, "I/O period", words, points, period_text, "period")


def _settings(advice: Advice) -> Part:
    names = {row.name for row in advice.switches} | {IDEAL}
    others = (row.option for row in advice.savings if row.option not in names)
    ideal = [name for name in dict.fromkeys(others) if suspends(Option(name, name))]
    words = [
        "Each setting was simulated as such, at the best of a few levels, "
        f"{place(advice)}. Those that save nothing are shown too, so that nobody need "
        "try them."
    ]
    for row in advice.switches:
        words.append(f"- {row.words}: {effect(row.saves, '')}{_levels(row)}")
    if ideal:
        words.append(
            f"Policies like {', '.join(ideal)} need a file system that suspends and "
            "resumes transfers job by job, which no site has today. What they save (or "
            "cost) shows what such a file system would do; the savings of settings can "
            "be had at once."
        )
    lines = []
    for row in advice.switches:
        if row.kind == Kind.SAVES:
            lines += [f"# {row.words}", *row.lines]
    return Part("What can be switched on", words, lines=lines)


def _levels(row: Switch) -> str:
    """Return the sentence about the levels at which a setting was tried, with a full
    stop and a space in front; empty text if there is one level only.
    """
    if len(row.levels) < 2:
        return ""
    told = [f"{level} {effect(Figure(saved))}" for level, saved in row.levels.items()]
    return f". On the log as it stands: {'; '.join(told)}"


def _groups(advice: Advice) -> Part:
    groups = advice.groups
    rows = [
        [
            row.option,
            row.group.removesuffix(" jobs"),
            percent(row.run_time, level=""),
            percent(row.io_delay, level=""),
        ]
        for row in advice.savings
    ]
    words = [
        f"Saved {place(advice)}, compared with {TODAY} ({advice.baseline}), where all "
        "share the storage. Below 0: it costs run time.",
        f"- {LARGE}: at least the {TENTH} with most nodes ({groups[LARGE]}, "
        f"{advice.large_job_nodes} nodes or more)",
        f"- {HEAVY}: the {TENTH} with the largest share of I/O ({groups[HEAVY]})",
        f"- {IDEAL}: not a policy, but the case in which no job delays another",
        "- I/O delay: what congestion adds to run times",
        "- node-hours above the machine, because jobs run longer than in the log: "
        f"{advice.node_hours_above_machine:.1f} with "
        f"{TODAY}, {advice.node_hours_above_machine_with_setting:.1f} with "
        f"{advice.setting}",
    ]
    headers = ("option", "jobs", "run time saved", "I/O delay saved")
    return Part("Who gains", words, headers, rows)


def _busiest_week(advice: Advice) -> Part:
    today, best = advice.traffic
    full = (
        f"{100 * today.full:.0f} % of the time with {TODAY}, and "
        f"{100 * best.full:.0f} % with {best.option}"
    )
    return Part(
        "The storage in its busiest week",
        [
            f"Means over {quantity('seconds', BIN_SECONDS)}, {place(advice)}, in the "
            f"week from day {advice.traffic[0].day} of the log on. The storage is at "
            f"its limit {full}."
        ],
        picture="traffic",
    )


def as_text(advice: Advice, found: Sequence[Part], width: int) -> str:
    """Return the page for a terminal: first the answer, then the parts *found* with the
    details, each under its heading.
    """
    lines = [*wrapped_answer(advice, width), ""]
    for part in found[ANSWER_PARTS:]:
        lines += [part.heading, "-" * len(part.heading)]
        for words in part.words:
            indent = "  " if words.startswith("- ") else ""
            lines += textwrap.wrap(
                words,
                width,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
        if part.rows:
            lines += ["", render(part.headers, part.rows).rstrip()]
        lines += [f"  {line}" for line in part.lines]
        lines.append("")
    return "\n".join(lines)


def as_html(advice: Advice, found: Sequence[Part]) -> str:
    """Return the page for a browser, made of the parts *found*. It loads nothing from
    elsewhere; pictures are inline.
    """
    name = f"Which setting of Slurm or Lustre shortens the jobs of {advice.name}?"
    body = [f"<h1>{html.escape(name)}</h1>"]
    for part in found:
        body.append(f"<h2>{html.escape(part.heading)}</h2>")
        for listed, words in groupby(part.words, lambda text: text.startswith("- ")):
            lines = [html.escape(text.removeprefix("- ")) for text in words]
            if listed:
                body.append("<ul><li>" + "</li><li>".join(lines) + "</li></ul>")
            else:
                body.append("<p>" + "</p><p>".join(lines) + "</p>")
        body.append('<div class="full">')
        if part.rows:
            body.append(table(part.headers, part.rows))
        if part.picture:
            body.append(_drawn(advice, part.picture))
        body.append("</div>")
        if part.lines:
            body.append(f"<pre>{html.escape(chr(10).join(part.lines))}</pre>")
    return page(name, "\n".join(body))


def _drawn(advice: Advice, which: str) -> str:
    """Return the picture called *which* as HTML, or a note if pictures cannot be
    drawn.
    """
    if not can_draw():
        return NO_PICTURES
    picture = PICTURES[which](advice)
    return figure(picture.axes, picture.caption)


def _by_fraction_picture(advice: Advice) -> Picture:
    label = "mean share of run time that is I/O"
    return _curve(advice, advice.fraction, label, "%", 0.01)


def _by_storage_picture(advice: Advice) -> Picture:
    axis = advice.storage
    unit = unit_for("rate_bytes_per_second", axis.points[-1].value)
    return _curve(advice, axis, "rate of the storage", unit.name, unit.size)


def _by_period_picture(advice: Advice) -> Picture:
    return _curve(advice, advice.period, "I/O period", "min", 60)


def _curve(
    advice: Advice, axis: Axis, label: str, unit: str, unit_size: float
) -> Picture:
    """Return the picture of *axis*, whose values are divided by *unit_size*."""
    values = [point.value / unit_size for point in axis.points]
    axes = plot_curve(
        values,
        _bands(advice, axis),
        label,
        unit,
        axis.shown / unit_size,
        WORTH,
        [point.value / unit_size for point in axis.points if not point.trusted],
    )
    return Picture(axes, CURVE_WORDS)


def _bands(advice: Advice, axis: Axis) -> dict[str, list[tuple[float, float, float]]]:
    """Return, for each curve of a picture, its points as (share, low, high)."""
    bands = {}
    for key, name in _lines(advice).items():
        bands[name] = [_band(getattr(point, key)) for point in axis.points]
    return bands


def _band(found: Figure) -> tuple[float, float, float]:
    """Return a share and the ends of its interval, nan if they are not known."""
    low = math.nan if found.low is None else found.low
    high = math.nan if found.high is None else found.high
    return found.value or 0.0, low, high


def _traffic(advice: Advice) -> Picture:
    today, best = advice.traffic
    options = {TODAY: today.classes, best.option: best.classes}
    axes = plot_traffic(options, advice.storage.shown, BIN_SECONDS)
    return Picture(
        axes,
        "Bytes that pass the storage, before and after, as means of each hour. Hours "
        "at the limit throughout, if there are any, are black. Where the storage is at "
        "its limit for a part of an hour, the mean stays below the line.",
    )


ANSWER_PARTS = 2
"""The number of parts at the top of the page that repeat the answer; the text page
omits them.
"""
PICTURES = {
    "fraction": _by_fraction_picture,
    "storage": _by_storage_picture,
    "period": _by_period_picture,
    "traffic": _traffic,
}
