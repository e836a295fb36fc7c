"""Small replication instances for several test files: random ones and ones made by
hand.
"""

import random
from collections.abc import Iterable, Mapping
from typing import Any

import ioopt
from ioopt.problems.replication import ReplicationProblem

ROW = ("compute_seconds", "inputs", "outputs")


def document(
    nodes: int | Iterable[Mapping[str, Any]],
    files: Mapping[str, int],
    tasks: Mapping[str, tuple[Any, ...]],
    remote: float = 10,
    replica: float = 100,
) -> dict[str, Any]:
    """Return a replication instance as a document.

    *nodes* is a number of nodes or a list of rows; the nodes are named n0, n1 and so
    on. *files* maps names to bytes. *remote* and *replica* are rates in bytes per
    second.

    A task is (seconds, inputs, outputs, further fields), of which the last two are
    optional. If file names have one letter, the inputs may be one word, such as
    ``"ab"``.
    """
    rows = [{}] * nodes if isinstance(nodes, int) else nodes
    listed = []
    for name, task in tasks.items():
        row: dict[str, Any] = dict(
            zip(ROW, (task[0], *map(list, task[1:3])), strict=False)
        )
        listed.append({"id": name, **row, **(task[3] if len(task) > 3 else {})})
    return {
        "format": "ioopt/replication",
        "version": 1,
        "name": "made",
        "network": {
            "remote_bytes_per_second": remote,
            "replica_bytes_per_second": replica,
        },
        "nodes": [{"id": f"n{i}", **row} for i, row in enumerate(rows)],
        "files": [{"id": name, "bytes": size} for name, size in files.items()],
        "tasks": listed,
    }


def made(*parts: Any, **rates: float) -> ReplicationProblem:
    """Return the problem that :func:`document` describes."""
    problem: ReplicationProblem = ioopt.load(document(*parts, **rates))
    return problem


def ran(task: str, node: str, start: float, end: float) -> dict[str, Any]:
    """Return the row of a task in a schedule."""
    return {"id": task, "node": node, "start_seconds": start, "end_seconds": end}


def moved(
    file: str, source: str | None, target: str | None, start: float, end: float
) -> dict[str, Any]:
    """Return the row of a transfer in a schedule."""
    return {
        "file": file,
        "source": source,
        "destination": target,
        "start_seconds": start,
        "end_seconds": end,
    }


def tiny(
    seed: int, nodes: int = 2, tasks: int = 4, files: int = 3, extras: bool = False
) -> ReplicationProblem:
    """Return a random instance that is small enough to enumerate.

    *extras*: some nodes have other speeds, held files or disk limits.
    """
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
    replica = rng.choice([12.0, 15.0, 40.0, 100.0])
    rows = {
        f"t{k}": (
            rng.choice([0.0, 0.5, 2.0, 7.25]),
            [f"f{f}" for f in range(files) if rng.random() < 0.6],
        )
        for k in range(tasks)
    }
    problem = made(
        machines, {f"f{k}": size for k, size in enumerate(sizes)}, rows, 10.0, replica
    )
    return problem.model_copy(update={"name": f"tiny{seed}"})
