"""Dispatchers of workflows inside an engine: tasks come and end, ask which may start
where.

>>> from ioopt.embed import WorkflowDispatcher
>>> run = WorkflowDispatcher(
...     network={"remote_bytes_per_second": 12.5e6, "replica_bytes_per_second": 1e9},
...     nodes=[{"id": "n0"}, {"id": "n1"}], files=[{"id": "f", "bytes": 64}, {"id": "g", "bytes": 9}],
... )
>>> run.submit([{"id": "t", "compute_seconds": 5, "inputs": ["f"], "outputs": ["g"]},
...             {"id": "u", "compute_seconds": 5, "inputs": ["g"]}])
2
>>> run.next(now=0.0)
[Placement(task='t', node='n0', stage=(('f', None),))]
>>> run.completed("t", now=6.0)
>>> run.next(now=6.0)
[Placement(task='u', node='n0', stage=())]
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from ioopt import arguments
from ioopt.decisions.replication import Pair
from ioopt.embed.guard import Guard, note, restoring
from ioopt.embed.live_view import LiveView, make_dispatcher
from ioopt.errors import InstanceError, UsageError
from ioopt.formats.native import validate
from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.replication import File, Network, Node, ReplicationProblem, Task
from ioopt.solvers.replication.dispatch import locality
from ioopt.units import counted

FileLike = Mapping[str, object] | File
_COMPACT = 256
MOST_CORES = 1 << 16
"""Of the node that stands for those to come where a run has none yet."""
WAITS, ENDED, WITHDRAWN = "waits", "ended", "withdrawn"


@dataclass(frozen=True)
class Placement:
    """A task starts on a node; (file, source node or None for the storage) are to be
    staged first.
    """

    task: str
    node: str
    stage: tuple[tuple[str, str | None], ...]


class WorkflowDispatcher(LiveView):
    """One run of a workflow under a dispatcher of the simulators (``rolling``,
    ``locality``, ...).

    *network*, *nodes* and *files* are those of an ``ioopt/replication`` instance.
    ``products``: what tasks write is on the ``storage`` once they have ended, or on
    their ``nodes`` alone. A dispatcher that fails, errs or is late gives way to
    ``locality`` for the rest of the run, and ``notes`` say so. Files are believed to be
    where a task was placed that reads or writes them, until :meth:`evicted`. No clock,
    no file; not thread-safe. Times are seconds. Memory follows the tasks of the run.
    Invalid input raises InstanceError or UsageError and changes nothing.
    """

    def __init__(
        self,
        network: Mapping[str, object] | Network,
        nodes: Sequence[Mapping[str, object] | Node],
        files: Iterable[FileLike] = (),
        *,
        policy: str = "rolling",
        settings: Mapping[str, object] | None = None,
        products: Literal["storage", "nodes"] = "storage",
    ) -> None:
        super().__init__(
            validate(Network, network, "network"),
            tuple(validate(Node, node, "nodes") for node in nodes),
        )
        self._stored = products == "storage"
        self._node = {node.id: i for i, node in enumerate(self.nodes)}
        if len(self._node) < len(self.nodes) or products not in ("storage", "nodes"):
            raise InstanceError(
                "nodes: an id twice, or products neither 'storage' nor 'nodes'"
            )
        self._how: Json = {
            "policy": policy,
            "settings": dict(settings or {}),
            "products": products,
        }
        self._policy = make_dispatcher(policy, self._how["settings"])
        self._file: dict[str, int] = {}
        self._files: list[File] = []
        self._writer: dict[int, int] = {}
        self._readers: dict[int, set[int]] = {}
        self._written: set[int] = set()
        self._add_files(files)
        for i, node in enumerate(self.nodes):
            self._come({self._known_file(f) for f in node.holds}, i)
        self._place: dict[str, int] = {}
        self._given: set[int] = set()
        self._ended: set[str] = set()
        self._forgotten = 0
        self._guard = Guard()
        self.notes: list[str] = []

    def __repr__(self) -> str:
        waiting = len(self._tasks) - len(self._given)
        going = len(self._running)
        held = f"{counted(len(self.nodes), 'node')}, {waiting} waiting, {going} running"
        return f"{type(self).__name__}({self._how['policy']}, {held})"

    def submit(
        self,
        tasks: Iterable[Mapping[str, object] | Task],
        files: Iterable[FileLike] = (),
    ) -> int:
        """Add tasks, and files that are new; how many tasks have not been placed.

        A task is ready once the tasks that write its inputs have ended, those of them
        that have been submitted. Raises InstanceError for what contradicts itself,
        UsageError for a task no node takes.
        """
        before = len(self._files)
        added = [validate(Task, task, "tasks") for task in tasks]
        try:
            self._add_files(files)
            self._check(added)
        except (InstanceError, UsageError):
            for file in self._files[before:]:
                del self._file[file.id]
            del self._files[before:], self._sizes[before:]
            raise
        for task in added:
            self._enter(task)
        return len(self._tasks) - len(self._given)

    def on_remote(self, f: int) -> bool:
        """Whether a file is on the storage."""
        return f not in self._writer or (self._stored and f in self._written)

    def next(self, now: float, deadline: float | None = None) -> list[Placement]:
        """The tasks that start now, and where; *deadline* (s) counts all that is
        decided.
        """
        deadline = arguments.deadline(deadline)
        self._tick(now)
        self.round += 1
        until = Deadline(deadline)
        placed: list[Placement] = []
        there = len(self._down) < len(self.nodes)
        while self.ready and there:
            pair = self._ask(until, deadline)
            if pair is None:
                break
            placed.append(self._give(*pair))
        return placed

    def completed(self, task: str, now: float) -> None:
        """A task that runs has ended, and its products are there."""
        k = self._runs(task)
        self._tick(now)
        self.ends(k, {f: self._sizes[f] for f in self.outputs(k)})
        self._ended.add(task)
        self._written.update(self.outputs(k))
        for f in self.outputs(k):
            for reader in self._readers.get(f, ()):
                self._now_ready(reader)

    def failed(self, task: str, now: float) -> None:
        """A task that runs has failed: it waits again, as if it had just been
        submitted.
        """
        k = self._runs(task)
        self._tick(now)
        self.ends(k, {})
        self._enter(self._tasks[k])

    def withdraw(self, task: str) -> None:
        """A task that waits is not wanted any more."""
        k = self._place.get(arguments.name(task, "task"))
        if k is None or k in self._given:
            raise UsageError(f"task {task!r} does not wait")
        self._given.add(k)
        self.is_not_ready(k)
        del self._place[task]

    def observe(self, seconds: Mapping[str, float]) -> None:
        """Better estimates (compute seconds at speed 1) of tasks, such as the mean of
        those alike.
        """
        found: dict[int, Task] = {}
        for name, value in seconds.items():
            if arguments.name(name, "task") not in self._place:
                raise UsageError(f"there is no task {name!r}")
            k = self._place[name]
            given = self._tasks[k].model_dump() | {"compute_seconds": value}
            found[k] = validate(Task, given, "tasks")
        for k, task in found.items():
            self._tasks[k] = task

    def lost(self, node: str, now: float) -> None:
        """A node is gone with its files: its tasks wait again, and those whose
        products it alone had.
        """
        i = self._index(node)
        self._tick(now)
        self._down.add(i)
        for k in [k for k, where in self._running.items() if where == i]:
            self.failed(self._tasks[k].id, now)
        gone = set(self._holds[i])
        self._go(gone, i)
        if not self._stored:
            for f in sorted(gone & self._written):
                if not self.copies(f):
                    self._write_again(f)

    def back(self, node: str) -> None:
        """A lost node takes tasks again; its disk is empty."""
        self._down.discard(self._index(node))

    def joined(self, node: Mapping[str, object] | Node) -> None:
        """Take a node that was not there before; what it holds is on it, and all its
        cores idle.

        A dispatcher that plans makes a new plan. Raises UsageError for a node that is
        known (one that was lost is :meth:`back`) and InstanceError for unknown files.
        """
        new: Node = validate(Node, node, "nodes")
        if new.id in self._node:
            raise UsageError(
                f"node {new.id!r} is there already; back(node) for a lost one"
            )
        for file in new.holds:
            self._known_file(file)
        state = self.state()
        state["nodes"].append(new.model_dump(mode="json"))
        state["holds"].append(list(new.holds))
        state["idle"].append([self.now] * new.cores)
        self._begin_again(state)

    def evicted(self, node: str, file: str) -> None:
        """*file* is no longer on *node*."""
        self._go((self._known_file(file),), self._index(node))

    def staged(self, node: str, file: str, size: int = 0) -> None:
        """*file* has come to be on *node* by itself; a new one has *size* bytes."""
        i = self._index(node)
        if arguments.name(file, "file") not in self._file:
            self._add_files([{"id": file, "bytes": size}])
        self._come((self._known_file(file),), i)

    def _write_again(self, f: int) -> None:
        self._written.discard(f)
        task = self._tasks[self._writer[f]]
        if task.id in self._ended:
            self._ended.discard(task.id)
            self._enter(task)
        for reader in self._readers.get(f, ()):
            self.is_not_ready(reader)

    def _tick(self, now: float) -> None:
        self.now = max(self.now, arguments.seconds(now, "now"))

    def forget(self, task: str, files: Iterable[str] = ()) -> None:
        """An ended task and its products are wanted no more, nor are *files* that
        no task has to read.

        They go from all nodes, and their names are free. Raises UsageError while
        somebody needs them.
        """
        if task not in self._ended:
            raise UsageError(f"task {task!r} has not ended")
        k = self._place[task]
        gone = {*self.outputs(k), *map(self._known_file, files)}
        for f in sorted(gone):
            readers = [
                r
                for r in self._readers.get(f, ())
                if self._place.get(self._tasks[r].id) == r
            ]
            done = all(self._tasks[r].id in self._ended for r in readers)
            if not done or self._writer.get(f, k) != k:
                raise UsageError(
                    f"task {task!r}: file {self._files[f].id!r} is still needed"
                )
        del self._place[task]
        self._ended.discard(task)
        self._forgotten += 1
        for f in gone:
            for i in range(len(self.nodes)):
                self._go((f,), i)
            del self._file[self._files[f].id]
            self._writer.pop(f, None)
            self._written.discard(f)
        if self._forgotten > max(_COMPACT, len(self._tasks) // 2):
            self._begin_again(self.state())

    def _begin_again(self, state: Json) -> None:
        """Go on from a state with the notes of this run, and still with
        ``locality`` after a failure.
        """
        kept = {"notes": self.notes, "_guard": self._guard}
        if self._policy is locality:
            kept["_policy"] = self._policy
        vars(self).update(vars(self.restore(state)) | kept)

    def state(self) -> Json:
        """The run as plain JSON values: tasks and files that are not forgotten, and
        where they are.

        A task that runs is told with its node, its start and the seconds that its
        staging took.
        """
        names = {f: name for name, f in self._file.items()}
        tasks: list[object] = []
        for k, task in enumerate(self._tasks):
            here = self._place.get(task.id) == k
            writes = any(
                f in names and self._writer.get(f) == k for f in self.outputs(k)
            )
            if not here and not writes:
                continue  # it runs again at another place, or is forgotten
            how: object = (
                ENDED if task.id in self._ended else WAITS if here else WITHDRAWN
            )
            if k in self._running:
                i = self._running[k]
                how = [i, *self._computing[i][k]]
            tasks.append([task.model_dump(mode="json"), how])
        return {
            "network": self.network.model_dump(mode="json"),
            "nodes": [node.model_dump(mode="json") for node in self.nodes],
            "files": [self._files[f].model_dump(mode="json") for f in sorted(names)],
            "tasks": tasks,
            "written": [names[f] for f in sorted(self._written)],
            "holds": [[names[f] for f in sorted(held)] for held in self._holds],
            "idle": self._idle_since,
            "down": sorted(self._down),
            "now": self.now,
            "round": self.round,
            **self._how,
        }

    @classmethod
    def restore(cls, state: Json) -> Self:
        """The run that *state* tells, at the same point; a dispatcher that plans makes
        a new plan.

        Raises InstanceError when *state* is not what :meth:`state` returns.
        """
        with restoring("run"):
            made = cls(
                state["network"],
                state["nodes"],
                state["files"],
                policy=state["policy"],
                settings=state["settings"],
                products=state["products"],
            )
            made._resume(state)
        getattr(made._policy, "resume", lambda given: None)(made._given)
        return made

    def _resume(self, state: Json) -> None:
        """Bring a new run to where :meth:`state` left one; ValueError and the like
        for a damaged state.
        """
        self.now = float(state["now"])
        self.round = int(state["round"])
        tasks = [(validate(Task, given, "tasks"), how) for given, how in state["tasks"]]
        # A task that no node takes waits for one that joins.
        self._check([task for task, how in tasks if how != WITHDRAWN], room=False)
        for k, (task, how) in enumerate(tasks):
            if how != WAITS:
                self._given.add(k)
            self._enter(task)
            if how == ENDED:
                self._ended.add(task.id)
            elif how == WITHDRAWN:
                del self._place[task.id]
            elif how != WAITS:
                i, start, staging = how
                self._running[k] = range(len(self.nodes))[i]
                self._computing[i][k] = float(start), float(staging)
        self._written = {self._known_file(name) for name in state["written"]}
        self._down = {range(len(self.nodes))[i] for i in state["down"]}
        self._idle_since = [[float(at) for at in row] for row in state["idle"]]
        for node, held, idle, busy in zip(
            self.nodes, state["holds"], self._idle_since, self._computing, strict=True
        ):
            i = self._index(node.id)
            self._go(set(self._holds[i]), i)
            self._come({self._known_file(name) for name in held}, i)
            if len(idle) + sum(self.task(k).cores for k in busy) != node.cores:
                raise ValueError(f"node {node.id!r}: cores")
        for k in range(len(self._tasks)):
            self.is_not_ready(k)
            self._now_ready(k)

    def _check(self, added: Sequence[Task], room: bool = True) -> None:
        """Raise unless tasks can be added: ids, files, one writer a file, no cycle.

        With *room* some node must take each of them too.
        """
        waiting = [self._tasks[k] for k in self._place.values() if k not in self._given]
        names = {
            f for task in (*added, *waiting) for f in (*task.inputs, *task.outputs)
        }
        files = tuple(self._files[self._known_file(f)] for f in sorted(names))
        nodes = tuple(n.model_copy(update={"holds": ()}) for n in self.nodes)
        given: Json = {
            "name": "run",
            "network": self.network,
            "files": files,
            "nodes": nodes or (Node(id="a node to come", cores=MOST_CORES),),
            "tasks": (*waiting, *added),
        }
        problem = validate(ReplicationProblem, given, "run")
        if room:
            problem.require_room()
        for task in added:
            if task.id in self._place:
                raise InstanceError(f"tasks: {task.id!r} was submitted before")
            for name in task.outputs:
                if self._file[name] in self._writer:
                    raise InstanceError(
                        f"tasks: {task.id!r} writes {name!r}, as another task does"
                    )

    def _add_files(self, files: Iterable[FileLike]) -> None:
        for given in files:
            file: File = validate(File, given, "files")
            place = self._file.setdefault(file.id, len(self._files))
            if place == len(self._files):
                self._files.append(file)
                self._sizes.append(file.bytes)
            elif self._files[place] != file:
                raise InstanceError(
                    f"files: {file.id!r} is known with other bytes or storage"
                )

    def _enter(self, task: Task) -> None:
        """A task, or one that runs again, has a place of its own: dispatchers
        remember what they gave.
        """
        k = self._place[task.id] = len(self._tasks)
        self._tasks.append(task)
        reads, writes = (
            [self._file[f] for f in names] for names in (task.inputs, task.outputs)
        )
        self._io.append((tuple(reads), tuple(writes)))
        for f in reads:
            self._readers.setdefault(f, set()).add(k)
        self._writer.update(dict.fromkeys(writes, k))
        self._written.difference_update(writes)
        for f in writes:
            for reader in self._readers.get(f, ()):
                self.is_not_ready(reader)
        self._now_ready(k)

    def _now_ready(self, k: int) -> None:
        there = all(f not in self._writer or f in self._written for f in self.inputs(k))
        if there and k not in self._given and k not in self.ready:
            self.becomes_ready(k)

    def _ask(self, until: Deadline, given: float | None) -> Pair | None:
        """What the dispatcher answers; past the deadline ``locality``."""
        left = None if given is None else until.remaining()
        if left is not None and left <= 0:
            return locality(self)
        pair, notes = self._guard.run(
            lambda: self._policy(self), lambda: locality(self), self._wrong, left, given
        )
        if notes:
            self._policy = locality
            note(
                self.notes, f"{self.now:g} s: {notes[0]}, and so is the rest of the run"
            )
        return pair

    def _wrong(self, pair: Pair | None) -> str | None:
        if pair is None or (pair[0] in self.ready and self.takes(*pair)):
            return None
        return f"task {pair[0]} on node {pair[1]}, where it may not start"

    def _give(self, k: int, i: int) -> Placement:
        missing = [f for f in self.inputs(k) if f not in self._holds[i]]
        stage = tuple((self._files[f].id, self._holder(f)) for f in missing)
        self.give(k, i)
        self._given.add(k)
        return Placement(self._tasks[k].id, self.nodes[i].id, stage)

    def _holder(self, f: int) -> str | None:
        return next(
            (n.id for n, held in zip(self.nodes, self._holds) if f in held), None
        )

    def _runs(self, task: str) -> int:
        k = self._place.get(arguments.name(task, "task"), -1)
        if k not in self._running:
            raise UsageError(f"task {task!r} is not running")
        return k

    def _index(self, node: str) -> int:
        if arguments.name(node, "node") not in self._node:
            raise UsageError(
                f"there is no node {node!r}; nodes: {', '.join(self._node)}"
            )
        return self._node[node]

    def _known_file(self, name: str) -> int:
        if arguments.name(name, "file") not in self._file:
            raise InstanceError(f"file {name!r} is unknown")
        return self._file[name]
