"""The replication solvers inside a scheduler that gets its tasks over time.

>>> from ioopt.embed import ReplicationPlanner
>>> planner = ReplicationPlanner(
...     network={"remote_bytes_per_second": 12.5e6, "replica_bytes_per_second": 1e9},
...     nodes=[{"id": "n0"}, {"id": "n1"}],
...     files=[{"id": "f", "bytes": 64_000_000}],
... )
>>> planner.submit([{"id": "t", "compute_seconds": 1.5, "inputs": ["f"]}]).value
1
>>> step = planner.next("n0") or planner.next("n1")
>>> step.task, step.stage
('t', (('f', None),))
>>> planner.completed("t")
>>> planner.next("n0") is None
True
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from pydantic_core import to_jsonable_python

from ioopt import arguments, registry
from ioopt.embed.guard import DEADLINE_SHARE, Decision, Guard, restoring
from ioopt.errors import InstanceError, IooptError, UsageError
from ioopt.formats.native import validate
from ioopt.options import AtMost, Deadline
from ioopt.problems.base import LARGEST, Json
from ioopt.problems.replication import (
    CopyEntry,
    File,
    Network,
    Node,
    ReplicationPlan,
    ReplicationProblem,
    Task,
)
from ioopt.result import Result
from ioopt.solvers.replication.greedy.job_data_present import plan_job_data_present
from ioopt.solving import solve
from ioopt.units import counted

TaskLike = Task | Mapping[str, object]
FileLike = File | Mapping[str, object]
Order = dict[str, list[str]]
"""Per node its tasks, first to last."""


@dataclass(frozen=True)
class Step:
    """What a node does next: the task, and (file, source node or None for remote) to
    stage first.
    """

    task: str
    stage: tuple[tuple[str, str | None], ...]


class ReplicationPlanner:
    """Plans which node runs which task, from what is on the nodes' disks now.

    Parameters are those of an ``ioopt/replication`` instance. ``solver`` is any solver
    of the family and ``settings`` are its own; UsageError for those that do not exist.
    The planner reads neither clock nor file, and is not thread-safe: one scheduler
    thread calls it. What it believes to be on disks follows from :meth:`completed` and
    :meth:`evicted`. Invalid input raises an ioopt error at the call and changes
    nothing; a solver that fails, hangs or errs never raises.
    """

    def __init__(
        self,
        network: Mapping[str, object] | Network,
        nodes: Sequence[Mapping[str, object] | Node],
        files: Iterable[FileLike] = (),
        *,
        solver: str = "link-aware",
        settings: Mapping[str, object] | None = None,
        seed: int = 0,
    ) -> None:
        self._network = validate(Network, network, "network")
        self._nodes = {
            node.id: node for node in (validate(Node, n, "nodes") for n in nodes)
        }
        self._files: dict[str, File] = {}
        self._add_files(files)
        self._settings = dict(settings or {})
        spec = registry.solver(solver, registry.KINDS["replication"])
        registry.settings_for(spec, self._settings)
        self._solver = solver
        self._seed = arguments.whole(seed, "seed", 0, LARGEST)
        self._holds = {name: set(node.holds) for name, node in self._nodes.items()}
        self._tasks: dict[str, Task] = {}
        self._running: dict[str, tuple[str, Task]] = {}
        self._queues: Order = {name: [] for name in self._nodes}
        self._guard = Guard()
        if len(self._nodes) < len(nodes):
            raise InstanceError("nodes: two of them have the same id")
        self._problem()  # raises for holdings that cannot be

    def __repr__(self) -> str:
        held = f"{len(self._tasks)} waiting, {len(self._running)} running"
        return (
            f"{type(self).__name__}({self._solver}, "
            f"{counted(len(self._nodes), 'node')}, {held})"
        )

    def _add_files(self, files: Iterable[FileLike]) -> None:
        for given in files:
            file = validate(File, given, "files")
            known = self._files.setdefault(file.id, file)
            if known != file:
                raise InstanceError(
                    f"files: {file.id!r} is known with {known.bytes} bytes, now "
                    f"{file.bytes}"
                )

    def submit(
        self,
        tasks: Iterable[TaskLike],
        files: Iterable[FileLike] = (),
        deadline: float | None = 10.0,
    ) -> Decision[int]:
        """Add tasks (and files new to the planner) and plan all that have not started.

        Returns how many tasks wait, with objective, bound and gap of the plan.
        *deadline* is in seconds and counts model building. Nothing changes when
        the input is invalid.
        """
        until = Deadline(arguments.deadline(deadline))
        before = dict(self._files), self._tasks
        try:
            self._add_files(arguments.names(files, "files"))
            added = self._new_tasks(arguments.names(tasks, "tasks"))
            self._tasks = self._tasks | added
            problem = self._problem()
            self._problem(added).require_room()
        except Exception:
            self._files, self._tasks = before
            raise
        return self._planned_as_far_as_possible(problem, until)

    def _new_tasks(self, tasks: Iterable[TaskLike]) -> dict[str, Task]:
        """The tasks as given, by id; InstanceError for a known id or an unknown file."""
        added: dict[str, Task] = {}
        for given in tasks:
            task: Task = validate(Task, given, "tasks")
            if task.id in self._tasks or task.id in self._running or task.id in added:
                raise InstanceError(f"tasks: {task.id!r} was submitted before")
            for name in task.inputs:
                if name not in self._files:
                    raise InstanceError(
                        f"tasks: {task.id!r} reads {name!r}, an unknown file"
                    )
            added[task.id] = task
        return added

    def plan(self, deadline: float | None = 10.0) -> Decision[int]:
        """Plan afresh all tasks that have not started, from what the disks hold now."""
        until = Deadline(arguments.deadline(deadline))
        return self._planned_as_far_as_possible(self._problem(), until)

    def _planned(self, problem: ReplicationProblem, until: Deadline) -> Decision[int]:
        """Ask the solver for an order of the waiting tasks, and keep it."""
        if not problem.tasks or not self._nodes:
            self._queues = {name: [] for name in self._nodes}
            return Decision(len(self._tasks))
        if until.limit_seconds is None:
            deadline = None
        else:
            deadline = until.remaining()
        if deadline is None:
            limit = None
        else:
            limit = AtMost(deadline * DEADLINE_SHARE)
        how: Json = {
            "settings": self._settings,
            "seed": self._seed,
            "time_limit": limit,
        }
        found: list[Result] = []

        def wanted() -> Order:
            found.append(solve(problem, self._solver, **how))
            if found[0].plan is None:
                raise IooptError(
                    "; ".join(found[0].notes) or f"no plan: {found[0].status}"
                )
            return _order_of(found[0].plan)

        order, notes = self._guard.run(
            wanted,
            lambda: _order_of(plan_job_data_present(problem)[0]),
            lambda order: _wrong(problem, order),
            deadline,
            until.limit_seconds,
        )
        self._queues = {name: list(order.get(name, [])) for name in self._nodes}
        count = len(self._tasks)
        if notes or not found:
            return Decision(count, notes=notes)
        result = found[0]
        return Decision(count, result.objective, result.bound, result.gap, result.notes)

    def _problem(self, tasks: Mapping[str, Task] | None = None) -> ReplicationProblem:
        """The waiting *tasks* (None: all), and the files that they read or nodes hold.

        Where there is no node, a boundless one stands for those to come.
        """
        tasks = self._tasks if tasks is None else tasks
        used = {
            name for task in tasks.values() for name in (*task.inputs, *task.outputs)
        }
        used |= {name for held in self._holds.values() for name in held}
        nodes = tuple(
            node.model_copy(update={"holds": tuple(sorted(self._holds[name]))})
            for name, node in self._nodes.items()
        )
        files = tuple(
            file.model_copy(update={"storage": None})
            for name, file in self._files.items()
            if name in used
        )
        given = {
            "name": "embedded",
            "network": self._network,
            "files": files,
            "nodes": nodes or (Node(id="a node to come"),),
            "tasks": tuple(tasks.values()),
        }
        problem: ReplicationProblem = validate(ReplicationProblem, given, "planner")
        problem.require_batch("the planner")
        return problem

    def next(self, node: str) -> Step | None:
        """Start the next task of *node* and say what to stage; None when nothing waits
        for it.

        The source of a file is the first node, in the planner's order, believed to hold
        it.
        """
        if arguments.name(node, "node") not in self._nodes:
            known = ", ".join(self._nodes) or "none"
            said = f"there is no node {node!r}; nodes: {known}; joined(node) adds one"
            raise UsageError(said)
        if not self._queues[node]:
            return None
        task = self._tasks.pop(self._queues[node].pop(0))
        self._running[task.id] = node, task
        missing = [name for name in task.inputs if name not in self._holds[node]]
        return Step(task.id, tuple((name, self._holder(name)) for name in missing))

    def joined(
        self, node: Mapping[str, object] | Node, deadline: float | None = 10.0
    ) -> Decision[int]:
        """Take a node that was not there before, or had been lost, and plan afresh.

        Returns what :meth:`plan` does. Raises UsageError for a node that is there, and
        InstanceError for one that holds unknown files; then nothing changes.
        """
        until = Deadline(arguments.deadline(deadline))
        new: Node = validate(Node, node, "nodes")
        if new.id in self._nodes:
            raise UsageError(f"node {new.id!r} is there already")
        self._nodes[new.id] = new
        self._holds[new.id] = set(new.holds)
        try:
            problem = self._problem()
        except InstanceError:
            del self._nodes[new.id], self._holds[new.id]
            raise
        self._queues[new.id] = []
        return self._planned_as_far_as_possible(problem, until)

    def lost(self, node: str, deadline: float | None = 10.0) -> Decision[int]:
        """Note that a node is gone with its files: its tasks wait again, and all are
        planned afresh.

        Returns what :meth:`plan` does; a note names a task that no node takes any more.
        """
        until = Deadline(arguments.deadline(deadline))
        if arguments.name(node, "node") not in self._nodes:
            raise UsageError(
                f"there is no node {node!r}; nodes: {', '.join(self._nodes)}"
            )
        del self._nodes[node], self._holds[node], self._queues[node]
        for name, (where, task) in list(self._running.items()):
            if where == node:
                del self._running[name]
                self._tasks[name] = task
        return self._planned_as_far_as_possible(self._problem(), until)

    def _planned_as_far_as_possible(
        self, problem: ReplicationProblem, until: Deadline
    ) -> Decision[int]:
        """Plan the tasks that some node takes; the others wait for a node that does."""
        fitting = {
            task.id: task for k, task in enumerate(problem.tasks) if problem.hosts[k]
        }
        left = sorted(self._tasks.keys() - fitting.keys())
        if not left:
            return self._planned(problem, until)
        decision = self._planned(self._problem(fitting), until)
        text = f"no node takes task {left[0]!r}, which waits for one that does"
        return replace(decision, value=len(self._tasks), notes=(*decision.notes, text))

    def _holder(self, file: str) -> str | None:
        return next((name for name, held in self._holds.items() if file in held), None)

    def staged(self, node: str, file: str) -> None:
        """Note that *file* is complete on *node* before its task has ended.

        Files that no longer fit beside it are taken for evicted, as by
        :meth:`completed`.
        """
        held = self._known(node, file)
        disk = self._nodes[node].disk_bytes
        if disk is not None and self._files[file].bytes > disk:
            raise UsageError(f"file {file!r} does not fit on {node!r}")
        held.add(file)
        self._make_room(node, {file})

    def evicted(self, node: str, file: str) -> None:
        """Note that *file* is gone from *node*."""
        self._known(node, file).discard(file)

    def _known(self, node: str, file: str) -> set[str]:
        arguments.name(node, "node")
        if node not in self._nodes or arguments.name(file, "file") not in self._files:
            raise UsageError(f"there is no node {node!r} with a file {file!r}")
        return self._holds[node]

    def completed(self, task: str, inputs: Collection[str] | None = None) -> None:
        """Note that a running task has ended; its inputs are now on its node's disk.

        Files that no longer fit beside them are taken for evicted: those of no waiting
        task first, then the rest, each in name order. *inputs* tells which files
        stayed (default: all).
        """
        if arguments.name(task, "task") not in self._running:
            raise UsageError(f"task {task!r} is not running")
        node, told = self._running[task]
        given: Sequence[str] = told.inputs
        if inputs is not None:
            given = arguments.names(inputs, "inputs")
        stayed = {arguments.name(file, "inputs") for file in given}
        if not stayed.issubset(told.inputs):
            raise UsageError(
                f"task {task!r} does not read {min(stayed.difference(told.inputs))!r}"
            )
        del self._running[task]
        self._holds[node] |= stayed
        self._make_room(node, stayed)

    def _make_room(self, node: str, keep: set[str]) -> None:
        """Take files for evicted until the disk of *node* holds what is said to be on
        it.
        """
        disk = self._nodes[node].disk_bytes
        if disk is None:
            return
        wanted = {name for task in self._tasks.values() for name in task.inputs}
        victims = sorted(
            self._holds[node] - keep, key=lambda name: (name in wanted, name)
        )
        excess = sum(self._files[name].bytes for name in self._holds[node]) - disk
        for name in victims:
            if excess <= 0:
                break
            self._holds[node].discard(name)
            excess -= self._files[name].bytes

    def state(self) -> Json:
        """Everything the planner knows, as JSON values; :meth:`restore` continues from
        it.
        """
        state: Json = to_jsonable_python(
            {
                "network": self._network,
                "nodes": list(self._nodes.values()),
                "files": list(self._files.values()),
                "tasks": list(self._tasks.values()),
                "running": {name: node for name, (node, _) in self._running.items()},
                "started": [task for _, task in self._running.values()],
                "holds": {name: sorted(held) for name, held in self._holds.items()},
                "queues": self._queues,
                "solver": self._solver,
                "settings": self._settings,
                "seed": self._seed,
            }
        )
        return state

    @classmethod
    def restore(cls, state: Json) -> Self:
        """A planner that decides as the one whose :meth:`state` this is would have.

        Raises InstanceError when *state* is not what :meth:`state` returns.
        """
        with restoring("planner"):
            planner = cls(
                state["network"],
                state["nodes"],
                state["files"],
                solver=state["solver"],
                settings=state["settings"],
                seed=state["seed"],
            )
            planner._tasks = planner._new_tasks(state["tasks"])
            for given in state["started"]:
                task: Task = validate(Task, given, "started")
                planner._running[task.id] = state["running"][task.id], task
            planner._holds = {name: set(held) for name, held in state["holds"].items()}
            planner._queues = {
                name: list(queue) for name, queue in state["queues"].items()
            }
            planner._problem()
            if not planner._is_whole():
                raise ValueError("its parts contradict each other")
        return planner

    def _is_whole(self) -> bool:
        """Whether a restored state is one that this class can be in."""
        nodes = self._nodes.keys()
        queued = [name for queue in self._queues.values() for name in queue]
        return (
            self._holds.keys() == nodes == self._queues.keys()
            and len(queued) == len(set(queued))
            and self._waits_rightly(set(queued))
            and self._running.keys().isdisjoint(self._tasks)
            and all(
                node in nodes and self._files.keys() >= set(task.inputs)
                for node, task in self._running.values()
            )
        )

    def _waits_rightly(self, queued: set[str]) -> bool:
        """Whether all tasks stand in queues but those that no node takes."""
        problem = self._problem()
        fitting = {task.id for k, task in enumerate(problem.tasks) if problem.hosts[k]}
        return queued == (fitting if self._nodes else set())


def _order_of(plan: object) -> Order:
    """The tasks of a plan's queues; copy entries are left to the scheduler's own
    staging.
    """
    if plan is None:
        raise UsageError("the solver found no plan")
    queues = ReplicationPlan.model_validate(plan).order
    return {
        node: [entry for entry in queue if not isinstance(entry, CopyEntry)]
        for node, queue in queues.items()
    }


def _wrong(problem: ReplicationProblem, order: Order) -> str | None:
    """What is wrong with an order: every waiting task once, on a node whose disk holds
    it.
    """
    placed = [(name, node) for node, queue in order.items() for name in queue]
    if sorted(name for name, _ in placed) != sorted(problem.task_index):
        return "not every waiting task stands in it exactly once"
    for name, node in placed:
        if node not in problem.node_index:
            return f"there is no node {node!r}"
        if not problem.fits(problem.task_index[name], problem.node_index[node]):
            return f"task {name!r} does not fit on {node!r}"
    return None
