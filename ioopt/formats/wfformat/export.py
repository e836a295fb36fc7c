"""Instances of replication, and results of them, written as WfFormat 1.5."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ioopt.errors import InstanceError
from ioopt.problems.base import Json
from ioopt.problems.replication import ReplicationProblem

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Second 0 of every schedule; WfFormat knows only dates."""
LATENESS_SECONDS = 1e-9
"""Times of a schedule are equal within this share, and this much."""


def left_out(problem: ReplicationProblem, schedule: Mapping[str, Any] | None) -> list[str]:
    """What the instance and the schedule say and WfFormat has no place for."""
    said = ["rates of links and storage"]
    given = {
        "disks": any(node.disk_bytes is not None for node in problem.nodes),
        "speeds of nodes": any(node.speed != 1 for node in problem.nodes) and schedule is None,
        "files held at the start": any(node.holds for node in problem.nodes),
        "storage of files": bool(problem.storages),
        "release times": any(task.release_seconds for task in problem.tasks) and schedule is None,
        "which files are kept": any(file.keep for file in problem.files),
        "transfers and evictions": schedule is not None,
    }
    return [*said, *(what for what, there in given.items() if there)]


def export_wfformat(problem: ReplicationProblem, schedule: Mapping[str, Any] | None = None) -> Json:
    """A WfFormat 1.5 workflow of the problem's tasks and files; with *schedule*, as it ran there.

    A schedule (of a result) gives every task its machine, start (``executedAt``, second 0 being
    1970-01-01) and run time; without one the run time is the compute time at speed 1. Characters
    that the schema does not allow in references become ``-`` (kept unique by a number). What has no
    place in WfFormat is left out: see :func:`left_out`. Raises KeyError where the schedule lacks a
    task of the problem, InstanceError where a task starts before one whose files it reads ends.
    """
    files = _plain_ids([file.id for file in problem.files])
    tasks = _plain_ids([task.id for task in problem.tasks])
    names = list(tasks.values())
    children: list[list[str]] = [[] for _ in names]
    for k, before in enumerate(problem.predecessors):
        for j in before:
            children[j].append(names[k])
    ran = {row["id"]: row for row in schedule["tasks"]} if schedule else None
    if ran:
        _require_precedence(problem, ran)
    end = max((row["end_seconds"] for row in ran.values()), default=0) if ran else 0
    return {
        "name": problem.name,
        "description": "Tasks and their files, written by ioopt",
        "createdAt": EPOCH.isoformat(),
        "schemaVersion": "1.5",
        "runtimeSystem": {"name": "ioopt", "version": "1"},
        "workflow": {
            "specification": {
                "tasks": [
                    {
                        "name": task.id,
                        "id": names[k],
                        "parents": [names[j] for j in problem.predecessors[k]],
                        "children": children[k],
                        "inputFiles": [files[file] for file in task.inputs],
                        "outputFiles": [files[file] for file in task.outputs],
                    }
                    for k, task in enumerate(problem.tasks)
                ],
                "files": [
                    {"id": files[file.id], "sizeInBytes": file.bytes} for file in problem.files
                ],
            },
            "execution": {
                "makespanInSeconds": end,
                "executedAt": EPOCH.isoformat(),
                "tasks": [
                    {"id": names[k], "command": {"program": "task"}, "coreCount": task.cores}
                    | _run(task.compute_seconds, ran[task.id] if ran else None)
                    for k, task in enumerate(problem.tasks)
                ],
                "machines": [
                    {"nodeName": node.id, "cpu": {"coreCount": node.cores}}
                    for node in problem.nodes
                ],
            },
        },
    }


def _require_precedence(problem: ReplicationProblem, ran: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a schedule, of another instance say, in which a task does not wait for its files."""
    for k, before in enumerate(problem.predecessors):
        start = ran[problem.tasks[k].id]["start_seconds"]
        for j in before:
            end = ran[problem.tasks[j].id]["end_seconds"]
            if end > start + LATENESS_SECONDS * max(1.0, end):
                raise InstanceError(
                    f"the result is not of this workflow: task {problem.tasks[k].id!r} starts at "
                    f"{start:g} s, but {problem.tasks[j].id!r}, whose files it reads, ends at "
                    f"{end:g} s; see ioopt check"
                )


def _run(compute_seconds: float, row: Mapping[str, Any] | None) -> Json:
    """Run time of a task and, where it ran, its machine and start."""
    if row is None:
        return {"runtimeInSeconds": compute_seconds}
    start = EPOCH + timedelta(seconds=row["start_seconds"])
    return {
        "runtimeInSeconds": row["end_seconds"] - row["start_seconds"],
        "executedAt": start.isoformat(),
        "machines": [row["node"]],
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
