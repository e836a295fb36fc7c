"""Bound the I/O delay from below for given starts by selling the storage at prices.

For job j, let D_j be the I/O delay, w_j the cost of a second of delay, and x_j(t) the
amount that the job has moved by time t, in seconds of the whole storage. Let pi(t) >= 0
be the price of a second of the whole storage at time t. No policy moves more than the
storage delivers, so

sum_j w_j D_j >= sum_j [w_j D_j + integral of pi dx_j] - integral of pi

The bracket is what job j pays for its delay and for the storage. Let g_j be the least
that it could pay if it had the storage to itself. Then L(pi) = sum_j g_j - integral of
pi is a lower bound for every pi (Lagrangian duality; its use here is ours). A price
rises where jobs buy more than the storage delivers, and falls where they buy less.

g_j is computed on a grid of time slots of length h, in which pi is constant. A job that
starts at s would move a certain byte at s + p without delay; p is its progress. Let D
be the delay so far and D' this delay rounded down to the grid. D' never falls along the
job, and D' <= D. The byte moves between s + p + D' and h later, so it costs at least
the least price in that time. That price depends only on D' and on the slot of s + p. So
the cheapest D' is a shortest path over the pairs (slot of progress, level of delay),
and the level changes only where a slot or a request begins. Beyond the last level a job
pays for the delay alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ioopt.models.fluid_bound import SHAVED
from ioopt.options import Deadline

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Reals = NDArray[np.float64]

LEVELS = 128
"""Number of levels of delay that a job can have."""
STEPS_OF_MEAN = 24
"""Number of steps of the grid that make up the mean delay of the known schedule."""
MOST_SLOTS = 1 << 20
"""Largest number of slots from the first start to the last end."""
RISE = 0.4
"""First change of the price of a slot in which jobs buy twice what the storage
delivers.
"""
HALVED_AFTER = 10
"""Number of rounds after which the change of a price is half of the first change."""


class Step(NamedTuple):
    """Represent a request of a job and the computing that follows it.

    ``amount`` is what it moves, in seconds of the whole storage. ``share`` is its peak
    rate as a share of the storage's rate. ``after`` is the computing in seconds.
    """

    amount: float
    share: float
    after: float = 0.0


class Chain(NamedTuple):
    """Represent the I/O of a job whose start is given.

    ``begin`` is the time in seconds at which its first request is issued. ``steps`` are
    its requests. ``weight`` is the cost of a second of its delay.
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
    """Return a lower bound of the sum of weight x delay over all *chains*, in seconds.

    It holds for every I/O policy. *known* is the value of this sum in a known schedule;
    it sets the step of the grid. The bound is raised in *rounds* rounds, or in fewer if
    together they would examine more than *work* levels, or if the *deadline* passes.
    """
    weight = sum(chain.weight for chain in chains)
    if known <= 0:
        return 0.0
    # The ends if every job had the storage to itself.
    ends = [
        c.begin + sum(item.amount / item.share + item.after for item in c.steps)
        for c in chains
    ]
    span = max(ends) - min(chain.begin for chain in chains)
    # Four digits, so that schedules that differ only by rounding get the same grid.
    step = float(f"{max(known / weight / STEPS_OF_MEAN, span / MOST_SLOTS):.3e}")
    steps = [item for chain in chains for item in chain.steps]
    seconds = sum(item.amount / item.share for item in steps)
    slots = seconds / step + len(steps)
    rounds = int(min(rounds, work / (LEVELS * slots)))
    if not rounds:
        return 0.0
    return _Market(chains, step).ascend(rounds, deadline)


class _Market:
    """Sell the storage to the jobs of *chains*, in slots of *step* seconds.

    A piece is what a job moves within one slot. Jobs with more pieces come first, so
    that the jobs that have a q-th piece are the first ones in the list.
    """

    def __init__(self, chains: Sequence[Chain], step: float) -> None:
        import numpy as np

        self.np = np
        self.step = step
        origin = min(chain.begin for chain in chains)
        rows = [([*_pieces(chain, step, origin)], chain.weight) for chain in chains]
        rows.sort(key=lambda row: -len(row[0]))
        levels = np.arange(LEVELS)
        self.costs = np.array([weight * step for _, weight in rows])[:, None] * levels
        self.pieces = []
        for q in range(len(rows[0][0])):
            column = [pieces[q] for pieces, _ in rows if len(pieces) > q]
            slots = np.array([at for at, _ in column])
            amounts = np.array([amount for _, amount in column])
            self.pieces.append((slots, amounts))
        self.size = max(int(slots.max()) for slots, _ in self.pieces) + LEVELS + 1

    def ascend(self, rounds: int, deadline: Deadline | None) -> float:
        """Adjust the prices in *rounds* rounds and return the best bound, in seconds.

        The mean prices of the second half of the rounds are tried too.
        """
        np = self.np
        prices = np.zeros(self.size)
        mean = np.zeros(self.size)
        best = 0.0
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
        summed = rounds - (rounds + 1) // 2
        value, _ = self.bound(mean / max(summed, 1))
        return max(best, value)

    def bound(self, prices: Reals) -> tuple[float, Reals]:
        """Return the bound L at *prices*, and what the jobs buy in each slot.

        *prices* has one price for each slot. Amounts are in seconds of the whole
        storage.
        """
        np = self.np
        costs = self.costs
        levels = np.arange(LEVELS)
        following = np.append(prices[1:], 0.0)
        least = np.minimum(prices, following)
        where = np.arange(self.size) + (following < prices)
        paid = costs.copy()
        came = []
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
        level = paid.argmin(axis=1)
        bought = np.zeros(self.size + 1)
        for (slots, amounts), origin in zip(self.pieces[::-1], came[::-1]):
            jobs = np.arange(len(slots))
            at = level[: len(slots)]
            np.add.at(bought, where[slots + at], amounts)
            level[: len(slots)] = origin[jobs, at]
        value = float(total * SHAVED - self.step * prices.sum() / SHAVED)
        return value, bought[: self.size]


def _pieces(chain: Chain, step: float, origin: float) -> Iterator[tuple[int, float]]:
    """Yield (slot, amount) of each piece that a job moves if it has the storage to
    itself.

    Amounts are in seconds of the whole storage. Slots of *step* seconds begin at
    *origin*.
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
