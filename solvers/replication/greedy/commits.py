"""What the static planners of workflows share: exact times and tasks committed one by one (workflow rule 14).

Planners price files that are not on a node at a copy where any node of the plan has them, else at a
fetch, and know all release times; the shared link and the disks of storage nodes are left out.
"""

import heapq
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Protocol

from ioopt.errors import OutOfTime
from ioopt.models.replication.timeline_bound import makespan_bound_seconds
from ioopt.options import Deadline
from ioopt.problems.replay_options import ReplayOptions
from ioopt.problems.replication import (
    EvictionPolicy,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.protocols import Outcome
from ioopt.result import StopReason
from ioopt.solvers.replication.plans import build_plan

MOST_BITS = 4096
"""Ticks a second of more bits are rounded: exact, but slower than they are worth."""
ROUNDED_TICKS = 10**30
TASKS_A_LOOK = 50
"""Tasks committed between two looks at the clock."""
BY_THE_RULES = ReplayOptions()


class Settings(ReplayOptions):
    """``eviction``: policy of the replay; the rest are options of it beyond the rules."""

    eviction: EvictionPolicy = "farthest-next-use"


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


class Commits:
    """A plan being made: which tasks are open, and what is where in it."""

    def __init__(self, problem: ReplicationProblem) -> None:
        self.problem = problem
        self.ticks = Ticks(problem)
        self.sizes = [file.bytes for file in problem.files]
        self.cores = [task.cores for task in problem.tasks]
        self.holders: list[set[int]] = [set() for _ in self.sizes]
        for i, held in enumerate(problem.holds):
            for file in held:
                self.holders[file].add(i)
        self.base = list(self.ticks.release)
        """Per task, its release or, if later, the planned end of its last predecessor so far."""
        self.start = [0] * len(problem.tasks)
        self.end = [0] * len(problem.tasks)
        self.order: list[tuple[int, int]] = []
        """(task, node) in the order of the commits."""
        self._waits = [len(tasks) for tasks in problem.predecessors]

    @cached_property
    def successors(self) -> list[list[int]]:
        """Per task, those that read what it writes, ascending."""
        lists: list[list[int]] = [[] for _ in self.problem.tasks]
        for k, before in enumerate(self.problem.predecessors):
            for j in before:
                lists[j].append(k)
        return lists

    @cached_property
    def fitting(self) -> list[Sequence[int]]:
        """Per task, the nodes that have its cores and room for its files."""
        rows: dict[tuple[int, int], list[int]] = {}
        lists: list[Sequence[int]] = []
        for k, cores in enumerate(self.cores):
            key = (cores, self.problem.task_bytes(k))
            if key not in rows:
                nodes = range(len(self.problem.nodes))
                rows[key] = [i for i in nodes if self.problem.fits(k, i)]
            lists.append(rows[key])
        return lists

    def open_at_first(self) -> list[int]:
        """Tasks that wait for no other."""
        return [k for k, waits in enumerate(self._waits) if not waits]

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

    def commit(self, k: int, i: int, start: int, end: int) -> list[int]:
        """Task *k* runs on node *i* from *start* to *end*; returns the tasks that this opens."""
        self.order.append((k, i))
        self.start[k], self.end[k] = start, end
        opened = []
        for j in self.successors[k]:
            self.base[j] = max(self.base[j], end)
            self._waits[j] -= 1
            if not self._waits[j]:
                opened.append(j)
        return opened

    def outcome(
        self,
        eviction: EvictionPolicy,
        by_start: bool = True,
        options: ReplayOptions = BY_THE_RULES,
    ) -> Outcome:
        """The queues by planned start, or as committed."""
        queues: list[list[int]] = [[] for _ in self.problem.nodes]
        for k, i in sorted(self.order, key=lambda row: self.start[row[0]] if by_start else 0):
            queues[i].append(k)
        plan: ReplicationPlan = build_plan(self.problem, queues, eviction)
        return Outcome(
            plan.model_copy(update=options.options()),
            makespan_bound_seconds(self.problem) if self.problem.is_workflow else None,
            objective_name="makespan_seconds" if self.problem.is_workflow else None,
            stop=StopReason.FINISHED,
            metrics={"planned_makespan_seconds": max(self.end, default=0) / self.ticks.second},
        )


def require_time(deadline: Deadline | None, done: int, tasks: int) -> None:
    """Raise OutOfTime where *deadline* has passed with *done* of the *tasks* planned."""
    if deadline is not None and deadline.expired():
        text = f"the deadline passed with {done} of {tasks} tasks planned"
        raise OutOfTime(text + deadline.would_do(done / tasks))


class Cores(Protocol):
    """The cores of one node in a plan."""

    def earliest(self, cores: int, ready: int, length: int, limit: float) -> float:
        """First start from *ready* on for *length* ticks; past *limit*, any time past it will do."""
        ...

    def take(self, cores: int, start: int, end: int) -> None:
        """Put them to use."""
        ...


class FreeTimes:
    """The cores of a node by the times at which they are free for good: (time, cores), ascending."""

    def __init__(self, cores: int, counts: Iterable[int] = ()) -> None:
        self.times = [(0, cores)]

    def earliest(self, cores: int, ready: int = 0, length: int = 0, limit: float = 0.0) -> int:
        """When *cores* are free and the task is *ready*."""
        for at, count in self.times:
            cores -= count
            if cores <= 0:
                return max(ready, at)
        raise ValueError("more cores are asked for than the node has")

    def take(self, cores: int, start: int, end: int) -> None:
        """Put those that are free first to use until *end*."""
        left = cores
        while left:
            time, count = self.times.pop(0)
            if count > left:
                self.times.insert(0, (time, count - left))
            left -= min(count, left)
        insort(self.times, (end, cores))


def ranks(commits: Commits, copy: int) -> list[int]:
    """Upward rank of every task (workflow rule 15), files weighing *copy* ticks a byte."""
    problem, sizes = commits.problem, commits.sizes
    found = list(commits.ticks.mean)
    writers = problem.producer
    waits = [len(tasks) for tasks in commits.successors]
    ready = [k for k, number in enumerate(waits) if not number]
    longest = [0] * len(found)
    while ready:
        j = ready.pop()
        found[j] += longest[j]
        moved = dict.fromkeys(problem.predecessors[j], 0)
        for file in problem.inputs[j]:
            if writers[file] >= 0:
                moved[writers[file]] += sizes[file]
        for k, size in moved.items():
            longest[k] = max(longest[k], size * copy + found[j])
            waits[k] -= 1
            if not waits[k]:
                ready.append(k)
    return found


@dataclass(frozen=True)
class Ranked:
    """A finished plan by rank: commits, and ranks in ticks."""

    commits: Commits
    ranks: list[int]


def plan_by_rank(
    problem: ReplicationProblem,
    cores: Callable[[int, Iterable[int]], Cores],
    files_in_rank: bool,
    deadline: Deadline | None = None,
) -> Ranked:
    """Commit the open task of largest rank (ties: task) where it ends first (ties: node), and so on.

    ``cores(number, counts)`` makes a node's cores, *counts* being all that any task asks for. Raises
    UnsolvableInstanceError for a task that fits no node, OutOfTime when *deadline* passes.
    """
    problem.require_room()
    commits = Commits(problem)
    order = ranks(commits, commits.ticks.copy if files_in_rank else 0)
    counts = sorted(set(commits.cores))
    nodes = [cores(node.cores, counts) for node in problem.nodes]
    ready = [(-order[k], k) for k in commits.open_at_first()]
    heapq.heapify(ready)
    work = commits.ticks.work
    while ready:
        k = heapq.heappop(ready)[1]
        done = len(commits.order)
        if done % TASKS_A_LOOK == 0:
            require_time(deadline, done, len(problem.tasks))
        fitting = commits.fitting[k]
        base, need = commits.base[k], commits.cores[k]
        costs = commits.costs(k)
        best, where = float("inf"), -1
        for hoped, i in sorted([(base + costs[i] + work[i][k], i) for i in fitting]):
            if hoped > best:
                break
            length = work[i][k]
            end = nodes[i].earliest(need, base + costs[i], length, best) + length
            if end < best or (end == best and i < where):
                best, where = end, i
        start = int(best) - work[where][k]
        nodes[where].take(need, start, start + work[where][k])
        for j in commits.commit(k, where, start, start + work[where][k]):
            heapq.heappush(ready, (-order[j], j))
        for file in (*problem.inputs[k], *problem.outputs[k]):
            commits.holders[file].add(where)
    return Ranked(commits, order)
