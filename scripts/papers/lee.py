"""Lee et al.: the claims of its sections, and what its text leaves open.

The paper has no figures for features F5 and F6 on its closing proposal: those rows are ioopt's own. All
plans are simulated on seeds on which none was chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from statistics import fmean
from typing import Any, Literal

from papers import lee_gangedness, lee_perturbations, lee_pictures
from papers.claims import Claim, Found, Picture, computed, several, table, values_of, verdict
from papers.lee_perturbations import SEED, Reading

import ioopt
from ioopt.generate.flexgang import flexible_gang
from ioopt.measure.quantum_chain import measure
from ioopt.metrics import mean_interval
from ioopt.problems.flexgang.quantum_model import MeasuredPoint, QuantumModelProblem, QuantumPoint

READINGS = {
    "as printed": Reading(),
    "a donated CPU comes back at the slot's end only": Reading(donation="irrevocable"),
    "perturbations in the first 70 % of the run": Reading(window=0.7),
    "messages in bursts, by the deviations of Table 3": Reading(bursts=True),
    "Table 2 counts requests alone": Reading(requests=True),
}
OPEN = {"quanta": (0, 1), "slopes": (0, 2), "programs": (0, 2, 3, 4)}
"""The readings that make a difference to a table; others are run under the first one alone."""
SWEEP = range(1, 41)
FIGURE_2, FIGURE_3 = (2.5, 5.0, 10.0, 20.0), (10.0, 20.0, 40.0)
PAIRS = {
    "2": [(qi, float(qc)) for qi, qc in product(FIGURE_2, SWEEP)],
    "3": [(float(qi), qc) for qi, qc in product(SWEEP, FIGURE_3)],
}
"""Quanta (qi, qc) in milliseconds of the figures."""
HEAVY_SECONDS = 20.0
POLICIES = ("strict", "strict-fill", "greedy", "k0", "exact")
Curves = dict[float, list[float]]
Measure = Literal["slowdown", "fragmentation"]


@dataclass(frozen=True)
class Size:
    """Runs of the laboratory, workloads of each kind, recordings of each, heavy mixes."""

    runs: int
    count: int
    recordings: int
    mixes: int

    @classmethod
    def of(cls, quick: bool) -> Size:
        """Full and quick sizes."""
        return cls(5, 4, 5, 2) if quick else cls(20, 24, 40, 24)


def sizes(quick: bool) -> str:
    """One line: how much is run, and on which seeds."""
    size = Size.of(quick)
    return (
        f"{size.runs} runs, {size.recordings} recordings of an unseen workload, {size.mixes} heavy mixes; "
        f"seeds from {SEED} and {1000 * SEED} on, applications and readings chosen on seed 0"
    )


def claims(quick: bool, *sections: str) -> list[Claim]:
    """The claims of *sections* (tables of lee.toml), of all without any."""
    size, rows, names = Size.of(quick), table("lee"), list(READINGS)
    del rows["marks"]
    how, found = {**vars(lee_gangedness), **vars(lee_perturbations), **globals()}, list[Claim]()
    for section in sections or rows:
        own = section in ("monitor", "mixes")
        contexts = {
            names[k]: (size,) if own else (size.runs, READINGS[names[k]])
            for k in OPEN.get(section, (0,))
        }
        found += computed(rows[section], how, contexts, mixes=size.mixes)
    return found


@cache
def swept(donation: str) -> dict[tuple[float, float], MeasuredPoint]:
    """Both figures' pairs, by the chain."""
    pairs = list(dict.fromkeys(PAIRS["2"] + PAIRS["3"]))
    found = values_of(one_pair, [{"qi": qi, "qc": qc, "donation": donation} for qi, qc in pairs])
    return {pair: MeasuredPoint.model_validate(each) for pair, each in zip(pairs, found)}


def one_pair(qi: float, qc: float, donation: str) -> dict[str, Any]:
    """The measures of one pair."""
    point = QuantumPoint(qi_seconds=qi / 1000, qc_seconds=qc / 1000)
    problem = QuantumModelProblem.model_validate({"points": (point,), "donation": donation})
    return MeasuredPoint.of(point, measure(problem, point)).model_dump(mode="json")


def curves(reading: Reading, figure: str, what: Measure) -> Curves:
    """The curves of a figure: *what* against qc by qi (2), against qi by qc (3)."""
    found = swept(reading.donation)
    if figure == "2":
        return {qi: [getattr(found[qi, float(qc)], what) for qc in SWEEP] for qi in FIGURE_2}
    return {qc: [getattr(found[float(qi), qc], what) for qi in SWEEP] for qc in FIGURE_3}


def _rises(values: Sequence[float], slack: float = 1e-4) -> float:
    """Share of steps that do not fall by more than *slack*."""
    return sum(after >= before - slack for before, after in pairwise(values)) / (len(values) - 1)


def _peaks(values: Sequence[float], slack: float = 1e-4) -> int:
    """Inner local maxima that stand out by more than *slack* on both sides (plateaus count once)."""
    turns = [step for step in (b - a for a, b in pairwise(values)) if abs(step) > slack]
    return sum(before > 0 > after for before, after in pairwise(turns))


def trend(
    runs: int,
    reading: Reading,
    figure: str,
    what: Measure,
    rises: bool,
    steps: bool = False,
    least: float = 0.0,
) -> Found:
    """Every curve ends on the side that it says; more than *least* of its steps go there."""
    found, digits = curves(reading, figure, what), 2 if what == "slowdown" else 3
    name = "qi" if figure == "2" else "qc"
    sign, word = (1, "rise") if rises else (-1, "fall")
    ours = ", ".join(
        f"{name} {at:g}: {x[0]:.{digits}f} -> {x[-1]:.{digits}f}" for at, x in found.items()
    )
    share = min(_rises([sign * value for value in x]) for x in found.values())
    if steps:
        ours += f"; steps that {word}: {share:.0%} or more"
    there = all(sign * x[-1] > sign * x[0] for x in found.values())
    return ours, verdict(there and (least == 0 or share > least))


def waves(runs: int, reading: Reading) -> Found:
    """Maxima of Figure 2's slowdown, or slopes that swing: steep, flat (under a third) and steep again."""
    slow = curves(reading, "2", "slowdown")
    found = [_peaks(x) for x in slow.values()]
    slopes = ", ".join(f"{min(_steps(x)):+.3f} to {max(_steps(x)):+.3f}" for x in slow.values())
    ours = f"local maxima at qi 2.5, 5, 10, 20: {found}; slopes vary {slopes}"
    return ours, verdict(any(found) or any(map(_uneven, slow.values())))


def bumps(runs: int, reading: Reading) -> Found:
    """Maxima of Figure 2's fragmentation."""
    found = [_peaks(x) for x in curves(reading, "2", "fragmentation").values()]
    return f"local maxima at qi 2.5, 5, 10, 20: {found}; plateaus only", verdict(any(found))


def _steps(values: Sequence[float]) -> list[float]:
    return [b - a for a, b in pairwise(values)]


def _uneven(values: Sequence[float]) -> bool:
    steps = _steps(values)
    flat = min(range(1, len(steps) - 1), key=lambda k: steps[k])
    return steps[flat] < min(max(steps[:flat]), max(steps[flat + 1 :])) / 3


def against_trend(runs: int, reading: Reading) -> Found:
    """Steps that go against it, more of them in Figure 3 than in Figure 2."""
    third, second = curves(reading, "3", "slowdown"), curves(reading, "2", "slowdown")
    against = [sum(step > 1e-4 for step in _steps(x)) for x in third.values()]
    before = [sum(step < -1e-4 for step in _steps(x)) for x in second.values()]
    ours = (
        f"steps of 39 that go against it: {against} at qc 10, 20, 40; in Figure 2 "
        f"{before} at qi 2.5, 5, 10, 20"
    )
    return ours, verdict(fmean(against) > fmean(before))


def low_inversion(
    runs: int, reading: Reading, regions: Sequence[tuple[int, int, int]], most: float
) -> Found:
    """The slowdown in regions (qc, qi from, to) of Figure 3: all of a region, some of it or none is low."""
    slow, frag = (curves(reading, "3", what) for what in ("slowdown", "fragmentation"))
    said, words = [], []
    for qc, since, until in regions:
        part, share = slow[qc][since - 1 : until], frag[qc][since - 1 : until]
        said.append(
            f"qc {qc}, qi {since} to {until}: {min(part):.2f} to {max(part):.2f} (fragmentation "
            f"{min(share):.2f} to {max(share):.2f})"
        )
        words.append(several([verdict(x <= most) for x in part]))
    return "; ".join(said), several(words)


def heavy_mix_values(seed: int, seconds: float) -> dict[str, Any]:
    """Metrics by policy on one heavy mix of 10 jobs on 32 processors (q = 10 ms, lambda = .1)."""
    problem = flexible_gang.generate("heavy-mix", {}, seed)
    how = {"time_limit": seconds, "gap": 0.002}
    runs = {name: ioopt.solve(problem, name) for name in ("strict", "strict-fill", "greedy")}
    runs["k0"] = ioopt.solve(problem, "flex-exact", **how, settings={"patterns": "strict"})
    runs["exact"] = ioopt.solve(problem, "flex-exact", **how)

    def column(metric: str) -> dict[str, float]:
        return {name: runs[name].metrics[metric] for name in POLICIES}

    plan = runs["exact"].plan or {}
    return {
        "seed": seed, "rows": problem.num_rows, "pattern": f"{plan['k']},{plan['d']}",
        "objective": column("simulated_objective"), "utilisation": column("cpu_utilisation"),
        "progress": column("compute_progress"), "slowdown": column("io_slowdown"),
        "floors_kept": runs["exact"].metrics["floors_kept"],
    }  # fmt: skip


@cache
def mixes(count: int) -> list[dict[str, Any]]:
    """So many heavy mixes."""
    asked = [{"seed": SEED + seed, "seconds": HEAVY_SECONDS} for seed in range(count)]
    return values_of(heavy_mix_values, asked)


def never_below(size: Size) -> Found:
    """The objective of exact against strict + fill and k = 0."""
    goals = [row["objective"] for row in mixes(size.mixes)]
    worst = min(goal["exact"] - max(goal["strict-fill"], goal["k0"]) for goal in goals)
    return f"least margin {worst:.4f}", verdict(worst >= 0)


def _mean(values: Sequence[float], holds: Sequence[bool], worst: str, more: str = "") -> str:
    """A mean with its interval, on how many seeds it *holds*, and the *worst* of them."""
    mean, low, high = mean_interval(values)
    return f"mean {mean:.3f} [{low:.3f} .. {high:.3f}]{more}; on {sum(holds)} of {len(holds)} seeds, {worst}"


def utilisation(size: Size, least: float) -> Found:
    """The mean utilisation of exact."""
    both = [row["utilisation"] for row in mixes(size.mixes)]
    used, strict = [one["exact"] for one in both], fmean([one["strict"] for one in both])
    holds, beside = [x >= least for x in used], f" (strict {strict:.3f})"
    ours = _mean(used, holds, f"least {min(used):.3f}", beside)
    return ours, verdict(fmean(used) >= least)


def io_slowdown(size: Size, most: float) -> Found:
    """The mean ratio of exact's I/O slowdown to that of strict."""
    slow = [row["slowdown"] for row in mixes(size.mixes)]
    ratios = [one["exact"] / one["strict"] for one in slow]
    ours = _mean(ratios, [x <= most for x in ratios], f"most {max(ratios):.3f}")
    return ours, verdict(fmean(ratios) <= most)


def cost_of_windows(size: Size) -> Found:
    """The compute progress that loose windows cost."""
    loose = [row["progress"] for row in mixes(size.mixes) if row["pattern"] != "0,1"]
    cost = [one["k0"] - one["exact"] for one in loose]
    span = f"{100 * min(cost):.0f} to {100 * max(cost):.0f}" if cost else "none loose"
    return f"{span} points against k = 0", verdict(bool(cost) and max(cost) > 0)


def floors_kept(size: Size) -> Found:
    """Simulated floors."""
    kept = [row["floors_kept"] for row in mixes(size.mixes)]
    return f"{sum(kept)} of {len(kept)}", verdict(all(kept))


def pictures(quick: bool) -> Iterator[Picture]:
    """Figures 2, 3 and 5 to 10."""
    found = swept("return")
    for number, pairs in PAIRS.items():
        yield lee_pictures.quanta(number, [found[pair] for pair in pairs])
    yield from lee_pictures.perturbations(Size.of(quick).runs, table("lee")["marks"])
