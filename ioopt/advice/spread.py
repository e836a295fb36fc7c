"""Compute intervals for the figures of the advice, by bootstrap over the weeks of the
log and the draws.

A *sample* is an array: first the value of a figure, then its value in each resample
(nan if there are too few weeks and draws). Each value is computed from sums over jobs,
with one row for each draw and one column for each week (Efron and Tibshirani, *An
Introduction to the Bootstrap*, 1993). Every option is resampled with the same weeks and
draws, so that effects common to all options cancel. A resample takes n - 1 of n weeks
and d - 1 of d draws, with replacement; this makes the variance of a mean of few values
unbiased.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ioopt.arrays import Floats

DAY = 86400.0
WEEK = 7 * DAY
FEWEST_BLOCKS = 4
LEVEL = 0.95
WORTH = 0.01
"""The smallest saving, as a share of run time, that makes a change worthwhile."""


class Figure(NamedTuple):
    """A figure, and the low and the high end of its interval. None means unknown or
    unlimited.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


def figure_of(sample: Floats) -> Figure:
    """Return the value of *sample*, with the interval that contains the middle
    :data:`LEVEL` of its resamples.

    With few weeks the value can lie outside this interval, which is then widened to
    contain the value.
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
    """The block of each job (its week, or its day in a short log), and the weights of
    all blocks and draws in each resample.
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
        """Return, for each block, the sum of *values*, which has one value for each
        job.
        """
        return np.bincount(self.block, values, self.count).astype(float)

    def saved(self, option: Floats, baseline: Floats) -> Floats:
        """Return the sample of the saving 1 - option / baseline; the saving is 0 if the
        baseline is 0.

        *option* and *baseline* are sums with one row for each draw and one column for
        each block. If only some of the draws were replayed, only the first entry of the
        sample, the value, is meaningful.
        """
        draws = self._draws[:, : len(option)]
        top = np.einsum("rw,rd,dw->r", self._weeks, draws, option)
        bottom = np.einsum("rw,rd,dw->r", self._weeks, draws, baseline)
        ratio = np.divide(top, bottom, out=np.ones_like(top), where=~(bottom <= 0))
        return 1 - ratio


def _drawn_again(rng: np.random.Generator, count: int, resamples: int) -> Floats:
    """Return the weights of *count* items: a row of ones for the value, and then for
    each resample the number of times that each item was drawn.
    """
    drawn = rng.multinomial(max(1, count - 1), np.full(count, 1 / count), resamples)
    return np.vstack([np.ones(count), drawn])


class Range(NamedTuple):
    """The samples of the smallest and the largest value at which a change pays.

    An entry is infinite if the range has no such end among the values that were tried.
    """

    begin: Floats
    end: Floats


def paying_range(
    values: Sequence[float], saved: Sequence[Floats], known: int | None = None
) -> Range:
    """Return the range of *values*, which ascend, in which the saving is at least
    :data:`WORTH`.

    *saved* has a sample for each value. Between the values the saving is interpolated
    linearly, and at value 0 it is 0. If there are several ranges, the range that
    contains the value at index *known* is returned, or else the last range: a chance
    saving at low values is not where a change begins to pay.

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
    """Return both ends of the paying range for one saving at each of *places*; nan if a
    saving is unknown.
    """
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
    """Return the value, between *places* at index *before* and the next index, at which
    the saving crosses :data:`WORTH`.
    """
    rise = saved[before + 1] - saved[before]
    part = (WORTH - saved[before]) / rise
    gap = places[before + 1] - places[before]
    return round(places[before] + part * gap, 12)
