"""Read task graphs of Estee (Böhm and Beránek 2022) as workflows.

A file is a pandas table stored as JSON; it may be compressed whatever its name is. The
columns are ``graph_name`` and ``graph``, and each cell of ``graph`` is JSON text again.
A task has a duration ``d`` and an expected duration ``e_d`` in seconds (null if
unknown). It takes ``cpus`` cores. Its outputs have a size ``s`` and an expected size
``e_s`` in MB. Its inputs are pairs [task, output]. All inputs are outputs of tasks, and
the format does not say which results must be saved.
"""

import math
from typing import Annotated

from pydantic import Field, StrictFloat, StrictInt

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.cluster import FOUR_NODES, Machine, Part, built
from ioopt.formats.native import named, parse_json, read_json, shown, validate
from ioopt.formats.report import some
from ioopt.problems.base import Json, Record
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
    """Return the workflow *graph* of an Estee file, and actual seconds of tasks.

    *graph* is the name of a graph or its position in the file, counted from 0. The
    workflow has the expected duration of a task where the file gives one, and otherwise
    the duration. The second result maps each task for which these two differ to its
    actual compute seconds. File sizes are the actual ones, because a plan has one size
    for each file. With *keep*, outputs that no task reads must be saved. Raises
    InstanceError for a file of another format, and UsageError for a graph that is not
    in the file.
    """
    name = named(source)
    table = validate(_Table, read_json(source), name)
    key = _chosen(table, graph, name)
    title = table.graph_name.get(key, key)
    place = f"{name}: graph {title!r}"
    given = validate(_Graph, {"tasks": parse_json(table.graph[key], place)}, place)
    return _problem(given.tasks, title, name, machine, keep)


def _chosen(table: _Table, graph: str | None, name: str) -> str:
    """Return the key of *graph*, which is a name or a position in the table.

    If *graph* is None, the table must have exactly one graph. Raises UsageError.
    """
    keys = list(table.graph)
    known = [table.graph_name.get(key, key) for key in keys]
    if graph is None and len(keys) == 1:
        return keys[0]
    if graph in known:
        return keys[known.index(graph)]
    if graph is not None and graph.isdecimal() and int(graph[:9]) < len(keys):
        return keys[int(graph[:9])]
    listed = some(known, most=40)
    missing = "several graphs"
    if graph is not None:
        missing = f"no graph {graph!r}"
    raise UsageError(
        f"{name}: {missing}; --graph takes a place from 0 or one of: {listed}"
    )


def _problem(
    given: tuple[_Task, ...], title: str, name: str, machine: Machine, keep: bool
) -> tuple[ReplicationProblem, dict[str, float]]:
    """Return the instance with the tasks of one graph, and actual compute seconds.

    The actual seconds are given for tasks whose expected duration differs.
    """
    warnings: list[str] = []
    try:
        inputs = _inputs(given, warnings)
    except InstanceError as error:
        raise InstanceError(f"{name}: graph {title!r}: {error}") from None
    outputs: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    actual: dict[str, float] = {}
    rows: list[Json] = []
    wrong = 0
    for k, task in enumerate(given):
        for x, output in enumerate(task.outputs):
            sizes[f"t{k}.{x}"] = math.ceil(output.s * MB)
            if output.e_s is not None and output.e_s != output.s:
                wrong += 1
        outputs[f"t{k}"] = [f"t{k}.{x}" for x in range(len(task.outputs))]
        seconds = task.d
        if task.e_d is not None and task.e_d != task.d:
            seconds = task.e_d
            actual[f"t{k}"] = float(task.d)
        rows.append(
            {"id": f"t{k}", "cores": task.cpus, "compute_seconds": float(seconds)}
        )
    if wrong:
        warnings.append(
            f"expected sizes of {wrong} files are dropped: the actual ones are "
            "planned with"
        )
    if actual:
        warnings.append(
            f"{len(actual)} tasks are planned with expected durations (--actual "
            "FILE: the others)"
        )
    kept = frozenset[str]()
    if keep:
        kept = frozenset(sizes).difference(*inputs.values())
    part = Part(inputs, outputs, sizes, kept, tuple(warnings))
    head = {"name": title, "meta": {"source": "Estee"}}
    return built(head, rows, part, machine, (), name), actual


def _inputs(given: tuple[_Task, ...], warnings: list[str]) -> dict[str, list[str]]:
    """Return, for each task, the files that it reads, each once.

    Raises InstanceError for an output that does not exist.
    """
    inputs: dict[str, list[str]] = {}
    for k, task in enumerate(given):
        for j, x in task.inputs:
            if j >= len(given) or x >= len(given[j].outputs):
                raise InstanceError(
                    f"task {k} reads {shown([j, x])}, which does not exist"
                )
        files = dict.fromkeys(f"t{j}.{x}" for j, x in task.inputs)
        inputs[f"t{k}"] = list(files)
        if len(files) < len(task.inputs):
            warnings.append(f"an input listed twice was taken once, in task: t{k}")
    return inputs
