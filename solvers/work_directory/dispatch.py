"""Run a policy of a work directory once, or find the best safe run (rules B5 to B9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product

from pydantic import Field

from ioopt.errors import OutOfTime
from ioopt.models.work_directory.bounds import PeakBound, makespan_bounds, peak_bound
from ioopt.options import OVERTIME, OVERTIME_SECONDS, Deadline
from ioopt.problems.base import Json, Record, collector_paused
from ioopt.problems.work_directory import Fault, WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.work_directory.dispatch import (
    Dispatcher,
    Policy,
    Rank,
    Starts,
    named,
    run,
)
from ioopt.sim.work_directory.order import (
    Walk,
    least_order,
    reference_order,
    sequential_peak,
)
from ioopt.units import counted, quantity

POLICIES: tuple[Policy, ...] = ("submission", "depth-first")
Answer = Outcome[WorkDirectoryPlan]
NEEDS = {
    "need": "task {task} alone needs {size}",
    "through": "while task {task} runs, the directory holds at least {size}",
    "end": "while the last task runs, the directory holds at least {size}",
}
"""Sentence for each reason of the bound of the peak (rule B10)."""
TASK_SECONDS = 5e-5
"""Seconds per task for reading, planning, replaying, checking and writing.

Measured on a machine of 2020.
"""


def require_time(problem: WorkDirectoryProblem, deadline: Deadline) -> None:
    """Raise OutOfTime if the limit of the whole run is too short for any answer."""
    needed = TASK_SECONDS * len(problem.tasks)
    if needed > (1 + OVERTIME) * deadline.run_seconds + OVERTIME_SECONDS:
        raise OutOfTime(
            f"the time limit is too short for {len(problem.tasks)} tasks: reading "
            "them, planning them one by one and checking the plan takes about "
            f"{needed:.2g} s"
        )


def first_answer(problem: WorkDirectoryProblem, deadline: Deadline) -> Deadline:
    """Return the deadline of a search that leaves time for replay and check."""
    return deadline.within(deadline.remaining() - TASK_SECONDS * len(problem.tasks))


def one_by_one(problem: WorkDirectoryProblem, order: Sequence[int]) -> Starts:
    """Return the earliest starts if the tasks run one by one in *order*."""
    ticks = problem.ticks
    tasks = problem.tasks
    starts: Starts = []
    now = 0
    for k in order:
        now = max(now, ticks.of(tasks[k].release_seconds))
        starts.append((now, k))
        now += ticks.of(tasks[k].compute_seconds)
    return starts


def too_small(need: str, bound: int, quota: int) -> str:
    """Return the fault that *bound* bytes exceed the *quota*; *need* says what needs
    them.
    """
    wanted = quantity("bytes", quota)
    missing = counted(bound - quota, "byte")
    return f"{need}; the quota is {wanted} ({missing} too small)"


class Settings(Record):
    """Configure a policy.

    ``safe``: start a task only if the rest can still end afterwards (rule B6).
    ``in_flight``: the most samples open at once (rule B7).
    """

    safe: bool = True
    in_flight: int | None = Field(default=None, ge=1)


@dataclass(frozen=True)
class Question:
    """State the quota that plans must respect, and what is known before a search.

    With ``peak`` (the measure is ``peak_bytes``) the quota is the least that is known
    to suffice. ``order`` needs ``found`` bytes when its tasks run one at a time. Bounds
    are those for which the ``deadline`` leaves time.
    """

    problem: WorkDirectoryProblem
    quota: int | None
    peak: bool
    least: PeakBound
    found: int
    order: list[int]
    deadline: Deadline | None = None

    @classmethod
    def of(
        cls,
        problem: WorkDirectoryProblem,
        peak: bool = False,
        order: list[int] | None = None,
        deadline: Deadline | None = None,
    ) -> Question:
        """Return the question for the problem's quota, or with *peak* for the needs of
        *order*.

        Without *order* take the reference order, or with *peak* the order with the
        least known peak. Past the *deadline* fewer orders are tried, and the bounds are
        weaker.
        """
        if order is None:
            known = least_order if peak else reference_order
            order = known(problem, deadline)
        found = sequential_peak(problem, order)
        quota = found if peak else problem.quota_bytes
        least = peak_bound(problem, deadline)
        return cls(problem, quota, peak, least, found, order, deadline)

    @property
    def no_order_known(self) -> bool:
        """Return whether ``order`` needs more than the quota."""
        return self.quota is not None and self.found > self.quota

    @cached_property
    def walk(self) -> Walk | None:
        """Return the object that admits tasks in safe runs.

        None without a quota, or if no order is known to respect it.
        """
        if self.quota is None or self.no_order_known:
            return None
        return Walk(self.problem, self.order, self.quota)

    @classmethod
    def asked(cls, problem: WorkDirectoryProblem, request: SolveRequest) -> Question:
        """Return the question of a *request*; OutOfTime if its limit is too short."""
        require_time(problem, request.deadline)
        deadline = first_answer(problem, request.deadline)
        with collector_paused():
            return cls.of(problem, request.measure == "peak_bytes", deadline=deadline)

    def refused(self) -> Answer | None:
        """Return the answer if no plan can exist, otherwise None."""
        if self.quota is None or self.least.bound <= self.quota:
            return None
        least = self.least
        size = quantity("bytes", least.bound)
        need = NEEDS[least.reason].format(task=least.task, size=size)
        note = too_small(need, least.bound, self.quota)
        return Outcome(None, infeasible=True, notes=(note,))

    def no_order(self) -> Fault:
        """Return the fault that no order of the tasks is known to respect the quota."""
        return Fault(
            "no order found", least=self.found, over=self.found - (self.quota or 0)
        )

    @cached_property
    def bound(self) -> Fraction:
        """Return the lower bound of the makespan under the quota, in seconds."""
        return makespan_bounds(self.problem, self.quota, self.deadline).bound

    @property
    def seconds(self) -> float:
        """Return the lower bound of the makespan in seconds as the nearest float."""
        return float(self.bound)

    def one_by_one(self) -> Starts | None:
        """Return the starts of the tasks one by one in ``order``; None if that exceeds
        the quota.
        """
        if self.no_order_known:
            return None
        return one_by_one(self.problem, self.order)

    def plan(self, starts: Starts) -> WorkDirectoryPlan:
        """Return the plan of a run; add a note if it exceeds the quota."""
        plan = named(self.problem, self.problem.ticks, starts)
        own = self.problem.quota_bytes
        if self.peak and own is not None and (self.quota or 0) > own:
            return plan.model_copy(update={"ignore_quota": True})
        return plan

    def answer(self, starts: Starts, stop: StopReason = StopReason.FINISHED) -> Answer:
        """Return the outcome of a run."""
        told: Json = {"bound": self.seconds}
        if self.peak:
            told = {"bound": float(self.least.bound), "objective_name": "peak_bytes"}
        return Outcome(self.plan(starts), stop=stop, **told)


class Runs:
    """Run policies and ranks repeatedly on one question; the runs share its data."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.problem = question.problem
        self.ticks = self.problem.ticks
        tasks = self.problem.tasks
        self.length = self.ticks.all_of(task.compute_seconds for task in tasks)
        self.releases = self.ticks.all_of(task.release_seconds for task in tasks)
        # Least ticks from the start of a task to the last end among its successors.
        self.rest = list(self.length)
        for k in reversed(self.problem.topological):
            after = (self.rest[j] for j in self.problem.successors[k])
            self.rest[k] += max(after, default=0)

    def run(
        self,
        rank: Policy | Rank,
        safe: bool,
        in_flight: int | None = None,
        delays: Sequence[int] | None = None,
        until: int | None = None,
        deadline: Deadline | None = None,
    ) -> Starts:
        """Return the starts of one run.

        *delays* are the instants before which the tasks of each sample are not ready.
        Raises Fault, also if the run would end after *until*, and OutOfTime past the
        *deadline*.
        """
        question = self.question
        releases = self.releases
        if safe and question.quota is not None and question.walk is None:
            raise question.no_order()
        if delays is not None:
            rows = zip(releases, self.problem.samples, strict=True)
            releases = [at if s < 0 else max(at, delays[s]) for at, s in rows]
        dispatcher = Dispatcher(
            self.problem, rank, question.quota, safe, in_flight, question.walk
        )
        due = None
        if until is not None:
            due = [until - rest for rest in self.rest]
        return run(
            dispatcher, self.ticks, self.length, releases, due=due, deadline=deadline
        )

    def makespan(self, starts: Starts) -> int:
        """Return the last end, in ticks."""
        return max((at + self.length[k] for at, k in starts), default=0)

    def sequential(self) -> Starts:
        """Return the starts of the tasks one by one; Fault if that exceeds the
        quota.
        """
        starts = self.question.one_by_one()
        if starts is None:
            raise self.question.no_order()
        return starts

    def in_flight(self) -> Iterator[tuple[int, Policy]]:
        """Return every pair of a cap of samples in flight and a policy."""
        return product(range(1, max(self.problem.samples, default=0) + 2), POLICIES)


def _policy(name: Policy) -> Callable[[WorkDirectoryProblem, SolveRequest], Answer]:
    def solve(
        problem: WorkDirectoryProblem,
        request: SolveRequest[Settings, WorkDirectoryPlan],
    ) -> Answer:
        """Run the policy once, with the settings of the request."""
        question = Question.asked(problem, request)
        told = request.settings
        if refused := question.refused():
            return refused
        deadline = first_answer(problem, request.deadline)
        try:
            starts = Runs(question).run(
                name, told.safe, told.in_flight, deadline=deadline
            )
        except Fault as fault:
            return Outcome(None, notes=(str(fault),))
        return question.answer(starts)

    return solve


solve_submission = _policy("submission")
solve_depth_first = _policy("depth-first")


def solve_in_flight(problem: WorkDirectoryProblem, request: SolveRequest) -> Answer:
    """Return the best safe run over all caps of samples in flight and both policies."""
    question = Question.asked(problem, request)
    if refused := question.refused():
        return refused
    try:
        found = quickest(Runs(question), first_answer(problem, request.deadline))
    except Fault as fault:
        return Outcome(None, notes=(str(fault),))
    if found.cap is None:
        note = (
            "the time limit ended every run, so the plan runs one task after the other"
        )
        return replace(question.answer(found.starts, found.stop), notes=(note,))
    return question.answer(found.starts, found.stop)


@dataclass(frozen=True)
class Quickest:
    """Record the best safe run, its cap and policy; cap None: the tasks run one by
    one.
    """

    starts: Starts
    cap: int | None
    policy: Policy
    stop: StopReason


def quickest(runs: Runs, deadline: Deadline) -> Quickest:
    """Return the best safe run until the *deadline*; Fault if none completes."""
    best = None
    until: int | None = None
    for cap, policy in runs.in_flight():
        try:
            starts = runs.run(policy, True, cap, until=until, deadline=deadline)
        except OutOfTime:
            break
        except Fault as fault:
            if fault.record["kind"] != "late":
                raise
        else:
            if best is None or until is None or runs.makespan(starts) < until:
                best = Quickest(starts, cap, policy, StopReason.FINISHED)
                until = runs.makespan(starts)
        if best is not None and deadline.expired():
            break
    else:
        assert best is not None
        return best
    if best is None:
        best = Quickest(runs.sequential(), None, POLICIES[0], StopReason.TIME)
    return replace(best, stop=StopReason.TIME)
