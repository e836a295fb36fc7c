"""Read task graphs in the JSON format of SAGA (github.com/ANRGUSC/saga) as workflows.

DAGBench uses the same format. A file has a ``task_graph``. Its ``tasks`` have a
``name`` and a ``cost``; its ``dependencies`` go from ``source`` to ``target`` and have
a ``size``. The format has no units. Here a cost of 1 is 1 s at speed 1, and a size of 1
is 1 MB.
"""

import math
from collections import defaultdict
from typing import Annotated

from pydantic import Field

from ioopt.errors import InstanceError
from ioopt.formats.cluster import FOUR_NODES, Machine, Part, built
from ioopt.formats.native import named, read_json, validate
from ioopt.formats.values import Amount
from ioopt.problems.base import Name, Record
from ioopt.problems.replication import ReplicationProblem


class _Task(Record):
    name: Name
    cost: Amount


class _Edge(Record):
    source: Name
    target: Name
    size: Amount


class _Graph(Record):
    tasks: Annotated[tuple[_Task, ...], Field(min_length=1)]
    dependencies: tuple[_Edge, ...] = ()


class _File(Record, extra="ignore"):
    name: Name = "workflow"
    task_graph: _Graph


def read_saga(source: str, machine: Machine = FOUR_NODES) -> ReplicationProblem:
    """Return the workflow in the SAGA file *source*, to run on *machine*.

    A task whose outgoing edges all have the same size writes one file, which all its
    successors read. Any other task writes one file for each outgoing edge. No file has
    to be saved at the end.
    """
    name = named(source)
    given = validate(_File, read_json(source), name)
    graph = given.task_graph
    sizes: dict[str, int] = {}
    inputs: dict[str, list[str]] = {task.name: [] for task in graph.tasks}
    outputs: dict[str, dict[str, None]] = {task.name: {} for task in graph.tasks}
    weights = defaultdict[str, set[float]](set)
    for edge in graph.dependencies:
        weights[edge.source].add(edge.size)
    for edge in graph.dependencies:
        if edge.source not in inputs or edge.target not in inputs:
            raise InstanceError(
                f"{name}: {edge.source!r} -> {edge.target!r}: no such task"
            )
        file = edge.source
        if len(weights[edge.source]) > 1:
            file = f"{edge.source} -> {edge.target}"
        inputs[edge.target].append(file)
        outputs[edge.source][file] = None
        sizes[file] = math.ceil(1e6 * edge.size)
    rows = [{"id": task.name, "compute_seconds": task.cost} for task in graph.tasks]
    written = {task: [*files] for task, files in outputs.items()}
    part = Part(inputs, written, sizes, frozenset(), ("its network is not used",))
    return built(
        {"name": given.name, "meta": {"source": "SAGA"}}, rows, part, machine, (), name
    )
