"""WfFormat 1.4 and 1.5 (WfCommons workflow traces) read as one batch of tasks, and written.

The files that the chosen tasks read become inputs with their sizes, run times become compute
seconds; the machine is not in such a file and is given. A batch has no dependencies: files that an
earlier task of the workflow wrote count as lying on remote storage, as they would when the batch is
one level of the workflow.

Schema: https://github.com/wfcommons/WfFormat. Version 1.4 keeps files and run times inside the
tasks of ``workflow.tasks``; 1.5 splits them into ``workflow.specification`` and
``workflow.execution``. Up to 1.4 parents are named by task name, from 1.5 by id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.native import named, read_json
from ioopt.formats.report import imported
from ioopt.formats.values import Number, Rate
from ioopt.formats.wfformat.parse import Workflow, WorkflowTask, parse_workflow
from ioopt.problems.base import Record
from ioopt.problems.replication import LinkModel, ReplicationProblem
from ioopt.units import format_bytes, parse_bytes

__all__ = ["Machine", "export_wfformat", "problem_from_wfformat", "read_wfformat", "select_tasks"]

_SHOWN = 8


class Machine(Record):
    """The machine that a workflow file does not describe.

    ``disk`` is a size such as ``500MB``, ``unlimited``, or a share of the distinct bytes read such
    as ``33%`` (never less than the largest task needs).
    """

    nodes: Number = 4
    disk: str = "unlimited"
    remote_rate: Rate = 12.5e6
    replica_rate: Rate = 1e9
    link: LinkModel = "shared"
    speed: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0


def read_wfformat(
    source: str, select: str = "all", machine: Machine = Machine()
) -> ReplicationProblem:
    """The batch that *select* takes from a WfFormat file.

    Parameters
    ----------
    source
        Path (``-``: standard input; gzip is unpacked).
    select
        ``all``; ``ready`` (tasks that wait for no other); ``level=N`` (0 is ``ready``; a level is
        one more than that of the last task waited for); ``program=NAME``.
    machine
        Nodes, disks and rates; by default 4 nodes with unlimited disks on a shared 100 Mbps link.

    What was odd but usable stands in ``meta["warnings"]``. Raises InstanceError for anything else,
    and UsageError for a selection that does not exist.
    """
    return problem_from_wfformat(read_json(source), named(source), select, machine)


def problem_from_wfformat(
    data: Any, name: str, select: str = "all", machine: Machine = Machine()
) -> ReplicationProblem:
    """Like :func:`read_wfformat` for parsed JSON *data*; *name* is used in messages."""
    workflow = parse_workflow(data, name)
    tasks = select_tasks(workflow, select, name)
    used = {file for task in tasks for file in task.inputs}
    sizes = {file: size for file, size in workflow.sizes.items() if file in used}
    disk, remark = _disk_bytes(machine.disk, sizes, tasks)
    warnings = [*workflow.warnings, *([remark] if remark else [])]
    chosen = {task.id for task in tasks}
    waiting = [task for task in tasks if task.parents]
    if waiting:
        inside = sum(not chosen.isdisjoint(task.parents) for task in waiting)
        warnings.append(
            f"precedence is dropped: {len(waiting)} of {len(tasks)} tasks wait for others ({inside} for "
            "tasks of this batch), and what those write counts as lying on remote storage"
        )
    warnings = [f"{name}: {text}" for text in warnings]
    synthetic = {
        "machine": f"{machine.nodes} nodes, disk {machine.disk}, speed {machine.speed:g}, "
        f"{format_bytes(machine.remote_rate)}/s from remote storage ({machine.link}), "
        f"{format_bytes(machine.replica_rate)}/s between nodes (the file describes none)",
    }
    document = {
        "name": workflow.name if select == "all" else f"{workflow.name} [{select}]",
        "meta": {
            "source": f"WfFormat {workflow.version}",
            "select": select,
        },
        "network": {
            "remote_bytes_per_second": machine.remote_rate,
            "replica_bytes_per_second": machine.replica_rate,
            "remote_link": machine.link,
        },
        "nodes": [
            {"id": f"n{i}", "disk_bytes": disk, "speed": machine.speed}
            for i in range(machine.nodes)
        ],
        "files": [{"id": file, "bytes": size} for file, size in sizes.items()],
        "tasks": [
            {"id": task.id, "compute_seconds": task.runtime, "inputs": list(task.inputs)}
            for task in tasks
        ],
    }
    problem: ReplicationProblem = imported(
        ReplicationProblem, document, warnings, name, synthetic
    ).problem
    return problem


def select_tasks(workflow: Workflow, select: str, name: str) -> list[WorkflowTask]:
    """The tasks that *select* means, in the order of the file (see :func:`read_wfformat`)."""
    word, _, value = select.partition("=")
    if select == "all":
        return list(workflow.tasks)
    if select == "ready":
        return [task for task in workflow.tasks if not task.parents]
    if word == "program" and value:
        chosen = [task for task in workflow.tasks if value in task.programs]
        if not chosen:
            known = list(dict.fromkeys(task.programs[0] for task in workflow.tasks))
            shown = ", ".join(_short(item) for item in known[:_SHOWN])
            more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
            raise UsageError(f"{name}: no task runs program {value!r}; programs: {shown}{more}")
        return chosen
    if word == "level" and value.isdecimal() and len(value) < 10:
        levels = _levels(workflow, name)
        if int(value) > max(levels.values(), default=0):
            raise UsageError(
                f"{name}: no level {value}; levels go from 0 to {max(levels.values())}"
            )
        return [task for task in workflow.tasks if levels[task.id] == int(value)]
    raise UsageError(f"--select wants all, ready, level=N or program=NAME, not {select!r}")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:37] + "..."


def _levels(workflow: Workflow, name: str) -> dict[str, int]:
    """Level of every task; raises InstanceError naming a circle of tasks."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(task.id for task in workflow.tasks)
    graph.add_edges_from((parent, task.id) for task in workflow.tasks for parent in task.parents)
    try:
        generations = list(nx.topological_generations(graph))
    except nx.NetworkXUnfeasible:
        circle = [edge[0] for edge in nx.find_cycle(graph)]
        shown = " -> ".join(_short(item) for item in [*circle[:_SHOWN], circle[0]])
        raise InstanceError(
            f"{name}: tasks wait for each other in a circle ({shown}), so there are no levels; "
            "use --select all or program=NAME"
        ) from None
    return {task: level for level, tasks in enumerate(generations) for task in tasks}


def _disk_bytes(
    text: str, sizes: Mapping[str, int], tasks: Sequence[WorkflowTask]
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
    needed = max((sum(sizes[file] for file in task.inputs) for task in tasks), default=0)
    if needed <= wanted:
        return wanted, None
    return needed, f"disk {text} is {wanted} bytes, raised to the {needed} that one task reads"


def export_wfformat(problem: ReplicationProblem) -> dict[str, Any]:
    """A WfFormat 1.5 workflow of independent tasks that read the problem's files.

    Characters that the schema does not allow in references become ``-`` (kept unique by a number).
    Disks, rates and speeds have no place in WfFormat and are left out.
    """
    problem.require_batch("the export to WfFormat")
    files = _plain_ids([file.id for file in problem.files])
    tasks = _plain_ids([task.id for task in problem.tasks])
    return {
        "name": problem.name,
        "description": "One batch of independent tasks, written by ioopt",
        "createdAt": "1970-01-01T00:00:00+00:00",
        "schemaVersion": "1.5",
        "runtimeSystem": {"name": "ioopt", "version": "1"},
        "workflow": {
            "specification": {
                "tasks": [
                    {
                        "name": task.id,
                        "id": tasks[task.id],
                        "parents": [],
                        "children": [],
                        "inputFiles": [files[file] for file in task.inputs],
                        "outputFiles": [],
                    }
                    for task in problem.tasks
                ],
                "files": [
                    {"id": files[file.id], "sizeInBytes": file.bytes} for file in problem.files
                ],
            },
            "execution": {
                "makespanInSeconds": 0,
                "executedAt": "1970-01-01T00:00:00+00:00",
                "tasks": [
                    {
                        "id": tasks[task.id],
                        "runtimeInSeconds": task.compute_seconds,
                        "command": {"program": "task"},
                    }
                    for task in problem.tasks
                ],
                "machines": [{"nodeName": node.id} for node in problem.nodes],
            },
        },
    }


def _plain_ids(ids: Sequence[str]) -> dict[str, str]:
    """Ids within the schema's pattern ``[0-9a-zA-Z-_.]*``, still unique."""
    plain: dict[str, str] = {}
    taken: set[str] = set()
    for name in ids:
        wanted = base = re.sub(r"[^0-9a-zA-Z_.-]", "-", name)
        number = 1
        while wanted in taken:
            number += 1
            wanted = f"{base}.{number}"
        taken.add(wanted)
        plain[name] = wanted
    return plain
