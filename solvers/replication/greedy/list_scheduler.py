"""One list scheduler of workflows, made of components as SAGA's: rank, cores, transfers, disks.

Tasks are committed one by one to a node, in exact times, and stay where they were put (workflow rules 14 to
17). Files that are not on a node are priced at a copy where any node of the plan has them, else at a fetch;
all release times are known; the shared link and the disks of storage nodes are left out.

- *rank*: the open task with the longest path to the end is next (Kwok and Ahmad 1999: computing alone;
  Topcuoglu, Hariri and Wu 2002: with the files on the way), and goes where it ends first; or the pair of an
  open task and a node that ends first (MinMin).
- *insertion*: into the first gap of a node's cores that holds it, or behind what they have.
- *transfers*: before the task takes its cores, or on them, summed.
- *disks*: not looked at (under small ones nearly every plan of that kind spills), or full ones evict by
  popularity, equation (22).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from math import lcm
from typing import Literal

from ioopt.errors import OutOfTime
from ioopt.options import Deadline
from ioopt.problems.replication import ReplicationProblem
from ioopt.solvers.replication.greedy.cores import Behind, Gaps
from ioopt.solvers.replication.plans import successors

MOST_BITS = 4096
"""Ticks a second of more bits are rounded: exact, but slower than they are worth."""
ROUNDED_TICKS = 10**30


def exact(value: float) -> Fraction:
    """The decimal that *value* is written as."""
    return Fraction(repr(value))


class Ticks:
    """All times of a problem as whole numbers of one unit, so that ties are ties.

    ``second`` is the ticks of a second, ``fetch`` and ``copy`` those of a byte from remote storage
    and from another node.
    """

    def __init__(self, problem: ReplicationProblem) -> None:
        nodes, tasks, network = problem.nodes, problem.tasks, problem.network
        rates = [
            exact(rate)
            for rate in (network.remote_bytes_per_second, network.replica_bytes_per_second)
        ]
        speeds = {node.speed: exact(node.speed) for node in nodes}
        compute = [exact(task.compute_seconds) for task in tasks]
        release = [exact(task.release_seconds) for task in tasks]
        dividers = lcm(*(rate.numerator for rate in (*rates, *speeds.values())))
        whole = dividers * len(nodes) * lcm(*(time.denominator for time in (*compute, *release)))
        self.second = whole if whole.bit_length() <= MOST_BITS else ROUNDED_TICKS
        self.fetch, self.copy = (self._of(1 / rate) for rate in rates)
        self.release = [self._of(time) for time in release]
        pace = sum((1 / speeds[node.speed] for node in nodes), Fraction()) / len(nodes)
        self.mean = [self._of(time * pace) for time in compute]
        """Per task, its computing at the mean of 1/speed."""
        self._kinds = {
            speed: [self._of(time / value) for time in compute] for speed, value in speeds.items()
        }
        self.work = [self._kinds[node.speed] for node in nodes]
        """``work[i][k]`` is the computing of task k on node i."""

    def _of(self, seconds: Fraction) -> int:
        ticks = seconds * self.second
        return ticks.numerator if ticks.denominator == 1 else round(ticks)


TASKS_A_LOOK = 50
"""Tasks committed between two looks at the clock."""
Entry = tuple[float, int, int]
"""A completion, a task and a node."""
Heaps = list[dict[int, list[tuple[int, int]]]]
NONE: Entry = (float("inf"), -1, -1)


@dataclass(frozen=True)
class Components:
    """What a list scheduler is made of. *rank* ``end`` takes cores ``behind`` and transfers on them."""

    rank: Literal["path", "path with files", "end"]
    gaps: bool = False
    transfers_on_cores: bool = False
    disks: bool = False

    def __post_init__(self) -> None:
        if self.rank == "end" and (self.gaps or not self.transfers_on_cores):
            raise ValueError("the first end is looked for behind the cores, with transfers on them")


HEFT = Components("path with files", gaps=True)
B_LEVEL = Components("path")
MIN_MIN = Components("end", transfers_on_cores=True, disks=True)


class ListScheduler:
    """A plan being made: what is open, and what is where in it."""

    def __init__(self, problem: ReplicationProblem, components: Components) -> None:
        self.problem, self.components = problem, components
        self.ticks = Ticks(problem)
        self.sizes = [file.bytes for file in problem.files]
        self.need = [task.cores for task in problem.tasks]
        self.base = list(self.ticks.release)
        """Per task, its release or, if later, the planned end of its last predecessor so far."""
        self.start = [0] * len(problem.tasks)
        self.end = [0] * len(problem.tasks)
        self.order: list[tuple[int, int]] = []
        """(task, node) in the order of the commits."""
        counts = sorted(set(self.need))
        self.cores = [
            Gaps(node.cores, counts) if components.gaps else Behind(node.cores)
            for node in problem.nodes
        ]
        self.holders: list[set[int]] = [set() for _ in self.sizes]
        for i, held in enumerate(problem.holds):
            for file in held:
                self.holders[file].add(i)
        self.disks = [set(held) for held in problem.holds]
        self.used = [sum(self.sizes[file] for file in held) for held in problem.holds]
        self.unread = [len(tasks) for tasks in problem.readers]
        self.successors = successors(problem)
        self._waits = [len(tasks) for tasks in problem.predecessors]

    def run(self, deadline: Deadline | None = None) -> "ListScheduler":
        """Commit all tasks.

        Raises UnsolvableInstanceError for a task that fits no node, OutOfTime when *deadline* passes.
        """
        self.problem.require_room()
        number = len(self.problem.tasks)
        choose = _FirstEnd(self) if self.components.rank == "end" else _LongestPath(self)
        for k, waits in enumerate(self._waits):
            if not waits:
                choose.open(k)
        while (done := len(self.order)) < number:
            if deadline is not None and done % TASKS_A_LOOK == 0 and deadline.expired():
                text = f"the deadline passed with {done} of {number} tasks planned"
                raise OutOfTime(text + deadline.would_do(done / number))
            k, i, start, end = choose.next()
            self.start[k], self.end[k] = start, end
            self.order.append((k, i))
            self.cores[i].take(self.need[k], start, end)
            for file, arrives, node in self._moves(k, i):
                choose.moved(file, node, arrives)
            for j in self.successors[k]:
                self.base[j] = max(self.base[j], end)
                self._waits[j] -= 1
                if not self._waits[j]:
                    choose.open(j)
        return self

    def queues(self) -> list[list[int]]:
        """Per node its tasks by planned start, ties as committed; as committed where the end was the rank."""
        queues: list[list[int]] = [[] for _ in self.problem.nodes]
        rows = self.order
        if self.components.rank != "end":
            rows = sorted(rows, key=lambda row: self.start[row[0]])
        for k, i in rows:
            queues[i].append(k)
        return queues

    @property
    def makespan_seconds(self) -> float:
        """The planned end of the last task."""
        return max(self.end, default=0) / self.ticks.second

    @cached_property
    def fitting(self) -> list[Sequence[int]]:
        """Per task, the nodes that have its cores and room for its files."""
        nodes, rows = range(len(self.problem.nodes)), {}
        lists: list[Sequence[int]] = []
        for k, cores in enumerate(self.need):
            key = (cores, self.problem.task_bytes(k))
            if key not in rows:
                rows[key] = [i for i in nodes if self.problem.fits(k, i)]
            lists.append(rows[key])
        return lists

    @cached_property
    def ranks(self) -> list[int]:
        """Upward rank of every task (workflow rule 15), in ticks."""
        problem, found = self.problem, list(self.ticks.mean)
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
        """Ticks to bring *file* to a node that lacks it."""
        return self.sizes[file] * (self.ticks.copy if self.holders[file] else self.ticks.fetch)

    def costs(self, k: int) -> list[int]:
        """Ticks of the transfers that task *k* needs on each node."""
        prices = [(file, self.price(file)) for file in self.problem.inputs[k]]
        row = [sum(price for _, price in prices)] * len(self.problem.nodes)
        for file, price in prices:
            for i in self.holders[file]:
                row[i] -= price
        return row

    def _moves(self, k: int, i: int) -> Iterator[tuple[int, bool, int]]:
        """(file, whether it comes, node) as the files of task *k* come to node *i*, one after the other."""
        files = (*self.problem.inputs[k], *self.problem.outputs[k])
        for file in self.problem.inputs[k]:
            self.unread[file] -= 1
        disk = self.problem.nodes[i].disk_bytes if self.components.disks else None
        for file in files:
            if file in self.disks[i]:
                continue
            while disk is not None and self.used[i] + self.sizes[file] > disk:
                victim = min(self.disks[i].difference(files), key=self._popularity)
                self.disks[i].remove(victim)
                self.holders[victim].remove(i)
                self.used[i] -= self.sizes[victim]
                yield victim, False, i
            self.disks[i].add(file)
            self.holders[file].add(i)
            self.used[i] += self.sizes[file]
            yield file, True, i

    def _popularity(self, file: int) -> tuple[int, int]:
        """Equation (22), times a number that all numbers of copies divide; ties: the lowest file."""
        weight = self.unread[file] * self.sizes[file]
        return weight and weight * (self._whole // len(self.holders[file])), file

    @cached_property
    def _whole(self) -> int:
        return lcm(*range(1, len(self.problem.nodes) + 1))


class _LongestPath:
    """The open task of largest rank (ties: task), where it ends first (ties: node)."""

    def __init__(self, plan: ListScheduler) -> None:
        self.plan = plan
        self._open: list[tuple[int, int]] = []

    def open(self, k: int) -> None:
        """Task *k* waits for nothing any more."""
        heappush(self._open, (-self.plan.ranks[k], k))

    def moved(self, file: int, i: int, arrives: bool) -> None:
        """Prices are looked up when a task is next."""

    def next(self) -> tuple[int, int, int, int]:
        """Task, node, start and end."""
        plan, k = self.plan, heappop(self._open)[1]
        base, need, costs, work = plan.base[k], plan.need[k], plan.costs(k), plan.ticks.work
        on_cores = plan.components.transfers_on_cores
        best, where, begin = float("inf"), -1, 0
        for hoped, i in sorted([(base + costs[i] + work[i][k], i) for i in plan.fitting[k]]):
            if hoped > best:
                break
            length = work[i][k] + (costs[i] if on_cores else 0)
            start = plan.cores[i].earliest(need, hoped - length, length, best)
            if start + length < best or (start + length == best and i < where):
                best, where, begin = start + length, i, int(start)
        return k, where, begin, int(best)


class _FirstEnd:
    """The pair of an open task and a node that ends first: ties lowest task, then lowest node.

    By node and core count, ``arrived`` holds (length, task) of open tasks whose producers have ended when
    so many cores are free there, ``waiting`` (completion, task) of the others; entries that no longer hold
    are dropped when they come up. ``best`` is a node's first, found anew for those that have ``changed``.
    """

    def __init__(self, plan: ListScheduler) -> None:
        self.plan = plan
        nodes, counts = plan.problem.nodes, sorted(set(plan.need))
        self.lengths: dict[int, dict[int, int]] = {}
        """Open task -> node -> ticks of its transfers and computing there."""
        empty = [[count for count in counts if count <= node.cores] for node in nodes]
        self.arrived: Heaps = [{count: [] for count in row} for row in empty]
        self.waiting: Heaps = [{count: [] for count in row} for row in empty]
        self.best = [NONE for _ in nodes]
        self.changed: set[int] = set()

    def open(self, k: int) -> None:
        """Task *k* may be next on every node that it fits on."""
        plan, costs = self.plan, self.plan.costs(k)
        self.lengths[k] = {i: costs[i] + plan.ticks.work[i][k] for i in plan.fitting[k]}
        for i in self.lengths[k]:
            self._push(k, i)

    def moved(self, file: int, i: int, arrives: bool) -> None:
        """The prices of the open readers of a file that came to node *i* or left it change."""
        plan = self.plan
        sign, size = (1 if arrives else -1), plan.sizes[file]
        others = len(plan.holders[file]) - arrives
        far = 0 if others else size * (plan.ticks.copy - plan.ticks.fetch) * sign
        here = -sign * size * (plan.ticks.copy if others else plan.ticks.fetch)
        for k in plan.problem.readers[file]:
            row = self.lengths.get(k)
            if row is None:
                continue
            for j in row if far else (i,) if i in row else ():
                change = here if j == i else far
                if change:
                    row[j] += change
                    self._push(k, j)

    def next(self) -> tuple[int, int, int, int]:
        """Task, node, start and end."""
        for i in self.changed:
            self.best[i] = self._first(i)
        end, k, i = min(self.best)
        self.changed = {j for j, entry in enumerate(self.best) if entry[1] == k or j == i}
        return k, i, int(end) - self.lengths.pop(k)[i], int(end)

    def _push(self, k: int, i: int) -> None:
        base, length, count = self.plan.base[k], self.lengths[k][i], self.plan.need[k]
        free = self.plan.cores[i].earliest(count)
        if base > free:
            heappush(self.waiting[i][count], (base + length, k))
        else:
            heappush(self.arrived[i][count], (length, k))
        entry = (max(base, free) + length, k, i)
        if entry < self.best[i]:
            self.best[i] = entry
        elif self.best[i][1] == k:
            self.changed.add(i)

    def _first(self, i: int) -> Entry:
        """The open task that ends first on node *i*; NONE where there is none."""
        found, base, lengths = NONE, self.plan.base, self.lengths
        for count, waiting in self.waiting[i].items():
            free, arrived = self.plan.cores[i].earliest(count), self.arrived[i][count]
            while waiting:
                end, k = waiting[0]
                holds = k in lengths and base[k] + lengths[k][i] == end
                if holds and base[k] > free:
                    found = min(found, (end, k, i))
                    break
                heappop(waiting)
                if holds:
                    heappush(arrived, (lengths[k][i], k))
            while arrived and (
                arrived[0][1] not in lengths or lengths[arrived[0][1]][i] != arrived[0][0]
            ):
                heappop(arrived)
            if arrived:
                found = min(found, (free + arrived[0][0], arrived[0][1], i))
        return found
