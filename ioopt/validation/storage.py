"""State a recorded run as a problem: tasks, files and the storage that they used.

One kind of storage has at most five constants. A task holds its cores for
``overhead_seconds`` (a pod is started and removed), then reads, computes and writes.
It computes for the time that its script used a processor: the rest of ``realtime`` is
waiting for reads and writes, which the replay works out again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from ioopt.errors import UsageError
from ioopt.formats.cluster import Machine
from ioopt.problems.base import BytesPerSecond, Cores, Json, Record as Fields, Seconds
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.units import counted
from ioopt.validation.record import Record, RecordedTask

Storage = Literal["read", "made-and-read", "node"]


class Constants(Fields):
    overhead_seconds: float = 7.0
    remote_bytes_per_second: float = 120e6
    node_bytes_per_second: float = 117.5e6
    disk_bytes_per_second: float | None = None
    staging: int = 4


def compute_seconds(task: RecordedTask) -> float:
    seconds = task.realtime
    if seconds is None:
        seconds = task.end - task.start
    if task.cpu_share is None:
        return seconds
    return seconds * min(1.0, task.cpu_share)


def cores_of(record: Record) -> int:
    """Return the largest number of cores that the tasks of one host held at once."""
    by_host: dict[str | None, list[tuple[float, int]]] = defaultdict(list)
    for task in record.tasks:
        by_host[task.host] += [(task.start, task.cores), (task.end, -task.cores)]
    most = max(task.cores for task in record.tasks)
    for events in by_host.values():
        held = 0
        for _, cores in sorted(events):
            held += cores
            most = max(most, held)
    return most


def problem_of(
    record: Record, storage: Storage, constants: Constants, nodes: list[str], cores: int
) -> ReplicationProblem:
    shared = storage != "node"
    rows: list[Json] = [
        {
            "id": task.id,
            "compute_seconds": compute_seconds(task),
            "overhead_seconds": constants.overhead_seconds,
            "cores": task.cores,
            "inputs": record.inputs[task.id],
            "outputs": record.outputs[task.id],
        }
        for task in record.tasks
    ]
    node = {"cores": cores}
    if not shared:
        node["staging"] = constants.staging
        node["disk_bytes_per_second"] = constants.disk_bytes_per_second
    doc = {
        "format": "ioopt/replication",
        "name": record.name,
        "network": {
            "remote_bytes_per_second": constants.remote_bytes_per_second,
            "replica_bytes_per_second": constants.node_bytes_per_second,
            "remote_link": "shared",
        },
        "nodes": [{"id": n, **node} for n in nodes],
        "files": [{"id": f, "bytes": b} for f, b in record.files.items()],
        "tasks": rows,
    }
    if shared:
        doc |= {"products": "shared", "cache": storage}
    elif constants.disk_bytes_per_second:
        doc["task_disk"] = True
    return ReplicationProblem.model_validate(doc)


def placement_of(record: Record, problem: ReplicationProblem) -> ReplicationPlan:
    order: dict[str, list[str]] = {node.id: [] for node in problem.nodes}
    when={}
    rank = {t.id: i for i, t in enumerate(record.tasks)}
    host={t.id:t.host for t in record.tasks}
    start=[t.start for t in record.tasks]
    from graphlib import TopologicalSorter
    pred={i:problem.predecessors[i] for i in range(len(problem.tasks))}
    topo=list(TopologicalSorter(pred).static_order())
    key={}
    for pos,i in enumerate(topo):
        key[i]=max([start[i],*(key[o] for o in pred[i])])
    place={i:pos for pos,i in enumerate(topo)}
    for i in sorted(key,key=lambda i:(key[i],place[i])):
        order[record.tasks[i].host].append(record.tasks[i].id)
    return ReplicationPlan(order={k: tuple(v) for k, v in order.items()}, assign=host, eviction=problem.default_eviction, moves="replay")
