"""Judge the claims of Lee et al., and the claims of ioopt about the paper's closing
proposal.

The paper gives no figures for this proposal (features F5 and F6), so the rows about it
are claims of ioopt. No seed of the runs was used to choose anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from statistics import fmean
from typing import Any, Literal

from papers import lee_gangedness, lee_perturbations, lee_pictures
from papers.claims import (
    HOLDS,
    PARTLY,
    Claim,
    Found,
    Picture,
    Spot,
    computed,
    several,
    table,
    values_of,
    verdict,
)
from papers.lee_perturbations import SEED, Reading

import ioopt
from ioopt.generate.flexgang import flexible_gang
from ioopt.measure.quantum_chain import measure
from ioopt.metrics import mean_interval
from ioopt.problems.flexgang.quantum_model import (
    MeasuredPoint,
    QuantumModelProblem,
    QuantumPoint,
)

READINGS = {
    "perturbations over the whole run, messages at the rate of Table 2": Reading(),
    "a donated CPU comes back at the slot's end only": Reading(donation="irrevocable"),
    "perturbations in the first 70 % of the run": Reading(window=0.7),
    "messages in bursts, by the deviations of Table 3": Reading(bursts=True),
    "Table 2 counts requests alone": Reading(requests=True),
}
OPEN = {"quanta": (0, 1), "slopes": (0, 2), "programs": (0, 2, 3, 4)}
"""For each table of lee.toml, the indices of the readings that matter to it. Tables
that are not listed use the first reading only.
"""
SWEEP = range(1, 41)
"""The values in milliseconds along the horizontal axes of Figures 2 and 3."""
FIGURE_2 = (2.5, 5.0, 10.0, 20.0)
"""The I/O quanta qi in milliseconds of the curves of Figure 2."""
FIGURE_3 = (10.0, 20.0, 40.0)
"""The compute quanta qc in milliseconds of the curves of Figure 3."""
PAIRS = {
    "2": [(qi, float(qc)) for qi, qc in product(FIGURE_2, SWEEP)],
    "3": [(float(qi), qc) for qi, qc in product(SWEEP, FIGURE_3)],
}
"""For each figure, the pairs of quanta (qi, qc) in milliseconds of its points."""
HEAVY_SECONDS = 20.0
Curves = dict[float, list[float]]
Measure = Literal["slowdown", "fragmentation"]


@dataclass(frozen=True)
class Size:
    """The sizes of the runs."""

    runs: int
    """The number of runs of the perturbation laboratory."""
    count: int
    """The number of unseen workloads of each kind."""
    recordings: int
    """The number of recordings of each unseen workload."""
    mixes: int
    """The number of heavy mixes."""

    @classmethod
    def of(cls, quick: bool) -> Size:
        """Return the quick sizes or the full sizes."""
        if quick:
            return cls(runs=5, count=4, recordings=5, mixes=2)
        return cls(runs=20, count=16, recordings=20, mixes=16)


def sizes(quick: bool) -> str:
    """Return one line that says how much is run, and on which seeds."""
    size = Size.of(quick)
    return (
        f"{size.runs} runs, {size.recordings} recordings of an unseen workload, "
        f"{size.mixes} heavy mixes; seeds from {SEED} and {1000 * SEED} on, "
        "applications and readings chosen on seed 0"
    )


def claims(quick: bool, *sections: str) -> list[Claim]:
    """Return the claims of *sections*, which are tables of lee.toml; if none is given,
    return the claims of all tables.
    """
    size = Size.of(quick)
    rows = table("lee")
    del rows["marks"]
    how = {**vars(lee_gangedness), **vars(lee_perturbations), **globals()}
    names = list(READINGS)
    found: list[Claim] = []
    for section in sections or rows:
        contexts: dict[str, tuple[Size] | tuple[Reading]] = {}
        for k in OPEN.get(section, (0,)):
            name = names[k]
            # This claim is ioopt's own and has no readings.
            if section in ("monitor", "mixes"):
                contexts[name] = (size,)
            else:
                contexts[name] = (READINGS[name]._replace(runs=size.runs),)
        found += computed(rows[section], how, contexts, mixes=size.mixes)
    return found


@cache
def swept(donation: str) -> dict[tuple[float, float], MeasuredPoint]:
    """Return the measures for all pairs of quanta of Figures 2 and 3, computed by the
    Markov chain.
    """
    pairs = list(dict.fromkeys(PAIRS["2"] + PAIRS["3"]))
    asked = [{"qi": qi, "qc": qc, "donation": donation} for qi, qc in pairs]
    found = values_of(one_pair, asked)
    points = [MeasuredPoint.model_validate(each) for each in found]
    return dict(zip(pairs, points))


def one_pair(qi: float, qc: float, donation: str) -> dict[str, Any]:
    """Return the measures for the pair of quanta *qi* and *qc* (milliseconds)."""
    point = QuantumPoint(qi_seconds=qi / 1000, qc_seconds=qc / 1000)
    problem = QuantumModelProblem.model_validate(
        {"points": (point,), "donation": donation}
    )
    return MeasuredPoint.of(point, measure(problem, point)).model_dump(mode="json")


def curves(reading: Reading, figure: str, what: Measure) -> Curves:
    """Return the curves of Figure 2 or 3, as lists of values of the measure *what*.

    In Figure 2 there is a curve against qc for each qi; in Figure 3 there is a curve
    against qi for each qc.
    """
    found = swept(reading.donation)
    lines: Curves = {}
    if figure == "2":
        for qi in FIGURE_2:
            lines[qi] = [getattr(found[qi, float(qc)], what) for qc in SWEEP]
    else:
        for qc in FIGURE_3:
            lines[qc] = [getattr(found[float(qi), qc], what) for qi in SWEEP]
    return lines


NOISE = 1e-4
"""The largest difference of two neighbouring values that counts as no difference."""


def _steps(values: Sequence[float]) -> list[float]:
    """Return the differences of neighbouring values; differences within the noise are
    0.
    """
    found = []
    for a, b in pairwise(values):
        step = b - a
        found.append(step if abs(step) > NOISE else 0.0)
    return found


def _peaks(values: Sequence[float]) -> int:
    """Return the number of local maxima that are not at the ends; a plateau counts as
    one maximum.
    """
    turns = [step for step in _steps(values) if step]
    return sum(before > 0 > after for before, after in pairwise(turns))


MOST_STEPS = 0.5
"""The least share of the steps of a curve that go with its trend, or stay level, for
the trend to hold "in general".
"""


def trend(reading: Reading, figure: str, what: Measure, rises: bool) -> Found:
    """Judge whether every curve rises (or falls) in general.

    The last value of a curve must be above (or below) the first one, and at least
    MOST_STEPS of its steps must go in this direction or stay level. If only the ends
    agree with the claim, it holds partly.
    """
    name = "qi" if figure == "2" else "qc"
    sign = 1 if rises else -1
    ends = []
    words = []
    spots = []
    for at, values in curves(reading, figure, what).items():
        first = values[0]
        last = values[-1]
        share = fmean(sign * step >= 0 for step in _steps(values))
        ends.append(f"{name} {at:g}: {first:.3g} -> {last:.3g} ({share:.0%} of steps)")
        change = last / max(first, NOISE)
        spots.append(Spot(f"{name} {at:g} ms", change, change, change))
        word = verdict(sign * last > sign * first)
        if word == HOLDS and share < MOST_STEPS:
            word = PARTLY
        words.append(word)
    return ", ".join(ends), several(words), spots


def waves(reading: Reading, what: Measure) -> Found:
    """Judge whether a curve of Figure 2 has local maxima. For the slowdown, a curve
    that swings is enough.
    """
    found = list(curves(reading, "2", what).values())
    swings = what == "slowdown" and any(map(_swings, found))
    slopes = []
    for values in found:
        steps = _steps(values)
        slopes.append(f"{min(steps):+.3f} to {max(steps):+.3f}")
    peaks = [_peaks(values) for values in found]
    ours = (
        f"local maxima at qi 2.5, 5, 10, 20: {peaks}; slopes vary {', '.join(slopes)}"
    )
    return ours, verdict(any(peaks) or swings)


def _swings(values: Sequence[float]) -> bool:
    """Return whether a curve is steep, then less than a third as steep, and then steep
    again.
    """
    steps = _steps(values)
    flat = min(range(1, len(steps) - 1), key=lambda k: steps[k])
    return steps[flat] < min(max(steps[:flat]), max(steps[flat + 1 :])) / 3


def against_trend(reading: Reading) -> Found:
    """Judge whether the curves of Figure 3 have more steps against their trend than the
    curves of Figure 2.
    """
    third = curves(reading, "3", "slowdown")
    second = curves(reading, "2", "slowdown")
    against = [sum(step > 0 for step in _steps(x)) for x in third.values()]
    before = [sum(step < 0 for step in _steps(x)) for x in second.values()]
    ours = (
        f"steps of 39 that go against it: {against} at qc 10, 20, 40; in Figure 2 "
        f"{before} at qi 2.5, 5, 10, 20"
    )
    return ours, verdict(fmean(against) > fmean(before))


def low_inversion(
    reading: Reading, regions: Sequence[tuple[int, int, int]], most: float
) -> Found:
    """Judge whether the slowdown is at most *most* in each of *regions* of Figure 3.

    A region is a value of qc, and the first and the last value of qi.
    """
    slowdowns = curves(reading, "3", "slowdown")
    fragmentations = curves(reading, "3", "fragmentation")
    figures = []
    words = []
    spots = []
    for qc, since, until in regions:
        slow = slowdowns[qc][since - 1 : until]
        fragmented = fragmentations[qc][since - 1 : until]
        figures.append(
            f"qc {qc}, qi {since} to {until}: {min(slow):.2f} to {max(slow):.2f} "
            f"(fragmentation {min(fragmented):.2f} to {max(fragmented):.2f})"
        )
        words.append(several([verdict(value <= most) for value in slow]))
        case = f"qc {qc}, qi {since} to {until} ms"
        spots.append(Spot(case, fmean(slow), min(slow), max(slow)))
    return "; ".join(figures), several(words), spots


def heavy_mix(seed: int) -> dict[str, float]:
    """Compare the exact plan of one heavy mix with the plans of other solvers.

    A heavy mix has 10 jobs on 32 processors (quantum q = 10 ms, weight lambda = .1).
    """
    problem = flexible_gang.generate("heavy-mix", {}, seed)
    limits = {"time_limit": HEAVY_SECONDS, "gap": 0.002}
    strict = ioopt.solve(problem, "strict").metrics
    fill = ioopt.solve(problem, "strict-fill").metrics
    patterns = {"patterns": "strict"}
    without_io = ioopt.solve(problem, "flex-exact", **limits, settings=patterns).metrics
    exact = ioopt.solve(problem, "flex-exact", **limits).metrics
    goal = "simulated_objective"
    return {
        "margin": exact[goal] - max(fill[goal], without_io[goal]),
        "utilisation": exact["cpu_utilisation"],
        "io_slowdown": exact["io_slowdown"] / strict["io_slowdown"],
        "cost": without_io["compute_progress"] - exact["compute_progress"],
        "floors_kept": float(exact["floors_kept"]),
    }


def mixed(
    size: Size,
    of: str,
    least: float = -math.inf,
    most: float = math.inf,
    each: bool = False,
) -> Found:
    """Judge whether figure *of* of the heavy mixes lies between *least* and *most*, on
    average or, if *each* is true, for every mix.
    """
    found = values_of(heavy_mix, [{"seed": SEED + seed} for seed in range(size.mixes)])
    values = [one[of] for one in found]
    mean, low, high = mean_interval(values)
    ours = (
        f"mean {mean:.3f} [{low:.3f} .. {high:.3f}], {min(values):.3f} to "
        f"{max(values):.3f}"
    )
    judged = values if each else [mean]
    return ours, verdict(all(least <= value <= most for value in judged))


def pictures(quick: bool) -> Iterator[Picture]:
    """Draw Figures 2, 3 and 5 to 10."""
    found = swept("return")
    for number, pairs in PAIRS.items():
        yield lee_pictures.quanta(number, [found[pair] for pair in pairs])
    reading = Reading(runs=Size.of(quick).runs)
    yield from lee_pictures.perturbations(reading, table("lee")["marks"])
