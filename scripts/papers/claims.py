"""What a reproduction row is, how its verdict is worded, and the intervals behind it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ioopt.tables import render

REPRODUCED, PARTLY, NOT = "reproduced", "partly", "not reproduced"
UNDECIDED, NOT_RUN = "undecided", "not run"


class Claim(NamedTuple):
    """One claim: what the paper says where, our figure, the verdict, and the claim's number if any."""

    claim: str
    where: str
    paper: str
    ours: str
    verdict: str
    number: str = ""

    @property
    def counted(self) -> bool:
        """Whether the row is a claim of its own, not another reading of one (2b beside 2)."""
        return not self.number or self.number[-1].isdigit()


def verdict(holds: bool) -> str:
    """The word of the last column."""
    return REPRODUCED if holds else NOT


def show(title: str, rows: Sequence[Claim]) -> None:
    """Print a titled table."""
    print(f"\n{title}\n")
    print(
        render(("claim", "where", "paper", "measured", "verdict"), [r[:5] for r in rows]),
        flush=True,
    )


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error; NaN for the error of one value."""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return statistics.fmean(values), error


def interval(values: Iterable[float]) -> tuple[float, float, float]:
    """(mean, lower, upper): a 95 % interval of the mean by Student's t; equal for one value."""
    from scipy import stats

    data = list(values)
    mean = statistics.fmean(data)
    if len(data) < 2:
        return mean, mean, mean
    half = float(stats.t.ppf(0.975, len(data) - 1)) * mean_and_error(data)[1]
    return mean, mean - half, mean + half


def ratio_interval(below: Sequence[float], above: Sequence[float]) -> tuple[float, float, float]:
    """(ratio of the means, lower, upper) of paired runs, 95 %.

    The ratio estimator's linearised variance (Cochran, Sampling Techniques, Section 6.4): that of the
    mean of above - ratio x below, over the mean of below.
    """
    scale = max(statistics.fmean(below), 1e-9)
    ratio = statistics.fmean(above) / scale
    centre, low, high = interval((b - ratio * a) / scale for a, b in zip(below, above))
    return ratio, ratio + low - centre, ratio + high - centre
