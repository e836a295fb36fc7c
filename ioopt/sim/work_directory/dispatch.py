"""Dispatch of a work directory: a policy decides while the tasks run (rules B5 to B8).

A :class:`Dispatcher` keeps no clock, so that what is simulated is what may run live.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

from ioopt.errors import OutOfTime
from ioopt.options import Deadline
from ioopt.problems.work_directory import (
    Fault,
    Ticks,
    WorkDirectoryPlan,
    WorkDirectoryProblem,
)
from ioopt.sim.work_directory.directory import Directory, lengths
from ioopt.sim.work_directory.order import Walk, reference_order, sequential_peak

Policy = Literal["submission", "depth-first", "newest-first"]
Rank = Callable[[float, int], float]
"""The rank of a task (second) that became ready at an instant (first): least first,
ties file order.
"""
Choice = Callable[["Dispatcher"], str | None]
"""A policy of one's own: the task to start now, or nothing."""
PATIENCE = 100_000
"""A run of so many tasks looks at the clock at every instant, one of fewer that much
more rarely.
"""
Starts = list[tuple[int, int]]
"""Instants in ticks and tasks, as they started."""


def positions(problem: WorkDirectoryProblem, names: Sequence[str]) -> list[int]:
    """The tasks called *names*, which must be all, each once (else :class:`Fault`)."""
    seen: dict[int, None] = {}
    for name in names:
        k = problem.task_index.get(name, -1)
        if k < 0 or k in seen:
            raise Fault("listed twice" if k in seen else "unknown task", task=name)
        seen[k] = None
    for k, task in enumerate(problem.tasks):
        if k not in seen:
            raise Fault("missing", task=task.id)
    return list(seen)


def ranked(problem: WorkDirectoryProblem, how: Policy | Rank | Sequence[str]) -> Rank:
    """The rank by a policy's name, or by a list of all tasks; a function as it is."""
    levels = problem.levels
    known: dict[object, Rank] = {
        "submission": lambda now, k: now,
        "newest-first": lambda now, k: -now,
        "depth-first": lambda now, k: -levels[k],
    }
    if callable(how):
        return how
    if isinstance(how, str):
        return known[how]
    place = {k: at for at, k in enumerate(positions(problem, how))}
    return lambda now, k: place[k]


class Dispatcher(Directory):
    """Which task starts next: the first in rank that is ready, fits, and is neither
    refused nor held back.

    *rank* is a policy's name or function, or a list of all tasks; *quota* None is none.
    ``safe`` admits what leaves a way to the end by the *reference* order (rule B6),
    ``in_flight`` is the most samples open (rule B7). Raises :class:`Fault` for an order
    that is none, and where no order keeps the quota.
    """

    def __init__(
        self,
        problem: WorkDirectoryProblem,
        rank: Policy | Rank | Sequence[str] = "submission",
        quota: int | None = None,
        safe: bool = False,
        in_flight: int | None = None,
        reference: Sequence[str] | Walk | None = None,
    ) -> None:
        super().__init__(problem)
        if in_flight is not None and in_flight < 1:
            raise Fault("in_flight", value=in_flight)
        self.rank, self.room = (
            ranked(problem, rank),
            float("inf") if quota is None else quota,
        )
        self.idle, self.running, self.unstarted = problem.cores, 0, len(problem.tasks)
        self.cores = [task.cores for task in problem.tasks]
        self.waits = [len(row) for row in problem.predecessors]
        self.succ, self.sample = problem.successors, problem.samples
        self.most, self.open = in_flight or len(problem.tasks) + 1, 0
        self.unended = Counter(self.sample)
        self.opened = {-1} if in_flight else set(self.sample)
        self.ready: list[tuple[float, int]] = []
        self.closed: list[tuple[float, int]] = []
        self.row: list[tuple[float, int]] = [(0, -1)] * len(problem.tasks)
        self.began = [False] * len(problem.tasks)
        self.walk: Walk | None = None
        if safe and quota is not None:
            walk = (
                reference
                if isinstance(reference, Walk)
                else self._walk(reference, quota)
            )
            self.walk = walk.anew()

    def _walk(self, names: Sequence[str] | None, quota: int) -> Walk:
        order = reference_order(self.problem)
        if names is not None:
            order = positions(self.problem, names)
            place = {k: at for at, k in enumerate(order)}
            for k in order:
                if any(place[p] > place[k] for p in self.problem.predecessors[k]):
                    raise Fault("reference", task=self.problem.tasks[k].id)
        least = sequential_peak(self.problem, order)
        if least > quota:
            raise Fault("no order found", least=least, over=least - quota)
        return Walk(self.problem, order, quota)

    def released(self, k: int, now: float) -> None:
        """Task *k* became ready: released, and all before it have ended."""
        self.row[k] = (self.rank(now, k), k)
        insort(
            self.ready if self.sample[k] in self.opened else self.closed, self.row[k]
        )

    def fits(self, k: int) -> bool:
        """Whether there are cores and bytes for task *k*."""
        return self.cores[k] <= self.idle and self.use + self.own[k] <= self.room

    def admits(self, k: int) -> bool:
        """Whether a way to the end remains once task *k* starts (rule B6)."""
        return self.walk is None or self.walk.admits(k)

    def next(self, among: Collection[int] | None = None) -> int | None:
        """The task to start now, one *among* those given; None: wait."""
        if not self.idle:
            return None
        full, left, idle = self.open >= self.most, self.room - self.use, self.idle
        for _, k in (
            self.ready
            if full or not self.closed
            else heapq.merge(self.ready, self.closed)
        ):
            fits = self.own[k] <= left and self.cores[k] <= idle
            if fits and (among is None or k in among) and self.admits(k):
                return k
        if full and not self.running:
            rows = (k for _, k in self.closed if among is None or k in among)
            return next((k for k in rows if self.fits(k) and self.admits(k)), None)
        return None

    def require(self, k: int) -> None:
        """Raise :class:`Fault` where task *k* may not start now: what a policy of one's
        own answers.
        """
        held = self.row[k] in self.closed and self.open >= self.most
        free = (
            self.ready if held or self.open >= self.most else self.ready + self.closed
        )
        why = None
        if not held and self.row[k] not in free:
            why = "is not ready"
        elif not self.fits(k):
            why = "does not fit"
        elif not self.admits(k):
            why = "is not admitted"
        elif held and (
            self.running or any(self.fits(j) and self.admits(j) for _, j in free)
        ):
            why = "is held back"
        if why is not None:
            raise Fault("answer", task=self.problem.tasks[k].id, why=why)

    def started(self, k: int) -> None:
        """Task *k* starts; its sample opens."""
        self.start(k)
        self.began[k] = True
        self.idle -= self.cores[k]
        self.running += 1
        self.unstarted -= 1
        if self.walk is not None:
            self.walk.start(k)
        number = self.sample[k]
        if number not in self.opened:
            self.opened.add(number)
            self.open += 1
            for row in [row for row in self.closed if self.sample[row[1]] == number]:
                self.closed.remove(row)
                insort(self.ready, row)
        del self.ready[bisect_left(self.ready, self.row[k])]

    def ended(self, k: int) -> list[int]:
        """Task *k* ends; the tasks that wait for no other now."""
        self.end(k)
        self.idle += self.cores[k]
        self.running -= 1
        number = self.sample[k]
        self.unended[number] -= 1
        if number >= 0 and not self.unended[number]:
            self.open -= 1
        for j in self.succ[k]:
            self.waits[j] -= 1
        return [j for j in self.succ[k] if not self.waits[j]]

    def resize(self, k: int, f: int, size: int) -> None:
        """Product *f* of task *k* has *size* bytes, or is now expected to have."""
        more = size - self.sizes[f]
        self.sizes[f] = size
        self.own[k] += more
        if self.began[k] and (self.left[f] or not self.leaves[f]):
            self.use += more
        if self.walk is not None:
            self.walk.resize(k, f, more)

    def stuck(self, seconds: float) -> Fault:
        """That nothing runs and nothing can start (rule B8)."""
        problem, names = self.problem, self.problem.tasks
        waiting = [
            {
                "task": names[k].id,
                "bytes": self.own[k],
                "over": self.use + self.own[k] - int(self.room),
            }
            for k in sorted(k for _, k in self.ready + self.closed)
        ]
        inside = [
            f
            for f, left in enumerate(self.left)
            if left <= len(problem.readers[f]) and (left or not self.leaves[f])
        ]
        holding = [
            {"file": problem.products[f].id, "bytes": self.sizes[f]}
            for f in sorted(inside, key=lambda f: (-self.sizes[f], f))
        ]
        told = {"left": self.unstarted, "waiting": waiting, "holding": holding}
        return Fault("stuck", seconds=seconds, use=self.use, **told)


def dispatch(
    problem: WorkDirectoryProblem,
    dispatcher: Dispatcher,
    actual: Mapping[str, float] | None = None,
    choose: Choice | None = None,
) -> WorkDirectoryPlan:
    """Run *dispatcher*, or what *choose* answers in its place, from 0 to the end (rule
    B5).

    *actual* compute seconds replace the planned ones in the run alone. Raises
    :class:`Fault` where the run is stuck (rule B8), where *choose* answers what may not
    start, and for *actual* times that are none.
    """
    seconds = lengths(problem, actual)
    releases = [task.release_seconds for task in problem.tasks]
    ticks = problem.ticks if actual is None else Ticks([*seconds, *releases])
    starts = run(
        dispatcher, ticks, ticks.all_of(seconds), ticks.all_of(releases), choose
    )
    return named(problem, ticks, starts)


def named(
    problem: WorkDirectoryProblem, ticks: Ticks, starts: Starts
) -> WorkDirectoryPlan:
    """The plan of *starts* in ticks."""
    rows = ((ticks.seconds(at), problem.tasks[k].id) for at, k in starts)
    return WorkDirectoryPlan(starts=tuple(rows))


def run(
    dispatcher: Dispatcher,
    ticks: Ticks,
    length: Sequence[int],
    releases: Sequence[int],
    choose: Choice | None = None,
    due: Sequence[int] | None = None,
    deadline: Deadline | None = None,
) -> Starts:
    """Return the starts when tasks take *length* ticks; none is ready before its
    place in *releases*.

    A run in which a task starts after it was *due* is given up (:class:`Fault`), and so
    is one that the *deadline* ends (:class:`OutOfTime`).
    """
    starts: Starts = []
    patience = max(1, PATIENCE // max(1, len(length)))
    instants = 0
    ends: list[tuple[int, int]] = []
    coming = sorted(((at, k) for k, at in enumerate(releases)), reverse=True)
    released = [False] * len(length)
    now = 0

    def finish() -> None:
        """All ends and releases of this instant, and what they make ready."""
        until = now + ticks.slack
        while ends and ends[0][0] <= until:
            for j in dispatcher.ended(heapq.heappop(ends)[1]):
                if released[j]:
                    dispatcher.released(j, now)
        while coming and coming[-1][0] <= until:
            k = coming.pop()[1]
            released[k] = True
            if not dispatcher.waits[k]:
                dispatcher.released(k, now)

    while dispatcher.unstarted:
        instants += 1
        if deadline is not None and instants % patience == 0 and deadline.expired():
            share = len(starts) / len(length)
            text = (
                f"the time limit ended a run after {len(starts)} of {len(length)} tasks"
            )
            raise OutOfTime(text + deadline.would_do(share))
        finish()
        while (k := _answer(dispatcher, choose)) is not None:
            if due is not None and now > due[k]:
                raise Fault("late", task=dispatcher.problem.tasks[k].id)
            dispatcher.started(k)
            starts.append((now, k))
            heapq.heappush(ends, (now + length[k], k))
            if length[k] <= ticks.slack:
                finish()
        times = [*(row[0] for row in ends[:1]), *(row[0] for row in coming[-1:])]
        if dispatcher.unstarted and not times:
            raise dispatcher.stuck(ticks.seconds(now))
        now = min(times, default=now)
    return starts


def _answer(dispatcher: Dispatcher, choose: Choice | None) -> int | None:
    if choose is None:
        return dispatcher.next()
    name = choose(dispatcher)
    if name is None:
        return None
    k = dispatcher.problem.task_index.get(name)
    if k is None:
        raise Fault("answer", task=name, why="is not ready")
    dispatcher.require(k)
    return k
