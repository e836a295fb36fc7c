"""Search over orders, delays of samples and the cap of samples in flight (rule B13).

It begins at the best run of ``in-flight`` and at groups of samples one after the other in equal steps, and
keeps what is not worse. A point is run without admission first, which is quicker and as good where it ends.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import Field

from ioopt.problems.base import Record
from ioopt.problems.work_directory import Fault, WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.work_directory.dispatch import Policy, Rank, Starts
from ioopt.sim.work_directory.order import least_order, sequential_peak
from ioopt.solvers.work_directory.dispatch import Answer, Question, Runs

STARTS_SHARE = 0.5
"""Part of the time that the starts may take."""
STAGGERS, LONGEST = 150, 1.5
"""Starts in which the samples begin in groups, one group after the other in equal steps: how many, and
the longest step of a sample, where the bound is shared equally by the samples."""
POLICIES: tuple[Policy, ...] = ("depth-first", "submission", "newest-first")
MOVES = ("few", "sample", "tail", "delay", "swap", "scale", "cap")
SPREAD = 0.15
"""Standard deviation of what a move moves, in makespans."""


class Settings(Record):
    """``evaluations``: the most runs after those it begins with."""

    evaluations: int = Field(default=20_000, ge=0)


Asked = SolveRequest[Settings, WorkDirectoryPlan]


@dataclass(frozen=True)
class Point:
    """When tasks and samples are to begin (ticks; an order and delays), the cap, and the run of it."""

    begins: list[int]
    delays: list[int]
    cap: int | None
    starts: Starts
    makespan: int


class Search:
    """The best point so far of one question, and how it gets better."""

    def __init__(self, question: Question, request: Asked) -> None:
        self.question, self.request, self.runs = question, request, Runs(question)
        self.first = [self.runs]
        order = least_order(question.problem)
        if not question.peak and sequential_peak(question.problem, order) < question.found:
            self.runs = Runs(Question.of(question.problem, order=order))
            self.first.append(self.runs)
        self.groups: list[list[int]] = [
            [] for _ in range(max(question.problem.samples, default=-1) + 1)
        ]
        for k, number in enumerate(question.problem.samples):
            if number >= 0:
                self.groups[number].append(k)
        self.best: Point | None = None
        self.fault: Fault | None = None
        request.incumbents.objective_name = "makespan_seconds"

    def begin(self, rng: random.Random) -> None:
        """Take the best of the runs to begin with."""
        deadline = self.request.deadline
        part = deadline.within(deadline.remaining() * STARTS_SHARE)
        quiet, per_second = [0] * len(self.groups), self.runs.ticks.per_second
        if self.request.start is not None:
            at = {name: int(seconds * per_second) for seconds, name in self.request.start.starts}
            begins = [at.get(task.id, 0) for task in self.question.problem.tasks]
            self.attempt(begins, quiet, None)
        for runs in self.first:
            for cap, policy in runs.in_flight():
                self.attempt(policy, quiet, cap, runs, (True,))
                if part.expired():
                    break
        for _ in range(STAGGERS if self.groups else 0):
            if part.expired():
                break
            self.stagger(rng)

    def stagger(self, rng: random.Random) -> None:
        """Run the samples in groups of a random size, one group after the other."""
        count = len(self.groups)
        size, cap = min(rng.randint(1, count), rng.randint(1, count)), rng.randint(1, 2 * count)
        every = self.question.seconds * self.runs.ticks.per_second / count
        step = rng.uniform(0, LONGEST) * every
        delays = [int(number // size * size * step) for number in range(count)]
        self.attempt(rng.choice(self.ranks), delays, cap if cap < count else None)

    @cached_property
    def ranks(self) -> tuple[Policy | list[int], ...]:
        """The policies; by task: place in the order of least peak, place in its sample, longest path."""
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
    ) -> None:
        """Run one point, without admission first, and keep it where it is not worse."""
        until = None if self.best is None else self.best.makespan
        how: Policy | Rank = rank if isinstance(rank, str) else lambda now, k: rank[k]
        for safe in modes:
            try:
                starts = (runs or self.runs).run(how, safe, cap, delays, until)
            except Fault as fault:
                self.fault = fault
                if fault.record["kind"] == "late":
                    return
            else:
                self.keep(delays, cap, starts)
                return

    def keep(self, delays: list[int], cap: int | None, starts: Starts) -> None:
        """Make a run the best where it is not worse, and report it where it is better."""
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

    def step(self, rng: random.Random) -> None:
        """Change the best point in one way and run it."""
        assert self.best is not None
        if self.groups and rng.random() < 0.1:
            self.stagger(rng)
            return
        point, span = self.best, SPREAD * self.best.makespan
        begins, delays, cap = list(point.begins), list(point.delays), point.cap
        move, by = rng.choice(MOVES if self.groups else MOVES[:1]), int(rng.gauss(0, span))
        number = rng.randrange(len(self.groups)) if self.groups else 0
        tasks = self.groups[number] if self.groups else []
        if move == "few":
            for _ in range(rng.randint(1, 6)):
                begins[rng.randrange(len(begins))] += int(rng.gauss(0, span))
        elif move in ("sample", "tail"):
            since = rng.random() * point.makespan if move == "tail" else -1
            for k in tasks:
                begins[k] += by if point.begins[k] > since else 0
        elif move == "delay":
            delays[number] = max(0, delays[number] + by)
        elif move == "scale":
            by_part = rng.uniform(0.8, 1.1)
            delays = [int(delay * by_part) for delay in delays]
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
    """The best plan found with so many *evaluations* or until the deadline."""
    if refused := question.refused():
        return refused
    found, rng = Search(question, request), random.Random(request.options.seed)
    found.begin(rng)
    bound = int(question.seconds * found.runs.ticks.per_second)
    stop = StopReason.FINISHED
    for _ in range(evaluations if found.best is not None else 0):
        if found.best is not None and found.best.makespan <= bound:
            break
        if request.deadline.expired():
            stop = StopReason.TIME
            break
        found.step(rng)
    if found.best is None:
        return Outcome(None, stop=stop, notes=(str(found.fault or question.no_order()),))
    return question.answer(found.best.starts, stop)


def solve(problem: WorkDirectoryProblem, request: Asked) -> Answer:
    """Search from the start runs."""
    question = Question.of(problem, request.measure == "peak_bytes")
    return search(question, request, (request.settings or Settings()).evaluations)
