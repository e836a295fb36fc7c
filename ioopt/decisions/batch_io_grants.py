"""What I/O policies grant, one text for plain Python and numba: in order, what is left, by weight."""

from ioopt.compiled import Box
from ioopt.decisions.batch_io import KernelView
from ioopt.decisions.ordering import Number, sort_places


def by_key(view: KernelView) -> None:
    """Order the requests by ``view.keys``, all 0 or more, ascending; ties: first come first."""
    sort_places(view.keys, view.order, view.size, view.limits.exact)


def as_they_came(view: KernelView) -> None:
    """Order the requests first come first."""
    for k in range(view.size):
        view.order[k] = k


def first_fit(view: KernelView, rates: Box) -> None:
    """What fits in what is left, in order; then the rest where ``top`` (rule 11)."""
    left = view.limits.storage
    for q in range(view.size):
        k = view.order[q]
        peak = view.jobs[view.out[k]].peak
        if peak <= left * view.limits.slack:
            rates[k] = peak
            left -= peak
    if view.top:
        top_up(view, rates, left)


def top_up(view: KernelView, rates: Box, left: Number) -> None:
    """Give *left* to the requests without a rate, in order, but no amount of the size of rounding."""
    for q in range(view.size):
        if left <= view.limits.storage * view.limits.eps:
            return
        k = view.order[q]
        if rates[k] == 0:
            rates[k] = min(view.jobs[view.out[k]].peak, left)
            left -= rates[k]


def slow_down(rates: Box, count: int, storage: Number, interference: Number) -> None:
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
