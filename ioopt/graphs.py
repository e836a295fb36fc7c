"""Give problems and schedules as graphs of networkx."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ioopt.errors import UsageError
from ioopt.timeline import Interval, replication_timeline
from ioopt.waits import critical_of, may_wait, waits_of

if TYPE_CHECKING:
    from networkx import DiGraph


class _File(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def bytes(self) -> int: ...


class _Task(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def compute_seconds(self) -> float: ...
    @property
    def inputs(self) -> Sequence[str]: ...
    @property
    def outputs(self) -> Sequence[str]: ...


def graph_of_tasks(tasks: Iterable[_Task], files: Iterable[_File]) -> DiGraph:
    """Return the graph of *tasks* and *files*.

    Its nodes are ``("task", id)`` with ``compute_seconds``, and ``("file", id)`` with
    ``bytes``. An edge leads from each file to the tasks that read it, and from each
    task to the files that it writes.
    """
    from networkx import DiGraph

    graph = DiGraph()
    for file in files:
        graph.add_node(("file", file.id), bytes=file.bytes)
    for task in tasks:
        here = ("task", task.id)
        graph.add_node(here, compute_seconds=task.compute_seconds)
        graph.add_edges_from((("file", name), here) for name in task.inputs)
        graph.add_edges_from((here, ("file", name)) for name in task.outputs)
    return graph


def graph_of_schedule(
    schedule: Mapping[str, Any] | None,
) -> DiGraph:
    """Return the graph of a *schedule* of tasks, see :meth:`ioopt.Result.graph`.

    Raise UsageError for a schedule without tasks.
    """
    from networkx import DiGraph

    if not schedule or "tasks" not in schedule:
        raise UsageError("the result has no schedule of tasks, so it has no graph")
    graph = DiGraph()
    if "transfers" in schedule:
        timeline = replication_timeline(schedule)
        items: Sequence[Interval] = timeline.intervals
        marks: Sequence[Interval] = timeline.marks
        waits = waits_of(items, may_wait)
    else:
        items = [_interval(row) for row in schedule["tasks"]]
        marks = ()
        waits = waits_of(items)
    critical = set(critical_of(items, waits))
    names = _names(items)
    for k, (name, item) in enumerate(zip(names, items, strict=True)):
        graph.add_node(name, **_attributes(item), critical=k in critical)
    for k, before in enumerate(waits):
        if before >= 0:
            both = k in critical and before in critical
            graph.add_edge(names[before], names[k], critical=both)
    for number, mark in enumerate(marks):
        graph.add_node(("eviction", number), **_attributes(mark), critical=False)
    return graph


def _interval(row: Mapping[str, Any]) -> Interval:
    """Return the interval of a task in a work directory."""
    times = row["start_seconds"], row["end_seconds"]
    return Interval(*times, "work directory", "compute", row["id"])


def _names(items: Iterable[Interval]) -> list[tuple[str, str | int]]:
    """Return the name of each interval: the id of a task, the number of a transfer."""
    names: list[tuple[str, str | int]] = []
    transfers = 0
    for item in items:
        if item.kind == "compute":
            names.append(("task", item.label))
        else:
            names.append(("transfer", transfers))
            transfers += 1
    return names


def _attributes(item: Interval) -> dict[str, Any]:
    """Return the attributes of an interval in a graph."""
    found: dict[str, Any] = {
        "node": item.resource,
        "start_seconds": item.start,
        "end_seconds": item.end,
    }
    if item.kind != "compute":
        found |= {"file": item.label, "kind": item.kind}
    if "source" in item.info:
        found["source"] = item.info["source"]
    return found
