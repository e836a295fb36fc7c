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


def slow_down(rates: Any, count: int, storage: Any, interference: Any) -> None:
    """Rule 29: what *count* requests get of a storage on which they interfere."""
    active, total = 0, storage * 0
    for k in range(count):
        if rates[k] > 0:
            active += 1
            total += rates[k]
    most = storage / (1 + interference * max(active - 1, 0))
    if total > most:
        part = most / total
        for k in range(count):
            rates[k] *= part


def place_by_level(view: KernelView, size: int, k: int, weight: Any) -> int:
    """Put request *k*, of so much *weight*, among *size* in ``order`` by peak / weight; its place."""
    keys, order = view.keys, view.order
    keys[k] = view.jobs[view.out[k]].peak / weight
    view.sizes[k] = weight
    while size > 0 and keys[order[size - 1]] > keys[k]:
        order[size] = order[size - 1]
        size -= 1
    order[size] = k
    return size


def share_out(view: KernelView, rates: Any, size: int) -> None:
    """The storage for *size* requests in ``order``, by weight, none above its peak (rule 25)."""
    left, whole = view.storage, view.storage * 0
    for q in range(size):
        whole += view.sizes[view.order[q]]
    for q in range(size):
        k = view.order[q]
        weight = view.sizes[k]
        if weight > 0:
            rates[k] = min(view.jobs[view.out[k]].peak, left * weight / whole)
            left -= rates[k]
            whole -= weight


def top_up(view: KernelView, rates: Any, left: float) -> None:
    """Give *left* to the requests without a rate, in order."""
    for q in range(view.size):
        if left <= view.storage * FIT_TOLERANCE:
            return
        k = view.order[q]
        if rates[k] == 0.0:
            rates[k] = min(view.jobs[view.out[k]].peak, left)
            left -= rates[k]
