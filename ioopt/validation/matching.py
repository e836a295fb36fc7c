"""Match the tasks of a WfFormat file to the rows of a trace of its run.

Equal names match. Otherwise, the tasks of a process match the rows of this process in
the order of the bytes that they read and write. Tasks of equal bytes are told apart by
times: an engine submits a task as soon as the last task that it waits for has ended.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Protocol

from ioopt.errors import InstanceError
from ioopt.problems.replication import ReplicationProblem

_NUMBER = re.compile(r"_(ID)?\d+$")
"""The number at the end of the name of a task in WfFormat."""
PASSES = 4
"""Largest number of times that all exchanges of two rows are tried."""
TOO_EARLY = 10
"""Weight of the seconds by which a row was submitted before it could be."""


class Row(Protocol):
    """A task of a trace, with its times and the bytes that it asked for and wrote."""

    @property
    def id(self) -> str: ...
    @property
    def process(self) -> str: ...
    @property
    def submit(self) -> float: ...
    @property
    def end(self) -> float: ...
    @property
    def asked_bytes(self) -> int | None: ...
    @property
    def written_bytes(self) -> int: ...


def match_tasks(
    rows: Sequence[Row], workflow: ReplicationProblem, name: str
) -> dict[str, str]:
    """Return, for each task of *workflow*, the id of its row.

    *name* is the WfFormat file for messages. Raises InstanceError if the rows of a
    process are not as many as its tasks.
    """
    ids = {task.id for task in workflow.tasks}
    if ids == {row.id for row in rows}:
        return {task: task for task in ids}
    match = _Match(workflow)
    by_process: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_process[row.process].append(row)
    tasks_of: dict[str, list[int]] = defaultdict(list)
    for k, task in enumerate(workflow.tasks):
        tasks_of[_NUMBER.sub("", task.id)].append(k)
    for stem, tasks in tasks_of.items():
        process = _process_of(stem, by_process, name)
        found = by_process.pop(process)
        if len(found) != len(tasks):
            raise InstanceError(
                f"{name}: {len(tasks)} tasks {stem!r}, but the trace has {len(found)} "
                f"completed tasks of process {process!r}"
            )
        match.add(tasks, found)
    if by_process:
        raise InstanceError(f"{name}: no tasks of process {next(iter(by_process))!r}")
    match.improve()
    return {task.id: match.row[k].id for k, task in enumerate(workflow.tasks)}


def _process_of(stem: str, processes: dict[str, list[Row]], name: str) -> str:
    """Return the process of the trace that is named like *stem*, or ends with it.

    Raises InstanceError if there is not exactly one.
    """
    if stem in processes:
        return stem
    ending = re.compile(rf"[_:]{re.escape(stem)}$")
    alike = [process for process in processes if ending.search(process)]
    shortest = sorted(alike, key=len)[:2]
    if not shortest:
        raise InstanceError(f"{name}: the trace has no process {stem!r}")
    if len(shortest) == 2 and len(shortest[0]) == len(shortest[1]):
        raise InstanceError(
            f"{name}: {stem!r} may be process {shortest[0]!r} or {shortest[1]!r}"
        )
    return shortest[0]


class _Match:
    """Hold the row of each task of a workflow, by the position of the task."""

    def __init__(self, workflow: ReplicationProblem) -> None:
        self.before = workflow.predecessors
        self.after: list[list[int]] = [[] for _ in workflow.tasks]
        for k, others in enumerate(self.before):
            for other in others:
                self.after[other].append(k)
        self.bytes = [workflow.task_bytes(k) for k in range(len(workflow.tasks))]
        self.row: dict[int, Row] = {}
        self.alike: list[list[int]] = []

    def add(self, tasks: Sequence[int], rows: Sequence[Row]) -> None:
        """Match the *tasks* of one process to its *rows* in the order of their bytes.

        Tasks of equal bytes take their rows in the order of submission.
        """

        def bytes_of(row: Row) -> int:
            return (row.asked_bytes or 0) + row.written_bytes

        by_bytes: dict[int, list[int]] = defaultdict(list)
        for k in tasks:
            by_bytes[self.bytes[k]].append(k)
        left = sorted(rows, key=bytes_of)
        for size in sorted(by_bytes):
            alike = by_bytes[size]
            chosen = sorted(left[: len(alike)], key=lambda row: (row.submit, row.id))
            left = left[len(alike) :]
            self.row |= dict(zip(alike, chosen))
            self.alike.append(alike)

    def misfit(self, k: int) -> float:
        """Return the seconds from the end of the last task that task *k* waits for to
        its submission; a submission before that end counts ``TOO_EARLY`` times.
        """
        if not self.before[k]:
            return 0.0
        ready = max(self.row[other].end for other in self.before[k])
        late = self.row[k].submit - ready
        if late < 0:
            return TOO_EARLY * -late
        return late

    def improve(self) -> None:
        """Exchange rows of alike tasks while this lowers the sum of the misfits."""
        for _ in range(PASSES):
            changed = [self._exchange(i, j) for i, j in self._pairs()]
            if not any(changed):
                return

    def _pairs(self) -> Iterator[tuple[int, int]]:
        for alike in self.alike:
            yield from combinations(alike, 2)

    def _exchange(self, i: int, j: int) -> bool:
        """Exchange the rows of two tasks if this is better; return whether it is."""
        touched = {i, j, *self.after[i], *self.after[j]}
        if len(touched) == 2 and self.before[i] == self.before[j]:
            return False
        old = sum(self.misfit(k) for k in touched)
        self._swap(i, j)
        if sum(self.misfit(k) for k in touched) < old - 1e-6:
            return True
        self._swap(i, j)
        return False

    def _swap(self, i: int, j: int) -> None:
        row = self.row[i]
        self.row[i] = self.row[j]
        self.row[j] = row
