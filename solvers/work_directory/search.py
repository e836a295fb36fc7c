"""Search over orders, delays of samples and the cap of samples in flight (rule B13).

It begins at the best run of ``in-flight`` and at groups of samples one after the other
in equal steps, and keeps what is not worse. A point is run without admission first,
which is quicker and as good where it ends.
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
"""Part of the time that the starts may take."""
STAGGERS, LONGEST = 150, 1.5
"""Starts in which the samples begin in groups, one group after the other in equal
steps: how many, and the longest step of a sample, where the bound is shared equally by
the samples."""
POLICIES: tuple[Policy, ...] = ("depth-first", "submission", "newest-first")
MOVES = ("few", "sample", "tail", "delay", "swap", "scale", "cap")
BASIC: tuple[Policy, ...] = ("depth-first", "submission")
LARGE = 5_000
"""Tasks above which the policies are first run without admission, which takes a part of
the time.
"""
SPREAD = 0.15
"""Standard deviation of what a move moves, in makespans."""


class Settings(Record):
    """``evaluations``: the most runs after those it begins with."""

    evaluations: int = Field(default=20_000, ge=0)


Asked = SolveRequest[Settings, WorkDirectoryPlan]


@dataclass(frozen=True)
class Point:
    """When tasks and samples are to begin (ticks; an order and delays), the cap, and
    the run of it.
    """

    begins: list[int]
    delays: list[int]
    cap: int | None
    starts: Starts
    makespan: int


def part_of(ticks: int, share: float) -> int:
    """Return the *share* of *ticks*, rounded toward 0; there may be more ticks than a
    float holds.

    >>> part_of(7, 0.5), part_of(-7, 0.5)
    (3, -3)
    """
    above, below = share.as_integer_ratio()
    size = abs(ticks * above) // below
    return size if ticks * above > 0 else -size


class Search:
    """The best point so far of one question, and how it gets better.

    ``advance`` may be called again: the runs go on where they stopped.
    """

    def __init__(self, question: Question, request: Asked) -> None:
        self.question, self.request, self.runs = question, request, Runs(question)
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
        """Take the best of the runs to begin with."""
        part = self.deadline.within(self.deadline.remaining() * STARTS_SHARE)
        quiet, ticks = [0] * len(self.groups), self.runs.ticks
        for runs in self.first:
            starts = runs.question.one_by_one()
            if starts is not None:
                self.keep(quiet, None, starts)
        if self.request.start is not None:
            at = {
                name: int(exact(seconds) * ticks.per_second)
                for seconds, name in self.request.start.starts
            }
            begins = [at.get(task.id, 0) for task in self.question.problem.tasks]
            self.attempt(begins, quiet, None, until=part)
        if self.best is not None and part.expired():
            return
        if len(self.runs.length) > LARGE:
            for policy in BASIC:
                self.attempt(policy, quiet, None, modes=(False,), until=part)
        for runs in self.first:
            for cap, policy in runs.in_flight():
                self.attempt(policy, quiet, cap, runs, (True,), until=part)
                if part.expired():
                    break
        for _ in range(STAGGERS if self.groups else 0):
            if part.expired():
                break
            self.stagger()

    def advance(self, evaluations: int, deadline: Deadline) -> StopReason:
        """Change the best point until there were so many *evaluations*, or a proof; say
        why it ended.
        """
        if self.best is None:
            late = isinstance(self.fault, OutOfTime) or deadline.expired()
            return StopReason.TIME if late else StopReason.FINISHED
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
        """The ticks below which no makespan is."""
        return ceil(self.question.bound * self.runs.ticks.per_second)

    def answer(self, stop: StopReason) -> Answer:
        """Return the outcome: the best plan, or why there is none."""
        if self.best is None:
            why = self.fault or self.question.no_order()
            return Outcome(None, stop=stop, notes=(str(why),))
        return self.question.answer(self.best.starts, stop)

    def stagger(self) -> None:
        """Run the samples in groups of a random size, one group after the other."""
        rng, count = self.rng, len(self.groups)
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
        """The policies; by task: place in the order of least peak, place in its
        sample, longest path.
        """
        by_order, within = [0] * len(self.runs.length), [0] * len(self.runs.length)
        sizes: dict[int, int] = {}
        for place, k in enumerate(self.runs.question.order):
            number = self.question.problem.samples[k]
            by_order[k], within[k] = place, sizes.get(number, 0)
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
        """Run one point, without admission first, and keep it where it is not worse.

        It is given up at the deadline, or earlier at *until*.
        """
        last = None if self.best is None else self.best.makespan
        deadline = until or self.deadline
        how: Policy | Rank = rank if isinstance(rank, str) else lambda now, k: rank[k]
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
        """Make a run the best where it is not worse, and report it where it is better.
        """
        makespan = self.runs.makespan(starts)
        former = None if self.best is None else self.best.makespan
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
        """Change the best point in one way and run it."""
        assert self.best is not None
        rng, point = self.rng, self.best
        if self.groups and rng.random() < 0.1:
            self.stagger()
            return
        begins, delays, cap = list(point.begins), list(point.delays), point.cap
        move = rng.choice(MOVES if self.groups else MOVES[:1])
        by = part_of(point.makespan, rng.gauss(0, SPREAD))
        number = rng.randrange(len(self.groups)) if self.groups else 0
        tasks = self.groups[number] if self.groups else []
        if move == "few":
            for _ in range(rng.randint(1, 6)):
                at = rng.randrange(len(begins))
                begins[at] += part_of(point.makespan, rng.gauss(0, SPREAD))
        elif move in ("sample", "tail"):
            since = part_of(point.makespan, rng.random()) if move == "tail" else -1
            for k in tasks:
                begins[k] += by if point.begins[k] > since else 0
        elif move == "delay":
            delays[number] = max(0, delays[number] + by)
        elif move == "scale":
            by_part = rng.uniform(0.8, 1.1)
            delays = [part_of(delay, by_part) for delay in delays]
        elif move == "swap":
            other = rng.randrange(len(self.groups))
            apart = delays[other] - delays[number]
            apart = apart or min(begins[k] for k in self.groups[other]) - min(
                begins[k] for k in tasks
            )
            delays[number], delays[other] = delays[other], delays[number]
            for k in tasks:
                begins[k] += apart
            for k in self.groups[other]:
                begins[k] -= apart
        else:
            cap = max(1, (cap or len(self.groups)) + rng.choice((-2, -1, 1, 2)))
            cap = None if cap >= len(self.groups) else cap
        self.attempt(begins, delays, cap)


def search(question: Question, request: Asked, evaluations: int) -> Answer:
    """Return the best plan found with so many *evaluations* or until the deadline."""
    if refused := question.refused():
        return refused
    with collector_paused():
        found = Search(question, request)
        found.begin()
    return found.answer(found.advance(evaluations, found.deadline))


def solve(problem: WorkDirectoryProblem, request: Asked) -> Answer:
    """Search from the start runs."""
    question = Question.asked(problem, request)
    return search(question, request, (request.settings or Settings()).evaluations)
