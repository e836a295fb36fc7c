"""Small random traces for the batch I/O tests; few distinct numbers make ties occur."""

import random
from collections.abc import Iterable
from typing import Any

import ioopt
from ioopt.decisions.batch_io import Limits, Request, View
from ioopt.problems.batch_io import BatchIoProblem, Machine

FLAT = {"unit_nodes": 1, "allocation": "flat", "node_bytes_per_second": 1.0}

POLICIES = (
    "no-congestion",
    "base-line",
    "cons-fcfs",
    "cons-fcfs+top",
    "cons-max-util",
    "cons-max-util+top",
    "cons-min-inst-sld",
    "cons-min-inst-sld+top",
    "cons-min-aggr-sld",
    "cons-min-aggr-sld+top",
    "adaptive",
    "set-10",
    "fill",
)


def by_hand(
    jobs: Iterable[tuple[Any, ...]],
    machine: dict[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Return an instance on 8 nodes with a storage of 4 bytes per second.

    A row of *jobs* is (id, submit, nodes, walltime, [(compute, bytes), ...]). *machine*
    and *options* replace these defaults.
    """
    rows = [
        {
            "id": name,
            "submit_seconds": submit,
            "nodes": nodes,
            "walltime_seconds": wall,
            "phases": [{"compute_seconds": c, "io_bytes": v} for c, v in phases],
        }
        for name, submit, nodes, wall, phases in jobs
    ]
    return {
        "format": "ioopt/batch-io",
        "version": 1,
        "name": "hand",
        "options": options,
        "jobs": rows,
        "machine": {
            **FLAT,
            "nodes": 8,
            "storage_bytes_per_second": 4,
            **(machine or {}),
        },
    }


def snapshot(
    machine: dict[str, Any], now: float, requests: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return an instance of one decision at time *now*."""
    return {
        "format": "ioopt/io-requests",
        "machine": machine,
        "now_seconds": now,
        "requests": requests,
    }


def view(*rows: tuple[Any, ...], storage: float = 10.0, exact: bool = True) -> View:
    """Return the view of a policy at 100 s.

    Row k is request k: nodes, time of the request, bytes left and, optionally, its own
    peak rate.
    """
    limits = Limits.of(
        Machine(nodes=64, storage_bytes_per_second=storage, **FLAT), exact
    )
    requests = [
        Request.made(k, nodes, limits, limits.number(asked), limits.number(left), *own)
        for k, (nodes, asked, left, *own) in enumerate(rows)
    ]
    if any(map(limits.has_own_peak, requests)):
        limits = limits.with_own_peaks()
    return View(
        limits, limits.number(100), sorted(requests, key=lambda request: request.key)
    )


def random_trace(seed: int, jobs: int = 12) -> BatchIoProblem:
    """Return a random trace on a machine of 8 to 24 units.

    The storage serves about a third of the nodes at their full rate.
    """
    rng = random.Random(seed)
    unit = rng.choice([1, 2, 4])
    units = rng.choice([8, 12, 16, 24])
    problem: dict[str, Any] = {
        "format": "ioopt/batch-io",
        "version": 1,
        "name": f"random-{seed}",
        "machine": {
            "nodes": units * unit,
            "unit_nodes": unit,
            "allocation": rng.choice(["flat", "partition"]),
            "node_bytes_per_second": 1,
            "storage_bytes_per_second": rng.choice([3, 4, 5.5, 8]) * unit,
        },
        "options": {
            "kill": rng.random() < 0.4,
            "queue": rng.choice(["wfp", "fcfs"]),
            "backfill": rng.choice(["easy", "none"]),
        },
        "jobs": [_job(rng, k, units * unit) for k in range(jobs)],
    }
    loaded: BatchIoProblem = ioopt.load(problem)
    return loaded


def _job(rng: random.Random, number: int, nodes: int) -> dict[str, Any]:
    size = min(nodes, rng.choice([1, 1, 2, 3, 4, 6, 8, nodes]))
    return {
        "id": number * 7 % 101,
        "submit_seconds": rng.choice([0, 0, 1, 2, 5, 10, 20, 30]),
        "nodes": size,
        "walltime_seconds": rng.choice([5, 20, 40, 100, 300]),
        "phases": [
            {
                "compute_seconds": rng.choice([0, 0, 1, 3, 10]),
                "io_bytes": size * rng.choice([0, 1, 2, 5, 12]),
                "repeat": rng.choice([1, 1, 2]),
            }
            for _ in range(rng.randint(1, 3))
        ],
    }
