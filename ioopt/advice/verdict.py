"""The verdict of advice: three kinds, and what was assumed, in one sentence."""

from __future__ import annotations

from ioopt.advice.spread import LEVEL, WORTH
from ioopt.problems.base import Json
from ioopt.units import quantity

SAVES, NOTHING, UNCERTAIN = "saves", "no clear benefit", "inconclusive"
RESPONSE, RUN = "response time", "run time"
"""What is saved: on the log's own queue, and on one that is not."""


def kind(saved: Json, bound: float | None) -> str:
    """Of a saving with its interval, and the most that it can be, which of the three it is."""
    if saved["low"] is None:
        return UNCERTAIN
    if saved["low"] > WORTH:
        return SAVES
    most = saved["high"] if bound is None else min(saved["high"], bound)
    return NOTHING if most < WORTH else UNCERTAIN


def number(value: float) -> str:
    """A share in per cent, as many digits as mean something."""
    text = f"{100 * value:.1f}" if abs(value) < 1 else f"{100 * value:.0f}"
    return "0.0" if text == "-0.0" else text


def percent(figure: Json, of: str = "", level: str = f"{100 * LEVEL:g} %: ") -> str:
    """A share in per cent, *of* what, with its interval and, for sentences, the *level* of that.

    >>> percent({"value": 0.099, "low": 0.04, "high": 0.15}, "run time")
    '9.9 % of run time (95 %: 4.0 to 15.0)'
    """
    text = f"{number(figure['value'])} %" + (f" of {of}" if of else "")
    if figure.get("low") is not None:
        text += f" ({level}{number(figure['low'])} to {number(figure['high'])})"
    return text


def share(figure: Json, most: float) -> str:
    """A break-even fraction with its interval; null: above the largest fraction, *most*."""

    def told(value: float | None) -> str:
        return f"above {100 * most:g}" if value is None else f"{100 * value:.2g}"

    text = f"{told(figure['value'])} %"
    if figure["low"] is None and figure["high"] is None:
        return text
    return f"{text} ({100 * LEVEL:g} %: {told(figure['low'])} to {told(figure['high'])})"


def assumed(advice: Json) -> str:
    """What the verdict rests on: I/O fraction, rate of the storage, queue."""
    rate = quantity("bytes_per_second", advice["load"]["storage_bytes_per_second"])
    parts = [f"the storage takes {rate} ({'given' if advice['storage_given'] else 'a guess'})"]
    if advice["fraction"] is not None:
        came = {"given": "given", "darshan": "by Darshan"}[advice["fraction_from"]]
        parts.insert(0, f"jobs spend {100 * advice['fraction']:.2g} % of run time in I/O ({came})")
    if advice["yours"]:
        fit = advice["fit"]
        means = [
            quantity("wait_seconds", fit[f"{name}_seconds"]) for name in ("simulated", "logged")
        ]
        parts.append(
            f"the queue is as fitted (unseen half: mean wait {means[0]} of {means[1]}, "
            f"rank {fit['rank']:.2f})"
        )
    where = "assuming that " + ", ".join(parts[:-1]) + " and " * (len(parts) > 1) + parts[-1]
    return where if advice["yours"] else f"{where}, on a queue that is not yours"


def sentence(advice: Json) -> str:
    """The verdict, and what it assumes."""
    row, cost, what = advice["verdict"], advice["cost"], advice["measure"]
    best, where, most = advice["best"], assumed(advice), advice["curve"][-1]["fraction"]
    if advice["fraction"] is None:
        even = advice["break_even"]
        if even["value"] is not None and even["high"] is not None:
            return (
                f"Pays if jobs spend more than {share(even, most)} of run time in I/O, where {best} begins "
                f"to save {100 * WORTH:g} % of {what}, {where}."
            )
        if row["kind"] == NOTHING:
            return (
                f"No clear benefit at any I/O fraction up to {100 * most:g} %, where congestion costs "
                f"{percent(cost, what)}, {where}."
            )
        return (
            f"Inconclusive: {best} begins to save {100 * WORTH:g} % of {what} at an I/O fraction of "
            f"{share(even, most)}, {where}."
        )
    relief = ""
    if not advice["yours"]:
        relief = f", which is {percent(advice['relief'], 'what congestion adds')},"
    if row["kind"] == SAVES:
        return f"Saves {percent(row, what)}{relief} with {best}, {where}."
    if row["kind"] == UNCERTAIN:
        return f"Inconclusive: {best} saves {percent(row, what)}{relief.rstrip(',')}, {where}."
    return f"No clear benefit: {best} saves {percent(row, what)}, congestion costs {percent(cost)}, {where}."
