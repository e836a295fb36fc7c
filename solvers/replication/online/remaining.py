"""What is left of a running workflow, as an instance whose queues can be planned and scored by replay.

Time begins now. Per node come first the tasks that compute, as long as they are expected to go on,
then the one that waits there; they cannot be moved. A product of which there is one copy, unsaved,
on a limited disk is written at once by an entry of 0 s, so that losing it costs what it would.
Planned times alone are known, and no task that has not arrived. What is in flight begins anew.
"""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

from ioopt.compiled import compiled
from ioopt.decisions.replication import DispatchView
from ioopt.problems.replication import File, Node, ReplicationProblem, Task
from ioopt.sim.replication import kernel
from ioopt.sim.replication.state import BEGUN, instance_arrays, new_log, new_state, queue_arrays

Queues = list[list[int]]
ENTRY = kernel.begin_or_advance.__name__


class Remaining:
    """The instance ``problem``; its tasks from ``first`` on are the tasks ``todo`` of the run."""

    def __init__(
        self, view: DispatchView, given: Collection[int], overrun: float, fast: bool = False
    ) -> None:
        """*given*: tasks that have been assigned; *overrun*: seconds a task goes on past its
        estimate, per second that it has computed.
        """
        self.view = view
        self.todo = [k for k in view.released() if k not in given]
        self.heads: Queues = [[] for _ in view.nodes]
        self._names: dict[int, str] = {}
        self._tasks: list[Task] = []
        under_way = [row for i in range(len(view.nodes)) for row in self._under_way(i, overrun)]
        written = {
            f for k in [*self.todo, *(k for _, k, _ in under_way)] for f in self._name_files(k)
        }
        holds = self._place_files(written)
        for i, k, seconds in under_way:
            self._enter(i, _task(view.task(k), seconds))
        self.first = len(self._tasks)
        self._tasks += [_task(view.task(k)) for k in self.todo]
        self.problem = ReplicationProblem.model_construct(
            name="remaining", network=view.network, storages=(), tasks=tuple(self._tasks),
            nodes=tuple(
                Node.model_construct(**{**dict(node), "holds": tuple(held)})
                for node, held in zip(view.nodes, holds, strict=True)
            ),
            files=tuple(
                File.model_construct(id=name, bytes=view.size(f), storage=None, keep=False)
                for f, name in self._names.items()
            ),
        )  # fmt: skip
        self.place = {k: self.first + x for x, k in enumerate(self.todo)}
        self.fast = fast

    def _under_way(self, i: int, overrun: float) -> list[tuple[int, int, float]]:
        """(node, task, compute seconds from now on at speed 1) of what is decided on node *i*."""
        view, speed = self.view, self.view.nodes[i].speed
        rows = []
        for row in view.computing(i):
            left = row.end_seconds - view.now
            if left <= 0:
                left = overrun * (view.now - row.start_seconds)
            rows.append((i, row.task, left * speed))
        waits = view.unstarted(i)
        if waits is not None:
            rows.append((i, waits, view.task(waits).compute_seconds))
        return rows

    def _name_files(self, k: int) -> Sequence[int]:
        """Note the files of task *k*; returns those it writes."""
        task, reads, writes = self.view.task(k), self.view.inputs(k), self.view.outputs(k)
        self._names.update(zip((*reads, *writes), (*task.inputs, *task.outputs), strict=True))
        return writes

    def _place_files(self, written: Collection[int]) -> list[list[str]]:
        """What each node holds; entries that write what may be lost."""
        view, nodes = self.view, range(len(self.view.nodes))
        holds: list[list[str]] = [[] for _ in nodes]
        risky: list[list[str]] = [[] for _ in nodes]
        for f, name in self._names.items():
            if f in written or not view.copies(f):
                continue
            where = [i for i in nodes if view.holds(i, f)]
            alone = len(where) == 1 and not view.on_remote(f)
            limited = view.nodes[where[0]].disk_bytes is not None
            for i in where:
                (risky if alone and limited else holds)[i].append(name)
        for i, names in enumerate(risky):
            if names:
                entry = Task.model_construct(id=f"files of {i}", compute_seconds=0.0, inputs=(),
                    outputs=tuple(names), cores=1, release_seconds=0.0)  # fmt: skip
                self._enter(i, entry)
        return holds

    def _enter(self, i: int, entry: Task) -> None:
        self.heads[i].append(len(self._tasks))
        self._tasks.append(entry)

    def queues(self, orders: Sequence[Sequence[int]]) -> Queues:
        """Queues of the instance that run *orders*, tasks of the run by node, behind the heads."""
        return [
            head + [self.place[k] for k in order]
            for head, order in zip(self.heads, orders, strict=True)
        ]

    def behind_heads(self, queues: Sequence[Sequence[int]]) -> Queues:
        """Queues of a planner that knows of no heads, the heads put first."""
        return [
            head + [e for e in queue if e >= self.first]
            for head, queue in zip(self.heads, queues, strict=True)
        ]

    def orders(self, queues: Queues) -> list[list[int]]:
        """Per node the tasks of the run, in order."""
        return [[self.todo[e - self.first] for e in queue if e >= self.first] for queue in queues]

    @cached_property
    def _replay(self) -> Callable[[Queues], tuple[float, Any]]:
        inst = instance_arrays(self.problem, compiled=self.fast)
        state, log = new_state(inst, compiled=self.fast), new_log(inst, 1, 1, self.fast)
        step = compiled(kernel.__name__, ENTRY) if self.fast else kernel.begin_or_advance

        def replay(queues: Queues) -> tuple[float, Any]:
            state.counters[BEGUN] = 0
            arrays = queue_arrays(queues, "farthest-next-use", compiled=self.fast)
            makespan, code = step(inst, arrays, state, log, 1 << 60, kernel.REPLAY, 0)
            return (float("inf") if code == kernel.STUCK else float(makespan)), log

        return replay

    def score(self, queues: Queues, tie: float) -> float:
        """The makespan, and *tie* times the mean end of all entries; infinite where it gets stuck."""
        makespan, log = self._replay(queues)
        return makespan + tie * sum(log.task_end) / max(1, len(log.task_end))

    def starts(self, queues: Queues) -> dict[int, float]:
        """When each task of ``todo`` starts in the replay, in seconds of the run."""
        _, log = self._replay(queues)
        return {k: self.view.now + float(log.task_start[e]) for k, e in self.place.items()}


def _task(task: Task, seconds: float | None = None) -> Task:
    """*task*, there from now on, computing *seconds* instead if given."""
    if seconds is None and not task.release_seconds:
        return task
    times = {"release_seconds": 0.0}
    if seconds is not None:
        times["compute_seconds"] = seconds
    return task.model_construct(**{**dict(task), **times})
