"""When a link-aware run is over: by its bound, the number of its replays, or the clock."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ioopt.problems.replication import EvictionPolicy, ReplicationPlan, ReplicationProblem
from ioopt.result import StopReason
from ioopt.solvers.replication.search.link_search import Queues

LAG = 0.2
"""Share of the time by which the count of replays may be late before the clock takes over."""

FEWEST_EVALUATIONS, EVALUATIONS_PER_TASK = 500, 200
TASKS_PER_SECOND, FEWEST_PER_ORDER, FEWEST_BY_CLOCK = 1_000_000, 50, 10
"""Replays to make in a run that the deadline does not end; those of an ordered one take time by the task.
With fewer a task than the last two there is none, the very last where the clock ends the run."""
MANY_TASKS, SLOW_CELLS = 100, 90_000
"""A move changes what a few tasks cost: in larger batches that is a smaller share. Inputs x nodes from which
replays are slow."""


def default_evaluations(problem: ReplicationProblem) -> int:
    """Replays of a run that no deadline ends: 200 a task, at least 500."""
    return max(FEWEST_EVALUATIONS, EVALUATIONS_PER_TASK * len(problem.tasks))


def evaluations_within(problem: ReplicationProblem, limit: float | None) -> int:
    """The same for a *limit* in seconds, where it is known what a replay takes (:func:`orders_pay`)."""
    if not limit or not orders_pay(problem) or cells(problem) > SLOW_CELLS:
        return default_evaluations(problem)
    return max(FEWEST_EVALUATIONS, int(TASKS_PER_SECOND * limit / len(problem.tasks)))


def orders_pay(problem: ReplicationProblem) -> bool:
    """Whether one order of all tasks decides what small disks fetch twice over a shared link."""
    tasks = len(problem.tasks)
    read = sum(file.bytes for file, by in zip(problem.files, problem.readers) if by)
    small = any((node.disk_bytes or read) < read for node in problem.nodes)
    if problem.is_workflow or tasks < MANY_TASKS or not small:
        return False
    return problem.network.remote_link == "shared"


def has_orders(problem: ReplicationProblem, effort: int) -> bool:
    """Whether so many replays are enough to anneal an order, and each fast enough."""
    enough = effort >= FEWEST_PER_ORDER * len(problem.tasks)
    return enough and orders_pay(problem) and cells(problem) <= SLOW_CELLS


def cells(problem: ReplicationProblem) -> int:
    """Inputs x nodes: what the time of a replay grows with."""
    return sum(map(len, problem.inputs)) * len(problem.nodes)


@dataclass
class Best:
    """The best plan so far: its queues and eviction, or the baseline plan itself."""

    score: float = float("inf")
    queues: Queues = field(default_factory=list)
    eviction: EvictionPolicy = "farthest-next-use"
    plan: ReplicationPlan | None = None
    origin: str = ""
    rounds: Queues = field(default_factory=list)
    """The tasks between two barriers each, where the plan has any."""


class Pace:
    """What a run has found and spent; ``effort`` is the number of replays that ends it."""

    effort: int
    evaluations: int
    by_clock: bool
    bound: float
    target: float
    best: Best
    clock: Callable[[], float]
    _may_follow_clock: bool
    _begun: float
    _end: float
    _replay_seconds: float
    _turned: tuple[float, float]
    """Share of the run that was over, and the time, as the clock took over."""

    def _left(self) -> float:
        return self._end - self.clock()

    def give_up(self) -> None:
        """Let the run, in a thread of its own, end as soon as it looks at the clock."""
        self._end = -float("inf")

    def _affords(self, replays: int) -> bool:
        """Whether there is time for so many replays; where there is not, the clock ends the run."""
        if self._left() >= replays * self._replay_seconds:
            return True
        if self._may_follow_clock and not self.by_clock:
            self._follow_clock()
        return False

    def _follow_clock(self) -> None:
        """Let the clock end the run: what is left of its phases goes into the time left, none is skipped."""
        self._turned = (min(1.0, self.evaluations / self.effort), self.clock())
        self.by_clock = True

    def _replays_left(self) -> int:
        """How many replays are left, by the count or by the clock."""
        counted = self.effort - self.evaluations
        if not self.by_clock:
            return counted
        return min(counted, int(max(0.0, self._left()) / max(self._replay_seconds, 1e-7)))

    def _over(self) -> bool:
        return self._reached() or self._counted_out() or self._late()

    def _reached(self) -> bool:
        """Whether the best plan meets the bound or the gap asked for."""
        return self.best.score <= self.target

    def _counted_out(self) -> bool:
        """Whether the number of replays is used up, where the number ends the run."""
        return self.evaluations >= self.effort and not self.by_clock

    def _late(self) -> bool:
        """Whether no time is left for another replay."""
        return self._left() <= self._replay_seconds and self.best.score < float("inf")

    def stop(self) -> StopReason:
        """Why the run is over."""
        if self._reached():
            proven = self.best.score <= self.bound * (1 + 1e-9)
            return StopReason.FINISHED if proven else StopReason.GAP
        return StopReason.ITERATIONS if self._counted_out() else StopReason.TIME

    def _progress(self) -> float:
        """Share of the run that is over, 0 to 1, by the count or, once that is late, by the clock."""
        if not self.by_clock:
            counted = self.evaluations / self.effort
            passed = 1.0 - self._left() / max(self._end - self._begun, 1e-9)
            if not self._may_follow_clock or passed <= counted + LAG:
                return min(1.0, counted)
            self._follow_clock()
        share, since = self._turned
        passed = (self.clock() - since) / max(self._end - since, 1e-9)
        return min(1.0, share + (1.0 - share) * max(0.0, passed))
