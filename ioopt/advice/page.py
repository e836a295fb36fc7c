"""Advice in words: a first answer in five lines, and the parts of one page, as HTML or as text."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ioopt.advice.study import DELAY, EVERYBODY, HEAVY, IDEAL, LARGE, RESPONSE, TOP_SHARE, WORTH
from ioopt.problems.base import Json
from ioopt.tables import render
from ioopt.units import column, quantity

UNLIKE = 2.0
"""Mean waits that differ by more are said."""
TENTH = f"{100 * (1 - TOP_SHARE):g} %"

FACTS = {
    "jobs_in_log": "jobs in the log", "jobs": "jobs that can be used",
    "span_seconds": "submitted within", "nodes": "nodes",
    "node_bytes_per_second": "rate of a node", "storage_bytes_per_second": "rate of the storage",
    "node_utilisation": "nodes asked for", "storage_utilisation": "storage asked for",
    "total_bytes": "bytes moved", "median_job_nodes": "nodes of the median job",
    "median_run_seconds": "run time of the median job", "mean_io_share": "mean share of I/O",
    "mean_wait_in_log_seconds": "mean wait in the log",
    "mean_wait_simulated_seconds": "mean wait, simulated", "darshan_logs": "jobs with Darshan logs",
}  # fmt: skip
"""What the log says, in words."""


class Part(NamedTuple):
    """A part of the page: a heading, and below it paragraphs, a table, a picture, or commands."""

    heading: str
    words: Sequence[str] = ()
    headers: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    commands: Sequence[str] = ()
    picture: str = ""


def change(found: Json, interval: bool = True) -> str:
    """A ratio as a change with its interval.

    >>> change({"ratio": 0.9, "low": 0.85, "high": 1.02})
    '-10.0 % (-15.0 to +2.0)'
    """
    text = f"{100 * found['ratio'] - 100:+.1f} %"
    if interval and found["low"] is not None:
        text += f" ({100 * found['low'] - 100:+.1f} to {100 * found['high'] - 100:+.1f})"
    return text


def verdict(advice: Json) -> str:
    """Whether the best policy pays, in one sentence."""
    found, best, baseline = advice["verdict"], advice["best"], advice["baseline"]
    said = f"the best policy, {best}, changes the mean response by {change(found)}"
    if found["low"] is None:
        return f"Unknown: {said}, and {advice['blocks'].removeprefix('none: ')}."
    if found["high"] < 1 - WORTH:
        return f"Clear benefit: {said}, compared with {baseline}, where all share."
    if found["high"] < 1:
        return f"Small benefit: {said}; a gain above {100 * WORTH:g} % is not certain."
    if found["ratio"] > 1 - WORTH:
        return f"No benefit: {said}."
    return f"No clear benefit: {said}, so the gain may be chance."


def answer(advice: Json) -> list[str]:
    """The first answer, in five lines."""
    load, best = advice["load"], advice["best"]
    by = {(row["solver"], row["group"], row["measure"]): row for row in advice["policies"]}
    room = by[IDEAL, EVERYBODY, RESPONSE]
    cells = [cell["ratio"] for cell in advice["sensitivity"]]
    ends = [cell["high"] for cell in advice["sensitivity"]]
    better = sum(high is not None and high < 1 - WORTH for high in ends)
    return [
        f"{load['jobs']} jobs in {quantity('span_seconds', load['span_seconds'])} on {load['nodes']} "
        f"nodes use {100 * load['node_utilisation']:.0f} % of the nodes and "
        f"{100 * load['storage_utilisation']:.1f} % of the storage rate, under the assumptions.",
        verdict(advice),
        f"Mean response with {best}: "
        + ", ".join(f"{group} {change(by[best, group, RESPONSE])}" for group in (LARGE, HEAVY))
        + f"; I/O delay of {EVERYBODY} {change(by[best, EVERYBODY, DELAY], False)}.",
        f"Without any congestion the mean response would change by {change(room)}: "
        + (
            "the most that any policy can gain."
            if (room["high"] or room["ratio"]) < 1
            else "congestion costs less than the noise of the queue."
        ),
        f"Under other assumptions (I/O fraction, storage rate) {best} changes it by "
        f"{change({'ratio': min(cells)}, False)} to {change({'ratio': max(cells)}, False)}; a gain "
        f"above {100 * WORTH:g} % is certain in {better} of {len(cells)} cases.",
    ]


def parts(advice: Json, commands: Sequence[str]) -> Iterator[Part]:
    """The page, part by part."""
    yield Part("The answer", answer(advice))
    load = advice["load"]
    stated = ((words, name, load[name]) for name, words in FACTS.items())
    facts = [(words, quantity(name, value)) for words, name, value in stated if value is not None]
    yield Part("Machine and load", _queue(load), ("what", "value"), facts, picture="weeks")
    yield Part(
        "What was assumed",
        [
            "A log does not record the I/O of its jobs or the rate of the storage. Replace the "
            "invented values below by measurements first (--darshan, --io-fraction, "
            "--machine node_rate=..., storage_rate=...).",
            *(f"- {text}" for text in advice["warnings"]),
        ],
    )
    groups = list(advice["groups"])
    rows = []
    for measure, words in ((RESPONSE, "mean response"), (DELAY, "I/O delay")):
        by: dict[str, list[str]] = {}
        for row in advice["policies"]:
            if row["measure"] == measure and not (row["solver"] == IDEAL and measure == DELAY):
                by.setdefault(row["solver"], []).append(change(row))
        rows += [(solver, words, *found) for solver, found in by.items()]
    yield Part(
        "Change by policy and group",
        [
            f"Change compared with {advice['baseline']}, where all share the storage; in brackets 95 % "
            f"intervals from {advice['resamples']} resamples of the {advice['blocks']} of the log. "
            f"{LARGE}: the {TENTH} with most nodes ({advice['groups'][LARGE]}, "
            f"{load['large_job_nodes']:g} nodes or more); {HEAVY}: the {TENTH} with the "
            f"largest share of I/O ({advice['groups'][HEAVY]}). {IDEAL} is not a policy: no job "
            "delays another."
        ],
        ("policy", "of", *groups), rows, picture="gains",
    )  # fmt: skip
    yield _sensitivity(advice)
    yield Part("How to repeat it", ["In the folder where this was run:"], commands=commands)
    yield Part(
        "How to read it",
        [
            f"The answer is about the best of {_policies(advice)} policies, so its interval is a "
            f"{100 * advice['verdict']['level']:.4g} % interval rather than a 95 % one. One job that ends "
            "later changes what the batch queue starts for days. The intervals include that noise as far as "
            "it differs between weeks. They do not include errors of the assumptions: see the table of other "
            "assumptions."
        ],
    )


def _queue(load: Json) -> list[str]:
    """A warning where the simulated queue is unlike the log's."""
    logged, simulated = load["mean_wait_in_log_seconds"], load["mean_wait_simulated_seconds"]
    if logged is None or max(logged, simulated) <= UNLIKE * max(1.0, min(logged, simulated)):
        return []
    return [
        f"The mean wait is {quantity('wait_seconds', logged)} in the log and "
        f"{quantity('wait_seconds', simulated)} in the simulation: the real queue had other rules (limits, "
        "reservations, several partitions). Trust changes of I/O delay more than changes of response."
    ]


def _policies(advice: Json) -> int:
    return len({row["solver"] for row in advice["policies"]}) - 1


def _sensitivity(advice: Json) -> Part:
    """The sweep as a grid: a row an I/O fraction, a column a rate of the storage."""
    cells = advice["sensitivity"]
    rates = sorted({cell["storage_bytes_per_second"] for cell in cells})
    fractions = sorted({cell["io_fraction"] for cell in cells})
    at = {(cell["io_fraction"], cell["storage_bytes_per_second"]): cell for cell in cells}
    return Part(
        "Under other assumptions",
        [
            f"Change of the mean response of {EVERYBODY} by {advice['best']}, for other shares of "
            "run time that are I/O (of jobs without a Darshan log) and other rates of the storage."
        ],
        ("I/O fraction", *(name or "" for name in column("bytes_per_second", rates))),
        [
            (f"{fraction:g}", *(change(at[fraction, rate]) for rate in rates))
            for fraction in fractions
        ],
    )  # fmt: skip


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
    from ioopt.plot.curves import plot_gains, plot_weeks

    if which == "weeks":
        weeks = advice["weeks"]
        places = range(1, len(weeks["nodes"]) + 1)
        words = "What the jobs submitted in each week ask of the machine."
        yield plot_weeks(places, weeks["nodes"], weeks["storage"]), words
        return
    for measure, words in ((RESPONSE, "mean response"), (DELAY, "I/O delay")):
        by: dict[str, list[tuple[str, float, float, float]]] = {}
        for row in advice["policies"]:
            if row["measure"] == measure and row["solver"] != IDEAL:
                ends = [row["ratio"] if row[end] is None else row[end] for end in ("low", "high")]
                by.setdefault(row["solver"], []).append((row["group"], row["ratio"], *ends))
        caption = f"Left of the dotted line is better: {words} and its 95 % interval."
        yield plot_gains(by, words, advice["baseline"]), caption
