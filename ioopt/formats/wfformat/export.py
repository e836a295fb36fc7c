"""Write instances of replication as WfFormat 1.5."""

import re
from collections.abc import Sequence

from ioopt.problems.base import Json
from ioopt.problems.replication import ReplicationProblem

EPOCH = "1970-01-01T00:00:00+00:00"
"""Fixed date of creation and of execution, which the schema requires."""


def left_out(problem: ReplicationProblem) -> list[str]:
    """Return the kinds of data in *problem* that WfFormat cannot express."""
    given = {
        "rates of links and storage": True,
        "disks": any(node.disk_bytes is not None for node in problem.nodes),
        "speeds of nodes": any(node.speed != 1 for node in problem.nodes),
        "files held at the start": any(node.holds for node in problem.nodes),
        "storage of files": bool(problem.storages),
        "release times": any(task.release_seconds for task in problem.tasks),
        "which files are kept": any(file.keep for file in problem.files),
        "memory of nodes": any(node.memory_bytes is not None for node in problem.nodes),
        "overheads": any(task.overhead_seconds for task in problem.tasks),
        "shared storage": problem.is_shared,
        "use of disks by tasks": problem.task_disk,
    }
    return [what for what, there in given.items() if there]


def export_wfformat(problem: ReplicationProblem) -> Json:
    """Return a WfFormat 1.5 workflow with the tasks and files of *problem*.

    The run time of a task is its compute time at speed 1. Characters that the schema
    does not allow in ids become ``-``; if two ids become equal, a number is added to
    one. :func:`left_out` returns what is omitted.
    """
    files = _plain_ids([file.id for file in problem.files])
    tasks = _plain_ids([task.id for task in problem.tasks])
    names = list(tasks.values())
    children: list[list[str]] = [[] for _ in names]
    for k, before in enumerate(problem.predecessors):
        for j in before:
            children[j].append(names[k])
    structure: list[Json] = []
    runs: list[Json] = []
    for k, task in enumerate(problem.tasks):
        structure.append(
            {
                "name": task.id,
                "id": names[k],
                "parents": [names[j] for j in problem.predecessors[k]],
                "children": children[k],
                "inputFiles": [files[file] for file in task.inputs],
                "outputFiles": [files[file] for file in task.outputs],
            }
        )
        run: Json = {
            "id": names[k],
            "command": {"program": "task"},
            "coreCount": task.cores,
            "runtimeInSeconds": task.compute_seconds,
        }
        if task.memory_bytes:
            run["memoryInBytes"] = task.memory_bytes
        runs.append(run)
    sizes = [
        {"id": files[file.id], "sizeInBytes": file.bytes} for file in problem.files
    ]
    machines = [
        {"nodeName": node.id, "cpu": {"coreCount": node.cores}}
        for node in problem.nodes
    ]
    return {
        "name": problem.name,
        "description": "Tasks and their files, written by ioopt",
        "createdAt": EPOCH,
        "schemaVersion": "1.5",
        "runtimeSystem": {"name": "ioopt", "version": "1"},
        "workflow": {
            "specification": {"tasks": structure, "files": sizes},
            "execution": {
                "makespanInSeconds": 0,
                "executedAt": EPOCH,
                "tasks": runs,
                "machines": machines,
            },
        },
    }


def _plain_ids(ids: Sequence[str]) -> dict[str, str]:
    """Return, for each id, a unique id that the schema allows: ``[0-9a-zA-Z-_.]*``."""
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
