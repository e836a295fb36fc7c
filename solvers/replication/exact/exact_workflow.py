"""``exact-workflow``: the queues of a small workflow (or batch) whose
replay ends first, proven.

Objective: the makespan of the replay, over all queues of tasks, without copy entries,
replayed under any of the three eviction policies. The start is that of ``link-aware``;
then a branch and bound along the exact replay
(:mod:`ioopt.solvers.replication.exact.queue_kernel`), one policy after the other; where
no file ever has to make room for another, the policies do not differ and one will do.
What that proves is the metric ``queues_bound_seconds``. A plan with copy entries, or a
record of dispatches, may end sooner: the bound of the result is of those too.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from ioopt.compiled import compiled
from ioopt.compiled.choice import use_machine_code
from ioopt.errors import NotApplicableError, OutOfTime
from ioopt.models.replication.workflow_bound import TransferBound
from ioopt.options import SolveOptions
from ioopt.problems.base import Record
from ioopt.problems.replication import (
    EvictionPolicy,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason, relative_gap
from ioopt.sim.replication.simulate import simulate
from ioopt.sim.replication.state import (
    instance_arrays,
    new_log,
    new_state,
    queue_arrays,
)
from ioopt.solvers.backends.cpsat_replay import relaxed_seconds
from ioopt.solvers.replication.exact import queue_kernel as kernel
from ioopt.solvers.replication.exact.queue_bound import Path
from ioopt.solvers.replication.plans import TINY_TASKS, Answer, build_plan, tiny_batch
from ioopt.solvers.replication.search import link_aware

if TYPE_CHECKING:
    from ioopt.compiled import Ints

MOST_TASKS = 40
"""A search keeps the state behind each child of a branching; beyond that
no proof is in sight.
"""
SCRATCH = ("victims", "keys", "use", "rates", "room", "crossing", "receivers")
"""Fields of the simulator's state that mean nothing between two steps."""
POLICIES: tuple[EvictionPolicy, ...] = ("farthest-next-use", "popularity", "lru")
START_SHARE, START_REPLAYS = 0.2, 500
"""Share of the time limit that the start may take, and its replays; a tiny one's are
the planners' alone.
"""
PIECE = {False: 64, True: 20_000}
"""Replays between two looks at the clock, by whether the kernel is compiled."""
PLAIN_REPLAYS = 5_000
"""What ends sooner needs no machine code: some seconds."""
ANSWER_SECONDS = 0.05
RELAX_SHARE = 0.4
"""Of the time that is left before the search over queues."""
RELAX_KEPT, LEAST_RELAXED = 0.2, 1.0
"""Share of a limit that is kept for the relaxation behind a search, and the seconds
that it needs to load.
"""


class Settings(Record):
    """``replays``: the most that the search may make (none: until the time limit),
    for runs that repeat.
    """

    replays: int | None = None


def solve(
    problem: ReplicationProblem, request: SolveRequest[Settings, ReplicationPlan]
) -> Answer:
    """The queues that end first, and a bound of all plans' makespans, also of
    those with copy entries.
    """
    problem.require_room()
    if len(problem.tasks) > MOST_TASKS:
        raise NotApplicableError(
            f"the search over queues takes up to {MOST_TASKS} tasks, and "
            f"{len(problem.tasks)} are given"
        )
    if any(node.staging > 1 for node in problem.nodes):
        raise NotApplicableError(
            "the search over queues follows replays that stage one file at a time, "
            "and nodes have staging above 1; link-aware takes that"
        )
    request.incumbents.objective_name = "makespan_seconds"
    run = _Run(problem, request)
    run.start()
    if problem.tasks:
        run.search()
    return run.outcome()


def least_makespan(problem: ReplicationProblem, request: SolveRequest) -> Answer:
    """``ip`` where the makespan is the measure: every queue of few tasks,
    else ``link-aware``.
    """
    few = len(problem.tasks) <= MOST_TASKS and all(
        node.staging == 1 for node in problem.nodes
    )
    asked = replace(request, settings=None)
    if few:
        return solve(problem, asked)
    found = searched(problem, asked)
    return replace(found, bound=max(found.bound or 0.0, TransferBound(problem).seconds))


def searched(problem: ReplicationProblem, request: SolveRequest) -> Answer:
    """The plan of ``link-aware``; of few tasks with the bound of the relaxation, if
    there is time for it.
    """
    limit = request.deadline
    few = len(problem.tasks) <= MOST_TASKS
    if few and RELAX_KEPT * limit.remaining() >= LEAST_RELAXED:
        limit = limit.within((1 - RELAX_KEPT) * limit.remaining())
    asked = replace(request, settings=link_aware.Settings(), deadline=limit)
    found = link_aware.solve(problem, asked)
    if not few:
        return found
    run = _Run(problem, replace(request, settings=None))
    run._offer(found.plan)
    ended = found.stop in (StopReason.ITERATIONS, StopReason.TIME)
    if ended and run.deadline.remaining() >= LEAST_RELAXED:
        run.relax(1.0)
    return replace(
        found, bound=run.floor, stop=StopReason.FINISHED if run.met else found.stop
    )


class _Run:
    """One solve: the best plan so far, and what the search of
    each policy has proven.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        request: SolveRequest[Settings, ReplicationPlan],
    ) -> None:
        self.problem = problem
        self.request = request
        self.floor = TransferBound(problem).seconds
        self.upper = float("inf")
        self.plan: ReplicationPlan | None = None
        self.proven: list[float] = []
        self.stop = StopReason.FINISHED
        self.replays = 0
        replays = (request.settings or Settings()).replays
        self.most = replays if replays is not None else 1 << 60
        left = request.deadline.remaining()
        self.deadline = request.deadline.within(max(0.0, left - ANSWER_SECONDS))
        self.fast = self.asked = self.relaxed = False

    def start(self) -> None:
        """The best plan of a short search, and the plan of the request."""
        deadline = self.deadline.within(START_SHARE * self.deadline.remaining())
        replays = START_REPLAYS if len(self.problem.tasks) > TINY_TASKS else 1
        how = link_aware.Settings(evaluations=replays)
        asked = SolveRequest[Any, ReplicationPlan](SolveOptions(), deadline, how)
        self._offer(link_aware.solve(self.problem, asked).plan)
        self._offer(self.request.start)

    def _offer(self, plan: ReplicationPlan | None) -> None:
        if plan is None:
            return
        try:
            seconds = simulate(self.problem, plan).metrics["makespan_seconds"]
        except OutOfTime:
            seconds = float("inf")
        if self.plan is None or seconds < self.upper:
            self.plan = plan
            self.upper = seconds
            self.request.incumbents.report(plan, seconds, self.floor)

    def search(self) -> None:
        """One policy after the other, each from what the last has found,
        until the bound is met.

        CP-SAT comes before a search that is likely to be cut short, and after
        that of a tiny instance.
        """
        if len(self.problem.tasks) > TINY_TASKS:
            self.relax(RELAX_SHARE)
        for policy in POLICIES:
            if self.met:
                break
            tree = QueueSearch(self.problem, policy, self.upper, self.fast)
            ended = self._run(tree, policy)
            self.proven.append(tree.bound)
            if not ended and policy != POLICIES[-1]:
                # What the policies to come can do is not known.
                self.proven.append(self.floor)
            if not ended or not tree.pressed:
                break
        if self.stop is not StopReason.GAP:
            self.relax(1.0)
        if self.met:
            self.stop = StopReason.FINISHED

    @property
    def met(self) -> bool:
        """Whether no plan at all can end sooner than the best one."""
        return self.upper <= self.floor * (1 + kernel.CLOSE_ENOUGH)

    def relax(self, share: float) -> None:
        """Ask CP-SAT once for a bound of all plans, in that *share* of what is left."""
        plan = self.plan
        ruled = plan is not None and plan.sources == "lowest" and not plan.carry_out
        if ruled and not (self.relaxed or self.met or self.deadline.expired()):
            self.relaxed = True
            seconds = share * self.deadline.remaining()
            bound = relaxed_seconds(self.problem, self.upper, self.request, seconds)
            self.floor = max(self.floor, bound)

    def _run(self, tree: QueueSearch, policy: EvictionPolicy) -> bool:
        """Search until the end (True) or until the time or the replays are up."""
        before = self.replays
        while True:
            if not self.asked and self.replays >= PLAIN_REPLAYS:
                left = self.deadline.remaining()
                self.asked = True
                self.fast = use_machine_code("queues", self.deadline, left)
                tree.fast = self.fast
            ended = tree.run(max(0, min(PIECE[tree.fast], self.most - self.replays)))
            self.replays = before + tree.visited
            queues = tree.best_queues()
            if queues is not None and tree.upper < self.upper:
                self._offer(build_plan(self.problem, queues, policy))
                self.upper = min(self.upper, tree.upper)
            if ended or self.met:
                return True
            known = (
                max(self.floor, tree.bound) if policy == POLICIES[-1] else self.floor
            )
            if (relative_gap(self.upper, known) or 0.0) <= (
                self.request.options.gap or -1.0
            ):
                self.stop = StopReason.GAP
                return False
            if self.replays >= self.most or self.deadline.expired():
                self.stop = (
                    StopReason.TIME
                    if self.deadline.expired()
                    else StopReason.ITERATIONS
                )
                return False

    def outcome(self) -> Answer:
        """The best plan and the bound."""
        note = f"{self.replays} replays of beginnings of queues"
        if self.stop is StopReason.FINISHED:
            note += "; no queues of tasks end sooner under any eviction policy"
            if self.floor < self.upper * (1 - 1e-9):
                note += ", and the bound is one of plans with copy entries too"
        proven = max(
            self.floor, min(self.proven, default=0.0)
        )  # the least of all policies'
        metrics = {"replays": self.replays, "queues_bound_seconds": proven}
        return Outcome(
            self.plan,
            self.floor,
            self.stop,
            objective_name="makespan_seconds",
            notes=(note,),
            metrics=metrics,
        )


def compile_kernels() -> None:
    """Compile the search by running it on two tasks."""
    QueueSearch(tiny_batch(), POLICIES[0], float("inf"), True).run(100)


class QueueSearch:
    """The search over all queues of *problem* under one eviction policy; it can
    be left and resumed.

    Only plans that end before *upper* seconds are looked for. ``fast``:
    on compiled kernels.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        eviction: EvictionPolicy,
        upper: float,
        fast: bool,
    ) -> None:
        self.problem = problem
        self.fast = fast
        tasks = len(problem.tasks)
        nodes = len(problem.nodes)
        self._inst = instance_arrays(problem)
        self._log = new_log(self._inst, 0, 0)
        queues = queue_arrays([range(tasks)] * nodes, eviction)
        self._words, (self._state, self._plan) = _one_block(
            new_state(self._inst), queues._replace(growing=1)
        )
        self._bounds = TransferBound(problem)
        fits = [int(problem.fits(k, i)) for k in range(tasks) for i in range(nodes)]
        self._fits = np.array(fits, dtype=np.int64)
        self._path = self._paths()
        self._tree = self._stack(upper)

    def _paths(self) -> Path:
        problem = self.problem
        bounds = self._bounds
        tasks = len(problem.tasks)
        nodes = len(problem.nodes)
        files = len(problem.files)
        urgent = sorted(range(tasks), key=lambda k: -bounds.tail[k])
        cores = sum(node.cores for node in problem.nodes)
        links = 1 if problem.network.remote_link == "shared" else nodes
        return Path(
            order=np.array(bounds.order),
            urgent=np.array([*urgent, kernel.CLOSE]),
            quick=np.array(bounds.seconds_on_fastest),
            tail=np.array(bounds.tail),
            far=np.array(
                [f.bytes / r for f, r in zip(problem.files, bounds.rates, strict=True)]
            ),
            near=problem.replica_seconds_per_byte,
            remote_rate=links * problem.network.remote_bytes_per_second,
            producer=np.array(problem.producer, dtype=np.int64),
            fits=self._fits,
            state=np.zeros(tasks, np.int64),
            on=np.zeros(tasks, np.int64),
            start=np.zeros(tasks),
            end=np.zeros(tasks),
            after=np.zeros(files),
            owed=np.zeros(files),
            free=np.zeros(cores),
            power=np.zeros(cores),
        )

    def _stack(self, upper: float) -> kernel.Tree:
        problem = self.problem
        tasks = len(problem.tasks)
        nodes = len(problem.nodes)
        depths = tasks + nodes + 2
        width = tasks + 2
        below = [0] * tasks
        for k in reversed(self._bounds.order):
            for p in problem.predecessors[k]:
                below[p] |= below[k] | 1 << k
        return kernel.Tree(
            words=self._words,
            before=np.zeros_like(self._words),
            kept=np.zeros(depths * width * len(self._words), np.int64),
            children=np.zeros(depths, np.int64),
            at=np.zeros(depths, np.int64),
            row=np.zeros(depths * width, np.int64),
            bound=np.zeros(depths * width),
            below=np.array(below, dtype=np.int64),
            fits=self._fits,
            best=np.zeros(tasks * nodes, np.int64),
            numbers=np.zeros(5, np.int64),
            seconds=np.array([upper]),
        )

    def run(self, visits: int) -> bool:
        """Replay up to about *visits* more children; whether the search has ended."""
        run = compiled(kernel.__name__, "search") if self.fast else kernel.search
        arrays = (
            self._inst,
            self._plan,
            self._state,
            self._log,
            self._tree,
            self._path,
        )
        return bool(run(*arrays, self.visited + visits) == kernel.DONE)

    @property
    def visited(self) -> int:
        """Children replayed so far."""
        return int(self._tree.numbers[kernel.VISITED])

    @property
    def upper(self) -> float:
        """Seconds of the best plan known."""
        return float(self._tree.seconds[kernel.UPPER])

    @property
    def pressed(self) -> bool:
        """Whether a file was ever evicted or saved for room: only
        then do policies differ.
        """
        return bool(self._tree.numbers[kernel.PRESSED])

    @property
    def bound(self) -> float:
        """No queues end sooner than that, in seconds: the least bound
        of what is still open.
        """
        tree = self._tree
        width = len(self.problem.tasks) + 2
        if not tree.numbers[kernel.BEGUN]:
            return 0.0
        least = self.upper
        for depth in range(int(tree.numbers[kernel.DEPTH]) + 1):
            rest = slice(
                depth * width + tree.at[depth], depth * width + tree.children[depth]
            )
            least = min([least, *tree.bound[rest]])
        return float(least)

    def best_queues(self) -> list[list[int]] | None:
        """The queues found that end at :attr:`upper`; None where none were."""
        if not self._tree.numbers[kernel.FOUND]:
            return None
        tasks = len(self.problem.tasks)
        rows = (
            self._tree.best[i : i + tasks]
            for i in range(0, len(self._tree.best), tasks)
        )
        return [[int(k) for k in takewhile(lambda k: k >= 0, row)] for row in rows]


def _one_block(*parts: Any) -> tuple[Ints, list[Any]]:
    """The arrays of *parts* as views of one block of words, scratch
    and constants apart.
    """
    moved = [
        (number, name, array)
        for number, part in enumerate(parts)
        for name, array in part._asdict().items()
        if name == "entry" or (hasattr(part, "has") and name not in SCRATCH)
    ]
    lengths = [-(-array.nbytes // 8) for _, _, array in moved]
    block = np.zeros(sum(lengths), np.int64)
    result = list(parts)
    for (number, name, array), begin in zip(
        moved, accumulate([0, *lengths]), strict=False
    ):
        view = block[begin:].view(array.dtype)[: len(array)]
        view[:] = array
        result[number] = result[number]._replace(**{name: view})
    return block, result
