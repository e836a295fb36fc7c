"""What policies lose against the least I/O delay for given starts, and with volumes that are not known.

Small traces against ``exact`` (those proven within the limit), weeks and months against ``fill`` and the
bound by prices. Seeds chose nothing here: ``least-delay`` was chosen on seeds 1 to 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from bench.frame import show

import ioopt
from ioopt.generate.batch_io.generate import generate
from ioopt.models.batch_io.bounds import chains_of
from ioopt.models.batch_io.prices import delay_bound
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io.run import Engine, run_trace

POLICIES = (
    "least-delay", "fill", "adaptive", "base-line", "cons-fcfs", "cons-fcfs+top", "cons-max-util",
    "cons-max-util+top", "cons-min-inst-sld+top", "cons-min-aggr-sld+top", "set-10+top",
)  # fmt: skip
SMALL = {"jobs": 5, "nodes": 8, "most_phases": 3}
LIMIT_SECONDS = 60.0
ESTIMATES: tuple[dict[str, Any], ...] = (
    {}, {"volume_noise": 0.35}, {"volume_noise": 0.7}, {"volume_noise": 1.4},
    {"estimate": "job-mean"}, {"estimate": "history"}, {"estimate": "none"},
)  # fmt: skip


def delay(
    trace: Trace, policy: str, settings: dict[str, Any] | None = None, engine: Engine = "compiled"
) -> float:
    """Seconds that all jobs lose in open loop."""
    run = run_trace(trace, io_policy(policy, settings), "open", engine)
    return float(sum(run.end[j] - run.start[j] - trace.ideal[j] for j in range(len(trace))))


def small_rows(seeds: Sequence[int]) -> Iterator[list[Any]]:
    """Delays of all traces together over the least, and the share of traces in which it is reached."""
    lost: dict[str, list[float]] = {name: [] for name in POLICIES}
    least: list[float] = []
    bounds, tried = [], 0
    for seed in seeds:
        problem = generate("small", SMALL, seed)
        tried += 1
        best = ioopt.solve(problem, "exact", time_limit=LIMIT_SECONDS)
        total = best.metrics["io_delay_seconds"] * len(problem.jobs)
        if best.status != "optimal" or total <= 1e-6:
            continue
        trace = Trace.of(problem)
        least.append(total)
        for name in POLICIES:
            lost[name].append(delay(trace, name, engine="python"))
        priced = ioopt.solve(problem, "fill", settings={"loop": "open"})
        bounds.append(priced.metrics["io_delay_bound"] * len(problem.jobs))
    yield [f"{tried} traces, {len(least)} proven with a delay", "1.00", "", ""]
    for name, values in lost.items():
        ratios = [value / true for value, true in zip(values, least)]
        reached = fmean(ratio < 1 + 1e-6 for ratio in ratios)
        yield [
            name, f"{sum(values) / sum(least):.2f}", f"{fmean(ratios):.2f}", f"{reached:.0%}",
        ]  # fmt: skip
    yield ["bound by prices", f"{sum(bounds) / sum(least):.2f}", "", ""]


def long_rows(seeds: Sequence[int], preset: str, rounds: int) -> Iterator[list[Any]]:
    """Mean delay a job, over fill's and over the bound."""
    lost: dict[str, list[float]] = {name: [] for name in POLICIES}
    bounds = []
    for seed in seeds:
        problem = generate(preset, {}, seed)
        trace = Trace.of(problem)
        for name in POLICIES:
            lost[name].append(delay(trace, name) / len(trace))
        free = run_trace(trace, io_policy("no-congestion"), "closed", "python")
        chains = chains_of(problem, 1.0, dict(zip(trace.ids, free.start)))
        known = lost["least-delay"][-1] * len(trace)
        bounds.append(delay_bound(chains, known, rounds) / len(trace))
    for name, values in lost.items():
        over = fmean(value / other for value, other in zip(values, lost["fill"]))
        gap = f"{fmean(values) / fmean(bounds):.1f}" if any(bounds) else "-"
        yield [preset, name, f"{fmean(values):.1f} s", f"{over:.2f}", gap]
    yield [preset, "bound by prices", f"{fmean(bounds):.1f} s", "", ""]


def estimate_rows(seeds: Sequence[int], preset: str) -> Iterator[list[Any]]:
    """Mean delay over base-line's, which needs no volumes: below 1 a policy still helps."""
    traces = [Trace.of(generate(preset, {}, seed)) for seed in seeds]
    base = [delay(trace, "base-line") for trace in traces]
    for settings in ESTIMATES:
        row = [", ".join(f"{key}={value}" for key, value in settings.items()) or "exact"]
        for name in ("least-delay", "fill", "adaptive"):
            ratios = [delay(trace, name, settings) / one for trace, one in zip(traces, base)]
            row.append(f"{fmean(ratios):.2f}")
        yield row


def main(quick: bool) -> None:
    """Print all tables."""
    seeds = range(1000, 1020 if quick else 1200)
    head = ("policy", "sum of delays / least", "mean of ratios", "least reached")
    show(f"{len(seeds)} small traces, open loop, total I/O delay", head, small_rows(seeds))
    for preset, rounds in (("mira-week", 20), ("mira-month", 0)):
        weeks = range(101, 103 if quick else 113)
        columns = ("trace", "policy", "delay a job", "over fill's", "over the bound")
        used = 0 if quick else rounds
        show(f"{preset}, {len(weeks)} seeds", columns, long_rows(weeks, preset, used))
    weeks = range(101, 103 if quick else 113)
    columns_of_estimates = ("volumes", "least-delay", "fill", "adaptive")
    title = f"mira-week, {len(weeks)} seeds: delay over base-line's by what is believed of volumes"
    show(title, columns_of_estimates, estimate_rows(weeks, "mira-week"))
