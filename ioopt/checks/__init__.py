"""Check plans independently of the solvers that made them. Every checker imports only
the problem and recomputes the claims of a plan.

:func:`ioopt.check` is the public call. This module holds the code that the checkers
share: tests whether pipes of limited rate can have carried the transfers of a schedule.
"""

import heapq
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Load(NamedTuple):
    """A transfer through a pipe: its start and end in seconds, its bytes, and the item
    that it belongs to.
    """

    start: float
    end: float
    size: float
    item: object


def time_slack(seconds: float) -> float:
    """Return the rounding error in seconds allowed for an instant at *seconds*: 1e-10 s
    plus 1e-12 times *seconds*.
    """
    return 1e-10 + 1e-12 * abs(seconds)


def overloads(
    rate: float, loads: Iterable[Load], slack: float = 0.0
) -> list[tuple[Load, float]]:
    """Return every load that a pipe of *rate* bytes/s cannot finish in time.

    Each load returned is paired with the number of bytes that are still to be moved at
    its end. *slack* is the delay in seconds that is tolerated.
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
                finish = (
                    now  # bytes that cannot have moved do not delay any other loads
                )
            now = finish
        if k < len(ordered):
            now = max(now, until)
            heapq.heappush(waiting, (ordered[k].end, k, ordered[k].size))
    return late


def too_fast(rates: Sequence[float], load: Load) -> float:
    """Return by how many seconds a transfer is shorter than its slowest pipe allows; 0
    if it is long enough.

    *rates* are the rates of its pipes in bytes/s.
    """
    least = load.size / min(rates)
    short = least - (load.end - load.start)
    return short if short > 1e-6 * least + time_slack(load.end) else 0.0
