"""Count the replays and the seconds of a link-aware search."""

from collections.abc import Callable

from ioopt.solvers.replication.search import params


class Budget:
    """Count the replays and the seconds that a search has used and may use.

    The search may make *effort* replays (infinite: no limit) and take *seconds*. Its
    replays are divided among restarts, so that a run with a longer limit repeats the
    steps of a shorter run. A run may have stages, each of which ends at a share of the
    limits. If the answer is chosen from finalists by further replays, *choice* says so,
    and these replays are reserved.
    """

    def __init__(
        self,
        effort: float,
        seconds: float,
        clock: Callable[[], float],
        choice: bool = False,
    ) -> None:
        self.effort = effort
        self.choice = choice
        self.clock = clock
        self.evaluations = 0
        self.replay_seconds = 0.0
        self.end = clock() + seconds
        self._seconds = seconds
        self._stage = 1.0
        self._first = 0
        self.size = 1

    def begin(self, size: int) -> None:
        """Begin a restart of *size* replays."""
        self._first = self.evaluations
        self.size = max(1, size)

    def stage(self, until: float) -> None:
        """End the present stage of the run after share *until* of its replays and of
        its seconds.
        """
        self._stage = until

    def left(self) -> float:
        """Return the seconds left in this stage."""
        end = self.end
        if end < float("inf"):
            end -= (1.0 - self._stage) * self._seconds
        return end - self.clock()

    def give_up(self) -> None:
        """Make this run end at its next check of the clock; another thread may call
        this.
        """
        self.end = -float("inf")

    def finalists(self, replays: float) -> int:
        """Return the number of plans among which the answer is chosen after so many
        *replays*; it is 0 if there is no choice.
        """
        knobs = params.PARAMS
        most = min(knobs.finalists, knobs.final_share * replays / knobs.final_draws)
        return int(most) if self.choice and most >= 2 else 0

    def unused(self) -> float:
        """Return the number of replays that are left in this stage, without those of
        the choice.
        """
        reserved = self.finalists(self.effort) * params.PARAMS.final_draws
        return self._stage * (self.effort - reserved) - self.evaluations

    def counted_out(self) -> bool:
        """Return whether all replays but those of the choice are used."""
        return self.unused() <= 0

    def late(self) -> bool:
        """Return whether no time is left for another replay and the last ones."""
        reserved = self.finalists(self.evaluations) * params.PARAMS.final_draws
        return self.left() <= self.replay_seconds * (1 + reserved)

    def progress(self) -> float:
        """Return the share of the present restart that is finished, from 0 to 1."""
        return min(1.0, (self.evaluations - self._first) / self.size)
