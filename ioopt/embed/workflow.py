"""Dispatch workflows inside an engine. The engine reports tasks that arrive and end,
and asks which task may start on which node.

>>> from ioopt.embed import WorkflowDispatcher
>>> run = WorkflowDispatcher(
...     network={"remote_bytes_per_second": 12.5e6, "replica_bytes_per_second": 1e9},
...     nodes=[{"id": "n0"}, {"id": "n1"}],
...     files=[{"id": "f", "bytes": 64}, {"id": "g", "bytes": 9}],
... )
>>> run.submit([{"id": "t", "compute_seconds": 5, "inputs": ["f"], "outputs": ["g"]},
...             {"id": "u", "compute_seconds": 5, "inputs": ["g"]}])
2
>>> run.next(now=0.0)
[Placement(task='t', node='n0', stage=(('f', None),), arriving=(), policy='rolling')]
>>> run.completed("t", now=6.0)
>>> run.next(now=6.0)
[Placement(task='u', node='n0', stage=(), arriving=(), policy='rolling')]
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from ioopt import arguments
from ioopt.decisions.replication import Pair
from ioopt.embed.guard import Notes, restoring
from ioopt.embed.guarded_dispatcher import Answer, GuardedDispatcher
from ioopt.embed.live_view import LiveView, make_dispatcher
from ioopt.errors import InstanceError, StateError, UsageError
from ioopt.formats.native import validate
from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.replication import File, Network, Node, ReplicationProblem, Task
from ioopt.registry.policies import NameOf
from ioopt.units import counted

FileLike = Mapping[str, object] | File
_COMPACT = 256
"""The least number of forgotten tasks at which the object is rebuilt without these
tasks.
"""
MOST_CORES = 1 << 16
"""The number of cores of the placeholder node that stands for future nodes while a run
has no node yet.
"""
WAITS = "waits"
ENDED = "ended"
WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Placement:
    """The start of a task on a node.

    ``stage`` lists the files to copy to the node first, each as (file, source). The
    source is a node, or None for the storage. ``arriving`` names those of the files
    whose source is still receiving them: wait until that copy has ended. ``policy`` is
    the dispatcher that decided: the one of the run, or ``locality`` in its place.
    """

    task: str
    node: str
    stage: tuple[tuple[str, str | None], ...]
    arriving: tuple[str, ...] = ()
    policy: str = ""


@dataclass(frozen=True)
class Staging:
    """A copy of ``file`` that ``node`` is receiving from ``source``.

    The source is a node, or None for the storage. ``arriving`` is true if the source is
    still receiving the file itself: wait until that copy has ended.
    """

    node: str
    file: str
    source: str | None
    arriving: bool


@dataclass(frozen=True)
class Running:
    """A task that was placed on ``node`` at ``since_seconds`` and has not ended."""

    task: str
    node: str
    since_seconds: float


@dataclass(frozen=True)
class Evictable:
    """The ``files`` of a node that may be evicted, with their bytes, and the bytes by
    which all files there are ``over`` its disk.
    """

    files: dict[str, int]
    over: int


class WorkflowDispatcher(LiveView):
    """One run of a workflow under one of the dispatchers of the simulators, such as
    ``rolling``.

    *network*, *nodes* and *files* are those of an ``ioopt/replication`` instance.
    *policy* is the name of a dispatcher, and *settings* are its settings. *products*
    says where the outputs of ended tasks are: on the ``storage``, or only on their
    ``nodes``. Where a dispatcher raises, returns an invalid answer or is late,
    ``locality`` answers for the rest of the call, and ``notes`` say so
    (``notes.new()``: those since it was last called). The dispatcher is asked again in
    the next call of :meth:`next` with a ready task; after n failures in a row,
    2^(n-1) - 1 such calls pass before, at most 63. One that is late plans on meanwhile,
    and its plan is used once it is ready.

    Once a task has been placed on a node, the files that it reads or writes are assumed
    to be on that node, until :meth:`evicted` or :meth:`failed` is called. A task is
    placed only on a node whose disk takes the files of this task; the engine makes room
    for them beside the other files, and a note says when those of a node exceed its
    disk. The object reads no clock and no file, and is not thread-safe. Times are in
    seconds. Memory use grows with the number of tasks of the run. Invalid input raises
    InstanceError or UsageError and changes nothing, StateError for what does not fit
    the state of the run.
    """

    def __init__(
        self,
        network: Mapping[str, object] | Network,
        nodes: Sequence[Mapping[str, object] | Node],
        files: Iterable[FileLike] = (),
        *,
        policy: Annotated[str, NameOf("replication")] = "rolling",
        settings: Mapping[str, object] | None = None,
        products: Literal["storage", "nodes"] = "storage",
    ) -> None:
        super().__init__(
            validate(Network, network, "network"),
            tuple(validate(Node, node, "nodes") for node in nodes),
        )
        self._stored = products == "storage"
        self._node = {node.id: i for i, node in enumerate(self.nodes)}
        if len(self._node) < len(self.nodes):
            raise InstanceError("nodes: two of them have the same id")
        if products not in ("storage", "nodes"):
            raise UsageError(
                f"products: must be 'storage' or 'nodes', not {products!r:.60}"
            )
        self._how: Json = {
            "policy": policy,
            "settings": dict(settings or {}),
            "products": products,
        }
        self._dispatcher = GuardedDispatcher(
            policy, lambda: make_dispatcher(policy, self._how["settings"])
        )
        self._file: dict[str, int] = {}
        self._files: list[File] = []
        self._writer: dict[int, int] = {}
        self._readers: dict[int, set[int]] = {}
        self._written: set[int] = set()
        self._add_files(files)
        for i, node in enumerate(self.nodes):
            self._come({self._known_file(f) for f in node.holds}, i)
        # For each node, the files that it is receiving, with the node that each comes
        # from (None: the storage). No chain of sources is a circle.
        self._arriving: list[dict[int, int | None]] = [{} for _ in self.nodes]
        self._place: dict[str, int] = {}
        self._given: set[int] = set()
        self._ended: set[str] = set()
        self._forgotten = 0
        self._overfull: set[int] = set()
        self.notes = Notes()

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
        """Add *tasks*; return the number of tasks that have not been placed.

        *files* are those that the tasks read or write and the run does not know yet. A
        task is ready once all submitted tasks that write its inputs have ended; those
        whose files were lost run again. Raises InstanceError for contradictory tasks or
        files, and UsageError for a task that fits no node.
        """
        before = len(self._files)
        given = arguments.names(tasks, "tasks")
        added = [validate(Task, task, "tasks") for task in given]
        try:
            self._add_files(arguments.names(files, "files"))
            self._check(added)
        except (InstanceError, UsageError):
            for file in self._files[before:]:
                del self._file[file.id]
            del self._files[before:], self._sizes[before:]
            raise
        for task in added:
            self._enter(task)
            self._write_again(self.inputs(self._place[task.id]))
        return len(self._tasks) - len(self._given)

    def on_remote(self, f: int) -> bool:
        """Return whether file *f* is on the storage."""
        return f not in self._writer or (self._stored and f in self._written)

    def next(self, now: float, deadline: float | None = None) -> list[Placement]:
        """Return the tasks that start at time *now* (seconds), each with its node and
        the files to stage.

        *deadline*, in seconds, is for all decisions of the call together.
        """
        deadline = arguments.deadline(deadline)
        self._tick(now)
        self.round += 1
        until = Deadline(deadline)
        placed: list[Placement] = []
        if not self.ready or len(self._down) == len(self.nodes):
            return placed
        self._dispatcher.begin_call(self._given)
        while self.ready:
            answer = self._ask(until, deadline)
            if answer.pair is None:
                break
            placed.append(self._give(*answer.pair, answer.decided))
        return placed

    def completed(self, task: str, now: float, node: str | None = None) -> None:
        """Record that *task*, which was running, has ended at time *now* (seconds), and
        that its output files exist.

        With *node*, where it ran, a message that is repeated or of an attempt that was
        lost changes nothing, and a note says so. Raises StateError if *task* does not
        run, and UsageError for an unknown node.
        """
        if self._is_late(task, node, now):
            return
        k = self._runs(task)
        self._tick(now)
        i = self._running[k]
        began, _ = self._computing[i][k]
        if now < began:
            said = f"task {task!r} ended at {now:g} s, before its start at {began:g} s"
            self.notes.add(f"{said}; it counts as ended at {self.now:g} s")
        self._arrived((*self.inputs(k), *self.outputs(k)), i)
        self.ends(k, {f: self._sizes[f] for f in self.outputs(k)})
        self._ended.add(task)
        self._written.update(self.outputs(k))
        for f in self.outputs(k):
            for reader in self._readers.get(f, ()):
                self._now_ready(reader)

    def failed(
        self,
        task: str,
        now: float,
        arrived: Collection[str] = (),
        node: str | None = None,
    ) -> None:
        """Record that *task*, which was running, has failed at time *now* (seconds). It
        waits again, as if it were submitted now.

        With *node*, where it ran, a message that is repeated or of an attempt that was
        lost changes nothing, and a note says so.

        Those of its inputs that were being copied to its node count as not there, and
        other nodes that copied them from there get another source (:meth:`staging`).
        Excepted are files that :meth:`staged` reported, files that another running task
        of the node reads, and the files *arrived*, which are complete on the node.
        Raises StateError if *task* does not run.
        """
        if self._is_late(task, node, now):
            return
        k = self._runs(task)
        there = {self._known_file(f) for f in arguments.names(arrived, "arrived")}
        for f in sorted(there.difference(self.inputs(k))):
            raise UsageError(f"task {task!r} does not read {self._files[f].id!r}")
        self._tick(now)
        self._arrived(there, self._running[k])
        self._fails(k)
        self._find_sources()  # each has one: that of the copies which end

    def _is_late(self, task: str, node: str | None, now: float) -> bool:
        """Return whether *task*, which the run knows, does not run on *node*; a note
        says so. Without a node nothing can be said.
        """
        if node is None:
            return False
        i = self._index(node)
        k = self._place.get(arguments.name(task, "task"))
        if k is None or self._running.get(k) == i:
            return False
        now = arguments.seconds(now, "now")
        said = f"{now:g} s: {task!r} does not run on {node!r}: the message is ignored"
        self.notes.add(said)
        return True

    def _arrived(self, files: Iterable[int], i: int) -> None:
        """Record that *files* are not being copied to node *i* any more, but whole."""
        for f in files:
            self._arriving[i].pop(f, None)

    def _fails(self, k: int) -> list[str]:
        """Let running task *k* wait again, and end the copies to its node that only it
        needed; copies from there are then without a source. Return its id, and those of
        ended tasks that write its lost inputs again.
        """
        i = self._running[k]
        self.ends(k, {})
        for f in self.inputs(k):
            if f in self._arriving[i] and not self._readers_on(i, f):
                self._go((f,), i)
        self._enter(self._tasks[k])
        return [self._tasks[k].id, *self._write_again(self.inputs(k))]

    def _readers_on(self, i: int, f: int) -> list[int]:
        """Return the tasks running on node *i* that read file *f*."""
        return [k for k in self._computing[i] if f in self.inputs(k)]

    def staging(self) -> list[Staging]:
        """Return the copies under way, each with the source that it has now.

        After :meth:`lost`, :meth:`evicted` and :meth:`failed` a copy may have another
        source than the one that :meth:`next` returned, because that node does not have
        the file any more; a note says so. Begin such a copy anew. A copy is under way
        until its task has ended or :meth:`staged` reports it.
        """
        return [
            Staging(
                self.nodes[i].id,
                self._files[f].id,
                self._node_id(source),
                self._is_arriving(f, source),
            )
            for i, copies in enumerate(self._arriving)
            for f, source in sorted(copies.items())
        ]

    def running(self) -> list[Running]:
        """Return the tasks that were placed and have not ended, in the order of their
        placement on each node.
        """
        return [
            Running(self._tasks[k].id, self.nodes[i].id, began)
            for i, tasks in enumerate(self._computing)
            for k, (began, _) in tasks.items()
        ]

    def evictable(self, node: str) -> Evictable:
        """Return what of the files on *node* no task that runs there reads or writes,
        and how many bytes its disk lacks.
        """
        i = self._index(node)
        used: set[int] = set()
        for k in self._computing[i]:
            used.update(self.inputs(k), self.outputs(k))
        free = {
            self._files[f].id: self._sizes[f] for f in sorted(self._holds[i] - used)
        }
        disk = self.nodes[i].disk_bytes
        over = 0 if disk is None else max(0, self._needed(i) - disk)
        return Evictable(free, over)

    def _needed(self, i: int) -> int:
        """Return the bytes of the files that are on node *i* or come there."""
        files = set(self._holds[i])
        for k in self._computing[i]:
            files.update(self.outputs(k))
        return sum(self._sizes[f] for f in files)

    def _node_id(self, i: int | None) -> str | None:
        return None if i is None else self.nodes[i].id

    def _is_arriving(self, f: int, source: int | None) -> bool:
        """Return whether *source*, a node or the storage (None), is still receiving
        file *f*.
        """
        return source is not None and f in self._arriving[source]

    def _find_sources(self) -> list[str]:
        """Give every copy under way whose source is gone another one. If there is none,
        the tasks that need the copy wait again; return their ids.
        """
        again: list[str] = []
        while (cut_off := self._cut_off()) is not None:
            i, f = cut_off
            source = self._source(f)
            if source is None and not self.on_remote(f):
                self._go((f,), i)
                for k in self._readers_on(i, f):
                    again += self._fails(k)
                continue
            self._arriving[i][f] = source
            copy = f"{self._files[f].id!r} for {self.nodes[i].id!r}"
            where = self._node_id(source) or "the storage"
            said = f"{self.now:g} s: {copy} now comes from {where}; see staging()"
            self.notes.add(said)
        return again

    def _cut_off(self) -> tuple[int, int] | None:
        """Return the node and the file of a copy that never ends, because its source
        has not got the file; None if there is none.
        """
        starved: list[tuple[int, int]] = []
        for i, copies in enumerate(self._arriving):
            starved += [(i, f) for f in sorted(copies) if not self._is_fed(i, f)]
        for i, f in starved:
            source = self._arriving[i][f]
            if source is None or f not in self._holds[source]:
                return i, f
        # The others wait for one another in a circle, in a state that was restored.
        return next(iter(starved), None)

    def _is_fed(self, i: int, f: int) -> bool:
        """Return whether the chain of sources of file *f* on node *i* ends at a node
        that has all of it, or at the storage if the file is there.
        """
        seen: set[int] = set()
        at: int | None = i
        while at is not None:
            if at in seen or f not in self._holds[at]:
                return False
            if f not in self._arriving[at]:
                return True
            seen.add(at)
            at = self._arriving[at][f]
        return self.on_remote(f)

    def withdraw(self, task: str) -> None:
        """Remove *task*, which has not been placed."""
        k = self._place.get(arguments.name(task, "task"))
        if k is None or k in self._given:
            raise StateError(f"task {task!r} does not wait")
        self._given.add(k)
        self.is_not_ready(k)
        del self._place[task]

    def observe(self, seconds: Mapping[str, float]) -> None:
        """Replace the estimated compute times of tasks, keyed by task, by better
        estimates (*seconds* on a node of speed 1).
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

    def lost(self, node: str, now: float) -> list[str]:
        """Remove *node*, and the files on it, at time *now* (seconds); return the ids
        of the tasks that wait again.

        These are the tasks that ran on the node and, if products are on nodes, those
        that wait for a copy whose source was only there, and the ended tasks of which
        an output file was only there and is still needed: a task that has not ended
        reads it, or no task has read it. The producers of other lost files run again
        once a task needs them. Copies from the node that another node was receiving get
        another source: see :meth:`staging`.
        """
        i = self._index(node)
        self._tick(now)
        self._down.add(i)
        gone = set(self._holds[i])
        self._go(gone, i)
        again: list[str] = []
        for k in [k for k, at in self._running.items() if at == i]:
            again += self._fails(k)
        again += self._find_sources()
        files = self._lose(gone)
        needed = [f for f in files if self._is_to_be_read(f) or not self._was_read(f)]
        return again + self._write_again(reversed(needed))

    def _lose(self, files: Collection[int]) -> list[int]:
        """Return those of *files* that were written and are nowhere any more, in
        ascending order; tasks that read them are not ready.
        """
        if self._stored:
            return []
        lost = [f for f in sorted(self._written.intersection(files))]
        lost = [f for f in lost if not self.copies(f)]
        self._written.difference_update(lost)
        for f in lost:
            for reader in self._readers.get(f, ()):
                self.is_not_ready(reader)
        return lost

    def back(self, node: str) -> None:
        """Let *node*, which was lost, take tasks again; its disk is then empty."""
        i = self._index(node)
        if i not in self._down:
            raise StateError(f"node {node!r} is not lost")
        self._down.discard(i)

    def joined(self, node: Mapping[str, object] | Node) -> None:
        """Add *node*, a new one, with the files that it holds; all its cores are idle.

        A dispatcher that plans ahead makes a new plan. Raises UsageError for a node
        that is known already (a lost node returns by :meth:`back`), and InstanceError
        for unknown files.
        """
        new: Node = validate(Node, node, "nodes")
        if new.id in self._node:
            raise StateError(
                f"node {new.id!r} is there already; back(node) for a lost one"
            )
        for file in new.holds:
            self._known_file(file)
        state = self.state()
        state["nodes"].append(new.model_dump(mode="json"))
        state["holds"].append(list(new.holds))
        state["arriving"].append({})
        state["idle"].append([self.now] * new.cores)
        self._begin_again(state)

    def evicted(self, node: str, file: str) -> list[str]:
        """Record that *file* is no longer on *node*; return the ids of the tasks that
        wait again, as :meth:`lost` does.

        Copies of the file that other nodes were receiving from *node* get another
        source: see :meth:`staging`.
        """
        f, i = self._known_file(file), self._index(node)
        self._go((f,), i)
        self._overfull.discard(i)
        again = self._find_sources()
        needed = [f for f in self._lose({f}) if self._is_waited_for(f)]
        return again + self._write_again(needed)

    def _is_waited_for(self, f: int) -> bool:
        """Return whether a task that has not been placed reads file *f*."""
        for reader in self._readers.get(f, ()):
            current = self._place.get(self._tasks[reader].id) == reader
            if current and reader not in self._given:
                return True
        return False

    def staged(self, node: str, file: str, size: int | None = None) -> None:
        """Record that *file* is complete on *node* now.

        A file that is new to the run needs *size*, its bytes. Raises UsageError for a
        node that is lost.
        """
        i = self._index(node)
        if i in self._down:
            raise StateError(f"node {node!r} is lost; back(node) before files on it")
        if arguments.name(file, "file") not in self._file and size is not None:
            self._add_files([{"id": file, "bytes": size}])
        f = self._known_file(file)
        self._arrived((f,), i)
        self._come((f,), i)

    def _go(self, files: Collection[int], i: int) -> None:
        super()._go(files, i)
        self._arrived(files, i)

    def _write_again(self, files: Iterable[int]) -> list[str]:
        """Let the ended tasks that wrote those of *files* that are lost wait again, and
        those whose lost files these tasks read, and so on; return their ids.
        """
        found: list[str] = []
        wanted = list(files)
        while wanted:
            f = wanted.pop()
            if f not in self._writer or f in self._written:
                continue
            task = self._tasks[self._writer[f]]
            if task.id in self._ended:
                self._ended.discard(task.id)
                self._enter(task)
                found.append(task.id)
                wanted += self.inputs(self._place[task.id])
        return found

    def _tick(self, now: float) -> None:
        self.now = max(self.now, arguments.seconds(now, "now"))

    def forget(self, task: str, files: Iterable[str] = ()) -> None:
        """Forget *task*, which has ended, its output files, and *files* that no task
        needs to read any more.

        The files are removed from all nodes, and the names of the task and the files
        may be used again. Raises UsageError while another task needs one of the files.
        """
        if task not in self._ended:
            raise StateError(f"task {task!r} has not ended")
        k = self._place[task]
        gone = {*self.outputs(k), *map(self._known_file, files)}
        for f in sorted(gone):
            written_by_another = self._writer.get(f, k) != k
            if written_by_another or self._is_to_be_read(f):
                raise StateError(
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

    def _is_to_be_read(self, f: int) -> bool:
        """Return whether a task that reads file *f* has not ended yet."""
        for reader in self._readers.get(f, ()):
            name = self._tasks[reader].id
            current = self._place.get(name) == reader
            if current and name not in self._ended:
                return True
        return False

    def _was_read(self, f: int) -> bool:
        """Return whether a task that reads file *f* has ended, forgotten or not."""
        for reader in self._readers.get(f, ()):
            name = self._tasks[reader].id
            if name in self._ended or name not in self._place:
                return True
        return False

    def _begin_again(self, state: Json) -> None:
        """Replace the content of this object by *state*, but keep its notes and the
        count of failures.
        """
        kept = {"notes": self.notes, "_dispatcher": self._dispatcher}
        vars(self).update(vars(self.restore(state)) | kept)
        self._dispatcher.begin_again(self._given)

    def state(self) -> Json:
        """Return the state of the run as plain JSON values, without the tasks and files
        that were forgotten.

        For a running task, the state has its node, its start, and the seconds that its
        staging took.
        """
        names = {f: name for name, f in self._file.items()}
        tasks: list[object] = []
        for k, task in enumerate(self._tasks):
            if self._is_kept(k, names):
                tasks.append([task.model_dump(mode="json"), self._how_far(k)])
        return {
            "network": self.network.model_dump(mode="json"),
            "nodes": [node.model_dump(mode="json") for node in self.nodes],
            "files": [self._files[f].model_dump(mode="json") for f in sorted(names)],
            "tasks": tasks,
            "written": [names[f] for f in sorted(self._written)],
            "holds": [[names[f] for f in sorted(held)] for held in self._holds],
            "arriving": [
                {names[f]: self._node_id(source) for f, source in sorted(new.items())}
                for new in self._arriving
            ],
            "idle": self._idle_since,
            "down": sorted(self._down),
            "now": self.now,
            "round": self.round,
            **self._how,
        }

    def _is_kept(self, k: int, names: Mapping[int, str]) -> bool:
        """Return whether the task at index *k* belongs to the saved state of the run.

        A task does not belong to it if the task was forgotten, or runs again at another
        index. *names* gives the names of the files that were not forgotten.
        """
        if self._place.get(self._tasks[k].id) == k:
            return True
        return any(f in names and self._writer.get(f) == k for f in self.outputs(k))

    def _how_far(self, k: int) -> object:
        """Return the progress of the task at index *k*, in the form used by
        :meth:`state`.
        """
        if k in self._running:
            node = self._running[k]
            return [node, *self._computing[node][k]]
        name = self._tasks[k].id
        if name in self._ended:
            return ENDED
        if self._place.get(name) == k:
            return WAITS
        return WITHDRAWN

    @classmethod
    def restore(cls, state: Json) -> Self:
        """Return a run in the saved *state*.

        A dispatcher that plans ahead makes a new plan. Raises InstanceError when
        *state* is not a return value of :meth:`state`.
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
        made._dispatcher.begin_again(made._given)
        return made

    def _resume(self, state: Json) -> None:
        """Bring this new run into the saved *state*.

        A damaged state raises ValueError or another error, which the caller turns into
        InstanceError.
        """
        self.now = float(state["now"])
        self.round = int(state["round"])
        tasks = [(validate(Task, given, "tasks"), how) for given, how in state["tasks"]]
        # A task that fits no node waits for one that joins.
        self._check([task for task, how in tasks if how != WITHDRAWN], room=False)
        for k, (task, how) in enumerate(tasks):
            self._resume_task(k, task, how)
        self._written = {self._known_file(name) for name in state["written"]}
        self._down = {range(len(self.nodes))[i] for i in state["down"]}
        self._idle_since = []
        for row in state["idle"]:
            self._idle_since.append([float(at) for at in row])
        for node, held, idle, busy in zip(
            self.nodes, state["holds"], self._idle_since, self._computing, strict=True
        ):
            i = self._index(node.id)
            self._go(set(self._holds[i]), i)
            self._come({self._known_file(name) for name in held}, i)
            if len(idle) + sum(self.task(k).cores for k in busy) != node.cores:
                raise ValueError(f"node {node.id!r}: cores")
        # States of earlier versions do not say which files are arriving.
        for i, copies in enumerate(state.get("arriving", ())):
            self._resume_copies(i, copies)
        for k in range(len(self._tasks)):
            self.is_not_ready(k)
            self._now_ready(k)
        self._find_sources()

    def _resume_copies(self, i: int, copies: Any) -> None:
        """Add the copies that node *i* is receiving in a saved state.

        States of earlier versions list the files without their sources. Such a file
        seems to come from its own node, so that it gets another source.
        """
        if not isinstance(copies, dict):
            copies = dict.fromkeys(copies, self.nodes[i].id)
        for name, source in copies.items():
            f = self._known_file(name)
            self._arriving[i][f] = None if source is None else self._index(source)
            if f not in self._holds[i]:
                raise ValueError(f"node {self.nodes[i].id!r}: files that arrive")

    def _resume_task(self, k: int, task: Task, how: Any) -> None:
        """Add one task of a saved state at index *k*. *how* is the progress of the
        task, as :meth:`_how_far` returned it.
        """
        if how != WAITS:
            self._given.add(k)
        self._enter(task)
        if how == ENDED:
            self._ended.add(task.id)
        elif how == WITHDRAWN:
            del self._place[task.id]
        elif how != WAITS:
            node, start, staging = how
            self._running[k] = range(len(self.nodes))[node]
            self._computing[node][k] = float(start), float(staging)

    def _check(self, added: Sequence[Task], room: bool = True) -> None:
        """Raise an ioopt error unless the tasks *added* can be added to the run.

        Their ids and files must be valid, each file must have at most one writer, and
        there must be no cycle. With *room*, each of the tasks must also fit a node.
        """
        for task in added:
            if task.id in self._place:
                raise StateError(f"tasks: {task.id!r} was submitted before")
        waiting = [self._tasks[k] for k in self._place.values() if k not in self._given]
        names: set[str] = set()
        for task in (*added, *waiting):
            names.update(task.inputs, task.outputs)
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
        """Add a task at a new index. A task that runs again also gets a new index.

        The new index is needed because dispatchers remember tasks by index.
        """
        k = self._place[task.id] = len(self._tasks)
        self._tasks.append(task)
        reads = [self._file[f] for f in task.inputs]
        writes = [self._file[f] for f in task.outputs]
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

    def _ask(self, until: Deadline, given: float | None) -> Answer:
        """Return the pair of task and node that the dispatcher chooses; past the
        deadline, the pair that ``locality`` chooses.
        """
        left = None if given is None else until.remaining()
        answer = self._dispatcher.ask(self, self._wrong, left, given)
        if answer.note is not None:
            self.notes.add(f"{self.now:g} s: {answer.note}")
        return answer

    def _wrong(self, pair: Pair | None) -> str | None:
        if pair is None or (pair[0] in self.ready and self.takes(*pair)):
            return None
        return f"task {pair[0]} on node {pair[1]}, where it may not start"

    def _give(self, k: int, i: int, policy: str) -> Placement:
        missing = [f for f in self.inputs(k) if f not in self._holds[i]]
        sources = {f: self._source(f) for f in missing}
        stage = []
        arriving = []
        for f, source in sources.items():
            name = self._files[f].id
            stage.append((name, self._node_id(source)))
            if self._is_arriving(f, source):
                arriving.append(name)
        self.give(k, i)
        self._given.add(k)
        self._arriving[i].update(sources)
        self._note_full_disk(k, i)
        task, node = self._tasks[k].id, self.nodes[i].id
        return Placement(task, node, tuple(stage), tuple(arriving), policy)

    def _source(self, f: int) -> int | None:
        """Return the first node that has file *f*; if none has all of it yet, the first
        that is receiving it and will have it; None if there is none.
        """
        nodes = [i for i, held in enumerate(self._holds) if f in held]
        whole = [i for i in nodes if f not in self._arriving[i]]
        return next((i for i in whole or nodes if self._is_fed(i, f)), None)

    def _note_full_disk(self, k: int, i: int) -> None:
        """Note that the files on node *i* exceed its disk, if the files of task *k*,
        which was just placed there, are the first that do.
        """
        disk = self.nodes[i].disk_bytes
        if disk is None:
            return
        needed = self._needed(i)
        if needed > disk and i not in self._overfull:
            said = f"the files on node {self.nodes[i].id!r} need {needed} bytes"
            said = f"{self.now:g} s: {said}, and its disk has {disk}"
            self.notes.add(f"{said}: evict some before {self._tasks[k].id!r} stages")
        if needed > disk:
            self._overfull.add(i)
        else:
            self._overfull.discard(i)

    def _runs(self, task: str) -> int:
        k = self._place.get(arguments.name(task, "task"), -1)
        if k not in self._running:
            raise StateError(f"task {task!r} is not running")
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
