"""Small replication instances for several test files: seeded, by hand, and from the generators."""

from __future__ import annotations

import random

from ioopt.problems.replication import ReplicationProblem


def tiny(
    seed: int, nodes: int = 2, tasks: int = 4, files: int = 3, extras: bool = False
) -> ReplicationProblem:
    """A random instance small enough to enumerate; ``extras``: speeds, held files, disks."""
    rng = random.Random(seed)
    sizes = [rng.choice([0, 10, 40, 70]) for _ in range(files)]
    machines = []
    for k in range(nodes):
        held = [f"f{f}" for f in range(files) if extras and rng.random() < 0.2]
        speed = rng.choice([1.0, 2.0, 0.5]) if extras else 1.0
        machines.append({"id": f"n{k}", "speed": speed, "holds": held})
        if extras and rng.random() < 0.6:
            least = sum(sizes[int(name[1:])] for name in held)
            machines[-1]["disk_bytes"] = max(least, rng.choice([60, 100, 130]))
    network = {
        "remote_bytes_per_second": 10.0,
        "replica_bytes_per_second": rng.choice([12.0, 15.0, 40.0, 100.0]),
    }
    return ReplicationProblem.model_validate(
        {
            "name": f"tiny{seed}",
            "network": network,
            "nodes": machines,
            "files": [{"id": f"f{k}", "bytes": size} for k, size in enumerate(sizes)],
            "tasks": [
                {
                    "id": f"t{k}",
                    "compute_seconds": rng.choice([0.0, 0.5, 2.0, 7.25]),
                    "inputs": [f"f{f}" for f in range(files) if rng.random() < 0.6],
                }
                for k in range(tasks)
            ],
        }
    )


def fits_somewhere(problem: ReplicationProblem) -> bool:
    """Whether every task fits the largest disk (solvers refuse the instance otherwise)."""
    disks = [node.disk_bytes for node in problem.nodes]
    if None in disks:
        return True
    return all(problem.task_bytes(k) <= max(disks) for k in range(len(problem.tasks)))
