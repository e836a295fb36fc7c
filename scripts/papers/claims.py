"""Compute and judge the claims of the papers.

``scripts/papers/<paper>.toml`` has a row for each claim: what is claimed, where in the
paper, the paper's word, and ``how`` it is computed. ``how`` names a function of the
paper's module; it takes the other keys of the row (such as policies and thresholds) and
returns our figure and the verdict. ``headline`` is the paper's number in short and puts
the row into the first table of the page. ``ours = true`` marks a claim that is not the
paper's and is never counted with them. ``readings`` names the readings of the paper
under which the claim is computed.

A module has READINGS, the first of which is the paper's text as literally as it can be
read: a row's verdict is that of the first reading, and the others are listed if their
verdicts differ. It has ``claims(quick)``, its rows; ``sizes(quick)``, one line on how
much is run and on which seeds; and optionally ``pictures(quick)`` and ``notes(rows)``.
``scripts/reproduce.py`` does the rest: it opens a campaign, so that every run becomes a
row of its store, and a killed reproduction can be continued. In a test or a script that
opens no campaign, the runs are computed at once.

The rules of the verdicts, fixed before the reported seeds are run and the same for all
papers, are :func:`below`, :func:`reaches` and :func:`several`.
"""

from __future__ import annotations

import json
import math
import statistics
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ioopt.campaign.study import Study
from ioopt.metrics import mean_and_standard_error, mean_interval

HOLDS = "holds"
TIE = "tie"
PARTLY = "partly"
NOT = "not"
NOT_RUN = "not run"
VERDICTS = (HOLDS, TIE, PARTLY, NOT, NOT_RUN)
TIE_MARGIN = 0.01
"""Distance of a mean ratio from 1 below which the verdict is a tie, whatever its
interval.
"""
Found = tuple[str, str]
"""Our figure and the verdict."""
Other = tuple[str, str, str]
"""A reading with another verdict: its name, its verdict, its figure."""
_studies: list[Study] = []


class Claim(NamedTuple):
    """Record one claim with our figure and the verdict."""

    claim: str
    where: str
    """The figure, table or section of the paper."""
    paper: str
    """What the paper says."""
    ours: str
    verdict: str
    other: Sequence[Other] = ()
    """Readings with another verdict."""
    headline: str = ""
    own: bool = False
    """Whether the claim is ioopt's, not the paper's."""


class Ratio(NamedTuple):
    """State a mean ratio and its 95 % interval."""

    mean: float
    low: float
    high: float


class Picture(NamedTuple):
    """Describe a figure of the page: the name of its file, its caption, the matplotlib
    axes.
    """

    name: str
    caption: str
    axes: Any


def table(paper: str) -> dict[str, Any]:
    """Return the tables of *paper*: ``claims``, and those that its module needs."""
    return tomllib.loads(Path(__file__).with_name(f"{paper}.toml").read_text("utf-8"))


def computed(
    rows: Sequence[Mapping[str, Any]],
    how: Mapping[str, Any],
    readings: Mapping[str, Sequence[object]],
    **names: object,
) -> Iterator[Claim]:
    """Yield the claims of *rows*, each judged under its readings.

    *how* maps names to functions, *readings* each reading to the first arguments of
    such a function. ``{name}`` in a text stands for one of *names*.
    """
    functions = {"stated": stated, **how}
    printed = next(iter(readings))
    for row in rows:
        options = dict(row)
        claim = str(options.pop("claim")).format(**names)
        where = str(options.pop("where")).format(**names)
        paper = str(options.pop("paper")).format(**names)
        headline = options.pop("headline", "")
        own = options.pop("ours", False)
        under = options.pop("readings", readings)
        function = functions[options.pop("how")]
        found: dict[str, Found] = {}
        for name in under:
            found[name] = function(*readings[name], **options)
        leading = next(iter(found))
        figure, word = found.pop(leading)
        if leading != printed:
            figure = f"{figure} (under: {leading})"
        other: list[Other] = []
        for name, (other_figure, other_word) in found.items():
            if other_word != word:
                other.append((name, other_word, other_figure))
        yield Claim(claim, where, paper, figure, word, other, headline, own)


def stated(*context: object, figure: str, word: str) -> Found:
    """Return figure and verdict as written in the row, without computing anything."""
    return figure, word


def below(ratio: tuple[float, float, float]) -> str:
    """Judge the claim that one quantity is below another, by the *ratio* of the two.

    *ratio* is the mean and the ends of its 95 % interval. The claim holds when the
    interval ends below 1, does not hold when it begins above 1, and is a tie when the
    interval includes 1 or the mean is within TIE_MARGIN of 1.
    """
    mean, low, high = ratio
    if abs(mean - 1) < TIE_MARGIN:
        return TIE
    if low <= 1 <= high:
        return TIE
    if high < 1:
        return HOLDS
    return NOT


def reaches(ratio: tuple[float, float, float], limit: float) -> str:
    """Judge the claim that a ratio is at most the paper's *limit*.

    It holds partly when the ratio is below 1 and above the limit.
    """
    mean, _, _ = ratio
    if mean <= limit:
        return HOLDS
    word = below(ratio)
    if word == HOLDS:
        return PARTLY
    return word


def several(words: Sequence[str]) -> str:
    """Judge a claim of several cases: it holds partly if only some cases hold."""
    if len(set(words)) == 1:
        return words[0]
    if HOLDS in words or PARTLY in words:
        return PARTLY
    if NOT in words:
        return NOT
    return TIE


def verdict(holds: bool) -> str:
    """Return the verdict of a claim that either holds or does not."""
    if holds:
        return HOLDS
    return NOT


@contextmanager
def within(study: Study) -> Iterator[None]:
    """Let :func:`values_of` take its values from *study* inside the block."""
    _studies.append(study)
    try:
        yield
    finally:
        _studies.pop()


def values_of(
    function: Callable[..., Mapping[str, Any]], settings: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the values of *function* for each of *settings*, as read back from JSON.

    Outside a study (:func:`within`), call the function directly.
    """
    if _studies:
        target = f"{function.__module__}:{function.__qualname__}"
        return _studies[-1].values(target, settings)
    return [json.loads(json.dumps(function(**each))) for each in settings]


def point(at: float, values: Sequence[float]) -> tuple[float, float, float, int]:
    """Return one point of a curve: position, mean, standard error and number of values.

    The standard error of a single value is NaN.
    """
    mean, error = mean_and_standard_error(values)
    if error is None:
        error = math.nan
    return at, mean, error, len(values)


def ratio_interval(base: Sequence[float], over: Sequence[float]) -> Ratio:
    """Return the ratio of the means of paired runs, *over* to *base*.

    Its interval follows from the linearised variance of the ratio estimator (Cochran,
    Sampling Techniques, Section 6.4): it is the interval of the mean of over - ratio x
    base, divided by the mean of base.
    """
    scale = max(statistics.fmean(base), 1e-9)
    ratio = statistics.fmean(over) / scale
    centre, low, high = mean_interval(
        (b - ratio * a) / scale for a, b in zip(base, over)
    )
    return Ratio(ratio, ratio + low - centre, ratio + high - centre)
