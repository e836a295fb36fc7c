"""Build a batch or workflow in Python without dictionaries: add nodes, files and tasks.

Each call checks its arguments and raises InstanceError with the message that an
instance file would give. Sizes, rates and times are text with a unit such as
``"500MB"``, ``"12.5MB/s"``, ``"90s"``, or numbers in bytes, bytes per second and
seconds. A name is generated where none is given, and every ``add_`` method returns the
name. A batch can be used wherever an instance can: ``ioopt.solve(batch)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.native import dump_json, write_text
from ioopt.loading import load
from ioopt.problems.base import Json
from ioopt.problems.replication import ReplicationProblem
from ioopt.units import (
    counted,
    is_number,
    parse_bytes,
    parse_rate,
    parse_seconds,
    quantity,
)

Size = float | str
Rate = float | str
Time = float | str
PARTS = ("nodes", "files", "tasks")


class Batch:
    """Builder of a replication instance (``ioopt/replication``): tasks, files and
    nodes. The instance is a batch, or a workflow if tasks write files.

    *products* ("node" or "shared") says where the files are that tasks write, *cache*
    ("made-and-read" or "read") what enters the caches of nodes if they are shared, and
    *task_disk* whether the files of a task pass the disk of its node while it computes.

    Examples
    --------
    >>> batch = Batch(remote="10MB/s", replica="100MB/s")
    >>> batch.add_nodes(2, disk="1GB")
    ['n0', 'n1']
    >>> batch.add_task(8.0, inputs=[batch.add_file("120MB")])
    't0'
    >>> batch.build().tasks[0].inputs
    ('f0',)
    >>> batch
    Batch(2 nodes, 1 file, 1 task; remote 10 MB/s, replica 100 MB/s)
    """

    def __init__(
        self,
        *,
        remote: Rate,
        replica: Rate,
        link: str = "shared",
        name: str = "batch",
        products: str | None = None,
        cache: str | None = None,
        task_disk: bool | None = None,
    ) -> None:
        network = {
            "remote_bytes_per_second": _rate("remote", remote),
            "replica_bytes_per_second": _rate("replica", replica),
            "remote_link": link,
        }
        self.data: Json = {
            "format": "ioopt/replication",
            "version": 1,
            "name": name,
            "network": network,
            "nodes": [],
            "files": [],
            "tasks": [],
        }
        beside = {"products": products, "cache": cache, "task_disk": task_disk}
        self.data |= {key: value for key, value in beside.items() if value is not None}
        self._ids: dict[str, set[str]] = {part: set() for part in PARTS}
        load({**self.data, **self._beside({})})

    def build(self) -> ReplicationProblem:
        """Return the problem; raise InstanceError with one line that names the fault,
        such as that it has no task.
        """
        if not self.data["tasks"]:
            raise InstanceError(f"{self.data['name']}: has no task; add_task adds one")
        problem: ReplicationProblem = load(self.data)
        return problem

    def save(self, path: str) -> None:
        """Write the instance as JSON to *path*, for the commands; raise InstanceError
        with one line that names the fault.
        """
        write_text(path, dump_json(self.build().model_dump(mode="json", by_alias=True)))

    def __repr__(self) -> str:
        told = (counted(len(self.data[part]), part[:-1]) for part in PARTS)
        rates = []
        for name in ("remote", "replica"):
            key = f"{name}_bytes_per_second"
            rates.append(f"{name} {quantity(key, self.data['network'][key])}")
        return f"{type(self).__name__}({', '.join(told)}; {', '.join(rates)})"

    def _beside(self, row: Json) -> Json:
        """Return the lists of a minimal instance in which *row* can be checked: one
        node, no task, and the files that *row* names as far as they are known.
        """
        names = [*row.get("inputs", ()), *row.get("outputs", ())]
        files = [*self._ids["files"].intersection(names), *row.get("holds", ())]
        return {
            "nodes": [{"id": "n"}],
            "tasks": [],
            "files": [{"id": name, "bytes": 0} for name in files],
        }

    def _add(self, part: str, name: str | None, row: Json) -> str:
        """Check *row* in a minimal instance, append it to the list *part* of this
        batch, and return its id.
        """
        count = len(self.data[part])
        ids = self._ids[part]
        if name is None:
            name = f"{part[0]}{count}"
        given = {key: value for key, value in row.items() if value is not None}
        row = {"id": name, **given}
        try:
            load({**self.data, **self._beside(row), part: [row]})
        except InstanceError as error:
            text = str(error).replace(f"{part}[0]", f"{part}[{count}]", 1)
            raise InstanceError(text) from None
        if name in ids:
            raise InstanceError(
                f"instance: {part}[{count}] ({name}).id: {name!r} exists already"
            )
        ids.add(name)
        self.data[part].append(row)
        return name

    def add_node(
        self,
        name: str | None = None,
        *,
        disk: Size | None = None,
        cores: int = 1,
        speed: float = 1.0,
        holds: Iterable[str] = (),
        memory: Size | None = None,
        disk_rate: Rate | None = None,
    ) -> str:
        """Add a compute node and return its name. *disk* is the size of its disk,
        *disk_rate* the rate of its disk, and *memory* the size of its memory; None
        means unlimited. The files in *holds* may be added later.
        """
        row = {
            "disk_bytes": None if disk is None else _size("disk", disk),
            "cores": cores,
            "speed": speed,
            "holds": _listed(holds),
            "memory_bytes": None if memory is None else _size("memory", memory),
            "disk_bytes_per_second": None
            if disk_rate is None
            else _rate("disk_rate", disk_rate),
        }
        return self._add("nodes", name, row)

    def add_nodes(self, count: int, **like: Any) -> list[str]:
        """Add *count* equal nodes (1 or more) and return their names; *like* are the
        keywords of :meth:`add_node`.
        """
        if count < 1:
            raise UsageError(f"add_nodes: count must be 1 or more, not {count}")
        return [self.add_node(**like) for _ in range(count)]

    def add_file(
        self, size: Size, name: str | None = None, *, keep: bool | None = None
    ) -> str:
        """Add a file and return its name. The file lies on remote storage at the start
        unless a task writes it. *keep* says whether a file that a task writes is saved
        to remote storage.
        """
        return self._add("files", name, {"bytes": _size("size", size), "keep": keep})

    def add_task(
        self,
        compute: Time,
        name: str | None = None,
        *,
        inputs: Iterable[str] = (),
        outputs: Iterable[str] | None = None,
        cores: int | None = None,
        release: Time | None = None,
        memory: Size | None = None,
        overhead: Time | None = None,
    ) -> str:
        """Add a task that reads *inputs*, computes, and writes *outputs*; return its
        name. All these files must have been added before.

        It holds *cores* and *memory* while it runs, also for the *overhead* that
        precedes its computing.
        """
        row = {
            "compute_seconds": _time("compute", compute),
            "inputs": _listed(inputs),
            "outputs": None if outputs is None else _listed(outputs),
            "cores": cores,
            "release_seconds": None if release is None else _time("release", release),
            "memory_bytes": None if memory is None else _size("memory", memory),
            "overhead_seconds": None
            if overhead is None
            else _time("overhead", overhead),
        }
        return self._add("tasks", name, row)


Workflow = Batch
"""The same builder, for workflows: tasks write files for each other, or hold cores and
memory.
"""


def _listed(names: Iterable[str]) -> list[str] | str:
    """Return *names* as a list. Text is returned unchanged, so that it is refused and
    not split into letters.
    """
    return names if isinstance(names, str) else list(names)


def _figure(
    parse: Callable[[Any], float], unit: str, name: str, value: float | str
) -> Any:
    """Return *value*, the argument called *name*, in basic units.

    Raise UsageError for text without a unit, such as *unit*, and for what is neither a
    number nor text.
    """
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9.eE+]+\s*", value):
        raise UsageError(
            f"{name}: {value!r} has no unit; write {value.strip() + unit!r}, or "
            "another unit"
        )
    if not isinstance(value, str) and not is_number(value):
        raise UsageError(f"{name}: wanted text such as '8{unit}', not {value!r}")
    try:
        return parse(value)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None


_size = partial(_figure, parse_bytes, "MB")
_rate = partial(_figure, parse_rate, "MB/s")
_time = partial(_figure, parse_seconds, "s")
