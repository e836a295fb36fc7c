"""Dispatch the tasks of a work directory: a policy decides while tasks run (rules B5 to
B8).

A :class:`Dispatcher` has no clock of its own. The same dispatcher can therefore decide
in simulations and in live runs.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
"""Function (instant of readiness, task) -> rank. The task with the least rank starts
first; ties go to the order of the file.
"""
Choice = Callable[["Dispatcher"], str | None]
"""A user's policy: a function that returns the id of the task to start now, or None."""
PATIENCE = 100_000
"""Number of tasks times instants between two checks of the deadline."""
Starts = list[tuple[int, int]]
"""Rows (instant in ticks, task), in the order of the starts."""


def positions(problem: WorkDirectoryProblem, names: Sequence[str]) -> list[int]:
    """Return the positions of the tasks *names* in the problem.

    Raises :class:`Fault` unless *names* lists every task exactly once.
    """
    seen: dict[int, None] = {}
    for name in names:
        k = problem.task_index.get(name)
        if k is None:
            raise Fault("unknown task", task=name)
        if k in seen:
            raise Fault("listed twice", task=name)
        seen[k] = None
    for k, task in enumerate(problem.tasks):
        if k not in seen:
            raise Fault("missing", task=task.id)
    return list(seen)


def ranked(problem: WorkDirectoryProblem, how: Policy | Rank | Sequence[str]) -> Rank:
    """Return the rank function for *how*: a policy's name, or a list of all tasks in
    order of preference.

    A function is returned unchanged.
    """
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
    """Decide which task of a work directory starts next.

    The next task is the first in rank that is ready, fits, is admitted (rule B6) and is
    not held back (rule B7). *rank* is a policy's name, a function, or a list of all
    tasks. If *quota* is None, there is no quota. With *safe*, a task is admitted only
    if the tasks not yet started can still end when they run in the *reference* order.
    *in_flight* is the largest number of samples that may be open at once. Raises
    :class:`Fault` if *reference* is not an order of the tasks, or if no order found
    keeps the quota.
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
        self.rank = ranked(problem, rank)
        self.room = float("inf") if quota is None else quota
        self.idle = problem.cores
        self.running = 0
        self.unstarted = len(problem.tasks)
        self.cores = [task.cores for task in problem.tasks]
        self.waits = [len(row) for row in problem.predecessors]
        self.succ = problem.successors
        self.sample = problem.samples
        self.most = in_flight or len(problem.tasks) + 1
        self.open = 0
        self.unended = Counter(self.sample)
        self.opened = {-1} if in_flight else set(self.sample)
        self.ready: list[tuple[float, int]] = []
        self.closed: list[tuple[float, int]] = []
        self.row: list[tuple[float, int]] = [(0, -1)] * len(problem.tasks)
        self.began = [False] * len(problem.tasks)
        self.walk: Walk | None = None
        if safe and quota is not None:
            if isinstance(reference, Walk):
                walk = reference
            else:
                walk = self._walk(reference, quota)
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
        """Record that task *k* is ready at *now*: it is released, and all its
        predecessors have ended.
        """
        self.row[k] = (self.rank(now, k), k)
        if self.sample[k] in self.opened:
            insort(self.ready, self.row[k])
        else:
            insort(self.closed, self.row[k])

    def fits(self, k: int) -> bool:
        """Return whether enough cores and bytes are free for task *k*."""
        return self.cores[k] <= self.idle and self.use + self.own[k] <= self.room

    def admits(self, k: int) -> bool:
        """Return whether all other tasks can still end once task *k* has started (rule
        B6).
        """
        return self.walk is None or self.walk.admits(k)

    def next(self, among: Collection[int] | None = None) -> int | None:
        """Return the task to start now; None to wait.

        If *among* is given, the task is one of these.
        """
        if not self.idle:
            return None
        full = self.open >= self.most
        rows: Iterable[tuple[float, int]] = self.ready
        if self.closed and not full:
            rows = heapq.merge(self.ready, self.closed)
        k = self._first(rows, among)
        if k is None and full and not self.running:
            return self._first(self.closed, among)
        return k

    def _first(
        self, rows: Iterable[tuple[float, int]], among: Collection[int] | None
    ) -> int | None:
        """Return the first task of *rows* that fits, is admitted and is one of *among*;
        None if there is none.
        """
        left = self.room - self.use
        idle = self.idle
        for _, k in rows:
            if self.own[k] > left or self.cores[k] > idle:
                continue
            if among is not None and k not in among:
                continue
            if self.admits(k):
                return k
        return None

    def require(self, k: int) -> None:
        """Raise :class:`Fault` if task *k*, which a user's policy returned, may not
        start now.
        """
        held = self.row[k] in self.closed and self.open >= self.most
        if held or self.open >= self.most:
            free = self.ready
        else:
            free = self.ready + self.closed
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
        """Start task *k*; its sample becomes open."""
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
        """End task *k*; return its successors that have no other unfinished
        predecessor.
        """
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
        """Set the size in bytes of product *f* of task *k*, as known or expected
        now.
        """
        more = size - self.sizes[f]
        self.sizes[f] = size
        self.own[k] += more
        if self.began[k] and (self.left[f] or not self.leaves[f]):
            self.use += more
        if self.walk is not None:
            self.walk.resize(k, f, more)

    def stuck(self, seconds: float) -> Fault:
        """Return the fault of a run that got stuck at time *seconds*: no task runs, and
        none can start (rule B8).
        """
        problem = self.problem
        waiting = []
        for k in sorted(k for _, k in self.ready + self.closed):
            over = self.use + self.own[k] - int(self.room)
            name = problem.tasks[k].id
            waiting.append({"task": name, "bytes": self.own[k], "over": over})
        inside = [f for f in range(len(self.sizes)) if self._is_inside(f)]
        inside.sort(key=lambda f: (-self.sizes[f], f))
        holding = [
            {"file": problem.products[f].id, "bytes": self.sizes[f]} for f in inside
        ]
        return Fault(
            "stuck",
            seconds=seconds,
            use=self.use,
            left=self.unstarted,
            waiting=waiting,
            holding=holding,
        )

    def _is_inside(self, f: int) -> bool:
        """Return whether product *f* is inside the directory: it has been written and
        has not left.
        """
        written = self.left[f] <= len(self.problem.readers[f])
        stays = self.left[f] > 0 or not self.leaves[f]
        return written and stays


def dispatch(
    problem: WorkDirectoryProblem,
    dispatcher: Dispatcher,
    actual: Mapping[str, float] | None = None,
    choose: Choice | None = None,
) -> WorkDirectoryPlan:
    """Run *dispatcher* from time 0 to the end, and return the plan that it made (rule
    B5).

    *choose*, if given, replaces the dispatcher's rank. *actual* compute seconds replace
    the planned ones in the run; the dispatcher does not see them. Raises :class:`Fault`
    if the run gets stuck (rule B8), if *choose* returns a task that may not start, and
    for invalid *actual* times.
    """
    seconds = lengths(problem, actual)
    releases = [task.release_seconds for task in problem.tasks]
    ticks = problem.ticks
    if actual is not None:
        ticks = Ticks([*seconds, *releases])
    starts = run(
        dispatcher, ticks, ticks.all_of(seconds), ticks.all_of(releases), choose
    )
    return named(problem, ticks, starts)


def named(
    problem: WorkDirectoryProblem, ticks: Ticks, starts: Starts
) -> WorkDirectoryPlan:
    """Return the plan with these *starts*, converted from ticks to seconds."""
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
    """Run *dispatcher* to the end and return the starts of the tasks.

    *length* and *releases* have one value in ticks for each task: its run time, and the
    time before which it is not ready. The run is given up with :class:`Fault` if a task
    starts after it was *due*, and with :class:`OutOfTime` if *deadline* passes.
    """
    starts: Starts = []
    patience = max(1, PATIENCE // max(1, len(length)))
    instants = 0
    ends: list[tuple[int, int]] = []
    coming = sorted(((at, k) for k, at in enumerate(releases)), reverse=True)
    released = [False] * len(length)
    now = 0

    def finish() -> None:
        """Process the ends and releases of this instant; tell the dispatcher which
        tasks become ready.
        """
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
            done = f"{len(starts)} of {len(length)} tasks"
            raise OutOfTime(
                f"the time limit ended a run after {done}" + deadline.would_do(share)
            )
        finish()
        while (k := _answer(dispatcher, choose)) is not None:
            if due is not None and now > due[k]:
                raise Fault("late", task=dispatcher.problem.tasks[k].id)
            dispatcher.started(k)
            starts.append((now, k))
            heapq.heappush(ends, (now + length[k], k))
            if length[k] <= ticks.slack:
                finish()
        if ends and coming:
            now = min(ends[0][0], coming[-1][0])
        elif ends:
            now = ends[0][0]
        elif coming:
            now = coming[-1][0]
        elif dispatcher.unstarted:
            raise dispatcher.stuck(ticks.seconds(now))
    return starts


def _answer(dispatcher: Dispatcher, choose: Choice | None) -> int | None:
    """Return the task to start now, chosen by *choose* if given, else by the
    dispatcher; None to wait.
    """
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
