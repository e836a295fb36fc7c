"""Advice in words: a first answer in a few lines, and the parts of one
page, as HTML or as text.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from ioopt.advice.runs import IDEAL, SHIFT_SECONDS, TOP_SHARE
from ioopt.advice.spread import LEVEL, WORTH
from ioopt.advice.study import BIN_SECONDS, DELAY, HEAVY, LARGE
from ioopt.advice.verdict import SAVES, percent, sentence, share
from ioopt.plot.bandwidth import plot_traffic
from ioopt.plot.curves import plot_curve
from ioopt.plot.page import NO_PICTURES, can_draw, figure, page, table
from ioopt.problems.base import Json
from ioopt.tables import render
from ioopt.units import counted, quantity

TENTH = f"{100 * (1 - TOP_SHARE):g} %"

OWN_FRACTION = (
    "How to find your own I/O fraction: the I/O time in the summaries of Darshan "
    "logs over the run time, or give the logs with --darshan; for the whole machine, "
    "the mean throughput that LMT, collectl or iostat shows on the servers over the "
    "rate of a node times the nodes in use is the least that it can be. Then run "
    "this again with --io-fraction."
)


class Part(NamedTuple):
    """A part of the page: a heading, and below it paragraphs, a table, a
    picture, or a command.
    """

    heading: str
    words: Sequence[str] = ()
    headers: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    command: str = ""
    picture: str = ""


def answer(advice: Json) -> list[str]:
    """The first answer: waits, the verdict, its bound, what can be
    switched on, the load.
    """
    fit, at = advice["fit"], f"at {100 * advice['shown_fraction']:.2g} % I/O"
    bound = (
        "Jobs delay each other's I/O. This congestion costs "
        f"{percent(advice['cost'], advice['measure'])} {at}: no I/O policy can save "
        "more."
    )
    if advice["beyond_cost"] > WORTH / 10:
        more = percent({"value": advice["beyond_cost"]})
        bound += (
            f" {advice['best']} seems to save {more} beyond that: the luck of the "
            "queue, not counted."
        )
    best = max(advice["knobs"], key=lambda row: (row["kind"] == SAVES, row["value"]))
    knob = "No setting that can be switched on today is sure to save anything here."
    if best["kind"] == SAVES:
        saved = percent(best, advice["measure"])
        knob = f"To switch on today: {best['words']}; saves {saved} {at}."
    return [
        *([fit["reason"]] if fit and not advice["yours"] else []),
        sentence(advice),
        bound,
        knob,
        f"{advice['jobs']} jobs in {quantity('span_seconds', advice['span_seconds'])} "
        f"on {advice['nodes']} nodes use {100 * advice['node_utilisation']:.0f} % of "
        "the nodes.",
    ]


def parts(advice: Json, command: str) -> Iterator[Part]:
    """The page, part by part."""
    yield Part("The answer", [*answer(advice), _explained(advice)])
    fit, at = advice["fit"], f"at {100 * advice['shown_fraction']:.2g} % I/O"
    queue = [
        "The simulated queue was not held against the log: waits are those of "
        "another queue."
    ]
    if fit is not None:
        queue = [
            fit["reason"]
            if advice["yours"]
            else "What was tried, and is not the log's queue:"
        ]
        queue += [
            f"- {text}"
            for text in fit["knobs"] or ("nothing, as the log was refused first",)
        ]
    yield Part("The queue", queue)
    yield _curve(advice)
    yield _switches(advice)
    yield _groups(advice, at)
    full = ", ".join(
        f"{100 * row['full']:.0f} % of the time with {name}"
        for name, row in advice["traffic"].items()
    )
    yield Part(
        "The storage in its busiest week",
        [
            f"Means over {quantity('seconds', BIN_SECONDS)}, {at}, in the week from "
            f"day {advice['traffic'][advice['baseline']]['day']} of the log on. The "
            f"storage is at its limit {full}."
        ],
        picture="traffic",
    )
    yield Part(
        "What was assumed",
        [
            "A log does not record the I/O of its jobs or the rate of the storage. "
            "Replace what is invented below by measurements first (--darshan, "
            "--io-fraction, --machine node_rate=..., storage_rate=...). Invented "
            f"bytes are scaled (here by {advice['scale']:.3g}) so that under sharing "
            "jobs run as long as in the log.",
            *(f"- {text}" for text in advice["warnings"]),
        ],
    )
    yield Part(
        "How to repeat it", ["In the folder where this was run:"], command=command
    )


def _explained(advice: Json) -> str:
    """What the intervals are, once, where they first stand."""
    if advice["verdict"]["low"] is None:
        return (
            "No intervals: the log is too short, and one drawing tells nothing of luck."
        )
    drawn = [f"the {advice['blocks']} of the log"] * bool(advice["blocks"])
    if advice["draws"] > 1:
        moved = f"submissions move by up to {quantity('seconds', SHIFT_SECONDS)}"
        drawn.append(
            f"{counted(advice['draws'] - 1, 'drawing')} of luck, where {moved} "
            "and invented I/O is drawn anew"
        )
    return (
        f"In brackets are {100 * LEVEL:g} % intervals: {advice['resamples']} resamples of "
        f"{' and '.join(drawn)}. Policies and levels were chosen on the log as it stands. A verdict is "
        f'"saves" where the whole interval is above {100 * WORTH:g} %, "no clear benefit" where the '
        'interval or what congestion costs is below, else "inconclusive".'
    )


def _lines(advice: Json) -> dict[str, str]:
    """Heading -> its figures in a row of the curve."""
    return {
        "congestion costs": "cost",
        f"{advice['best']} saves": "best",
        f"{advice['knob']} saves": "knob",
    }


def _curve(advice: Json) -> Part:
    words = [
        f'What congestion costs, and what {advice["best"]} and the setting "{advice["knob"]}" save of it, '
        f"in per cent of {advice['measure']} of all jobs, by the mean share of run time that is I/O (of "
        "jobs without a Darshan log)."
    ]
    if advice["fraction"] is None:
        words.append(OWN_FRACTION)
    most = advice["curve"][-1]["fraction"]
    words += [
        f"- {advice[name]} pays from {share(advice[even], most)} on"
        if advice[even]["value"] is not None
        else f"- {advice[name]} does not pay up to {100 * most:g} %"
        for name, even in (("best", "break_even"), ("knob", "knob_break_even"))
    ]
    rows = [
        (
            f"{100 * row['fraction']:g} %",
            *(percent(row[name], level="") for name in _lines(advice).values()),
        )
        for row in advice["curve"]
    ]
    return Part(
        "By I/O fraction",
        words,
        ("I/O fraction", *_lines(advice)),
        rows,
        picture="curve",
    )


def _switches(advice: Json) -> Part:
    names = {row["name"] for row in advice["knobs"]} | {IDEAL}
    ideal = dict.fromkeys(
        row["option"] for row in advice["rows"] if row["option"] not in names
    )
    kinds = [
        "a loss" if (row["high"] or 0.0) < 0 else row["kind"] for row in advice["knobs"]
    ]
    words = [
        "Each setting was simulated as such, at the best of a few levels. Those that "
        "save nothing are shown too, so that nobody need try them."
        + " Licences and the queue's order change waits, of which nothing can be "
        "said here." * (not advice["yours"]),
        *(
            f"- {row['words']}: saves {percent(row, advice['measure'], '')}: {kind}"
            for row, kind in zip(advice["knobs"], kinds)
        ),
        "What nobody can switch on today: a file system that suspends and resumes "
        f"transfers job by job, as policies like {', '.join(ideal)} need. What they "
        "save is what is to be gained; what the settings save is what you can have.",
    ]
    lines = [
        line
        for row in advice["knobs"]
        if row["kind"] == SAVES
        for line in ("", row["name"], *row["how"])
    ]
    return Part("What can be switched on", words, command="\n".join(lines[1:]))


def _groups(advice: Json, at: str) -> Part:
    groups, measures = advice["groups"], (advice["measure"], DELAY)
    found = {
        (row["option"], row["group"], row["measure"]): row for row in advice["rows"]
    }
    rows = [
        (
            option,
            group.removesuffix(" jobs"),
            *(percent(found[option, group, measure], level="") for measure in measures),
        )
        for option in dict.fromkeys(row["option"] for row in advice["rows"])
        for group in reversed(groups)
    ]
    words = [
        f"Saved {at}, compared with {advice['baseline']}, where all share the "
        "storage. Single figures here may hold luck.",
        f"- {LARGE}: the {TENTH} with most nodes ({groups[LARGE]}, "
        f"{advice['large_job_nodes']:g} nodes or more)",
        f"- {HEAVY}: the {TENTH} with the largest share of I/O ({groups[HEAVY]})",
        f"- {IDEAL}: no policy, but no job delaying another",
        f"- {DELAY}: what congestion adds to run times",
    ]
    return Part(
        "Who gains",
        words,
        ("option", "jobs", *(f"{one} saved" for one in measures)),
        rows,
    )


def as_text(name: str, found: Sequence[Part], width: int) -> str:
    """The page for a terminal."""
    lines = [f"I/O policies for {name}", ""]
    for part in found:
        lines += [part.heading, "-" * len(part.heading)]
        for words in part.words:
            indent = "  " if words.startswith("- ") else ""
            lines += textwrap.wrap(
                words, width, subsequent_indent=indent, break_long_words=False
            )
        if part.rows:
            lines += ["", render(part.headers, part.rows).rstrip()]
        lines += textwrap.indent(part.command, "  ").splitlines()
        lines.append("")
    return "\n".join(lines)


def as_html(advice: Json, found: Sequence[Part]) -> str:
    """The page for a browser: self-contained, pictures inline."""
    name = f"I/O policies for {advice['name']}"
    body = [f"<h1>{html.escape(name)}</h1>"]
    for part in found:
        body.append(f"<h2>{html.escape(part.heading)}</h2>")
        for listed, words in groupby(part.words, lambda text: text.startswith("- ")):
            lines = [html.escape(text.removeprefix("- ")) for text in words]
            body.append(
                "<ul><li>" + "</li><li>".join(lines) + "</li></ul>"
                if listed
                else "<p>" + "</p><p>".join(lines) + "</p>"
            )
        body.append('<div class="beside">')
        if part.rows:
            body.append(table(part.headers, part.rows))
        if part.picture and not can_draw():
            body.append(NO_PICTURES)
        elif part.picture:
            body.append(figure(*_picture(advice, part.picture)))
        body.append("</div>")
        body += [f"<pre>{html.escape(part.command)}</pre>"] * bool(part.command)
    return page(name, "\n".join(body))


def _picture(advice: Json, which: str) -> tuple[Any, str]:
    """Axes and caption."""
    if which == "traffic":
        limit = advice["storage_bytes_per_second"]
        axes = plot_traffic(advice["traffic"], limit, BIN_SECONDS)
        return axes, "Bytes that pass the storage, before and after."
    curve = advice["curve"]
    lines = {name: [row[key] for row in curve] for name, key in _lines(advice).items()}
    axes = plot_curve(
        [row["fraction"] for row in curve], lines, advice["measure"], WORTH
    )
    return axes, f"Shaded: {100 * LEVEL:g} % intervals; dotted: worth a change."
