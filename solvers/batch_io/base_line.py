"""Sharing (rules 7 and 25) and the reference policies: NO_CONGESTION (rule 6), BASE_LINE (rule 16).

Zhou et al., Sections III.A.4 and IV.D. The paper shares "evenly among applications" in one place
and per node in the other; per node is the rule, the two readings of the other are options (rule 27).
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from ioopt.decisions.batch_io import (
    IoPolicy,
    KernelView,
    Limits,
    Number,
    Rates,
    Request,
    Twin,
    View,
)
from ioopt.decisions.batch_io_kernels import never_asked, place_by_level, share_out
from ioopt.solvers.batch_io.settings import Settings, SharingSettings


def no_congestion(view: View) -> Rates:
    """Everybody at the peak r_i, whatever the total: the reference without contention (rule 6)."""
    return [request.peak for request in view.requests]


def base_line(view: View) -> Rates:
    """Everybody shares by nodes: rate_i = rho N_i, rho = min(b, BW_max / N_S) (rules 7 and 16)."""
    return share_per_node(view.requests, view.limits)


def base_line_kernel(view: KernelView, rates: Any) -> None:
    """:func:`base_line` compiled."""
    nodes = 0
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        nodes += request.nodes
        rates[k] = request.peak
        if view.own_peaks:
            place_by_level(view, k, k, request.nodes)
    if view.own_peaks:
        share_out(view, rates, view.size)
    elif view.node_rate * nodes > view.storage:
        rho = view.storage / nodes
        for k in range(view.size):
            rates[k] = rho * view.jobs[view.out[k]].nodes


def base_line_per_application(view: View) -> Rates:
    """Everybody shares evenly, one application like the other, none above its peak (Section IV.D)."""
    return share_per_application(view.requests, view.limits)


def per_application_kernel(view: KernelView, rates: Any) -> None:
    """:func:`base_line_per_application` compiled."""
    for k in range(view.size):
        place_by_level(view, k, k, 1)
    share_out(view, rates, view.size)


def base_line_even_split(view: View) -> Rates:
    """An equal part each, of which what a peak leaves is lost: the letter of Section IV.D (rule 27)."""
    part = view.limits.storage / max(1, len(view.requests))
    return [min(request.peak, part) for request in view.requests]


def even_split_kernel(view: KernelView, rates: Any) -> None:
    """:func:`base_line_even_split` compiled."""
    part = view.storage / max(1, view.size)
    for k in range(view.size):
        rates[k] = min(view.jobs[view.out[k]].peak, part)


def share_per_node(members: Sequence[Request], limits: Limits) -> Rates:
    """Rates of a granted set that shares per node (rules 7 and 25)."""
    if limits.own_peaks:
        weights = [request.nodes for request in members]
        return water_fill([request.peak for request in members], weights, limits.storage)
    nodes = sum([request.nodes for request in members])
    if limits.node_rate * nodes <= limits.storage:
        return [request.peak for request in members]
    rho = limits.storage / nodes
    return [rho * request.nodes for request in members]


def share_per_application(members: Sequence[Request], limits: Limits) -> Rates:
    """Max-min fair rates by water-filling: an equal part each, what a peak leaves is shared again."""
    return water_fill([request.peak for request in members], [1] * len(members), limits.storage)


def water_fill(caps: Sequence[Number], weights: Sequence[Number], total: Number) -> Rates:
    """Share *total* in proportion to *weights*, nobody above its cap, what caps leave shared again.

    Members are settled in ascending order of cap / weight (ties: position): once one is below its
    cap, so are all after it.
    """
    levels = [cap / weight for cap, weight in zip(caps, weights)]
    order = sorted(range(len(caps)), key=levels.__getitem__)
    # Sums from the back: subtracting from the total would leave the last one rounding noise.
    remaining = list(accumulate(weights[k] for k in reversed(order)))[::-1]
    rates: Rates = [total * 0] * len(caps)
    for k, weight in zip(order, remaining):
        part = total * weights[k] / weight
        rates[k] = min(caps[k], part)
        total -= rates[k]
    return rates


NO_CONGESTION = IoPolicy("no-congestion", no_congestion, ignores_limit=True, twin=Twin(never_asked))
BASE_LINE = IoPolicy(
    "base-line", base_line, shares_by_nodes=True, reads_progress=False,
    twin=Twin(base_line_kernel),
)  # fmt: skip
SHARED = {
    "per-node": BASE_LINE,
    "per-application": IoPolicy(
        "base-line", base_line_per_application, reads_progress=False,
        twin=Twin(per_application_kernel),
    ),
    "even-split": IoPolicy(
        "base-line", base_line_even_split, full_when_fits=False, reads_progress=False,
        twin=Twin(even_split_kernel),
    ),
}  # fmt: skip
"""BASE_LINE by its ``share``."""


def reference(how: Settings) -> IoPolicy:
    """NO_CONGESTION, which has no settings of its own."""
    return NO_CONGESTION


def policy(how: SharingSettings) -> IoPolicy:
    """BASE_LINE with the chosen sharing (rules 7 and 27)."""
    return SHARED[how.share]
