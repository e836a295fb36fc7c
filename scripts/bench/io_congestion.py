"""The published sets of periodic applications under every policy, beside the published figures.

``python scripts/benchmark.py io-congestion``: system efficiency and dilation over twenty periods of
the longest application, starting from rest, against the periodic schedules of PerSched (Aupy,
Gainaru, Le Fevre), which know all applications in advance. Needs the sets (``IOOPT_SHARED``).
"""

from __future__ import annotations

import math
import statistics
from pathlib import Path

from bench.frame import shared_data

from ioopt.errors import InstanceError
from ioopt.formats.io_congestion import (
    PROCESSORS,
    SteadyState,
    batch_io_from_set,
    horizon_of,
    read_published,
    read_set,
    steady_state,
)
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.results import schedule_of
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io.run import run_trace
from ioopt.tables import render

POLICIES = (
    "base-line", "cons-fcfs", "cons-fcfs+top", "cons-max-util", "cons-min-inst-sld",
    "cons-min-aggr-sld", "adaptive", "set-10", "fill",
)  # fmt: skip


def folder() -> Path:
    """Where the sets are: ``io-congestion`` of the shared data; InstanceError when it is not there."""
    found = shared_data("io-congestion")
    if not found.is_dir():
        raise InstanceError(f"{found}: no such folder; set IOOPT_SHARED to the shared data")
    return found


def measure(path: Path, policy: str, periods: int) -> SteadyState:
    """One set under one policy."""
    applications = read_set(path)
    problem = batch_io_from_set(applications, path.name, periods=periods)
    trace = Trace.of(problem, 1.0, False)
    schedule = schedule_of(trace, run_trace(trace, io_policy(policy)))
    return steady_state(problem, schedule, horizon_of(applications, periods))


def upper_limit(path: Path) -> float:
    """System efficiency without congestion."""
    return sum(a.processors * a.work_seconds / a.ideal_seconds for a in read_set(path)) / PROCESSORS


def main(quick: bool = False) -> None:
    """Print efficiency and dilation a set and policy, then means against the published ones."""
    data = folder()
    published = read_published(data / "results_paper.txt")
    numbers = [number for number in published if (data / f"set{number}").exists()]
    numbers = numbers[:12] if quick else numbers
    periods = 5 if quick else 20
    rows = []
    found: dict[str, list[SteadyState]] = {policy: [] for policy in POLICIES}
    for number in numbers:
        path = data / f"set{number}"
        cells = []
        for policy in POLICIES:
            state = measure(path, policy, periods)
            found[policy].append(state)
            cells.append(f"{state.efficiency:.3f}/{state.dilation:.2f}")
        theirs = published[number]
        rows.append(
            (number, f"{upper_limit(path):.3f}", f"{theirs.efficiency:.3f}/{theirs.dilation:.2f}",
             *cells)
        )  # fmt: skip
    print(f"System efficiency / largest dilation over {periods} periods\n")
    print(render(("set", "limit", "PerSched", *POLICIES), rows))
    summary = []
    for policy in POLICIES:
        ratios = [s.efficiency / published[n].efficiency for s, n in zip(found[policy], numbers)]
        dilations = [s.dilation / published[n].dilation for s, n in zip(found[policy], numbers)]
        summary.append((policy, f"{statistics.fmean(ratios):.4f}", f"{geometric(dilations):.4f}"))
    print("\nMean over the sets, relative to the published PerSched figures\n")
    print(render(("policy", "efficiency", "dilation (geometric)"), summary))


def geometric(values: list[float]) -> float:
    """Geometric mean, infinite when a value is."""
    if any(math.isinf(value) for value in values):
        return math.inf
    return math.exp(statistics.fmean(math.log(value) for value in values))
