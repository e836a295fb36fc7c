"""Task graphs of Estee (Böhm and Beránek 2022) as workflows.

A file is a pandas table as JSON, often zipped under any name: columns ``graph_name``
and ``graph``, the latter JSON text again. A task has a duration ``d``, an expected
one ``e_d`` (null: unknown), ``cpus``, outputs with size ``s`` and expected size
``e_s`` in MB, and inputs [task, output]. No input comes from outside, and nothing is
said of where results go.
"""

import math
from typing import Annotated

from pydantic import Field, StrictFloat, StrictInt

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.cluster import FOUR_NODES, Machine, Part, built
from ioopt.formats.native import named, parse_json, read_json, shown, validate
from ioopt.formats.report import some
from ioopt.problems.base import Record
from ioopt.problems.replication import ReplicationProblem

MB = 10**6
Amount = Annotated[StrictInt | StrictFloat, Field(ge=0, le=10**10)]
Index = Annotated[int, Field(ge=0, strict=True)]


class _Output(Record):
    s: Amount
    e_s: Amount | None = None


class _Task(Record):
    d: Amount
    e_d: Amount | None = None
    cpus: Annotated[int, Field(ge=1, le=10**6, strict=True)] = 1
    outputs: tuple[_Output, ...] = ()
    inputs: tuple[tuple[Index, Index], ...] = ()


class _Graph(Record):
    tasks: Annotated[tuple[_Task, ...], Field(min_length=1)]


class _Table(Record, extra="ignore"):
    graph_name: dict[str, str]
    graph: dict[str, str]


def read_estee(
    source: str,
    graph: str | None = None,
    machine: Machine = FOUR_NODES,
    keep: bool = False,
) -> tuple[ReplicationProblem, dict[str, float]]:
    """The workflow called *graph* (its name or its place in the file), and
    actual compute seconds.

    Planned times are the expected ones where the file has them, else the durations; the
    actual seconds by task are those of tasks for which the two differ. Sizes are the
    actual ones, as a plan knows no others. With *keep*, products that no task reads are
    to be saved. Raises InstanceError for a file that is no such table, UsageError for a
    graph that is not in it.
    """
    name = named(source)
    table = validate(_Table, read_json(source), name)
    key = _chosen(table, graph, name)
    title = table.graph_name.get(key, key)
    place = f"{name}: graph {title!r}"
    given = validate(_Graph, {"tasks": parse_json(table.graph[key], place)}, place)
    return _problem(given.tasks, title, name, machine, keep)


def _chosen(table: _Table, graph: str | None, name: str) -> str:
    """The key of the graph that is meant."""
    keys = list(table.graph)
    known = [table.graph_name.get(key, key) for key in keys]
    if graph is None and len(keys) == 1:
        return keys[0]
    if graph in known:
        return keys[known.index(graph)]
    if graph is not None and graph.isdecimal() and int(graph[:9]) < len(keys):
        return keys[int(graph[:9])]
    listed = some(known, most=40)
    missing = "several graphs" if graph is None else f"no graph {graph!r}"
    raise UsageError(
        f"{name}: {missing}; --graph takes a place from 0 or one of: {listed}"
    )


def _problem(
    given: tuple[_Task, ...], title: str, name: str, machine: Machine, keep: bool
) -> tuple[ReplicationProblem, dict[str, float]]:
    inputs: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    warnings = []
    for k, task in enumerate(given):
        sizes |= {
            f"t{k}.{x}": math.ceil(output.s * MB)
            for x, output in enumerate(task.outputs)
        }
        rows = [f"t{j}.{x}" for j, x in task.inputs]
        for j, x in task.inputs:
            if j >= len(given) or x >= len(given[j].outputs):
                raise InstanceError(
                    f"{name}: graph {title!r}: task {k} reads {shown([j, x])}, "
                    "which is not there"
                )
        inputs[f"t{k}"] = list(dict.fromkeys(rows))
        if len(inputs[f"t{k}"]) < len(rows):
            warnings.append(f"an input listed twice was taken once, in task: t{k}")
    read = {file for files in inputs.values() for file in files}
    wrong = sum(
        o.e_s is not None and o.e_s != o.s for task in given for o in task.outputs
    )
    if wrong:
        warnings.append(
            f"expected sizes of {wrong} files are dropped: the actual ones are "
            "planned with"
        )
    actual = {
        f"t{k}": float(task.d)
        for k, task in enumerate(given)
        if task.e_d is not None and task.e_d != task.d
    }
    if actual:
        warnings.append(
            f"{len(actual)} tasks are planned with expected durations (--actual "
            "FILE: the others)"
        )
    part = Part(
        inputs,
        {
            f"t{k}": [f"t{k}.{x}" for x in range(len(task.outputs))]
            for k, task in enumerate(given)
        },
        sizes,
        frozenset(sizes.keys() - read if keep else ()),
        tuple(warnings),
    )
    rows_of_tasks = [
        {
            "id": f"t{k}",
            "cores": task.cpus,
            "compute_seconds": float(task.d if task.e_d is None else task.e_d),
        }
        for k, task in enumerate(given)
    ]
    head = {"name": title, "meta": {"source": "Estee"}}
    return built(head, rows_of_tasks, part, machine, (), name), actual
