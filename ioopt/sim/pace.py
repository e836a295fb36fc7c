"""End a simulation that cannot finish within its limit, to leave time for a cheaper
policy.
"""

import math
from dataclasses import dataclass, field

from ioopt.errors import OutOfTime
from ioopt.options import Deadline

JUDGE_FROM_SHARE = 0.1
"""Share of the limit during which no run is given up, as its pace is still
uncertain.
"""
CHEAPEST = 0.75
"""Run time of the cheapest policy divided by that of others: base-line .5 to .7, gs
less.
"""
SURE_SHARE = 0.01
"""Share of a run that is measured before its pace is used."""
MARGIN = 2.0
"""Ratio of the proposed limit to the estimated time of a run."""
EARLY_MARGIN = 4.0
"""The same ratio early in a run, as long queues slow the run down later (RICC's log
needs 3.5 times the estimate after its first hundredth).
"""
EARLY_SHARE = 0.1
"""Share of a run up to which EARLY_MARGIN applies."""


@dataclass
class Pace:
    """Track the progress of one run against its deadline.

    *plain_seconds* is a coarse estimate of the whole run in plain Python. A run of the
    *cheapest* policy is never given up early, as nothing could replace it.
    """

    deadline: Deadline
    plain_seconds: float = 0.0
    cheapest: bool = True
    begun: float = field(init=False)
    unsure: float = field(init=False)
    first: tuple[float, int] | None = None

    def __post_init__(self) -> None:
        self.begun = self.deadline.elapsed()
        self.unsure = JUDGE_FROM_SHARE * self.deadline.remaining()

    def look(self, arrived: int, ended: int, total: int) -> None:
        """Raise OutOfTime past the deadline, or if the run cannot end before it.

        *arrived* and *ended* of *total* jobs measure the progress.
        """
        left = self.deadline.remaining()
        if math.isinf(left):
            return
        now = self.deadline.elapsed()
        done = arrived + ended
        spent = now - self.begun
        if self.first is None:  # The time before the first call is set-up time.
            self.first = (now, done)
        since, before = self.first
        rest = 0.0
        if done - before >= SURE_SHARE * 2 * total and now > since:
            rest = (now - since) * (2 * total - done) / (done - before)
        cheapest = CHEAPEST * (spent + rest)
        hopeless = cheapest >= left and rest > left and spent >= self.unsure
        if left and (self.cheapest or not hopeless):
            return
        margin = EARLY_MARGIN if done < EARLY_SHARE * 2 * total else MARGIN
        seconds = math.ceil(self.begun + margin * max(self.plain_seconds, spent + rest))
        raise OutOfTime(
            f"out of time with {ended} of {total} jobs finished; about {seconds} "
            "s would do"
        )
