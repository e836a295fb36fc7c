"""A lower bound of the I/O delay for given starts: the storage is sold at a price,
every job buys alone.

Let pi(t) >= 0 be what a second of the whole storage costs at t. No policy moves more than the storage takes,
so sum_j w_j D_j >= sum_j [w_j D_j + integral pi dx_j] - integral pi; each bracket is at least g_j, the least
that job j can pay with the storage to itself. L(pi) = sum g_j - integral pi is a bound for every pi
(Lagrangian duality; its use here is ours); prices rise where more is bought than there is.

g_j on a grid of step h: let D be the job's delay when it moves the byte at its progress p, and D' the
same rounded down to the grid. D' never falls, D' <= D, and the byte moves between s + p + D' and h later,
so it pays at least the least pi in that span. With pi constant in slots of length h this depends on the
slot of s + p and on D' alone: the cheapest D' is a shortest path over (slot of progress, level of delay)
that changes levels, if at all, where a slot or a request begins. Past the last level a job pays for
the delay alone.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ioopt.models.fluid_bound import SHAVED
from ioopt.options import Deadline

LEVELS = 128
"""Delays of a job that are told apart."""
STEPS_OF_MEAN = 24
"""Steps of the grid in the mean delay of a schedule that is known."""
MOST_SLOTS = 1 << 20
RISE, HALVED_AFTER = 0.4, 10
"""The first change of a price where twice the storage is bought, and the rounds
after which it is half.
"""


class Step(NamedTuple):
    """A request: seconds of the whole storage, its share of it at most,
    and computing after it.
    """

    amount: float
    share: float
    after: float = 0.0


class Chain(NamedTuple):
    """A job with a given start: when its first request is issued, its requests,
    what its delay counts.
    """

    begin: float
    steps: tuple[Step, ...]
    weight: float = 1.0


def delay_bound(
    chains: Sequence[Chain],
    known: float,
    rounds: int,
    work: float = math.inf,
    deadline: Deadline | None = None,
) -> float:
    """At least sum_j w_j D_j for every I/O policy, in seconds.

    *known* is that sum in some schedule: the grid is made for it. At most *rounds* of ascent, fewer
    where they would look at more than *work* levels in all, or the *deadline* has passed.
    """
    weight = sum(chain.weight for chain in chains)
    if known <= 0:
        return 0.0
    # With the storage to themselves.
    ends = [
        c.begin + sum(item.amount / item.share + item.after for item in c.steps)
        for c in chains
    ]
    span = max(ends) - min(chain.begin for chain in chains)
    # Four digits: a schedule whose last digits differ (another arithmetic)
    # gets the same grid.
    step = float(f"{max(known / weight / STEPS_OF_MEAN, span / MOST_SLOTS):.3e}")
    seconds = sum(item.amount / item.share for chain in chains for item in chain.steps)
    slots = seconds / step + sum(len(chain.steps) for chain in chains)
    rounds = int(min(rounds, work / (LEVELS * slots)))
    return _Market(chains, step).ascend(rounds, deadline) if rounds else 0.0


class _Market:
    """What jobs buy of the storage in slots of *step* seconds at given prices.

    Jobs stand by their number of pieces, most first: those that have a q-th
    one are the first ones.
    """

    def __init__(self, chains: Sequence[Chain], step: float) -> None:
        import numpy as np

        self.np, self.step = np, step
        origin = min(chain.begin for chain in chains)
        rows = [([*_pieces(chain, step, origin)], chain.weight) for chain in chains]
        rows.sort(key=lambda row: -len(row[0]))
        levels = np.arange(LEVELS)
        self.costs = np.array([weight * step for _, weight in rows])[:, None] * levels
        self.pieces = []
        for q in range(len(rows[0][0])):
            column = [pieces[q] for pieces, _ in rows if len(pieces) > q]
            slots, amounts = (
                np.array([at for at, _ in column]),
                np.array([v for _, v in column]),
            )
            self.pieces.append((slots, amounts))
        self.size = max(int(slots.max()) for slots, _ in self.pieces) + LEVELS + 1

    def ascend(self, rounds: int, deadline: Deadline | None) -> float:
        """The best bound at the prices of all rounds, and at the mean
        of their second half.
        """
        np = self.np
        prices, mean, best = np.zeros(self.size), np.zeros(self.size), 0.0
        for k in range(rounds):
            if deadline and deadline.expired():
                return best
            value, bought = self.bound(prices)
            best = max(best, value)
            if k == 0 and bought.max() * SHAVED <= self.step:
                return 0.0
            change = RISE / (1 + k / HALVED_AFTER) * (bought / self.step - 1)
            prices = np.maximum(0.0, prices + change)
            if 2 * k >= rounds:
                mean += prices
        return max(best, self.bound(mean / (rounds - (rounds + 1) // 2 or 1))[0])

    def bound(self, prices: Any) -> tuple[float, Any]:
        """L at *prices*, and the seconds of the storage that are
        bought in each slot.
        """
        np, costs, levels = self.np, self.costs, self.np.arange(LEVELS)
        following = np.append(prices[1:], 0.0)
        least = np.minimum(prices, following)
        where = np.arange(self.size) + (following < prices)
        paid, came = costs.copy(), []
        for slots, amounts in self.pieces:
            count = len(slots)
            over = paid[:count] - costs[:count]
            low = np.minimum.accumulate(over, axis=1)
            origin = np.where(over <= low, levels, 0)
            came.append(np.maximum.accumulate(origin, axis=1).astype(np.uint8))
            paid[:count] = (
                low + costs[:count] + amounts[:, None] * least[slots[:, None] + levels]
            )
        total = np.minimum(paid.min(axis=1), self.costs[:, 1] * LEVELS).sum()
        level, bought = paid.argmin(axis=1), np.zeros(self.size + 1)
        for (slots, amounts), origin in zip(self.pieces[::-1], came[::-1]):
            jobs, at = np.arange(len(slots)), level[: len(slots)]
            np.add.at(bought, where[slots + at], amounts)
            level[: len(slots)] = origin[jobs, at]
        return float(total * SHAVED - self.step * prices.sum() / SHAVED), bought[
            : self.size
        ]


def _pieces(chain: Chain, step: float, origin: float) -> Iterator[tuple[int, float]]:
    """(slot, seconds of the storage) where the job alone
    transfers, cut at the slots.
    """
    now = chain.begin - origin
    for item in chain.steps:
        end = now + item.amount / item.share
        slot = math.floor(now / step)
        while now < end:
            until = min(end, (slot + 1) * step)
            if until > now:
                yield slot, (until - now) * item.share
                now = until
            slot += 1
        now = end + item.after
