"""Compute the claims of the papers, and judge them.

The file ``scripts/papers/<paper>.toml`` has a row for each claim: ``claim`` (what is
claimed), ``where`` (its place in the paper), ``paper`` (what the paper says), and
``how`` it is computed. ``how`` names a function of the paper's module. The function
takes the other keys of the row (such as policies and thresholds), and returns our
figure and the verdict. A row with a ``headline``, the paper's number in short, also
appears in the first table of the page. ``ours = true`` marks a claim of ioopt, which is
never counted with the claims of the paper, and ``fitted = true`` one that holds by
definition, which is not counted either. ``why`` says why a claim does not hold.
``drawn`` puts a claim on the page of pictures, with the paper's numbers beside ours.
``readings`` names the readings of the paper under which the claim is computed.

The module of a paper has READINGS; the first of them follows the text of the paper as
literally as possible. The verdict of a row is the verdict under the first reading, and
other readings are listed if their verdicts differ. The module has ``claims(quick)``,
which returns the rows; ``sizes(quick)``, one line on how much is run and on which
seeds; and optionally ``pictures(quick)``, ``notes(rows)`` and ``sweeps(quick)``,
tables of what a threshold that a paper does not print decides. The script
``scripts/reproduce.py`` opens a campaign, so that every run becomes a row of a store,
and a reproduction that was killed can be continued. In a test or a script without a
campaign, the runs are computed at once.

The rules for verdicts are :func:`below`, :func:`reaches` and :func:`several`. They are
the same for all papers, and were fixed before the reported seeds were run.
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
MIXED = "mixed"
NOT = "not"
NOT_RUN = "not run"
VERDICTS = (HOLDS, TIE, PARTLY, MIXED, NOT, NOT_RUN)
TIE_MARGIN = 0.01
"""If a mean ratio differs from 1 by less than this margin, the verdict is a tie,
whatever the interval of the ratio.
"""


class Spot(NamedTuple):
    """Our figure of one case of a claim: its mean and the ends of its 95 % interval."""

    case: str
    mean: float
    low: float
    high: float


Found = tuple[str, str] | tuple[str, str, list[Spot]]
"""Our figure as text, and the verdict; and the figures of the cases, for a claim that
the page of pictures shows.
"""
Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""A table of the page beside the claims: its title, its head and its rows."""
Other = tuple[str, str, str]
"""A reading with another verdict: the name of the reading, its verdict and its
figure.
"""
_studies: list[Study] = []


class Claim(NamedTuple):
    """One claim, with our figure and the verdict."""

    claim: str
    where: str
    """The figure, table or section of the paper that makes the claim."""
    paper: str
    """What the paper says."""
    ours: str
    verdict: str
    other: Sequence[Other] = ()
    """The readings that have another verdict."""
    headline: str = ""
    own: bool = False
    """Whether the claim is one of ioopt, not of the paper."""
    why: str = ""
    """Why it is not as the paper says, if we know."""
    fitted: bool = False
    """Whether it holds by definition, because the workload is fitted to it."""

    drawn: Mapping[str, Any] | None = None
    """For a claim on the page of pictures: the ``words`` of the axis, and the
    ``paper``'s number, or its numbers keyed by case.
    """
    spots: Sequence[Spot] = ()
    """Our figures for the page of pictures."""

    @property
    def counted(self) -> bool:
        """Return whether it is counted with the claims of the paper."""
        return not self.own and not self.fitted


class Ratio(NamedTuple):
    """A mean ratio and the two ends of its 95 % interval."""

    mean: float
    low: float
    high: float


class Picture(NamedTuple):
    """A figure of the page: the name of its file, its caption, and its matplotlib
    axes.
    """

    name: str
    caption: str
    axes: Any


def table(paper: str) -> dict[str, Any]:
    """Return the content of the TOML file of *paper*: its ``claims``, and the tables
    that its module needs.
    """
    return tomllib.loads(Path(__file__).with_name(f"{paper}.toml").read_text("utf-8"))


def computed(
    rows: Sequence[Mapping[str, Any]],
    how: Mapping[str, Any],
    readings: Mapping[str, Sequence[object]],
    **names: object,
) -> Iterator[Claim]:
    """Yield the claims of *rows*, each judged under its readings.

    *how* gives, for each name, a function that computes a claim. *readings* gives, for
    each reading, the first arguments of these functions. In the texts of a row,
    ``{name}`` stands for one of *names*.
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
        why = options.pop("why", "")
        fitted = options.pop("fitted", False)
        drawn = options.pop("drawn", None)
        under = options.pop("readings", readings)
        function = functions[options.pop("how")]
        found: dict[str, Found] = {}
        for name in under:
            found[name] = function(*readings[name], **options)
        leading = next(iter(found))
        figure, word, *spots = found.pop(leading)
        if leading != printed:
            figure = f"{figure} (under: {leading})"
        other: list[Other] = []
        for name, (other_figure, other_word, *_) in found.items():
            if other_word != word:
                other.append((name, other_word, other_figure))
        yield Claim(
            claim=claim,
            where=where,
            paper=paper,
            ours=figure,
            verdict=word,
            other=other,
            headline=headline,
            own=own,
            why=why,
            fitted=fitted,
            drawn=drawn,
            spots=spots[0] if drawn and spots else (),
        )


def stated(*context: object, figure: str, word: str) -> Found:
    """Return the figure and the verdict that the row states; nothing is computed."""
    return figure, word


def below(ratio: tuple[float, float, float]) -> str:
    """Judge the claim that one quantity is below another; *ratio* is the first divided
    by the second.

    *ratio* is a mean and the ends of its 95 % interval. The claim holds if the interval
    ends below 1, and does not hold if the interval begins above 1. It is a tie if the
    interval includes 1, or if the mean is within TIE_MARGIN of 1.
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
    """Judge the claim that *ratio* is at most *limit*, a number in the paper.

    The claim holds partly if the ratio is below 1 but above the limit.
    """
    mean, _, _ = ratio
    if mean <= limit:
        return HOLDS
    word = below(ratio)
    if word == HOLDS:
        return PARTLY
    return word


def several(words: Sequence[str]) -> str:
    """Return the verdict of a claim with several cases, given the verdicts of the
    cases.

    The claim is mixed if it holds in one case and not in another. It holds partly if
    there is no case against it, and only some of the cases hold.
    """
    if len(set(words)) == 1:
        return words[0]
    holds = HOLDS in words or PARTLY in words
    if MIXED in words or (holds and NOT in words):
        return MIXED
    if holds:
        return PARTLY
    if NOT in words:
        return NOT
    return TIE


def verdict(holds: bool) -> str:
    """Return the verdict "holds" or "not"."""
    if holds:
        return HOLDS
    return NOT


@contextmanager
def within(study: Study) -> Iterator[None]:
    """Let :func:`values_of` take its values from *study* inside the ``with`` block."""
    _studies.append(study)
    try:
        yield
    finally:
        _studies.pop()


def values_of(
    function: Callable[..., Mapping[str, Any]], settings: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return, for each of *settings*, the values that *function* computes with it, as
    read back from JSON.

    Inside a study (:func:`within`) the values come from its store, if they are stored
    there. Outside, the function is called directly.
    """
    if _studies:
        target = f"{function.__module__}:{function.__qualname__}"
        return _studies[-1].values(target, settings)
    return [json.loads(json.dumps(function(**each))) for each in settings]


def point(at: float, values: Sequence[float]) -> tuple[float, float, float, int]:
    """Return one point of a curve: its position, and the mean, the standard error and
    the number of *values*.

    The standard error of a single value is NaN.
    """
    mean, error = mean_and_standard_error(values)
    if error is None:
        error = math.nan
    return at, mean, error, len(values)


def ratio_interval(base: Sequence[float], over: Sequence[float]) -> Ratio:
    """Return the ratio of two means, *over* divided by *base*, with its 95 % interval;
    the runs are paired.

    The interval follows from the linearised variance of the ratio estimator (Cochran,
    Sampling Techniques, Section 6.4): it is the interval of the mean of over - ratio x
    base, divided by the mean of base.
    """
    scale = max(statistics.fmean(base), 1e-9)
    ratio = statistics.fmean(over) / scale
    centre, low, high = mean_interval(
        (b - ratio * a) / scale for a, b in zip(base, over)
    )
    return Ratio(ratio, ratio + low - centre, ratio + high - centre)
