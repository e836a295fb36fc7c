"""Instances of replication from workflows of other programs, which
describe no cluster of ours.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from ioopt.errors import UsageError
from ioopt.formats.report import imported
from ioopt.formats.values import Number, Rate
from ioopt.problems.base import Json, Record
from ioopt.problems.replication import LinkModel, ReplicationProblem
from ioopt.units import counted, parse_bytes, quantity


class Nodes(Record):
    """``count`` nodes alike; what is None is as the machine says of all."""

    count: Number = 1
    cores: Number | None = None
    disk: str | None = None
    speed: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class Machine(Record):
    """The machine that a workflow file does not describe; what is not given
    is assumed, and said.

    ``nodes`` is their number, or a list of kinds of nodes.

    ``disk`` is a size such as ``500MB``, ``unlimited``, or a share of the distinct
    bytes such as ``33%`` (never less than the largest task needs); ``cores`` None:
    those of the widest task.
    """

    nodes: Number | Annotated[tuple[Nodes, ...], Field(min_length=1)] = 4
    cores: Number | None = None
    disk: str = "unlimited"
    remote_rate: Rate = 12.5e6
    replica_rate: Rate = 1e9
    link: LinkModel = "shared"
    speed: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0

    def kinds(self) -> tuple[Nodes, ...]:
        """The kinds of nodes, with what they have."""
        given = (
            (Nodes(count=self.nodes),) if isinstance(self.nodes, int) else self.nodes
        )
        return tuple(
            Nodes(
                count=kind.count,
                cores=kind.cores or self.cores,
                disk=kind.disk or self.disk,
                speed=kind.speed or self.speed,
            )
            for kind in given
        )

    def stated(self) -> set[str]:
        """What was given, of all nodes or of each kind."""
        kinds = () if isinstance(self.nodes, int) else self.nodes
        each = (
            set.intersection(*(kind.model_fields_set for kind in kinds))
            if kinds
            else set()
        )
        return self.model_fields_set | each


FOUR_NODES = Machine()
"""Unlimited disks on a shared 100 Mbps link."""


@dataclass(frozen=True)
class Part:
    """Chosen tasks of a workflow: the files each reads and writes, sizes in
    bytes, what to keep.

    ``warnings`` say what was odd or dropped, ``invented`` what was made up, and how.
    """

    inputs: dict[str, list[str]]
    outputs: dict[str, list[str]]
    sizes: dict[str, int]
    keep: frozenset[str]
    warnings: tuple[str, ...]
    invented: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedNode:
    """A machine that a workflow file names, with its cores where they are told."""

    name: str
    cores: int | None = None


def built(
    head: Mapping[str, Any],
    tasks: Sequence[Json],
    part: Part,
    machine: Machine,
    warnings: Iterable[str],
    name: str,
    recorded: Sequence[RecordedNode] = (),
) -> ReplicationProblem:
    """Return the instance of *tasks*, whose files stand in *part*, on *machine*.

    The machines that the source names, *recorded*, are the nodes unless
    *machine* tells others.
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
    remarks += [remark for _, remark in disks.values() if remark]
    document = {
        **head,
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
    told = {"nodes"} if recorded else set()
    told |= {"cores"} if recorded and all(node.cores for node in recorded) else set()
    synthetic = {"machine": _assumed(machine, cores, told), **part.invented}
    return imported(ReplicationProblem, document, said, name, synthetic)


def _recorded_nodes(
    machine: Machine, recorded: Sequence[RecordedNode], widest: int, remarks: list[str]
) -> list[Json]:
    """Return the nodes that a file names, each wide enough for the
    *widest* task if none is.
    """
    told = [node.cores for node in recorded if node.cores is not None]
    remarks.append(
        f"the nodes are the {counted(len(recorded), 'machine')} that the file names"
        + (", with their cores" if told and machine.cores is None else "")
        + " (--machine nodes=N takes others)"
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
        }
        for node in recorded
    ]


def _nodes(
    machine: Machine, recorded: Sequence[RecordedNode], widest: int
) -> list[Json]:
    """Return the nodes of *machine*; cores that it does not tell are those of
    *recorded*, if alike.
    """
    alike = {node.cores for node in recorded}
    found = alike.pop() if len(alike) == 1 else None
    cores = machine.cores or max(found or widest, widest)
    nodes: list[Json] = []
    for kind in machine.kinds():
        for _ in range(kind.count):
            nodes.append(
                {
                    "id": f"n{len(nodes)}",
                    "cores": kind.cores or cores,
                    "speed": kind.speed,
                    "disk": kind.disk or "",
                }
            )
    return nodes


def _in_order(rows: Iterable[Json], key: str) -> list[str]:
    """Return the different values of *key* in the order of *rows*."""
    return list(dict.fromkeys(row[key] for row in rows))


def _assumed(machine: Machine, cores: int, recorded: set[str]) -> str:
    """Return what is told neither of *machine* nor by the file,
    which tells *recorded*.
    """
    words = {
        "nodes": f"{machine.nodes} nodes",
        "cores": f"{cores} cores each" if cores > 1 else "",
        "disk": f"disk {machine.disk}",
        "speed": f"speed {machine.speed:g}",
        "remote_rate": f"{quantity('bytes_per_second', machine.remote_rate)} from remote "
        "storage",
        "link": f"link {machine.link}",
        "replica_rate": f"{quantity('bytes_per_second', machine.replica_rate)} between "
        "nodes",
    }
    stated = machine.stated() | recorded
    told = [text for key, text in words.items() if text and key not in stated]
    return f"{', '.join(told)} (not given; the file has none)" if told else ""


def _disk_bytes(
    text: str, sizes: Mapping[str, int], tasks: Sequence[Mapping[str, Any]]
) -> tuple[int | None, str | None]:
    """Disk of a node, and a remark where a share had to be raised
    to the largest task.
    """
    word = text.strip().lower()
    if word in ("unlimited", "none"):
        return None, None
    if not word.endswith("%"):
        return parse_bytes(text), None
    try:
        share = float(word[:-1]) / 100
    except ValueError:
        share = -1.0
    if not 0 < share < float("inf"):
        raise UsageError(
            f"disk {text!r} is not a share such as 33%, a size such as 500MB, or "
            "unlimited"
        )
    wanted = int(share * sum(sizes.values()))
    needs = [
        sum(sizes[f] for f in (*task["inputs"], *task["outputs"])) for task in tasks
    ]
    needed = max(needs, default=0)
    if needed <= wanted:
        return wanted, None
    writes = " and writes" if any(task["outputs"] for task in tasks) else ""
    return (
        needed,
        f"disk {text} is {wanted} bytes, raised to the {needed} that one task "
        f"reads{writes}",
    )
