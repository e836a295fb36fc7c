"""Match the tasks of a WfFormat file to the rows of a trace of its run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ioopt.errors import InstanceError
from ioopt.problems.replication import ReplicationProblem


class Row(Protocol):
    """A task of a trace, with what it read and wrote and when it was submitted."""

    @property
    def id(self) -> str: ...


def match_tasks(
    rows: Sequence[Row], workflow: ReplicationProblem, name: str
) -> dict[str, str]:
    """Return, for each task of *workflow*, the id of its row.

    *name* is the WfFormat file for messages.
    """
    known = {row.id for row in rows}
    for task in workflow.tasks:
        if task.id not in known:
            raise InstanceError(f"{name}: task {task.id!r} is not in the trace")
    return {task.id: task.id for task in workflow.tasks}
