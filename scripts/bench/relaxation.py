"""Measure the bounds that the relaxation of the replay proves.

Most instances are tiny and cover all rules. Then come generated workflows of 7 to 14
tasks on 2 or 3 nodes. The others have 12, 16 or 20 tasks on 3 nodes.
"""

from __future__ import annotations

import random
from statistics import fmean
from typing import Any

import ioopt
from bench.bounds import batch, workflow
from bench.frame import show
from ioopt import registry
from ioopt.models.replication.workflow_bound import TransferBound

TINY = 180
"""The number of tiny instances."""
SMALL = 20
"""The number of larger instances of each size."""
SECONDS = 15.0
"""The time limit of one solve in seconds."""
SIZES: dict[int, int] = {12: 3, 16: 4, 20: 4}
"""For each number of tasks, the number of images of a mosaic workflow with about as
many tasks.
"""

WORKFLOWS: tuple[tuple[str, dict[str, int]], ...] = (
    ("fork-join", {"rounds": 1, "width": 6, "nodes": 2}),
    ("fork-join", {"rounds": 1, "width": 8, "nodes": 3}),
    ("in-tree", {"leaves": 4, "nodes": 2}),
    ("in-tree", {"leaves": 5, "nodes": 2}),
    ("in-tree", {"leaves": 6, "nodes": 3}),
    ("chains", {"chains": 2, "length": 4, "nodes": 2}),
    ("chains", {"chains": 3, "length": 3, "nodes": 3}),
    ("chains", {"chains": 3, "length": 4, "nodes": 2}),
    ("montage-like", {"images": 2, "nodes": 2}),
    ("montage-like", {"images": 3, "nodes": 3}),
)
"""Presets and settings of the generated workflows; each node has one core."""
SEEDS = 6
"""The number of seeds of each generated workflow."""


def generated(seed: int, **disk: float) -> list[Any]:
    """Return one workflow for each of ``WORKFLOWS``; *disk* may set ``disk_share``."""
    found = []
    for name, settings in WORKFLOWS:
        chosen = {**settings, "cores": 1, **disk}
        given = {key: str(value) for key, value in chosen.items()}
        kind = registry.KINDS["replication"]
        found.append(registry.generate(kind, name, given, seed))
    return found


def small(tasks: int, seed: int) -> Any:
    """Return a batch or a workflow of about *tasks* tasks on 3 nodes.

    The seed decides the preset, whether disks are ample, and the rate of copies.
    """
    batch: dict[str, Any] = {"tasks": tasks, "disk": "100GB"}
    flow: dict[str, Any] = {"cores": 1}
    if seed // 6 % 2:
        batch["disk"] = "600MB"
        flow["disk_share"] = 2.0
    name, chosen = [
        ("image-85", batch | {"compute_seconds_per_mb": 0.1}),
        ("sat-85", batch | {"compute_seconds_per_mb": 0.05}),
        ("chains", flow | {"chains": tasks // 4, "length": 4}),
        ("in-tree", flow | {"leaves": (tasks + 1) // 2}),
        ("fork-join", flow | {"rounds": 1, "width": tasks - 2}),
        ("montage-like", flow | {"images": SIZES[tasks]}),
    ][seed % 6]
    if seed // 12 % 2:
        chosen["replica_rate"] = 40e6
    chosen["nodes"] = 3
    given = {key: str(value) for key, value in chosen.items()}
    return registry.generate(registry.KINDS["replication"], name, given, seed)


def row(name: str, problems: list[Any]) -> list[Any]:
    """Return a row of the table: the mean gaps of three lower bounds, and how many
    plans each bound proves optimal.

    The first bound is computed without the relaxation. The second holds for all plans.
    The third holds only for plans without copy entries and without a record of
    dispatches.
    """
    gaps = []
    proofs = []
    for problem in problems:
        result = ioopt.solve(problem, "exact-workflow", time_limit=SECONDS)
        end = result.metrics["makespan_seconds"]
        bounds = (
            TransferBound(problem).seconds,
            result.bound,
            result.metrics["queues_bound_seconds"],
        )
        found = [_gap_percent(bound, end) for bound in bounds]
        gaps.append(found)
        proofs.append([gap < 1e-7 for gap in found])
    means = [f"{fmean(gap):.2f}" for gap in zip(*gaps, strict=True)]
    proven = [sum(some) for some in zip(*proofs, strict=True)]
    return [name, len(problems), *means, *proven]


def _gap_percent(bound: float, makespan: float) -> float:
    """Return how far *bound* is below *makespan*, in % of the makespan; 0 if it is
    above.
    """
    if not makespan:
        return 0.0
    return max(0.0, 100 * (1 - bound / makespan))


def main(quick: bool, seed: int = 1) -> None:
    """Print the table for seeds from *seed* on. A quick run has a tenth of the
    instances.
    """
    rng = random.Random(seed)
    part = 10 if quick else 1
    problems = []
    for _ in range(TINY // part // 2):
        problems += [batch(rng), workflow(rng)]
    table = [row("tiny", problems)]
    seeds = range(seed, seed + (1 if quick else SEEDS))
    flows = [problem for s in seeds for problem in generated(s)]
    table.append(row("workflows", flows))
    flows = [problem for s in seeds for problem in generated(s, disk_share=1.2)]
    table.append(row("workflows, disk x 1.2", flows))
    for tasks in SIZES:
        more = range(100 * seed, 100 * seed + SMALL // part)
        table.append(row(f"{tasks} x 3", [small(tasks, s) for s in more]))
    told = (
        "gap % before",
        "gap %",
        "queues' gap %",
        "proofs before",
        "proofs",
        "queues proven",
    )
    show(f"exact-workflow, {SECONDS:g} s", ("instances", "number", *told), table)
