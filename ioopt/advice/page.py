"""Advice in words: a first answer in a few lines, and the parts of one page, as HTML or as text."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ioopt.advice.runs import IDEAL, TOP_SHARE
from ioopt.advice.spread import LEVEL, WORTH
from ioopt.advice.study import DELAY, HEAVY, LARGE
from ioopt.advice.verdict import SAVES, percent, sentence, share
from ioopt.problems.base import Json
from ioopt.tables import render
from ioopt.units import quantity

TENTH = f"{100 * (1 - TOP_SHARE):g} %"

FACTS = {
    "jobs_in_log": "jobs in the log", "jobs": "jobs that can be used",
    "span_seconds": "submitted within", "nodes": "nodes",
    "node_bytes_per_second": "rate of a node", "storage_bytes_per_second": "rate of the storage",
    "node_utilisation": "nodes asked for", "median_job_nodes": "nodes of the median job",
    "median_run_seconds": "run time of the median job",
    "mean_wait_in_log_seconds": "mean wait in the log", "darshan_logs": "jobs with Darshan logs",
}  # fmt: skip
"""What the log says, in words."""

OWN_FRACTION = (
    "How to find your own I/O fraction: the I/O time in the summaries of Darshan logs over the run time, or "
    "give the logs with --darshan; for the whole machine, the mean throughput that LMT, collectl or `iostat` "
    "shows on the servers over the rate of a node times the nodes in use is the least that it can be. Then "
    "run this again with --io-fraction."
)
NOBODY_TODAY = (
    "What nobody can switch on today: a file system that suspends and resumes transfers job by job, which "
    "{policies} assume. Their figures show what is to be gained; those of the settings are what you can have."
)


class Part(NamedTuple):
    """A part of the page: a heading, and below it paragraphs, a table, a picture, or commands."""

    heading: str
    words: Sequence[str] = ()
    headers: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    commands: Sequence[str] = ()
    picture: str = ""


def answer(advice: Json) -> list[str]:
    """The first answer: waits, the verdict, its bound, what can be switched on, the load."""
    load, fit = advice["load"], advice["fit"]
    lines = [fit["reason"]] if fit and not advice["yours"] else []
    lines.append(sentence(advice))
    lines.append(_bound(advice))
    lines.append(_knob(advice))
    lines.append(
        f"{load['jobs']} jobs in {quantity('span_seconds', load['span_seconds'])} on {load['nodes']} "
        f"nodes use {100 * load['node_utilisation']:.0f} % of the nodes."
    )
    return lines


def _bound(advice: Json) -> str:
    cost, beyond = advice["cost"], advice["beyond_cost"]
    text = (
        f"Congestion itself costs {percent(cost, advice['measure'])} at "
        f"{100 * advice['shown_fraction']:.2g} % I/O: no I/O policy can save more."
    )
    if beyond > WORTH / 10:
        more = percent({"value": beyond})
        text += f" {advice['best']} seems to save {more} beyond that: the luck of the queue, not counted."
    return text


def _knob(advice: Json) -> str:
    saving = [row for row in advice["knobs"] if row["kind"] == SAVES]
    if not saving:
        return "No setting that can be switched on today is sure to save anything here."
    best = max(saving, key=lambda row: row["value"])
    return (
        f"To switch on today: {best['words']} saves {percent(best, advice['measure'])} at "
        f"{100 * advice['shown_fraction']:.2g} % I/O."
    )


def parts(advice: Json, commands: Sequence[str]) -> Iterator[Part]:
    """The page, part by part."""
    yield Part("The answer", [*answer(advice), *_explained(advice)])
    yield _queue(advice)
    yield _curve(advice)
    yield _switches(advice)
    yield _groups(advice)
    yield _traffic(advice)
    load = advice["load"]
    stated = ((words, name, load[name]) for name, words in FACTS.items())
    facts = [(words, quantity(name, value)) for words, name, value in stated if value is not None]
    yield Part("Machine and load", [], ("what", "value"), facts)
    yield Part(
        "What was assumed",
        [
            "A log does not record the I/O of its jobs or the rate of the storage. Replace what is invented "
            "below by measurements first (--darshan, --io-fraction, --machine node_rate=..., "
            "storage_rate=...). Invented bytes are scaled (here by "
            f"{advice['scale']:.3g}) so that under sharing jobs run as long as in the log.",
            *(f"- {text}" for text in advice["warnings"]),
        ],
    )
    yield Part("How to repeat it", ["In the folder where this was run:"], commands=commands)


def _explained(advice: Json) -> list[str]:
    """What the intervals are, once, where they first stand."""
    if advice["verdict"]["low"] is None:
        return ["No intervals: the log is too short, and one drawing tells nothing of luck."]
    drawings = (
        f"{advice['draws'] - 1} drawings of luck, in which submissions move by up to "
        f"{quantity('seconds', advice['shift_seconds'])} and invented I/O is drawn anew"
    )
    drawn = " and ".join(
        [f"the {advice['blocks']} of the log"] * bool(advice["blocks"])
        + [drawings] * (advice["draws"] > 1)
    )
    return [
        f"Figures are per cent saved, above 0 is better; in brackets where {100 * LEVEL:g} % of "
        f"{advice['resamples']} resamples lie, which draw {drawn}. Options were chosen on the log as it "
        f'stands. "Saves": the whole interval is above {100 * WORTH:g} %; "no clear benefit": the '
        'saving, or what congestion costs, is surely below; else "inconclusive".'
    ]


def _queue(advice: Json) -> Part:
    fit = advice["fit"]
    if fit is None:
        words = [
            "The simulated queue was not held against the log: waits are those of another queue."
        ]
        return Part("The queue", words)
    reason = [fit["reason"]] * advice["yours"]  # else the answer says it
    return Part(
        "The queue", [*reason, *(f"- {text}" for text in fit["knobs"] or ("nothing was fitted",))]
    )


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
        for name, even in (("best", "break_even"), ("knob", "knob_break_even"))
    ]
    rows = [
        (
            f"{100 * row['fraction']:g} %",
            *(percent(row[name], level="") for name in ("cost", "best", "knob")),
        )
        for row in advice["curve"]
    ]
    headers = (
        "I/O fraction",
        "congestion costs",
        f"{advice['best']} saves",
        f"{advice['knob']} saves",
    )
    return Part("By I/O fraction", words, headers, rows, picture="curve")


def _switches(advice: Json) -> Part:
    policies = list(dict.fromkeys(row["option"] for row in advice["rows"]))
    names = {row["name"] for row in advice["knobs"]} | {IDEAL}
    ideal = ", ".join(name for name in policies if name not in names)
    rows = [(row["words"], percent(row, level=""), row["kind"]) for row in advice["knobs"]]
    words = [
        "Each setting was simulated as such, at the best of a few levels; levels that save nothing are "
        "shown too, so that nobody need try them.",
        *(f"- {row['name']}: {line}" for row in advice["knobs"] if row["kind"] == SAVES
          for line in row["how"]),
        NOBODY_TODAY.format(policies=ideal),
    ]  # fmt: skip
    return Part(
        "What can be switched on", words,
        ("setting", f"saves of {advice['measure']}", "verdict"), rows,
    )  # fmt: skip


def _groups(advice: Json) -> Part:
    groups, load = advice["groups"], advice["load"]
    rows: list[list[str]] = []
    by: dict[tuple[str, str], list[str]] = {}
    for row in advice["rows"]:
        if row["option"] != IDEAL or row["measure"] != DELAY:
            by.setdefault((row["option"], row["measure"]), []).append(percent(row, level=""))
    rows = [[option, measure, *found] for (option, measure), found in by.items()]
    words = [
        f"Saved, compared with {advice['baseline']}, where all share the storage, at "
        f"{100 * advice['shown_fraction']:.2g} % I/O. {LARGE}: the {TENTH} with most nodes "
        f"({groups[LARGE]}, {load['large_job_nodes']:g} nodes or more); {HEAVY}: the {TENTH} with the "
        f"largest share of I/O ({groups[HEAVY]}). {IDEAL} is no policy: no job delays another. Single "
        f"figures here may hold luck. {DELAY}: what congestion adds to run times."
    ]
    return Part("Who gains", words, ("option", "saved of", *groups), rows, picture="gains")


def _traffic(advice: Json) -> Part:
    traffic = advice["traffic"]
    full = ", ".join(
        f"{100 * row['full']:.0f} % with {name}" for name, row in traffic["options"].items()
    )
    return Part(
        "The storage in its busiest week",
        [
            f"Means over {quantity('seconds', traffic['bin_seconds'])}, at "
            f"{100 * advice['shown_fraction']:.2g} % I/O. The storage is at its limit {full} of the time. "
            "The line is what all outstanding requests could take: above the limit they delay each other."
        ],
        picture="traffic",
    )


def as_text(name: str, found: Sequence[Part], width: int) -> str:
    """The page for a terminal."""
    lines = [f"I/O policies for {name}", ""]
    for part in found:
        lines += [part.heading, "-" * len(part.heading)]
        for words in part.words:
            indent = "  " if words.startswith("- ") else ""
            lines += textwrap.wrap(words, width, subsequent_indent=indent, break_long_words=False)
        if part.rows:
            lines += ["", render(part.headers, part.rows).rstrip()]
        lines += [f"  {command}" for command in part.commands]
        lines.append("")
    return "\n".join(lines)


def as_html(advice: Json, found: Sequence[Part]) -> str:
    """The page for a browser: self-contained, pictures inline."""
    from ioopt.plot.page import NO_PICTURES, can_draw, figure, page, table

    name = f"I/O policies for {advice['name']}"
    body = [f"<h1>{html.escape(name)}</h1>"]
    for part in found:
        body.append(f"<h2>{html.escape(part.heading)}</h2>")
        listed = [words for words in part.words if words.startswith("- ")]
        body += [f"<p>{html.escape(words)}</p>" for words in part.words if words not in listed]
        if listed:
            items = "".join(f"<li>{html.escape(words[2:])}</li>" for words in listed)
            body.append(f"<ul>{items}</ul>")
        body.append('<div class="beside">')
        if part.rows:
            body.append(table(part.headers, part.rows))
        if part.picture and not can_draw():
            body.append(NO_PICTURES)
        elif part.picture:
            body += [figure(axes, caption) for axes, caption in _pictures(advice, part.picture)]
        body.append("</div>")
        body += [f"<pre>{html.escape(command)}</pre>" for command in part.commands]
    return page(name, "\n".join(body))


def _pictures(advice: Json, which: str) -> Iterator[tuple[Any, str]]:
    from ioopt.plot.advice import plot_curve, plot_gains, plot_traffic

    if which == "curve":
        lines = {name: [row[key] for row in advice["curve"]] for name, key in (
            ("congestion costs", "cost"), (f"{advice['best']} saves", "best"),
            (f"{advice['knob']} saves", "knob"),
        )}  # fmt: skip
        places = [row["fraction"] for row in advice["curve"]]
        caption = f"Per cent of {advice['measure']}, with 95 % intervals; dotted: worth a change."
        yield plot_curve(places, lines, advice["measure"], WORTH), caption
    elif which == "traffic":
        yield plot_traffic(advice["traffic"]), "Bytes that pass the storage, before and after."
    else:
        for measure in (advice["measure"], DELAY):
            rows = [
                row
                for row in advice["rows"]
                if row["measure"] == measure and row["option"] != IDEAL
            ]
            yield plot_gains(rows, measure), f"Saved of {measure}: right of 0 is better."
