"""The runs behind the reproduction of paper 002: policies on paired seeded workloads."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ioopt.generate.batch_io import generate
from ioopt.problems.batch_io import BatchIoPlan
from ioopt.sim.batch_io_results import metrics_of
from ioopt.sim.batch_io_trace import Trace
from ioopt.solvers.batch_io.run import run_trace

FACTORS = (0.3, 0.5, 0.8, 1.0, 1.2, 1.5)
PAPER_POLICIES = (
    "base-line", "cons-fcfs", "cons-max-util", "cons-min-inst-sld", "cons-min-aggr-sld", "adaptive",
)  # fmt: skip
CLOSED = (*PAPER_POLICIES, "fill")
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
    values: dict[tuple[str, str, float], list[dict[str, float]]] = field(default_factory=dict)

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

    def mean(self, metric: str, policy: str, factor: float, loop: str = "closed") -> float:
        """Mean of a metric over the seeds."""
        return statistics.fmean(run[metric] for run in self.values[loop, policy, factor])


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return statistics.fmean(values), error


def run_all(size: Size, say: Callable[[str], Any] = print) -> Runs:
    """Every policy on every seed and expansion factor, closed and open loop."""
    runs = Runs(size)
    for seed in range(size.seeds):
        problem = generate("mira-month", size.settings, seed)
        for factor in FACTORS:
            trace = Trace.of(problem, factor, False)
            for loop, policies in (("closed", CLOSED), ("open", OPEN)):
                for policy in policies:
                    plan = BatchIoPlan(policy=policy, loop=loop, ef=factor)  # type: ignore[arg-type]
                    found = metrics_of(trace, run_trace(trace, plan, size.engine))  # type: ignore[arg-type]
                    row = {name: float(found[name]) for name in METRICS}
                    runs.values.setdefault((loop, policy, factor), []).append(row)
        say(f"seed {seed} done")
    return runs
