"""Run a policy of a work directory once, or find the best safe run (rules B5 to B9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, product

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
"""For each reason of the peak bound (rule B10), the sentence that explains it."""
TASK_SECONDS = 5e-5
"""Seconds per task for reading, planning, replaying, checking and writing.

They were measured on a machine of 2020.
"""


def require_time(problem: WorkDirectoryProblem, deadline: Deadline) -> None:
    """Raise OutOfTime if the time limit of the whole run is too short for any
    answer.
    """
    needed = TASK_SECONDS * len(problem.tasks)
    if needed > (1 + OVERTIME) * deadline.run_seconds + OVERTIME_SECONDS:
        raise OutOfTime(
            f"the time limit is too short for {len(problem.tasks)} tasks: reading "
            "them, planning them one by one and checking the plan takes about "
            f"{needed:.2g} s"
        )


def first_answer(problem: WorkDirectoryProblem, deadline: Deadline) -> Deadline:
    """Return a *deadline* for the search that leaves time to replay and check its
    plan.
    """
    return deadline.within(deadline.remaining() - TASK_SECONDS * len(problem.tasks))


def one_by_one(problem: WorkDirectoryProblem, order: Sequence[int]) -> Starts:
    """Return the earliest starts, in ticks, of tasks that run one after the other in
    *order*.
    """
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
    """Return the note that *bound* bytes exceed the *quota*.

    *need* is a sentence that says what takes these bytes.
    """
    wanted = quantity("bytes", quota)
    missing = counted(bound - quota, "byte")
    return f"{need}; the quota is {wanted} ({missing} too small)"


class Settings(Record):
    """Configure a policy.

    ``safe``: start a task only if all other tasks can still end afterwards (rule B6).
    ``in_flight``: the largest number of samples that may be open at once (rule B7).
    """

    safe: bool = True
    in_flight: int | None = Field(default=None, ge=1)


@dataclass(frozen=True)
class Question:
    """State the quota that a plan must respect, and what is known before the search.

    With ``peak`` (the measure is ``peak_bytes``) the quota is the least that is known
    to suffice. ``order`` is an order of the tasks that needs ``found`` bytes if they
    run one after the other. With ``least_known`` it is that of :func:`least_order`, so
    none is sought that needs less. ``least`` is the lower bound of the peak. Bounds are
    as good as the ``deadline`` allows.
    """

    problem: WorkDirectoryProblem
    quota: int | None
    peak: bool
    least: PeakBound
    found: int
    order: list[int]
    deadline: Deadline | None = None
    least_known: bool = False

    @classmethod
    def of(
        cls,
        problem: WorkDirectoryProblem,
        peak: bool = False,
        order: list[int] | None = None,
        deadline: Deadline | None = None,
        least_known: bool = False,
    ) -> Question:
        """Return the question for the quota of *problem*.

        With *peak* the quota is the peak of *order* instead. The default *order* is the
        reference order, or with *peak* the order with the least known peak. Past the
        *deadline* fewer orders are tried, and the bounds are weaker.
        """
        if order is None:
            known = least_order if peak else reference_order
            order = known(problem, deadline)
        found = sequential_peak(problem, order)
        quota = found if peak else problem.quota_bytes
        least = peak_bound(problem, deadline)
        least_known = least_known or peak
        return cls(problem, quota, peak, least, found, order, deadline, least_known)

    @property
    def no_order_known(self) -> bool:
        """Return whether no known order respects the quota: ``order`` needs more."""
        return self.quota is not None and self.found > self.quota

    @cached_property
    def walk(self) -> Walk | None:
        """Return the object that decides which tasks a safe run may start.

        Return None without a quota, or if no known order respects it.
        """
        if self.quota is None or self.no_order_known:
            return None
        return Walk(self.problem, self.order, self.quota)

    @classmethod
    def asked(cls, problem: WorkDirectoryProblem, request: SolveRequest) -> Question:
        """Return the question of a *request*; raise OutOfTime if its time limit is too
        short.
        """
        require_time(problem, request.deadline)
        deadline = first_answer(problem, request.deadline)
        with collector_paused():
            return cls.of(problem, request.measure == "peak_bytes", deadline=deadline)

    def refused(self) -> Answer | None:
        """Return the answer "infeasible" if the bound of the peak exceeds the quota,
        otherwise None.
        """
        if self.quota is None or self.least.bound <= self.quota:
            return None
        least = self.least
        size = quantity("bytes", least.bound)
        need = NEEDS[least.reason].format(task=least.task, size=size)
        note = too_small(need, least.bound, self.quota)
        return Outcome(None, infeasible=True, notes=(note,))

    def no_order(self) -> Fault:
        """Return the fault that no known order of the tasks respects the quota."""
        return Fault(
            "no order found", least=self.found, over=self.found - (self.quota or 0)
        )

    @cached_property
    def bound(self) -> Fraction:
        """Return the lower bound of the makespan under the quota, in seconds, as an
        exact fraction.
        """
        return makespan_bounds(self.problem, self.quota, self.deadline).bound

    @property
    def seconds(self) -> float:
        """Return the lower bound of the makespan, in seconds, as the nearest float."""
        return float(self.bound)

    def one_by_one(self) -> Starts | None:
        """Return the starts of the tasks one after the other in ``order``.

        Return None if they exceed the quota.
        """
        if self.no_order_known:
            return None
        return one_by_one(self.problem, self.order)

    def plan(self, starts: Starts) -> WorkDirectoryPlan:
        """Return the plan with these *starts*.

        For the measure ``peak_bytes`` it is marked to ignore the quota of the instance
        if it needs more.
        """
        plan = named(self.problem, self.problem.ticks, starts)
        own = self.problem.quota_bytes
        if self.peak and own is not None and (self.quota or 0) > own:
            return plan.model_copy(update={"ignore_quota": True})
        return plan

    def answer(self, starts: Starts, stop: StopReason = StopReason.FINISHED) -> Answer:
        """Return the outcome for the *starts* of a run, with the bound of the
        measure.
        """
        told: Json = {"bound": self.seconds}
        if self.peak:
            told = {"bound": float(self.least.bound), "objective_name": "peak_bytes"}
        return Outcome(self.plan(starts), stop=stop, **told)


class Runs:
    """Run policies and ranks on one question, again and again.

    A rank is a function that returns the priority of a task; the least goes first. What
    all runs need is computed once.
    """

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
        """Return the starts of one run, in ticks.

        *in_flight* is the largest number of samples open at once. *delays* has, for
        each sample, the instant before which its tasks are not ready. Raise Fault if
        the run gets stuck, or would end after *until*; raise OutOfTime past the
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
        """Return the end of the last task, in ticks."""
        return max((at + self.length[k] for at, k in starts), default=0)

    def sequential(self) -> Starts:
        """Return the starts of the tasks one after the other; raise Fault if they
        exceed the quota.
        """
        starts = self.question.one_by_one()
        if starts is None:
            raise self.question.no_order()
        return starts

    @cached_property
    def caps(self) -> tuple[list[int], list[int]]:
        """Return the numbers of samples that may be open at once in two parts: a few,
        each half as large again as the one before it, and all others.
        """
        most = max(self.problem.samples, default=0) + 1
        few = [1]
        while few[-1] < most:
            few.append(min(most, few[-1] + max(1, few[-1] // 2)))
        return few, [cap for cap in range(1, most + 1) if cap not in few]

    def in_flight(self) -> Iterator[tuple[int, Policy]]:
        """Return all pairs (number of samples that may be open at once, policy), those
        of a coarse grid first.
        """
        return product(chain(*self.caps), POLICIES)


def _policy(name: Policy) -> Callable[[WorkDirectoryProblem, SolveRequest], Answer]:
    """Return the solver that runs policy *name* once."""

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
    """Return the best safe run over both policies and all limits of open samples."""
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
    """Store the best safe run, with its limit of open samples ``cap`` and its policy.

    ``cap`` is None if the tasks run one after the other. ``tried`` is the number of
    runs that were simulated.
    """

    starts: Starts
    cap: int | None
    policy: Policy
    stop: StopReason
    tried: int = 0


def quickest(runs: Runs, deadline: Deadline, most: int | None = None) -> Quickest:
    """Return the safe run with the least makespan among *most* runs (None: all), or
    until the *deadline*. Of equals, the one with the fewest open samples counts.

    A coarse grid of the numbers of open samples is tried first, then those nearest to
    the best of it. Raise Fault if no order of the tasks is known to respect the quota.
    """
    best: Quickest | None = None
    least: tuple[int, int, int] | None = None
    tried = 0
    stop = StopReason.FINISHED

    def pairs() -> Iterator[tuple[int, Policy]]:
        few, others = runs.caps
        yield from product(few, POLICIES)
        near = 1 if best is None or best.cap is None else best.cap
        others = sorted(others, key=lambda cap: (abs(cap - near), cap))
        yield from product(others, POLICIES)

    for cap, policy in pairs():
        if tried == most:
            break
        if best is not None and deadline.expired():
            stop = StopReason.TIME
            break
        until = None if least is None else least[0]
        try:
            starts = runs.run(policy, True, cap, until=until, deadline=deadline)
        except OutOfTime:
            stop = StopReason.TIME
            break
        except Fault as fault:
            if fault.record["kind"] != "late":
                raise
        else:
            rank = (runs.makespan(starts), cap, POLICIES.index(policy))
            if least is None or rank < least:
                best = Quickest(starts, cap, policy, StopReason.FINISHED)
                least = rank
        tried += 1
    if best is None:
        best = Quickest(runs.sequential(), None, POLICIES[0], StopReason.TIME)
    return replace(best, stop=stop, tried=tried)
