"""Lee et al.: the claims of its sections, and what its text leaves open.

The paper has no figures for features F5 and F6 on its closing proposal: those rows are
ioopt's own. All plans are simulated on seeds on which none was chosen.
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
    Claim,
    Found,
    Picture,
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
"""The readings that make a difference to a table; others are run under
the first one alone.
"""
SWEEP = range(1, 41)
FIGURE_2, FIGURE_3 = (2.5, 5.0, 10.0, 20.0), (10.0, 20.0, 40.0)
PAIRS = {
    "2": [(qi, float(qc)) for qi, qc in product(FIGURE_2, SWEEP)],
    "3": [(float(qi), qc) for qi, qc in product(SWEEP, FIGURE_3)],
}
"""Quanta (qi, qc) in milliseconds of the figures."""
HEAVY_SECONDS = 20.0
Curves = dict[float, list[float]]
Measure = Literal["slowdown", "fragmentation"]


@dataclass(frozen=True)
class Size:
    """Runs of the laboratory, workloads of each kind, recordings
    of each, heavy mixes.
    """

    runs: int
    count: int
    recordings: int
    mixes: int

    @classmethod
    def of(cls, quick: bool) -> Size:
        """Full and quick sizes."""
        return cls(5, 4, 5, 2) if quick else cls(20, 16, 20, 16)


def sizes(quick: bool) -> str:
    """One line: how much is run, and on which seeds."""
    size = Size.of(quick)
    return (
        f"{size.runs} runs, {size.recordings} recordings of an unseen workload, "
        f"{size.mixes} heavy mixes; seeds from {SEED} and {1000 * SEED} on, "
        "applications and readings chosen on seed 0"
    )


def claims(quick: bool, *sections: str) -> list[Claim]:
    """The claims of *sections* (tables of lee.toml), of all without any."""
    size, rows = Size.of(quick), table("lee")
    del rows["marks"]
    how, found = (
        {**vars(lee_gangedness), **vars(lee_perturbations), **globals()},
        list[Claim](),
    )
    readings = [
        (name, each._replace(runs=size.runs)) for name, each in READINGS.items()
    ]
    for section in sections or rows:
        chosen = dict(readings[k] for k in OPEN.get(section, (0,)))
        own = section in ("monitor", "mixes")
        contexts = {name: (size if own else each,) for name, each in chosen.items()}
        found += computed(rows[section], how, contexts, mixes=size.mixes)
    return found


@cache
def swept(donation: str) -> dict[tuple[float, float], MeasuredPoint]:
    """Both figures' pairs, by the chain."""
    pairs = list(dict.fromkeys(PAIRS["2"] + PAIRS["3"]))
    found = values_of(
        one_pair, [{"qi": qi, "qc": qc, "donation": donation} for qi, qc in pairs]
    )
    return {
        pair: MeasuredPoint.model_validate(each) for pair, each in zip(pairs, found)
    }


def one_pair(qi: float, qc: float, donation: str) -> dict[str, Any]:
    """The measures of one pair."""
    point = QuantumPoint(qi_seconds=qi / 1000, qc_seconds=qc / 1000)
    problem = QuantumModelProblem.model_validate(
        {"points": (point,), "donation": donation}
    )
    return MeasuredPoint.of(point, measure(problem, point)).model_dump(mode="json")


def curves(reading: Reading, figure: str, what: Measure) -> Curves:
    """The curves of a figure: *what* against qc by qi (2), against qi by qc (3)."""
    found = swept(reading.donation)
    if figure == "2":
        return {
            qi: [getattr(found[qi, float(qc)], what) for qc in SWEEP] for qi in FIGURE_2
        }
    return {
        qc: [getattr(found[float(qi), qc], what) for qi in SWEEP] for qc in FIGURE_3
    }


def _steps(values: Sequence[float]) -> list[float]:
    """Differences of neighbours, 0 where they are no more than noise."""
    return [b - a if abs(b - a) > 1e-4 else 0.0 for a, b in pairwise(values)]


def _peaks(values: Sequence[float]) -> int:
    """Inner local maxima (plateaus count once)."""
    turns = [step for step in _steps(values) if step]
    return sum(before > 0 > after for before, after in pairwise(turns))


def trend(
    reading: Reading, figure: str, what: Measure, rises: bool, least: float = 0.0
) -> Found:
    """Every curve ends on the side that it says; at least *least*
    of its steps go there.
    """
    found, name = curves(reading, figure, what), "qi" if figure == "2" else "qc"
    sign = 1 if rises else -1
    ours = ", ".join(
        f"{name} {at:g}: {x[0]:.3g} -> {x[-1]:.3g}" for at, x in found.items()
    )
    share = min(fmean(sign * step >= 0 for step in _steps(x)) for x in found.values())
    there = all(sign * x[-1] > sign * x[0] for x in found.values())
    return f"{ours}; {share:.0%} or more of the steps", verdict(
        there and share >= least
    )


def waves(reading: Reading, what: Measure) -> Found:
    """Maxima of Figure 2, or a slowdown that swings: steep, flat (under a
    third) and steep again.
    """
    found = curves(reading, "2", what).values()
    swings = what == "slowdown" and any(map(_uneven, found))
    slopes = ", ".join(f"{min(_steps(x)):+.3f} to {max(_steps(x)):+.3f}" for x in found)
    peaks = [_peaks(x) for x in found]
    ours = f"local maxima at qi 2.5, 5, 10, 20: {peaks}; slopes vary {slopes}"
    return ours, verdict(any(peaks) or swings)


def _uneven(values: Sequence[float]) -> bool:
    steps = _steps(values)
    flat = min(range(1, len(steps) - 1), key=lambda k: steps[k])
    return steps[flat] < min(max(steps[:flat]), max(steps[flat + 1 :])) / 3


def against_trend(reading: Reading) -> Found:
    """Steps that go against it, more of them in Figure 3 than in Figure 2."""
    third, second = curves(reading, "3", "slowdown"), curves(reading, "2", "slowdown")
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
    """The slowdown in regions (qc, qi from, to) of Figure 3: all of a region, some
    of it or none is low.
    """
    slow, frag = (curves(reading, "3", what) for what in ("slowdown", "fragmentation"))
    said, words = [], []
    for qc, since, until in regions:
        part, share = slow[qc][since - 1 : until], frag[qc][since - 1 : until]
        said.append(
            f"qc {qc}, qi {since} to {until}: {min(part):.2f} to {max(part):.2f} "
            f"(fragmentation {min(share):.2f} to {max(share):.2f})"
        )
        words.append(several([verdict(x <= most) for x in part]))
    return "; ".join(said), several(words)


def heavy_mix(seed: int) -> dict[str, float]:
    """One heavy mix of 10 jobs on 32 processors (q = 10 ms, lambda = .1): the exact
    plan and its rivals.
    """
    problem = flexible_gang.generate("heavy-mix", {}, seed)
    how = {"time_limit": HEAVY_SECONDS, "gap": 0.002}
    strict, fill = (
        ioopt.solve(problem, name).metrics for name in ("strict", "strict-fill")
    )
    k0 = ioopt.solve(
        problem, "flex-exact", **how, settings={"patterns": "strict"}
    ).metrics
    exact = ioopt.solve(problem, "flex-exact", **how).metrics
    goal = "simulated_objective"
    return {
        "margin": exact[goal] - max(fill[goal], k0[goal]),
        "utilisation": exact["cpu_utilisation"],
        "io_slowdown": exact["io_slowdown"] / strict["io_slowdown"],
        "cost": k0["compute_progress"] - exact["compute_progress"],
        "floors_kept": float(exact["floors_kept"]),
    }


def mixed(
    size: Size,
    of: str,
    least: float = -math.inf,
    most: float = math.inf,
    each: bool = False,
) -> Found:
    """A figure of heavy mixes, on average or on *each* of them."""
    found = values_of(heavy_mix, [{"seed": SEED + seed} for seed in range(size.mixes)])
    values = [one[of] for one in found]
    mean, low, high = mean_interval(values)
    ours = (
        f"mean {mean:.3f} [{low:.3f} .. {high:.3f}], {min(values):.3f} to "
        f"{max(values):.3f}"
    )
    return ours, verdict(all(least <= x <= most for x in (values if each else [mean])))


def pictures(quick: bool) -> Iterator[Picture]:
    """Figures 2, 3 and 5 to 10."""
    found = swept("return")
    for number, pairs in PAIRS.items():
        yield lee_pictures.quanta(number, [found[pair] for pair in pairs])
    reading = Reading(runs=Size.of(quick).runs)
    yield from lee_pictures.perturbations(reading, table("lee")["marks"])
