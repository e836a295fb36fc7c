"""What the compiled forms of I/O policies share: order by key, first fit, what is left.

Kernels are plain Python that numba compiles (:mod:`ioopt.compiled`); on lists they run as they are.
"""

from typing import Any

from ioopt.decisions.batch_io import CLOSE, FIT_TOLERANCE, KernelView, nine_digits

SLACK = 1 + FIT_TOLERANCE
NEAR = 1 + CLOSE


def never_asked(view: KernelView, rates: Any) -> None:
    """For policies that the engine plays without asking."""


def below(one: float, other: float) -> bool:
    """Whether ``nine_digits(one) < nine_digits(other)``; keys that are not close need no rounding."""
    if one * NEAR < other:
        return True
    if other * NEAR < one or one == other:
        return False
    return nine_digits(one) < nine_digits(other)


def close(one: float, other: float) -> bool:
    """Whether two keys, 0 or more, differ by so little that rounding may make them equal."""
    return one != other and not one * NEAR < other and not other * NEAR < one


def sort_places(keys: Any, order: Any, count: int) -> None:
    """Places 0 to *count* by rounded key, ascending, ties by place, into *order*."""
    for k in range(count):
        at = k
        while at > 0 and below(keys[k], keys[order[at - 1]]):
            order[at] = order[at - 1]
            at -= 1
        order[at] = k


def by_key(view: KernelView) -> None:
    """Order the requests by ``view.keys``, all 0 or more, ascending; ties: first come first."""
    sort_places(view.keys, view.order, view.size)


def as_they_came(view: KernelView) -> None:
    """Order the requests first come first."""
    for k in range(view.size):
        view.order[k] = k


def first_fit(view: KernelView, rates: Any) -> None:
    """What fits in what is left, in order; then the rest where ``top`` (rule 11)."""
    left = view.storage
    for q in range(view.size):
        k = view.order[q]
        peak = view.jobs[view.out[k]].peak
        if peak <= left * SLACK:
            rates[k] = peak
            left -= peak
    if view.top:
        top_up(view, rates, left)


def top_up(view: KernelView, rates: Any, left: float) -> None:
    """Give *left* to the requests without a rate, in order."""
    for q in range(view.size):
        if left <= view.storage * FIT_TOLERANCE:
            return
        k = view.order[q]
        if rates[k] == 0.0:
            rates[k] = min(view.jobs[view.out[k]].peak, left)
            left -= rates[k]
