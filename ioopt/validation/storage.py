"""State a recorded run as a problem: its tasks, its files, and the storage they used.

A storage has a kind and at most five constants, which a fit finds. A task holds its
cores for ``overhead_seconds`` (a container starts and is removed), then it reads,
computes and writes. It computes for the time that its script used a processor. The rest
of ``realtime`` is waiting for files, and a replay works that out again: with all of
``realtime`` as computing, reads would count twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ioopt.errors import UsageError
from ioopt.formats.cluster import Machine, Part, RecordedNode, built
from ioopt.formats.native import read_toml, validate
from ioopt.formats.nextflow.trace import STAGING
from ioopt.problems.base import BytesPerSecond, Count, Json, Seconds
from ioopt.problems.base import Record as Fields
from ioopt.problems.replication import (
    CacheModel,
    File,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.validation.record import Record, RecordedTask

Storage = Literal["nfs", "ceph", "node"]
"""Where the products of a run are: on shared storage whose clients read again what they
wrote (``nfs``), on shared storage whose clients keep what they wrote in memory
(``ceph``), or on the disks of the nodes (``node``).
"""
SHARED: tuple[Storage, ...] = ("nfs", "ceph")
_CACHE: dict[Storage, CacheModel] = {"nfs": "read", "ceph": "made-and-read"}


class Constants(Fields):
    """The constants of one kind of storage.

    ``overhead_seconds``: the time for which a task holds its cores beside reading,
    computing and writing. ``remote_bytes_per_second``: what the server moves in all.
    ``node_bytes_per_second``: what the network interface of a node moves.
    ``cache_bytes``: the memory of a node that keeps files of shared storage (None:
    unlimited). ``write_factor``: bytes that move for each byte written, since a storage
    that keeps several copies writes them all. ``disk_bytes_per_second``: what the disk
    of a node and its cache move for the tasks on it (None: unlimited); only for
    products on node disks.
    """

    overhead_seconds: Seconds
    remote_bytes_per_second: BytesPerSecond
    node_bytes_per_second: BytesPerSecond
    cache_bytes: Count | None = None
    write_factor: Annotated[float, Field(ge=1)] = 1.0
    disk_bytes_per_second: BytesPerSecond | None = None


@cache
def known_constants() -> Mapping[Storage, Constants]:
    """Return the constants that were fitted on recorded runs (``constants.toml``)."""
    path = Path(__file__).with_name("constants.toml")
    found = read_toml(str(path))
    kinds: tuple[Storage, ...] = (*SHARED, "node")
    return {kind: validate(Constants, found[kind], path.name) for kind in kinds}


def compute_seconds(task: RecordedTask) -> float:
    """Return the seconds for which *task* computed: its realtime, less the share in
    which it used no processor.
    """
    seconds = task.realtime
    if seconds is None:
        seconds = task.end - task.start
    if task.cpu_share is None:
        return seconds
    return seconds * min(1.0, task.cpu_share)


def cores_of(record: Record) -> int:
    """Return the largest number of cores that the tasks of one host held at once."""
    held: dict[str | None, list[tuple[float, int]]] = defaultdict(list)
    for task in record.tasks:
        held[task.host].append((task.start, task.cores))
        held[task.host].append((task.end, -task.cores))
    most = max(task.cores for task in record.tasks)
    for events in held.values():
        now = 0
        for _, cores in sorted(events):
            now += cores
            most = max(most, now)
    return most


def frame_of(
    record: Record, storage: Storage, machine: Machine | None = None
) -> ReplicationProblem:
    """Return *record* as a problem without fitted constants.

    The nodes are the recorded hosts, each with the most cores that the tasks of one
    host held at once, unless *machine* states them. Raises UsageError if neither does.
    """
    machine = machine or Machine()
    stated = machine.model_fields_set
    if not record.hosts and not {"nodes", "cores"} <= machine.stated():
        raise UsageError(
            f"{record.name}: no hosts are recorded: say --machine nodes=N,cores=N"
        )
    if {"products", "cache"} & machine.model_fields_set:
        raise UsageError("--machine products, cache: --storage says where products are")
    cores = machine.cores or cores_of(record)
    part = Part(
        inputs={task: list(files) for task, files in record.inputs.items()},
        outputs={task: list(files) for task, files in record.outputs.items()},
        sizes=dict(record.files),
        keep=frozenset(),
        warnings=(),
        staging=STAGING,
    )
    rows: list[Json] = [
        {
            "id": task.id,
            "compute_seconds": compute_seconds(task),
            "cores": task.cores,
            "memory_bytes": task.memory_bytes,
        }
        for task in record.tasks
    ]
    head: Json = {"name": record.name, "meta": {"source": "Nextflow trace"}}
    if storage == "node":
        head["task_disk"] = True
    else:
        head |= {"products": "shared", "cache": _CACHE[storage]}
    hosts = []
    if "nodes" not in stated:
        hosts = [RecordedNode(host, cores) for host in record.hosts]
    return built(head, rows, part, machine, (), record.name, hosts)


def with_constants(
    frame: ReplicationProblem, constants: Constants
) -> ReplicationProblem:
    """Return the problem *frame* with *constants*."""
    network = frame.network.model_copy(
        update={
            "remote_bytes_per_second": constants.remote_bytes_per_second,
            "replica_bytes_per_second": constants.node_bytes_per_second,
        }
    )
    of_node: Json = {"disk_bytes_per_second": constants.disk_bytes_per_second}
    if frame.is_shared:
        of_node = {"disk_bytes": constants.cache_bytes}
    again = {}
    if constants.write_factor > 1:
        again = _stored_again(frame, constants.write_factor - 1)
    tasks = []
    for task in frame.tasks:
        of_task: Json = {"overhead_seconds": constants.overhead_seconds}
        if again:
            of_task["outputs"] = (*task.outputs, *(again[f].id for f in task.outputs))
        tasks.append(task.model_copy(update=of_task))
    fields = {name: getattr(frame, name) for name in type(frame).model_fields}
    fields |= {
        "network": network,
        "nodes": tuple(node.model_copy(update=of_node) for node in frame.nodes),
        "files": (*frame.files, *again.values()),
        "tasks": tuple(tasks),
    }
    # The frame is valid, and constants cannot make it invalid: a fit replays hundreds.
    return ReplicationProblem.model_construct(set(fields), **fields)


def _stored_again(frame: ReplicationProblem, share: float) -> dict[str, File]:
    """Return, for each product, a further file of *share* of its bytes that nobody
    reads: it stands for what the storage moves to write the product several times.
    """
    again = {}
    for file, writer in zip(frame.files, frame.producer, strict=True):
        if writer >= 0:
            name = f"{file.id}, stored again"
            again[file.id] = File(id=name, bytes=round(share * file.bytes))
    return again


def problem_of(
    record: Record,
    storage: Storage,
    constants: Constants,
    machine: Machine | None = None,
) -> ReplicationProblem:
    """Return *record* as a problem with products on *storage* with *constants*."""
    return with_constants(frame_of(record, storage, machine), constants)


def placement_of(record: Record, problem: ReplicationProblem) -> ReplicationPlan:
    """Return the recorded placement as a plan of *problem*: each task on its host, in
    the order of the recorded starts.

    Clocks that differ may let a task start before one that it waits for has started;
    it then counts as started just after it. Raises UsageError if the record has no
    hosts.
    """
    if not record.hosts:
        raise UsageError(f"{record.name}: no hosts are recorded, so no placement is")
    tasks = record.tasks
    before = problem.predecessors
    started: dict[int, tuple[float, float]] = {}
    in_order = list(TopologicalSorter(dict(enumerate(before))).static_order())
    for k in in_order:
        earlier = [started[other] for other in before[k]]
        started[k] = max([(tasks[k].start, tasks[k].submit), *earlier])
    queues: dict[str, list[str]] = {host: [] for host in record.hosts}
    in_order.sort(key=started.__getitem__)  # Equal starts keep the order of the graph.
    for k in in_order:
        queues[tasks[k].host or ""].append(tasks[k].id)
    return ReplicationPlan(
        assign={task.id: task.host or "" for task in tasks},
        order={host: tuple(queue) for host, queue in queues.items()},
        eviction=problem.default_eviction,
        sources="least-loaded",
        moves="replay",
    )
