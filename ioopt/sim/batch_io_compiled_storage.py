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
    Fixed,
    Moving,
    add_useful,
)


@njit(cache=True)
def set_clock(t: Fixed, s: Moving) -> None:
    """Bring the clock of shared storage to now."""
    now, since, rho = s.value[NOW], s.value[SINCE], s.value[RHO]
    if rho > 0 and now > since:
        span = min(now, t.window_last) - max(since, t.window_first)
        if span > 0:
            s.value[USEFUL] += span * rho * s.value[WEIGHT]
        s.value[CLOCK] += rho * (now - since)
    s.value[SINCE] = now


@njit(cache=True)
def issue(t: Fixed, s: Moving, job: int, place: int) -> None:
    """A request becomes outstanding, in FCFS order (rule 10)."""
    now, volume = s.value[NOW], t.volume[place]
    s.status[job] = TRANSFERRING
    s.next_time[s.slot[job]] = np.inf
    s.base[job] = s.left[job] = volume
    s.moved[job] = s.rate[job] = 0.0
    s.granted[job] = 0
    s.anchor[job] = s.asked[job] = s.request[place] = now
    s.count[LOAD] += t.units[job]
    s.count[CHANGED] = 1
    s.fresh[s.count[FRESH]] = job
    s.count[FRESH] += 1
    if t.shared:
        s.target[s.slot[job]] = s.value[CLOCK] + volume / t.allocated[job]
        s.value[NODES] += t.allocated[job]
        s.value[WEIGHT] += t.allocated[job] * t.allocated[job] / t.peak[job]
        s.count[OUT] += 1
        return
    k = s.count[OUT]
    while k > 0:
        other = s.out[k - 1]
        if s.asked[other] < now or t.rank[other] < t.rank[job]:
            break
        s.out[k] = other
        k -= 1
    s.out[k] = job
    s.count[OUT] += 1


@njit(cache=True)
def leave(t: Fixed, s: Moving, job: int) -> None:
    """The request of *job* is no longer outstanding; an idle storage sets its sums back to 0."""
    if t.shared:
        s.count[CHANGED] = 1
        s.count[OUT] -= 1
        s.target[s.slot[job]] = np.inf
        s.value[NODES] -= t.allocated[job]
        s.value[WEIGHT] -= t.allocated[job] * t.allocated[job] / t.peak[job]
        if s.count[OUT] == 0:
            s.value[CLOCK] = s.value[WEIGHT] = 0.0
        return
    settle(t, s, job)
    s.count[LOAD] -= t.units[job]
    s.count[CHANGED] = 1
    count = s.count[OUT]
    k = 0
    while s.out[k] != job:
        k += 1
    for p in range(k, count - 1):
        s.out[p] = s.out[p + 1]
    s.count[OUT] = count - 1


@njit(cache=True)
def apply_decision(t: Fixed, s: Moving) -> None:
    """One decision (rule 9); while all fit, policies that then grant every peak are not asked."""
    if t.shared:
        set_rho(t, s)
        return
    count = s.count[OUT]
    fits = s.count[LOAD] <= t.capacity_units or count <= 1
    if t.policy == NO_CONGESTION or (fits and t.policy != SET_10):
        jobs = s.out[:count] if s.count[CROWDED] else s.fresh[: s.count[FRESH]]
        for job in jobs:
            if s.status[job] == TRANSFERRING and s.rate[job] != t.peak[job]:
                set_rate(t, s, job, t.peak[job])
        s.count[CROWDED] = 0
        return
    s.count[CROWDED] = 1
    for k in range(count if t.progress else 0):
        job = s.out[k]
        if s.rate[job] > 0:
            left = s.base[job] - s.rate[job] * (s.value[NOW] - s.anchor[job])
            s.left[job] = max(left, 0.0)
            s.moved[job] = t.volume[s.phase[job]] - s.left[job]
    rates = decide(t, s)
    for k in range(count):
        if rates[k] != s.rate[s.out[k]]:
            set_rate(t, s, s.out[k], rates[k])


@njit(cache=True)
def set_rho(t: Fixed, s: Moving) -> None:
    """rho = min(b, BW_max / N_S) (rule 7); new requests have their first grant."""
    for job in s.fresh[: s.count[FRESH]]:
        if s.status[job] == TRANSFERRING and not s.grant[s.phase[job]] <= s.value[NOW]:
            s.grant[s.phase[job]] = s.value[NOW]
    rho, nodes = 0.0, s.value[NODES]
    if s.count[OUT]:
        rho = t.node_rate if t.node_rate * nodes <= t.storage else t.storage / nodes
    if rho != s.value[RHO]:
        s.value[RHO] = rho
        if t.record:
            k = s.count[SPANS]
            s.span_place[k], s.span_since[k], s.span_rate[k] = -1, s.value[NOW], rho
            s.count[SPANS] = k + 1


@njit(cache=True)
def set_rate(t: Fixed, s: Moving, job: int, rate: float) -> None:
    """From now on *job* transfers at *rate*."""
    settle(t, s, job)
    s.rate[job] = rate
    s.next_time[s.slot[job]] = s.value[NOW] + s.base[job] / rate if rate > 0 else np.inf
    if rate > 0 and not s.granted[job]:
        s.granted[job] = 1
        s.grant[s.phase[job]] = s.value[NOW]


@njit(cache=True)
def settle(t: Fixed, s: Moving, job: int) -> None:
    """Book what *job* moved since its rate last changed."""
    rate, since, now = s.rate[job], s.anchor[job], s.value[NOW]
    if rate > 0 and now > since:
        s.base[job] = max(s.base[job] - rate * (now - since), 0.0)
        s.left[job] = s.base[job]
        s.moved[job] = t.volume[s.phase[job]] - s.base[job]
        if t.record:
            k = s.count[SPANS]
            s.span_place[k], s.span_rate[k] = s.phase[job], rate
            s.span_since[k], s.span_until[k] = since, now
            s.count[SPANS] = k + 1
        add_useful(t, s, job, since, now, rate / t.peak[job])
    s.anchor[job] = now
