"""The runs behind the reproduction of Zhou et al.: policies on paired seeded workloads."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

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
TOPPED = tuple(f"{policy}+top" for policy in PAPER_POLICIES if policy.startswith("cons-"))
CLOSED = (*PAPER_POLICIES, *TOPPED, "fill")
OPEN = ("adaptive", "fill")
METRICS = (
    "mean_wait_seconds", "mean_response_seconds", "utilisation", "useful_utilisation",
    "io_delay_seconds", "node_weighted_io_delay",
)  # fmt: skip


@dataclass(frozen=True)
class Size:
    """Seeds, and the preset's settings, of one reproduction."""

    seeds: int
    settings: dict[str, str]
    engine: str

    def describe(self) -> str:
        """One line for the head of the table."""
        what = ", ".join(f"{key}={value}" for key, value in self.settings.items())
        return f"mira-month ({what or 'as it is'}), {self.seeds} paired seeds, {self.engine} engine"


@dataclass
class Runs:
    """Metrics by (loop, policy, expansion factor), a value a seed."""

    size: Size
    values: dict[tuple[Any, ...], list[dict[str, float]]] = field(default_factory=dict)

    def ratios(
        self, metric: str, policy: str, against: str, factor: float, loop: str = "closed"
    ) -> list[float]:
        """The metric under *policy* over that under *against*, a seed at a time."""
        return [
            ours[metric] / theirs[metric]
            for ours, theirs in zip(
                self.values[loop, policy, factor], self.values[loop, against, factor]
            )
        ]

    def ratio_of_means(
        self, metric: str, policy: str, against: str, factor: float, loop: str = "closed"
    ) -> tuple[float, float]:
        """The mean under *policy* over that under *against*, and its standard error (jackknife)."""
        ours, theirs = (
            [run[metric] for run in self.values[loop, name, factor]] for name in (policy, against)
        )
        whole, count = sum(ours) / sum(theirs), len(ours)
        without = [(sum(ours) - a) / (sum(theirs) - b) for a, b in zip(ours, theirs)]
        center = statistics.fmean(without)
        spread = sum((ratio - center) ** 2 for ratio in without)
        return whole, (spread * (count - 1) / count) ** 0.5

    def mean(self, metric: str, policy: str, factor: float, loop: str = "closed") -> float:
        """Mean of a metric over the seeds."""
        return statistics.fmean(run[metric] for run in self.values[loop, policy, factor])


@lru_cache(maxsize=8)
def _trace(seed: int, factor: float, settings: tuple[tuple[str, str], ...]) -> Trace:
    return Trace.of(generate("mira-month", dict(settings), seed), factor, False)


def one_run(
    seed: int, factor: float, loop: str, policy: str, settings: dict[str, str], engine: str
) -> dict[str, float]:
    """The metrics of one policy on one workload."""
    trace = _trace(seed, factor, tuple(settings.items()))
    run = run_trace(trace, io_policy(policy), loop, engine)  # type: ignore[arg-type]
    found = metrics_of(trace, run)
    return {name: float(found[name]) for name in METRICS}


def run_all(size: Size) -> Runs:
    """Every policy on every seed and expansion factor, closed and open loop."""
    policies = [("closed", policy) for policy in CLOSED] + [("open", policy) for policy in OPEN]
    asked = [
        {"seed": seed, "factor": factor, "loop": loop, "policy": policy,
         "settings": size.settings, "engine": size.engine}
        for seed in range(size.seeds)
        for factor in FACTORS
        for loop, policy in policies
    ]  # fmt: skip
    runs = Runs(size)
    for run, row in zip(asked, values_of(one_run, asked)):
        runs.values.setdefault((run["loop"], run["policy"], run["factor"]), []).append(row)
    return runs
