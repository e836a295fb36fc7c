"""Tiny random traces of rules 24-49 for the batch I/O tests: few distinct numbers,
so that ties happen.
"""

import random
from typing import Any

FEATURES = ("rates", "queue", "buffer")
SHARES = ("per-node", "per-application", "even-split")


def instance(*jobs: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Jobs 0, 1, .. on 4 nodes of 2 B/s with storage of 4 B/s and a shared buffer,
    unless *changes* say.
    """
    buffer = {
        "bytes": 16,
        "bytes_per_second": 4,
        "drain_bytes_per_second": 1,
        "placement": "shared",
    }
    options = {"queue": "fcfs"} | changes.pop("options", {})
    machine = {
        "nodes": 4,
        "unit_nodes": 1,
        "allocation": "flat",
        "node_bytes_per_second": 2,
        "storage_bytes_per_second": 4,
        "burst_buffer": buffer | changes.pop("buffer", {}),
    }
    return {
        "format": "ioopt/batch-io",
        "version": 1,
        "name": "x",
        "machine": machine | changes,
        "options": options,
        "jobs": [{"id": k, **job} for k, job in enumerate(jobs)],
    }


def job(
    *phases: tuple[float, float],
    nodes: int = 1,
    submit: float = 0,
    wall: float = 100,
    **own: Any,
) -> dict[str, Any]:
    """A job of (compute seconds, bytes) phases; ``B``, ``I`` and ``O`` are its
    bytes of the buffer.
    """
    names = {"B": "buffer_bytes", "I": "stage_in_bytes", "O": "stage_out_bytes"}
    return {
        "submit_seconds": submit,
        "nodes": nodes,
        "walltime_seconds": wall,
        "phases": [{"compute_seconds": c, "io_bytes": v} for c, v in phases],
        **{names.get(key, key): value for key, value in own.items()},
    }


def random_extension(seed: int, *features: str) -> dict[str, Any]:
    """An instance of 2 to 8 jobs that uses *features* (default: any of
    them, together or not).
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
    if "buffer" in chosen:
        _add_buffer(rng, machine, options, jobs)
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
    """Walltimes are often too short (overruns, kills), often exact, often generous."""
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
        "queue": rng.choice(["wfp", "fcfs", "sjf", "plan"]),
        "backfill": rng.choice(
            ["easy", "easy", "conservative", "conservative", "none"]
        ),
        "reservation": rng.choice(["count", "nodes"]),
        "plan": rng.choice(["keep", "rebuild"]),
        "estimate": rng.choice(["walltime", "walltime", "uncongested"]),
        "pass": rng.choice(["instant", "event"]),
        "backfill_order": rng.choice(["queue", "sjf"]),
    }
    if options["queue"] == "plan":
        options |= {
            "plan_depth": rng.choice([0, 1]),
            "plan_power": rng.choice([1, 2]),
            "plan_evaluations": rng.choice([9, 12, 40]),
        }


def _add_buffer(
    rng: random.Random,
    machine: dict[str, Any],
    options: dict[str, Any],
    jobs: list[dict[str, Any]],
) -> None:
    """A buffer that holds one to three of the jobs' shares;
    sometimes nobody has one.
    """
    shared = rng.random() < 0.7
    users = [job for job in jobs if rng.random() < 0.8]
    most = 0
    for job in users:
        largest = max(1, *(phase["io_bytes"] for phase in job["phases"]))
        job["buffer_bytes"] = largest * rng.choice([1, 1, 1.5, 2, 3])
        for key in ("stage_in_bytes", "stage_out_bytes"):
            if rng.random() < 0.5:
                job[key] = job["buffer_bytes"] * rng.choice([0.25, 0.5, 1])
        parts = 1 if shared else -(-machine["nodes"] // job["nodes"])
        most = max(most, job["buffer_bytes"] * parts)
    options["staging"] = rng.choice(["at-start", "ahead", "ahead"])
    options["nodes_until"] = rng.choice(["end", "end", "release"])
    machine["burst_buffer"] = {
        "bytes": max(1, most) * rng.choice([1, 1, 1.5, 2]),
        "bytes_per_second": rng.choice([0.5, 1, 2, 4]),
        "drain_bytes_per_second": rng.choice([0.25, 0.5, 1, 2, 8]),
        "placement": "shared" if shared else "per-node",
    }
