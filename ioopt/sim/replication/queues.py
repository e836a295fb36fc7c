"""The queues of a plan as numbers, and what makes them impossible to carry out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from ioopt.errors import SimulationError, UsageError
from ioopt.problems.base import LONGEST_SECONDS, find_cycle
from ioopt.problems.replication import CopyEntry, ReplicationPlan, ReplicationProblem


@dataclass(frozen=True)
class Entries:
    """The queues of a plan as entry numbers; copy entries come after the tasks."""

    queues: list[list[int]]
    names: list[str]
    copy_files: list[int]
    rounds: list[list[int]] | None
    drops: list[list[tuple[int, int]]]
    owner: list[int]

    @classmethod
    def of(cls, problem: ReplicationProblem, plan: ReplicationPlan) -> Entries:
        """Read the queues; SimulationError for what is unknown, left out or stands twice."""
        for known in plan.order:
            if known not in problem.node_index:
                raise SimulationError(f"order: there is no node {known!r}")
        names = [task.id for task in problem.tasks]
        owner = [-1] * len(names)
        copy_files: list[int] = []
        queues: list[list[int]] = []
        for i, node in enumerate(problem.nodes):
            queue = []
            for item in plan.order.get(node.id, ()):
                if isinstance(item, CopyEntry):
                    copy_files.append(_file(problem, item.copy_file, f"order of {node.id}"))
                    queue.append(len(names))
                    names.append(f"copy of {item.copy_file}")
                    owner.append(i)
                    continue
                k = problem.task_index.get(item)
                if k is None:
                    raise SimulationError(f"order of {node.id}: there is no task {item!r}")
                if owner[k] >= 0:
                    raise SimulationError(
                        f"task {item!r} stands twice in the queues: on "
                        f"{problem.nodes[owner[k]].id} and on {node.id}"
                    )
                owner[k] = i
                queue.append(k)
            queues.append(queue)
        for k, task in enumerate(problem.tasks):
            if owner[k] < 0:
                raise SimulationError(f"task {task.id!r} stands in no queue")
        for k in range(len(problem.tasks)):
            _fits(problem, k, owner[k])
        rounds, drops = _barriers(problem, plan, queues)
        entries = cls(queues, names, copy_files, rounds, drops, owner)
        if problem.is_workflow:
            entries._require_end(problem)
        return entries

    def _require_end(self, problem: ReplicationProblem) -> None:
        """Workflow rule 10: no entry waits for itself, behind others or for their files."""
        before = {k: list(tasks) for k, tasks in enumerate(problem.predecessors)}
        for x, file in enumerate(self.copy_files):
            maker = problem.producer[file]
            before[len(problem.tasks) + x] = [maker] if maker >= 0 else []
        for queue in self.queues:
            for first, second in pairwise(queue):
                before[second].append(first)
        if cycle := find_cycle(before):
            names = " -> ".join(repr(self.names[e]) for e in cycle)
            raise SimulationError(
                f"the order of the queues is a deadlock (dependency cycle): {names}"
            )


def _file(problem: ReplicationProblem, name: str, where: str) -> int:
    if name not in problem.file_index:
        raise SimulationError(f"{where}: there is no file {name!r}")
    return problem.file_index[name]


def _fits(problem: ReplicationProblem, k: int, i: int) -> None:
    node, task = problem.nodes[i], problem.tasks[k]
    wanted = problem.task_bytes(k)
    if task.cores > node.cores:
        raise SimulationError(
            f"node {node.id} can never run task {task.id!r}, which takes {task.cores} cores: "
            f"it has {node.cores}"
        )
    if node.disk_bytes is not None and wanted > node.disk_bytes:
        raise SimulationError(
            f"node {node.id} can never run task {task.id!r}: its files "
            f"({', '.join((*task.inputs, *task.outputs))}) take {wanted} bytes, the disk {node.disk_bytes}"
        )


def _barriers(
    problem: ReplicationProblem, plan: ReplicationPlan, queues: list[list[int]]
) -> tuple[list[list[int]] | None, list[list[tuple[int, int]]]]:
    """The round of each place, a copy entry going with the task before it, and the files to drop."""
    if not plan.barriers or plan.rounds is None:
        return None, []
    problem.require_batch("a plan in rounds")
    index = problem.task_index
    round_of = {
        index[name]: r for r, row in enumerate(plan.rounds) for name in row.tasks if name in index
    }
    places = []
    for i, queue in enumerate(queues):
        present, row = 0, []
        for entry in queue:
            if entry < len(problem.tasks):
                name = problem.tasks[entry].id
                if entry not in round_of:
                    raise SimulationError(f"task {name!r} stands in no round of the plan")
                if round_of[entry] < present:
                    raise SimulationError(
                        f"order of {problem.nodes[i].id}: task {name!r} of round {round_of[entry]} "
                        f"comes after one of round {present}"
                    )
                present = round_of[entry]
            row.append(present)
        places.append(row)
    drops = []
    for r, former in enumerate(plan.rounds):
        pairs = []
        for name, node in former.evicted:
            if node not in problem.node_index:
                raise SimulationError(f"rounds[{r}].evicted: there is no node {node!r}")
            file = _file(problem, name, f"rounds[{r}].evicted")
            pairs.append((file, problem.node_index[node]))
        drops.append(pairs)
    return places, drops


def require_actual(problem: ReplicationProblem, actual: Mapping[str, float] | None) -> None:
    """Raise UsageError for actual compute seconds of a task that is not there, or below 0."""
    for name, seconds in (actual or {}).items():
        if name not in problem.task_index:
            raise UsageError(f"actual_compute_seconds: there is no task {name!r}")
        if not 0 <= seconds <= LONGEST_SECONDS:
            raise UsageError(
                f"actual_compute_seconds of {name!r}: {seconds!r} is no time from 0 on"
            )
