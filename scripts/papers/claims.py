"""The claims of the papers: rows of a table, how they are judged, and where
their runs come from.

``scripts/papers/<paper>.toml`` has the rows. Each says what is claimed, where it
stands, the paper's word, and ``how`` it is computed: a function of the paper's module,
which takes the row's other keys (whose figures, thresholds) and returns our figure and
the verdict. ``headline`` is the paper's number in short and puts the row into the first
table of the page; ``ours = true`` marks a claim that is not the paper's and is never
counted with them; ``readings`` names those that it is computed under.

A module has READINGS, the first of which is the paper's text as literally as it can be
read: a row's verdict is that of the first reading, and the others are told where they
judge otherwise. It has ``claims(quick)``, its rows; ``sizes(quick)``, one line on how
much is run and on which seeds; ``pictures(quick)`` and ``notes(rows)`` where there are
any. ``scripts/reproduce.py`` does the rest: it opens a campaign, so that every run
becomes a row of its store and a killed reproduction goes on where it was. A test or a
script that opens none computes the runs on the spot.

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

HOLDS, TIE, PARTLY, NOT, NOT_RUN = "holds", "tie", "partly", "not", "not run"
VERDICTS = (HOLDS, TIE, PARTLY, NOT, NOT_RUN)
TIE_MARGIN = 0.01
"""A mean ratio as near as this to 1 is a tie, however narrow its interval."""
Found = tuple[str, str]
"""Our figure and the verdict."""
Other = tuple[str, str, str]
"""A reading that judges otherwise: its name, its verdict, its figure."""
_studies: list[Study] = []


class Claim(NamedTuple):
    """One claim: what the paper says where, our figure and the verdict, and
    who judges otherwise.
    """

    claim: str
    where: str
    paper: str
    ours: str
    verdict: str
    other: Sequence[Other] = ()
    headline: str = ""
    own: bool = False


class Ratio(NamedTuple):
    """A mean ratio and its 95 % interval."""

    mean: float
    low: float
    high: float


class Picture(NamedTuple):
    """A figure of the page: the name of its file, its caption, the matplotlib axes."""

    name: str
    caption: str
    axes: Any


def table(paper: str) -> dict[str, Any]:
    """The tables of *paper*: ``claims``, and what else its module needs."""
    return tomllib.loads(Path(__file__).with_name(f"{paper}.toml").read_text("utf-8"))


def computed(
    rows: Sequence[Mapping[str, Any]],
    how: Mapping[str, Any],
    readings: Mapping[str, Sequence[object]],
    **names: object,
) -> Iterator[Claim]:
    """The claims of *rows*, by the functions *how*; ``{name}`` in a text
    stands for one of *names*.
    """
    known = {"stated": stated, **how}
    first = next(iter(readings))
    for row in rows:
        given = dict(row)
        texts = [
            str(given.pop(key)).format(**names) for key in ("claim", "where", "paper")
        ]
        headline, own = given.pop("headline", ""), given.pop("ours", False)
        under = given.pop("readings", readings)
        function = known[given.pop("how")]
        (leading, (figure, word)), *others = [
            (name, function(*readings[name], **given)) for name in under
        ]
        said = figure if leading == first else f"{figure} (under: {leading})"
        other = [(name, each[1], each[0]) for name, each in others if each[1] != word]
        yield Claim(*texts, said, word, other, headline, own)


def stated(*context: object, figure: str, word: str) -> Found:
    """What nothing is computed for."""
    return figure, word


def below(ratio: tuple[float, float, float]) -> str:
    """Of a claim that one thing is below another, by their ratio (mean,
    lower, upper end; 95 %).

    It holds when the interval ends below 1, is not so when it begins above 1, and is a
    tie in between or when the mean is within TIE_MARGIN of 1.
    """
    mean, low, high = ratio
    if abs(mean - 1) < TIE_MARGIN or low <= 1 <= high:
        return TIE
    return HOLDS if high < 1 else NOT


def reaches(ratio: tuple[float, float, float], limit: float) -> str:
    """Of a claim that a ratio is at most the paper's *limit*: partly,
    if it is only below 1.
    """
    if ratio[0] <= limit:
        return HOLDS
    word = below(ratio)
    return PARTLY if word == HOLDS else word


def several(words: Sequence[str]) -> str:
    """Of a claim made of several cases: partly, where some of them hold."""
    if len(set(words)) == 1:
        return words[0]
    if HOLDS in words or PARTLY in words:
        return PARTLY
    return NOT if NOT in words else TIE


def verdict(holds: bool) -> str:
    """The word of a claim that either holds or does not."""
    return HOLDS if holds else NOT


@contextmanager
def within(study: Study) -> Iterator[None]:
    """Values asked for inside are those of *study*."""
    _studies.append(study)
    try:
        yield
    finally:
        _studies.pop()


def values_of(
    function: Callable[..., Mapping[str, Any]], settings: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """What *function*, a module's own, returns for each of *settings*,
    as JSON gives it back.
    """
    if _studies:
        target = f"{function.__module__}:{function.__qualname__}"
        return _studies[-1].values(target, settings)
    return [json.loads(json.dumps(function(**each))) for each in settings]


def point(at: float, values: Sequence[float]) -> tuple[float, float, float, int]:
    """One point of a curve: its place on the axis, mean and standard error (NaN:
    of one value), count.
    """
    mean, error = mean_and_standard_error(values)
    return at, mean, math.nan if error is None else error, len(values)


def ratio_interval(base: Sequence[float], over: Sequence[float]) -> Ratio:
    """The ratio of the means of paired runs, *over* above *base*.

    The ratio estimator's linearised variance (Cochran, Sampling Techniques, Section
    6.4): that of the mean of over - ratio x base, over the mean of base.
    """
    scale = max(statistics.fmean(base), 1e-9)
    ratio = statistics.fmean(over) / scale
    centre, low, high = mean_interval(
        (b - ratio * a) / scale for a, b in zip(base, over)
    )
    return Ratio(ratio, ratio + low - centre, ratio + high - centre)
