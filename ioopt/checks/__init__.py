"""Check plans independently of what made them: every checker imports the problem alone
and recomputes what a plan claims.

:func:`ioopt.check` is the public call. Here is what the checkers share: can pipes of
limited rate have carried what a schedule says, at every instant?
"""

import heapq
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Load(NamedTuple):
    """A transfer through a pipe: seconds between which it runs, its
    bytes, and whose it is.
    """

    start: float
    end: float
    size: float
    item: object


def time_slack(seconds: float) -> float:
    """What rounding may move an instant at *seconds*: 1e-10 s and 1e-12 of its size."""
    return 1e-10 + 1e-12 * abs(seconds)


def overloads(
    rate: float, loads: Iterable[Load], slack: float = 0.0
) -> list[tuple[Load, float]]:
    """The loads that a pipe of *rate* cannot end in time, with the
    bytes that are left then.
    """
    ordered = sorted(loads, key=lambda load: (load.start, load.end))
    waiting: list[tuple[float, int, float]] = []
    late: list[tuple[Load, float]] = []
    now = 0.0
    for k in range(len(ordered) + 1):
        until = ordered[k].start if k < len(ordered) else math.inf
        while waiting and now < until:
            end, at, left = waiting[0]
            finish = now + left / rate
            if finish > until:
                heapq.heapreplace(waiting, (end, at, left - (until - now) * rate))
                break
            heapq.heappop(waiting)
            load = ordered[at]
            # Sums over a busy period carry the rounding of all their terms.
            if finish > end + slack + time_slack(end) + 1e-9 * (
                end - load.start + load.size / rate
            ):
                late.append((load, (finish - end) * rate))
                finish = now  # What could not be is not counted against the others.
            now = finish
        if k < len(ordered):
            now = max(now, until)
            heapq.heappush(waiting, (ordered[k].end, k, ordered[k].size))
    return late


def too_fast(rates: Sequence[float], load: Load) -> float:
    """Seconds by which a transfer is shorter than the slowest of its pipes
    allows; 0 if it is not.
    """
    least = load.size / min(rates)
    short = least - (load.end - load.start)
    return short if short > 1e-6 * least + time_slack(load.end) else 0.0
