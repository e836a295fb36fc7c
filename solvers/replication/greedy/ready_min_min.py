"""MinMin over the tasks whose producers are planned: least completion time first (workflow rule 17).

On a batch this is ``minmin`` itself. In a workflow a task's completion on a node is the time at
which enough cores are free and its producers have ended, then its transfers (summed, no overlap,
on the cores), then its computing. The planned disks evict by popularity, equation (22).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from heapq import heapify, heappop, heappush, heapreplace
from math import lcm

from ioopt.options import Deadline
from ioopt.problems.replication import EvictionPolicy, ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.solvers.replication.dispatch import run
from ioopt.solvers.replication.dispatch.ready_min_min import decide
from ioopt.solvers.replication.greedy import minmin
from ioopt.solvers.replication.greedy.commits import TASKS_A_LOOK, Commits, FreeTimes, require_time

Entry = tuple[float, int]
"""A time and a task."""
Push = Callable[[list[Entry], Entry], None]
NONE: Entry = (float("inf"), -1)


class Settings(run.Settings):
    """``eviction``: policy of the replay; the plan itself always evicts by popularity.

    ``mode=dispatch`` decides while the tasks run instead, with ``prefetch`` and ``overtake`` or
    without.
    """

    eviction: EvictionPolicy = "popularity"


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Plan; the planned end of the last task is metric ``planned_makespan_seconds``."""
    settings = request.settings or Settings()
    if settings.mode == "dispatch":
        return run.answer(problem, request, request.policy or decide, settings)
    if not problem.is_workflow:
        return minmin.solve(
            problem, replace(request, settings=minmin.Settings(eviction=settings.eviction))
        )
    planned = plan_ready_min_min(problem, request.deadline)
    return planned.commits.outcome(settings.eviction, False, settings)


def plan_ready_min_min(problem: ReplicationProblem, deadline: Deadline | None = None) -> Planner:
    """The planner when all tasks are committed; queues are in the order of the commits.

    Raises UnsolvableInstanceError for a task that fits no node, OutOfTime when *deadline* passes.
    """
    problem.require_room()
    planner = Planner(problem)
    while (step := len(planner.commits.order)) < len(problem.tasks):
        if step % TASKS_A_LOOK == 0:
            require_time(deadline, step, len(problem.tasks))
        planner.step()
    return planner


class Planner:
    """Planned disks and cores, and for each node and core count the open tasks by completion.

    ``arrived`` holds (transfers + computing, task) of those whose producers have ended when the
    cores are free, ``waiting`` (completion, task) of the others; entries that no longer hold are
    dropped when they come up. ``hopes`` holds for each node a (completion, task, node) that none of
    its pairs ends before.
    """

    def __init__(self, problem: ReplicationProblem) -> None:
        self.problem = problem
        self.commits = Commits(problem)
        nodes = range(len(problem.nodes))
        self.free = [FreeTimes(node.cores) for node in problem.nodes]
        self.disks = [set(held) for held in problem.holds]
        self.used = [sum(self.commits.sizes[file] for file in held) for held in problem.holds]
        self.pending = [len(tasks) for tasks in problem.readers]
        self.lengths: dict[int, dict[int, int]] = {}
        """Open task -> node -> ticks of its transfers and computing there."""
        counts = sorted(set(self.commits.cores))
        self.arrived: list[dict[int, list[Entry]]] = [{c: [] for c in counts} for _ in nodes]
        self.waiting: list[dict[int, list[Entry]]] = [{c: [] for c in counts} for _ in nodes]
        self.hopes: list[tuple[float, int, int]] = []
        self.hope: list[Entry] = [NONE for _ in nodes]
        self.scale = lcm(*(i + 1 for i in nodes))
        self._open(self.commits.open_at_first())

    @property
    def ready(self) -> list[int]:
        """Per node, the ticks at which all its cores are free."""
        return [free.times[-1][0] for free in self.free]

    def step(self) -> None:
        """Commit the task that ends first: ties lowest task, then lowest node."""
        while True:
            *entry, i = self.hopes[0]
            if tuple(entry) != self.hope[i]:
                heappop(self.hopes)
                continue
            first = self._first(i)
            if first == self.hope[i]:
                self._commit(first[1], i, int(first[0]))
                return
            self.hope[i] = first
            heapreplace(self.hopes, (*first, i))

    def _first(self, i: int) -> Entry:
        """(completion, task) of the open task that ends first on node *i*; NONE where there is none."""
        found = [NONE]
        base, lengths = self.commits.base, self.lengths
        for count, waiting in self.waiting[i].items():
            if count > self.problem.nodes[i].cores:
                continue
            free, arrived = self.free[i].earliest(count), self.arrived[i][count]
            while waiting:
                end, k = waiting[0]
                holds = k in lengths and base[k] + lengths[k][i] == end
                if holds and base[k] > free:
                    found.append((end, k))
                    break
                heappop(waiting)
                if holds:
                    heappush(arrived, (lengths[k][i], k))
            while arrived and (
                arrived[0][1] not in lengths or lengths[arrived[0][1]][i] != arrived[0][0]
            ):
                heappop(arrived)
            if arrived:
                found.append((free + arrived[0][0], arrived[0][1]))
        return min(found)

    def _open(self, tasks: list[int]) -> None:
        work = self.commits.ticks.work
        push: Push = heappush if len(tasks) < TASKS_A_LOOK else list.append
        for k in tasks:
            costs = self.commits.costs(k)
            self.lengths[k] = {i: costs[i] + work[i][k] for i in self.commits.fitting[k]}
            for i in self.lengths[k]:
                self._push(k, i, push)
        if push is list.append:
            for row in (*self.waiting, *self.arrived):
                for heap in row.values():
                    heapify(heap)

    def _push(self, k: int, i: int, push: Push = heappush) -> None:
        base, length, count = self.commits.base[k], self.lengths[k][i], self.commits.cores[k]
        free = self.free[i].earliest(count)
        if base > free:
            push(self.waiting[i][count], (base + length, k))
        else:
            push(self.arrived[i][count], (length, k))
        entry = (max(base, free) + length, k)
        if entry < self.hope[i]:
            self._hope(i, entry)

    def _hope(self, i: int, entry: Entry) -> None:
        self.hope[i] = entry
        heappush(self.hopes, (*entry, i))

    def _commit(self, k: int, i: int, end: int) -> None:
        plan, problem = self.commits, self.problem
        start = end - self.lengths.pop(k)[i]
        self.free[i].take(plan.cores[k], start, end)
        opened = plan.commit(k, i, start, end)
        for file in problem.inputs[k]:
            self.pending[file] -= 1
        own = {*problem.inputs[k], *problem.outputs[k]}
        for file in (*problem.inputs[k], *problem.outputs[k]):
            if file not in self.disks[i]:
                self._make_room(i, plan.sizes[file], own)
                self._move(file, i, arrives=True)
        self._open(opened)

    def _make_room(self, i: int, size: int, own: set[int]) -> None:
        """Evict from node *i*, the least popular first (22), until *size* bytes fit."""
        room = self.problem.nodes[i].disk_bytes
        while room is not None and self.used[i] + size > room:
            victim = min((self._popularity(file), file) for file in self.disks[i] - own)[1]
            self._move(victim, i, arrives=False)

    def _popularity(self, file: int) -> int:
        weight = self.pending[file] * self.commits.sizes[file]
        return weight and weight * (self.scale // len(self.commits.holders[file]))

    def _move(self, file: int, i: int, arrives: bool) -> None:
        """*file* comes to node *i* or leaves it: the prices of its open readers change."""
        plan = self.commits
        holders, size = plan.holders[file], plan.sizes[file]
        if arrives:
            near = -plan.price(file)
            self.disks[i].add(file)
            holders.add(i)
        else:
            self.disks[i].remove(file)
            holders.remove(i)
            near = plan.price(file)
        self.used[i] += size if arrives else -size
        far = 0
        if len(holders) == arrives:  # the first copy, or none is left
            far = size * (plan.ticks.copy - plan.ticks.fetch) * (1 if arrives else -1)
        for k in self.problem.readers[file]:
            row = self.lengths.get(k)
            if row is None:
                continue
            for j in row if far else (i,) if i in row else ():
                change = near if j == i else far
                if change:
                    row[j] += change
                    self._push(k, j)
