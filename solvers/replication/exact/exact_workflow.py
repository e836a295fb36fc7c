"""``exact-workflow``: the queues of a small workflow (or batch) whose replay ends first, proven.

Objective: the makespan of the replay, over all queues of tasks, without copy entries, replayed under
any of the three eviction policies. Starts are the planners' plans; then a branch and bound along
the exact replay (:mod:`ioopt.solvers.replication.exact.queue_kernel`), one policy after the other;
where no file ever has to make room for another, the policies do not differ and one will do.
What that proves is the metric ``queues_bound_seconds``. A plan with copy entries, or a record of
dispatches, may end sooner: the bound of the result is of those too.
"""

import sys
from dataclasses import dataclass, replace
from typing import Any

from ioopt.compiled.choice import LOADING_SECONDS, use_machine_code
from ioopt.errors import NotApplicableError, OutOfTime
from ioopt.models.replication.timeline_bound import makespan_bound_seconds
from ioopt.models.replication.transfer_bound import TransferBound
from ioopt.models.replication.workflow_intervals import IntervalModel
from ioopt.options import SolveOptions
from ioopt.problems.base import Record
from ioopt.problems.replication import EvictionPolicy, ReplicationPlan, ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason, relative_gap
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.replication.exact.queue_search import MOST_TASKS, QueueSearch
from ioopt.solvers.replication.plans import build_plan, tiny_batch
from ioopt.solvers.replication.search import link_aware

POLICIES: tuple[EvictionPolicy, ...] = ("farthest-next-use", "popularity", "lru")
START_SHARE = 0.2
"""Share of the time limit that the planners may take."""
PIECE = {False: 64, True: 20_000}
"""Replays between two looks at the clock, by whether the kernel is compiled."""
RELAX_SHARE, RELAX_WORK = 0.3, 20.0
"""When the search has taken this share of the time, CP-SAT gets as much of the rest, and at most so
many of its deterministic seconds."""
LAST_RELAX_WORK = 2.0
"""As much where the search has ended, for the bound of plans with copy entries alone."""
PLAIN_REPLAYS = 5_000
"""What ends sooner needs no machine code: some seconds."""
ANSWER_SECONDS = 0.05


class Settings(Record):
    """``replays``: the most that the search may make (none: until the time limit), for runs that repeat."""

    replays: int | None = None


def solve(
    problem: ReplicationProblem, request: SolveRequest[Settings, ReplicationPlan]
) -> Outcome[ReplicationPlan]:
    """The queues that end first, and a bound of all plans' makespans, also of those with copy entries.

    Raises UnsolvableInstanceError for a task that fits no node, and NotApplicableError for more
    than 40 tasks and for nodes that receive several files at once.
    """
    problem.require_room()
    if len(problem.tasks) > MOST_TASKS:
        raise NotApplicableError(
            f"the search over queues takes up to {MOST_TASKS} tasks, and {len(problem.tasks)} are given"
        )
    if any(node.staging > 1 for node in problem.nodes):
        raise NotApplicableError(
            "the search over queues follows replays that stage one file at a time, and nodes have "
            "staging above 1; link-aware takes that"
        )
    request.incumbents.objective_name = "makespan_seconds"
    run = _Run(problem, request)
    run.start()
    if problem.tasks:
        run.search()
    return run.outcome()


@dataclass
class _Run:
    """One solve: the best plan so far, and what the search of each policy has proven."""

    problem: ReplicationProblem
    request: SolveRequest[Settings, ReplicationPlan]

    def __post_init__(self) -> None:
        plain = makespan_bound_seconds(self.problem)
        self.floor = max(plain, TransferBound(self.problem).seconds)
        self.upper = self.planned = float("inf")
        self.plan: ReplicationPlan | None = None
        self.proven: list[float] = []
        self.stop = StopReason.FINISHED
        self.replays = 0
        self.relaxed = False
        settings = self.request.settings or Settings()
        self.most = settings.replays if settings.replays is not None else 1 << 60
        left = self.request.deadline.remaining()
        self.deadline = self.request.deadline.within(max(0.0, left - ANSWER_SECONDS))
        self.fast = self.asked = False

    def start(self) -> None:
        """The planners' best plan, and the plan of the request."""
        deadline = self.deadline.within(START_SHARE * self.deadline.remaining())
        asked = SolveRequest[Any, ReplicationPlan](SolveOptions(), deadline)
        # One replay: all planners and no search.
        asked = replace(asked, settings=link_aware.Settings(evaluations=1))
        self._offer(link_aware.solve(self.problem, asked).plan)
        self.planned = self.upper
        self._offer(self.request.start)

    def _offer(self, plan: ReplicationPlan | None) -> None:
        if plan is None:
            return
        try:
            seconds = simulate(self.problem, plan).metrics["makespan_seconds"]
        except OutOfTime:
            seconds = float("inf")
        if self.plan is None or seconds < self.upper:
            self.plan, self.upper = plan, seconds
            self.request.incumbents.report(plan, seconds, self.floor)

    @property
    def queues_bound(self) -> float:
        """What is proven of queues of tasks under all policies: the least of their bounds."""
        return max(self.floor, min(self.proven, default=0.0))

    def search(self) -> None:
        """One policy after the other, each from what the last has found."""
        for policy in POLICIES:
            if self.upper <= self.floor * (1 + 1e-12):
                break
            tree = QueueSearch(self.problem, policy, self.upper, self.fast)
            ended = self._run(tree, policy)
            self.proven.append(tree.bound)
            if not ended and policy != POLICIES[-1]:
                # What the policies to come can do is not known.
                self.proven.append(self.floor)
            if not ended or not tree.pressed:
                break
        if self.stop is StopReason.FINISHED and self.floor < self.upper and not self.relaxed:
            self._relax(LAST_RELAX_WORK)

    def _run(self, tree: QueueSearch, policy: EvictionPolicy) -> bool:
        """Search until the end (True) or until the time or the replays are up."""
        before = self.replays
        while True:
            if not self.asked and self.replays >= PLAIN_REPLAYS:
                left = self.deadline.remaining()
                self.asked, self.fast = True, use_machine_code("queues", self.deadline, left)
                tree.fast = self.fast
            ended = tree.run(max(0, min(PIECE[tree.fast], self.most - self.replays)))
            self.replays = before + tree.visited
            queues = tree.best_queues()
            if queues is not None and tree.upper < self.upper:
                self._offer(build_plan(self.problem, queues, policy))
                self.upper = min(self.upper, tree.upper)
            if ended:
                return True
            late = self.deadline.elapsed() > RELAX_SHARE * (self.deadline.limit_seconds or 1e9)
            if not self.relaxed and (late or self.replays >= self.most):
                self._relax()
                tree.look_below(self.upper)
                if self.upper <= self.floor * (1 + 1e-9):
                    return True
            known = max(self.floor, tree.bound) if policy == POLICIES[-1] else self.floor
            if (relative_gap(self.upper, known) or 0.0) <= (self.request.options.gap or -1.0):
                self.stop = StopReason.GAP
                return False
            if self.replays >= self.most or self.deadline.expired():
                self.stop = StopReason.TIME if self.deadline.expired() else StopReason.ITERATIONS
                return False

    def _relax(self, work: float = RELAX_WORK) -> None:
        """CP-SAT on the relaxation with intervals: a bound, and queues by the order of its starts."""
        self.relaxed = True
        if "ortools" not in sys.modules and self.deadline.remaining() < LOADING_SECONDS:
            return
        assert self.plan is not None
        model = IntervalModel(self.problem, self.upper)
        left = self.deadline.remaining()
        limits = BackendLimits(
            RELAX_SHARE * left if left < float("inf") else None,
            seed=self.request.options.seed, work=work,
        )  # fmt: skip
        answer = solve_by_cpsat(
            model.program, limits, model.hint(simulate(self.problem, self.plan).schedule),
            parameters={"symmetry_level": 0},
        )  # fmt: skip
        if answer.bound is not None:
            self.floor = max(self.floor, min(self.upper, model.seconds(answer.bound)))
        if answer.found:
            self._offer(build_plan(self.problem, model.queues(answer.values), POLICIES[0]))

    def outcome(self) -> Outcome[ReplicationPlan]:
        """The best plan and the bound."""
        note = f"{self.replays} replays of beginnings of queues"
        if self.stop is StopReason.FINISHED:
            note += "; no queues of tasks end sooner under any eviction policy"
            if self.floor < self.upper * (1 - 1e-9):
                note += ", and the bound is one of plans with copy entries too"
        metrics = {
            "replays": self.replays, "planners_makespan_seconds": self.planned,
            "queues_bound_seconds": self.queues_bound,
        }  # fmt: skip
        return Outcome(
            self.plan, self.floor, self.stop, objective_name="makespan_seconds", notes=(note,),
            metrics=metrics,
        )  # fmt: skip


def compile_kernels() -> None:
    """Compile the search by running it on two tasks."""
    QueueSearch(tiny_batch(), POLICIES[0], float("inf"), True).run(100)
