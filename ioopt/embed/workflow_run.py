"""Keep the tasks, files and nodes of one run of a workflow, as the engine reported
them, for :class:`ioopt.embed.workflow.WorkflowDispatcher`.

Tasks and files have indices. A task that runs again gets a new one, because dispatchers
remember tasks by index.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from ioopt import arguments
from ioopt.embed.guard import Notes
from ioopt.embed.live_view import LiveView
from ioopt.errors import InstanceError, StateError, UsageError
from ioopt.formats.native import validate, validate_item
from ioopt.problems.base import Json
from ioopt.problems.replication import File, Network, Node, ReplicationProblem, Task
from ioopt.units import counted

FileLike = Mapping[str, object] | File
MOST_CORES = 1 << 16
"""The number of cores of the placeholder node that stands for future nodes while a run
has no node yet.
"""


class WorkflowRun(LiveView):
    """The state of a run: the view that dispatchers decide by.

    If *stored*, the outputs of ended tasks are on the storage. ``place`` has the index
    of each task that was not forgotten, and ``given`` the indices that were placed or
    withdrawn. ``attempts`` counts the placements of each task, and ``failed_on`` has
    the node where a task that waits again failed. ``arriving`` has, for each node, the
    files that it is receiving, with the node that each comes from (None: the storage);
    no chain of sources is a circle. ``overfull`` has the nodes of which a note said
    that their files exceed the disk. ``avoided`` has, for each task that shall run
    elsewhere, the nodes where it failed, and ``unfit`` the waiting tasks that fit no
    node that is there.
    """

    def __init__(self, network: Network, nodes: tuple[Node, ...], stored: bool) -> None:
        super().__init__(network, nodes)
        self.stored = stored
        self.node = {node.id: i for i, node in enumerate(nodes)}
        if len(self.node) < len(nodes):
            raise InstanceError("nodes: two of them have the same id")
        self.files: list[File] = []
        self.file: dict[str, int] = {}
        self.writer: dict[int, int] = {}
        self.readers: dict[int, set[int]] = {}
        self.written: set[int] = set()
        self.arriving: list[dict[int, int | None]] = [{} for _ in nodes]
        self.place: dict[str, int] = {}
        self.given: set[int] = set()
        self.ended: set[str] = set()
        self.attempts: dict[str, int] = {}
        self.failed_on: dict[int, int] = {}
        self.forgotten = 0
        # Tasks and files as plain JSON values, because a state is saved often.
        self.tasks_as_json: dict[int, Json] = {}
        self.files_as_json: dict[int, Json] = {}
        self.overfull: set[int] = set()
        self.avoided: dict[str, set[int]] = {}
        self.unfit: set[int] = set()
        # The nodes and tasks for which ``unfit`` was found.
        self._fitted: tuple[int, int] = (-1, 0)
        self.notes = Notes()

    # What dispatchers see.

    def on_remote(self, f: int) -> bool:
        """Return whether file *f* is on the storage."""
        return f not in self.writer or (self.stored and f in self.written)

    def retried_on(self, k: int) -> int | None:
        """Return the node on which task *k*, which waits again, failed."""
        return self.failed_on.get(k)

    def avoids(self, k: int, i: int) -> bool:
        """Return whether task *k* shall run on another node than *i*, where it failed,
        and another one that it does not avoid can take it.
        """
        avoided = self.avoided.get(self._tasks[k].id, ()) if self.avoided else ()
        if i not in avoided:
            return False
        others = [j for j in range(len(self.nodes)) if j not in avoided]
        return any(super(WorkflowRun, self).fits(k, j) for j in others)

    def fits(self, k: int, i: int) -> bool:
        """Return whether node *i* is in use, has room for task *k* and is not one that
        the task avoids.
        """
        return super().fits(k, i) and not self.avoids(k, i)

    def note_unfit(self) -> None:
        """Find the waiting tasks that fit no node that is there, and note those that
        are new among them.
        """
        changes, first = self._fitted
        known = set(self.unfit)
        if changes != self.node_changes:
            first = 0
            known = set()
        self._fitted = self.node_changes, len(self._tasks)
        nodes = range(len(self.nodes))
        for k in range(first, len(self._tasks)):
            if k not in self.given and not any(self.fits(k, i) for i in nodes):
                known.add(k)
        new = sorted(known - self.unfit)
        self.unfit = known
        if new:
            who = f"task {self._tasks[new[0]].id!r}"
            if len(new) > 1:
                who += f" and {counted(len(new) - 1, 'other')}"
            said = f"{self.now:g} s: no node that is there can run {who}"
            self.notes.add(f"{said}: see waiting()")

    def why_unfit(self, k: int) -> str:
        """Return what task *k*, which fits no node that is there, needs, and the most
        that such a node has.
        """
        there = [n for i, n in enumerate(self.nodes) if i not in self.lost]
        if not there:
            return "no node is there"
        task = self._tasks[k]
        size = sum(self._sizes[f] for f in (*self.inputs(k), *self.outputs(k)))
        rows: list[tuple[str, int, Sequence[int | None]]] = [
            ("cores", task.cores, [n.cores for n in there]),
            ("bytes of memory", task.memory_bytes, [n.memory_bytes for n in there]),
            ("bytes of disk", size, [n.disk_bytes for n in there]),
        ]
        told = []
        for what, needed, limits in rows:
            most = max(math.inf if limit is None else limit for limit in limits)
            if needed > most:
                told.append(f"needs {needed} {what}, and no node has more than {most}")
        return "; ".join(told) or "no node has all that it needs at once"

    def missing(self, k: int) -> list[str]:
        """Return the inputs of task *k* that no task has written yet."""
        lacks = [f for f in self.inputs(k) if f in self.writer]
        return [self.files[f].id for f in lacks if f not in self.written]

    # Names.

    def index(self, node: str) -> int:
        """Return the index of *node*; raise UsageError if there is none."""
        if arguments.name(node, "node") not in self.node:
            raise UsageError(
                f"there is no node {node!r}; nodes: {', '.join(self.node)}"
            )
        return self.node[node]

    def node_id(self, i: int | None) -> str | None:
        """Return the id of node *i*, and None for the storage."""
        return None if i is None else self.nodes[i].id

    def known_file(self, name: str) -> int:
        """Return the index of the file *name*; raise InstanceError if there is none."""
        if arguments.name(name, "file") not in self.file:
            raise InstanceError(f"file {name!r} is unknown")
        return self.file[name]

    def task_that_runs(self, task: str) -> int:
        """Return the index of *task*; raise StateError unless it runs."""
        k = self.place.get(arguments.name(task, "task"), -1)
        if k not in self._running:
            why = "is not running" if task in self.place else "is unknown, or forgotten"
            raise StateError(f"task {task!r} {why}")
        return k

    # Time, nodes and files.

    def tick(self, now: float) -> None:
        """Let the time be *now*, in seconds; it does not go back."""
        self.now = max(self.now, arguments.seconds(now, "now"))

    def add_node(self, node: Node) -> None:
        """Add a new node, all of whose cores are idle."""
        self.node[node.id] = i = len(self.nodes)
        self.nodes = (*self.nodes, node)
        self._holds.append(set())
        self._sends.append(self.now)
        self._receives.append(self.now)
        self._computing.append({})
        self._waits.append([])
        self._idle_since.append([self.now] * node.cores)
        self.arriving.append({})
        self.come({self.known_file(f) for f in node.holds}, i)
        self.node_changes += 1

    def drop_node(self, i: int) -> list[str]:
        """Lose node *i* with the files on it; return the ids of the tasks that wait
        again.
        """
        self.lost.add(i)
        self.node_changes += 1
        gone = set(self._holds[i])
        self.go(gone, i)
        again: list[str] = []
        for k in sorted(self._computing[i]):
            again += self.fails(k)
        again += self.find_sources()
        files = self.lose(gone)
        needed = [f for f in files if self.is_to_be_read(f) or not self._was_read(f)]
        return again + self.write_again(reversed(needed))

    def take_back(self, i: int) -> None:
        """Let node *i*, which was lost, take tasks again."""
        self.lost.discard(i)
        self.overfull.discard(i)
        self.node_changes += 1

    def add_files(self, files: Iterable[FileLike]) -> None:
        """Add *files*; those that are known must be as they were."""
        for x, given in enumerate(files):
            file = validate_item(File, given, f"files[{x}]")
            place = self.file.setdefault(file.id, len(self.files))
            if place == len(self.files):
                self.files.append(file)
                self._sizes.append(file.bytes)
            elif self.files[place] != file:
                raise InstanceError(
                    f"files[{x}] ({file.id}): is known with other bytes or storage"
                )

    def drop_files_from(self, first: int) -> None:
        """Remove the files from index *first* on, which no task reads or writes."""
        for file in self.files[first:]:
            del self.file[file.id]
        del self.files[first:], self._sizes[first:]
        for f in [f for f in self.files_as_json if f >= first]:
            del self.files_as_json[f]

    def come(self, files: Collection[int], i: int) -> None:
        """Record that *files* are on node *i* or being copied to it."""
        self._come(files, i)

    def go(self, files: Collection[int], i: int) -> None:
        """Record that *files* are no longer on node *i*."""
        self._go(files, i)
        self.arrived(files, i)

    def arrived(self, files: Iterable[int], i: int) -> None:
        """Record that *files* are not being copied to node *i* any more, but whole."""
        for f in files:
            self.arriving[i].pop(f, None)

    def lose(self, files: Collection[int]) -> list[int]:
        """Return those of *files* that were written and are nowhere any more, in
        ascending order; tasks that read them are not ready.
        """
        if self.stored:
            return []
        lost = [f for f in sorted(self.written.intersection(files))]
        lost = [f for f in lost if not self.copies(f)]
        self.written.difference_update(lost)
        for f in lost:
            self._not_there(f)
        return lost

    def _not_there(self, f: int) -> None:
        """Record that the tasks that read file *f* are not ready."""
        for reader in self.readers.get(f, ()):
            self.is_not_ready(reader)

    def unused(self, i: int) -> list[int]:
        """Return the files on node *i* that no task which runs there reads or
        writes.
        """
        used: set[int] = set()
        for k in self._computing[i]:
            used.update(self.inputs(k), self.outputs(k))
        return sorted(self._holds[i] - used)

    def needed_bytes(self, i: int) -> int:
        """Return the bytes of the files that are on node *i* or come there."""
        files = set(self._holds[i])
        for k in self._computing[i]:
            files.update(self.outputs(k))
        return sum(self._sizes[f] for f in files)

    def note_full_disk(self, k: int, i: int) -> None:
        """Note that the files on node *i* exceed its disk, if the files of task *k*,
        which was just placed there, are the first that do since the node was there.
        """
        disk = self.nodes[i].disk_bytes
        if disk is None or i in self.overfull:
            return
        needed = self.needed_bytes(i)
        if needed > disk:
            self.overfull.add(i)
            node = self.nodes[i].id
            said = f"the files on node {node!r} need {needed} bytes, and its disk has"
            said = f"{self.now:g} s: {said} {disk}: evict some before"
            said = f"{said} {self._tasks[k].id!r} stages, see evictable({node!r})"
            self.notes.add(f"{said}; not said again of this node")

    def lost_with(self, f: int, i: int) -> list[str] | None:
        """Return the tasks that wait or run again if node *i* loses file *f*, which no
        task there reads. The list is empty if they are none, but the file is a result
        that no task has read. Return None if the loss costs nothing but a copy.
        """
        others = [j for j in self._places.get(f, ()) if j != i]
        if self.on_remote(f) or any(f not in self.arriving[j] for j in others):
            return None
        cut_off = [k for j in others for k in self._readers_on(j, f)]
        names = [self._tasks[k].id for k in cut_off]
        if f not in self.written:
            return names or None
        if names or self.is_waited_for(f):
            writers = self._ended_writers((f,), lost=f)
            return names + [self._tasks[k].id for k in writers]
        return None if self._was_read(f) else []

    # Tasks.

    def check(self, added: Sequence[Task], room: bool = True) -> None:
        """Raise an ioopt error unless the tasks *added* can be added to the run.

        Their ids and files must be valid, each file must have at most one writer, and
        there must be no cycle. With *room*, each of the tasks must also fit a node.
        """
        for x, task in enumerate(added):
            self._check_names(task, f"tasks[{x}] ({task.id})")
        waiting = self._may_wait_for(added)
        names: set[str] = set()
        for task in (*added, *waiting):
            names.update(task.inputs, task.outputs)
        files = tuple(self.files[self.file[f]] for f in sorted(names))
        nodes = tuple(n.model_copy(update={"holds": ()}) for n in self.nodes)
        given: Json = {
            "name": "run",
            "network": self.network,
            "files": files,
            "nodes": nodes or (Node(id="a node to come", cores=MOST_CORES),),
            "tasks": (*added, *waiting),
        }
        problem = validate(ReplicationProblem, given, "run")
        if room:
            problem.require_room()

    def _check_names(self, task: Task, place: str) -> None:
        """Raise an ioopt error unless *task* is new, its files are known and no
        submitted task writes its outputs; *place* names it in the message.
        """
        if task.id in self.place:
            raise StateError(f"{place}: was submitted before")
        for kind, names in (("inputs", task.inputs), ("outputs", task.outputs)):
            for name in names:
                if name not in self.file:
                    raise InstanceError(
                        f"{place}.{kind}: file {name!r} is unknown; add it to 'files'"
                    )
        for name in task.outputs:
            k = self.writer.get(self.file[name])
            if k is not None:
                other = self._tasks[k].id
                raise InstanceError(
                    f"{place}.outputs: file {name!r} is written by task {other!r}"
                )

    def _may_wait_for(self, added: Sequence[Task]) -> list[Task]:
        """Return the tasks that wait, if some of them may read what *added* write, so
        that there may be a cycle; else none.
        """
        written = [self.file[name] for task in added for name in task.outputs]
        if not any(self.readers.get(f) for f in written):
            return []
        return [self._tasks[k] for k in self.place.values() if k not in self.given]

    def enter(self, task: Task) -> None:
        """Add a task, or one that runs again, at a new index."""
        k = self.place[task.id] = len(self._tasks)
        self._tasks.append(task)
        reads = [self.file[f] for f in task.inputs]
        writes = [self.file[f] for f in task.outputs]
        self._io.append((tuple(reads), tuple(writes)))
        for f in reads:
            self.readers.setdefault(f, set()).add(k)
        self.writer.update(dict.fromkeys(writes, k))
        self.written.difference_update(writes)
        for f in writes:
            self._not_there(f)
        self.now_ready(k)

    def now_ready(self, k: int) -> None:
        """Let task *k* be ready if it waits and its inputs exist."""
        there = all(f not in self.writer or f in self.written for f in self.inputs(k))
        if there and k not in self.given and k not in self.ready:
            self.becomes_ready(k)

    def succeeds(self, k: int) -> None:
        """Record that the running task *k* has ended, and that its outputs exist."""
        self.arrived((*self.inputs(k), *self.outputs(k)), self._running[k])
        self.ends(k, {f: self._sizes[f] for f in self.outputs(k)})
        self.ended.add(self._tasks[k].id)
        self.avoided.pop(self._tasks[k].id, None)
        self.written.update(self.outputs(k))
        for f in self.outputs(k):
            for reader in self.readers.get(f, ()):
                self.now_ready(reader)

    def fails(self, k: int) -> list[str]:
        """Let running task *k* wait again, and end the copies to its node that only it
        needed; copies from there are then without a source. Return its id, and those of
        ended tasks that write its lost inputs again.
        """
        i = self._running[k]
        self.ends(k, {})
        for f in self.inputs(k):
            if f in self.arriving[i] and not self._readers_on(i, f):
                self.go((f,), i)
        name = self._tasks[k].id
        self.enter(self._tasks[k])
        self.failed_on[self.place[name]] = i
        return [name, *self.write_again(self.inputs(k))]

    def withdraws(self, k: int) -> None:
        """Record that task *k*, which waits, is not wanted."""
        self.given.add(k)
        self.is_not_ready(k)
        self.failed_on.pop(k, None)
        self.avoided.pop(self._tasks[k].id, None)
        self.unfit.discard(k)
        del self.place[self._tasks[k].id]

    def forgets(self, k: int, files: Collection[int]) -> None:
        """Forget task *k*, which has ended, and *files*."""
        name = self._tasks[k].id
        del self.place[name]
        self.ended.discard(name)
        self.attempts.pop(name, None)
        self.forgotten += 1
        for f in files:
            for i in range(len(self.nodes)):
                self.go((f,), i)
            del self.file[self.files[f].id]
            self.writer.pop(f, None)
            self.written.discard(f)

    def write_again(self, files: Iterable[int]) -> list[str]:
        """Let the ended tasks that wrote those of *files* that are lost wait again, and
        those whose lost files these tasks read, and so on; note it, and return their
        ids.
        """
        found = [self._tasks[k] for k in self._ended_writers(files)]
        for task in found:
            self.ended.discard(task.id)
            self.enter(task)
        if found:
            who = repr(found[0].id)
            if len(found) > 1:
                who += f" and {counted(len(found) - 1, 'other ended task')}"
            said = f"{self.now:g} s: {who} must run again, because no node has"
            self.notes.add(f"{said} what was written and is still needed")
        return [task.id for task in found]

    def _ended_writers(
        self, files: Iterable[int], lost: int | None = None
    ) -> list[int]:
        """Return the ended tasks that must run again so that *files* exist; file *lost*
        counts as lost too.
        """
        found: list[int] = []
        wanted = list(files)
        while wanted:
            f = wanted.pop()
            if f not in self.writer or (f in self.written and f != lost):
                continue
            k = self.writer[f]
            if self._tasks[k].id in self.ended and k not in found:
                found.append(k)
                wanted += self.inputs(k)
        return found

    def is_to_be_read(self, f: int) -> bool:
        """Return whether a task that reads file *f* has not ended yet."""
        for reader in self.readers.get(f, ()):
            name = self._tasks[reader].id
            current = self.place.get(name) == reader
            if current and name not in self.ended:
                return True
        return False

    def _was_read(self, f: int) -> bool:
        """Return whether a task that reads file *f* has ended, forgotten or not."""
        for reader in self.readers.get(f, ()):
            name = self._tasks[reader].id
            if name in self.ended or name not in self.place:
                return True
        return False

    def is_waited_for(self, f: int) -> bool:
        """Return whether a task that has not been placed reads file *f*."""
        for reader in self.readers.get(f, ()):
            current = self.place.get(self._tasks[reader].id) == reader
            if current and reader not in self.given:
                return True
        return False

    def _readers_on(self, i: int, f: int) -> list[int]:
        """Return the tasks running on node *i* that read file *f*."""
        return [k for k in sorted(self._computing[i]) if f in self.inputs(k)]

    # Copies and their sources.

    def begin(self, k: int, i: int) -> dict[int, int | None]:
        """Place task *k* on node *i*; return the files to copy there, with the node
        that each comes from (None: the storage).
        """
        missing = [f for f in self.inputs(k) if f not in self._holds[i]]
        sources = {f: self._source(f) for f in missing}
        self.give(k, i)
        self.given.add(k)
        self.failed_on.pop(k, None)
        self.unfit.discard(k)
        name = self._tasks[k].id
        self.attempts[name] = self.attempts.get(name, 0) + 1
        self.arriving[i].update(sources)
        self.note_full_disk(k, i)
        return sources

    def is_arriving(self, f: int, source: int | None) -> bool:
        """Return whether *source*, a node or the storage (None), is still receiving
        file *f*.
        """
        return source is not None and f in self.arriving[source]

    def _source(self, f: int) -> int | None:
        """Return the first node that has file *f*; if none has all of it yet, the first
        that is receiving it and will have it; None if there is none.
        """
        nodes = [i for i, held in enumerate(self._holds) if f in held]
        whole = [i for i in nodes if f not in self.arriving[i]]
        return next((i for i in whole or nodes if self._is_fed(i, f)), None)

    def find_sources(self) -> list[str]:
        """Give every copy under way whose source is gone another one. If there is none,
        the tasks that need the copy wait again; return their ids.
        """
        again: list[str] = []
        while (cut_off := self._cut_off()) is not None:
            i, f = cut_off
            source = self._source(f)
            if source is None and not self.on_remote(f):
                self.go((f,), i)
                for k in self._readers_on(i, f):
                    again += self.fails(k)
                continue
            self.arriving[i][f] = source
            copy = f"{self.files[f].id!r} for {self.nodes[i].id!r}"
            where = self.node_id(source) or "the storage"
            said = f"{self.now:g} s: {copy} now comes from {where}; see staging()"
            self.notes.add(said)
        return again

    def _cut_off(self) -> tuple[int, int] | None:
        """Return the node and the file of a copy that never ends, because its source
        has not got the file; None if there is none.
        """
        starved: list[tuple[int, int]] = []
        for i, copies in enumerate(self.arriving):
            starved += [(i, f) for f in sorted(copies) if not self._is_fed(i, f)]
        for i, f in starved:
            source = self.arriving[i][f]
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
            if f not in self.arriving[at]:
                return True
            seen.add(at)
            at = self.arriving[at][f]
        return self.on_remote(f)

    # What the engine asks.

    def running_tasks(self) -> list[tuple[int, int, float]]:
        """Return the tasks that run, as (task, node, start in seconds): node by node,
        in the order of their starts.
        """
        rows = []
        for i, tasks in enumerate(self._computing):
            rows += sorted((began, k, i) for k, (began, _) in tasks.items())
        return [(k, i, began) for began, k, i in rows]

    def node_of(self, k: int) -> int | None:
        """Return the node on which task *k* runs; None if it does not run."""
        return self._running.get(k)

    def running_node(self, k: int) -> int:
        """Return the node of task *k*, which runs."""
        return self._running[k]

    def start_of(self, k: int) -> float:
        """Return the time, in seconds, at which the running task *k* was placed."""
        return self._computing[self._running[k]][k][0]

    def estimate(self, k: int, task: Task) -> None:
        """Replace task *k* by *task*, which differs in its compute time."""
        self._tasks[k] = task
        self.tasks_as_json.pop(k, None)

    def task_as_json(self, k: int) -> Json:
        """Return task *k* as plain JSON values."""
        if k not in self.tasks_as_json:
            self.tasks_as_json[k] = self._tasks[k].model_dump(mode="json")
        return dict(self.tasks_as_json[k])

    def file_as_json(self, f: int) -> Json:
        """Return file *f* as plain JSON values."""
        if f not in self.files_as_json:
            self.files_as_json[f] = self.files[f].model_dump(mode="json")
        return dict(self.files_as_json[f])

    def num_waiting(self) -> int:
        """Return the number of tasks that have not been placed."""
        return len(self._tasks) - len(self.given)

    def num_running(self) -> int:
        """Return the number of tasks that run."""
        return len(self._running)

    def num_entered(self) -> int:
        """Return the number of indices of tasks, with those that are in use no more."""
        return len(self._tasks)
