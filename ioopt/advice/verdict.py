"""The verdict of advice: three kinds, and what was assumed, in one sentence."""

from __future__ import annotations

from ioopt.advice.spread import LEVEL, WORTH
from ioopt.problems.base import Json
from ioopt.units import quantity

SAVES, NOTHING, UNCERTAIN = "saves", "no clear benefit", "inconclusive"
RESPONSE, RUN = "response time", "run time"
"""What is saved: on the log's own queue, and on one that is not."""


def kind(saved: Json, bound: float | None) -> str:
    """Of a saving with its interval, and the most that it can be,
    which of the three it is.
    """
    if saved["low"] is None:
        return UNCERTAIN
    if saved["low"] > WORTH:
        return SAVES
    most = saved["high"] if bound is None else min(saved["high"], bound)
    return NOTHING if most < WORTH else UNCERTAIN


def percent(figure: Json, of: str = "", level: str = f"{100 * LEVEL:g} %: ") -> str:
    """A share in per cent, *of* what, with its interval and, for sentences,
    the *level* of that.

    >>> percent({"value": 0.099, "low": 0.04, "high": 0.15}, "run time")
    '9.9 % of run time (95 %: 4.0 to 15.0)'
    """
    value, *ends = (
        None
        if part is None
        else f"{100 * part:.{abs(part) < 1:d}f}".replace("-0.0", "0.0")
        for part in (figure["value"], figure.get("low"), figure.get("high"))
    )
    text = f"{value} %" + (f" of {of}" if of else "")
    return text if None in ends else f"{text} ({level}{ends[0]} to {ends[1]})"


def share(figure: Json, most: float) -> str:
    """A break-even fraction with its interval; null: above the
    largest fraction, *most*.
    """
    value, low, high = (
        f"above {100 * most:g}" if figure[part] is None else f"{100 * figure[part]:.2g}"
        for part in ("value", "low", "high")
    )
    known = figure["low"] is not None or figure["high"] is not None
    return f"{value} %" + (f" ({100 * LEVEL:g} %: {low} to {high})" if known else "")


def assumed(advice: Json) -> str:
    """What the verdict rests on: I/O fraction, rate of the storage, queue."""
    rate = quantity("bytes_per_second", advice["storage_bytes_per_second"])
    parts = [
        f"the storage takes {rate} "
        f"({'given' if advice['storage_given'] else 'a guess'})"
    ]
    if advice["fraction"] is not None:
        share = (
            f"{100 * advice['fraction']:.2g} % of run time in I/O "
            f"({advice['fraction_from']})"
        )
        parts.insert(0, f"jobs spend {share}")
    if advice["yours"]:
        fit = advice["fit"]
        mean, logged = (
            quantity("wait_seconds", fit[f"{name}_seconds"])
            for name in ("simulated", "logged")
        )
        parts.append(
            f"the queue is as fitted (unseen half: mean wait {mean} of {logged}, "
            f"rank {fit['rank']:.2f})"
        )
    where = (
        "assuming that "
        + ", ".join(parts[:-1])
        + " and " * (len(parts) > 1)
        + parts[-1]
    )
    return where if advice["yours"] else f"{where}, on a queue that is not yours"


def sentence(advice: Json) -> str:
    """The verdict, and what it assumes."""
    row, best, what = advice["verdict"], advice["best"], advice["measure"]
    cost, even, most = (
        percent(advice["cost"], what),
        advice["break_even"],
        advice["curve"][-1],
    )
    relief = percent(advice["relief"], "what congestion adds")
    saving = percent(row, what) + ("" if advice["yours"] else f", which is {relief}")
    begins = (
        f"if jobs spend more than {share(even, most['fraction'])} of run time in I/O: "
        f"there the policy {best} begins to save {100 * WORTH:g} % of {what}"
    )
    known = advice["fraction"] is not None
    if not known and None not in (even["value"], even["high"]):
        text = f"Pays {begins}"
    elif row["kind"] == NOTHING:
        text = (
            f"No clear benefit: the policy {best} saves {saving}; congestion costs "
            f"{cost}"
        )
        if not known:
            top = f"{100 * most['fraction']:g} %"
            text = (
                f"No clear benefit at any I/O fraction up to {top}, where congestion "
                f"costs {cost}"
            )
    elif not known:
        text = f"Inconclusive: pays perhaps {begins}"
    elif row["kind"] == SAVES:
        text = f"Saves {saving}, with the policy {best}"
    else:
        text = f"Inconclusive: the policy {best} saves {saving}"
    return f"{text}, {assumed(advice)}."
