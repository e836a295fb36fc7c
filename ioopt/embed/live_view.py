"""Show dispatchers the tasks, files and nodes of a real run, which an engine reports by
events.

The engine reports which tasks become ready and which have ended. A file that is being
copied to a node counts as being on that node, so that no copy is counted twice.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ioopt import registry
from ioopt.decisions.replication import Computing, Dispatcher, DispatchView, Pair
from ioopt.errors import UsageError
from ioopt.problems.replication import Network, Node, Task
from ioopt.registry.policies import NameOf

LATENCY = 0.02
"""The number of seconds between the end of a task and the arrival of the next task at
the node.

Tasks may wait on a busy node until they take this long in total.
"""


class LiveView(DispatchView):
    """Tasks, files and nodes as the engine reported them. Each is named by its index.

    With *prefetch*, one task may wait on a busy node (workflow rule 11), or several
    short tasks, and the planned end of a task includes the transfer of its inputs.
    Without it, the engine stages the inputs, and a placed task counts as computing.
    ``moved`` is the number of bytes copied for the placements so far. The last
    ``under_way`` tasks in the list were placed before the view began; policies do not
    see them.
    """

    def __init__(
        self,
        network: Network,
        nodes: tuple[Node, ...],
        prefetch: bool = False,
        now: float = 0.0,
    ) -> None:
        self.network = network
        self.nodes = nodes
        self.prefetch = prefetch
        self.now = now
        self.round = 0
        self.moved = 0
        self.under_way = 0
        self.ready: list[int] = []
        self._tasks: list[Task] = []
        self._io: list[tuple[Sequence[int], Sequence[int]]] = []
        self._sizes: list[int] = []
        self._holds: list[set[int]] = [set() for _ in nodes]
        self._places: dict[int, list[int]] = {}
        self._sends = [now] * len(nodes)
        self._receives = [now] * len(nodes)
        self._wanted_by: dict[int, set[int]] = {}
        self._running: dict[int, int] = {}
        self._computing: list[dict[int, tuple[float, float]]] = [{} for _ in nodes]
        self._waits: list[list[int]] = [[] for _ in nodes]
        self._idle_since = [[now] * node.cores for node in nodes]
        self.lost: set[int] = set()
        self.node_changes = 0

    def fill(
        self,
        tasks: Iterable[Task],
        files: Iterable[tuple[Sequence[int], Sequence[int]]],
        sizes: Iterable[int],
        holds: Iterable[Collection[int]],
    ) -> None:
        """Initialise the view.

        *files* gives, for each of *tasks*, the files that it reads and the files that
        it writes. *sizes* gives the bytes of each file, and *holds*, for each node, the
        files on it.
        """
        self._tasks = list(tasks)
        self._io = list(files)
        self._sizes = list(sizes)
        for i, held in enumerate(holds):
            self._come(held, i)

    def becomes_ready(self, k: int) -> None:
        """Record that task *k* is ready, because all its input files exist."""
        insort(self.ready, k)
        for f in self.inputs(k):
            self._wanted_by.setdefault(f, set()).add(k)

    def is_not_ready(self, k: int) -> None:
        """Record that task *k* is not ready: it was placed or withdrawn, or one of its
        input files no longer exists.
        """
        at = bisect_left(self.ready, k)
        if self.ready[at : at + 1] == [k]:
            del self.ready[at]
            for f in self.inputs(k):
                self._wanted_by[f].discard(k)

    def expect(self, k: int, seconds: float, size: int) -> None:
        """Replace the estimates of task *k*: it takes *seconds*, and each of its output
        files has *size* bytes.
        """
        self._tasks[k] = self._tasks[k].model_copy(update={"compute_seconds": seconds})
        for f in self.outputs(k):
            self._sizes[f] = size

    def ends(self, k: int, sizes: Mapping[int, int]) -> None:
        """Record that task *k* has ended or was removed. *sizes* gives the bytes of
        each file that it wrote, keyed by file.
        """
        i = self._running.pop(k)
        waiting = self._waits[i]
        if k in waiting:
            waiting.remove(k)
        else:
            del self._computing[i][k]
            self._idle_since[i] += [self.now] * self.task(k).cores
        for f, size in sizes.items():
            self._sizes[f] = size
        self._come(sizes, i)
        while waiting and self.idles_for(waiting[0], i):
            self._starts(waiting.pop(0), i, 0.0)

    def ask(self, dispatcher: Dispatcher) -> Pair | None:
        """Ask *dispatcher* for a task and a node. Place the task on the node and return
        both; None if no task starts now.
        """
        if not self.ready:
            return None
        pair = dispatcher(self)
        if pair is not None:
            self.give(*pair)
        return pair

    def give(self, k: int, i: int) -> None:
        """Place task *k* on node *i*, and record that its missing inputs are copied to
        the node.
        """
        self.is_not_ready(k)
        staging = self.staging_seconds(k, i)
        self.moved += self._stage(self.inputs(k), i)
        self._running[k] = i
        if not self.prefetch:
            staging = 0.0
        if self.idles_for(k, i):
            self._starts(k, i, staging)
        else:
            self._waits[i].append(k)

    def _stage(self, files: Collection[int], i: int) -> int:
        """Record that the files missing on node *i* are copied there, each from the
        first node that has it.

        Returns the number of bytes that are copied.
        """
        new = [f for f in files if f not in self._holds[i]]
        for f in new:
            seconds = self._sizes[f] / self.network.replica_bytes_per_second
            self._receives[i] = max(self.now, self._receives[i]) + seconds
            for j in self._places.get(f, ())[:1]:
                self._sends[j] = max(self.now, self._sends[j]) + seconds
        self._come(new, i)
        return sum(self._sizes[f] for f in new)

    def _come(self, files: Collection[int], i: int) -> None:
        """Record that *files* are on node *i* or being copied to it."""
        for f in files:
            if f not in self._holds[i]:
                self._holds[i].add(f)
                self._places.setdefault(f, []).append(i)

    def _go(self, files: Collection[int], i: int) -> None:
        for f in self._holds[i].intersection(files):
            self._places[f].remove(i)
        self._holds[i].difference_update(files)

    def _starts(self, k: int, i: int, staging: float) -> None:
        del self._idle_since[i][: self.task(k).cores]
        self._computing[i][k] = self.now, staging

    def at_rest(self) -> bool:
        """Return whether all placed tasks have ended."""
        return not self._running

    def released(self) -> Sequence[int]:
        """Return the indices of all tasks except those placed before the view began."""
        return range(len(self._tasks) - self.under_way)

    def task(self, k: int) -> Task:
        """Return the task at position *k*."""
        return self._tasks[k]

    def inputs(self, k: int) -> Sequence[int]:
        """Return the files that task *k* reads."""
        return self._io[k][0]

    def outputs(self, k: int) -> Sequence[int]:
        """Return the files that task *k* writes."""
        return self._io[k][1]

    def size(self, f: int) -> int:
        """Return the number of bytes of file *f*, which is an estimate until the file
        is written.
        """
        return self._sizes[f]

    def holds(self, i: int, f: int) -> bool:
        """Return whether file *f* is on node *i* or being copied to it."""
        return f in self._holds[i]

    def complete(self, i: int) -> Sequence[int]:
        """Return the files that are on node *i* or being copied to it."""
        return list(self._holds[i])

    def ready_readers(self, f: int) -> Collection[int]:
        """Return the ready tasks that read file *f*."""
        return self._wanted_by.get(f, ())

    def copies(self, f: int) -> int:
        """Return the number of nodes that hold file *f* or to which it is being
        copied.
        """
        return len(self._places.get(f, ()))

    def staging_seconds(self, k: int, i: int) -> float:
        """Return the number of seconds until all inputs of task *k* are on node *i*, if
        their copies start after all earlier copies.
        """
        sent: dict[int, float] = {}
        rate = self.network.replica_bytes_per_second
        total = 0.0
        for f in self.inputs(k):
            if f not in self._holds[i]:
                total += self._sizes[f] / rate
                for j in self._places.get(f, ())[:1]:
                    sent[j] = sent.get(j, 0.0) + self._sizes[f] / rate
        if not total:
            return 0.0
        ends = [max(self.now, self._sends[j]) + seconds for j, seconds in sent.items()]
        return max(max(self.now, self._receives[i]) + total, *ends, 0.0) - self.now

    def on_remote(self, f: int) -> bool:
        """Return False, because no file is on a remote storage; engines that have a
        storage override this.
        """
        return False

    def incoming(self, i: int) -> int | None:
        """Return None, because the engine itself decides which files it fetches."""
        return None

    def unstarted(self, i: int) -> int | None:
        """Return the last task that waits on the busy node *i*; None if another task
        may be placed there.

        Another task may be placed while the waiting tasks take less than
        :data:`LATENCY` in total.
        """
        waiting = self._waits[i]
        tasks = [self.task(k) for k in waiting]
        seconds = [task.overhead_seconds + task.compute_seconds for task in tasks]
        if sum(seconds) < LATENCY:
            return None
        return waiting[-1]

    def computing(self, i: int) -> Sequence[Computing]:
        """Return the tasks that compute on node *i*, with their starts and planned
        ends. A planned end in the past is replaced by the present time.
        """
        speed = self.nodes[i].speed
        rows = []
        for k, (start, staging) in sorted(self._computing[i].items()):
            task = self.task(k)
            busy = task.overhead_seconds + task.compute_seconds / speed
            end = start + (staging + busy)
            rows.append(Computing(k, start, max(self.now, end)))
        return rows

    def idle_cores(self, i: int) -> int:
        """Return the number of idle cores of node *i*, which is 0 for a lost node."""
        if i in self.lost:
            return 0
        return len(self._idle_since[i])

    def core_times(self, i: int) -> Sequence[float]:
        """Return one time in seconds for each core of node *i*, in ascending order: the
        time since which the core is idle, or the planned end of its task.
        """
        if i in self.lost:
            return [math.inf] * self.nodes[i].cores
        times = list(self._idle_since[i])
        for row in self.computing(i):
            times += [row.end_seconds] * self.task(row.task).cores
        return sorted(times)

    def fits(self, k: int, i: int) -> bool:
        """Return whether node *i* is in use and has enough cores, memory and disk for
        task *k*.
        """
        node = self.nodes[i]
        task = self.task(k)
        if i in self.lost or task.cores > node.cores:
            return False
        if node.memory_bytes is not None and task.memory_bytes > node.memory_bytes:
            return False
        if node.disk_bytes is None:
            return True
        reads, writes = self._io[k]
        return sum(self._sizes[f] for f in (*reads, *writes)) <= node.disk_bytes


def make_dispatcher(
    policy: str | Callable[[], Dispatcher], settings: Mapping[str, object] | None
) -> Dispatcher:
    """Return a new dispatcher. *policy* is the name of a replication solver, whose
    *settings* may be given, or a function that makes a dispatcher.

    Raises UsageError for a solver that cannot decide while tasks run.
    """
    if callable(policy):
        return policy()
    kind = registry.KINDS["replication"]
    row = registry.solver(policy, kind)
    if row.policy is None:
        able = ", ".join(NameOf(kind.kind).names())
        raise UsageError(f"{policy!r} cannot decide while tasks run; use {able}")
    made: Dispatcher = row.make_policy(registry.settings_for(row, settings or {}))
    return made
