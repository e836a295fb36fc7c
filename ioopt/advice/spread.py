"""Figures of advice with their intervals: weeks of submission and drawings of
luck are drawn again.

A figure is an array: its value first, then what it is in each resample (nan where there
are too few weeks and drawings). All are made of sums over jobs, a row a drawing and a
column a week (Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993). The same
weeks and drawings are drawn for every option, so that what happens to all of them alike
cancels. Of n weeks n - 1 are drawn, of d drawings d - 1, which is what makes the
variance of a mean of few unbiased.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ioopt.problems.base import Json

if TYPE_CHECKING:
    from ioopt.compiled import Floats

WEEK, DAY = 7 * 86400.0, 86400.0
FEWEST_BLOCKS = 4
LEVEL = 0.95
WORTH = 0.01
"""A saving below this is not worth changing anything for."""


def told(figure: Floats) -> Json:
    """The value, and where the middle :data:`LEVEL` of its resamples ends; null:
    unknown or infinite.
    """
    tails = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    ends = np.quantile(figure[1:], tails, method="closest_observation")
    parts = zip(("value", "low", "high"), (figure[0], *ends))
    return {name: float(part) if np.isfinite(part) else None for name, part in parts}


class Blocks:
    """Which week (day of a short log) a job is of, and how often each
    counts in each resample.
    """

    def __init__(
        self, submit: Floats, drawings: int, resamples: int, seed: int
    ) -> None:
        long = submit.max() - submit.min() >= FEWEST_BLOCKS * WEEK
        length, self.words = (WEEK, "weeks") if long else (DAY, "days")
        _, self.block = np.unique((submit // length).astype(int), return_inverse=True)
        count = int(self.block.max()) + 1
        if count < FEWEST_BLOCKS:
            self.block, count, self.words = np.zeros_like(self.block), 1, ""
        rng = np.random.default_rng(seed)
        self.weeks, self.drawings = (
            _again(rng, n, resamples) for n in (count, drawings)
        )
        if count == drawings == 1:
            self.weeks[1:] = np.nan

    def saved(
        self, option: Sequence[Floats], baseline: Sequence[Floats], member: np.ndarray
    ) -> Floats:
        """1 - sum over sum of the members' values, an array over jobs a
        drawing (0 of nothing).

        Of fewer drawings than there are only the value means something.
        """
        count = self.weeks.shape[1]
        sums = [
            [np.bincount(self.block, values * member, count) for values in rows]
            for rows in (option, baseline)
        ]
        drawings = self.drawings[:, : len(option)]
        tops, bottoms = np.einsum("rw,rd,sdw->sr", self.weeks, drawings, sums)
        return 1 - np.divide(
            tops, bottoms, out=np.ones_like(tops), where=~(bottoms <= 0)
        )


def _again(rng: np.random.Generator, count: int, resamples: int) -> Floats:
    """How often each of *count* counts: once, and then as drawn, a row a resample."""
    drawn = rng.multinomial(max(1, count - 1), np.full(count, 1 / count), resamples)
    return np.vstack([np.ones(count), drawn])


def break_even(fractions: Sequence[float], saved: Sequence[Floats]) -> Floats:
    """The fraction from which on a saving is at least :data:`WORTH`;
    infinite where none is.

    *saved* are figures at each of the *fractions*, ascending; between them the saving
    is taken to be linear, and 0 at 0.

    >>> import numpy as np
    >>> break_even([0.1, 0.2], [np.array([0.0]), np.array([0.02])]).tolist()
    [0.15]
    """
    places, found = np.array([0.0, *fractions]), np.array([0 * saved[0], *saved])
    found[0] = 0.0
    # where it is below for the last time
    last = len(fractions) - np.argmax(found[::-1] < WORTH, axis=0)
    after, column = np.minimum(last + 1, len(fractions)), np.arange(found.shape[1])
    low, high = found[last, column], found[after, column]
    part = (WORTH - low) / np.where(last < after, high - low, 1.0)
    even = places[last] + part * (places[after] - places[last])
    return np.where(last < after, np.round(even, 12), np.inf)
