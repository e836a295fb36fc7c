"""Grant bandwidth by Set-10, the heuristic of IO-Sets (rule 16).

Boito et al., TPDS 2023, doi 10.1109/TPDS.2023.3305028. A job belongs to the set
round(log10 w_iter), where w_iter is the mean duration of its phases in seconds, without
congestion: computing plus I/O. In each set the earliest request transfers alone. The
sets share the bandwidth in proportion to 10^-set. No request gets more than its peak
rate, and what it leaves is shared among the others.
"""

import math
from fractions import Fraction
from functools import lru_cache

from ioopt.decisions.batch_io import IoPolicy, KernelView, number
from ioopt.decisions.ordering import Number
from ioopt.solvers.batch_io.settings import Settings

FARTHEST = 150
"""Largest set number, positive or negative.

Sets farther out count as this one, because floats cannot represent the squares of their
durations.
"""


@lru_cache(maxsize=1 << 16, typed=True)
def set_of(iteration: Number) -> int:
    """Return the set round(log10(iteration)) of a job, *iteration* in seconds
    (rule 28).

    Squares are compared instead of logarithms, so that no rounding decides.

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


def _ten(value: Number) -> Number:
    """Return 10 in the number type of *value*."""
    return number(10, isinstance(value, Fraction))


def set_10(view: KernelView, rates: list[Number]) -> None:
    """Grant by Set-10; the ``weight`` of a request is 10^-set.

    ``positions`` are the first requests of the sets. ``order`` sorts the sets by peak
    rate over weight, because rule 25 shares the storage in this order. ``behind`` has,
    for each place in the order, the sum of the weights from there to the end.
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
    """Return the weight 10^-set of a job; 0 if all its phases are empty, so it makes no
    request.
    """
    if not iteration:
        return iteration
    return _ten(iteration) ** -set_of(iteration)


def policy(how: Settings) -> IoPolicy:
    """Return the policy Set-10, which has no settings of its own."""
    return IoPolicy("set-10", set_10, full_when_fits=False, weigh=weigh)
