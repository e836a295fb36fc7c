"""Plan by list scheduling, with exchangeable components as in SAGA.

The scheduler plans workflows, and batches for ``minmin``. It commits tasks one by one
to a node, with exact times, and never moves them again (workflow rules 14 to 17). A
file that a node lacks is copied if some node of the plan has it, and fetched otherwise.
All release times are known in advance. The shared link and the disks of storage nodes
are ignored. The components are:

- *rank*: how the next task is chosen. With a rank by path, it is the open task with the
  longest path to the end of the workflow, on the node where it ends first. The path
  counts computing alone (Kwok and Ahmad 1999), or the transfers on the path too
  (Topcuoglu, Hariri and Wu 2002). With the rank by earliest end, it is the pair of an
  open task and a node with the earliest end (MinMin).

- *insertion*: a task goes into the first gap between tasks of the node that is long
  enough, or after the last task on the cores it takes.

- *transfers*: with a rank by path, they precede the time in which the task takes its
  cores. With the rank by earliest end, the task holds its cores during the transfers,
  which follow one another.

- *disks*: limits are ignored, or the least popular files by equation (22) are evicted
  when a disk is full. If limits are ignored on small disks, nearly every plan must
  write files back to storage for lack of space.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from math import lcm
from typing import Literal

from ioopt.errors import OutOfTime
from ioopt.options import Deadline
from ioopt.problems.replication import Node, ReplicationProblem, Room
from ioopt.solvers.replication.plans import Move, first_holders, successors
from ioopt.units import exact

MOST_BITS = 4096
"""Largest number of bits of the ticks per second.

If exact times need more, times are rounded, because computing with them is slow.
"""
ROUNDED_TICKS = 10**30


class Ticks:
    """Convert all times of a problem to whole numbers of one time unit, the tick.

    With whole numbers, equal times compare equal. ``second`` is the number of ticks in
    a second. ``fetch`` and ``copy`` are the ticks per byte from remote storage and from
    another node.
    """

    def __init__(self, problem: ReplicationProblem) -> None:
        nodes = problem.nodes
        tasks = problem.tasks
        rates = [exact(rate) for rate in _rates(problem)]
        speeds = {node.speed: exact(node.speed) for node in nodes}
        compute = [exact(task.compute_seconds) for task in tasks]
        release = [exact(task.release_seconds) for task in tasks]
        overhead = [exact(task.overhead_seconds) for task in tasks]
        dividers = lcm(*(rate.numerator for rate in (*rates, *speeds.values())))
        times = (*compute, *release, *overhead)
        denominators = lcm(*(time.denominator for time in times))
        self.second = dividers * len(nodes) * denominators
        if self.second.bit_length() > MOST_BITS:
            self.second = ROUNDED_TICKS
        self.fetch = self._of(1 / rates[0])
        self.copy = self._of(1 / rates[1])
        self.release = [self._of(time) for time in release]
        pace = sum((1 / speeds[node.speed] for node in nodes), Fraction()) / len(nodes)
        before = [self._of(time) for time in overhead]
        if problem.is_shared:
            for k, written in enumerate(_written_bytes(problem)):
                before[k] += written * self.copy
        self.mean = self._work(compute, pace, before)
        """Time of each task in ticks: its overhead, its writes to shared storage, and
        its computing at the mean of 1 / speed of all nodes.
        """
        self._kinds = {
            speed: self._work(compute, 1 / value, before)
            for speed, value in speeds.items()
        }
        self.work = [self._kinds[node.speed] for node in nodes]
        """``work[i][k]`` is the time in ticks for which task k holds cores of node i:
        its overhead, its computing, and its writes to shared storage. Its reads from
        there come in addition.
        """

    def _work(
        self, compute: Sequence[Fraction], pace: Fraction, before: Sequence[int]
    ) -> list[int]:
        """Return the time of each task in ticks: the ticks *before* it computes, and
        its computing at *pace* (1 / speed of the node).
        """
        # For a large problem, products of fractions take most of the planning time.
        scaled = compute if pace == 1 else [time * pace for time in compute]
        rows = zip(before, scaled, strict=True)
        return [overhead + self._of(time) for overhead, time in rows]

    def _of(self, seconds: Fraction) -> int:
        """Return *seconds* in ticks, rounded to a whole number if needed."""
        whole, rest = divmod(seconds.numerator * self.second, seconds.denominator)
        return round(seconds * self.second) if rest else whole


def _rates(problem: ReplicationProblem) -> tuple[float, float]:
    """Return the rates of a transfer from remote storage and from another node, in
    bytes per second.
    """
    far = problem.network.remote_bytes_per_second
    if problem.is_shared:
        # Every byte passes the interface and the shared link.
        slower = min(far, problem.network.replica_bytes_per_second)
        return slower, slower
    return far, problem.copy_bytes_per_second


def _written_bytes(problem: ReplicationProblem) -> list[int]:
    """Return the bytes that each task writes."""
    sizes = [file.bytes for file in problem.files]
    return [sum([sizes[file] for file in files]) for files in problem.outputs]


TASKS_A_LOOK = 50
"""Tasks committed between two checks of the clock."""
TIE_SECONDS = 1e-9
"""Planned ends that differ by at most this count as equal."""


END = float("inf")


class Behind:
    """Append tasks after the last task on the cores of one node.

    ``times`` lists (time, number of cores), in order of time: these cores are free from
    that time on.
    """

    def __init__(self, cores: int) -> None:
        self.times = [(0, cores)]

    def earliest(
        self, cores: int, ready: int = 0, length: int = 0, limit: float = 0.0
    ) -> int:
        """Return the earliest tick, not before *ready*, at which *cores* cores are
        free.
        """
        for at, count in self.times:
            cores -= count
            if cores <= 0:
                return max(ready, at)
        raise ValueError("a task asks for more cores than the node has")

    def take(self, cores: int, start: int, end: int) -> None:
        """Occupy the *cores* cores that are free first, until tick *end*."""
        left = cores
        while left:
            time, count = self.times.pop(0)
            if count > left:
                self.times.insert(0, (time, count - left))
            left -= min(count, left)
        insort(self.times, (end, cores))


class InUse:
    """Hold how much of *size* is in use on one node: ``used[x]`` from ``times[x]`` to
    the next time.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.times = [0]
        self.used = [0]

    def _cut(self, time: int) -> int:
        """Return the index of the interval that begins at *time*; split an interval if
        needed.
        """
        at = bisect_left(self.times, time)
        if at == len(self.times) or self.times[at] != time:
            self.times.insert(at, time)
            self.used.insert(at, self.used[at - 1])
        return at


class Gaps(InUse):
    """Insert tasks into the gaps between tasks on the cores of one node.

    ``idle[c]`` holds the starts and the ends of the maximal intervals with at least c
    idle cores, for every core count c that some task needs.
    """

    def __init__(self, cores: int, counts: Iterable[int]) -> None:
        super().__init__(cores)
        self.idle: dict[int, tuple[list[int], list[float]]] = {
            count: ([0], [END]) for count in counts if count <= cores
        }

    def earliest(
        self, cores: int, ready: int = 0, length: int = 0, limit: float = 0.0
    ) -> float:
        """Return the earliest start, not before *ready*, of an interval of *length*
        ticks with *cores* idle cores.

        The search stops at a start whose end is after *limit*, without checking that
        the interval is long enough: the caller rejects such a start.
        """
        starts, ends = self.idle[cores]
        at = bisect_right(ends, ready)
        start = max(starts[at], ready)
        while ends[at] < start + length <= limit:
            at += 1
            start = starts[at]
        return start

    def take(self, cores: int, start: int, end: int) -> None:
        """Occupy *cores* cores from tick *start* to tick *end*."""
        if start == end:
            return
        times = self.times
        used = self.used
        first = self._cut(start)
        last = self._cut(end)
        for count, stretches in self.idle.items():
            most = self.size - count
            x = first
            while x < last:
                y = x
                while y < last and used[y] <= most < used[y] + cores:
                    y += 1
                if y > x:
                    _close(*stretches, times[x], times[y])
                x = max(y, x + 1)
        for x in range(first, last):
            used[x] += cores
        for x in (last, first):
            if x and used[x] == used[x - 1]:
                del times[x], used[x]


def _close(starts: list[int], ends: list[float], start: int, end: int) -> None:
    """Remove the ticks from *start* up to *end* from the idle interval that contains
    them.
    """
    at = bisect_right(starts, start) - 1
    left = starts[at] < start
    right = end < ends[at]
    if left and right:
        starts.insert(at + 1, end)
        ends.insert(at, start)
    elif left:
        ends[at] = start
    elif right:
        starts[at] = end
    else:
        del starts[at], ends[at]


class MemoryInUse(InUse):
    """Find gaps in the use of one node's memory."""

    def earliest(self, memory: int, ready: int, length: int, limit: float) -> int:
        """Return the earliest start, not before *ready*, of an interval of *length*
        ticks with *memory* free bytes.

        The search stops at a start whose end is after *limit*.
        """
        start = ready
        x = bisect_right(self.times, ready) - 1
        while True:
            if self.used[x] + memory > self.size:
                # After the last planned end, all memory is free.
                start = self.times[x + 1]
                if start + length > limit:
                    return start
            elif x + 1 == len(self.times) or self.times[x + 1] >= start + length:
                return start
            x += 1

    def take(self, memory: int, start: int, end: int) -> None:
        """Hold *memory* bytes from tick *start* to tick *end*."""
        if memory == 0 or start == end:
            return
        first = self._cut(start)
        last = self._cut(end)
        for x in range(first, last):
            self.used[x] += memory


class MemoryAfter:
    """Find the tick after which the tasks of one node, which has *size* bytes of
    memory, leave memory for another task for good (workflow rule 24).

    ``ends`` lists (planned end, memory) of the tasks that hold memory, in order.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.ends: list[tuple[int, int]] = []

    def earliest(
        self, memory: int, ready: int = 0, length: int = 0, limit: float = 0.0
    ) -> int:
        """Return the earliest tick, not before *ready*, such that the tasks that end
        later leave *memory* bytes.
        """
        free = self.size
        for end, held in reversed(self.ends):
            free -= held
            if free < memory:
                return max(ready, end)
        return ready

    def take(self, memory: int, start: int, end: int) -> None:
        """Hold *memory* bytes until tick *end*."""
        if memory:
            insort(self.ends, (end, memory))


@dataclass(frozen=True)
class Components:
    """Choose the components of a list scheduler.

    ``rank``: see the module; with ``end``, ``gaps`` cannot be used. ``gaps``: insert
    tasks into gaps. ``disks``: respect disk limits. ``copies``: if False, every missing
    file is fetched. ``room``: how much space a full disk frees after a task is
    committed, beyond the space for missing files (rule 7).
    """

    rank: Literal["path", "path with files", "end"]
    gaps: bool = False
    disks: bool = False
    copies: bool = True
    room: Room = "missing"


HEFT = Components("path with files", gaps=True)
B_LEVEL = Components("path")
MIN_MIN = Components("end", disks=True)


class ListScheduler:
    """Make a plan; track the open tasks and the planned contents of all disks.

    A task is open once all its predecessors are committed.
    """

    def __init__(self, problem: ReplicationProblem, components: Components) -> None:
        self.problem = problem
        self.components = components
        self.ticks = Ticks(problem)
        self.copy = self.ticks.copy if components.copies else self.ticks.fetch
        self.sizes = [file.bytes for file in problem.files]
        self.need = [task.cores for task in problem.tasks]
        self.memory_need = [task.memory_bytes for task in problem.tasks]
        self.base = list(self.ticks.release)
        """Earliest possible start of each task in ticks.

        It is the release time or, if later, the latest planned end of a predecessor.
        """
        self.start = [0] * len(problem.tasks)
        self.end = [0] * len(problem.tasks)
        self.order: list[tuple[int, int]] = []
        """(task, node) in the order of commitment."""
        self.moves: list[Move] = []
        self.evictions = 0
        self._waiting = sorted(map(problem.task_bytes, range(len(problem.tasks))))
        """The input bytes of each task that is not committed, in increasing order."""
        self._counts = sorted(set(self.need))
        self.cores = [self._cores_of(node) for node in problem.nodes]
        self.memory = [self._memory_of(node) for node in problem.nodes]
        """For each node, the use of its memory; None if that cannot matter."""
        self.holders = first_holders(problem)
        self.disks = [set(held) for held in problem.holds]
        self.used = [sum(self.sizes[file] for file in held) for held in problem.holds]
        self.unread = [len(tasks) for tasks in problem.readers]
        self.successors = successors(problem)
        self._waits = [len(tasks) for tasks in problem.predecessors]

    def _cores_of(self, node: Node) -> Gaps | Behind:
        """Return the use of the cores of *node*, with gaps or without."""
        if self.components.gaps:
            return Gaps(node.cores, self._counts)
        return Behind(node.cores)

    def _memory_of(self, node: Node) -> MemoryInUse | MemoryAfter | None:
        """Return the use of the memory of *node*; None if that cannot matter."""
        if node.memory_bytes is None or not any(self.memory_need):
            return None
        if self.components.gaps:
            return MemoryInUse(node.memory_bytes)
        return MemoryAfter(node.memory_bytes)

    def run(self, deadline: Deadline | None = None) -> "ListScheduler":
        """Commit every task to a node; raise OutOfTime if the deadline passes first."""
        self.problem.require_room()
        number = len(self.problem.tasks)
        choose: _FirstEnd | _LongestPath = _LongestPath(self)
        if self.components.rank == "end":
            choose = _FirstEnd(self)
        for k, waits in enumerate(self._waits):
            if not waits:
                choose.open(k)
        for done in range(number):
            if deadline is not None and done % TASKS_A_LOOK == 0 and deadline.expired():
                text = (
                    f"the deadline passed after {done} of {number} tasks were planned"
                )
                raise OutOfTime(text + deadline.would_do(done / number))
            k, i, start, end = choose.next()
            self.start[k] = start
            self.end[k] = end
            self.order.append((k, i))
            del self._waiting[bisect_left(self._waiting, self.problem.task_bytes(k))]
            self.cores[i].take(self.need[k], start, end)
            memory = self.memory[i]
            if memory is not None:
                memory.take(self.memory_need[k], start, end)
            for file, arrives, node in self._moves(k, i):
                choose.moved(file, node, arrives)
            for j in self.successors[k]:
                self.base[j] = max(self.base[j], end)
                self._waits[j] -= 1
                if not self._waits[j]:
                    choose.open(j)
        return self

    def earliest(self, k: int, i: int, ready: int, length: int, limit: float) -> float:
        """Return the earliest tick, not before *ready*, at which node *i* has the cores
        and the memory for task *k*, which takes *length* ticks.

        The search stops at a start whose end is after *limit*.
        """
        start = self.cores[i].earliest(self.need[k], ready, length, limit)
        memory = self.memory[i]
        if memory is None:
            return start
        wanted = self.memory_need[k]
        while start + length <= limit:
            later = memory.earliest(wanted, int(start), length, limit)
            if later == start:
                break
            start = self.cores[i].earliest(self.need[k], later, length, limit)
        return start

    def queues(self) -> list[list[int]]:
        """Return, for each node, its tasks in order of planned start.

        Ties are in the order of commitment. With the rank ``end``, the whole queue is
        in that order.
        """
        queues: list[list[int]] = [[] for _ in self.problem.nodes]
        rows = self.order
        if self.components.rank != "end":
            rows = sorted(rows, key=lambda row: self.start[row[0]])
        for k, i in rows:
            queues[i].append(k)
        return queues

    @property
    def ready_seconds(self) -> list[float]:
        """Return, for each node, the planned end of its last task in seconds."""
        ready = []
        for queue in self.queues():
            last = max([self.end[k] for k in queue], default=0)
            ready.append(last / self.ticks.second)
        return ready

    @cached_property
    def ranks(self) -> list[int]:
        """Return the upward rank of every task in ticks.

        The rank is the length of the longest path from the start of the task to the end
        of the workflow (workflow rule 15).
        """
        problem = self.problem
        found = list(self.ticks.mean)
        copy = self.ticks.copy if self.components.rank == "path with files" else 0
        longest = [0] * len(found)
        for j in TopologicalSorter(dict(enumerate(self.successors))).static_order():
            found[j] += longest[j]
            moved = dict.fromkeys(problem.predecessors[j], 0)
            for file in problem.inputs[j]:
                if problem.producer[file] >= 0:
                    moved[problem.producer[file]] += self.sizes[file]
            for k, size in moved.items():
                longest[k] = max(longest[k], size * copy + found[j])
        return found

    def price(self, file: int) -> int:
        """Return the ticks needed to bring *file* to a node that lacks it."""
        byte = self.copy if self.holders[file] else self.ticks.fetch
        return self.sizes[file] * byte

    def costs(self, k: int) -> list[int]:
        """Return, for each node, the ticks of all transfers that task *k* would need
        there.
        """
        prices = [(file, self.price(file)) for file in self.problem.inputs[k]]
        row = [sum(price for _, price in prices)] * len(self.problem.nodes)
        for file, price in prices:
            for i in self.holders[file]:
                row[i] -= price
        return row

    def _moves(self, k: int, i: int) -> Iterator[tuple[int, bool, int]]:
        """Update the planned disks for task *k* on node *i*; yield every change of
        their contents.

        A change is (file, True if it arrives or False if it leaves, node).
        """
        problem = self.problem
        for file in problem.inputs[k]:
            self.unread[file] -= 1
        disk = self._disk(i)
        if disk is not None and self.components.room == "next" and self._used_before(i):
            yield from self._evict(i, disk - problem.task_bytes(k), ())
        files = self._kept(k)
        for file in files:
            if file in self.disks[i]:
                continue
            if disk is not None:
                yield from self._evict(i, disk - self.sizes[file], files)
            if file in problem.inputs[k]:
                source = -1
                if self.components.copies and self.holders[file]:
                    source = min(self.holders[file])
                self.moves.append((file, source, i))
            self.disks[i].add(file)
            self.holders[file].add(i)
            self.used[i] += self.sizes[file]
            yield file, True, i
        if disk is not None and self.components.room in ("largest", "mean"):
            yield from self._evict(i, disk - self._room_for_one(disk), ())

    def _disk(self, i: int) -> int | None:
        """Return the bytes of the disk of node *i* as planned; None without a limit."""
        if self.problem.is_shared or not self.components.disks:
            return None
        return self.problem.nodes[i].disk_bytes

    def _kept(self, k: int) -> tuple[int, ...]:
        """Return the files that are on the node of task *k* once it is committed."""
        problem = self.problem
        if problem.is_shared and not problem.caches_made:
            return problem.inputs[k]
        return (*problem.inputs[k], *problem.outputs[k])

    def _used_before(self, i: int) -> bool:
        """Return whether node *i* had a task before the latest commitment."""
        return any(node == i for _, node in self.order[:-1])

    def _room_for_one(self, disk: int) -> int:
        """Return the bytes to keep free on a disk of *disk* bytes for one waiting task.

        These are the input bytes of the largest waiting task that fits, or the mean of
        all that fit, as ``room`` says.
        """
        fitting = bisect_right(self._waiting, disk)
        if not fitting:
            return 0
        if self.components.room == "largest":
            return self._waiting[fitting - 1]
        return -(-sum(self._waiting[:fitting]) // fitting)

    def _evict(
        self, i: int, most: int, spared: Collection[int]
    ) -> Iterator[tuple[int, bool, int]]:
        """Evict files from node *i*, the least popular first; yield the changes of its
        contents.

        Stop when the node holds at most *most* bytes, or only files in *spared*.
        """
        while self.used[i] > most and not self.disks[i].issubset(spared):
            victim = min(self.disks[i].difference(spared), key=self._popularity)
            self.disks[i].remove(victim)
            self.holders[victim].remove(i)
            self.used[i] -= self.sizes[victim]
            self.evictions += 1
            yield victim, False, i

    def _popularity(self, file: int) -> tuple[int, int]:
        """Return the sort key for eviction: the popularity (22) of *file* as a whole
        number, then its position.

        The popularity is multiplied by :attr:`_multiple`, so that no division is
        needed.
        """
        weight = self.unread[file] * self.sizes[file]
        return weight * (self._multiple // len(self.holders[file])), file

    @cached_property
    def _multiple(self) -> int:
        """Return the least common multiple of 1 to the number of nodes."""
        return lcm(*range(1, len(self.problem.nodes) + 1))


class _LongestPath:
    """Choose the open task with the largest rank, and the node where it ends first.

    Ties go to the first task of the instance, then to its first node.
    """

    def __init__(self, plan: ListScheduler) -> None:
        self.plan = plan
        self._open: list[tuple[int, int]] = []

    def open(self, k: int) -> None:
        """Add task *k*, whose predecessors are all committed, to the open tasks."""
        heappush(self._open, (-self.plan.ranks[k], k))

    def moved(self, file: int, i: int, arrives: bool) -> None:
        """Do nothing: transfer times are computed when the next task is chosen."""

    def next(self) -> tuple[int, int, int, int]:
        """Return the next task, its node, and its planned start and end in ticks."""
        plan = self.plan
        k = heappop(self._open)[1]
        base = plan.base[k]
        costs = plan.costs(k)
        work = plan.ticks.work
        best = float("inf")
        where = -1
        begin = 0
        hosts = plan.problem.hosts[k]
        for hoped, i in sorted([(base + costs[i] + work[i][k], i) for i in hosts]):
            if hoped > best:
                break
            length = work[i][k]
            if plan.problem.is_shared:
                # The cores are held while inputs are read.
                length += costs[i]
            start = plan.earliest(k, i, hoped - length, length, best)
            end = start + length
            if end < best or (end == best and i < where):
                best = end
                where = i
                begin = int(start)
        return k, where, begin, int(best)


class _FirstEnd:
    """Choose the pair of an open task and a node with the earliest end.

    Ties go to the first task of the instance, then to its first node. Arrays are in
    seconds, with row k for task k and column i for node i. ``lengths[k, i]`` is the
    time of the transfers and the computing of task k on node i, infinite if the task
    does not fit or is not open. ``ends[k, i]`` is the time when the task would end
    there. ``free[c, i]`` is the time at which node i has ``counts[c]`` free cores, and
    ``spare[m, i]`` the time from which it has ``memories[m]`` free bytes of memory.
    """

    def __init__(self, plan: ListScheduler) -> None:
        import numpy as np

        tasks = len(plan.problem.tasks)
        nodes = len(plan.problem.nodes)
        self.plan = plan
        self.node = -1
        self.lengths = np.full((tasks, nodes), np.inf)
        self.ends = np.full((tasks, nodes), np.inf)
        self.base = np.zeros(tasks)
        self.counts = sorted(set(plan.need))
        self.count = np.searchsorted(self.counts, plan.need)
        self.free = np.zeros((len(self.counts), nodes))
        self.memories = sorted(set(plan.memory_need))
        self.memory = np.searchsorted(self.memories, plan.memory_need)
        self.spare = np.zeros((len(self.memories), nodes))
        self.readers = [
            np.array(readers, dtype=np.int64) for readers in plan.problem.readers
        ]
        self.changed = np.zeros(tasks, dtype=bool)
        """For each task, whether its row of ``ends`` must be recomputed."""

    def open(self, k: int) -> None:
        """Make task *k* a candidate on every node that it fits."""
        plan = self.plan
        second = self.plan.ticks.second
        costs = self.plan.costs(k)
        for i in plan.problem.hosts[k]:
            self.lengths[k, i] = (costs[i] + plan.ticks.work[i][k]) / second
        self.base[k] = plan.base[k] / second
        self.changed[k] = True

    def moved(self, file: int, i: int, arrives: bool) -> None:
        """Update the transfer times of the readers of *file*, which arrived at or left
        node *i*.
        """
        plan = self.plan
        readers = self.readers[file]
        fetch = plan.sizes[file] * plan.ticks.fetch / plan.ticks.second
        copy = plan.sizes[file] * plan.copy / plan.ticks.second
        others = len(plan.holders[file]) - arrives
        sign = 1 if arrives else -1
        if not others:
            self.lengths[readers] += sign * (copy - fetch)
        self.lengths[readers, i] -= sign * copy
        self.changed[readers] = True

    def next(self) -> tuple[int, int, int, int]:
        """Return the next task, its node, and its planned start and end in ticks."""
        plan = self.plan
        i = self.node
        if i >= 0:
            for c, count in enumerate(self.counts):
                if count <= plan.problem.nodes[i].cores:
                    self.free[c, i] = plan.cores[i].earliest(count) / plan.ticks.second
            memory = plan.memory[i]
            if isinstance(memory, MemoryAfter):
                for m, wanted in enumerate(self.memories):
                    self.spare[m, i] = memory.earliest(wanted) / plan.ticks.second
            free = self.free[self.count, i].clip(min=self.spare[self.memory, i])
            self.ends[:, i] = self.lengths[:, i] + self.base.clip(min=free)
        rows = self.changed.nonzero()[0]
        self.changed[rows] = False
        begun = self.free[self.count[rows]].clip(min=self.base[rows, None])
        begun = begun.clip(min=self.spare[self.memory[rows]])
        self.ends[rows] = self.lengths[rows] + begun
        limit = self.ends.min() + TIE_SECONDS
        k, i = divmod(int((self.ends <= limit).argmax()), self.ends.shape[1])
        self.lengths[k] = self.ends[k] = float("inf")
        self.node = i
        length = plan.costs(k)[i] + plan.ticks.work[i][k]
        end = int(plan.earliest(k, i, plan.base[k], length, END)) + length
        return k, i, end - length, end
