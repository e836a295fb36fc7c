"""Grant by Set-10, the heuristic of IO-Sets (rule 16).

Boito et al., TPDS 2023, doi 10.1109/TPDS.2023.3305028. A job belongs to the set
round(log10 w_iter), where w_iter is the mean of a phase's compute and uncongested I/O
in seconds. In each set the earliest request transfers alone. The sets share the
bandwidth in proportion to 10^-set; no request gets more than its peak rate, and the
remainder is shared again.
"""

import math
from fractions import Fraction
from functools import lru_cache

from ioopt.compiled import Box
from ioopt.decisions.batch_io import IoPolicy, KernelView
from ioopt.decisions.ordering import Number
from ioopt.solvers.batch_io.settings import Settings

FARTHEST = 150
"""Largest set number; larger ones count as this, as floats cannot represent their
squares.
"""


@lru_cache(maxsize=1 << 16, typed=True)
def set_of(iteration: Number) -> int:
    """Return round(log10(iteration)), by squares, so that no logarithm is rounded.

    See rule 28.

    >>> set_of(300.0), set_of(Fraction(320))
    (2, 3)
    >>> set_of(5e-324), set_of(1e200)
    (-150, 150)
    """
    k = round(math.log10(iteration))
    if k > FARTHEST:
        return FARTHEST
    if k < -FARTHEST:
        return -FARTHEST
    base = _ten(iteration)
    square = iteration * iteration
    if square > base ** (2 * k + 1):
        return k + 1
    if square > base ** (2 * k - 1):
        return k
    return k - 1


def _ten(number: Number) -> Number:
    """Return 10 in the arithmetic of *number*."""
    if isinstance(number, Fraction):
        return Fraction(10)
    return 10.0


def set_10(view: KernelView, rates: Box) -> None:
    """Grant by Set-10; the ``weight`` of a request is 10^-set.

    Sets are listed by peak rate over weight, as rule 25 shares the storage: ``order``
    sorts them, ``positions`` are their first requests, ``behind`` the sums of the
    weights from each place of the order to its end.
    """
    positions = view.sizes
    weights = view.depths
    ratios = view.keys
    order = view.order
    behind = view.finishes
    size = 0
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        weight = request.weight
        seen = 0
        while seen < size and weights[seen] != weight:
            seen += 1
        if seen < size:
            continue
        positions[size] = k
        weights[size] = weight
        ratios[size] = request.peak / weight
        at = size
        while at > 0 and ratios[order[at - 1]] > ratios[size]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = size
        size += 1
    left = view.limits.storage
    behind[size] = view.limits.zero
    for q in range(size - 1, -1, -1):
        behind[q] = behind[q + 1] + weights[order[q]]
    for q in range(size):
        k = int(positions[order[q]])
        share = left * weights[order[q]] / behind[q]
        rates[k] = min(view.jobs[view.out[k]].peak, share)
        left -= rates[k]


def weigh(nodes: int, iteration: Number) -> Number:
    """Return 10^-set; 0 for a job with empty phases only, which makes no request."""
    if not iteration:
        return iteration
    return _ten(iteration) ** -set_of(iteration)


def policy(how: Settings) -> IoPolicy:
    """Return Set-10, which has no settings of its own."""
    return IoPolicy("set-10", set_10, full_when_fits=False, weigh=weigh)
