"""Search over orders of tasks, delays and caps of samples in flight (rule B13).

The search begins with the runs of ``in-flight`` and with runs in which groups of
samples start one after the other, at equal steps. Then it changes the best point at
random; the changed point replaces it if it is not worse. A point is first run without
the admission control of safe runs. This is quicker, and as good if the run completes.
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
"""Share of the time limit for the first runs."""
STAGGERS = 150
"""Number of first runs in which groups of samples start one after the other."""
LONGEST = 1.5
"""Longest step between two samples, as a multiple of (makespan bound / number of
samples).
"""
POLICIES: tuple[Policy, ...] = ("depth-first", "submission", "newest-first")
MOVES = ("few", "sample", "tail", "delay", "swap", "scale", "cap")
BASIC: tuple[Policy, ...] = ("depth-first", "submission")
LARGE = 5_000
"""Number of tasks above which the policies are first run without admission control.

A run without admission control takes a small part of the time of a safe run.
"""
SPREAD = 0.15
"""Standard deviation by which a move shifts a task, as a share of the makespan."""


class Settings(Record):
    """Configure the search: ``evaluations`` is the largest number of runs after the
    first ones.
    """

    evaluations: int = Field(default=20_000, ge=0)


Asked = SolveRequest[Settings, WorkDirectoryPlan]


@dataclass(frozen=True)
class Point:
    """Represent a point of the search and the run of it.

    ``begins`` has the rank of each task, in ticks: the least goes first. ``delays``
    has, for each sample, the instant before which it cannot start, in ticks. ``cap`` is
    the largest number of samples in flight (None: no limit). ``starts`` and
    ``makespan`` are those of the run.
    """

    begins: list[int]
    delays: list[int]
    cap: int | None
    starts: Starts
    makespan: int


def part_of(ticks: int, share: float) -> int:
    """Return *share* times *ticks*, rounded toward 0; all digits of *ticks* count.

    >>> part_of(7, 0.5), part_of(-7, 0.5)
    (3, -3)
    """
    above, below = share.as_integer_ratio()
    size = abs(ticks * above) // below
    if ticks * above > 0:
        return size
    return -size


def rank_by(numbers: Sequence[int]) -> Rank:
    """Return the rank by which the task with the least of *numbers* goes first."""
    return lambda now, k: numbers[k]


def tasks_of_samples(problem: WorkDirectoryProblem) -> list[list[int]]:
    """Return, for each sample, its tasks; some tasks may belong to no sample."""
    groups: list[list[int]] = [[] for _ in range(max(problem.samples, default=-1) + 1)]
    for k, sample in enumerate(problem.samples):
        if sample >= 0:
            groups[sample].append(k)
    return groups


class Search:
    """Search for the best point of one question.

    ``first`` are the runs that the search begins with, ``runs`` the one that carries
    out all other points. ``groups`` has the tasks of each sample. ``advance`` may be
    called again: it continues where it stopped.
    """

    def __init__(self, question: Question, request: Asked) -> None:
        self.question = question
        self.request = request
        self.runs = Runs(question)
        self.deadline = first_answer(question.problem, request.deadline)
        self.rng = random.Random(request.options.seed)
        self.groups = tasks_of_samples(question.problem)
        self.evaluated = 0
        self.tried = 0
        self.most: int | None = None
        self.best: Point | None = None
        self.fault: Fault | OutOfTime | None = None
        self.first = [self.runs]
        other = self._question_with_lower_peak()
        if other is not None:
            self.runs = Runs(other)
            self.first.append(self.runs)
        request.incumbents.objective_name = "makespan_seconds"

    def _question_with_lower_peak(self) -> Question | None:
        """Return the same question with an order of the tasks that has a lower peak.

        It becomes the reference order of safe runs, which can then start more tasks.
        Return None if no such order is found. None is sought if the question already
        has the best one. Past the deadline none is
        sought if the question's order respects the quota.
        """
        question = self.question
        if question.least_known:
            return None
        if not question.no_order_known and self.deadline.expired():
            return None
        order = least_order(question.problem, self.deadline)
        if sequential_peak(question.problem, order) >= question.found:
            return None
        return Question.of(question.problem, order=order, deadline=self.deadline)

    def begin(self, most: int | None = None) -> None:
        """Run the first points, and keep the best of them.

        They may take a share of the time left. With *most*, at most so many points are
        run instead, whatever the time that they take until the deadline.
        """
        part = self.deadline
        if most is None:
            part = self.deadline.within(self.deadline.remaining() * STARTS_SHARE)
        self.most = most
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
            if self._first_over(part):
                break
            self.stagger()

    def _first_over(self, until: Deadline) -> bool:
        """Return whether no more of the first points are to be run."""
        return until.expired() or (self.most is not None and self.tried >= self.most)

    def _begins_of(self, plan: WorkDirectoryPlan) -> list[int]:
        """Return the start of each task in *plan*, in ticks; 0 for a task that the plan
        omits.
        """
        per_second = self.runs.ticks.per_second
        at = {name: int(exact(seconds) * per_second) for seconds, name in plan.starts}
        return [at.get(task.id, 0) for task in self.question.problem.tasks]

    def _run_policies(self, quiet: list[int], until: Deadline) -> None:
        """Run the policies as safe runs, with every limit of samples in flight.

        *quiet* are delays of 0. Large instances are first run without admission control
        and without such a limit.
        """
        if len(self.runs.length) > LARGE:
            for policy in BASIC:
                self.attempt(policy, quiet, None, modes=(False,), until=until)
        for runs in self.first:
            for cap, policy in runs.in_flight():
                self.attempt(policy, quiet, cap, runs, (True,), until=until)
                if self._first_over(until):
                    break

    def advance(self, evaluations: int, deadline: Deadline) -> StopReason:
        """Change the best point until *evaluations* runs are made or it is proven
        optimal.

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
        """Return whether the lower bound proves the best point optimal."""
        return self.best is not None and self.best.makespan <= self.bound

    @cached_property
    def bound(self) -> int:
        """Return the lower bound of the makespan, in ticks, rounded up."""
        return ceil(self.question.bound * self.runs.ticks.per_second)

    def answer(self, stop: StopReason) -> Answer:
        """Return the outcome: the best plan, or a note that says why there is none."""
        if self.best is None:
            why = self.fault or self.question.no_order()
            return Outcome(None, stop=stop, notes=(str(why),))
        return self.question.answer(self.best.starts, stop)

    def stagger(self) -> None:
        """Run a random point in which groups of samples start one after the other."""
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
        """Return the policies, and three other ranks of the tasks.

        The three ranks are: the place in the order of least peak; the place among the
        tasks of the same sample in this order; the longest path from the task to an
        end, longest first.
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
        """Simulate one point, and keep it as the best unless the best so far is better.

        *rank* orders the tasks, *delays* holds back the samples, *cap* limits the
        samples in flight. *modes* says for each attempt whether the run has admission
        control; a further attempt is made only if the one before gets stuck. A run is
        given up at *until* (by default the deadline of the search).
        """
        self.tried += 1
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
        """Make a run the best point unless it is worse; report its plan if it is
        better.
        """
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
        """Make one random change to the best point and run the changed point.

        The instance must have a sample.
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
        """Return the ranks of the tasks, after shifting one to six of them at
        random.
        """
        begins = list(point.begins)
        for _ in range(self.rng.randint(1, 6)):
            k = self.rng.randrange(len(begins))
            begins[k] += part_of(point.makespan, self.rng.gauss(0, SPREAD))
        return begins

    def _shift(self, begins: list[int], number: int, by: int, since: int = -1) -> None:
        """Add *by* to the ranks of the tasks of sample *number* that begin after
        *since*.
        """
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
        """Return a limit of samples in flight that differs from *cap* by one or two.

        Return None, no limit, if it would hold back no sample.
        """
        count = len(self.groups)
        other = max(1, (cap or count) + self.rng.choice((-2, -1, 1, 2)))
        if other >= count:
            return None
        return other


def search(
    question: Question, request: Asked, evaluations: int, first: int | None = None
) -> Answer:
    """Return the best plan found by *evaluations* runs after at most *first* first
    ones, or until the deadline if it is earlier.
    """
    if refused := question.refused():
        return refused
    with collector_paused():
        found = Search(question, request)
        found.begin(first)
    return found.answer(found.advance(evaluations, found.deadline))


def solve(problem: WorkDirectoryProblem, request: Asked) -> Answer:
    """Search until a plan is proven best, the evaluations are used up, or the deadline
    passes.
    """
    question = Question.asked(problem, request)
    return search(question, request, (request.settings or Settings()).evaluations)
