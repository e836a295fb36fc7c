"""Use the replication solvers inside a scheduler whose tasks arrive over time.

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
"""The tasks of each node, in order."""


@dataclass(frozen=True)
class Step:
    """The next task of a node.

    ``stage`` lists the files to bring there first: (file, source node or None for
    remote).
    """

    task: str
    stage: tuple[tuple[str, str | None], ...]


class ReplicationPlanner:
    """Plan which node runs which task, given the files on the nodes' disks now.

    Parameters are those of an ``ioopt/replication`` instance. ``solver`` is any solver
    of the family and ``settings`` are its own; UsageError for those that do not exist.
    The planner reads neither clock nor file, and is not thread-safe: one scheduler
    thread calls it. It learns the contents of the disks from :meth:`completed` and
    :meth:`evicted`. Invalid input raises an ioopt error at the call and changes
    nothing; a solver that raises, hangs or answers wrongly never raises an error in the
    caller.
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
        self._nodes: dict[str, Node] = {}
        for given in nodes:
            node: Node = validate(Node, given, "nodes")
            self._nodes[node.id] = node
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
        self._problem()  # raises for impossible holdings

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
        """Return the tasks by id; InstanceError for a known id or an unknown file."""
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
        """Make a new plan for all tasks that have not started, from the files that are
        on the disks now.
        """
        until = Deadline(arguments.deadline(deadline))
        return self._planned_as_far_as_possible(self._problem(), until)

    def _planned(self, problem: ReplicationProblem, until: Deadline) -> Decision[int]:
        """Ask the solver for an order of the waiting tasks, and store this order."""
        if not problem.tasks or not self._nodes:
            self._queues = {name: [] for name in self._nodes}
            return Decision(len(self._tasks))
        deadline = None
        limit = None
        if until.limit_seconds is not None:
            deadline = until.remaining()
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
        """Return the waiting *tasks* (None: all) and their files as an instance.

        Files on nodes are part of it. When there is no node, the instance has one
        without limits, in place of nodes that will join.
        """
        if tasks is None:
            tasks = self._tasks
        used: set[str] = set()
        for task in tasks.values():
            used.update(task.inputs, task.outputs)
        used.update(*self._holds.values())
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
        """Start the next task of *node* and return it with the files to stage; None
        when no task waits.

        The source of a file is the first node, in the planner's order, that holds it.
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
        """Add a node that is new or was lost, and make a new plan.

        Returns the same as :meth:`plan`. Raises UsageError for a known node, and
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
        """Remove a node with its files, and make a new plan; its tasks wait again.

        Returns the same as :meth:`plan`; a note names a task that no longer fits any
        node.
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
        """Plan the tasks that fit a node; the others wait for a node that is large
        enough.
        """
        fitting = {
            task.id: task for k, task in enumerate(problem.tasks) if problem.hosts[k]
        }
        left = sorted(self._tasks.keys() - fitting.keys())
        if not left:
            return self._planned(problem, until)
        decision = self._planned(self._problem(fitting), until)
        text = f"task {left[0]!r} fits no node, and waits for one that it fits"
        return replace(decision, value=len(self._tasks), notes=(*decision.notes, text))

    def _holder(self, file: str) -> str | None:
        return next((name for name, held in self._holds.items() if file in held), None)

    def staged(self, node: str, file: str) -> None:
        """Record that *file* is complete on *node*, before the task that it was staged
        for has ended.

        Files that no longer fit beside it count as evicted, as in :meth:`completed`.
        """
        held = self._known(node, file)
        disk = self._nodes[node].disk_bytes
        if disk is not None and self._files[file].bytes > disk:
            raise UsageError(f"file {file!r} does not fit on {node!r}")
        held.add(file)
        self._make_room(node, {file})

    def evicted(self, node: str, file: str) -> None:
        """Record that *file* is no longer on *node*."""
        self._known(node, file).discard(file)

    def _known(self, node: str, file: str) -> set[str]:
        arguments.name(node, "node")
        if node not in self._nodes or arguments.name(file, "file") not in self._files:
            raise UsageError(f"there is no node {node!r} with a file {file!r}")
        return self._holds[node]

    def completed(self, task: str, inputs: Collection[str] | None = None) -> None:
        """Record that a running task has ended; its inputs are now on its node's disk.

        Files that no longer fit beside them count as evicted: first those that no
        waiting task reads, then the rest, each in name order. *inputs* are the inputs
        that stayed on the disk (default: all).
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
        """Count files as evicted until those known to be on *node* fit its disk."""
        disk = self._nodes[node].disk_bytes
        if disk is None:
            return
        wanted: set[str] = set()
        for task in self._tasks.values():
            wanted.update(task.inputs)
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
        """Return the state of the planner as JSON values, for :meth:`restore`."""
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
        """Return the planner that *state* was saved from, in the same condition.

        Raises InstanceError when *state* is not a return value of :meth:`state`.
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
        """Return whether the parts of a restored state agree with each other."""
        nodes = self._nodes.keys()
        if self._holds.keys() != nodes or self._queues.keys() != nodes:
            return False
        if not self._running.keys().isdisjoint(self._tasks):
            return False
        for node, task in self._running.values():
            if node not in nodes or not self._files.keys() >= set(task.inputs):
                return False
        queued: list[str] = []
        for queue in self._queues.values():
            queued += queue
        return sorted(queued) == self._to_be_queued()

    def _to_be_queued(self) -> list[str]:
        """Return the waiting tasks that fit a node; only these are in queues."""
        if not self._nodes:
            return []
        problem = self._problem()
        fitting = (task.id for k, task in enumerate(problem.tasks) if problem.hosts[k])
        return sorted(fitting)


def _order_of(plan: object) -> Order:
    """Return the tasks in the queues of a plan; copy entries are left out, because the
    scheduler stages files itself.
    """
    if plan is None:
        raise UsageError("the solver found no plan")
    tasks: Order = {}
    for node, queue in ReplicationPlan.model_validate(plan).order.items():
        tasks[node] = [entry for entry in queue if not isinstance(entry, CopyEntry)]
    return tasks


def _wrong(problem: ReplicationProblem, order: Order) -> str | None:
    """Return what is wrong with an order; None when it is valid.

    A valid order has every waiting task once, on a node whose disk holds its files.
    """
    placed: list[str] = []
    for queue in order.values():
        placed += queue
    if sorted(placed) != sorted(problem.task_index):
        return "not every waiting task is in it exactly once"
    for node, queue in order.items():
        if queue and node not in problem.node_index:
            return f"there is no node {node!r}"
        for name in queue:
            if not problem.fits(problem.task_index[name], problem.node_index[node]):
                return f"task {name!r} does not fit on {node!r}"
    return None
