"""When a search is over: by the number of its replays or, where they come late, by the clock."""

from collections.abc import Callable


class Budget:
    """What a search may spend and has spent; it ends after *effort* replays or so many *seconds*.

    The number of replays decides, so that runs repeat, unless *follows_clock* and the replays are late by a
    share *lag* of the time: from then on the clock does, and what is left of the run's phases goes into the
    time left, none is skipped.
    """

    def __init__(
        self,
        effort: int,
        seconds: float,
        follows_clock: bool,
        lag: float,
        clock: Callable[[], float],
    ) -> None:
        self.effort, self.follows_clock, self.lag, self.clock = effort, follows_clock, lag, clock
        self.evaluations, self.by_clock, self.replay_seconds = 0, False, 0.0
        self._begun = clock()
        self.end = self._begun + seconds
        self._turned = (0.0, self._begun)
        """Share of the run that was over, and the time, as the clock took over."""

    def left(self) -> float:
        """Seconds left."""
        return self.end - self.clock()

    def give_up(self) -> None:
        """Let the run, in a thread of its own, end as soon as it looks at the clock."""
        self.end = -float("inf")

    def replays_left(self) -> int:
        """How many replays are left, by the count or by the clock."""
        counted = self.effort - self.evaluations
        if not self.by_clock:
            return counted
        return min(counted, int(max(0.0, self.left()) / max(self.replay_seconds, 1e-7)))

    def counted_out(self) -> bool:
        """Whether the number of replays is used up, where the number ends the run."""
        return self.evaluations >= self.effort and not self.by_clock

    def late(self) -> bool:
        """Whether no time is left for another replay."""
        return self.left() <= self.replay_seconds

    def progress(self) -> float:
        """Share of the run that is over, 0 to 1, by the count or, once that is late, by the clock."""
        if not self.by_clock:
            counted = self.evaluations / self.effort
            passed = 1.0 - self.left() / max(self.end - self._begun, 1e-9)
            if not self.follows_clock or passed <= counted + self.lag:
                return min(1.0, counted)
            self.follow_clock()
        share, since = self._turned
        passed = (self.clock() - since) / max(self.end - since, 1e-9)
        return min(1.0, share + (1.0 - share) * max(0.0, passed))

    def follow_clock(self) -> None:
        """Let the clock end the run."""
        self._turned = (min(1.0, self.evaluations / self.effort), self.clock())
        self.by_clock = True
