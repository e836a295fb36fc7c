"""Conservative policies: grants never exceed the storage bandwidth (Zhou et al., Section III.C.2).

All walk a list in priority order and take what fits in what is left (first fit, rule 11); they
differ in the order. Left-over bandwidth is wasted, as in the paper; a ``+top`` variant (ours) gives
it to the skipped requests in the same order, the last one partially.
"""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ioopt.decisions.batch_io import (
    IoPolicy,
    KernelFunction,
    KernelView,
    Limits,
    Number,
    Rates,
    Request,
    Twin,
    View,
    ascending,
    time_tolerance,
)
from ioopt.decisions.batch_io_kernels import as_they_came, by_key, first_fit
from ioopt.solvers.batch_io.settings import Settings

INFINITE = math.inf


def grant_first_fit(view: View, order: Iterable[int], top: bool) -> Rates:
    """Peaks for the requests, taken in *order*, that fit in what is left (rule 11)."""
    requests, left = view.requests, view.limits.storage
    slack = 1 + view.limits.eps if view.limits.eps else 1
    rates: Rates = [left * 0] * len(requests)
    skipped = []
    for k in order:
        peak = requests[k].peak
        if peak <= left * slack:
            rates[k] = peak
            left -= peak
        else:
            skipped.append(k)
    if top:
        grant_left_over(rates, requests, skipped, left, view.limits)
    return rates


def grant_left_over(
    rates: Rates, requests: Iterable[Request], skipped: list[int], left: Number, limits: Limits
) -> None:
    """Give *left* to the *skipped* positions in their order, but no amount of the size of rounding."""
    items = list(requests)
    least = limits.storage * limits.eps if limits.eps else 0
    for k in skipped:
        if left <= least:
            return
        rates[k] = min(items[k].peak, left)
        left -= rates[k]


def cons_fcfs(view: View, top: bool = False) -> Rates:
    """Cons-FCFS: by request time, then job id (rule 10)."""
    return grant_first_fit(view, range(len(view.requests)), top)


def cons_min_inst_sld(view: View, top: bool = False) -> Rates:
    """Cons-MinInstSld: least instant slowdown r_i (t - t_request) / W first (rule 13).

    A suspended newcomer has W = 0, an infinite slowdown and the lowest priority: the policy starves
    it by construction for as long as others keep the storage busy. That is the paper's policy.
    """
    return grant_first_fit(view, _by(view, _instant_slowdown), top)


def cons_min_aggr_sld(view: View, top: bool = False) -> Rates:
    """Cons-MinAggrSld: least aggregate slowdown of the job so far first (rule 14)."""
    return grant_first_fit(view, _by(view, _aggregate_slowdown), top)


def _by(view: View, slowdown: Number) -> list[int]:
    keys = [slowdown(view, request) for request in view.requests]
    # The requests stand in FCFS order: every tie ends in the FCFS key.
    return ascending(keys, view.limits.exact)


def _instant_slowdown(view: View, request: Request) -> Number:
    if request.moved == 0:
        return 1 if view.same_instant(request.requested) else INFINITE
    return request.peak * (view.now - request.requested) / request.moved


def _aggregate_slowdown(view: View, request: Request) -> Number:
    ideal = request.compute_so_far + request.ideal_so_far
    if ideal == 0:
        return 1 if view.same_instant(request.start) else INFINITE
    return (view.now - request.start) / ideal


def fcfs_kernel(view: KernelView, rates: Any) -> None:
    """:func:`cons_fcfs` compiled."""
    as_they_came(view)
    first_fit(view, rates)


def min_inst_sld_kernel(view: KernelView, rates: Any) -> None:
    """:func:`cons_min_inst_sld` compiled."""
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        waited = view.now - request.requested
        if request.moved > 0:
            view.keys[k] = request.peak * waited / request.moved
        else:
            view.keys[k] = 1.0 if waited <= time_tolerance(view.now) else math.inf
    by_key(view)
    first_fit(view, rates)


def min_aggr_sld_kernel(view: KernelView, rates: Any) -> None:
    """:func:`cons_min_aggr_sld` compiled."""
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        passed, ideal = view.now - request.start, request.compute_so_far + request.ideal_so_far
        if ideal > 0:
            view.keys[k] = passed / ideal
        else:
            view.keys[k] = 1.0 if passed <= time_tolerance(view.now) else math.inf
    by_key(view)
    first_fit(view, rates)


def made(
    name: str, decide: Callable[..., Rates], top: bool, kernel: KernelFunction,
    progress: bool = False, needs_start: bool = False,
) -> IoPolicy:  # fmt: skip
    """A conservative policy: *decide* takes ``top``, and asks for *progress* where it needs it."""
    return IoPolicy(
        name + "+top" * top, partial(decide, top=top), reads_progress=progress,
        conservative=True, needs_start=needs_start, twin=Twin(kernel, top),
    )  # fmt: skip


def fcfs(how: Settings) -> IoPolicy:
    """Cons-FCFS."""
    return made("cons-fcfs", cons_fcfs, how.top, fcfs_kernel)


def min_inst_sld(how: Settings) -> IoPolicy:
    """Cons-MinInstSld."""
    return made("cons-min-inst-sld", cons_min_inst_sld, how.top, min_inst_sld_kernel, progress=True)


def min_aggr_sld(how: Settings) -> IoPolicy:
    """Cons-MinAggrSld."""
    return made(
        "cons-min-aggr-sld", cons_min_aggr_sld, how.top, min_aggr_sld_kernel, needs_start=True
    )
