"""exact-workflow on random workflows and batches of 8 to 12 tasks on two or three nodes: how many it
proves, how soon. On batches this is what ``ip --set objective=makespan`` hands over to."""

from __future__ import annotations

import random
import statistics
from typing import Any

from bench.frame import cpu, timed

from ioopt.options import Deadline, SolveOptions
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.exact import exact_workflow
from ioopt.tables import render

LIMIT_SECONDS = 30.0
HEAD = (
    "kind", "tasks", "nodes", "instances", "proven", "median s", "p95 s", "max s", "median replays",
    "mean gap", "largest gap", "mean over bound before", "best planner / best",
)  # fmt: skip


def workflow(seed: int, tasks: tuple[int, int] = (8, 10), nodes: int = 2) -> dict[str, Any]:
    """A random workflow: about half with small disks, with keeps, arrivals, cores and unlike speeds."""
    rng = random.Random(seed)
    cores = rng.choice([1, 1, 2, 4])
    count = rng.randint(*tasks)
    files = [{"id": f"r{k}", "bytes": rng.randint(10, 200)} for k in range(rng.randint(1, 4))]
    known = [file["id"] for file in files]
    shape = rng.choice(["wide", "deep", "mixed"])
    rows: list[dict[str, Any]] = []
    for k in range(count):
        most = {"wide": 1, "deep": 3, "mixed": 2}[shape]
        recent = known[-4:] if shape == "deep" else known
        reads = rng.sample(recent, min(len(recent), rng.randint(0 if k else 1, most)))
        writes = [f"p{k}.{x}" for x in range(rng.choice([0, 1, 1, 1, 2]))]
        for name in writes:
            files.append({"id": name, "bytes": rng.randint(10, 200), "keep": rng.random() < 0.15})
        known += writes
        rows.append({
            "id": f"t{k}", "inputs": reads, "outputs": writes,
            "compute_seconds": round(rng.uniform(0.5, 20), 1),
            "cores": rng.randint(1, cores) if rng.random() < 0.4 else 1,
            "release_seconds": rng.choice([0, 0, 0, round(rng.uniform(0, 20), 1)]),
        })  # fmt: skip
    size = {file["id"]: file["bytes"] for file in files}
    need = max(sum(size[f] for f in (*row["inputs"], *row["outputs"])) for row in rows)
    disk = rng.choice([None, None, 1.0, 1.2, 1.5])
    return {
        "format": "ioopt/replication", "version": 1, "name": f"random-{seed}",
        "network": {
            "remote_bytes_per_second": rng.choice([10, 20, 50]),
            "replica_bytes_per_second": rng.choice([20, 50, 100]),
            "remote_link": rng.choice(["shared", "shared", "per-node"]),
        },
        "nodes": [
            {
                "id": f"n{i}", "cores": cores, "speed": rng.choice([1, 1, 1, 2, 0.5]),
                "disk_bytes": None if disk is None else round(need * disk),
            }
            for i in range(nodes)
        ],
        "files": files, "tasks": rows,
    }  # fmt: skip


def batch(seed: int, tasks: tuple[int, int], nodes: int) -> dict[str, Any]:
    """A random batch: files of 4 and 64 MB, disks of 1 to 1.5 times the largest task or none."""
    rng = random.Random(seed)
    count = tasks[1]
    size = {f"f{k}": rng.choice([4, 64]) * 10**6 for k in range(rng.randint(count // 2, 2 * count))}
    rows = [
        {"id": f"t{k}", "compute_seconds": round(rng.uniform(0.5, 20), 1),
         "inputs": rng.sample(sorted(size), rng.randint(1, 4))}
        for k in range(count)
    ]  # fmt: skip
    need = max(sum(size[f] for f in row["inputs"]) for row in rows)
    disk = rng.choice([None, 1.0, 1.2, 1.5])
    return {
        "format": "ioopt/replication", "version": 1, "name": f"random-batch-{seed}",
        "network": {
            "remote_bytes_per_second": 12.5e6,
            "replica_bytes_per_second": rng.choice([1e9, 40e6]),
            "remote_link": rng.choice(["shared", "shared", "per-node"]),
        },
        "nodes": [
            {"id": f"n{i}", "disk_bytes": None if disk is None else round(need * disk)}
            for i in range(nodes)
        ],
        "files": [{"id": name, "bytes": size[name]} for name in size], "tasks": rows,
    }  # fmt: skip


MAKERS = {"workflow": workflow, "batch": batch}
GROUPS = (
    ("workflow", (8, 10), 2, 200), ("workflow", (11, 12), 2, 50), ("workflow", (12, 12), 3, 50),
    ("batch", (8, 8), 2, 50), ("batch", (12, 12), 2, 50), ("batch", (12, 12), 3, 50),
)  # fmt: skip
"""Kind, least and most tasks, nodes, how many instances."""


def measure(
    kind: str, seed: int, tasks: tuple[int, int], nodes: int
) -> tuple[float, Outcome, float, float]:
    """CPU seconds, the answer, its makespan, and the bound without a search (workflow rule 18)."""
    problem = ReplicationProblem.model_validate(MAKERS[kind](seed, tasks, nodes))
    request: SolveRequest[Any, Any] = SolveRequest(SolveOptions(), Deadline(LIMIT_SECONDS, cpu))
    seconds, outcome = timed(lambda: exact_workflow.solve(problem, request), cpu)
    assert outcome.plan is not None and outcome.bound is not None
    metrics = simulate(problem, outcome.plan).metrics
    return seconds, outcome, metrics["makespan_seconds"], metrics["lower_bound_seconds"]


def main(quick: bool = False) -> None:
    """Print the table; times are CPU seconds, kernels compiled before."""
    exact_workflow.compile_kernels()
    rows = []
    for kind, tasks, nodes, count in GROUPS:
        runs = [measure(kind, seed, tasks, nodes) for seed in range(count // (10 if quick else 1))]
        rows.append([kind, *_row(tasks, nodes, runs)])
        print(render(HEAD, rows[-1:]), flush=True)
    print(f"\nexact-workflow, {LIMIT_SECONDS:g} s each\n")
    print(render(HEAD, rows))


def _row(
    tasks: tuple[int, int], nodes: int, runs: list[tuple[float, Outcome, float, float]]
) -> list[str]:
    seconds = sorted(run[0] for run in runs)
    gaps = [max(0.0, end - float(o.bound or 0.0)) / end for _, o, end, _ in runs]
    proven = sum(gap <= 1e-9 for gap in gaps)
    replays = [o.metrics["replays"] for _, o, _, _ in runs]
    return [
        f"{tasks[0]}-{tasks[1]}", str(nodes), str(len(runs)), f"{proven / len(runs):.1%}",
        f"{statistics.median(seconds):.2f}", f"{seconds[int(0.95 * len(seconds))]:.2f}",
        f"{seconds[-1]:.2f}", f"{statistics.median(replays):.0f}",
        f"{statistics.mean(gaps):.2%}", f"{max(gaps):.1%}",
        f"{statistics.mean(end / low for *_, end, low in runs):.3f}",
        f"{statistics.mean(o.metrics['planners_makespan_seconds'] / end for _, o, end, _ in runs):.3f}",
    ]  # fmt: skip
