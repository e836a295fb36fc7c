"""Set-10, the heuristic of IO-Sets (Boito et al., TPDS 2023, doi 10.1109/TPDS.2023.3305028; rule 16).

A job belongs to the set round(log10 w_iter), w_iter its mean compute plus uncongested I/O seconds
a phase. Inside a set the earliest request transfers alone; the sets present share the bandwidth in
proportion to 10^-set, none above its request's peak, what a peak leaves shared out again.
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ioopt.decisions.batch_io import IoPolicy, KernelView, Number, Rates, Twin, View
from ioopt.decisions.batch_io_kernels import as_they_came, top_up
from ioopt.solvers.batch_io.base_line import water_fill
from ioopt.solvers.batch_io.conservative import grant_left_over
from ioopt.solvers.batch_io.settings import Settings

FARTHEST = 150  # sets beyond are this one: their squares and weights leave the range of floats


@lru_cache(maxsize=1 << 16, typed=True)
def set_of(iteration: Number) -> int:
    """round(log10(iteration)), by comparing squares, so that no logarithm is rounded (rule 28).

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


def set_10(view: View) -> Rates:
    """Set-10: one request a set, priorities 10^-set between the sets."""
    requests, limits = view.requests, view.limits
    if len(requests) == 1:
        return [requests[0].peak]
    numbers = [set_of(request.iteration) for request in requests]
    present = list(dict.fromkeys(numbers))
    positions = [numbers.index(number) for number in present]
    base = Fraction(10) if limits.exact else 10.0
    caps = [requests[k].peak for k in positions]
    shares = water_fill(caps, [base**-number for number in present], limits.storage)
    rates: Rates = [limits.storage * 0] * len(requests)
    for k, rate in zip(positions, shares):
        rates[k] = rate
    return rates


def set_10_top(view: View) -> Rates:
    """:func:`set_10`, what it leaves going to the other requests in FCFS order, the last one partially.

    Ours: where all jobs have iterations of one length, Set-10 lets one of them transfer and the
    rest of the storage idle.
    """
    rates, left = set_10(view), view.limits.storage
    for rate in rates:
        left -= rate
    skipped = [k for k, rate in enumerate(rates) if not rate]
    grant_left_over(rates, view.requests, skipped, left, view.limits)
    return rates


def set_10_kernel(view: KernelView, rates: Any) -> None:
    """Set-10 compiled; the ``constant`` of a request is 10^-set, the weight of its set."""
    positions, weights, ratios = view.sizes, view.depths, view.keys
    order, behind, size = view.order, view.finishes, 0
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        weight, seen = request.constant, 0
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
    behind[size] = 0.0
    for q in range(size - 1, -1, -1):
        behind[q] = behind[q + 1] + weights[order[q]]
    left = view.storage
    for q in range(size):
        k = int(positions[order[q]])
        rates[k] = min(view.jobs[view.out[k]].peak, left * weights[order[q]] / behind[q])
        left -= rates[k]
    if view.top:
        left = view.storage
        for k in range(view.size):
            left -= rates[k]
        as_they_came(view)
        top_up(view, rates, left)


def policy(how: Settings) -> IoPolicy:
    """Set-10, or the variant that hands out what is left."""
    twin = Twin(
        set_10_kernel, how.top,
        constant=lambda request: 10.0 ** -set_of(request.iteration) if request.iteration else 0.0,
    )  # fmt: skip
    if how.top:
        return IoPolicy("set-10+top", set_10_top, reads_progress=False, twin=twin)
    return IoPolicy(
        "set-10", set_10, full_when_fits=False, reads_progress=False, twin=twin,
        lane=lambda request: set_of(request.iteration),
    )  # fmt: skip
