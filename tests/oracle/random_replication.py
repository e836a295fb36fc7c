"""Random small replication instances with tight disks, and random plans for them."""

import random
from typing import Any


def random_case(seed: int) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Return a random (instance, plan, link).

    Held files, storage disks, copies, rounds and sizes of zero all occur.
    """
    rng = random.Random(seed)
    nodes = [f"n{i}" for i in range(rng.randint(1, 4))]
    unit = rng.choice([1, 7, 1_000_000])
    files = [
        {"id": f"f{k}", "bytes": unit * rng.choice([0, 1, 2, 3, 5, 8])}
        for k in range(rng.randint(1, 9))
    ]
    storages = [
        {"id": f"s{k}", "bytes_per_second": unit * rng.choice([1.0, 3.0])}
        for k in (0, 1)
    ]
    if rng.random() < 0.4:
        for file in files:
            if rng.random() < 0.7:
                file["storage"] = rng.choice(storages)["id"]
    tasks: list[dict[str, Any]] = []
    for k in range(rng.randint(1, 12)):
        chosen = rng.sample(files, rng.randint(0, min(4, len(files))))
        seconds = rng.choice([0, 0, 0.5, 1, 2.5, 7])
        tasks.append(
            {
                "id": f"t{k}",
                "compute_seconds": seconds,
                "inputs": [file["id"] for file in chosen],
            }
        )
    size = {file["id"]: file["bytes"] for file in files}
    largest = max((sum(size[f] for f in task["inputs"]) for task in tasks), default=0)
    largest = max(largest, *size.values())
    rows: list[dict[str, Any]] = []
    for node in nodes:
        disk = None if rng.random() < 0.15 else largest + unit * rng.randint(0, 6)
        held, room = [], disk if disk is not None else 20 * unit
        for name in rng.sample(sorted(size), len(size)):
            if rng.random() < 0.25 and size[name] <= room:
                held.append(name)
                room -= size[name]
        rows.append(
            {
                "id": node,
                "disk_bytes": disk,
                "speed": rng.choice([1, 1, 2]),
                "holds": held,
            }
        )
    instance = {
        "format": "ioopt/replication",
        "version": 1,
        "name": f"random-{seed}",
        "network": {
            "remote_bytes_per_second": unit * rng.choice([1.0, 2.0]),
            "replica_bytes_per_second": unit * rng.choice([1.5, 4.0, 10.0]),
            "remote_link": "shared",
        },
        "storages": storages,
        "nodes": rows,
        "files": files,
        "tasks": tasks,
    }
    return (
        instance,
        _plan(rng, nodes, sorted(size), tasks),
        rng.choice(["shared", "per-node"]),
    )


def _plan(
    rng: random.Random, nodes: list[str], files: list[str], tasks: list[dict[str, Any]]
) -> dict[str, Any]:
    order: dict[str, list[Any]] = {node: [] for node in nodes}
    names = [task["id"] for task in tasks]
    rng.shuffle(names)
    plan: dict[str, Any] = {"order": order}
    plan["eviction"] = rng.choice(["farthest-next-use", "popularity", "lru"])
    if rng.random() < 0.25:
        cuts = sorted(rng.randint(0, len(names)) for _ in range(2))
        parts = [names[: cuts[0]], names[cuts[0] : cuts[1]], names[cuts[1] :]]
        plan["barriers"] = True
        plan["rounds"] = [
            {
                "tasks": part,
                "evicted": [
                    [file, node]
                    for file in files
                    for node in nodes
                    if rng.random() < 0.2
                ],
            }
            for part in parts
        ]
    for name in names:
        order[rng.choice(nodes)].append(name)
    if rng.random() < 0.3:
        for _ in range(rng.randint(1, 4)):
            queue = order[rng.choice(nodes)]
            queue.insert(rng.randint(0, len(queue)), {"copy": rng.choice(files)})
    return plan
