"""Compiled twin of :mod:`ioopt.sim.batch_io_storage`: requests, rates and the shared clock."""

from __future__ import annotations

import numpy as np
from numba import njit

from ioopt.sim.batch_io_compiled_policies import NO_CONGESTION, SET_10, decide
from ioopt.sim.batch_io_compiled_state import (
    CHANGED,
    CLOCK,
    CROWDED,
    FRESH,
    LOAD,
    NODES,
    NOW,
    OUT,
    RHO,
    SINCE,
    SPANS,
    TRANSFERRING,
    USEFUL,
    WEIGHT,
    F,
    Fixed,
    J,
    Moving,
    P,
    S,
    add_useful,
)


@njit(cache=True, inline="always")
def set_clock(t: Fixed, s: Moving) -> None:
    """Bring the clock of shared storage to now."""
    now, since, rho = s.value[NOW], s.value[SINCE], s.value[RHO]
    if rho > 0 and now > since:
        span = min(now, t.window_last) - max(since, t.window_first)
        if span > 0:
            s.value[USEFUL] += span * rho * s.value[WEIGHT]
        s.value[CLOCK] += rho * (now - since)
    s.value[SINCE] = now


@njit(cache=True, inline="always")
def issue(t: Fixed, s: Moving, job: int, place: int) -> None:
    """A request becomes outstanding, in FCFS order (rule 10)."""
    now, volume = s.value[NOW], s.p[P.volume, place]
    s.i[J.status, job] = TRANSFERRING
    s.f[F.next_time, s.i[J.slot, job]] = np.inf
    s.f[F.base, job] = s.f[F.left, job] = volume
    s.f[F.moved, job] = s.f[F.rate, job] = 0.0
    s.i[J.granted, job] = 0
    s.f[F.anchor, job] = s.f[F.asked, job] = s.p[P.request, place] = now
    s.count[LOAD] += s.i[J.units, job]
    s.count[CHANGED] = 1
    s.i[J.fresh, s.count[FRESH]] = job
    s.count[FRESH] += 1
    if t.shared:
        s.f[F.target, s.i[J.slot, job]] = s.value[CLOCK] + volume / s.f[F.allocated, job]
        s.value[NODES] += s.f[F.allocated, job]
        s.value[WEIGHT] += s.f[F.allocated, job] * s.f[F.allocated, job] / s.f[F.peak, job]
        s.count[OUT] += 1
        return
    k = s.count[OUT]
    while k > 0:
        other = s.i[J.out, k - 1]
        if s.f[F.asked, other] < now or s.i[J.rank, other] < s.i[J.rank, job]:
            break
        s.i[J.out, k] = other
        k -= 1
    s.i[J.out, k] = job
    s.count[OUT] += 1


@njit(cache=True, inline="always")
def leave(t: Fixed, s: Moving, job: int) -> None:
    """The request of *job* is no longer outstanding; an idle storage sets its sums back to 0."""
    if t.shared:
        s.count[CHANGED] = 1
        s.count[OUT] -= 1
        s.f[F.target, s.i[J.slot, job]] = np.inf
        s.value[NODES] -= s.f[F.allocated, job]
        s.value[WEIGHT] -= s.f[F.allocated, job] * s.f[F.allocated, job] / s.f[F.peak, job]
        if s.count[OUT] == 0:
            s.value[CLOCK] = s.value[WEIGHT] = 0.0
        return
    settle(t, s, job)
    s.count[LOAD] -= s.i[J.units, job]
    s.count[CHANGED] = 1
    count = s.count[OUT]
    k = 0
    while s.i[J.out, k] != job:
        k += 1
    for p in range(k, count - 1):
        s.i[J.out, p] = s.i[J.out, p + 1]
    s.count[OUT] = count - 1


@njit(cache=True, inline="always")
def apply_decision(t: Fixed, s: Moving) -> None:
    """One decision (rule 9); while all fit, policies that then grant every peak are not asked."""
    if t.shared:
        set_rho(t, s)
        return
    count = s.count[OUT]
    fits = s.count[LOAD] <= t.capacity_units or count <= 1
    if t.policy == NO_CONGESTION or (fits and t.policy != SET_10):
        jobs = s.i[J.out, :count] if s.count[CROWDED] else s.i[J.fresh, : s.count[FRESH]]
        for job in jobs:
            if s.i[J.status, job] == TRANSFERRING and s.f[F.rate, job] != s.f[F.peak, job]:
                set_rate(t, s, job, s.f[F.peak, job])
        s.count[CROWDED] = 0
        return
    s.count[CROWDED] = 1
    for k in range(count if t.progress else 0):
        job = s.i[J.out, k]
        if s.f[F.rate, job] > 0:
            left = s.f[F.base, job] - s.f[F.rate, job] * (s.value[NOW] - s.f[F.anchor, job])
            s.f[F.left, job] = max(left, 0.0)
            s.f[F.moved, job] = s.p[P.volume, s.i[J.phase, job]] - s.f[F.left, job]
    rates = decide(t, s)
    for k in range(count):
        if rates[k] != s.f[F.rate, s.i[J.out, k]]:
            set_rate(t, s, s.i[J.out, k], rates[k])


@njit(cache=True, inline="always")
def set_rho(t: Fixed, s: Moving) -> None:
    """rho = min(b, BW_max / N_S) (rule 7); new requests have their first grant."""
    for job in s.i[J.fresh, : s.count[FRESH]]:
        if (
            s.i[J.status, job] == TRANSFERRING
            and not s.p[P.grant, s.i[J.phase, job]] <= s.value[NOW]
        ):
            s.p[P.grant, s.i[J.phase, job]] = s.value[NOW]
    rho, nodes = 0.0, s.value[NODES]
    if s.count[OUT]:
        rho = t.node_rate if t.node_rate * nodes <= t.storage else t.storage / nodes
    if rho != s.value[RHO]:
        s.value[RHO] = rho
        if t.record:
            k = s.count[SPANS]
            s.spans[S.place, k], s.spans[S.since, k], s.spans[S.rate, k] = -1, s.value[NOW], rho
            s.count[SPANS] = k + 1


@njit(cache=True, inline="always")
def set_rate(t: Fixed, s: Moving, job: int, rate: float) -> None:
    """From now on *job* transfers at *rate*."""
    settle(t, s, job)
    s.f[F.rate, job] = rate
    s.f[F.next_time, s.i[J.slot, job]] = (
        s.value[NOW] + s.f[F.base, job] / rate if rate > 0 else np.inf
    )
    if rate > 0 and not s.i[J.granted, job]:
        s.i[J.granted, job] = 1
        s.p[P.grant, s.i[J.phase, job]] = s.value[NOW]


@njit(cache=True, inline="always")
def settle(t: Fixed, s: Moving, job: int) -> None:
    """Book what *job* moved since its rate last changed."""
    rate, since, now = s.f[F.rate, job], s.f[F.anchor, job], s.value[NOW]
    if rate > 0 and now > since:
        s.f[F.base, job] = max(s.f[F.base, job] - rate * (now - since), 0.0)
        s.f[F.left, job] = s.f[F.base, job]
        s.f[F.moved, job] = s.p[P.volume, s.i[J.phase, job]] - s.f[F.base, job]
        if t.record:
            k = s.count[SPANS]
            s.spans[S.place, k], s.spans[S.rate, k] = s.i[J.phase, job], rate
            s.spans[S.since, k], s.spans[S.until, k] = since, now
            s.count[SPANS] = k + 1
        add_useful(t, s, job, since, now, rate / s.f[F.peak, job])
    s.f[F.anchor, job] = now
