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
>>> for step in run.next(now=0.0):
...     print(step.task, step.node, step.stage, step.attempt)
t n0 (('f', None),) 1
>>> run.completed("t", now=6.0, node="n0", attempt=1)
>>> run.next(now=6.0)[0].node
'n0'
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

from ioopt import arguments
from ioopt.decisions.replication import Pair
from ioopt.embed.guard import Notes, restoring
from ioopt.embed.guarded_dispatcher import GuardedDispatcher
from ioopt.embed.live_view import make_dispatcher
from ioopt.embed.workflow_run import FileLike, WorkflowRun
from ioopt.embed.workflow_state import resumed, saved, saved_places
from ioopt.errors import InstanceError, StateError, UsageError
from ioopt.formats.native import validate_item, validate_items
from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.replication import Network, Node, Task
from ioopt.registry.policies import NameOf
from ioopt.units import counted

_COMPACT = 256
"""The least number of forgotten tasks at which the object is rebuilt without these
tasks.
"""
_MOST_ATTEMPTS = 1 << 53
STATE_VERSION = 1
"""The version of saved states. It rises when earlier releases could not read them."""


@dataclass(frozen=True)
class Placement:
    """The start of a task on a node.

    ``stage`` lists the files to copy to the node first, each as (file, source). The
    source is a node, or None for the storage. ``arriving`` names the inputs to wait
    for: files in ``stage`` whose source is still receiving them, so that their copy may
    begin only then, and files that the node is receiving already, for another task.
    With neither, the task starts now. ``policy`` is the dispatcher that decided: the
    one of the run, or ``locality`` in its place. ``attempt`` counts the starts of the
    task, from 1.
    """

    task: str
    node: str
    stage: tuple[tuple[str, str | None], ...]
    arriving: tuple[str, ...] = ()
    policy: str = ""
    attempt: int = 1


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
    """A task that was placed on ``node`` at ``since_seconds`` and has not ended;
    ``attempt`` is the number of this start.
    """

    task: str
    node: str
    since_seconds: float
    attempt: int = 1


@dataclass(frozen=True)
class Waiting:
    """A task that has not been placed, and why it waits.

    ``why`` is ``inputs`` if other tasks must write files first that it reads, ``fit``
    if no node that is there can run it, and ``turn`` if it may start once a node has
    room. ``detail`` is the reason for people; empty text for ``turn``.
    """

    task: str
    why: Literal["inputs", "fit", "turn"]
    detail: str = ""


@dataclass(frozen=True)
class Evictable:
    """The ``files`` of a node that may be evicted, with their bytes, in the order in
    which they should go, and the bytes by which all files there are ``over`` its disk.

    The first files are those that no waiting task reads, then those that are elsewhere
    too. Where these come to less than ``over``, files follow whose last copy the node
    has: ``runs_again`` has each of them, with the tasks that wait or run again once it
    is :meth:`~WorkflowDispatcher.evicted`. An empty list is for a result that no task
    has read: it would be lost. Products on the storage always have a copy there.
    """

    files: dict[str, int]
    over: int
    runs_again: dict[str, list[str]] = field(default_factory=dict)


class WorkflowDispatcher:
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

    ``rolling`` plans anew when tasks are submitted or ended tasks run again, when a
    node is lost, is back or joins, and when a tenth of the waiting tasks was placed
    since the last plan. A plan that was late is followed until a tenth of the waiting
    tasks is new, and ``locality`` places these. A task that :meth:`failed` keeps its
    node, as the next one there, unless it shall run elsewhere.

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
        links = validate_item(Network, network, "network")
        given = tuple(validate_items(Node, nodes, "nodes"))
        if products not in ("storage", "nodes"):
            raise UsageError(
                f"products: must be 'storage' or 'nodes', not {products!r:.60}"
            )
        self._how: Json = {
            "policy": policy,
            "settings": dict(settings or {}),
            "products": products,
        }
        self._run = WorkflowRun(links, given, stored=products == "storage")
        self._dispatcher = GuardedDispatcher(
            policy, lambda: make_dispatcher(policy, self._how["settings"])
        )
        self._run.add_files(files)
        for i, node in enumerate(given):
            self._run.come({self._run.known_file(f) for f in node.holds}, i)

    def __repr__(self) -> str:
        run = self._run
        nodes = counted(len(run.nodes), "node")
        held = f"{nodes}, {run.num_waiting()} waiting, {run.num_running()} running"
        return f"{type(self).__name__}({self._how['policy']}, {held})"

    @property
    def notes(self) -> Notes:
        """The last notes of the run; ``notes.new()``: those since it was last
        called.
        """
        return self._run.notes

    def submit(
        self,
        tasks: Iterable[Mapping[str, object] | Task],
        files: Iterable[FileLike] = (),
    ) -> int:
        """Add *tasks*; return the number of all tasks that have not been placed
        (:meth:`waiting` lists them).

        *files* are those that the tasks read or write and the run does not know yet. A
        task is ready once all submitted tasks that write its inputs have ended; those
        whose files were lost run again. Raises InstanceError for contradictory tasks or
        files, and UsageError for a task that fits no node.
        """
        run = self._run
        before = len(run.files)
        added = validate_items(Task, arguments.names(tasks, "tasks"), "tasks")
        try:
            run.add_files(arguments.names(files, "files"))
            run.check(added)
        except (InstanceError, UsageError):
            run.drop_files_from(before)
            raise
        for task in added:
            run.enter(task)
            run.write_again(run.inputs(run.place[task.id]))
        return run.num_waiting()

    def next(self, now: float, deadline: float | None = None) -> list[Placement]:
        """Return the tasks that start at time *now* (seconds), each with its node and
        the files to stage.

        *deadline*, in seconds, is for all decisions of the call together.
        """
        deadline = arguments.deadline(deadline)
        run = self._run
        run.tick(now)
        run.round += 1
        until = Deadline(deadline)
        placed: list[Placement] = []
        run.note_unfit()
        if not run.ready or len(run.lost) == len(run.nodes):
            return placed
        self._dispatcher.begin_call(run.given)
        while run.ready:
            left = None if deadline is None else until.remaining()
            answer = self._dispatcher.ask(run, self._wrong, left, deadline)
            if answer.note is not None:
                self.notes.add(f"{run.now:g} s: {answer.note}")
            if answer.pair is None:
                break
            placed.append(self._give(*answer.pair, answer.decided))
        return placed

    def _wrong(self, pair: Pair | None) -> str | None:
        if pair is None or (pair[0] in self._run.ready and self._run.takes(*pair)):
            return None
        return f"task {pair[0]} on node {pair[1]}, where it may not start"

    def _give(self, k: int, i: int, policy: str) -> Placement:
        """Place task *k* on node *i*, as *policy* decided."""
        run = self._run
        under_way = [f for f in run.inputs(k) if run.is_arriving(f, i)]
        copies = run.begin(k, i)
        stage = [(run.files[f].id, run.node_id(at)) for f, at in copies.items()]
        waits = [f for f, at in copies.items() if run.is_arriving(f, at)]
        arriving = [run.files[f].id for f in (*waits, *under_way)]
        task = run.task(k).id
        return Placement(
            task,
            run.nodes[i].id,
            tuple(stage),
            tuple(arriving),
            policy,
            run.attempts[task],
        )

    def completed(
        self,
        task: str,
        now: float,
        node: str | None = None,
        attempt: int | None = None,
    ) -> None:
        """Record that *task*, which was running, has ended at time *now* (seconds), and
        that its output files exist. Its inputs and outputs are then complete on its
        node, also inputs whose copy began for another task.

        With *node* and *attempt*, those of its placement, a message that is repeated or
        of another attempt changes nothing, and a note says so. Without both it raises
        StateError if *task* does not run. Raises UsageError for an unknown node.
        """
        if self._is_late(task, node, attempt, now):
            return
        run = self._run
        k = run.task_that_runs(task)
        run.tick(now)
        began = run.start_of(k)
        if now < began:
            said = f"task {task!r} ended at {now:g} s, before its start at {began:g} s"
            self.notes.add(f"{said}; it counts as ended at {run.now:g} s")
        run.succeeds(k)

    def failed(
        self,
        task: str,
        now: float,
        arrived: Collection[str] = (),
        node: str | None = None,
        attempt: int | None = None,
        elsewhere: bool = False,
    ) -> None:
        """Record that *task*, which was running, has failed at time *now* (seconds). It
        waits again; *node* and *attempt* are as for :meth:`completed`.

        With *elsewhere*, the task does not run on this node again while a node is there
        that can take it and on which it has not failed so, even if that is busy.

        Those of its inputs that were being copied to its node count as not there, and
        other nodes that copied them from there get another source (:meth:`staging`).
        Excepted are files that :meth:`staged` reported, files that another running task
        of the node reads, and the files *arrived*, which are complete on the node.
        """
        if self._is_late(task, node, attempt, now):
            return
        run = self._run
        k = run.task_that_runs(task)
        there = {run.known_file(f) for f in arguments.names(arrived, "arrived")}
        for f in sorted(there.difference(run.inputs(k))):
            raise UsageError(f"task {task!r} does not read {run.files[f].id!r}")
        run.tick(now)
        i = run.running_node(k)
        run.arrived(there, i)
        if elsewhere:
            run.avoided.setdefault(task, set()).add(i)
        run.fails(k)
        if elsewhere:
            run.failed_on.pop(run.place[task])  # it is planned anew
        run.find_sources()  # each has one: that of the copies which end

    def _is_late(
        self, task: str, node: str | None, attempt: int | None, now: float
    ) -> bool:
        """Return whether *attempt* of *task*, which the run knows, does not run on
        *node*; a note says so. What is None is not compared.
        """
        i = None if node is None else self._run.index(node)
        if attempt is not None:
            arguments.whole(attempt, "attempt", 1, _MOST_ATTEMPTS)
        k = self._run.place.get(arguments.name(task, "task"))
        if k is None or (node is None and attempt is None):
            return False
        runs_on = self._run.node_of(k)
        same_node = node is None or i == runs_on
        same_attempt = attempt is None or attempt == self._run.attempts.get(task)
        if runs_on is not None and same_node and same_attempt:
            return False
        what = repr(task) if attempt is None else f"attempt {attempt} of {task!r}"
        where = "" if node is None else f" on {node!r}"
        now = arguments.seconds(now, "now")
        said = f"{now:g} s: {what} does not run{where}: the message is ignored"
        self.notes.add(said)
        return True

    def staging(self) -> list[Staging]:
        """Return the copies under way, each with the source that it has now.

        After :meth:`lost`, :meth:`evicted` and :meth:`failed` a copy may have another
        source than the one that :meth:`next` returned, because that node does not have
        the file any more; a note says so. Begin such a copy anew. A copy is under way
        until its task has ended or :meth:`staged` reports it.
        """
        run = self._run
        return [
            Staging(
                run.nodes[i].id,
                run.files[f].id,
                run.node_id(source),
                run.is_arriving(f, source),
            )
            for i, copies in enumerate(run.arriving)
            for f, source in sorted(copies.items())
        ]

    def running(self) -> list[Running]:
        """Return the tasks that were placed and have not ended, node by node, in the
        order of their placement.
        """
        run = self._run
        found = []
        for k, i, began in run.running_tasks():
            task = run.task(k).id
            found.append(Running(task, run.nodes[i].id, began, run.attempts[task]))
        return found

    def waiting(self) -> list[Waiting]:
        """Return the tasks that have not been placed, in the order in which they were
        submitted or wait again, each with the reason.
        """
        run = self._run
        nodes = range(len(run.nodes))
        found = []
        for k in sorted(k for k in run.place.values() if k not in run.given):
            task = run.task(k).id
            lacking = run.missing(k)
            if not any(run.fits(k, i) for i in nodes):
                found.append(Waiting(task, "fit", run.why_unfit(k)))
            elif lacking:
                files = ", ".join(map(repr, lacking))
                found.append(Waiting(task, "inputs", f"not written yet: {files}"))
            else:
                found.append(Waiting(task, "turn"))
        return found

    def evictable(self, node: str) -> Evictable:
        """Return the files on *node* that may be evicted, and how many bytes its disk
        lacks.

        No task that runs on the node reads or writes these files. Evict them in their
        order until the node is not over its disk, and no further: those in
        ``runs_again`` come last, and make ended tasks run again. Ask anew after each
        change of the run.
        """
        run = self._run
        i = run.index(node)
        disk = run.nodes[i].disk_bytes
        over = 0 if disk is None else max(0, run.needed_bytes(i) - disk)
        costs = {f: run.lost_with(f, i) for f in run.unused(i)}
        order = sorted(costs, key=run.is_waited_for)
        offered = [f for f in order if costs[f] is None]
        again: dict[str, list[str]] = {}
        if sum(map(run.size, offered)) < over:
            costly = {f: cost for f in order if (cost := costs[f]) is not None}
            # A result that would be lost for good comes last.
            last = sorted(costly, key=lambda f: len(costly[f]) or math.inf)
            offered += last
            again = {run.files[f].id: costly[f] for f in last}
        files = {run.files[f].id: run.size(f) for f in offered}
        return Evictable(files, over, again)

    def withdraw(self, task: str) -> None:
        """Remove *task*, which has not been placed."""
        k = self._run.place.get(arguments.name(task, "task"))
        if k is None or k in self._run.given:
            raise StateError(f"task {task!r} does not wait")
        self._run.withdraws(k)
        self._dispatcher.must_look()

    def observe(self, seconds: Mapping[str, float]) -> None:
        """Replace the estimated compute times of tasks, keyed by task, by better
        estimates (*seconds* on a node of speed 1).
        """
        run = self._run
        found: dict[int, Task] = {}
        for name, value in seconds.items():
            if arguments.name(name, "task") not in run.place:
                raise UsageError(f"there is no task {name!r}")
            k = run.place[name]
            given = run.task(k).model_dump() | {"compute_seconds": value}
            found[k] = validate_item(Task, given, "task")
        for k, task in found.items():
            run.estimate(k, task)

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
        i = self._run.index(node)
        self._run.tick(now)
        return self._run.drop_node(i)

    def back(self, node: str) -> None:
        """Let *node*, which was lost, take tasks again; its disk is then empty."""
        i = self._run.index(node)
        if i not in self._run.lost:
            raise StateError(f"node {node!r} is not lost")
        self._run.take_back(i)

    def joined(self, node: Mapping[str, object] | Node) -> None:
        """Add *node*, a new one, with the files that it holds; all its cores are idle.

        Raises StateError for a node that is known already (a lost node returns by
        :meth:`back`), and InstanceError for unknown files.
        """
        new: Node = validate_item(Node, node, "node")
        if new.id in self._run.node:
            raise StateError(
                f"node {new.id!r} is there already; back(node) for a lost one"
            )
        for file in new.holds:
            self._run.known_file(file)
        self._run.add_node(new)

    def evicted(self, node: str, file: str) -> list[str]:
        """Record that *file* is no longer on *node*; return the ids of the tasks that
        wait again, as :meth:`lost` does.

        If products are on nodes, this was the last copy and a waiting task reads it,
        its producer is among them, and runs again (a note says so): see ``runs_again``
        of :meth:`evictable`. Copies of the file that other nodes were receiving from
        *node* get another source: see :meth:`staging`.
        """
        run = self._run
        f, i = run.known_file(file), run.index(node)
        run.go((f,), i)
        again = run.find_sources()
        needed = [f for f in run.lose({f}) if run.is_waited_for(f)]
        return again + run.write_again(needed)

    def staged(self, node: str, file: str, size: int | None = None) -> None:
        """Record that *file* is complete on *node* now. Tasks that are placed later do
        not have it in ``stage`` or ``arriving``.

        A file that is new to the run needs *size*, its bytes. Raises StateError for a
        node that is lost.
        """
        run = self._run
        i = run.index(node)
        if i in run.lost:
            raise StateError(f"node {node!r} is lost; back(node) before files on it")
        if arguments.name(file, "file") not in run.file and size is not None:
            run.add_files([{"id": file, "bytes": size}])
        f = run.known_file(file)
        run.arrived((f,), i)
        run.come((f,), i)

    def forget(self, task: str, files: Iterable[str] = ()) -> None:
        """Forget *task*, which has ended, its output files, and *files* that no task
        needs to read any more.

        The files are removed from all nodes, and the names of the task and the files
        may be used again. Raises StateError while another task needs one of the files.
        """
        run = self._run
        if task not in run.ended:
            why = "has not ended" if task in run.place else "is unknown, or forgotten"
            raise StateError(f"task {task!r} {why}")
        k = run.place[task]
        gone = {*run.outputs(k), *map(run.known_file, files)}
        for f in sorted(gone):
            written_by_another = run.writer.get(f, k) != k
            if written_by_another or run.is_to_be_read(f):
                raise StateError(
                    f"task {task!r}: file {run.files[f].id!r} is still needed"
                )
        run.forgets(k, gone)
        if run.forgotten > max(_COMPACT, run.num_entered() // 2):
            self._resume(self.state())

    def state(self) -> Json:
        """Return the state of the run as plain JSON values, without the tasks and files
        that were forgotten, and without the notes.

        It has the plan that is followed. A plan that is still being made because it is
        late is not in it, and is made anew.
        """
        places = saved_places(self._run)
        dispatcher = self._dispatcher.state(self._run.given, places)
        state = {"version": STATE_VERSION} | saved(self._run, places)
        return state | {"dispatcher": dispatcher} | self._how

    @classmethod
    def restore(cls, state: Json) -> Self:
        """Return a run in the saved *state*, which decides as the saved run would have.

        Raises InstanceError when *state* is not a return value of :meth:`state`.
        """
        with restoring("run"):
            version = state.get("version", 0)  # earlier states have none
            if version > STATE_VERSION:
                said = f"version {version}, and this ioopt reads up to {STATE_VERSION}"
                raise InstanceError(f"state: has {said}: update ioopt")
            made = cls(
                state["network"],
                (),
                policy=state["policy"],
                settings=state["settings"],
                products=state["products"],
            )
            made._resume(state)
        return made

    def _resume(self, state: Json) -> None:
        """Continue this run from the saved *state*, and keep its notes."""
        run = resumed(state, stored=self._how["products"] == "storage")
        notes = run.notes
        run.notes = self.notes
        for note in notes:
            run.notes.add(note)
        self._run = run
        # States of earlier versions have no plan.
        self._dispatcher.restore(state.get("dispatcher", {}), run.given)
