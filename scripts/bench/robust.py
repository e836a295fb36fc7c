"""Compare plans of the link-aware search that were judged by noise with plans that were
not.

Each instance is searched in three ways: for ``SECONDS`` of processor time without noise
(``robust=no``), for 1,000 replays without noise, and for ``SECONDS`` with noise
(``robust=yes``, the default). Each plan is then replayed exactly, and under unfair
sharing by draws that no search has used. The settings of the search were chosen on the
first set of instances; the second set was used for the report only.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import exp, log
from typing import NamedTuple

from bench.frame import show
from ioopt.generate.replication.generate import generate
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.replication import DRAWS, ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.sim.replication.build import Noise
from ioopt.sim.replication.noisy import noisy_makespans, spread_of
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.search import link_aware

SECONDS = 8.0
NOISE = Noise(sharing_noise=0.2)
PROMISE = 1.03
"""Largest mean under noise, as a multiple of the exact makespan, of a plan that
holds.
"""


class Case(NamedTuple):
    """An instance of a preset, with changed settings."""

    preset: str
    seed: int
    settings: dict[str, object]

    def name(self) -> str:
        """Return the preset and the settings in one word."""
        told = [f"{key}={value}" for key, value in self.settings.items()]
        return " ".join([self.preset, *told])


CHOSEN_ON = (
    Case("image-85", 101, {"tasks": 24, "disk": "350MB"}),
    Case("image-85", 102, {"tasks": 60, "disk": "300MB"}),
    Case("image-85", 103, {"tasks": 100}),
    Case("bipartite-85", 104, {"tasks": 60}),
    Case("sat-85", 105, {"tasks": 60, "disk": "600MB"}),
    Case("image-85-windows", 106, {"tasks": 80, "disk": "600MB"}),
    Case("sat-40", 107, {"tasks": 40}),
    Case("image-40", 108, {"tasks": 50}),
    Case("many-small-groups", 109, {"groups": 12, "disk_share": 1.3}),
    Case("in-tree", 110, {"leaves": 32, "disk_share": 1.3}),
)
REPORTED = (
    Case("image-85", 301, {"tasks": 32, "disk": "350MB", "nodes": 3}),
    Case("image-85", 302, {"tasks": 80, "disk": "300MB"}),
    Case("image-85", 303, {"tasks": 100}),
    Case("image-85", 304, {"tasks": 200, "disk": "350MB"}),
    Case("bipartite-85", 305, {"tasks": 100}),
    Case("sat-85", 306, {"tasks": 80, "disk": "600MB"}),
    Case("image-85-windows", 307, {"tasks": 120, "nodes": 6}),
    Case("image-0", 308, {"tasks": 60}),
    Case("sat-10", 309, {"tasks": 50}),
    Case("ppa", 310, {"tasks": 100}),
    Case("fork-join", 311, {"disk_share": 1.3}),
    Case("chains", 312, {"disk_share": 1.2}),
)


class Held(NamedTuple):
    """What a plan promises and what it holds, in seconds."""

    exact: float
    mean: float
    p95: float


def main(quick: bool) -> None:
    """Print the table of each set of instances."""
    seconds = SECONDS / 8.0 if quick else SECONDS
    for title, cases in (
        ("instances on which the search was set", CHOSEN_ON),
        ("instances kept for this report", REPORTED),
    ):
        report(f"{title}, {seconds:g} CPU-s each", cases, seconds)


def report(title: str, cases: tuple[Case, ...], seconds: float) -> None:
    """Search all *cases* in three ways, and print their table and its summary."""
    rows = []
    ratios: dict[str, list[float]] = {"exact": [], "mean": [], "95 %": []}
    held = 0
    short = 0
    for case in cases:
        problem = generate(case.preset, case.settings, case.seed)
        exact = searched(problem, case.seed, seconds, robust=False)
        few = searched(problem, case.seed, seconds, robust=False, replays=1000)
        robust = searched(problem, case.seed, seconds, robust=True)
        holds = robust.mean <= PROMISE * robust.exact
        level = robust.mean <= few.mean * (1 + 1e-9)
        held += holds
        short += level
        ratios["exact"].append(robust.exact / exact.exact)
        ratios["mean"].append(robust.mean / exact.mean)
        ratios["95 %"].append(robust.p95 / exact.p95)
        rows.append(
            (
                f"{case.name()} (seed {case.seed})",
                *cells(exact),
                *cells(few),
                *cells(robust),
                f"{robust.mean / robust.exact:.3f}",
                "yes" if holds else "no",
                "yes" if level else "no",
            )
        )
    head = ["instance"]
    for way in ("no", "1000", "yes"):
        head += [f"{way}: exact", "mean", "95 %"]
    head += ["mean/exact", "<= 1.03", "<= 1000"]
    show(title, head, rows)
    told = ", ".join(
        f"{name} {geometric_mean(values):.4f} ({min(values):.3f} to {max(values):.3f})"
        for name, values in ratios.items()
    )
    print(
        f"\nrobust=yes over robust=no: {told}\nmean <= {PROMISE} of the exact makespan:"
        f" {held} of {len(cases)}; never above 1,000 replays: {short} of {len(cases)}",
        flush=True,
    )


def searched(
    problem: ReplicationProblem,
    seed: int,
    seconds: float,
    robust: bool,
    replays: int | None = None,
) -> Held:
    """Return what the plan of a search of *seconds* of processor time promises and
    holds; a search of *replays* replays ends by their number.
    """
    options = replace(SolveOptions(), seed=seed, time_limit_seconds=seconds)
    settings = link_aware.Settings(robust=robust, evaluations=replays)
    deadline = Deadline(seconds, time.process_time)
    request = SolveRequest(options=options, deadline=deadline, settings=settings)
    plan = link_aware.solve(problem, request).plan
    assert plan is not None
    exact = simulate(problem, plan).metrics["makespan_seconds"]
    if plan.dispatches is not None:
        return Held(exact, exact, exact)
    found = spread_of(noisy_makespans(problem, plan, NOISE, DRAWS))
    return Held(exact, found["mean"], found["p95"])


def cells(held: Held) -> tuple[str, ...]:
    """Return the figures of a plan as cells of a table."""
    return tuple(f"{seconds:.1f}" for seconds in held)


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean of positive *values*."""
    return exp(sum(map(log, values)) / len(values))
