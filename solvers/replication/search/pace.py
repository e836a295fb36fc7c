"""When a link-aware run is over: by its bound, the number of its replays, or the clock."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ioopt.problems.replication import EvictionPolicy, ReplicationPlan
from ioopt.result import StopReason
from ioopt.solvers.replication.search.link_search import Queues

LAG = 0.2
"""Share of the time by which the count of replays may be late before the clock takes over."""


@dataclass
class Best:
    """The best plan so far: its queues and eviction, or the baseline plan itself."""

    score: float = float("inf")
    queues: Queues = field(default_factory=list)
    eviction: EvictionPolicy = "farthest-next-use"
    plan: ReplicationPlan | None = None
    origin: str = "nothing"


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

    def _left(self) -> float:
        return self._end - self.clock()

    def _affords(self, replays: int) -> bool:
        """Whether there is time for so many replays; where there is not, the clock ends the run."""
        if self._left() >= replays * self._replay_seconds:
            return True
        self.by_clock = self._may_follow_clock
        return False

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
        counted = self.evaluations / self.effort
        passed = 1.0 - self._left() / max(self._end - self._begun, 1e-9)
        if self._may_follow_clock and passed > counted + LAG:
            self.by_clock = True
        return min(1.0, max(0.0, passed if self.by_clock else counted))
