"""Say when a link-aware search stops, and why.

A stopping criterion is a function of the best plan of the run. It returns the reason
for which the run must end, or None.
"""

from collections.abc import Callable

from ioopt.result import StopReason
from ioopt.solvers.replication.search import params
from ioopt.solvers.replication.search.budget import Budget
from ioopt.solvers.replication.search.elites import Best

Stop = Callable[[Best], StopReason | None]


class TargetMet:
    """Stop at a plan that meets the lower *bound*, in seconds, or the requested *gap*.

    In a robust run it must also hold under noise, or enough replays for each of the
    *tasks* must have looked for one that does. ``proof`` and ``seconds`` are the
    largest scores that meet the bound and the gap.
    """

    def __init__(self, bound: float, gap: float, budget: Budget, tasks: int) -> None:
        self.bound = bound
        self.proof = bound * (1 + 1e-10)
        self.seconds = max(bound / (1.0 - min(gap, 0.999)), self.proof)
        self._budget = budget
        self._tasks = tasks
        self._since = 0

    def note(self, before: float, score: float) -> None:
        """Note that the best score is now *score*; it was *before*."""
        if before > self.seconds >= score:
            self._since = self._budget.evaluations

    def __call__(self, best: Best) -> StopReason | None:
        """Return FINISHED at a plan that meets the bound, GAP at one within the gap."""
        if best.score > self.seconds:
            return None
        knobs = params.PARAMS
        steady = best.rank <= knobs.steady * best.score
        looked = self._budget.evaluations - self._since
        if not steady and looked < knobs.patience * self._tasks:
            return None
        if best.score <= self.bound * (1 + 1e-9):
            return StopReason.FINISHED
        return StopReason.GAP


class ReplaysUsed:
    """Stop once all replays but those of the choice of the answer are used."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def __call__(self, best: Best) -> StopReason | None:
        """Return ITERATIONS if the replays are used."""
        return StopReason.ITERATIONS if self._budget.counted_out() else None


class TimeUp:
    """Stop once no time is left for another replay and the last ones."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def __call__(self, best: Best) -> StopReason | None:
        """Return TIME if the time is up."""
        return StopReason.TIME if self._budget.late() else None


def first_met(stops: tuple[Stop, ...], best: Best) -> StopReason | None:
    """Return the reason of the first of *stops* that is met; None if none is."""
    for stop in stops:
        reason = stop(best)
        if reason is not None:
            return reason
    return None
