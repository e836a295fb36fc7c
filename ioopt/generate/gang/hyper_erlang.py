"""Hyper-Erlang distributions of common order, fitted to three moments, as Jann et al. 1997 do.

A mixture of two Erlang distributions of the same order n: with probability p the scale (mean of a
stage) is x, else y. Johnson and Taaffe (Stochastic Models 5, 1989): the scaled moments
u1 = m1/n, u2 = m2/(n(n+1)), u3 = m3/(n(n+1)(n+2)) are those of a two-point distribution on {x, y},
which exists once n is large enough; the smallest such n is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ioopt.errors import UsageError

if TYPE_CHECKING:
    from numpy.random import Generator

    from ioopt.formats.swf.log import SwfJob, SwfTrace
    from ioopt.generate import Array, Sample

MAX_ORDER, FEWEST_JOBS = 1_000_000, 30
_TIE = 1e-12


@dataclass(frozen=True)
class HyperErlang:
    """``share`` of the values are Erlang of ``order`` with scale ``first``, the rest ``second``."""

    order: int
    share: float
    first: float
    second: float

    def sample(self, random: Generator, count: int) -> Array:
        """*count* values from a numpy random generator."""
        import numpy as np

        scale = np.where(random.random(count) < self.share, self.first, self.second)
        return random.gamma(self.order, 1.0, count) * scale


def fit(m1: float, m2: float, m3: float) -> HyperErlang:
    """The hyper-Erlang distribution of least common order with these raw moments.

    Moments of a constant give order MAX_ORDER, which is a constant for all purposes. Raises
    UsageError for moments that no positive random variable has (m1 <= 0, m2 < m1^2 or m1 m3 <
    m2^2).
    """
    if not (m1 > 0 and m2 > 0 and m3 > 0 and all(map(math.isfinite, (m1, m2, m3)))):
        raise UsageError(f"moments must be positive and finite: {m1:g}, {m2:g}, {m3:g}")
    spread, skew = m2 / (m1 * m1), m1 * m3 / (m2 * m2)
    if spread < 1 - 1e-9 or skew < 1 - 1e-9:
        raise UsageError(f"no positive random variable has the moments {m1:g}, {m2:g}, {m3:g}")
    order = max(_least_order(spread, 1), _least_order(skew, 2))
    if order >= MAX_ORDER:
        return HyperErlang(MAX_ORDER, 1.0, m1 / MAX_ORDER, m1 / MAX_ORDER)
    u1, u2 = m1 / order, m2 / (order * (order + 1))
    u3 = m3 / (order * (order + 1) * (order + 2))
    variance = u2 - u1 * u1
    if variance <= _TIE * u1 * u1:
        return HyperErlang(order, 1.0, u1, u1)
    total = (u3 - u1 * u2) / variance
    product = total * u1 - u2
    root = math.sqrt(max(total * total - 4 * product, 0.0))
    first, second = (total + root) / 2, max((total - root) / 2, 0.0)
    return HyperErlang(order, (u1 - second) / (first - second), first, second)


def _least_order(ratio: float, offset: int) -> int:
    """The least n with ratio >= (n + offset) / (n + offset - 1)."""
    if ratio <= 1 + 1 / MAX_ORDER:
        return MAX_ORDER
    return max(1, math.ceil(1 / (ratio - 1) - offset + 1 - 1e-9))


@dataclass(frozen=True)
class RangeFit:
    """Jobs of one range of sizes: how many, and fits of their run times and gaps (seconds)."""

    low: int
    high: int
    jobs: int
    runtime: HyperErlang
    gap: HyperErlang


def raw_moments(values: Sequence[float]) -> tuple[float, float, float]:
    """The first three raw moments of a sample."""
    count = len(values)
    sums = [math.fsum(value**power for value in values) / count for power in (1, 2, 3)]
    return sums[0], sums[1], sums[2]


def size_ranges(trace: SwfTrace) -> list[tuple[int, int, list[float], list[float]]]:
    """Per power-of-two range of sizes: (low, high, run times, gaps), jobs that ran for no time left out."""
    jobs, _ = trace.usable_jobs()
    ranges: dict[int, list[SwfJob]] = {}
    for job in jobs:
        size = job.size()
        if size and job.run_seconds:
            ranges.setdefault((size - 1).bit_length(), []).append(job)
    out = []
    for power, members in sorted(ranges.items()):
        submit = [job.submit_seconds or 0.0 for job in members]
        gaps = [later - earlier for earlier, later in pairwise(submit)]
        low = 2 ** (power - 1) + 1 if power else 1
        out.append((low, 2**power, [job.run_seconds or 0.0 for job in members], gaps))
    return out


def fit_trace(trace: SwfTrace) -> list[RangeFit]:
    """Fits for every range of sizes with FEWEST_JOBS or more; UsageError when there is none."""
    fits = [
        RangeFit(low, high, len(runs), fit(*raw_moments(runs)), fit(*raw_moments(gaps)))
        for low, high, runs, gaps in size_ranges(trace)
        if len(runs) >= FEWEST_JOBS
    ]
    if not fits:
        raise UsageError(f"{trace.name}: no range of sizes has {FEWEST_JOBS} jobs or more to fit")
    return fits


def sample(fits: Sequence[RangeFit], count: int, nodes: int, random: Generator) -> Sample:
    """(sizes, run times, arrival times) of the first *count* jobs of the merged ranges.

    Sizes are uniform within their range and at most *nodes*.
    """
    import numpy as np

    parts = []
    for part in fits:
        arrival = np.cumsum(part.gap.sample(random, count))
        low, high = min(part.low, nodes), min(part.high, nodes)
        size = random.integers(low, high + 1, count)
        parts.append((size, part.runtime.sample(random, count), arrival))
    size, length, arrival = (np.concatenate(columns) for columns in zip(*parts))
    order = np.argsort(arrival, kind="stable")[:count]
    return size[order], length[order], arrival[order]
