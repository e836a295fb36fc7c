"""WfFormat 1.4 and 1.5 (WfCommons workflow traces) read as a workflow or as one batch, and written.

Files become inputs and outputs with their sizes, run times compute seconds, cores cores; products
that nobody reads are to be kept. The machine is not in such a file and is given. Flattened to a
batch there are no dependencies: files that an earlier task of the workflow wrote count as lying on
remote storage, as they would when the batch is one level of the workflow.

Schema: https://github.com/wfcommons/WfFormat. Version 1.4 keeps files and run times inside the
tasks of ``workflow.tasks``; 1.5 splits them into ``workflow.specification`` and
``workflow.execution``. Up to 1.4 parents are named by task name, from 1.5 by id.
"""

import re
from collections.abc import Sequence
from typing import Any

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.cluster import FOUR_NODES, Machine, Part, built
from ioopt.formats.native import named, read_json
from ioopt.formats.wfformat.parse import Workflow, WorkflowTask, parse_workflow
from ioopt.formats.wfformat.whole import whole_part
from ioopt.problems.replication import ReplicationProblem

__all__ = ["Machine", "problem_from_wfformat", "read_wfformat", "select_tasks"]

_SHOWN = 8
_LEVELS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def read_wfformat(
    source: str, select: str = "all", machine: Machine = FOUR_NODES, flatten: bool = False
) -> ReplicationProblem:
    """The workflow, or with *flatten* the batch, that *select* takes from a WfFormat file.

    What was odd but usable, dropped or invented stands in ``meta["warnings"]``. Raises
    InstanceError for anything else, and UsageError for a selection that does not exist.

    Parameters
    ----------
    source
        Path (``-``: standard input; gzip is unpacked).
    select
        ``all``; ``ready`` (tasks that wait for no other); ``level=N`` or ``level=N-M`` (0 is
        ``ready``; a level is one more than that of the last task waited for); ``program=NAME``.
    machine
        Nodes, disks and rates; by default 4 nodes with unlimited disks on a shared 100 Mbps link.
    flatten
        Independent tasks that read files: precedence, products and cores are dropped.
    """
    return problem_from_wfformat(read_json(source), named(source), select, machine, flatten)


def problem_from_wfformat(
    data: Any,
    name: str,
    select: str = "all",
    machine: Machine = FOUR_NODES,
    flatten: bool = False,
) -> ReplicationProblem:
    """Like :func:`read_wfformat` for parsed JSON *data*; *name* is used in messages."""
    workflow = parse_workflow(data, name)
    tasks = select_tasks(workflow, select, name)
    try:
        part = _flat_part(workflow, tasks) if flatten else whole_part(workflow, tasks)
    except InstanceError as error:
        raise InstanceError(f"{name}: {error}") from None
    return built(
        {
            "name": workflow.name if select == "all" else f"{workflow.name} [{select}]",
            "meta": {"source": f"WfFormat {workflow.version}", "select": select},
        },
        [
            {"id": task.id, "compute_seconds": task.runtime}
            | ({} if flatten else {"cores": task.cores})
            for task in tasks
        ],
        part,
        machine,
        workflow.warnings,
        name,
        workflow.machines,
    )


def _flat_part(workflow: Workflow, tasks: Sequence[WorkflowTask]) -> Part:
    """Independent tasks: what they read, from wherever it came."""
    used = {file for task in tasks for file in task.inputs}
    chosen = {task.id for task in tasks}
    waiting = [task for task in tasks if task.parents]
    warnings = []
    if waiting:
        inside = sum(not chosen.isdisjoint(task.parents) for task in waiting)
        warnings.append(
            f"precedence is dropped: {len(waiting)} of {len(tasks)} tasks wait for others ({inside} for "
            "tasks of this batch), and what those write counts as lying on remote storage"
        )
    wide = sum(task.cores > 1 for task in tasks)
    if wide:
        warnings.append(f"cores are dropped: {wide} of {len(tasks)} tasks take more than one")
    return Part(
        {task.id: list(task.inputs) for task in tasks},
        {task.id: [] for task in tasks},
        {file: size for file, size in workflow.sizes.items() if file in used},
        frozenset(),
        tuple(warnings),
    )


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
    if word == "level" and (bounds := _LEVELS.fullmatch(value)):
        first = int(bounds[1])
        last = int(bounds[2] or first)
        levels = _levels(workflow, name)
        most = max(levels.values(), default=0)
        if not first <= last <= most:
            raise UsageError(f"{name}: no level {value}; levels go from 0 to {most}")
        return [task for task in workflow.tasks if first <= levels[task.id] <= last]
    raise UsageError(
        f"--select wants all, ready, level=N, level=N-M or program=NAME, not {select!r}"
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:37] + "..."


def _levels(workflow: Workflow, name: str) -> dict[str, int]:
    """Level of every task; raises InstanceError naming a cycle of tasks."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(task.id for task in workflow.tasks)
    graph.add_edges_from((parent, task.id) for task in workflow.tasks for parent in task.parents)
    try:
        generations = list(nx.topological_generations(graph))
    except nx.NetworkXUnfeasible:
        cycle = [edge[0] for edge in nx.find_cycle(graph)]
        shown = " -> ".join(_short(item) for item in [*cycle[:_SHOWN], cycle[0]])
        raise InstanceError(
            f"{name}: dependency cycle of tasks ({shown}), so there are no levels; "
            "use --select all or program=NAME with --flatten"
        ) from None
    return {task: level for level, tasks in enumerate(generations) for task in tasks}
