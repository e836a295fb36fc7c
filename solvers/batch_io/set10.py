"""Set-10, the heuristic of IO-Sets (Boito et al., TPDS 2023, doi
10.1109/TPDS.2023.3305028; rule 16).

A job belongs to the set round(log10 w_iter), w_iter its mean compute plus uncongested
I/O seconds a phase. Inside a set the earliest request transfers alone; the sets present
share the bandwidth in proportion to 10^-set, none above its request's peak, what a peak
leaves shared out again.
"""

import math
from fractions import Fraction
from functools import lru_cache

from ioopt.compiled import Box
from ioopt.decisions.batch_io import IoPolicy, KernelView
from ioopt.decisions.ordering import Number
from ioopt.solvers.batch_io.settings import Settings

FARTHEST = (
    150  # sets beyond are this one: their squares and weights leave the range of floats
)


@lru_cache(maxsize=1 << 16, typed=True)
def set_of(iteration: Number) -> int:
    """round(log10(iteration)), by comparing squares, so that no logarithm
    is rounded (rule 28).

    >>> set_of(300.0), set_of(Fraction(320))
    (2, 3)
    >>> set_of(5e-324), set_of(1e200)
    (-150, 150)
    """
    k = round(math.log10(iteration))
    if abs(k) > FARTHEST:
        return FARTHEST if k > 0 else -FARTHEST
    base = Fraction(10) if isinstance(iteration, Fraction) else 10.0
    square = iteration * iteration
    if square > base ** (2 * k + 1):
        return k + 1
    return k if square > base ** (2 * k - 1) else k - 1


def set_10(view: KernelView, rates: Box) -> None:
    """Set-10: one request a set; the ``weight`` of a request is 10^-set,
    which ranks the sets.
    """
    positions, weights, ratios = view.sizes, view.depths, view.keys
    order, behind, size = view.order, view.finishes, 0
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        weight, seen = request.weight, 0
        while seen < size and weights[seen] != weight:
            seen += 1
        if seen < size:
            continue
        positions[size], weights[size], ratios[size] = k, weight, request.peak / weight
        at = size
        while at > 0 and ratios[order[at - 1]] > ratios[size]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = size
        size += 1
    left = view.limits.storage
    behind[size] = left * 0
    for q in range(size - 1, -1, -1):
        behind[q] = behind[q + 1] + weights[order[q]]
    for q in range(size):
        k = int(positions[order[q]])
        rates[k] = min(
            view.jobs[view.out[k]].peak, left * weights[order[q]] / behind[q]
        )
        left -= rates[k]


def weigh(nodes: int, iteration: Number) -> Number:
    """10^-set; a job of nothing but empty phases asks for nothing."""
    base = Fraction(10) if isinstance(iteration, Fraction) else 10.0
    return base ** -set_of(iteration) if iteration else iteration


def policy(how: Settings) -> IoPolicy:
    """Set-10."""
    return IoPolicy("set-10", set_10, full_when_fits=False, weigh=weigh)
