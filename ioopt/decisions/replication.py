"""Define what a dispatcher of workflows sees at run time, and what it answers (workflow
rules 11 and 12).

Tasks, files and nodes are identified by their index in the instance. A dispatcher sees
only planned times, and only tasks that have arrived. Sizes are in bytes, times in
seconds, rates in bytes per second.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

from ioopt.errors import SimulationError
from ioopt.problems.replication import (
    JUST_AFTER,
    RELATIVE_AFTER,
    CacheModel,
    Network,
    Node,
    Products,
    Task,
)

Pair = tuple[int, int]
"""Index of a task, and index of the node that is to run it."""


@dataclass(frozen=True)
class Computing:
    """A running task with its start and its planned end, which is never before the
    present time.
    """

    task: int
    start_seconds: float
    end_seconds: float


class DispatchView(ABC):
    """The state of a run at one instant, which a dispatcher may read."""

    now: float
    """Present time in seconds."""
    round: int
    """Number of rounds of completions that preceded this question within the same
    instant (workflow rule 12); 0 for the first.
    """
    prefetch: bool
    """Whether a node may be given a task while all its cores are busy."""
    products: Products = "node"
    """Where products are; if they are shared, files on a node are those in its
    cache.
    """
    cache: CacheModel | None = None
    """What enters the caches, if products are shared."""
    network: Network
    nodes: tuple[Node, ...]
    node_changes: int = 0
    """How often a node came or went since the run began."""
    lost: Collection[int] = ()
    """The nodes that are lost: they take no task, and may come back."""
    ready: Sequence[int]
    """Tasks that have arrived, are not assigned and lack no product, in the order of
    the instance.
    """

    @abstractmethod
    def released(self) -> Sequence[int]:
        """Return the indices of all tasks that have arrived."""

    def retried_on(self, k: int) -> int | None:
        """Return the node on which the attempt before of task *k*, which waits again,
        failed; None if task *k* is new or must be planned anew.
        """
        return None

    def avoids(self, k: int, i: int) -> bool:
        """Return whether task *k* shall not run on node *i*, although it could."""
        return False

    @abstractmethod
    def task(self, k: int) -> Task:
        """Return task *k*; raise KeyError if it has not arrived."""

    @abstractmethod
    def inputs(self, k: int) -> Sequence[int]:
        """Return the indices of the files that task *k* reads."""

    @abstractmethod
    def outputs(self, k: int) -> Sequence[int]:
        """Return the indices of the files that task *k*, which has arrived, writes."""

    @abstractmethod
    def size(self, f: int) -> int:
        """Return the size of file *f* in bytes."""

    @abstractmethod
    def holds(self, i: int, f: int) -> bool:
        """Return whether node *i* has a complete copy of file *f*."""

    @abstractmethod
    def complete(self, i: int) -> Sequence[int]:
        """Return the indices of the files that are complete on node *i*."""

    @abstractmethod
    def ready_readers(self, f: int) -> Collection[int]:
        """Return the indices of the ready tasks that read file *f*."""

    @abstractmethod
    def copies(self, f: int) -> int:
        """Return the number of nodes on which file *f* is complete."""

    @abstractmethod
    def on_remote(self, f: int) -> bool:
        """Return whether file *f* is on the remote storage."""

    @abstractmethod
    def incoming(self, i: int) -> int | None:
        """Return the index of a file that node *i* is receiving; None if it receives no
        file.
        """

    @abstractmethod
    def unstarted(self, i: int) -> int | None:
        """Return the index of the task that is assigned to node *i* but has not
        started; None if there is none.
        """

    @abstractmethod
    def computing(self, i: int) -> Sequence[Computing]:
        """Return the tasks that compute on node *i*, with their starts and planned
        ends.
        """

    def running(self, i: int) -> Sequence[int]:
        """Return the tasks that compute on node *i*, in ascending order."""
        return [row.task for row in self.computing(i)]

    @abstractmethod
    def idle_cores(self, i: int) -> int:
        """Return the number of idle cores of node *i*."""

    @abstractmethod
    def core_times(self, i: int) -> Sequence[float]:
        """Return one time in seconds for each core of node *i*, in ascending order.

        For an idle core it is the time since which the core is idle, for a busy core
        the planned end of its task. Cores beyond the number that all tasks together can
        use are left out.
        """

    @abstractmethod
    def fits(self, k: int, i: int) -> bool:
        """Return whether node *i* has enough cores, memory and disk space for task *k*
        (workflow rules 2 and 24).
        """

    def idle_memory(self, i: int) -> float:
        """Return the free bytes of memory of node *i*; infinity without a limit."""
        memory = self.nodes[i].memory_bytes
        if memory is None:
            return inf
        return memory - sum(
            self.task(row.task).memory_bytes for row in self.computing(i)
        )

    def idles_for(self, k: int, i: int) -> bool:
        """Return whether enough cores of node *i* are idle now for task *k*, and enough
        of its memory is free.
        """
        task = self.task(k)
        if task.cores > self.idle_cores(i):
            return False
        return task.memory_bytes == 0 or task.memory_bytes <= self.idle_memory(i)

    def core_time(self, k: int, i: int) -> float:
        """Return the planned time in seconds at which enough cores of node *i* are idle
        for task *k*, and enough memory is free (workflow rules 12 and 24).
        """
        task = self.task(k)
        idle = self.core_times(i)[task.cores - 1]
        if task.memory_bytes == 0 or self.nodes[i].memory_bytes is None:
            return idle
        return max(idle, self._memory_time(task.memory_bytes, i))

    def _memory_time(self, wanted: int, i: int) -> float:
        """Return the planned time in seconds from which the tasks that still compute
        leave *wanted* bytes of the memory of node *i*; 0 if they do so already.
        """
        free = self.idle_memory(i)
        last_first = sorted(
            self.computing(i), key=lambda row: row.end_seconds, reverse=True
        )
        free += sum(self.task(row.task).memory_bytes for row in last_first)
        for row in last_first:
            free -= self.task(row.task).memory_bytes
            if free < wanted:
                return row.end_seconds
        return 0.0

    def missing_seconds(self, k: int, i: int) -> float:
        """Return the seconds that node *i* needs to receive the inputs of task *k* that
        it lacks, at the full rate of its interface.
        """
        missing = sum(self.size(f) for f in self.inputs(k) if not self.holds(i, f))
        if self.products == "shared":
            return missing * self.shared_seconds_per_byte
        return missing / self.network.replica_bytes_per_second

    @property
    def shared_seconds_per_byte(self) -> float:
        """Return the seconds per byte of reads from shared storage and writes to it, as
        planned (workflow rule 29).
        """
        network = self.network
        slowest = min(network.remote_bytes_per_second, network.replica_bytes_per_second)
        return 1.0 / slowest

    def work_seconds(self, k: int, i: int) -> float:
        """Return the planned seconds for which task *k* holds its cores on node *i* if
        it starts now (workflow rules 23 and 29).
        """
        task = self.task(k)
        seconds = task.overhead_seconds + task.compute_seconds / self.nodes[i].speed
        if self.products == "shared":
            seconds += self.missing_seconds(k, i) + self.writing_seconds(k)
        return seconds

    def writing_seconds(self, k: int) -> float:
        """Return the planned seconds in which task *k* writes its outputs to shared
        storage; 0 if products stay on nodes.
        """
        if self.products != "shared":
            return 0.0
        written = sum(self.size(f) for f in self.outputs(k))
        return written * self.shared_seconds_per_byte

    def staging_seconds(self, k: int, i: int) -> float:
        """Return the seconds until the inputs of task *k* are on node *i*, as far as
        this is known.
        """
        return self.missing_seconds(k, i)

    def open_nodes(self) -> list[int]:
        """Return the indices of the nodes to which a task may be assigned now."""
        found = []
        for i in range(len(self.nodes)):
            has_cores = self.prefetch or self.idle_cores(i) > 0
            if has_cores and self.unstarted(i) is None:
                found.append(i)
        return found

    def takes(self, k: int, i: int) -> bool:
        """Return whether the ready task *k* may be assigned to the open node *i*
        (workflow rule 11).
        """
        if not self.fits(k, i):
            return False
        return self.prefetch or self.idles_for(k, i)


Dispatcher = Callable[[DispatchView], Pair | None]
"""Function that returns a pair (task, node) that the rules allow, or None to wait for
the next event.
"""

CLOSE = 1e-9
"""Largest difference, absolute or relative, of two values that tie."""


def least(rows: Iterable[tuple[float, Pair]]) -> Pair | None:
    """Return the pair with the least value; of pairs whose values tie, the smallest
    pair.

    >>> least([(2.0, (0, 1)), (1.0 + 1e-12, (1, 0)), (1.0, (2, 0))])
    (1, 0)
    """
    listed = list(rows)
    if not listed:
        return None
    best = min(value for value, _ in listed)
    limit = best + CLOSE * max(1.0, abs(best))
    return min(pair for value, pair in listed if value <= limit)


@dataclass
class Recorded:
    """A dispatcher that repeats the answers of a recorded run.

    ``rows`` lists the answers as (seconds, round, task, node), in order.
    """

    rows: Sequence[tuple[float, int, int, int]]
    place: int = field(default=0)

    def __call__(self, view: DispatchView) -> Pair | None:
        """Return the next recorded pair if its instant and round have come, else None.

        Raises SimulationError if the run does not reach that instant and round.
        """
        if self.place == len(self.rows):
            return None
        seconds, number, task, node = self.rows[self.place]
        slack = JUST_AFTER + RELATIVE_AFTER * seconds
        passed = view.now > seconds + slack
        if view.now < seconds - slack or (not passed and view.round < number):
            return None
        if passed or view.round > number:
            raise SimulationError(
                f"dispatches: nothing can be given at {seconds!r} s, round {number}: "
                "the run has no such instant"
            )
        self.place += 1
        return task, node
