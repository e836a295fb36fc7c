"""What the relaxation of the replay proves: tiny instances of all rules, and 12, 16,
20 tasks on 3 nodes.
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

TINY, SMALL, SECONDS = 180, 20, 15.0
SIZES: dict[int, int] = {12: 3, 16: 4, 20: 4}
"""Tasks, and the images of a mosaic with about as many."""


def small(tasks: int, seed: int) -> Any:
    """A batch or workflow of about so many tasks on 3 nodes: disks and copies
    ample or not, by seed.
    """
    batch: dict[str, Any] = {
        "tasks": tasks,
        "disk": "600MB" if seed // 6 % 2 else "100GB",
    }
    flow: dict[str, Any] = {"cores": 1} | ({"disk_share": 2.0} if seed // 6 % 2 else {})
    name, chosen = [
        ("image-85", batch | {"compute_seconds_per_mb": 0.1}),
        ("sat-85", batch | {"compute_seconds_per_mb": 0.05}),
        ("chains", flow | {"chains": tasks // 4, "length": 4}),
        ("in-tree", flow | {"leaves": (tasks + 1) // 2}),
        ("fork-join", flow | {"rounds": 1, "width": tasks - 2}),
        ("montage-like", flow | {"images": SIZES[tasks]}),
    ][seed % 6]
    rate = {"replica_rate": 40e6} if seed // 12 % 2 else {}
    given = {key: str(value) for key, value in {**chosen, **rate, "nodes": 3}.items()}
    return registry.generate(registry.KINDS["replication"], name, given, seed)


def row(name: str, problems: list[Any]) -> list[Any]:
    """Mean gaps of three bounds and what they prove: without the relaxation, of
    all plans, of queues.
    """
    gaps, proofs = [], []
    for problem in problems:
        result = ioopt.solve(problem, "exact-workflow", time_limit=SECONDS)
        end = result.metrics["makespan_seconds"]
        bounds = (
            TransferBound(problem).seconds,
            result.bound,
            result.metrics["queues_bound_seconds"],
        )
        gaps.append([100 * (1 - bound / end) if end else 0.0 for bound in bounds])
        proofs.append([gap < 1e-7 for gap in gaps[-1]])
    means = [f"{fmean(gap):.2f}" for gap in zip(*gaps, strict=True)]
    return [
        name,
        len(problems),
        *means,
        *(sum(some) for some in zip(*proofs, strict=True)),
    ]


def main(quick: bool, seed: int = 1) -> None:
    """Print both tables from *seed* on; a quick run has a tenth of the instances."""
    rng, part = random.Random(seed), 10 if quick else 1
    makers = [batch, workflow] * (TINY // part // 2)
    table = [row("tiny", [make(rng) for make in makers])]
    for tasks in SIZES:
        seeds = range(100 * seed, 100 * seed + SMALL // part)
        table.append(row(f"{tasks} x 3", [small(tasks, s) for s in seeds]))
    told = (
        "gap % before",
        "gap %",
        "queues' gap %",
        "proofs before",
        "proofs",
        "queues proven",
    )
    show(f"exact-workflow, {SECONDS:g} s", ("instances", "number", *told), table)
