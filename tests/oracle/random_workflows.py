"""Random small workflows.

Outputs, several cores, arrivals, kept files, tight disks, zero times and ties all
occur.
"""

import random
from typing import Any


def random_workflow(
    seed: int, most_tasks: int = 12, disks: bool = True
) -> dict[str, Any]:
    """Return an instance in which every task fits some node, with few distinct numbers.

    Ties are therefore common.
    """
    rng = random.Random(seed)
    nodes: list[dict[str, Any]] = [
        {
            "id": f"n{i}",
            "disk_bytes": None,
            "speed": rng.choice([1, 1, 1, 2, 0.5, 0.3, 1.25]),
            "cores": rng.choice([1, 1, 2, 3, 4]),
        }
        for i in range(rng.randint(1, 4))
    ]
    widest = max(node["cores"] for node in nodes)
    born = [f"r{k}" for k in range(rng.randint(0, 4))]
    size = {name: rng.choice([0, 10, 10, 20, 30, 70]) for name in born}
    files: list[dict[str, Any]] = [{"id": name, "bytes": size[name]} for name in born]
    tasks: list[dict[str, Any]] = []
    known = list(born)
    for k in range(rng.randint(1, most_tasks)):
        reads = rng.sample(known, min(len(known), rng.choice([0, 1, 1, 2, 3])))
        writes = [f"p{k}.{x}" for x in range(rng.choice([0, 1, 1, 1, 2]))]
        for name in writes:
            size[name] = rng.choice([0, 10, 20, 20, 50])
            files.append({"id": name, "bytes": size[name], "keep": rng.random() < 0.2})
        tasks.append(
            {
                "id": f"t{k}",
                "compute_seconds": rng.choice([0, 1, 1, 2, 2.5, 0.1, 7]),
                "inputs": reads,
                "outputs": writes,
                "cores": rng.randint(1, widest) if rng.random() < 0.4 else 1,
                "release_seconds": rng.choice([0, 0, 0, 3, 8.5]),
            }
        )
        known += writes
    need = max(sum(size[name] for name in (*t["inputs"], *t["outputs"])) for t in tasks)
    for node in nodes:
        if disks and rng.random() < 0.7:
            node["disk_bytes"] = max(need + rng.choice([0, 10, 30, 60]), 1)
        if node["cores"] < widest and rng.random() < 0.1:
            node["disk_bytes"] = need // 2
        room = node["disk_bytes"]
        held: list[str] = []
        for name in born:
            fits = room is None or sum(size[other] for other in (*held, name)) <= room
            if fits and rng.random() < 0.2:
                held.append(name)
        node["holds"] = held
    rng.shuffle(files)
    rng.shuffle(tasks)
    return {
        "format": "ioopt/replication",
        "version": 1,
        "name": f"random-workflow-{seed}",
        "network": {
            "remote_bytes_per_second": rng.choice([10, 5, 12.5, 3]),
            "replica_bytes_per_second": rng.choice([40, 10, 7]),
            "remote_link": rng.choice(["shared", "per-node"]),
        },
        "nodes": nodes,
        "files": files,
        "tasks": tasks,
    }
