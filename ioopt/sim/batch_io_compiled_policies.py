"""Compiled twins of the policies in :mod:`ioopt.solvers.batch_io`.

Each fills ``rates`` for ``J.out``, the outstanding jobs in FCFS order. The pure forms are the
reference; tests hold the two engines to the same schedules.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ioopt.sim.batch_io_compiled_state import NOW, OUT, F, Fixed, J, Moving, rounded, tolerance
from ioopt.sim.batch_io_view import FIT_TOLERANCE

NO_CONGESTION, BASE_LINE, FCFS, MAX_UTIL, MIN_INST, MIN_AGGR, ADAPTIVE, SET_10, FILL = range(9)
CODES = {
    "no-congestion": NO_CONGESTION,
    "base-line": BASE_LINE,
    "cons-fcfs": FCFS,
    "cons-max-util": MAX_UTIL,
    "cons-min-inst-sld": MIN_INST,
    "cons-min-aggr-sld": MIN_AGGR,
    "adaptive": ADAPTIVE,
    "set-10": SET_10,
    "fill": FILL,
}
READS_PROGRESS = (MIN_INST, ADAPTIVE, FILL)
"""Policies that look at the bytes left or moved."""
SLACK = 1 + FIT_TOLERANCE
PAYS = 1 - 1e-9
MOST_SETS = 64


@njit(cache=True)
def decide(t: Fixed, s: Moving) -> np.ndarray:
    """Rates of the outstanding requests under the policy of the run."""
    count = s.count[OUT]
    rates = np.zeros(count)
    if t.policy == BASE_LINE:
        share(t, s, np.ones(count, np.uint8), rates)
    elif t.policy == FCFS:
        first_fit(t, s, np.arange(count), rates)
    elif t.policy == MAX_UTIL:
        max_util(t, s, rates)
    elif t.policy == MIN_INST or t.policy == MIN_AGGR:
        first_fit(t, s, np.argsort(slowdowns(t, s), kind="mergesort"), rates)
    elif t.policy == ADAPTIVE:
        share(t, s, adaptive(t, s), rates)
    elif t.policy == SET_10:
        set_10(t, s, rates)
    elif t.policy == FILL:
        fill(t, s, rates)
    return rates


@njit(cache=True)
def share(t: Fixed, s: Moving, chosen: np.ndarray, rates: np.ndarray) -> None:
    """Per-node sharing (rule 7)."""
    nodes = 0.0
    for k in range(len(rates)):
        if chosen[k]:
            nodes += s.f[F.allocated, s.i[J.out, k]]
    fits = t.node_rate * nodes <= t.storage
    for k in range(len(rates)):
        if chosen[k]:
            job = s.i[J.out, k]
            rates[k] = s.f[F.peak, job] if fits else t.storage / nodes * s.f[F.allocated, job]


@njit(cache=True)
def first_fit(t: Fixed, s: Moving, order: np.ndarray, rates: np.ndarray) -> None:
    """What fits in what is left, in *order*; then the rest when ``top`` (rule 11)."""
    left = t.storage
    for k in order:
        peak = s.f[F.peak, s.i[J.out, k]]
        if peak <= left * SLACK:
            rates[k] = peak
            left -= peak
    if t.top:
        top_up(t, s, order, rates, left)


@njit(cache=True)
def top_up(t: Fixed, s: Moving, order: np.ndarray, rates: np.ndarray, left: float) -> None:
    """Give *left* to the requests without a rate, in *order*."""
    for k in order:
        if left <= t.storage * FIT_TOLERANCE:
            return
        if rates[k] == 0.0:
            rates[k] = min(s.f[F.peak, s.i[J.out, k]], left)
            left -= rates[k]


@njit(cache=True)
def slowdowns(t: Fixed, s: Moving) -> np.ndarray:
    """Priority keys of rules 13 and 14."""
    now = s.value[NOW]
    keys = np.empty(s.count[OUT])
    for k in range(len(keys)):
        job = s.i[J.out, k]
        instant = t.policy == MIN_INST
        since = s.f[F.asked, job] if instant else s.f[F.start, job]
        below = (
            s.f[F.moved, job] if instant else s.f[F.compute_so_far, job] + s.f[F.ideal_so_far, job]
        )
        if below == 0.0:
            keys[k] = 1.0 if now - since <= tolerance(now) else np.inf
        elif instant:
            keys[k] = rounded(s.f[F.peak, job] * (now - since) / below)
        else:
            keys[k] = rounded((now - since) / below)
    return keys


@njit(cache=True)
def max_util(t: Fixed, s: Moving, rates: np.ndarray) -> None:
    """The subset-sum of rule 12 against the best saturating request."""
    count = len(rates)
    alone, most = -1, 0
    others = np.empty(count, np.int64)
    n = 0
    for k in range(count):
        units = s.i[J.units, s.i[J.out, k]]
        if units < t.saturating_units:
            others[n] = k
            n += 1
        elif units > most:
            alone, most = k, units
    chosen = best_subset(t, s, others[:n])
    value = 0
    for k in chosen:
        value += s.i[J.units, s.i[J.out, k]]
    if alone >= 0 and (most > value or (most == value and alone < chosen[0])):
        chosen = np.full(1, alone, np.int64)
    left = t.storage
    for k in chosen:
        rates[k] = s.f[F.peak, s.i[J.out, k]]
        left -= rates[k]
    if t.top:
        top_up(t, s, np.arange(count), rates, left)


@njit(cache=True)
def best_subset(t: Fixed, s: Moving, items: np.ndarray) -> np.ndarray:
    """Positions of the fullest subset of *items* within the capacity, lexicographically first."""
    count, capacity = len(items), t.capacity_units
    total = 0
    for k in items:
        total += s.i[J.units, s.i[J.out, k]]
    if total <= capacity:
        return items
    # reach[k, c]: some subset of the items from k on adds up to c.
    reach = np.zeros((count + 1, capacity + 1), np.uint8)
    reach[count, 0] = 1
    for k in range(count - 1, -1, -1):
        weight = s.i[J.units, s.i[J.out, items[k]]]
        for c in range(capacity + 1):
            reach[k, c] = reach[k + 1, c] | (reach[k + 1, c - weight] if c >= weight else 0)
    rest = capacity
    while not reach[0, rest]:
        rest -= 1
    chosen = np.empty(count, np.int64)
    n = 0
    for k in range(count):
        weight = s.i[J.units, s.i[J.out, items[k]]]
        if weight <= rest and reach[k + 1, rest - weight]:
            chosen[n] = items[k]
            n += 1
            rest -= weight
    return chosen[:n]


@njit(cache=True)
def adaptive(t: Fixed, s: Moving) -> np.ndarray:
    """Algorithm 1 as in :func:`ioopt.solvers.batch_io.adaptive.adaptive`: 1 for each taken."""
    count, full, room, size = s.count[OUT], t.storage / t.node_rate, t.storage, 0
    chosen = np.zeros(count, np.uint8)
    depths, nodes, finishes, trial = (
        np.empty(count),
        np.empty(count),
        np.empty(count),
        np.empty(count),
    )
    for k in range(count):
        job = s.i[J.out, k]
        depth, peak = s.f[F.left, job] / s.f[F.allocated, job], s.f[F.peak, job]
        place = size
        while place > 0 and depths[place - 1] > depth:
            place -= 1
        if peak <= room * SLACK:
            room -= peak
        else:
            finish_times(depths[:size], nodes[:size], full, finishes)
            depths[place + 1 : size + 1] = depths[place:size].copy()
            nodes[place + 1 : size + 1] = nodes[place:size].copy()
            depths[place], nodes[place] = depth, s.f[F.allocated, job]
            finish_times(depths[: size + 1], nodes[: size + 1], full, trial)
            depths[place:size] = depths[place + 1 : size + 1].copy()
            nodes[place:size] = nodes[place + 1 : size + 1].copy()
            start = room_at(nodes[:size], finishes, (t.storage * SLACK - peak) / t.node_rate)
            waiting = finishes[:size].sum() + start + s.f[F.left, job] / peak * t.storage
            if not trial[: size + 1].sum() < waiting * PAYS:
                continue
            room = 0.0
        depths[place + 1 : size + 1] = depths[place:size].copy()
        nodes[place + 1 : size + 1] = nodes[place:size].copy()
        depths[place], nodes[place] = depth, s.f[F.allocated, job]
        size += 1
        chosen[k] = 1
    return chosen


@njit(cache=True)
def finish_times(depths: np.ndarray, nodes: np.ndarray, full: float, out: np.ndarray) -> None:
    """Finishes, times BW, of a set in finish order; *full* nodes saturate the storage."""
    remaining = nodes.sum()
    before, now = 0.0, 0.0
    for k in range(len(depths)):
        now += (depths[k] - before) * max(remaining, full)
        before = depths[k]
        out[k] = now
        remaining -= nodes[k]


@njit(cache=True)
def room_at(nodes: np.ndarray, finishes: np.ndarray, room: float) -> float:
    """The finish after which at most *room* nodes remain; 0 when so few share already."""
    remaining = nodes.sum()
    time = 0.0
    for k in range(len(nodes)):
        if remaining <= room:
            break
        time = finishes[k]
        remaining -= nodes[k]
    return time


@njit(cache=True)
def set_10(t: Fixed, s: Moving, rates: np.ndarray) -> None:
    """One request a set, the sets in proportion to 10^-set (rule 16)."""
    positions, size = np.empty(MOST_SETS, np.int64), 0
    seen = np.zeros(MOST_SETS, np.bool_)
    for k in range(len(rates)):
        # A set below 0 wraps around: 10^-32 to 10^31 seconds have a place each.
        number = s.i[J.set_number, s.i[J.out, k]]
        if not seen[number]:
            seen[number] = True
            positions[size] = k
            size += 1
    weights, ratios = np.empty(size), np.empty(size)
    for p in range(size):
        job = s.i[J.out, positions[p]]
        weights[p] = 10.0 ** (-s.i[J.set_number, job])
        ratios[p] = s.f[F.peak, job] / weights[p]
    order = np.argsort(ratios, kind="mergesort")
    behind = np.zeros(size + 1)
    for q in range(size - 1, -1, -1):
        behind[q] = behind[q + 1] + weights[order[q]]
    left = t.storage
    for q in range(size):
        k = positions[order[q]]
        rates[k] = min(s.f[F.peak, s.i[J.out, k]], left * weights[order[q]] / behind[q])
        left -= rates[k]


@njit(cache=True)
def fill(t: Fixed, s: Moving, rates: np.ndarray) -> None:
    """Least R / N^alpha first, filled up (rule 17)."""
    keys = np.empty(len(rates))
    for k in range(len(rates)):
        job = s.i[J.out, k]
        keys[k] = rounded(s.f[F.left, job] / s.f[F.allocated, job] ** t.alpha)
    left = t.storage
    for k in np.argsort(keys, kind="mergesort"):
        peak = s.f[F.peak, s.i[J.out, k]]
        if peak <= left * SLACK:
            rates[k] = peak
            left -= peak
        else:
            rates[k] = left
            return
        if left <= t.storage * FIT_TOLERANCE:
            return
