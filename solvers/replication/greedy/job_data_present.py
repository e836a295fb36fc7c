"""Plan with JobDataPresent and DataLeastLoaded (Khanna et al., Section 3; rule 9).

The methods are by Ranganathan and Foster. If time is short, a simpler plan (ours) is
made with the same planned disks: tasks in the order of the instance, each on the node
that is free first.
"""

from collections.abc import Container, Sequence
from typing import Annotated, Literal

from pydantic import Field

from ioopt.errors import OutOfTime
from ioopt.models.replication.bounds import area_seconds
from ioopt.options import Deadline
from ioopt.problems.base import Record
from ioopt.problems.replication import (
    EvictionPolicy,
    MovesGiven,
    MovesModel,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.solvers.replication.plans import (
    Answer,
    Move,
    Sources,
    build_plan,
    first_holders,
    require_batch,
    too_short_for,
)

COPY_AT_ACCESS = 6
When = Literal["start", "idle-head", "idle-scan"]
TIE_SECONDS = 1e-9
TASKS_A_LOOK = 500
"""Tasks planned between two checks of the clock."""


class Settings(Record):
    """Configure how tasks are assigned and when files are copied.

    ``eviction``, ``sources``: rules of the replay; the plan itself always evicts the
    least recently used file. ``when``: with ``start`` every task is assigned at time 0.
    Otherwise a task is assigned to a node when the node is planned to become idle: the
    first waiting task (``idle-head``), or the one that needs the least transfer time
    (``idle-scan``). ``threshold``: number of accesses to a file after which it is
    copied to another node (None: never). ``moves``: with ``schedule`` the plan has the
    transfers of its replay.
    """

    eviction: EvictionPolicy = "lru"
    sources: Sources = "lowest"
    when: When = "start"
    threshold: Annotated[int, Field(gt=0)] | None = COPY_AT_ACCESS
    moves: MovesGiven = "advice"


def solve(
    problem: ReplicationProblem, request: SolveRequest[Settings, ReplicationPlan]
) -> Answer:
    """Plan with JobDataPresent; if the time limit is too short, use a simpler plan."""
    settings = request.settings or Settings()
    try:
        plan, _ = plan_job_data_present(
            problem,
            settings.eviction,
            request.deadline,
            settings.when,
            settings.threshold,
        )
    except OutOfTime:
        return answer_in_file_order(problem, "JobDataPresent")
    return Outcome(plan.model_copy(update={"sources": settings.sources}))


def plan_job_data_present(
    problem: ReplicationProblem,
    eviction: EvictionPolicy = "lru",
    deadline: Deadline | None = None,
    when: When = "start",
    threshold: int | None = COPY_AT_ACCESS,
) -> tuple[ReplicationPlan, list[float]]:
    """Return the plan, and for each node the planned busy time in seconds.

    A node is busy with transfers, computing and copies.
    """
    require_batch(problem)
    planner = _Planner(problem) if when == "start" else _WhenIdle(problem)
    planner.threshold = threshold
    waiting = list(range(len(problem.tasks)))
    for number in range(len(problem.tasks)):
        k = number
        if when == "idle-scan":
            k = planner.next(waiting)
            waiting.remove(k)
        planner.assign(k)
        look = number % TASKS_A_LOOK == TASKS_A_LOOK - 1
        if look and deadline is not None and deadline.expired():
            raise OutOfTime("the deadline passed while JobDataPresent was planning")
    model: MovesModel = "replay" if planner.evictions else "static"
    plan = build_plan(problem, planner.queues, eviction, planner.moves, model)
    return plan, planner.busy


def answer_in_file_order(problem: ReplicationProblem, what: str) -> Outcome:
    """Return a plan of tasks in the order of the instance, with the area bound.

    It is used if the time limit is too short for *what*, which the note names.
    """
    note = too_short_for(what)
    plan = plan_in_file_order(problem)
    return Outcome(plan, area_seconds(problem), StopReason.TIME, notes=(note,))


def plan_in_file_order(problem: ReplicationProblem) -> ReplicationPlan:
    """Plan the tasks in the order of the instance, each on the node that is free first.

    A node is free after the transfers and the computing of its tasks.
    """
    require_batch(problem)
    planner = _InFileOrder(problem)
    for k in range(len(problem.tasks)):
        planner.assign(k)
    return build_plan(problem, planner.queues, "farthest-next-use", planner.moves)


class _Planner:
    """Plan with JobDataPresent; track the planned disks and the busy time of every
    node.

    A disk maps each stored file to the number of the assignment that last read or
    copied it.
    """

    threshold: int | None = COPY_AT_ACCESS

    def __init__(self, problem: ReplicationProblem) -> None:
        nodes = range(len(problem.nodes))
        self.problem = problem
        self.sizes = [file.bytes for file in problem.files]
        self.limits = [node.disk_bytes for node in problem.nodes]
        self.disks = [dict.fromkeys(held, -1) for held in problem.holds]
        self.used = [sum(self.sizes[f] for f in held) for held in problem.holds]
        self.holders = first_holders(problem)
        self.busy = [0.0 for _ in nodes]
        self.queues: list[list[int]] = [[] for _ in nodes]
        self.accesses = [0] * len(self.sizes)
        self.moves: list[Move] = []
        self.evictions = 0

    def assign(self, k: int) -> None:
        """Assign task *k* to a node, bring its missing files there, and count its file
        accesses.

        A file that reaches the threshold of accesses is copied to another node.
        """
        node, seconds = self._node_for(k)
        task = self.problem.tasks[k]
        self.queues[node].append(k)
        computing = task.compute_seconds / self.problem.nodes[node].speed
        self.busy[node] += seconds + computing
        inputs = self.problem.inputs[k]
        for f in inputs:
            if f not in self.disks[node]:
                self._bring(f, node, k, inputs)
        for f in inputs:
            self.disks[node][f] = k
        for f in inputs:
            self.accesses[f] += 1
            if self.threshold is not None and self.accesses[f] >= self.threshold:
                self._copy(f, k)

    def next(self, waiting: Sequence[int]) -> int:
        """Return the task of *waiting* that needs the least transfer time on the node
        that is free first.
        """
        node = min(range(len(self.busy)), key=self.busy.__getitem__)
        here = [k for k in waiting if node in self.problem.hosts[k]]
        return min(here or waiting, key=lambda k: self._transfer_seconds(k, node))

    def _node_for(self, k: int) -> tuple[int, float]:
        """Return the node on which task *k* needs the least transfer time, and that
        time in seconds.

        Ties go to the node with the least busy time.
        """
        best = (-1, float("inf"), float("inf"))
        wanted = self.problem.task_bytes(k)
        for i, limit in enumerate(self.limits):
            if limit is not None and wanted > limit:
                continue
            seconds = self._transfer_seconds(k, i)
            nearer = seconds < best[1] - TIE_SECONDS
            level = seconds <= best[1] + TIE_SECONDS
            if nearer or (level and self.busy[i] < best[2] - TIE_SECONDS):
                best = (i, seconds, self.busy[i])
        return best[0], best[1]

    def _transfer_seconds(self, k: int, i: int) -> float:
        """Return the seconds of the transfers that task *k* needs on node *i*."""
        fetched = 0
        copied = 0
        disk = self.disks[i]
        for f in self.problem.inputs[k]:
            if f not in disk:
                if self.holders[f]:
                    copied += self.sizes[f]
                else:
                    fetched += self.sizes[f]
        problem = self.problem
        far = fetched / problem.network.remote_bytes_per_second
        return far + copied / problem.copy_bytes_per_second

    def _copy(self, f: int, number: int) -> None:
        """Copy file *f* to the least busy node that lacks it and can hold it
        (DataLeastLoaded).

        *number* identifies the assignment of a task that causes the copy.
        """
        size = self.sizes[f]
        target = -1
        for i, limit in enumerate(self.limits):
            if f in self.disks[i] or (limit is not None and size > limit):
                continue
            if target < 0 or self.busy[i] < self.busy[target] - TIE_SECONDS:
                target = i
        if target < 0:
            return
        self._bring(f, target, number, ())
        self.disks[target][f] = number
        self.busy[target] += size / self.problem.copy_bytes_per_second
        self.queues[target].append(-1 - f)
        self.accesses[f] = 0

    def _bring(self, f: int, node: int, number: int, spared: Container[int]) -> None:
        """Place file *f* on *node*, after evicting the least recently used files if
        needed.

        Files in *spared* stay. Of files used equally long ago, the one first in the
        instance leaves. *number* identifies the present assignment of a task.
        """
        disk = self.disks[node]
        limit = self.limits[node]
        size = self.sizes[f]
        self.moves.append((f, min(self.holders[f], default=-1), node))
        while limit is not None and self.used[node] + size > limit:
            victim = min((last, g) for g, last in disk.items() if g not in spared)[1]
            del disk[victim]
            self.holders[victim].discard(node)
            self.used[node] -= self.sizes[victim]
            self.evictions += 1
        disk[f] = number
        self.holders[f].add(node)
        self.used[node] += size


class _WhenIdle(_Planner):
    """Assign each task to the node that is free first among those that it fits."""

    def _node_for(self, k: int) -> tuple[int, float]:
        node = min(self.problem.hosts[k], key=self.busy.__getitem__)
        return node, self._transfer_seconds(k, node)


class _InFileOrder(_WhenIdle):
    """Assign tasks in the order of the instance, without copies in advance."""

    def _copy(self, f: int, number: int) -> None:
        """Do nothing: this planner copies no file in advance."""
