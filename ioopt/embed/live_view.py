"""What a dispatcher sees of a run that an engine carries out (workflow rule 11)."""

import math
from collections.abc import Collection, Sequence
from operator import attrgetter

from ioopt.decisions.replication import Computing, DispatchView
from ioopt.problems.replication import File, Network, Node, Task


class LiveView(DispatchView):
    """Tasks, files and nodes as the engine told of them, by position.

    What is placed counts as computing from then on, and its inputs as complete: the engine stages.
    *stored*: what tasks write is on the storage once they have ended.
    """

    prefetch = False

    def __init__(self, network: Network, nodes: tuple[Node, ...], stored: bool) -> None:
        self.network, self.nodes, self._stored = network, nodes, stored
        self._files: list[File] = []
        self._writer: dict[int, int] = {}
        self._readers: dict[int, set[int]] = {}
        self._written: set[int] = set()
        self._holds: list[set[int]] = [set() for _ in nodes]
        self._tasks: list[Task] = []
        self._io: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self.ready: list[int] = []
        self._running: dict[int, tuple[int, float]] = {}
        self._down: set[int] = set()
        self.now, self.round = 0.0, 0

    def released(self) -> Sequence[int]:
        """All tasks."""
        return range(len(self._tasks))

    def task(self, k: int) -> Task:
        """A task."""
        return self._tasks[k]

    def inputs(self, k: int) -> Sequence[int]:
        """The files that a task reads."""
        return self._io[k][0]

    def outputs(self, k: int) -> Sequence[int]:
        """The files that a task writes."""
        return self._io[k][1]

    def size(self, f: int) -> int:
        """Bytes of a file."""
        return self._files[f].bytes

    def holds(self, i: int, f: int) -> bool:
        """Whether a file is on a node, or on its way there."""
        return f in self._holds[i]

    def complete(self, i: int) -> Sequence[int]:
        """The files of a node."""
        return sorted(self._holds[i])

    def ready_readers(self, f: int) -> Collection[int]:
        """The ready tasks that read a file."""
        return self._readers.get(f, set()).intersection(self.ready)

    def copies(self, f: int) -> int:
        """On how many nodes a file is."""
        return sum(f in held for held in self._holds)

    def on_remote(self, f: int) -> bool:
        """Whether a file is on the storage."""
        return f not in self._writer or (self._stored and f in self._written)

    def incoming(self, i: int) -> int | None:
        """None: the engine stages."""
        return None

    def unstarted(self, i: int) -> int | None:
        """None: what is placed counts as computing."""
        return None

    def computing(self, i: int) -> Sequence[Computing]:
        """The tasks of a node; one past its planned time ends now."""
        rows = [(k, start) for k, (where, start) in self._running.items() if where == i]
        speed = self.nodes[i].speed
        ends = [max(self.now, t + self._tasks[k].compute_seconds / speed) for k, t in rows]
        return sorted(
            (Computing(k, start, end) for (k, start), end in zip(rows, ends)),
            key=attrgetter("task"),
        )

    def idle_cores(self, i: int) -> int:
        """Cores of a node that idle; none of a node that is lost."""
        busy = sum(self._tasks[k].cores for k, (at, _) in self._running.items() if at == i)
        return 0 if i in self._down else self.nodes[i].cores - busy

    def core_times(self, i: int) -> Sequence[float]:
        """Per core the planned end of its task, or now; ascending."""
        if i in self._down:
            return [math.inf] * self.nodes[i].cores
        rows = self.computing(i)
        ends = [row.end_seconds for row in rows for _ in range(self._tasks[row.task].cores)]
        return [self.now] * self.idle_cores(i) + sorted(ends)

    def fits(self, k: int, i: int) -> bool:
        """Whether a node has the cores and the disk for a task."""
        disk = self.nodes[i].disk_bytes
        room = disk is None or sum(self._files[f].bytes for row in self._io[k] for f in row) <= disk
        return i not in self._down and room and self._tasks[k].cores <= self.nodes[i].cores
