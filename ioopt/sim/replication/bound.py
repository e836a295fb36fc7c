"""Follow a bound plan: the graph of its actions, and the state of a run of it.

A bound plan states every transfer, save and eviction (timeline rule 12). A run of it
decides nothing: an action starts as soon as what it waits for has happened. The graph
of a plan therefore serves the simulator and an executor on a real cluster alike:

    graph = graph_of(problem, plan)
    run = BoundRun(graph)
    while not run.is_over():
        for action in run.ready(seconds()):
            run.started(action)
            ...                        # begin graph.actions[action]
        ...                            # wait until an action ends, or a task arrives
        run.ended(action)

Nothing here knows how long an action takes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import inf
from typing import Literal

from ioopt.errors import NotApplicableError, SimulationError
from ioopt.problems.base import find_cycle
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.simulate import Entries, require_place

ActionKind = Literal["task", "copy entry", "transfer", "save", "eviction"]
REMOTE = -1
"""Stands for the remote storage where a node is expected."""
NONE = -1
"""Stands for no task, no file and no row."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a bound plan, with what it waits for; nodes, tasks and files are
    indices in the problem.

    ``node`` does it: it runs the task or the copy entry, receives the transfer, sends
    the save, or evicts. ``task``: the task (of a task alone). ``file``: the file that
    is moved or evicted, or that the copy entry asks for. ``source``: the node from
    which a transfer comes, or ``REMOTE``. ``row``: the row of ``plan.moves`` or of
    ``plan.evictions``, or the number of a copy entry among those of all queues, one
    queue after the other. ``cores`` and ``memory``: idle cores and free bytes of memory
    that it needs. ``release_seconds``: not before this time.

    It may start once the actions ``after_end`` have ended and the actions
    ``after_start`` have started. An eviction and a copy entry take no time.
    """

    kind: ActionKind
    node: int
    task: int = NONE
    file: int = NONE
    source: int = NONE
    row: int = NONE
    cores: int = 0
    memory: int = 0
    release_seconds: float = 0.0
    after_end: tuple[int, ...] = ()
    after_start: tuple[int, ...] = ()


@dataclass(frozen=True)
class BoundGraph:
    """The actions of a bound plan, each after all actions that it waits for.

    ``cores``, ``slots`` and ``memory`` are, for each node, the number of cores, the
    number of files that it can receive at once, and the bytes of memory (infinite
    without a limit).
    """

    problem: ReplicationProblem
    actions: tuple[Action, ...]
    cores: tuple[int, ...]
    slots: tuple[int, ...]
    memory: tuple[float, ...]

    def name(self, number: int) -> str:
        """Return how messages call an action."""
        return name_of(self.problem, self.actions[number])


class BoundRun:
    """The state of one run of a bound plan: what has started, and what may start.

    ``started`` and ``ended`` must be told of every action, evictions and copy entries
    too.
    """

    def __init__(self, graph: BoundGraph) -> None:
        self.graph = graph
        self._idle = list(graph.cores)
        self._free_slots = list(graph.slots)
        self._free_memory = list(graph.memory)
        self._waits: list[int] = []
        self._at_start: list[list[int]] = [[] for _ in graph.actions]
        self._at_end: list[list[int]] = [[] for _ in graph.actions]
        self._open: set[int] = set()
        self._running: set[int] = set()
        self._left = len(graph.actions)
        for number, action in enumerate(graph.actions):
            self._waits.append(len(action.after_end) + len(action.after_start))
            for other in action.after_end:
                self._at_end[other].append(number)
            for other in action.after_start:
                self._at_start[other].append(number)
            if not self._waits[number]:
                self._open.add(number)

    def is_over(self) -> bool:
        """Return whether every action has ended."""
        return self._left == 0

    def ready(self, seconds: float) -> list[int]:
        """Return the numbers of all actions that may start at the time *seconds*.

        All of them may start together: each node has at most one next task and one
        next transfer.
        """
        return [n for n in sorted(self._open) if self._may_start(n, seconds)]

    def _may_start(self, number: int, seconds: float) -> bool:
        """Return whether an action that waits for no other one may start now."""
        action = self.graph.actions[number]
        if action.release_seconds > seconds:
            return False
        if action.kind == "transfer":
            return self._free_slots[action.node] > 0
        if action.memory > self._free_memory[action.node]:
            return False
        return action.cores <= self._idle[action.node]

    def next_release(self, seconds: float) -> float | None:
        """Return the first time after *seconds* at which the arrival of a task lets an
        action start that waits for nothing else; None if there is none.
        """
        actions = self.graph.actions
        later = [actions[n].release_seconds for n in self._open]
        return min((time for time in later if time > seconds), default=None)

    def started(self, number: int) -> None:
        """Note that an action has started; *number* came from :meth:`ready`."""
        if number not in self._open:
            raise ValueError(f"{self.graph.name(number)} cannot start now")
        action = self.graph.actions[number]
        self._open.remove(number)
        self._running.add(number)
        self._idle[action.node] -= action.cores
        self._free_memory[action.node] -= action.memory
        if action.kind == "transfer":
            self._free_slots[action.node] -= 1
        self._happened(self._at_start[number])

    def ended(self, number: int) -> None:
        """Note that an action that had started has ended."""
        if number not in self._running:
            raise ValueError(f"{self.graph.name(number)} has not started")
        action = self.graph.actions[number]
        self._running.remove(number)
        self._left -= 1
        self._idle[action.node] += action.cores
        self._free_memory[action.node] += action.memory
        if action.kind == "transfer":
            self._free_slots[action.node] += 1
        self._happened(self._at_end[number])

    def _happened(self, waiting: Sequence[int]) -> None:
        """Note that each of *waiting* has one thing less to wait for."""
        for number in waiting:
            self._waits[number] -= 1
            if not self._waits[number]:
                self._open.add(number)


def graph_of(problem: ReplicationProblem, plan: ReplicationPlan) -> BoundGraph:
    """Return the graph of a bound plan.

    Raises SimulationError, with the row, the file and what to do, for a plan that
    cannot be carried out: unknown names, a file that is not where the plan needs it, a
    disk that would overflow, or actions that wait for each other. Raises
    NotApplicableError for rules that a graph does not state.
    """
    require_bindable(problem)
    return _Builder(problem, plan).graph()


def require_bindable(problem: ReplicationProblem) -> None:
    """Raise NotApplicableError if no plan of *problem* can be bound: its files are on
    shared storage, or its tasks use the disks of their nodes.
    """
    if problem.is_shared:
        raise NotApplicableError(
            "a bound plan does not know products on shared storage; leave "
            "moves=schedule out"
        )
    if problem.task_disk:
        raise NotApplicableError(
            "a bound plan does not know task_disk, the use of disks by tasks that "
            "compute; leave moves=schedule out"
        )


@dataclass(slots=True)
class _Stay:
    """One stay of a file on the disk of a node.

    ``begun``: the action that brings or writes the file, ``NONE`` if it is held at 0.
    ``row``: the row of the transfer that brings it, ``NONE`` if none does. ``users``:
    the actions that read the file here or send it from here.
    """

    begun: int
    row: int = NONE
    users: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Move:
    """A row of ``plan.moves`` with indices: ``receiver`` is ``REMOTE`` for a save."""

    receiver: int
    file: int
    source: int

    def node(self) -> int:
        """Return the node whose order has the move: the receiving or saving one."""
        return self.source if self.receiver == REMOTE else self.receiver


class _Builder:
    """Build the graph of a bound plan.

    Actions get numbers as they are found: first the entries of queues, by their
    numbers in :class:`Entries`, then the moves, then the evictions. Each node has a
    line of its entries and moves in the order of their starts.
    """

    def __init__(self, problem: ReplicationProblem, plan: ReplicationPlan) -> None:
        self.problem = problem
        self.plan = plan
        self.entries = Entries.of(problem, plan)
        self.queues = self.entries.queues
        self.num_entries = len(self.entries.names)
        self.inputs = [*problem.inputs, *((f,) for f in self.entries.copy_files)]
        nothing: tuple[int, ...] = ()
        self.outputs = [*problem.outputs, *(nothing for _ in self.entries.copy_files)]
        self.moves = [self._move(n) for n in range(len(plan.bound_moves or ()))]
        self.after = self._after()
        self.incoming: list[list[int]] = [[] for _ in self.queues]
        self.saves: list[list[int]] = [[] for _ in self.queues]
        for row, move in enumerate(self.moves):
            rows = self.saves if move.receiver == REMOTE else self.incoming
            rows[move.node()].append(row)
        self.lines = [self._line(i) for i in range(len(self.queues))]
        self.evictions = self._evictions()
        total = self.num_entries + len(self.moves) + len(plan.evictions)
        self.after_end: list[set[int]] = [set() for _ in range(total)]
        self.after_start: list[set[int]] = [set() for _ in range(total)]
        self.release = [0.0] * total
        self.stays: dict[tuple[int, int], list[_Stay]] = defaultdict(list)
        self.gone: list[list[tuple[int, _Stay]]] = [[] for _ in problem.nodes]

    def graph(self) -> BoundGraph:
        """Return the graph."""
        for i in range(len(self.problem.nodes)):
            self._settle(i)
        self._send()
        for i in range(len(self.problem.nodes)):
            self._keep_order(i)
            self._evict(i)
        return self._sorted()

    def _move(self, row: int) -> _Move:
        """Return row *row* of the plan's moves, with indices."""
        assert self.plan.bound_moves is not None
        receiver, name, source = self.plan.bound_moves[row]
        where = f"moves[{row}]"
        nodes = self.problem.node_index
        file = require_place("file", name, self.problem.file_index, where)
        end = start = REMOTE
        if receiver is not None:
            end = require_place("node", receiver, nodes, where)
        if source is not None:
            start = require_place("node", source, nodes, where)
        if start == end:
            text = f"{where}: {name} moves from {source or 'the remote storage'} to "
            raise SimulationError(f"{text}{receiver or 'the remote storage'}")
        if end == REMOTE and self.problem.producer[file] < 0:
            raise SimulationError(
                f"{where}: {name} is written by no task, so it cannot be saved"
            )
        return _Move(end, file, start)

    def _after(self) -> list[int]:
        """Return, for each move, the number of entries of its node that start before
        it: as the plan says, or else by the first entry that reads the file.
        """
        if self.plan.moves_after is None:
            return self._after_by_queue()
        latest: dict[tuple[int, bool], int] = defaultdict(int)
        for row, (move, after) in enumerate(
            zip(self.moves, self.plan.moves_after, strict=True)
        ):
            node = self.problem.nodes[move.node()].id
            queue = self.queues[move.node()]
            key = move.node(), move.receiver == REMOTE
            if after > len(queue):
                raise SimulationError(
                    f"moves_after[{row}]: {after} entries, but the queue of {node} has "
                    f"{len(queue)}"
                )
            if after < latest[key]:
                raise SimulationError(
                    f"moves_after[{row}]: {after} comes after {latest[key]} in the "
                    f"order of {node}; give the moves of a node in order"
                )
            latest[key] = after
        return list(self.plan.moves_after)

    def _after_by_queue(self) -> list[int]:
        """Return the number of entries before each move if the plan does not say it.

        A file comes once the entry before its next reader has started, as in timeline
        rule 1; a file without a reader comes as soon as the moves before it let it. A
        save waits for no more than its file.
        """
        latest = [0] * len(self.queues)
        found = []
        for move in self.moves:
            if move.receiver == REMOTE:
                found.append(0)
                continue
            i = move.receiver
            for place in range(latest[i], len(self.queues[i])):
                if move.file in self.inputs[self.queues[i][place]]:
                    latest[i] = place
                    break
            found.append(latest[i])
        return found

    def _line(self, i: int) -> dict[int, int]:
        """Return the places of the entries of node *i* and of the moves to it in the
        order of their starts, keyed by the number of the action.
        """
        line: list[int] = []
        rows = self.incoming[i]
        moved = 0
        for place, entry in enumerate(self.queues[i]):
            while moved < len(rows) and self.after[rows[moved]] <= place:
                line.append(self.num_entries + rows[moved])
                moved += 1
            line.append(entry)
        line += [self.num_entries + row for row in rows[moved:]]
        return {number: place for place, number in enumerate(line)}

    def _evictions(self) -> dict[int, list[int]]:
        """Return the rows of evictions by the action that needs their room.

        Those that no action needs have the key ``-1 - node``.
        """
        found: dict[int, list[int]] = defaultdict(list)
        for row, (node, file, before) in enumerate(self.plan.evictions):
            where = f"evictions[{row}]"
            i = require_place("node", node, self.problem.node_index, where)
            require_place("file", file, self.problem.file_index, where)
            if before is None:
                found[-1 - i].append(row)
                continue
            if isinstance(before, str):
                key = require_place("task", before, self.problem.task_index, where)
            elif before < len(self.moves):
                key = self.num_entries + before
            else:
                raise SimulationError(
                    f"{where}: there is no moves[{before}], the plan has "
                    f"{len(self.moves)} moves"
                )
            if key not in self.lines[i]:
                raise SimulationError(
                    f"{where}: {self._name(key)} takes no room on {node}"
                )
            found[key].append(row)
        return found

    def _settle(self, i: int) -> None:
        """Follow the line of node *i*: find the stays of files on its disk and who
        reads them, and let every action wait for the room that it needs.
        """
        problem = self.problem
        node = problem.nodes[i]
        sizes = [file.bytes for file in problem.files]
        here: dict[int, _Stay] = {}
        for file in problem.holds[i]:
            here[file] = self._arrive(i, file, NONE)
        used = sum([sizes[file] for file in here])
        last_eviction = NONE
        for number in self.lines[i]:
            for row in self.evictions.get(number, ()):
                used -= sizes[self._leave(i, row, here)]
                last_eviction = self._eviction(row)
            if number < self.num_entries:
                self._read(i, number, here)
            comes = self._files_of(number)
            for file in comes:
                if file in here:
                    name = problem.files[file].id
                    raise SimulationError(
                        f"{self._name(number)}: {name} is on {node.id} already"
                    )
                here[file] = self._arrive(i, file, number)
                used += sizes[file]
            if comes and last_eviction != NONE:
                self.after_end[number].add(last_eviction)
            if node.disk_bytes is not None and used > node.disk_bytes:
                raise SimulationError(
                    f"{self._name(number)}: the files on {node.id} then take {used} "
                    f"bytes, its disk has {node.disk_bytes}; add to evictions what "
                    "leaves before"
                )
        for row in self.evictions.get(-1 - i, ()):
            self._leave(i, row, here)

    def _files_of(self, number: int) -> Sequence[int]:
        """Return the files that an entry writes, or that a move brings."""
        if number < self.num_entries:
            return self.outputs[number]
        return (self.moves[number - self.num_entries].file,)

    def _arrive(self, i: int, file: int, number: int) -> _Stay:
        """Return a new stay of *file* on node *i*, which begins with an action."""
        row = NONE
        if number >= self.num_entries:
            row = number - self.num_entries
        stay = _Stay(number, row)
        self.stays[i, file].append(stay)
        return stay

    def _leave(self, i: int, row: int, here: dict[int, _Stay]) -> int:
        """End the stay of the file that an eviction names; return the file."""
        name = self.plan.evictions[row][1]
        file = self.problem.file_index[name]
        if file not in here:
            raise SimulationError(
                f"evictions[{row}]: {name} is not on {self.problem.nodes[i].id} then"
            )
        self.gone[i].append((row, here.pop(file)))
        return file

    def _eviction(self, row: int) -> int:
        """Return the number of the action of an eviction."""
        return self.num_entries + len(self.moves) + row

    def _read(self, i: int, entry: int, here: dict[int, _Stay]) -> None:
        """Let an entry wait for the files that it reads on node *i*."""
        for file in self.inputs[entry]:
            stay = here.get(file)
            if stay is None:
                name = self.problem.files[file].id
                raise SimulationError(
                    f"{self._name(entry)} reads {name} on {self.problem.nodes[i].id}, "
                    "where it is not then; add to moves what brings it, in time"
                )
            stay.users.append(entry)
            if stay.begun != NONE:
                self.after_end[entry].add(stay.begun)
        for file in self.inputs[entry]:
            self._note_release(here[file], i, entry)
        self.release[entry] = self._arrival(entry)

    def _note_release(self, stay: _Stay, i: int, entry: int) -> None:
        """Let the transfer of a file wait for the arrival of the entry that it is for.

        That is the first reader; if the node stages files of several entries, the one
        among these that arrives first.
        """
        if stay.row == NONE:
            return
        arrival = self._arrival(entry)
        if stay.users[0] == entry:
            self.release[stay.begun] = arrival
            return
        last = self.after[stay.row] + self.problem.nodes[i].staging
        if entry in self.queues[i][self.after[stay.row] : last]:
            self.release[stay.begun] = min(self.release[stay.begun], arrival)

    def _arrival(self, entry: int) -> float:
        """Return the time in seconds at which an entry arrives: a copy entry with the
        first reader of its file.
        """
        tasks = self.problem.tasks
        if entry < len(tasks):
            return tasks[entry].release_seconds
        readers = self.problem.readers[self.inputs[entry][0]]
        return min((tasks[k].release_seconds for k in readers), default=0.0)

    def _send(self) -> None:
        """Let every move wait until its file is complete at its source, and every
        fetch of a product until the product is saved.
        """
        saved: dict[int, int] = {}
        for row, move in enumerate(self.moves):
            number = self.num_entries + row
            name = self.problem.files[move.file].id
            if move.source != REMOTE:
                stay = self._stay_before(row, move)
                stay.users.append(number)
                if stay.begun != NONE:
                    self.after_end[number].add(stay.begun)
            elif self.problem.producer[move.file] >= 0:
                if move.file not in saved:
                    raise SimulationError(
                        f"moves[{row}]: {name} comes from the remote storage, where no "
                        "earlier move saves it"
                    )
                self.after_end[number].add(saved[move.file])
            if move.receiver == REMOTE:
                if move.file in saved:
                    raise SimulationError(f"moves[{row}]: {name} is saved twice")
                saved[move.file] = number
        self._require_saved(saved)

    def _require_saved(self, saved: Container[int]) -> None:
        """Raise SimulationError unless all products that are to be kept are among the
        files *saved*.
        """
        for file, item in enumerate(self.problem.files):
            product = self.problem.producer[file] >= 0
            if item.keep and product and file not in saved:
                raise SimulationError(
                    f"moves: {item.id} is to be kept, and no move saves it; add "
                    f'[null, "{item.id}", the node that saves it]'
                )

    def _stay_before(self, row: int, move: _Move) -> _Stay:
        """Return the stay of a file at its source from which a move takes it: the last
        one that begins before the row of the move.
        """
        before = [s for s in self.stays[move.source, move.file] if s.row < row]
        if not before:
            name = self.problem.files[move.file].id
            raise SimulationError(
                f"moves[{row}]: {name} is not on {self.problem.nodes[move.source].id}, "
                "from where it should come; put the move that brings it there before"
            )
        return before[-1]

    def _keep_order(self, i: int) -> None:
        """Let entries start in the order of their queue, moves to a node in the order
        of their rows, and moves after the entries that start before them; saves go
        one after the other.
        """
        queue = self.queues[i]
        for first, second in pairwise(queue):
            self.after_start[second].add(first)
        for row in (*self.incoming[i], *self.saves[i]):
            if self.after[row] > 0:
                last = queue[self.after[row] - 1]
                self.after_start[self.num_entries + row].add(last)
        for first, second in pairwise(self.incoming[i]):
            self.after_start[self.num_entries + second].add(self.num_entries + first)
        for first, second in pairwise(self.saves[i]):
            self.after_end[self.num_entries + second].add(self.num_entries + first)

    def _evict(self, i: int) -> None:
        """Let every eviction wait for the end of all that uses the file on node *i*,
        and for the eviction before it.
        """
        before = NONE
        for row, stay in self.gone[i]:
            number = self._eviction(row)
            self.after_end[number].update(stay.users)
            if stay.begun != NONE:
                self.after_end[number].add(stay.begun)
            if before != NONE:
                self.after_end[number].add(before)
            before = number

    def _sorted(self) -> BoundGraph:
        """Return the graph, with its actions numbered anew: each after all that it
        waits for, and of those that may come next the one found first.
        """
        before = {}
        for number, ended in enumerate(self.after_end):
            before[number] = sorted(ended | self.after_start[number])
        order = _in_order(before)
        if len(order) < len(before):
            cycle = " -> ".join(map(self._name, find_cycle(before)))
            hint = ""
            if self.plan.moves_after is None:
                hint = "; say in moves_after which move starts when"
            raise SimulationError(f"moves: these wait for each other: {cycle}{hint}")
        place = {number: new for new, number in enumerate(order)}
        actions = []
        for number in order:
            ended_first = sorted([place[n] for n in self.after_end[number]])
            started_first = sorted([place[n] for n in self.after_start[number]])
            actions.append(
                replace(
                    self._action(number),
                    release_seconds=self.release[number],
                    after_end=tuple(ended_first),
                    after_start=tuple(started_first),
                )
            )
        nodes = self.problem.nodes
        return BoundGraph(
            self.problem,
            tuple(actions),
            tuple(node.cores for node in nodes),
            tuple(node.staging for node in nodes),
            tuple(
                inf if node.memory_bytes is None else node.memory_bytes
                for node in nodes
            ),
        )

    def _action(self, number: int) -> Action:
        """Return the action with a number of this builder, without what it waits
        for.
        """
        if number < len(self.problem.tasks):
            task = self.problem.tasks[number]
            return Action(
                "task",
                self.entries.owner[number],
                number,
                cores=task.cores,
                memory=task.memory_bytes,
            )
        if number < self.num_entries:
            file = self.inputs[number][0]
            node = self.entries.owner[number]
            row = number - len(self.problem.tasks)
            return Action("copy entry", node, file=file, row=row, cores=1)
        row = number - self.num_entries
        if row < len(self.moves):
            move = self.moves[row]
            if move.receiver == REMOTE:
                return Action("save", move.source, file=move.file, row=row)
            return Action(
                "transfer", move.receiver, file=move.file, source=move.source, row=row
            )
        row -= len(self.moves)
        node_id, name, _ = self.plan.evictions[row]
        node = self.problem.node_index[node_id]
        return Action("eviction", node, file=self.problem.file_index[name], row=row)

    def _name(self, number: int) -> str:
        """Return how messages call the action with a number of this builder."""
        return name_of(self.problem, self._action(number))


def _in_order(before: Mapping[int, Sequence[int]]) -> list[int]:
    """Return the keys of *before*, each after all that it waits for, and the least of
    those that may come next first; without those that wait for each other.
    """
    following: dict[int, list[int]] = defaultdict(list)
    waits = {}
    for number, others in before.items():
        waits[number] = len(others)
        for other in others:
            following[other].append(number)
    ready = [number for number, count in waits.items() if count == 0]
    heapify(ready)
    order = []
    while ready:
        number = heappop(ready)
        order.append(number)
        for other in following[number]:
            waits[other] -= 1
            if waits[other] == 0:
                heappush(ready, other)
    return order


def name_of(problem: ReplicationProblem, action: Action) -> str:
    """Return how messages call an action."""
    node = problem.nodes[action.node].id
    if action.kind == "task":
        return f"task {problem.tasks[action.task].id!r}"
    file = problem.files[action.file].id
    if action.kind == "copy entry":
        return f"the copy entry of {file} on {node}"
    if action.kind == "eviction":
        return f"evictions[{action.row}] ({file} from {node})"
    if action.kind == "save":
        return f"moves[{action.row}] ({file} from {node} to the remote storage)"
    source = "the remote storage"
    if action.source != REMOTE:
        source = problem.nodes[action.source].id
    return f"moves[{action.row}] ({file} from {source} to {node})"
