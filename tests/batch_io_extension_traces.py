"""Tiny random traces for rules 24 to 37; few distinct numbers make ties occur."""

import random
from typing import Any

FEATURES = ("rates", "queue")
SHARES = ("per-node", "per-application", "even-if-congested", "even-split")


def random_extension(seed: int, *features: str) -> dict[str, Any]:
    """Return an instance of 2 to 8 jobs that uses *features*.

    By default it uses a random choice of all features.
    """
    rng = random.Random(f"extension {seed}")
    chosen = (
        features
        or tuple(f for f in FEATURES if rng.random() < 0.7)
        or (rng.choice(FEATURES),)
    )
    unit = rng.choice([1, 1, 2])
    units = rng.choice([2, 4, 4, 6, 8])
    machine: dict[str, Any] = {
        "nodes": units * unit,
        "unit_nodes": unit,
        "allocation": rng.choice(["flat", "flat", "partition"]),
        "node_bytes_per_second": 1,
        "storage_bytes_per_second": rng.choice([1, 2, 3, 5.5]) * unit,
    }
    options: dict[str, Any] = {
        "kill": rng.random() < 0.4,
        "queue": rng.choice(["wfp", "fcfs"]),
        "backfill": rng.choice(["easy", "easy", "none"]),
    }
    jobs = [_job(rng, k, units * unit) for k in range(rng.randint(2, 8))]
    if "rates" in chosen:
        machine["interference"] = rng.choice([0, 0, 0.25, 0.5, 1])
        for job in jobs:
            if rng.random() < 0.5:
                job["io_bytes_per_second"] = rng.choice([0.25, 0.5, 1, 1.5, 2, 8])
    if "queue" in chosen:
        _add_queue(rng, options)
    return {
        "format": "ioopt/batch-io",
        "version": 1,
        "name": f"extension-{seed}",
        "machine": machine,
        "options": options,
        "jobs": jobs,
    }


def _job(rng: random.Random, number: int, nodes: int) -> dict[str, Any]:
    """Return a random job.

    Its walltime is often too short, so that it overruns or is killed, and often exact
    or generous.
    """
    size = min(nodes, rng.choice([1, 1, 2, 2, 3, 4, nodes]))
    phases = [
        {
            "compute_seconds": rng.choice([0, 0, 1, 2, 2.5, 4]),
            "io_bytes": size * rng.choice([0, 0, 1, 2, 2.5, 6]),
            "repeat": rng.choice([1, 1, 2]),
        }
        for _ in range(rng.randint(1, 3))
    ]
    computes = sum(phase["compute_seconds"] * phase["repeat"] for phase in phases)
    return {
        "id": number * 7 % 11,
        "submit_seconds": rng.choice([0, 0, 0, 1, 2, 3, 4.5, 8, 12]),
        "nodes": size,
        "walltime_seconds": rng.choice([max(1, computes), 2, 5, 5, 10, 20, 40]),
        "phases": phases,
    }


def _add_queue(rng: random.Random, options: dict[str, Any]) -> None:
    options |= {
        "queue": rng.choice(["wfp", "fcfs", "sjf"]),
        "backfill": rng.choice(
            ["easy", "easy", "conservative", "conservative", "none"]
        ),
        "reservation": rng.choice(["count", "nodes"]),
        "plan": rng.choice(["keep", "rebuild"]),
        "estimate": rng.choice(["walltime", "walltime", "uncongested"]),
        "pass": rng.choice(["instant", "event"]),
        "backfill_order": rng.choice(["queue", "sjf"]),
    }
