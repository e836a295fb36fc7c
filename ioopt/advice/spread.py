"""Figures of advice with their intervals: weeks of the log and draws are drawn again.

A *sample* is an array: a figure's value first, then what it is in each resample (nan
where there are too few weeks and draws). All are made of sums over jobs, a row a draw
and a column a week (Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993).
The same weeks and draws are drawn for every option, so that what happens to all of them
alike cancels. Of n weeks n - 1 are drawn, of d draws d - 1, which is what makes the
variance of a mean of few unbiased.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ioopt.compiled import Floats

DAY = 86400.0
WEEK = 7 * DAY
FEWEST_BLOCKS = 4
LEVEL = 0.95
WORTH = 0.01
"""A saving below this is not worth changing anything for."""


class Figure(NamedTuple):
    """A figure and its interval, which holds it; None: unknown or without limit."""

    value: float | None
    low: float | None = None
    high: float | None = None


def figure_of(sample: Floats) -> Figure:
    """Return the value of *sample*, and where the middle :data:`LEVEL` of its resamples
    ends.

    The interval is widened to the value where that lies outside, which resamples of
    few weeks can bring about.
    """
    value = float(sample[0])
    if np.isnan(sample[1:]).any():
        return Figure(_finite(value))
    tails = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    low, high = np.quantile(sample[1:], tails, method="closest_observation")
    return Figure(
        _finite(value),
        _finite(min(float(low), value)),
        _finite(max(float(high), value)),
    )


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


class Blocks:
    """Which week (day of a short log) a job is of, and how often each week and each
    draw counts in each resample.
    """

    def __init__(self, starts: Floats, draws: int, resamples: int, seed: int) -> None:
        self.words = "weeks"
        length = WEEK
        if starts.max() - starts.min() < FEWEST_BLOCKS * WEEK:
            self.words = "days"
            length = DAY
        _, self.block = np.unique((starts // length).astype(int), return_inverse=True)
        self.count = int(self.block.max()) + 1
        if self.count < FEWEST_BLOCKS:
            self.block = np.zeros_like(self.block)
            self.count = 1
            self.words = ""
        rng = np.random.default_rng(seed)
        self._weeks = _drawn_again(rng, self.count, resamples)
        self._draws = _drawn_again(rng, draws, resamples)
        if self.count == 1 and draws == 1:
            self._weeks[1:] = np.nan

    def sums(self, values: Floats) -> Floats:
        """Return the sum of *values* (one a job) in each block."""
        return np.bincount(self.block, values, self.count).astype(float)

    def saved(self, option: Floats, baseline: Floats) -> Floats:
        """Return the sample of 1 - option / baseline, 0 where the baseline is nothing.

        Both are sums: a row a draw, a column a block. Of fewer draws than there are
        only the value means something.
        """
        draws = self._draws[:, : len(option)]
        top = np.einsum("rw,rd,dw->r", self._weeks, draws, option)
        bottom = np.einsum("rw,rd,dw->r", self._weeks, draws, baseline)
        ratio = np.divide(top, bottom, out=np.ones_like(top), where=~(bottom <= 0))
        return 1 - ratio


def _drawn_again(rng: np.random.Generator, count: int, resamples: int) -> Floats:
    """Return how often each of *count* counts: once, then as in each resample."""
    drawn = rng.multinomial(max(1, count - 1), np.full(count, 1 / count), resamples)
    return np.vstack([np.ones(count), drawn])


class Range(NamedTuple):
    """Samples of the least and the largest value at which a change pays.

    Infinite: it never begins, or never ends, at the values that were looked at.
    """

    begin: Floats
    end: Floats


def paying_range(
    values: Sequence[float], saved: Sequence[Floats], known: int | None = None
) -> Range:
    """Return the range of *values*, ascending, where a saving is :data:`WORTH` or more.

    *saved* are samples at each value; between values the saving is taken to be linear,
    and it is 0 at 0. Of several ranges it is that of the value at place *known*, else
    the last: what pays by luck at low values is not where a change begins to pay.

    >>> import numpy as np
    >>> found = paying_range([0.1, 0.2], [np.array([0.0]), np.array([0.02])])
    >>> found.begin.tolist(), found.end.tolist()
    ([0.15], [inf])
    """
    if not values:
        return Range(np.array([np.inf, np.inf]), np.array([np.inf, np.inf]))
    places = [0.0, *values]
    ranges = [
        _range_of(places, [0.0, *row], None if known is None else known + 1)
        for row in np.array(saved).T.tolist()
    ]
    begin, end = np.array(ranges).T
    return Range(begin, end)


def _range_of(
    places: Sequence[float], saved: Sequence[float], known: int | None
) -> tuple[float, float]:
    """Return where the range of one row of savings begins and ends; nan: unknown."""
    if np.isnan(saved).any():
        return float("nan"), float("nan")
    paying = [place for place, value in enumerate(saved) if value >= WORTH]
    if not paying:
        return float("inf"), float("inf")
    inside = known if known in paying else paying[-1]
    assert inside is not None
    first = inside
    while first - 1 in paying:
        first -= 1
    last = inside
    while last + 1 in paying:
        last += 1
    begin = _crossing(places, saved, first - 1)
    if last + 1 == len(places):
        return begin, float("inf")
    return begin, _crossing(places, saved, last)


def _crossing(places: Sequence[float], saved: Sequence[float], before: int) -> float:
    """Return where the saving is :data:`WORTH` between a place and the next."""
    rise = saved[before + 1] - saved[before]
    part = (WORTH - saved[before]) / rise
    gap = places[before + 1] - places[before]
    return round(places[before] + part * gap, 12)
