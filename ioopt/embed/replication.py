"""Embed the replication solvers in a scheduler to which tasks arrive over time.

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
from typing import Annotated, Self

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from ioopt import arguments, registry
from ioopt.embed.bound import Act, PlanRun
from ioopt.embed.guard import DEADLINE_SHARE, Decision, Guard, restoring
from ioopt.errors import InstanceError, IooptError, StateError, UsageError
from ioopt.formats.native import validate, validate_item, validate_items
from ioopt.options import AtMost, Deadline, limit_before
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
from ioopt.registry.policies import NameOf
from ioopt.result import Result
from ioopt.sim.replication.bind import bind
from ioopt.solvers.replication.greedy.job_data_present import plan_job_data_present
from ioopt.solving import solve
from ioopt.units import counted

TaskLike = Task | Mapping[str, object]
FileLike = File | Mapping[str, object]
ActLike = Act | Mapping[str, object]
Order = dict[str, list[str]]
"""For each node, the ids of its tasks in the order in which they run."""


_ACTS: TypeAdapter[Act] = TypeAdapter(Act)


@dataclass(frozen=True)
class Step:
    """The task that a node runs next.

    ``stage`` lists the files to copy to the node first, each as (file, source). The
    source is a node, or None for the remote storage.
    """

    task: str
    stage: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class _Planned:
    """The order of a plan, and a run of it if it is bound."""

    order: Order
    run: PlanRun | None = None


class ReplicationPlanner:
    """Plan which node runs which task, given the files that are on the nodes' disks
    now.

    *network*, *nodes* and *files* are those of an ``ioopt/replication`` instance.
    *solver* is the name of any solver of the family, and *settings* are settings of
    this solver; an unknown solver or setting raises UsageError. *seed* is that of the
    solver. The planner reads
    neither clock nor file. It is not thread-safe: one scheduler thread must make all
    calls. It learns from :meth:`completed`, :meth:`staged` and :meth:`evicted` which
    files are on the disks. Invalid input raises an ioopt error at the call and changes
    nothing. A solver that raises, hangs or returns an invalid order never raises an
    error in the caller: a greedy order replaces its order.

    With the setting ``moves=schedule`` the plan is bound: :meth:`acts`,
    :meth:`started` and :meth:`ended` then take the place of :meth:`next`,
    :meth:`staged`, :meth:`evicted` and :meth:`completed`. ``notes`` are those of the
    last plan.
    """

    def __init__(
        self,
        network: Mapping[str, object] | Network,
        nodes: Sequence[Mapping[str, object] | Node],
        files: Iterable[FileLike] = (),
        *,
        solver: Annotated[str, NameOf("replication", decides=False)] = "link-aware",
        settings: Mapping[str, object] | None = None,
        seed: int = 0,
    ) -> None:
        self._network = validate_item(Network, network, "network")
        self._nodes: dict[str, Node] = {}
        for node in validate_items(Node, nodes, "nodes"):
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
        self._binds = self._settings.get("moves") == "schedule"
        self._run: PlanRun | None = None
        self._plans = 0
        self._under_way: dict[tuple[int, int], Act] = {}
        self.notes: tuple[str, ...] = ()
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
        for x, given in enumerate(files):
            file = validate_item(File, given, f"files[{x}]")
            known = self._files.setdefault(file.id, file)
            if known != file:
                raise InstanceError(
                    f"files[{x}] ({file.id}): is known with {known.bytes} bytes, now "
                    f"{file.bytes}"
                )

    def submit(
        self,
        tasks: Iterable[TaskLike],
        files: Iterable[FileLike] = (),
        deadline: float | None = 10.0,
    ) -> Decision[int]:
        """Add *tasks* and make a new plan for all tasks that have not started.

        *files* are those that the tasks read or write and the planner does not know
        yet. Returns the number of tasks that wait, with the objective, the bound and
        the gap of the plan. *deadline*, in seconds, includes the time for building the
        model. Invalid input raises an ioopt error and changes nothing.
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
        """Return the validated tasks, keyed by id. Raises InstanceError for a task that
        was submitted before and for an unknown file.
        """
        added: dict[str, Task] = {}
        for x, given in enumerate(tasks):
            task = validate_item(Task, given, f"tasks[{x}]")
            place = f"tasks[{x}] ({task.id})"
            if task.id in self._tasks or task.id in self._running or task.id in added:
                raise StateError(f"{place}: was submitted before")
            for name in task.inputs:
                if name not in self._files:
                    raise InstanceError(
                        f"{place}.inputs: file {name!r} is unknown; add it to 'files'"
                    )
            added[task.id] = task
        return added

    def plan(self, deadline: float | None = 10.0) -> Decision[int]:
        """Make a new plan for all tasks that have not started, given the files that are
        on the disks now.

        *deadline* (seconds) and the value returned are as in :meth:`submit`.
        """
        until = Deadline(arguments.deadline(deadline))
        return self._planned_as_far_as_possible(self._problem(), until)

    def _planned(self, problem: ReplicationProblem, until: Deadline) -> Decision[int]:
        """Ask the solver for the order of the waiting tasks on each node, and store
        this order.
        """
        self._plans += 1
        self._run = None
        self.notes = ()
        if not problem.tasks or not self._nodes:
            self._queues = {name: [] for name in self._nodes}
            return Decision(len(self._tasks))
        deadline = None
        limit = None
        if until.limit_seconds is not None:
            deadline = until.remaining()
            limit = AtMost(limit_before(deadline, DEADLINE_SHARE))
        how: Json = {
            "settings": self._settings,
            "seed": self._seed,
            "time_limit": limit,
        }
        found: list[Result] = []

        def wanted() -> _Planned:
            found.append(solve(problem, self._solver, **how))
            if found[0].plan is None:
                raise IooptError(
                    "; ".join(found[0].notes) or f"no plan: {found[0].status}"
                )
            return self._followed(problem, found[0].plan)

        def greedy() -> _Planned:
            return self._followed(problem, plan_job_data_present(problem)[0])

        planned, notes = self._guard.run(
            wanted,
            greedy,
            lambda planned: _wrong(problem, planned.order),
            deadline,
            until.limit_seconds,
        )
        order = planned.order
        self._queues = {name: list(order.get(name, [])) for name in self._nodes}
        self._run = planned.run
        if self._under_way:
            self._run = None
            acts = counted(len(self._under_way), "act")
            notes = (*notes, f"{acts} under way; call plan() once they have ended")
        self.notes = notes
        count = len(self._tasks)
        if notes or not found:
            return Decision(count, notes=notes)
        result = found[0]
        return Decision(count, result.objective, result.bound, result.gap, result.notes)

    def _followed(self, problem: ReplicationProblem, plan: object) -> _Planned:
        """Return the order of a plan and, with ``moves=schedule``, a run of it."""
        order = _order_of(plan)
        if not self._binds:
            return _Planned(order)
        bound = bind(problem, ReplicationPlan.model_validate(plan))
        return _Planned(order, PlanRun(problem, bound))

    def acts(self) -> tuple[Act, ...]:
        """Return the acts of the bound plan that may start now, each with the file and
        its source or the task; they may all start together.

        Report each of them by :meth:`started` and :meth:`ended`, an eviction too. There
        are none after a call that planned anew while acts were under way: what these
        change on the disks was not known. End them, and call :meth:`plan`. Raises
        UsageError without the setting ``moves=schedule``.
        """
        if not self._binds:
            raise UsageError("acts: only with the setting moves=schedule")
        if self._run is None:
            return ()
        return tuple([replace(act, plan=self._plans) for act in self._run.acts()])

    @property
    def under_way(self) -> tuple[Act, ...]:
        """The acts that have started and not ended."""
        return tuple(self._under_way.values())

    def started(self, act: ActLike) -> None:
        """Record that *act*, one of :meth:`acts`, has started. Raises UsageError for
        one that must wait, and for one of an earlier plan.
        """
        act = _act(act)
        if self._run is None or act.plan != self._plans:
            raise StateError(f"act {act.number}: it belongs to no plan that runs")
        self._run.started(act)
        act = replace(self._run.all_acts[act.number], plan=act.plan)
        self._under_way[act.plan, act.number] = act
        if act.task is not None:
            self._queues[act.node].remove(act.task)
            self._running[act.task] = act.node, self._tasks.pop(act.task)

    def ended(self, act: ActLike) -> None:
        """Record that *act* has ended, and what that changes on the disk of its node.

        What was under way on a node has ended with the node, so its acts may be
        reported or not. Raises UsageError for another act that is not under way.
        """
        under_way = self._to_end(act)
        if under_way is None:
            return
        if self._run is not None and under_way.plan == self._plans:
            self._run.ended(under_way)
        if under_way.kind == "task" and under_way.task in self._running:
            self.completed(under_way.task)
        elif under_way.kind == "transfer":
            self.staged(under_way.node, str(under_way.file))
        elif under_way.kind == "eviction":
            self.evicted(under_way.node, str(under_way.file))

    def _to_end(self, given: ActLike) -> Act | None:
        """Return an act under way, which is then not under way any more; None if it
        ended with its node. Raises UsageError for any other act.
        """
        act = _act(given)
        found = self._under_way.pop((act.plan, act.number), None)
        if found is None and act.node in self._nodes:
            raise StateError(f"act {act.number}: it is not under way")
        return found

    def failed(
        self, what: str | ActLike, deadline: float | None = 10.0
    ) -> Decision[int]:
        """Record that *what* has failed, and make a new plan: the id of a task that was
        running, or an act under way of a bound plan.

        A task waits again, and the disk of its node is as it was before. A file that a
        failed transfer brought is not on the node, and one that a failed eviction
        should have deleted still is. *deadline* (seconds) and the value returned are as
        in :meth:`plan`.
        """
        until = Deadline(arguments.deadline(deadline))
        if isinstance(what, str):
            name: str | None = self._is_running(what)
            for key, act in list(self._under_way.items()):
                if act.task == name:
                    del self._under_way[key]
        else:
            failed = self._to_end(what)
            name = None if failed is None else failed.task
        if name in self._running:
            _, self._tasks[name] = self._running.pop(name)
        return self._planned_as_far_as_possible(self._problem(), until)

    def _is_running(self, task: str) -> str:
        """Return *task*; raise UsageError if it is not running."""
        if arguments.name(task, "task") not in self._running:
            raise StateError(f"task {task!r} is not running")
        return task

    def _problem(self, tasks: Mapping[str, Task] | None = None) -> ReplicationProblem:
        """Return an instance of the waiting *tasks* (None: all of them), with the files
        they use and the files on the nodes.

        If there is no node, the instance has one node without limits, which stands for
        the nodes that will join.
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
        """Start the next task of *node*. Return the task with the files to stage, or
        None when no task waits in the node's queue.

        The source of a file is the first node that holds the file, in the planner's
        order of nodes. A bound plan is followed by :meth:`acts` instead.
        """
        if self._binds:
            raise UsageError("next: the plan is bound; take acts()")
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
        """Add *node*, which is new or was lost before, and make a new plan.

        *deadline* (seconds) and the value returned are as in :meth:`plan`. Raises
        UsageError for a node that is known already, and InstanceError for a node that
        holds unknown files; nothing changes then.
        """
        until = Deadline(arguments.deadline(deadline))
        new = validate_item(Node, node, "node")
        if new.id in self._nodes:
            raise StateError(f"node {new.id!r} is there already")
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
        """Remove *node* and the files on it, return its running tasks to the waiting
        tasks, and make a new plan.

        Acts under way on the node have ended with it. A transfer from it to another
        node is still under way: report it by :meth:`failed`, or by :meth:`ended` if the
        file is complete.

        *deadline* (seconds) and the value returned are as in :meth:`plan`. A note names
        a task that fits none of the other nodes.
        """
        until = Deadline(arguments.deadline(deadline))
        if arguments.name(node, "node") not in self._nodes:
            raise UsageError(
                f"there is no node {node!r}; nodes: {', '.join(self._nodes)}"
            )
        del self._nodes[node], self._holds[node], self._queues[node]
        for key, act in list(self._under_way.items()):
            if act.node == node:
                del self._under_way[key]
        for name, (where, task) in list(self._running.items()):
            if where == node:
                del self._running[name]
                self._tasks[name] = task
        return self._planned_as_far_as_possible(self._problem(), until)

    def _planned_as_far_as_possible(
        self, problem: ReplicationProblem, until: Deadline
    ) -> Decision[int]:
        """Plan the tasks of *problem* that fit a node; the other tasks wait until a
        node joins that is large enough.
        """
        fitting = {
            task.id: task for k, task in enumerate(problem.tasks) if problem.hosts[k]
        }
        left = sorted(self._tasks.keys() - fitting.keys())
        if left:
            decision = self._planned(self._problem(fitting), until)
            text = f"task {left[0]!r} fits no node, and waits for one that it fits"
            notes = (*decision.notes, text)
            self.notes = (*self.notes, text)
            return replace(decision, value=len(self._tasks), notes=notes)
        return self._planned(problem, until)

    def _holder(self, file: str) -> str | None:
        return next((name for name, held in self._holds.items() if file in held), None)

    def staged(self, node: str, file: str) -> None:
        """Record that *file* is complete on *node*, although the task for which it was
        staged has not ended.

        If the disk is now too full, other files on the node count as evicted, as in
        :meth:`completed`.
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
        """Record that *task*, which was running, has ended, and that its inputs are on
        the disk of its node.

        If the disk is now too full, other files on the node count as evicted: first the
        files that no waiting task reads, then the others, each group in order of name.
        *inputs* are the inputs that have stayed on the disk (default: all).
        """
        node, told = self._running[self._is_running(task)]
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
        """Count files on *node* as evicted until the others fit its disk; the files
        *keep* always stay.
        """
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
        """Return the state of the planner as plain JSON values, for :meth:`restore`."""
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
        """Return a planner in the saved *state*.

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
        """Return the sorted ids of the waiting tasks that fit a node; exactly these
        tasks must be in the queues.
        """
        if not self._nodes:
            return []
        problem = self._problem()
        fitting = (task.id for k, task in enumerate(problem.tasks) if problem.hosts[k])
        return sorted(fitting)


def _act(given: ActLike) -> Act:
    """Return an act, which may be given as JSON has it; raise UsageError for what is
    none.
    """
    if isinstance(given, Act):
        return given
    try:
        return _ACTS.validate_python(given)
    except ValidationError as error:
        where = error.errors(include_url=False)[0]
        key = ".".join(map(str, where["loc"])) or "act"
        raise UsageError(f"act: {key}: {where['msg']}; give one of acts()") from None


def _order_of(plan: object) -> Order:
    """Return, for each node, the tasks in the queue that *plan* gives the node. Copy
    entries are left out, because the scheduler stages files itself.
    """
    if plan is None:
        raise UsageError("the solver found no plan")
    tasks: Order = {}
    for node, queue in ReplicationPlan.model_validate(plan).order.items():
        tasks[node] = [entry for entry in queue if not isinstance(entry, CopyEntry)]
    return tasks


def _wrong(problem: ReplicationProblem, order: Order) -> str | None:
    """Return what is wrong with *order*; None when it is valid.

    A valid order contains every waiting task once, on a node whose disk can hold the
    files of the task.
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
