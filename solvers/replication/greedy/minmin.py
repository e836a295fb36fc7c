"""MinMin with implicit replication (Khanna et al., Section 3; rule 9): least completion time first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ioopt.errors import OutOfTime
from ioopt.options import Deadline
from ioopt.problems.base import Record
from ioopt.problems.replication import EvictionPolicy, ReplicationPlan, ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.solvers.replication.greedy.file_order import answer_in_file_order
from ioopt.solvers.replication.plans import Move, build_plan, require_batch

if TYPE_CHECKING:
    from ioopt.compiled import Ints

SECONDS_PER_TASK, SECONDS_PER_CELL = 2e-4, 2e-9
"""What planning takes on a busy machine, per task, and per task for every cell of tasks x nodes."""
MODEL_SECONDS_PER_READ = 3e-5
"""Time to reduce a problem to its static form and to read a plan back, per input and task."""
CHECK_SECONDS_PER_READ = 3e-6
"""Time to check a plan that is not replayed, per input and task."""
CHEAP_SECONDS = 0.05
"""Planning that takes no longer is done past the limit too."""
SLACK_SECONDS = 0.3
TASKS_A_LOOK = 100
"""Tasks planned between two looks at the clock."""
TIE_SECONDS = 1e-9


class Settings(Record):
    """``replication``: plan copies between nodes; ``eviction``: policy of the replay.

    The plan itself always evicts by popularity, as the paper has it.
    """

    replication: bool = True
    eviction: EvictionPolicy = "popularity"


def solve(
    problem: ReplicationProblem, request: SolveRequest[Settings, ReplicationPlan]
) -> Outcome[ReplicationPlan]:
    """Plan with MinMin; the planned end of the last task is metric ``planned_makespan_seconds``.

    Where the deadline passes first, tasks go in the order of the file, with a note.
    """
    settings = request.settings or Settings()
    try:
        plan, ready = plan_minmin(
            problem, settings.replication, settings.eviction, request.deadline
        )
    except OutOfTime:
        return answer_in_file_order(problem, "MinMin")
    return Outcome(plan, metrics={"planned_makespan_seconds": max(ready)})


def answer_instead(
    problem: ReplicationProblem, request: SolveRequest, reason: str, *notes: str
) -> Outcome:
    """MinMin's plan for a solver that found none, with *reason* in its notes."""
    outcome = solve(problem, replace(request, settings=None, start=None))
    said = (*outcome.notes, *notes, f"{reason}; answered by minmin")
    return replace(outcome, stop=StopReason.FALLBACK, notes=said)


def in_haste(problem: ReplicationProblem, request: SolveRequest) -> Outcome | None:
    """MinMin's answer where the static model alone would take more than the time limit, else None."""
    reads = sum(map(len, problem.inputs)) + len(problem.tasks)
    if MODEL_SECONDS_PER_READ * reads <= request.deadline.remaining() + SLACK_SECONDS:
        return None
    return answer_instead(problem, request, "the time limit is too short for the static model")


def plan_minmin(
    problem: ReplicationProblem,
    replication: bool = True,
    eviction: EvictionPolicy = "popularity",
    deadline: Deadline | None = None,
) -> tuple[ReplicationPlan, list[float]]:
    """MinMin's plan and the planned ready time of each node in seconds.

    Raises UnsolvableInstanceError for a task that no disk can hold and OutOfTime where *deadline*
    passes first.
    """
    require_batch(problem)
    planner = _Planner(problem, replication)
    planner.run(deadline or Deadline(None))
    model = "replay" if planner.evictions else "static"
    plan = build_plan(problem, planner.queues, eviction, planner.moves, model)  # type: ignore[arg-type]
    return plan, [float(value) for value in planner.ready]


def planning_seconds(problem: ReplicationProblem) -> float:
    """Seconds that MinMin takes on a busy machine, estimated."""
    tasks, nodes = len(problem.tasks), len(problem.nodes)
    return tasks * (SECONDS_PER_TASK + SECONDS_PER_CELL * tasks * nodes)


class _Planner:
    """Planned disks, and what each task would take on each node: row k is task k, column i node i.

    ``fetched`` and ``copied`` are the bytes that task k misses on node i, by where they come from.
    ``compute`` and ``seconds`` are infinite where the task does not fit, and once it is assigned;
    ``least`` is the least of each column of ``seconds``.
    """

    def __init__(self, problem: ReplicationProblem, replication: bool) -> None:
        import numpy as np

        tasks, nodes = range(len(problem.tasks)), range(len(problem.nodes))
        self.problem, self.replication, network = problem, replication, problem.network
        self.sizes = [file.bytes for file in problem.files]
        self.pending = [len(readers) for readers in problem.readers]
        self.readers = [np.array(readers, dtype=np.int64) for readers in problem.readers]
        self.disks = [set(held) for held in problem.holds]
        self.used = [sum(self.sizes[f] for f in held) for held in problem.holds]
        self.holders = [{i for i in nodes if f in self.disks[i]} for f in range(len(self.sizes))]
        self.queues: list[list[int]] = [[] for _ in nodes]
        self.moves: list[Move] = []
        self.evictions = 0
        self.ready = np.zeros(len(nodes))
        fetch, copy = 1.0 / network.remote_bytes_per_second, 1.0 / network.replica_bytes_per_second
        self._costs = fetch, copy if replication else fetch
        speeds = np.array([node.speed for node in problem.nodes])
        fits = np.array([problem.fits(k, i) for k in tasks for i in nodes], dtype=bool)
        fits = fits.reshape(len(tasks), len(nodes))
        compute = np.array([task.compute_seconds for task in problem.tasks])
        self.compute = np.where(fits, compute[:, None] / speeds, np.inf)
        self.open = np.ones(len(tasks), dtype=bool)
        self.fetched = np.zeros(fits.shape, dtype=np.int64)
        self.copied = np.zeros(fits.shape, dtype=np.int64)
        for f, holders in enumerate(self.holders):
            missing = self.copied if holders else self.fetched
            lacking = np.array([i for i in nodes if i not in holders], dtype=np.int64)
            missing[np.ix_(self.readers[f], lacking)] += self.sizes[f]
        self.seconds = np.full(fits.shape, np.inf)
        self.least = np.full(len(nodes), np.inf)
        self._price([np.arange(len(tasks))], slice(None))

    def run(self, deadline: Deadline) -> None:
        """Assign every task; OutOfTime after *deadline*."""
        estimate = planning_seconds(self.problem)
        reads = sum(map(len, self.problem.inputs)) + len(self.problem.tasks)
        deadline = deadline.with_overtime(CHECK_SECONDS_PER_READ * reads)
        if estimate > max(CHEAP_SECONDS, 2.0 * deadline.remaining()):
            raise OutOfTime("MinMin takes longer than the time limit leaves")
        for step in range(len(self.problem.tasks)):
            if step % TASKS_A_LOOK == 0 and estimate > CHEAP_SECONDS and deadline.expired():
                raise OutOfTime("the deadline passed while MinMin planned")
            self._commit(*self._first_end())

    def _first_end(self) -> tuple[int, int]:
        """The task and the node that end first; ties: the lowest task, then the lowest node."""
        ends = self.ready + self.least
        limit = ends.min() + TIE_SECONDS
        return min(
            (int((self.ready[i] + self.seconds[:, i] <= limit).argmax()), int(i))
            for i in (ends <= limit).nonzero()[0]
        )

    def _commit(self, k: int, i: int) -> None:
        """Assign task *k* to node *i*: its files are there from now on."""
        import numpy as np

        inputs, disk = self.problem.inputs[k], self.problem.nodes[i].disk_bytes
        self.queues[i].append(k)
        self.ready[i] += self.seconds[k, i]
        self.compute[k] = np.inf
        for f in inputs:
            self.pending[f] -= 1
        everywhere: list[Ints] = [np.array([k])]
        here: list[Ints] = []
        for f in inputs:
            if f in self.disks[i]:
                continue
            while disk is not None and self.used[i] + self.sizes[f] > disk:
                victim = min(self.disks[i].difference(inputs), key=self._popularity)
                (everywhere if self._leave(victim, i) else here).append(self.readers[victim])
                self.evictions += 1
            source = min(self.holders[f], default=-1) if self.replication else -1
            self.moves.append((f, source, i))
            (everywhere if self._arrive(f, i) else here).append(self.readers[f])
        self._price(everywhere, slice(None))
        self._price(here, slice(i, i + 1))
        self.open[k] = False

    def _popularity(self, f: int) -> tuple[float, int]:
        """Equation (22); ties: the lowest file."""
        return self.pending[f] * float(self.sizes[f]) / len(self.holders[f]), f

    def _arrive(self, f: int, i: int) -> bool:
        """File *f* comes to node *i*; whether all others may copy it from now on."""
        readers, size, first = self.readers[f], self.sizes[f], not self.holders[f]
        if first:
            self.fetched[readers] -= size
            self.copied[readers] += size
        self.copied[readers, i] -= size
        self.holders[f].add(i)
        self.disks[i].add(f)
        self.used[i] += size
        return first

    def _leave(self, f: int, i: int) -> bool:
        """File *f* leaves node *i*; whether all others must fetch it from now on."""
        readers, size = self.readers[f], self.sizes[f]
        self.copied[readers, i] += size
        self.holders[f].remove(i)
        last = not self.holders[f]
        if last:
            self.copied[readers] -= size
            self.fetched[readers] += size
        self.disks[i].remove(f)
        self.used[i] -= size
        return last

    def _price(self, tasks: Sequence[Ints], nodes: slice) -> None:
        """What *tasks* take on *nodes*, transfers one after the other."""
        import numpy as np

        rows = np.concatenate([np.empty(0, dtype=np.int64), *tasks])
        rows = rows[self.open[rows]]
        if not len(rows):
            return
        fetch, copy = self._costs
        moved = self.fetched[rows, nodes] * fetch + self.copied[rows, nodes] * copy
        fresh = moved + self.compute[rows, nodes]
        before, now = self.seconds[rows, nodes].min(axis=0), fresh.min(axis=0)
        self.seconds[rows, nodes] = fresh
        least = self.least[nodes]
        if ((before <= least) & (now > least)).any():
            least[:] = self.seconds[:, nodes].min(axis=0)
        else:
            least[:] = np.minimum(least, now)
