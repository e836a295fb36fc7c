"""The best order for concurrent I/O requests: an oracle for single decisions (ours, not the paper's).

At one instant K requests are outstanding and nothing else will arrive. Request i has R_i bytes left
and peak rate r_i; together they get at most BW_max. Serving them in a priority order means that
each gets min(r_i, what those before it leave), afresh whenever one finishes, which is work
conserving. The order sought minimises

    sum_i w_i (C_i - R_i / r_i),

C_i being when request i finishes, w_i = 1 (total I/O delay) or N_i (node-weighted): with the second
term constant, weighted completion time. All orders are tried, which K <= 6 allows (720 orders).
Not every schedule is a priority order, but for equal peaks that all exceed half of BW_max this is
one machine with preemption, where the best order is Smith's: R_i / w_i ascending. Runs on floats or
Fractions alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from ioopt.errors import UsageError

MOST_REQUESTS = 6

Number = Any
"""A float, or a Fraction for exact answers."""


@dataclass(frozen=True)
class IoOrder:
    """The best order (positions, first served first), when each position finishes, and the delay."""

    order: tuple[int, ...]
    finish_seconds: tuple[Number, ...]
    delay: Number


def finish_times(
    order: Sequence[int], left: Sequence[Number], peaks: Sequence[Number], storage: Number
) -> tuple[Number, ...]:
    """Seconds from now at which each position finishes when served in *order*.

    *left* are bytes, *peaks* and *storage* bytes per second, peaks above 0 and at most *storage*.

    >>> finish_times([1, 0], [8.0, 4.0], [4.0, 4.0], 4.0)
    (3.0, 1.0)
    """
    remaining, waiting = list(left), list(order)
    finish: list[Number] = [storage * 0] * len(left)
    now = storage * 0
    while waiting:
        room, rates = storage, []
        for k in waiting:
            rate = min(peaks[k], room)
            rates.append(rate)
            room -= rate
        step = min(remaining[k] / rate for k, rate in zip(waiting, rates) if rate > 0)
        now += step
        done = set()
        for k, rate in zip(waiting, rates):
            if rate > 0 and remaining[k] / rate <= step:
                finish[k] = now
                done.add(k)
            else:
                remaining[k] -= rate * step
        waiting = [k for k in waiting if k not in done]
    return tuple(finish)


def best_order(
    left: Sequence[Number],
    peaks: Sequence[Number],
    storage: Number,
    weights: Sequence[Number] | None = None,
) -> IoOrder:
    """The priority order with the least (weighted) I/O delay; the lexicographically first of equals.

    *weights* are w_i above (None: all 1). Raises UsageError for more than six requests or peaks
    that are not within (0, *storage*].
    """
    count = len(left)
    if count > MOST_REQUESTS:
        raise UsageError(f"{count} requests: every order is tried for {MOST_REQUESTS} at most")
    for k, peak in enumerate(peaks):
        if not 0 < peak <= storage:
            raise UsageError(f"peak of request {k} is {peak}; wanted above 0, at most {storage}")
    share = weights or [1] * count
    ideal = [bytes_left / peak for bytes_left, peak in zip(left, peaks)]
    best: IoOrder | None = None
    for order in permutations(range(count)):
        finish = finish_times(order, left, peaks, storage)
        delay = sum(w * (end - alone) for w, end, alone in zip(share, finish, ideal))
        if best is None or delay < best.delay:
            best = IoOrder(order, finish, delay)
    assert best is not None  # there is always the empty order
    return best
