"""MinMin with implicit replication, slowly and exactly: every pair priced anew at every step.

Shares no code with the solver: reads the instance as written, counts in fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any


def reference_minmin(
    instance: dict[str, Any],
) -> tuple[dict[str, list[str]], dict[str, Fraction], list[tuple[str, str]]]:
    """(queue of each node, planned ready time of each node in seconds, evictions (file, node))."""
    size = {file["id"]: file["bytes"] for file in instance["files"]}
    rank = {name: at for at, name in enumerate(size)}
    tasks = {task["id"]: task for task in instance["tasks"]}
    nodes = {node["id"]: node for node in instance["nodes"]}
    disk = {name: set(node.get("holds", ())) for name, node in nodes.items()}
    ready = {name: Fraction(0) for name in nodes}
    order: dict[str, list[str]] = {name: [] for name in nodes}
    per_byte = [
        1 / Fraction(instance["network"][rate])
        for rate in ("remote_bytes_per_second", "replica_bytes_per_second")
    ]
    evicted: list[tuple[str, str]] = []
    left = list(tasks)

    def end(task: str, node: str) -> Fraction:
        moved = Fraction(0)
        for name in tasks[task]["inputs"]:
            if name not in disk[node]:
                somewhere = any(name in held for held in disk.values())
                moved += size[name] * per_byte[1 if somewhere else 0]
        seconds = Fraction(tasks[task]["compute_seconds"]) / Fraction(nodes[node].get("speed", 1))
        return ready[node] + moved + seconds

    def popularity(name: str) -> Fraction:
        pending = sum(name in tasks[task]["inputs"] for task in left)
        return Fraction(pending * size[name], sum(name in held for held in disk.values()))

    while left:
        pairs = [
            (end(task, node), t, n, task, node)
            for t, task in enumerate(tasks)
            if task in left
            for n, (node, row) in enumerate(nodes.items())
            if row["disk_bytes"] is None
            or sum(size[name] for name in tasks[task]["inputs"]) <= row["disk_bytes"]
        ]
        finish, _, _, task, node = min(pairs)
        left.remove(task)
        ready[node] = finish
        order[node].append(task)
        own = tasks[task]["inputs"]
        for name in own:
            if name in disk[node]:
                continue
            room = nodes[node]["disk_bytes"]
            while room is not None and sum(map(size.__getitem__, disk[node])) + size[name] > room:
                victim = min(disk[node] - set(own), key=lambda f: (popularity(f), rank[f]))
                disk[node].remove(victim)
                evicted.append((victim, node))
            disk[node].add(name)
    return order, ready, evicted
