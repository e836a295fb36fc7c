"""What a dispatcher sees of tasks that really run: the view of the simulator, moved on by events.

The instance names what is to run; the engine says what becomes ready and what has ended. A node's
files are those it holds and those on their way to it, so that no copy is counted twice.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ioopt.decisions.replication import Computing, Dispatcher, DispatchView, Pair
from ioopt.problems.replication import ReplicationProblem, Task

LATENCY = 0.02
"""Seconds for an end to be heard of and an answer to arrive: so much work may wait on a node."""


class LiveView(DispatchView):
    """The state of a run of *problem* from time *now* on; its first *count* tasks are to be given.

    The others, which a caller gives at once, were given before, and are no policy's business.
    One task may wait on a busy node (workflow rule 11, ``prefetch``), or several short ones.
    ``moved`` counts the bytes of the copies that the answers have asked for.
    """

    def __init__(
        self, problem: ReplicationProblem, now: float = 0.0, count: int | None = None
    ) -> None:
        self._released = range(len(problem.tasks) if count is None else count)
        self.problem, self.nodes, self.network = problem, problem.nodes, problem.network
        self.now, self.round, self.prefetch, self.moved = now, 0, True, 0
        self.ready: list[int] = []
        self.sizes = [file.bytes for file in problem.files]
        self.owner: dict[int, int] = {}
        self._there = [set(held) for held in problem.holds]
        self._copies = Counter(f for held in problem.holds for f in held)
        self._readers: dict[int, set[int]] = {}
        self._computing: list[dict[int, Computing]] = [{} for _ in self.nodes]
        self._waits: list[list[int]] = [[] for _ in self.nodes]
        self._idle_since = [[now] * node.cores for node in self.nodes]

    def becomes_ready(self, k: int) -> None:
        """All files of task *k* are somewhere."""
        insort(self.ready, k)
        for f in self.inputs(k):
            self._readers.setdefault(f, set()).add(k)

    def ends(self, k: int, sizes: Mapping[int, int]) -> None:
        """Task *k*, given before, has ended (or is no more); *sizes* are those of what it wrote."""
        i = self.owner.pop(k)
        if k in self._waits[i]:
            self._waits[i].remove(k)
        else:
            del self._computing[i][k]
            self._idle_since[i] += [self.now] * self.task(k).cores
        for f, size in sizes.items():
            self.sizes[f] = size
            self._comes(f, i)
        waiting = self._waits[i]
        while waiting and self.task(waiting[0]).cores <= self.idle_cores(i):
            self._starts(waiting.pop(0), i, 0.0)

    def ask(self, dispatcher: Dispatcher) -> Pair | None:
        """What *dispatcher* answers now; the view has then taken it in."""
        pair = dispatcher(self) if self.ready else None
        if pair is not None:
            self.give(*pair)
        return pair

    def give(self, k: int, i: int) -> None:
        """Task *k* goes to node *i*, and its files with it."""
        if k in self._released:
            del self.ready[bisect_left(self.ready, k)]
        staged = 0
        for f in self.inputs(k):
            self._readers.get(f, set()).discard(k)
            if f not in self._there[i]:
                staged += self.sizes[f]
                self._comes(f, i)
        self.moved += staged
        self.owner[k] = i
        if self.task(k).cores <= self.idle_cores(i):
            self._starts(k, i, staged / self.network.replica_bytes_per_second)
        else:
            self._waits[i].append(k)

    def _comes(self, f: int, i: int) -> None:
        self._copies[f] += f not in self._there[i]
        self._there[i].add(f)

    def _starts(self, k: int, i: int, staging: float) -> None:
        task, idle = self.task(k), self._idle_since[i]
        del idle[: task.cores]
        seconds = staging + task.compute_seconds / self.nodes[i].speed
        self._computing[i][k] = Computing(k, self.now, self.now + seconds)

    def at_rest(self) -> bool:
        """Whether nothing that was given is still to end."""
        return not self.owner

    def released(self) -> Sequence[int]:
        """All tasks that are or were to be given."""
        return self._released

    def task(self, k: int) -> Task:
        """A task."""
        return self.problem.tasks[k]

    def inputs(self, k: int) -> Sequence[int]:
        """The files that a task reads."""
        return self.problem.inputs[k]

    def outputs(self, k: int) -> Sequence[int]:
        """The files that a task writes."""
        return self.problem.outputs[k]

    def size(self, f: int) -> int:
        """Bytes of a file, as far as is known."""
        return self.sizes[f]

    def holds(self, i: int, f: int) -> bool:
        """Whether a file is on a node or on its way there."""
        return f in self._there[i]

    def complete(self, i: int) -> Sequence[int]:
        """The files on a node and on their way there."""
        return list(self._there[i])

    def ready_readers(self, f: int) -> Collection[int]:
        """The ready tasks that read a file."""
        return self._readers.get(f, ())

    def copies(self, f: int) -> int:
        """On how many nodes a file is or will be."""
        return self._copies[f]

    def on_remote(self, f: int) -> bool:
        """Never: all files are products."""
        return False

    def incoming(self, i: int) -> int | None:
        """Not known: the engine fetches many files at once."""
        return None

    def unstarted(self, i: int) -> int | None:
        """The last task that waits on a busy node; None while those do not fill LATENCY."""
        waiting = self._waits[i]
        short = sum(self.task(k).compute_seconds for k in waiting) < LATENCY
        return None if short else waiting[-1]

    def computing(self, i: int) -> Sequence[Computing]:
        """The tasks that compute on a node."""
        rows = sorted(self._computing[i].values(), key=lambda row: row.task)
        return [Computing(r.task, r.start_seconds, max(self.now, r.end_seconds)) for r in rows]

    def idle_cores(self, i: int) -> int:
        """How many cores of a node idle."""
        return len(self._idle_since[i])

    def core_times(self, i: int) -> Sequence[float]:
        """Per core, since when it idles, or the planned end of its task; ascending."""
        busy = [
            row.end_seconds for row in self.computing(i) for _ in range(self.task(row.task).cores)
        ]
        return sorted(busy + self._idle_since[i])

    def fits(self, k: int, i: int) -> bool:
        """Whether a node has the cores and the disk for a task."""
        return self.problem.fits(k, i)


class Follow:
    """A dispatcher that follows queues: each node takes its tasks in their order."""

    def __init__(self, queues: Sequence[Sequence[int]]) -> None:
        self._queues = [list(reversed(queue)) for queue in queues]

    def __call__(self, view: DispatchView) -> Pair | None:
        """The head of the first open node whose head is ready."""
        ready = set(view.ready)
        for i in view.open_nodes():
            queue = self._queues[i]
            if queue and queue[-1] in ready and view.takes(queue[-1], i):
                return queue.pop(), i
        return None
