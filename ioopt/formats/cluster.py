"""Build replication instances from workflow files, which do not describe a machine."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from ioopt.errors import UsageError
from ioopt.formats.report import imported
from ioopt.formats.values import Number, Rate, figure
from ioopt.problems.base import Json, Record
from ioopt.problems.replication import (
    CacheModel,
    LinkModel,
    Products,
    ReplicationProblem,
)
from ioopt.units import counted, parse_bytes, quantity

Memory = Annotated[
    Annotated[int, Field(gt=0)] | None, figure(parse_bytes, unlimited=None)
]
"""The memory of a node in bytes; None is unlimited."""


class Nodes(Record):
    """Describe ``count`` nodes of one kind.

    A field that is None has the common value of the machine.
    """

    count: Number = 1
    cores: Number | None = None
    disk: str | None = None
    memory: Memory = None
    speed: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class Machine(Record):
    """Describe the machine for a workflow whose file describes none.

    A value that is not given is assumed, and a warning says so. ``nodes`` is the number
    of nodes, or a list of kinds of nodes. ``disk`` is a size such as ``500MB``, or
    ``unlimited``, or a share of the bytes of all files such as ``33%``. A share is
    raised to the bytes that the largest task needs. If ``cores`` is missing, a node has
    as many cores as the task that takes the most. ``memory`` is that of a node.
    ``staging`` is the number of files that a node receives at once (None: as the
    importer says, usually 1). ``products`` says where products are: on the disks of
    nodes, or on shared storage, where ``disk`` is the size of a node's cache and
    ``cache`` says what enters it.
    """

    nodes: Number | Annotated[tuple[Nodes, ...], Field(min_length=1)] = 4
    cores: Number | None = None
    disk: str = "unlimited"
    memory: Memory = None
    staging: Number | None = None
    products: Products = "node"
    cache: CacheModel | None = None
    remote_rate: Rate = 12.5e6
    replica_rate: Rate = 1e9
    link: LinkModel = "shared"
    speed: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0

    def kinds(self) -> tuple[Nodes, ...]:
        """Return the kinds of nodes.

        A value that a kind lacks is replaced by the common value of the machine.
        """
        given = self.nodes
        if isinstance(given, int):
            given = (Nodes(count=given),)
        return tuple(
            Nodes(
                count=kind.count,
                cores=kind.cores or self.cores,
                disk=kind.disk or self.disk,
                memory=kind.memory or self.memory,
                speed=kind.speed or self.speed,
            )
            for kind in given
        )

    def stated(self) -> set[str]:
        """Return the names of the fields that are given for the machine or for every
        kind.
        """
        if isinstance(self.nodes, int):
            return set(self.model_fields_set)
        of_each_kind = set.intersection(*(kind.model_fields_set for kind in self.nodes))
        return self.model_fields_set | of_each_kind


FOUR_NODES = Machine()
"""Four nodes with unlimited disks on a shared link of 100 Mbps."""


@dataclass(frozen=True)
class Part:
    """Collect the files of those tasks of a workflow that become an instance.

    ``inputs`` and ``outputs`` have the files of each task, and ``sizes`` the bytes of
    each file. ``keep`` has the files that must be saved. ``warnings`` has lines about
    oddities and dropped data. ``invented`` maps each assumed thing to a description.
    ``staging`` is the number of files that a node receives at once, unless the machine
    says another.
    """

    inputs: Mapping[str, Sequence[str]]
    outputs: Mapping[str, Sequence[str]]
    sizes: dict[str, int]
    keep: frozenset[str]
    warnings: tuple[str, ...]
    invented: Mapping[str, str] = field(default_factory=dict)
    staging: int = 1


@dataclass(frozen=True)
class RecordedNode:
    """Describe a machine that a workflow file names, with its number of cores if
    recorded.
    """

    name: str
    cores: int | None = None


ASSUMED_RATES = "assumed_rates"
"""Key in the ``meta`` of an instance for the rates in bytes per second that neither the
file nor ``--machine`` states, by their key of ``--machine``.
"""


def built(
    head: Json,
    tasks: Sequence[Json],
    part: Part,
    machine: Machine,
    warnings: Iterable[str],
    name: str,
    recorded: Sequence[RecordedNode] = (),
) -> ReplicationProblem:
    """Return the instance of *tasks*, whose files are in *part*, on *machine*.

    The nodes are the machines *recorded* in the workflow file, unless *machine* states
    nodes. *head* has the name and the ``meta`` of the instance.
    """
    rows = [
        task | {"inputs": part.inputs[task["id"]], "outputs": part.outputs[task["id"]]}
        for task in tasks
    ]
    widest = max((task.get("cores", 1) for task in tasks), default=1)
    remarks: list[str] = []
    if recorded and "nodes" not in machine.model_fields_set:
        nodes = _recorded_nodes(machine, recorded, widest, remarks)
    else:
        nodes = _nodes(machine, recorded, widest)
    disks = {
        text: _disk_bytes(text, part.sizes, rows) for text in _in_order(nodes, "disk")
    }
    for node in nodes:
        node["disk_bytes"] = disks[node.pop("disk")][0]
        node["staging"] = machine.staging or part.staging
    remarks += [remark for _, remark in disks.values() if remark]
    document = {
        **_products(machine),
        **head,
        **_with_assumed_rates(head, machine),
        "network": {
            "remote_bytes_per_second": machine.remote_rate,
            "replica_bytes_per_second": machine.replica_rate,
            "remote_link": machine.link,
        },
        "nodes": nodes,
        "files": [
            {"id": file, "bytes": size, "keep": file in part.keep}
            for file, size in part.sizes.items()
        ],
        "tasks": rows,
    }
    said = [f"{name}: {text}" for text in (*warnings, *part.warnings, *remarks)]
    cores = max(node["cores"] for node in nodes)
    synthetic = {"machine": _assumed(machine, cores, recorded), **part.invented}
    return imported(ReplicationProblem, document, said, name, synthetic)


def _with_assumed_rates(head: Json, machine: Machine) -> Json:
    """Return the ``meta`` of *head* with the rates that *machine* assumes; empty if it
    assumes none.
    """
    rates = {"remote_rate", "replica_rate"} - machine.stated()
    if not rates:
        return {}
    assumed = {rate: getattr(machine, rate) for rate in sorted(rates)}
    return {"meta": {**(head.get("meta") or {}), ASSUMED_RATES: assumed}}


def _products(machine: Machine) -> Json:
    """Return the keys of an instance that say where products are on *machine*.

    Raises UsageError for a cache without shared storage.
    """
    if machine.products == "shared":
        stated: Json = {"products": "shared"}
        if machine.cache is not None:
            stated["cache"] = machine.cache
        return stated
    if machine.cache is not None:
        raise UsageError(f"cache={machine.cache} is for products=shared: state both")
    return {}


def _recorded_nodes(
    machine: Machine, recorded: Sequence[RecordedNode], widest: int, remarks: list[str]
) -> list[Json]:
    """Return a node for each machine that the workflow file names.

    *widest* is the largest number of cores that a task takes. If all machines with
    known cores have fewer, they are raised to *widest* cores. Changes are added to
    *remarks*.
    """
    told = [node.cores for node in recorded if node.cores is not None]
    with_cores = ""
    if told and machine.cores is None:
        with_cores = ", with their cores"
    remarks.append(
        f"the nodes are the {counted(len(recorded), 'machine')} that the file names"
        f"{with_cores} (--machine nodes=N takes others)"
    )
    least = 1
    if machine.cores is None and told and max(told) < widest:
        least = widest
        remarks.append(
            f"the machines have at most {counted(max(told), 'core')}, raised to the "
            f"{widest} that one task takes"
        )
    return [
        {
            "id": node.name,
            "cores": machine.cores or max(node.cores or widest, least),
            "speed": machine.speed,
            "disk": machine.disk,
            "memory_bytes": machine.memory,
        }
        for node in recorded
    ]


def _nodes(
    machine: Machine, recorded: Sequence[RecordedNode], widest: int
) -> list[Json]:
    """Return the nodes that *machine* describes.

    If *machine* states no cores and all *recorded* nodes have the same number, that
    number is taken. It is raised to *widest*, the largest number of cores of a task.
    """
    different = {node.cores for node in recorded}
    common = None
    if len(different) == 1:
        common = different.pop()
    cores = machine.cores or max(common or widest, widest)
    nodes: list[Json] = []
    for kind in machine.kinds():
        for _ in range(kind.count):
            nodes.append(
                {
                    "id": f"n{len(nodes)}",
                    "cores": kind.cores or cores,
                    "speed": kind.speed,
                    "disk": kind.disk or "",
                    "memory_bytes": kind.memory,
                }
            )
    return nodes


def _in_order(rows: Iterable[Json], key: str) -> list[str]:
    """Return the distinct values of *key* in *rows*, in order of first occurrence."""
    return list(dict.fromkeys(row[key] for row in rows))


def _assumed(machine: Machine, cores: int, recorded: Sequence[RecordedNode]) -> str:
    """Describe the values that neither *machine* nor the *recorded* nodes give.

    Return empty text if there are none. *cores* is the largest number of cores of a
    node.
    """
    remote = quantity("bytes_per_second", machine.remote_rate)
    replica = quantity("bytes_per_second", machine.replica_rate)
    words = {
        "nodes": f"{machine.nodes} nodes",
        "cores": f"{cores} cores each",
        "disk": f"disk {machine.disk}",
        "speed": f"speed {machine.speed:g}",
        "remote_rate": f"{remote} from remote storage",
        "link": f"link {machine.link}",
        "replica_rate": f"{replica} between nodes",
    }
    stated = machine.stated()
    if recorded:
        stated.add("nodes")
    if cores == 1 or (recorded and all(node.cores for node in recorded)):
        stated.add("cores")
    missing = [text for key, text in words.items() if key not in stated]
    if not missing:
        return ""
    return f"{', '.join(missing)} (not given; the file has none)"


def _disk_bytes(
    text: str, sizes: Mapping[str, int], tasks: Sequence[Json]
) -> tuple[int | None, str | None]:
    """Return the bytes of a disk of size *text*, and a remark if the size was raised.

    An unlimited disk has None bytes. A share such as ``33%`` of all *sizes* is raised
    to fit the files of each of *tasks*.
    """
    word = text.strip().lower()
    if word in ("unlimited", "none"):
        return None, None
    if not word.endswith("%"):
        return parse_bytes(text), None
    wanted = int(_share_of(text) * sum(sizes.values()))
    needed = 0
    for task in tasks:
        files = (*task["inputs"], *task["outputs"])
        needed = max(needed, sum(sizes[file] for file in files))
    if needed <= wanted:
        return wanted, None
    remark = (
        f"disk {text} is {wanted} bytes, raised to the {needed} that one task reads"
    )
    if any(task["outputs"] for task in tasks):
        remark += " and writes"
    return needed, remark


def _share_of(text: str) -> float:
    """Return the fraction that a disk size such as ``33%`` states."""
    try:
        share = float(text.strip()[:-1]) / 100
    except ValueError:
        share = -1.0
    if not 0 < share < float("inf"):
        raise UsageError(
            f"disk {text!r} is not a share such as 33%, a size such as 500MB, or "
            "unlimited"
        )
    return share
