"""Instances in Python without writing dictionaries: add nodes, files, tasks or jobs, then build.

Each call checks what it is given, in the words of :meth:`Builder.build`, and raises InstanceError.

Sizes, rates and times are numbers (bytes, bytes per second, seconds) or text such as ``"500MB"``,
``"12.5MB/s"``, ``"90s"``. Names are made up where none is given, and every ``add_`` returns the name.
A builder may stand wherever an instance may: ``ioopt.solve(batch)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from ioopt.errors import InstanceError, UsageError
from ioopt.options import suggest
from ioopt.problems.base import Json
from ioopt.solving import load
from ioopt.units import counted, parse_bytes, parse_rate, parse_seconds

if TYPE_CHECKING:
    import pandas as pd

Size = float | str
Rate = float | str
Time = float | str
Name = int | str


class Builder:
    """What all builders share: plain data that becomes a frozen problem."""

    lists: tuple[str, ...] = ()

    def __init__(self, kind: str, name: str, **top: object) -> None:
        self.data: Json = {"format": f"ioopt/{kind}", "version": 1, "name": name, **top}
        self.data |= {part: [] for part in self.lists}
        self._ids: dict[str, set[Name]] = {part: set() for part in self.lists}
        load({**self.data, **self._beside({})})

    def build(self) -> Any:
        """The problem; raises InstanceError with one line that names what is wrong."""
        return load(self.data)

    def __repr__(self) -> str:
        nodes = self.data.get("machine", {}).get("nodes")
        told = [counted(len(self.data[part]), part[:-1]) for part in self.lists]
        machine = [] if nodes is None else [counted(nodes, "node")]
        return f"{type(self).__name__}({', '.join(machine + told)})"

    def _beside(self, row: Json) -> Json:
        """The lists that an instance with *row* alone has beside it."""
        return {part: [] for part in self.lists}

    def _add(self, part: str, letter: str, name: Name | None, row: Json) -> Name:
        count, ids = len(self.data[part]), self._ids[part]
        name = (f"{letter}{count}" if letter else count) if name is None else name
        row = {"id": name, **{key: value for key, value in row.items() if value is not None}}
        try:
            load({**self.data, **self._beside(row), part: [row]})
        except InstanceError as error:
            text = str(error).replace(f"{part}[0]", f"{part}[{count}]", 1)
            raise InstanceError(text) from None
        if name in ids:
            raise InstanceError(f"instance: {part}[{count}] ({name}).id: {name!r} is there already")
        ids.add(name)
        self.data[part].append(row)
        return name

    def add_frame(self, part: str, frame: pd.DataFrame) -> Self:
        """Rows of a pandas DataFrame: columns are the keys of an instance file; NaN is left out.

        *part* is ``nodes``, ``files``, ``tasks`` or ``jobs``.
        """
        if part not in self.lists:
            raise UsageError(f"add_frame: no part {part!r}; {suggest(part, self.lists)}")
        for row in frame.to_dict("records"):
            # A column with gaps holds floats, of sizes too; NaN is not equal to itself.
            kept = {
                str(key): int(value) if isinstance(value, float) and value.is_integer() else value
                for key, value in row.items()
                if value is not None and (not isinstance(value, float) or value == value)
            }
            self._add(part, "" if part == "jobs" else part[0], kept.pop("id", None), kept)
        return self


class Batch(Builder):
    """Tasks, files and nodes (``ioopt/replication``): a batch, or a workflow where tasks write files.

    Examples
    --------
    >>> batch = Batch(remote="10MB/s", replica="100MB/s")
    >>> batch.add_nodes(2, disk="1GB")
    ['n0', 'n1']
    >>> batch.add_task(8.0, inputs=[batch.add_file("120MB")])
    't0'
    >>> batch.build().tasks[0].inputs
    ('f0',)
    """

    lists = ("nodes", "files", "tasks")

    def __init__(
        self, *, remote: Rate, replica: Rate, link: str = "shared", name: str = "batch"
    ) -> None:
        network = {"remote_bytes_per_second": parse_rate(remote),
                   "replica_bytes_per_second": parse_rate(replica), "remote_link": link}  # fmt: skip
        super().__init__("replication", name, network=network)

    def _beside(self, row: Json) -> Json:
        names = [*row.get("inputs", ()), *row.get("outputs", ())]
        files = [*self._ids["files"].intersection(names), *row.get("holds", ())]
        return {"nodes": [{"id": "n"}], "tasks": [],
                "files": [{"id": name, "bytes": 0} for name in files]}  # fmt: skip

    def add_node(
        self,
        name: str | None = None,
        *,
        disk: Size | None = None,
        cores: int = 1,
        speed: float = 1.0,
        holds: Iterable[str] = (),
    ) -> str:
        """A compute node; *disk* None is unlimited. What it *holds* may be added later."""
        size = None if disk is None else parse_bytes(disk)
        row = {"disk_bytes": size, "cores": cores, "speed": speed, "holds": _listed(holds)}
        return str(self._add("nodes", "n", name, row))

    def add_nodes(self, count: int, **like: Any) -> list[str]:
        """*count* equal nodes, 1 or more."""
        if count < 1:
            raise UsageError(f"add_nodes: count must be 1 or more, not {count}")
        return [self.add_node(**like) for _ in range(count)]

    def add_file(self, size: Size, name: str | None = None, *, keep: bool | None = None) -> str:
        """A file of *size* on remote storage, or, if some task writes it, a product."""
        return str(self._add("files", "f", name, {"bytes": parse_bytes(size), "keep": keep}))

    def add_task(
        self,
        compute: Time,
        name: str | None = None,
        *,
        inputs: Iterable[str] = (),
        outputs: Iterable[str] | None = None,
        cores: int | None = None,
        release: Time | None = None,
    ) -> str:
        """A task that reads *inputs*, computes, and writes *outputs*: files that were added before."""
        row = {
            "compute_seconds": parse_seconds(compute),
            "inputs": _listed(inputs),
            "outputs": None if outputs is None else _listed(outputs),
            "cores": cores,
            "release_seconds": None if release is None else parse_seconds(release),
        }
        return str(self._add("tasks", "t", name, row))

    def add_graph(self, graph: Any, compute: str = "compute_seconds", size: str = "bytes") -> Self:
        """The tasks of a networkx DiGraph: nodes with *compute*, edges with *size*, a file each.

        Edges with the same ``file`` attribute carry one file. Raises InstanceError for a node or an
        edge without its attribute.
        """
        written: dict[object, list[str]] = {task: [] for task in graph}
        read: dict[object, list[str]] = {task: [] for task in graph}
        for source, target, data in graph.edges(data=True):
            name = str(data.get("file", f"{source}>{target}"))
            if name not in written[source]:
                written[source].append(self.add_file(_of(data, size, f"edge {name}"), name))
            read[target].append(name)
        for task, data in graph.nodes(data=True):
            seconds = _of(data, compute, f"node {task}")
            self.add_task(seconds, str(task), inputs=read[task], outputs=written[task])
        return self


def _listed(names: Iterable[str]) -> list[str] | str:
    """A list; text stays as it is, to be refused by name, instead of falling into letters."""
    return names if isinstance(names, str) else list(names)


def _of(data: Mapping[str, Any], key: str, where: str) -> Any:
    if key not in data:
        raise InstanceError(
            f"{where} has no {key!r}; it has {', '.join(map(repr, data)) or 'none'}"
        )
    return data[key]


class Machine(Builder):
    """A machine with a batch queue and a shared storage (``ioopt/batch-io``).

    Examples
    --------
    >>> machine = Machine(64, node="1GB/s", storage="16GB/s")
    >>> machine.add_job(16, "2h", [("30min", "1TB"), ("10min", 0)], submit="5min")
    0
    >>> machine.build().jobs[0].walltime_seconds
    7200.0
    """

    lists = ("jobs",)

    def __init__(
        self,
        nodes: int,
        *,
        node: Rate,
        storage: Rate,
        unit: int = 1,
        allocation: str = "flat",
        name: str = "machine",
        options: Mapping[str, object] | None = None,
        **more: object,
    ) -> None:
        machine = {"nodes": nodes, "unit_nodes": unit, "allocation": allocation,
                   "node_bytes_per_second": parse_rate(node),
                   "storage_bytes_per_second": parse_rate(storage), **more}  # fmt: skip
        super().__init__("batch-io", name, machine=machine, options=dict(options or {}))

    def add_job(
        self,
        nodes: int,
        walltime: Time,
        phases: Iterable[tuple[Time, Size]],
        *,
        submit: Time = 0.0,
        name: Name | None = None,
        **more: object,
    ) -> Name:
        """A job of *phases*: (computing, then bytes), in order."""
        rows = [
            {"compute_seconds": parse_seconds(time), "io_bytes": parse_bytes(size)}
            for time, size in phases
        ]
        row = {"submit_seconds": parse_seconds(submit), "nodes": nodes,
               "walltime_seconds": parse_seconds(walltime), "phases": rows, **more}  # fmt: skip
        return self._add("jobs", "", name, row)


class Gangs(Builder):
    """Parallel jobs in time slices on nodes that hold their files (``ioopt/gang``).

    Examples
    --------
    >>> gangs = Gangs(8, levels=3, quantum="60s")
    >>> gangs.add_job([0, 1, 2], local="10min", remote="15min")
    0
    """

    lists = ("jobs",)

    def __init__(
        self,
        nodes: int,
        *,
        levels: int,
        quantum: Time,
        migration: Time = 0.0,
        name: str = "gangs",
        **more: object,
    ) -> None:
        machine = {"nodes": nodes, "levels": levels, "quantum_seconds": parse_seconds(quantum),
                   "migration_seconds": parse_seconds(migration), **more}  # fmt: skip
        super().__init__("gang", name, machine=machine)

    def add_job(
        self,
        file_nodes: Iterable[int],
        *,
        local: Time,
        remote: Time,
        arrival: Time = 0.0,
        name: Name | None = None,
    ) -> Name:
        """A job with its files on *file_nodes*: its time there, and on any other nodes."""
        row = {"arrival_seconds": parse_seconds(arrival), "file_nodes": list(file_nodes),
               "local_seconds": parse_seconds(local), "remote_seconds": parse_seconds(remote)}  # fmt: skip
        return self._add("jobs", "", name, row)
