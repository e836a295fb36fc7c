"""Give up a simulation that cannot finish within its time limit, so that time is left
to simulate a cheaper policy.
"""

import math
from dataclasses import dataclass, field

from ioopt.errors import OutOfTime
from ioopt.options import Deadline

JUDGE_FROM_SHARE = 0.1
"""Share of the time limit during which no simulation is given up, because its pace is
still uncertain.
"""
CHEAPEST = 0.75
"""Run time of the cheapest policy divided by the run time of other policies. Measured:
0.5 to 0.7 for base-line, less for gs.
"""
SURE_SHARE = 0.01
"""Share of a simulation that must be done before its pace is used."""
MARGIN = 2.0
"""Factor by which the proposed time limit exceeds the estimated run time."""
EARLY_MARGIN = 4.0
"""Value used in place of MARGIN early in a simulation, because long queues slow the
simulation down later. The log of RICC needs 3.5 times the time estimated after the
first hundredth.
"""
EARLY_SHARE = 0.1
"""Share of a simulation up to which EARLY_MARGIN applies."""


@dataclass
class Pace:
    """Track the progress of one simulation against its deadline.

    *plain_seconds* is a coarse estimate of the run time of the whole simulation in
    plain Python. A simulation of the *cheapest* policy is never given up early, because
    no policy could replace it.
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
        """Raise OutOfTime if the deadline has passed or the simulation cannot end
        before it.

        Progress is measured by the jobs that have *arrived* and the jobs that have
        *ended*, out of *total* jobs.
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
