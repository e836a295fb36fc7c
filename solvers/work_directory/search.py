"""Search over orders, delays of samples and caps of samples in flight (rule B13).

The search begins with the runs of ``in-flight``, and with runs whose samples start in
groups, one group after the other in equal steps. Then it changes the best point at
random; the changed point replaces it if it is not worse. A point is first run without
the admission of safe runs, which is quicker, and as good if the run completes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from pydantic import Field

from ioopt.errors import OutOfTime
from ioopt.options import Deadline
from ioopt.problems.base import Record, collector_paused
from ioopt.problems.work_directory import Fault, WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.work_directory.dispatch import Policy, Rank, Starts
from ioopt.sim.work_directory.order import least_order, sequential_peak
from ioopt.solvers.work_directory.dispatch import Answer, Question, Runs, first_answer
from ioopt.units import exact

STARTS_SHARE = 0.5
"""Share of the time that the first runs may take."""
STAGGERS = 150
"""Number of first runs in which samples start in groups, one group after the other."""
LONGEST = 1.5
"""Longest step between two groups, as a multiple of the bound per sample."""
POLICIES: tuple[Policy, ...] = ("depth-first", "submission", "newest-first")
MOVES = ("few", "sample", "tail", "delay", "swap", "scale", "cap")
BASIC: tuple[Policy, ...] = ("depth-first", "submission")
LARGE = 5_000
"""Number of tasks above which the policies are first run without admission.

A run without admission takes a small part of the time of a safe run.
"""
SPREAD = 0.15
"""Standard deviation of a move's shift of a task, as a share of the makespan."""


class Settings(Record):
    """Configure ``evaluations``: the most runs after the first ones."""

    evaluations: int = Field(default=20_000, ge=0)


Asked = SolveRequest[Settings, WorkDirectoryPlan]


@dataclass(frozen=True)
class Point:
    """Represent a point of the search and its run.

    ``begins`` ranks the tasks (ticks), ``delays`` hold back the samples (ticks), and
    ``cap`` is the most samples in flight.
    """

    begins: list[int]
    delays: list[int]
    cap: int | None
    starts: Starts
    makespan: int


def part_of(ticks: int, share: float) -> int:
    """Return the *share* of *ticks*, rounded toward 0, without rounding to a float.

    >>> part_of(7, 0.5), part_of(-7, 0.5)
    (3, -3)
    """
    above, below = share.as_integer_ratio()
    size = abs(ticks * above) // below
    if ticks * above > 0:
        return size
    return -size


def rank_by(numbers: Sequence[int]) -> Rank:
    """Return the rank that puts the task with the least of *numbers* first."""
    return lambda now, k: numbers[k]


class Search:
    """Search for the best point of one question.

    ``advance`` may be called again: it continues where it stopped.
    """

    def __init__(self, question: Question, request: Asked) -> None:
        self.question = question
        self.request = request
        self.runs = Runs(question)
        self.deadline = first_answer(question.problem, request.deadline)
        self.rng = random.Random(request.options.seed)
        self.evaluated = 0
        self.first = [self.runs]
        if not question.peak and (
            question.no_order_known or not self.deadline.expired()
        ):
            order = least_order(question.problem, self.deadline)
            if sequential_peak(question.problem, order) < question.found:
                other = Question.of(
                    question.problem, order=order, deadline=self.deadline
                )
                self.runs = Runs(other)
                self.first.append(self.runs)
        self.groups: list[list[int]] = [
            [] for _ in range(max(question.problem.samples, default=-1) + 1)
        ]
        for k, number in enumerate(question.problem.samples):
            if number >= 0:
                self.groups[number].append(k)
        self.best: Point | None = None
        self.fault: Fault | OutOfTime | None = None
        request.incumbents.objective_name = "makespan_seconds"

    def begin(self) -> None:
        """Run the first points, and record the best of them."""
        part = self.deadline.within(self.deadline.remaining() * STARTS_SHARE)
        quiet = [0] * len(self.groups)
        for runs in self.first:
            starts = runs.question.one_by_one()
            if starts is not None:
                self.keep(quiet, None, starts)
        if self.request.start is not None:
            self.attempt(self._begins_of(self.request.start), quiet, None, until=part)
        if self.best is not None and part.expired():
            return
        self._run_policies(quiet, part)
        if not self.groups:
            return
        for _ in range(STAGGERS):
            if part.expired():
                break
            self.stagger()

    def _begins_of(self, plan: WorkDirectoryPlan) -> list[int]:
        """Return the starts of *plan* by task in ticks; 0 for a task without one."""
        per_second = self.runs.ticks.per_second
        at = {name: int(exact(seconds) * per_second) for seconds, name in plan.starts}
        return [at.get(task.id, 0) for task in self.question.problem.tasks]

    def _run_policies(self, quiet: list[int], until: Deadline) -> None:
        """Run the policies with every cap of samples in flight.

        *quiet* are delays of 0. Large instances are first run without admission.
        """
        if len(self.runs.length) > LARGE:
            for policy in BASIC:
                self.attempt(policy, quiet, None, modes=(False,), until=until)
        for runs in self.first:
            for cap, policy in runs.in_flight():
                self.attempt(policy, quiet, cap, runs, (True,), until=until)
                if until.expired():
                    break

    def advance(self, evaluations: int, deadline: Deadline) -> StopReason:
        """Change the best point until *evaluations* are made or it is proven optimal.

        Return why the search ended.
        """
        if self.best is None:
            if isinstance(self.fault, OutOfTime) or deadline.expired():
                return StopReason.TIME
            return StopReason.FINISHED
        while self.evaluated < evaluations and not self.proven():
            if deadline.expired():
                return StopReason.TIME
            self.step()
            self.evaluated += 1
        return StopReason.FINISHED

    def proven(self) -> bool:
        """Return whether the bound proves the best point."""
        return self.best is not None and self.best.makespan <= self.bound

    @cached_property
    def bound(self) -> int:
        """Return the lower bound of the makespan in ticks."""
        return ceil(self.question.bound * self.runs.ticks.per_second)

    def answer(self, stop: StopReason) -> Answer:
        """Return the outcome: the best plan, or the reason why there is none."""
        if self.best is None:
            why = self.fault or self.question.no_order()
            return Outcome(None, stop=stop, notes=(str(why),))
        return self.question.answer(self.best.starts, stop)

    def stagger(self) -> None:
        """Run the samples in groups of a random size, one group after the other."""
        rng = self.rng
        count = len(self.groups)
        size = min(rng.randint(1, count), rng.randint(1, count))
        cap = rng.randint(1, 2 * count)
        step = rng.uniform(0, LONGEST) / count
        delays = [
            part_of(self.bound * (number // size * size), step)
            for number in range(count)
        ]
        self.attempt(rng.choice(self.ranks), delays, cap if cap < count else None)

    @cached_property
    def ranks(self) -> tuple[Policy | list[int], ...]:
        """Return the policies, and three ranks of the tasks.

        These are the place in the order of least peak, the place within the sample, and
        the longest path from the task to an end, longest first.
        """
        by_order = [0] * len(self.runs.length)
        within = [0] * len(self.runs.length)
        sizes: dict[int, int] = {}
        for place, k in enumerate(self.runs.question.order):
            number = self.question.problem.samples[k]
            by_order[k] = place
            within[k] = sizes.get(number, 0)
            sizes[number] = within[k] + 1
        return (*POLICIES, by_order, within, [-rest for rest in self.runs.rest])

    def attempt(
        self,
        rank: Policy | Sequence[int],
        delays: list[int],
        cap: int | None,
        runs: Runs | None = None,
        modes: tuple[bool, ...] = (False, True),
        until: Deadline | None = None,
    ) -> None:
        """Simulate one point without admission control, and with it if that run gets
        stuck; keep the point as the best unless the best so far is better.

        The run is given up at the search's deadline, or earlier at *until*.
        """
        last = None
        if self.best is not None:
            last = self.best.makespan
        deadline = until or self.deadline
        how = rank if isinstance(rank, str) else rank_by(rank)
        for safe in modes:
            try:
                starts = (runs or self.runs).run(how, safe, cap, delays, last, deadline)
            except OutOfTime as late:
                self.fault = late
                return
            except Fault as fault:
                self.fault = fault
                if fault.record["kind"] == "late":
                    return
            else:
                self.keep(delays, cap, starts)
                return

    def keep(self, delays: list[int], cap: int | None, starts: Starts) -> None:
        """Make a run the best unless it is worse; report it if it is better."""
        makespan = self.runs.makespan(starts)
        former = None
        if self.best is not None:
            former = self.best.makespan
        if former is not None and makespan > former:
            return
        begins = [0] * len(self.runs.length)
        for at, k in starts:
            begins[k] = at
        self.best = Point(begins, delays, cap, starts, makespan)
        if makespan != former:
            plan = self.question.plan(starts)
            self.request.incumbents.report(plan, self.runs.ticks.seconds(makespan))

    def step(self) -> None:
        """Make one random change to the best point and run it; there must be a
        sample.
        """
        assert self.best is not None
        rng = self.rng
        point = self.best
        if rng.random() < 0.1:
            self.stagger()
            return
        begins = list(point.begins)
        delays = list(point.delays)
        cap = point.cap
        move = rng.choice(MOVES)
        by = part_of(point.makespan, rng.gauss(0, SPREAD))
        number = rng.randrange(len(self.groups))
        if move == "few":
            begins = self._few_shifted(point)
        elif move == "sample":
            self._shift(begins, number, by)
        elif move == "tail":
            since = part_of(point.makespan, rng.random())
            self._shift(begins, number, by, since)
        elif move == "delay":
            delays[number] = max(0, delays[number] + by)
        elif move == "scale":
            share = rng.uniform(0.8, 1.1)
            delays = [part_of(delay, share) for delay in delays]
        elif move == "swap":
            self._swap(begins, delays, number, rng.randrange(len(self.groups)))
        else:
            cap = self._other_cap(cap)
        self.attempt(begins, delays, cap)

    def _few_shifted(self, point: Point) -> list[int]:
        """Return the ranks of the tasks with one to six of them shifted."""
        begins = list(point.begins)
        for _ in range(self.rng.randint(1, 6)):
            k = self.rng.randrange(len(begins))
            begins[k] += part_of(point.makespan, self.rng.gauss(0, SPREAD))
        return begins

    def _shift(self, begins: list[int], number: int, by: int, since: int = -1) -> None:
        """Shift the tasks of sample *number* that begin after *since*."""
        for k in self.groups[number]:
            if begins[k] > since:
                begins[k] += by

    def _swap(
        self, begins: list[int], delays: list[int], number: int, other: int
    ) -> None:
        """Exchange two samples: their delays, and the ranks of their tasks."""
        tasks = self.groups[number]
        other_tasks = self.groups[other]
        apart = delays[other] - delays[number]
        if not apart:
            apart = min(begins[k] for k in other_tasks) - min(begins[k] for k in tasks)
        delays[number], delays[other] = delays[other], delays[number]
        for k in tasks:
            begins[k] += apart
        for k in other_tasks:
            begins[k] -= apart

    def _other_cap(self, cap: int | None) -> int | None:
        """Return a cap that differs by one or two; None if it would hold back no
        sample.
        """
        count = len(self.groups)
        other = max(1, (cap or count) + self.rng.choice((-2, -1, 1, 2)))
        if other >= count:
            return None
        return other


def search(question: Question, request: Asked, evaluations: int) -> Answer:
    """Return the best plan found with *evaluations* runs or until the deadline."""
    if refused := question.refused():
        return refused
    with collector_paused():
        found = Search(question, request)
        found.begin()
    return found.answer(found.advance(evaluations, found.deadline))


def solve(problem: WorkDirectoryProblem, request: Asked) -> Answer:
    """Search until a plan is proven best, the evaluations are used up, or the deadline
    expires.
    """
    question = Question.asked(problem, request)
    return search(question, request, (request.settings or Settings()).evaluations)
