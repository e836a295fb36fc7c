"""Instances of replication from workflows of other programs, which describe no cluster of ours."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from ioopt.errors import UsageError
from ioopt.formats.report import imported
from ioopt.formats.values import Number, Rate
from ioopt.problems.base import Json, Record
from ioopt.problems.replication import LinkModel, ReplicationProblem
from ioopt.units import parse_bytes, quantity


class Nodes(Record):
    """``count`` nodes alike; what is None is as the machine says of all."""

    count: Number = 1
    cores: Number | None = None
    disk: str | None = None
    speed: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class Machine(Record):
    """The machine that a workflow file does not describe; what is not given is assumed, and said.

    ``nodes`` is their number, or a list of kinds of nodes.

    ``disk`` is a size such as ``500MB``, ``unlimited``, or a share of the distinct bytes such as
    ``33%`` (never less than the largest task needs); ``cores`` None: those of the widest task.
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
        given = (Nodes(count=self.nodes),) if isinstance(self.nodes, int) else self.nodes
        return tuple(
            Nodes(count=kind.count, cores=kind.cores or self.cores, disk=kind.disk or self.disk,
                  speed=kind.speed or self.speed)
            for kind in given
        )  # fmt: skip

    def stated(self) -> set[str]:
        """What was given, of all nodes or of each kind."""
        kinds = () if isinstance(self.nodes, int) else self.nodes
        each = set.intersection(*(kind.model_fields_set for kind in kinds)) if kinds else set()
        return self.model_fields_set | each


FOUR_NODES = Machine()
"""Unlimited disks on a shared 100 Mbps link."""


@dataclass(frozen=True)
class Part:
    """Chosen tasks of a workflow: the files each reads and writes, sizes in bytes, what to keep.

    ``warnings`` say what was odd or dropped, ``invented`` what was made up, and how.
    """

    inputs: dict[str, list[str]]
    outputs: dict[str, list[str]]
    sizes: dict[str, int]
    keep: frozenset[str]
    warnings: tuple[str, ...]
    invented: Mapping[str, str] = field(default_factory=dict)


def built(
    head: Mapping[str, Any],
    tasks: Sequence[Json],
    part: Part,
    machine: Machine,
    warnings: Iterable[str],
    name: str,
    machines: int = 0,
) -> ReplicationProblem:
    """The instance of *tasks*, whose files stand in *part*, on *machine*; the source describes *machines*."""
    rows = [
        task | {"inputs": part.inputs[task["id"]], "outputs": part.outputs[task["id"]]}
        for task in tasks
    ]
    cores = machine.cores or max((task.get("cores", 1) for task in tasks), default=1)
    nodes: list[Json] = []
    remarks: dict[str, None] = {}
    for kind in machine.kinds():
        disk, remark = _disk_bytes(kind.disk or "", part.sizes, rows)
        each = {"disk_bytes": disk, "speed": kind.speed, "cores": kind.cores or cores}
        nodes += [{"id": f"n{len(nodes) + k}", **each} for k in range(kind.count)]
        remarks |= {remark: None} if remark else {}
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
    synthetic = {"machine": _assumed(machine, cores, machines), **part.invented}
    return imported(ReplicationProblem, document, said, name, synthetic)


def _assumed(machine: Machine, cores: int, machines: int) -> str:
    """What is not given of *machine*; empty where all is."""
    words = {
        "nodes": f"{machine.nodes} nodes",
        "cores": f"{cores} cores each" if cores > 1 else "",
        "disk": f"disk {machine.disk}",
        "speed": f"speed {machine.speed:g}",
        "remote_rate": f"{quantity('bytes_per_second', machine.remote_rate)} from remote storage",
        "link": f"link {machine.link}",
        "replica_rate": f"{quantity('bytes_per_second', machine.replica_rate)} between nodes",
    }
    told = [text for key, text in words.items() if text and key not in machine.stated()]
    why = f"the file's machines ({machines}) are not used" if machines else "the file has none"
    return f"{', '.join(told)} (not given; {why})" if told else ""


def _disk_bytes(
    text: str, sizes: Mapping[str, int], tasks: Sequence[Mapping[str, Any]]
) -> tuple[int | None, str | None]:
    """Disk of a node, and a remark where a share had to be raised to the largest task."""
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
            f"disk {text!r} is not a share such as 33%, a size such as 500MB, or unlimited"
        )
    wanted = int(share * sum(sizes.values()))
    needs = [sum(sizes[f] for f in (*task["inputs"], *task["outputs"])) for task in tasks]
    needed = max(needs, default=0)
    if needed <= wanted:
        return wanted, None
    writes = " and writes" if any(task["outputs"] for task in tasks) else ""
    return (
        needed,
        f"disk {text} is {wanted} bytes, raised to the {needed} that one task reads{writes}",
    )
