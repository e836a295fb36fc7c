"""Conservative policies: grants never exceed the storage bandwidth (Zhou et al., Section III.C.2).

All walk a list in priority order and take what fits in what is left (first fit, rule 11); they
differ in the order. Left-over bandwidth is wasted, as in the paper; a ``+top`` variant (ours) gives
it to the skipped requests in the same order, the last one partially.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

from ioopt.decisions.batch_io import (
    FCFS,
    MIN_AGGR,
    MIN_INST,
    IoPolicy,
    Limits,
    Number,
    Rates,
    Request,
    Twin,
    View,
    ascending,
)
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


def made(
    name: str, decide: Callable[..., Rates], top: bool, kernel: int, progress: bool = False
) -> IoPolicy:
    """A conservative policy: *decide* takes ``top``, and asks for *progress* where it needs it."""
    return IoPolicy(
        name + "+top" * top, partial(decide, top=top), reads_progress=progress,
        conservative=True, needs_start=kernel == MIN_AGGR, twin=Twin(kernel, top),
    )  # fmt: skip


def fcfs(how: Settings) -> IoPolicy:
    """Cons-FCFS."""
    return made("cons-fcfs", cons_fcfs, how.top, FCFS)


def min_inst_sld(how: Settings) -> IoPolicy:
    """Cons-MinInstSld."""
    return made("cons-min-inst-sld", cons_min_inst_sld, how.top, MIN_INST, progress=True)


def min_aggr_sld(how: Settings) -> IoPolicy:
    """Cons-MinAggrSld."""
    return made("cons-min-aggr-sld", cons_min_aggr_sld, how.top, MIN_AGGR)
