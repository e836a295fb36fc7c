"""Figures of advice with their intervals: weeks of submission and drawings of luck are drawn again.

All figures are made of sums over jobs, a row a drawing and a column a week (Efron and Tibshirani, *An
Introduction to the Bootstrap*, 1993). The same weeks and drawings are drawn for
every option, so that what happens to all of them alike cancels. Of n weeks n - 1 are drawn, of d
drawings d - 1, which is what makes the variance of a mean of few unbiased.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ioopt.problems.base import Json

if TYPE_CHECKING:
    import numpy as np

    from ioopt.compiled import Floats

WEEK, DAY = 7 * 86400.0, 86400.0
FEWEST_BLOCKS = 4
LEVEL = 0.95
WORTH = 0.01
"""A saving below this is not worth changing anything for."""


@dataclass(frozen=True)
class Spread:
    """A figure, and what it is when weeks and drawings are drawn again (None: too few of both)."""

    value: float
    drawn: Floats | None = None

    def ends(self) -> tuple[float | None, float | None]:
        """Where the middle :data:`LEVEL` of what was drawn ends."""
        if self.drawn is None:
            return None, None
        import numpy as np

        tails = (1 - LEVEL) / 2, (1 + LEVEL) / 2
        low, high = np.quantile(self.drawn, tails, method="closest_observation")
        return float(low), float(high)

    def told(self) -> Json:
        """The figure as plain data; what is infinite is null."""
        low, high = self.ends()
        parts = {"value": self.value, "low": low, "high": high}
        return {
            name: None if part in (None, float("inf")) else part for name, part in parts.items()
        }


def combined(function: Callable[..., float], *parts: Spread) -> Spread:
    """*function* of the figures, and of each of their draws."""
    value = function(*(part.value for part in parts))
    if any(part.drawn is None for part in parts):
        return Spread(value)
    import numpy as np

    rows = zip(*(part.drawn.tolist() for part in parts if part.drawn is not None))
    return Spread(value, np.array([function(*row) for row in rows]))


class Blocks:
    """Which week (day of a short log) a job is of, and how often each counts in each resample."""

    def __init__(self, submit: Floats, drawings: int, resamples: int, seed: int) -> None:
        import numpy as np

        long = submit.max() - submit.min() >= FEWEST_BLOCKS * WEEK
        length, self.words = (WEEK, "weeks") if long else (DAY, "days")
        _, self.block = np.unique((submit // length).astype(int), return_inverse=True)
        self.count = int(self.block.max()) + 1
        rng = np.random.default_rng(seed)
        self.times: np.ndarray = np.ones((resamples, self.count))
        self.drawings: np.ndarray = np.ones((resamples, drawings))
        self.enough = self.count >= FEWEST_BLOCKS or drawings > 1
        if self.count >= FEWEST_BLOCKS:
            self.times = _again(rng, self.count, resamples)
        else:
            self.words = ""
        if drawings > 1:
            self.drawings = _again(rng, drawings, resamples)

    def sums(self, values: Sequence[Floats], member: np.ndarray) -> Floats:
        """Sums of the *values* (an array over the jobs a drawing) of the members, by drawing and week."""
        import numpy as np

        rows = [np.bincount(self.block, row * member, self.count) for row in values]
        return np.array(rows, float)

    def saved(self, option: Floats, baseline: Floats) -> Spread:
        """1 - sum over sum: what an option saves of what is without it (0 of nothing)."""
        import numpy as np

        top, bottom = option.sum(), baseline.sum()
        if bottom <= 0:
            return Spread(0.0, np.zeros(len(self.times)) if self.enough else None)
        if not self.enough:
            return Spread(float(1 - top / bottom))
        drawings = self.drawings if len(option) > 1 else np.ones((len(self.times), 1))
        tops, bottoms = np.einsum("rw,rd,sdw->sr", self.times, drawings, [option, baseline])
        found = 1 - np.divide(tops, bottoms, out=np.ones_like(tops), where=bottoms > 0)
        return Spread(float(1 - top / bottom), found)


def _again(rng: np.random.Generator, count: int, resamples: int) -> Floats:
    """How often each of *count* is drawn, a row a resample."""
    import numpy as np

    return rng.multinomial(count - 1, np.full(count, 1 / count), resamples).astype(float)


def break_even(fractions: Sequence[float], saved: Sequence[Spread]) -> Spread:
    """The fraction from which on a saving is at least :data:`WORTH`; infinite where none is.

    *saved* is that at each of the *fractions*, ascending; between them the saving is taken to be
    linear, and 0 at 0.

    >>> break_even([0.1, 0.2], [Spread(0.0), Spread(0.02)]).value
    0.15
    """

    def crossing(*values: float) -> float:
        places, found = [0.0, *fractions], [0.0, *values]
        k = len(found) - 1
        if found[k] < WORTH:
            return float("inf")
        while k > 0 and found[k - 1] >= WORTH:
            k -= 1
        part = (WORTH - found[k - 1]) / (found[k] - found[k - 1])
        return round(places[k - 1] + part * (places[k] - places[k - 1]), 12)

    return combined(crossing, *saved)
