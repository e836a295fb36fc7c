"""exact-workflow on random workflows and batches of 8 to 12 tasks on two or three nodes: how many it
proves, how soon. On batches this is what ``ip --set objective=makespan`` hands over to. A checkout of
before, ``IOOPT_BEFORE=FOLDER:PYTHON``, solves the same instances beside it.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from bench.frame import ROOT, Tree, cpu, show, timed, tree_before

from ioopt.options import Deadline, SolveOptions
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.exact import exact_workflow

LIMIT_SECONDS = 15.0
HEAD = (
    "instances", "tree", "n", "proven", "median s", "p95 s", "max s", "median replays", "mean gap",
    "largest gap", "over plain bound", "best planner",
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
    ("workflow", (8, 10), 2, 60), ("workflow", (11, 12), 2, 20), ("workflow", (12, 12), 3, 20),
    ("batch", (8, 8), 2, 20), ("batch", (12, 12), 2, 20), ("batch", (12, 12), 3, 10),
)  # fmt: skip
"""Kind, least and most tasks, nodes, how many instances."""


class Run(NamedTuple):
    """CPU seconds, makespan, bound, the bound without a search (workflow rule 18), the best planner's
    makespan, and the replays of one solve."""

    seconds: float
    makespan: float
    bound: float
    plain: float
    planners: float
    replays: float

    @property
    def gap(self) -> float:
        """How far the bound is below the makespan, as a share of it."""
        return max(0.0, self.makespan - self.bound) / self.makespan


def measure(kind: str, seed: int, tasks: tuple[int, int], nodes: int) -> Run:
    """One instance solved, by processor time."""
    problem = ReplicationProblem.model_validate(MAKERS[kind](seed, tasks, nodes))
    request: SolveRequest[Any, Any] = SolveRequest(SolveOptions(), Deadline(LIMIT_SECONDS, cpu))
    seconds, outcome = timed(lambda: exact_workflow.solve(problem, request), cpu)
    assert outcome.plan is not None and outcome.bound is not None
    found = simulate(problem, outcome.plan).metrics
    bound = outcome.metrics.get("queues_bound_seconds", outcome.bound)  # before: one of queues
    return Run(
        seconds, found["makespan_seconds"], bound, found["lower_bound_seconds"],
        outcome.metrics["planners_makespan_seconds"], outcome.metrics["replays"],
    )  # fmt: skip


def apart(tree: Tree, kind: str, tasks: tuple[int, int], nodes: int, count: int) -> list[Run]:
    """The instances of one row solved by *tree* in a process of its own."""
    path = os.pathsep.join([str(tree.folder), str(ROOT / "scripts")])
    ran = subprocess.run(
        [tree.python, str(Path(__file__).resolve()), json.dumps([kind, tasks, nodes, count])],
        cwd=tree.folder, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    return [Run(*row) for row in json.loads(ran.stdout.splitlines()[-1])]


def main(quick: bool = False) -> None:
    """Print the table; times are processor seconds, kernels compiled before."""
    trees = {"before": tree_before(), "now": Tree(ROOT, sys.executable)}
    rows = []
    for kind, tasks, nodes, count in GROUPS:
        for label, tree in trees.items():
            if tree:
                runs = apart(tree, kind, tasks, nodes, count // (10 if quick else 1))
                span = "-".join(str(n) for n in sorted(set(tasks)))
                rows.append([f"{kind}, {span} x {nodes}", label, *_row(runs)])
                print(*rows[-1], flush=True)
    show(f"exact-workflow, {LIMIT_SECONDS:g} s each", HEAD, rows)


def _row(runs: list[Run]) -> list[str]:
    seconds = sorted(run.seconds for run in runs)
    gaps = [run.gap for run in runs]
    return [
        str(len(runs)), str(sum(gap <= 1e-9 for gap in gaps)),
        f"{statistics.median(seconds):.2f}", f"{seconds[int(0.95 * len(seconds))]:.2f}",
        f"{seconds[-1]:.2f}", f"{statistics.median(run.replays for run in runs):.0f}",
        f"{statistics.mean(gaps):.2%}", f"{max(gaps):.1%}",
        f"{statistics.mean(run.makespan / run.plain for run in runs):.3f}",
        f"{statistics.mean(run.planners / run.makespan for run in runs):.3f}",
    ]  # fmt: skip


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    exact_workflow.compile_kernels()
    print(json.dumps([measure(asked[0], seed, asked[1], asked[2]) for seed in range(asked[3])]))
