"""Zhou et al.: the claims of Figures 8 to 11 under eight readings, and FILL against ADAPTIVE.

The paper has three single months of one machine; here every figure is the mean over paired seeded
workloads with its standard error, so that a difference can be told from chance. A claim is
reproduced under a reading (marked +) when the mean meets the paper's number, and where it gives
none, when the mean lies on the side that it says by two standard errors. Readings differ in the
workload, in how BASE_LINE shares (by nodes, or evenly with unused shares lost), and in whether the
conservative policies hand out what is left (+top).

FILL against ADAPTIVE is judged by the ratio of the means over all workloads, and the mean of the
ratios stands beside it: months in closed loop are chaotic, and the mean of the ratios of two noisy
figures of equal mean lies above 1, whichever is divided by the other.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from papers.claims import (
    NOT,
    REPRODUCED,
    Claim,
    Picture,
    computed,
    mean_and_error,
    point,
    table,
    values_of,
    verdict_of_several,
)

from ioopt.generate.batch_io.generate import generate
from ioopt.plot.curves import plot_sweep
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.results import metrics_of
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io.run import run_trace

FACTORS = (0.3, 0.5, 0.8, 1.0, 1.2, 1.5)
PAPER_POLICIES = (
    "base-line", "cons-fcfs", "cons-max-util", "cons-min-inst-sld", "cons-min-aggr-sld", "adaptive",
)  # fmt: skip
CONSERVATIVE = PAPER_POLICIES[1:5]
CLOSED = (
    "base-line:per-node", "base-line:even-split", *CONSERVATIVE,
    *(f"{policy}+top" for policy in CONSERVATIVE), "adaptive", "fill", "no-congestion",
)  # fmt: skip
OPEN = ("adaptive", "fill")
PRESETS = ("mira-month", "mira-month-loaded")
FIRST_SEED = 100
METRICS = (
    "mean_wait_seconds", "mean_response_seconds", "utilisation", "useful_utilisation",
    "io_delay_seconds", "node_weighted_io_delay",
)  # fmt: skip


class Reading(NamedTuple):
    """One way to read the paper: the workload, how BASE_LINE shares, whether left-overs are used."""

    name: str
    preset: str
    share: str
    top: str

    def policy(self, name: str) -> str:
        """The policy that runs where the paper says *name*."""
        if name == "base-line":
            return f"{name}:{self.share}"
        return name + self.top * (name in CONSERVATIVE)


READINGS = tuple(
    Reading(f"{preset.removeprefix('mira-')}: {'ours' if share == 'per-node' else share}{top}",
            preset, share, top)
    for preset in PRESETS for share in ("per-node", "even-split") for top in ("", "+top")
)  # fmt: skip
"""The first is ours."""


@dataclass(frozen=True)
class Size:
    """Seeds, and the presets' settings, of one reproduction."""

    seeds: int
    settings: dict[str, str]
    engine: str


@dataclass
class Runs:
    """Metrics by (preset, loop, policy, expansion factor), a value a seed, under one reading."""

    size: Size
    values: dict[tuple[Any, ...], list[dict[str, float]]] = field(default_factory=dict)
    reading: Reading = READINGS[0]

    def factors(self, policy: str) -> list[float]:
        """The expansion factors under which *policy* was run."""
        name = self.reading.policy(policy)
        return [f for f in FACTORS if (self.reading.preset, "closed", name, f) in self.values]

    def under(self, reading: Reading) -> Runs:
        """The same values under another *reading*."""
        return replace(self, reading=reading)

    def of(self, metric: str, policy: str, factor: float, loop: str = "closed") -> list[float]:
        """The metric, a seed at a time."""
        preset, policy = self.reading.preset, self.reading.policy(policy)
        return [run[metric] for run in self.values[preset, loop, policy, factor]]

    def ratios(
        self, metric: str, policy: str, against: str, factor: float, loop: str = "closed"
    ) -> list[float]:
        """The metric under *policy* over that under *against*, a seed at a time."""
        pair = (self.of(metric, name, factor, loop) for name in (policy, against))
        return [ours / theirs for ours, theirs in zip(*pair)]

    def ratio_of_means(
        self, metric: str, policy: str, against: str, factor: float, loop: str = "closed"
    ) -> tuple[float, float]:
        """The mean under *policy* over that under *against*, and its standard error (jackknife)."""
        ours, theirs = (self.of(metric, name, factor, loop) for name in (policy, against))
        whole, count = sum(ours) / sum(theirs), len(ours)
        without = [(sum(ours) - a) / (sum(theirs) - b) for a, b in zip(ours, theirs)]
        center = statistics.fmean(without)
        spread = sum((ratio - center) ** 2 for ratio in without)
        return whole, (spread * (count - 1) / count) ** 0.5

    def mean(self, metric: str, policy: str, factor: float, loop: str = "closed") -> float:
        """Mean of a metric over the seeds."""
        return statistics.fmean(self.of(metric, policy, factor, loop))


@lru_cache(maxsize=8)
def _trace(preset: str, seed: int, factor: float, settings: tuple[tuple[str, str], ...]) -> Trace:
    return Trace.of(generate(preset, dict(settings), seed), factor, False)


def one_run(
    preset: str, seed: int, factor: float, loop: str, policy: str, settings: dict[str, str],
    engine: str,
) -> dict[str, float]:  # fmt: skip
    """The metrics of one policy on one workload."""
    trace = _trace(preset, seed, factor, tuple(settings.items()))
    name, _, share = policy.partition(":")
    run = run_trace(trace, io_policy(name, {"share": share} if share else {}), loop, engine)  # type: ignore[arg-type]
    found = metrics_of(trace, run)
    return {name: float(found[name]) for name in METRICS}


def _needed(preset: str, loop: str, policy: str, factor: float) -> bool:
    """Whether a claim asks for the run."""
    if loop == "open":
        return preset == PRESETS[0]
    if policy == "no-congestion":
        return factor in (1.0, 1.5)
    return factor >= 0.8 if policy == "fill" else factor != 0.8 or "cons-" not in policy


def run_all(size: Size) -> Runs:
    """What the claims ask for of policies, workloads, seeds and expansion factors."""
    policies = [("closed", policy) for policy in CLOSED] + [("open", policy) for policy in OPEN]
    asked = [
        {"preset": preset, "seed": seed, "factor": factor, "loop": loop, "policy": policy,
         "settings": size.settings, "engine": size.engine}
        for preset in PRESETS
        for seed in range(FIRST_SEED, FIRST_SEED + size.seeds)
        for factor in FACTORS
        for loop, policy in policies
        if _needed(preset, loop, policy, factor)
    ]  # fmt: skip
    runs = Runs(size)
    for run, row in zip(asked, values_of(one_run, asked)):
        key = tuple(run[name] for name in ("preset", "loop", "policy", "factor"))
        runs.values.setdefault(key, []).append(row)
    return runs


FULL = Size(40, {}, "compiled")
QUICK = Size(2, {"jobs": "100", "days": "1"}, "python")
HEAD = ("claim", "where", "the paper's word", *(r.name for r in READINGS), "verdict")
WAIT = "mean_wait_seconds"
HOLDS = "+ "
Row = tuple[str, ...]
"""A claim: what, where, the paper's word, a figure a reading, the verdict."""
Found = tuple[str, bool]
"""The figure under one reading, and whether the claim holds."""


def shown(values: Sequence[float]) -> str:
    """A ratio as ``mean±standard error``."""
    mean, error = mean_and_error(values)
    return f"{mean:.3f}±{error:.3f}"


def below(values: Sequence[float], limit: float = 1.0) -> bool:
    """Whether the mean lies below *limit* by two standard errors."""
    mean, error = mean_and_error(values)
    return mean + 2 * error < limit


def less(runs: Runs, metric: str, policy: str, against: str = "base-line") -> Found:
    """Below that of another policy."""
    ratios = runs.ratios(metric, policy, against, 1.0)
    return shown(ratios), below(ratios)


def cut(runs: Runs, metric: str, policy: str, limit: float, factor: float = 1.0) -> Found:
    """A cut to *limit*, beside what a storage without congestion would make of it."""
    ratios = runs.ratios(metric, policy, "base-line", factor)
    none = mean_and_error(runs.ratios(metric, "no-congestion", "base-line", factor))[0]
    return f"{shown(ratios)} (none {none:.3f})", mean_and_error(ratios)[0] <= limit


def cut_on_a_third(runs: Runs, metric: str, policy: str, limit: float) -> Found:
    """Of one of three workloads: by the third of the months that is best."""
    ratios = sorted(runs.ratios(metric, policy, "base-line", 1.0))
    third = ratios[(len(ratios) - 1) // 3]
    return f"{cut(runs, metric, policy, limit)[0]}, third {third:.3f}", third <= limit


def largest_cut(runs: Runs, metric: str, factor: float, limit: float) -> Found:
    """The cut by the policy that cuts most."""
    last = {p: runs.ratios(metric, p, "base-line", factor) for p in PAPER_POLICIES[1:]}
    best = min(last, key=lambda policy: mean_and_error(last[policy])[0])
    figure, holds = cut(runs, metric, best, limit, factor)
    return f"{best} {figure}", holds


def shortest(
    runs: Runs, policies: Sequence[str], others: Sequence[str], factors: Sequence[float]
) -> Found:
    """Waits of each of *policies* below those of each of *others*."""
    kept = [
        below(runs.ratios(WAIT, policy, other, factor))
        for policy, other, factor in product(policies, others, factors)
    ]
    return f"{sum(kept)} of {len(kept)}", all(kept)


def near(runs: Runs, metric: str, policy: str, within: float) -> Found:
    """Nearly as base-line."""
    ratios = runs.ratios(metric, policy, "base-line", 1.0)
    return shown(ratios), abs(mean_and_error(ratios)[0] - 1) <= within


def busy(runs: Runs, policy: str, least: float | None = None, most: float = 0.0) -> Found:
    """Allocated nodes, blocked ones too, as in the paper (ours beside it): between bounds, else higher."""
    ratios = runs.ratios("utilisation", policy, "base-line", 1.0)
    useful = mean_and_error(runs.ratios("useful_utilisation", policy, "base-line", 1.0))[0]
    higher = below([-ratio for ratio in ratios], -1)
    holds = higher if least is None else least <= mean_and_error(ratios)[0] <= most
    return f"{shown(ratios)} (useful {useful:.3f})", holds


def rising(runs: Runs, metric: str, policy: str) -> Found:
    """Growing with the expansion factor."""
    waits = [runs.mean(metric, policy, factor) for factor in FACTORS]
    return " ".join(f"{wait / 3600:.1f}h" for wait in waits), waits == sorted(waits)


def no_improvement(runs: Runs, metric: str, factor: float, least: float) -> Found:
    """No policy clearly below base-line."""
    ratios = (runs.ratios(metric, policy, "base-line", factor) for policy in PAPER_POLICIES[1:])
    lowest = min(mean_and_error(found)[0] for found in ratios)
    return f"least {lowest:.3f}", lowest >= least


def longer(runs: Runs, metric: str, policy: str, factor: float) -> Found:
    """Above that of base-line in the mean."""
    ratios = runs.ratios(metric, policy, "base-line", factor)
    return shown(ratios), mean_and_error(ratios)[0] > 1.0


def fill_over_adaptive(runs: Runs, metric: str, factor: float, loop: str, limit: float) -> Found:
    """Both are the same under all readings of a workload."""
    ratio, error = runs.ratio_of_means(metric, "fill", "adaptive", factor, loop)
    each = mean_and_error(runs.ratios(metric, "fill", "adaptive", factor, loop))[0]
    return f"{ratio:.3f}±{error:.3f} (mean of ratios {each:.3f})", ratio <= limit


def sizes(quick: bool) -> str:
    """One line: how much is run."""
    size = QUICK if quick else FULL
    what = ", ".join(f"{key}={value}" for key, value in size.settings.items()) or "as they are"
    seeds = f"paired seeds {FIRST_SEED} to {FIRST_SEED + size.seeds - 1}, {size.engine} engine"
    return f"{' and '.join(PRESETS)} ({what}), {seeds}; mean ± standard error"


def claims(quick: bool) -> list[Row]:
    """The claims of every figure, and ours (where the rules are ours too), under every reading."""
    runs, rows = run_all(QUICK if quick else FULL), table("zhou")
    found = []
    for row in (*rows["claims"], *rows["ours"]):
        cells: list[Claim | None] = []
        for reading in READINGS:
            mine = "loop" in row  # no goal is set where I/O hardly congests
            other = reading.share != "per-node" or reading.top
            if mine and (other or (row["loop"] == "open" and reading.preset != PRESETS[0])):
                cells.append(None)
            else:
                cells += computed([row], globals(), runs.under(reading))
        known = [cell for cell in cells if cell]
        figures = [HOLDS * bool(cell.verdict) + cell.ours if cell else "" for cell in cells]
        word = verdict_of_several([bool(cell.verdict) for cell in known])
        found.append((*known[0][:3], *figures, word))
    return found


def notes(rows: Sequence[Row]) -> Iterator[str]:
    """Which readings reproduce which claims of the paper, and what no reading does."""
    yield (
        "The readings and mira-month-loaded were picked on other seeds (0 to 39) before; nothing was "
        "picked on these. A + marks that a claim holds; (none x) is what `no-congestion` makes of it: "
        "where that is above the claimed figure, nothing is left to gain. A claim about one of three "
        "workloads is judged by the third of the months that is best."
    )
    paper = [row for row in rows if row[1] != "ours"]
    counts = [
        f"{reading.name}: {sum(row[3 + k].startswith(HOLDS) for row in paper)}"
        for k, reading in enumerate(READINGS)
    ]
    yield f"Of {len(paper)} claims of the paper hold under {'; '.join(counts)}."
    for word, told in ((REPRODUCED, "Every reading reproduces"), (NOT, "No reading reproduces")):
        found = [row[0] for row in paper if row[-1] == word]
        yield f"{told} {len(found)}: {'; '.join(found) or 'none'}."


def pictures(quick: bool) -> Iterator[Picture]:
    """Wait against the expansion factor, over that of BASE_LINE (Figure 11), under two readings."""
    runs = run_all(QUICK if quick else FULL)
    for reading in (READINGS[0], READINGS[-1]):
        read = runs.under(reading)
        lines: dict[str, Any] = {
            policy: [
                point(100 * factor, read.ratios(WAIT, policy, "base-line", factor))
                for factor in read.factors(policy)
            ]
            for policy in (*PAPER_POLICIES[1:], "fill")
        }
        caption = f"Figure 11: wait over that of BASE_LINE, closed loop; {reading.name}"
        words = "mean wait over that of base-line (factor)"
        axes = plot_sweep(lines, "expansion factor (%)", words, title=caption)
        yield Picture(f"zhou-11-{reading.preset.removeprefix('mira-')}", caption, axes)
