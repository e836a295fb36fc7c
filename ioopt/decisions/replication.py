"""Define the view of a dispatcher of workflows at run time, and its answers (workflow
rules 11 and 12).

Tasks, files and nodes are named by their position in the instance. A dispatcher sees
only planned times, and only tasks that have arrived. Sizes are bytes, times seconds,
rates bytes per second.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from ioopt.errors import SimulationError
from ioopt.problems.replication import JUST_AFTER, RELATIVE_AFTER, Network, Node, Task

Pair = tuple[int, int]
"""A task and the node that is to run it."""


@dataclass(frozen=True)
class Computing:
    """A running task: its start, and its end if the planned time is right.

    The end is never before now.
    """

    task: int
    start_seconds: float
    end_seconds: float


class DispatchView(ABC):
    """The state of a run at one instant; read-only."""

    now: float
    """The time in seconds."""
    round: int
    """How many completions at this instant preceded this question; 0 for the first
    question (workflow rule 12).
    """
    prefetch: bool
    """Whether a node may be given a task while its cores are busy."""
    network: Network
    nodes: tuple[Node, ...]
    ready: Sequence[int]
    """Tasks that have arrived, are not assigned and lack no product, in the order of
    the file.
    """

    @abstractmethod
    def released(self) -> Sequence[int]:
        """Return all tasks that have arrived."""

    @abstractmethod
    def task(self, k: int) -> Task:
        """Return a task that has arrived; KeyError for one that has not."""

    @abstractmethod
    def inputs(self, k: int) -> Sequence[int]:
        """Return the files that a task reads."""

    @abstractmethod
    def outputs(self, k: int) -> Sequence[int]:
        """Return the files that a task that has arrived writes."""

    @abstractmethod
    def size(self, f: int) -> int:
        """Return the bytes of a file."""

    @abstractmethod
    def holds(self, i: int, f: int) -> bool:
        """Return whether a file is complete on a node."""

    @abstractmethod
    def complete(self, i: int) -> Sequence[int]:
        """Return the files that are complete on a node."""

    @abstractmethod
    def ready_readers(self, f: int) -> Collection[int]:
        """Return the ready tasks that read a file."""

    @abstractmethod
    def copies(self, f: int) -> int:
        """Return on how many nodes a file is complete."""

    @abstractmethod
    def on_remote(self, f: int) -> bool:
        """Return whether a file is on the remote storage."""

    @abstractmethod
    def incoming(self, i: int) -> int | None:
        """Return the file that a node receives."""

    @abstractmethod
    def unstarted(self, i: int) -> int | None:
        """Return the task that a node was given but has not started."""

    @abstractmethod
    def computing(self, i: int) -> Sequence[Computing]:
        """Return the tasks that compute on a node."""

    @abstractmethod
    def idle_cores(self, i: int) -> int:
        """Return how many cores of a node idle."""

    @abstractmethod
    def core_times(self, i: int) -> Sequence[float]:
        """Return, per core, since when it is idle, or the planned end of its task;
        ascending.

        Cores beyond the number that all tasks together can use are left out.
        """

    @abstractmethod
    def fits(self, k: int, i: int) -> bool:
        """Return whether a node has the cores and the disk for a task (workflow
        rule 2).
        """

    def core_time(self, k: int, i: int) -> float:
        """Return the planned time when enough cores are free on a node for a task
        (workflow rule 12).
        """
        return self.core_times(i)[self.task(k).cores - 1]

    def missing_seconds(self, k: int, i: int) -> float:
        """Return the seconds that a link alone needs to bring the files of a task that
        a node lacks.
        """
        missing = sum(self.size(f) for f in self.inputs(k) if not self.holds(i, f))
        return missing / self.network.replica_bytes_per_second

    def staging_seconds(self, k: int, i: int) -> float:
        """Return the seconds until the files of a task are on a node, as far as they
        are known.
        """
        return self.missing_seconds(k, i)

    def open_nodes(self) -> list[int]:
        """Return the nodes to which a task may be given now."""
        found = []
        for i in range(len(self.nodes)):
            has_cores = self.prefetch or self.idle_cores(i) > 0
            if has_cores and self.unstarted(i) is None:
                found.append(i)
        return found

    def takes(self, k: int, i: int) -> bool:
        """Return whether a ready task may be given to an open node (workflow
        rule 11).
        """
        if not self.fits(k, i):
            return False
        return self.prefetch or self.task(k).cores <= self.idle_cores(i)


Dispatcher = Callable[[DispatchView], Pair | None]
"""A function that returns a pair allowed by the view, or None to wait for the next
event.
"""

CLOSE = 1e-9
"""Values that differ by at most this, absolutely or relatively, tie."""


def least(rows: Iterable[tuple[float, Pair]]) -> Pair | None:
    """Return the pair with the least value; among pairs whose values tie with it, the
    smallest pair.

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
    """Give the answers of a recorded run, a list of (seconds, round, task, node) in
    order.
    """

    rows: Sequence[tuple[float, int, int, int]]
    place: int = field(default=0)

    def __call__(self, view: DispatchView) -> Pair | None:
        """Return the next pair, at its instant and round.

        Raises SimulationError when the run does not reach such an instant.
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
