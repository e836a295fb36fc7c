"""The runs behind the reproduction of Zhou et al.: policies on paired seeded workloads."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from papers.claims import values_of

from ioopt.generate.batch_io.generate import generate
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

    def describe(self) -> str:
        """One line for the head of the table."""
        what = ", ".join(f"{key}={value}" for key, value in self.settings.items())
        seeds = f"paired seeds {FIRST_SEED} to {FIRST_SEED + self.seeds - 1}"
        return f"{' and '.join(PRESETS)} ({what or 'as they are'}), {seeds}, {self.engine} engine"


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
