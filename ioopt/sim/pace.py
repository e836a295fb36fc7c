"""Ends a simulation that its limit has no time for, while the
cheapest policy still fits.
"""

import math
from dataclasses import dataclass, field

from ioopt.errors import OutOfTime
from ioopt.options import Deadline

JUDGE_FROM_SHARE = 0.1
"""Share of the time left before which the pace is too unsure to give a run up."""
CHEAPEST = 0.75
"""What the cheapest policy takes of the time of any other:
base-line .5 to .7, gs less.
"""
SURE_SHARE = 0.01
"""Of a run, before which its pace says nothing."""
MARGIN, EARLY_MARGIN, EARLY_SHARE = 2.0, 4.0, 0.1
"""What is asked for, over what a run seems to need, and up to EARLY_SHARE of it: events
take longer where queues are long (the whole of RICC's log takes 3.5 times the pace of
its first hundredth)."""


@dataclass
class Pace:
    """The progress of one run against its deadline.

    *plain_seconds* is a coarse estimate of the whole run in plain Python. The
    *cheapest* policy runs to the end of its limit: nothing could answer in its place.
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
        """Judge by the jobs that have arrived and ended; OutOfTime past the
        deadline, or if hopeless.
        """
        left = self.deadline.remaining()
        if math.isinf(left):
            return
        now, done = self.deadline.elapsed(), arrived + ended
        spent = now - self.begun
        since, before = self.first = self.first or (
            now,
            done,
        )  # what comes before is setting up
        sure = done - before >= SURE_SHARE * 2 * total and now > since
        rest = (now - since) * (2 * total - done) / (done - before) if sure else 0.0
        hopeless = (
            rest > left and left <= CHEAPEST * (spent + rest) and spent >= self.unsure
        )
        if left and (self.cheapest or not hopeless):
            return
        margin = EARLY_MARGIN if done < EARLY_SHARE * 2 * total else MARGIN
        seconds = math.ceil(self.begun + margin * max(self.plain_seconds, spent + rest))
        raise OutOfTime(
            f"out of time with {ended} of {total} jobs finished; about {seconds} "
            "s would do"
        )
