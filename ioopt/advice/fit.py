"""Whether the waits of a log can be reproduced: a queue calibrated on its first half, judged on the second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ioopt.advice.site import Site
from ioopt.formats.swf.log import SwfTrace
from ioopt.options import Deadline
from ioopt.problems.base import Json


@dataclass(frozen=True)
class Fit:
    """What a fit found; figures are None where it did not come to them.

    ``ratio`` is the simulated mean wait over the logged one, ``rank`` the rank correlation of both,
    ``recent`` that of the mean of the user's last three waits, ``weekly`` the correlation of weekly
    means, ``cells`` that of the means by size and length; all of the second half. ``with_room``,
    ``two_users`` are shares of all waiting: while enough processors were idle, of the two users who
    wait most; ``own_end`` is the share of starts after a wait within a minute of an end of the same
    user. ``exact``: ``options`` and ``processors`` say the whole queue.
    """

    status: Literal["refused-before", "refused", "passed"]
    reason: str
    logged_seconds: float | None = None
    simulated_seconds: float | None = None
    ratio: float | None = None
    rank: float | None = None
    recent: float | None = None
    weekly: float | None = None
    cells: float | None = None
    with_room: float | None = None
    two_users: float | None = None
    own_end: float | None = None
    knobs: tuple[str, ...] = ()
    options: Json = field(default_factory=dict)
    processors: int | None = None
    exact: bool = False
    job_ids: tuple[int, ...] = ()

    def starts(self, run_seconds: Sequence[float] | None = None) -> list[float]:
        """Starts of ``job_ids`` in the calibrated queue, with other run times (default: the log's)."""
        raise NotImplementedError


def fit(log: SwfTrace, site: Site | None = None, deadline: Deadline | None = None) -> Fit:
    """Calibrate a queue on the first half of *log*, judge it once on the second.

    What *site* says is not calibrated. The same log has the same answer; after the *deadline* it
    goes on with the knobs found so far.
    """
    return Fit("refused-before", f"{log.name}: not fitted")
