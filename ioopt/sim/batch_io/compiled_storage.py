"""Compiled twin of :mod:`ioopt.sim.batch_io.storage`: requests, rates and the shared clock."""

from __future__ import annotations

import math

from ioopt.decisions.batch_io import NO_CONGESTION, SET_10
from ioopt.sim.batch_io.compiled_policies import decide
from ioopt.sim.batch_io.compiled_state import (
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
    L,
    Moving,
    P,
    S,
    W,
    add_useful,
    kernel,
)


@kernel
def set_clock(t: Fixed, s: Moving) -> None:
    """Bring the clock of shared storage to now."""
    now, since, rho = s.value[NOW], s.value[SINCE], s.value[RHO]
    if rho > 0 and now > since:
        span = min(now, t.window_last) - max(since, t.window_first)
        if span > 0:
            s.value[USEFUL] += span * rho * s.value[WEIGHT]
        s.value[CLOCK] += rho * (now - since)
    s.value[SINCE] = now


@kernel
def issue(t: Fixed, s: Moving, job: int, place: int) -> None:
    """A request becomes outstanding, in FCFS order (rule 10)."""
    now, volume = s.value[NOW], s.p[place, P.volume]
    s.i[job, J.status] = TRANSFERRING
    s.w[W.next_time, s.i[job, J.slot]] = math.inf
    s.f[job, F.base] = s.f[job, F.left] = volume
    s.f[job, F.moved] = s.f[job, F.rate] = 0.0
    s.i[job, J.granted] = 0
    s.f[job, F.anchor] = s.f[job, F.asked] = s.p[place, P.request] = now
    s.count[LOAD] += s.i[job, J.units]
    s.count[CHANGED] = 1
    s.l[L.fresh, s.count[FRESH]] = job
    s.count[FRESH] += 1
    if t.shared:
        s.w[W.target, s.i[job, J.slot]] = s.value[CLOCK] + volume / s.f[job, F.allocated]
        s.value[NODES] += s.f[job, F.allocated]
        s.value[WEIGHT] += s.f[job, F.allocated] * s.f[job, F.allocated] / s.f[job, F.peak]
        s.count[OUT] += 1
        return
    k = s.count[OUT]
    while k > 0:
        other = s.l[L.out, k - 1]
        if s.f[other, F.asked] < now or s.i[other, J.rank] < s.i[job, J.rank]:
            break
        s.l[L.out, k] = other
        k -= 1
    s.l[L.out, k] = job
    s.count[OUT] += 1


@kernel
def leave(t: Fixed, s: Moving, job: int) -> None:
    """The request of *job* is no longer outstanding; an idle storage sets its sums back to 0."""
    if t.shared:
        s.count[CHANGED] = 1
        s.count[OUT] -= 1
        s.w[W.target, s.i[job, J.slot]] = math.inf
        s.value[NODES] -= s.f[job, F.allocated]
        s.value[WEIGHT] -= s.f[job, F.allocated] * s.f[job, F.allocated] / s.f[job, F.peak]
        if s.count[OUT] == 0:
            s.value[CLOCK] = s.value[WEIGHT] = 0.0
        return
    settle(t, s, job)
    s.count[LOAD] -= s.i[job, J.units]
    s.count[CHANGED] = 1
    s.count[OUT] -= 1
    k = 0
    while s.l[L.out, k] != job:
        k += 1
    for p in range(k, s.count[OUT]):
        s.l[L.out, p] = s.l[L.out, p + 1]


@kernel
def apply_decision(t: Fixed, s: Moving) -> None:
    """One decision (rule 9); while all fit, policies that then grant every peak are not asked."""
    if t.shared:
        set_rho(t, s)
        return
    count = s.count[OUT]
    fits = s.count[LOAD] <= t.capacity_units or count <= 1
    if t.policy == NO_CONGESTION or (fits and (t.policy != SET_10 or t.top)):
        row, length = (L.out, count) if s.count[CROWDED] else (L.fresh, s.count[FRESH])
        for k in range(length):
            job = s.l[row, k]
            if s.i[job, J.status] == TRANSFERRING and s.f[job, F.rate] != s.f[job, F.peak]:
                set_rate(t, s, job, s.f[job, F.peak])
        s.count[CROWDED] = 0
        return
    s.count[CROWDED] = 1
    now = s.value[NOW]
    for k in range(count):
        job = s.l[L.out, k]
        if t.progress and s.f[job, F.rate] > 0:
            left = s.f[job, F.base] - s.f[job, F.rate] * (now - s.f[job, F.anchor])
            s.f[job, F.left] = max(left, 0.0)
            s.f[job, F.moved] = s.p[s.i[job, J.phase], P.volume] - s.f[job, F.left]
        s.w[W.rates, k] = 0.0
    decide(t, s)
    for k in range(count):
        job, rate = s.l[L.out, k], s.w[W.rates, k]
        if rate != s.f[job, F.rate]:
            set_rate(t, s, job, rate)


@kernel
def set_rho(t: Fixed, s: Moving) -> None:
    """rho = min(b, BW_max / N_S) (rule 7); new requests have their first grant."""
    now = s.value[NOW]
    for k in range(s.count[FRESH]):
        job = s.l[L.fresh, k]
        place = s.i[job, J.phase]
        if s.i[job, J.status] == TRANSFERRING and not s.p[place, P.grant] <= now:
            s.p[place, P.grant] = now
    rho, nodes = 0.0, s.value[NODES]
    if s.count[OUT]:
        rho = t.node_rate if t.node_rate * nodes <= t.storage else t.storage / nodes
    if rho != s.value[RHO]:
        s.value[RHO] = rho
        if t.record:
            k = s.count[SPANS]
            s.spans[S.place, k], s.spans[S.since, k], s.spans[S.rate, k] = -1, now, rho
            s.count[SPANS] = k + 1


@kernel
def set_rate(t: Fixed, s: Moving, job: int, rate: float) -> None:
    """From now on *job* transfers at *rate*."""
    settle(t, s, job)
    s.f[job, F.rate] = rate
    now = s.value[NOW]
    s.w[W.next_time, s.i[job, J.slot]] = now + s.f[job, F.base] / rate if rate > 0 else math.inf
    if rate > 0 and not s.i[job, J.granted]:
        s.i[job, J.granted] = 1
        s.p[s.i[job, J.phase], P.grant] = now


@kernel
def settle(t: Fixed, s: Moving, job: int) -> None:
    """Book what *job* moved since its rate last changed."""
    rate, since, now = s.f[job, F.rate], s.f[job, F.anchor], s.value[NOW]
    if rate > 0 and now > since:
        s.f[job, F.base] = max(s.f[job, F.base] - rate * (now - since), 0.0)
        s.f[job, F.left] = s.f[job, F.base]
        s.f[job, F.moved] = s.p[s.i[job, J.phase], P.volume] - s.f[job, F.base]
        if t.record:
            k = s.count[SPANS]
            s.spans[S.place, k], s.spans[S.rate, k] = s.i[job, J.phase], rate
            s.spans[S.since, k], s.spans[S.until, k] = since, now
            s.count[SPANS] = k + 1
        add_useful(t, s, job, since, now, rate / s.f[job, F.peak])
    s.f[job, F.anchor] = now
