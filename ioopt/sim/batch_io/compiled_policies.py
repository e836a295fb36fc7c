"""Compiled twins of the policies in :mod:`ioopt.solvers.batch_io`.

Each fills the row ``W.rates`` for ``L.out``, the outstanding jobs in FCFS order; it comes to them
full of zeros. The pure forms are the reference; tests hold the two engines to the same schedules.
"""

from __future__ import annotations

import math

import numpy as np

from ioopt.decisions.batch_io import (
    ADAPTIVE,
    FCFS,
    FILL,
    FIT_TOLERANCE,
    MAX_UTIL,
    MIN_INST,
    SET_10,
)
from ioopt.sim.batch_io.compiled_state import (
    NOW,
    OUT,
    F,
    Fixed,
    J,
    L,
    Moving,
    W,
    kernel,
    sort_places,
    tolerance,
)

READS_PROGRESS = (MIN_INST, ADAPTIVE, FILL)
"""Policies that look at the bytes left or moved."""
SLACK = 1 + FIT_TOLERANCE
PAYS = 1 - 1e-9
MOST_SETS = 64


@kernel
def decide(t: Fixed, s: Moving) -> None:
    """Rates of the outstanding requests under the policy of the run."""
    if t.policy == ADAPTIVE:
        adaptive(t, s)
    elif t.policy == SET_10:
        set_10(t, s)
    elif t.policy == FILL:
        fill(t, s)
    else:
        order = s.l[L.order]
        for k in range(s.count[OUT]):
            order[k] = k
        if t.policy == MAX_UTIL:
            max_util(t, s)
            return
        if t.policy != FCFS:
            slowdowns(t, s)
            sort_places(s.w[W.keys], order, s.count[OUT])
        first_fit(t, s)


@kernel
def first_fit(t: Fixed, s: Moving) -> None:
    """What fits in what is left, in ``L.order``; then the rest when ``top`` (rule 11)."""
    left = t.storage
    for q in range(s.count[OUT]):
        k = s.l[L.order, q]
        peak = s.f[s.l[L.out, k], F.peak]
        if peak <= left * SLACK:
            s.w[W.rates, k] = peak
            left -= peak
    if t.top:
        top_up(t, s, left)


@kernel
def top_up(t: Fixed, s: Moving, left: float) -> None:
    """Give *left* to the requests without a rate, in ``L.order``."""
    for q in range(s.count[OUT]):
        if left <= t.storage * FIT_TOLERANCE:
            return
        k = s.l[L.order, q]
        if s.w[W.rates, k] == 0.0:
            s.w[W.rates, k] = min(s.f[s.l[L.out, k], F.peak], left)
            left -= s.w[W.rates, k]


@kernel
def slowdowns(t: Fixed, s: Moving) -> None:
    """Priority keys of rules 13 and 14, not rounded yet."""
    now = s.value[NOW]
    for k in range(s.count[OUT]):
        job = s.l[L.out, k]
        instant = t.policy == MIN_INST
        since = s.f[job, F.asked] if instant else s.f[job, F.start]
        under = (
            s.f[job, F.moved] if instant else s.f[job, F.compute_so_far] + s.f[job, F.ideal_so_far]
        )
        if under == 0.0:
            s.w[W.keys, k] = 1.0 if now - since <= tolerance(now) else math.inf
        elif instant:
            s.w[W.keys, k] = s.f[job, F.peak] * (now - since) / under
        else:
            s.w[W.keys, k] = (now - since) / under


@kernel
def max_util(t: Fixed, s: Moving) -> None:
    """The subset-sum of rule 12 against the best saturating request."""
    alone, most, total, value = -1, 0, 0, 0
    for k in range(s.count[OUT]):
        units = s.i[s.l[L.out, k], J.units]
        if units < t.saturating_units:
            total += units
        elif units > most:
            alone, most = k, units
    mark_subset(t, s, total)
    first = s.count[OUT]
    for k in range(s.count[OUT] - 1, -1, -1):
        if s.w[W.rates, k] > 0:
            value += s.i[s.l[L.out, k], J.units]
            first = k
    if alone >= 0 and (most > value or (most == value and alone < first)):
        for k in range(s.count[OUT]):
            s.w[W.rates, k] = 0.0
        s.w[W.rates, alone] = s.f[s.l[L.out, alone], F.peak]
    left = t.storage
    for k in range(s.count[OUT]):
        left -= s.w[W.rates, k]
    if t.top:
        top_up(t, s, left)


@kernel
def mark_subset(t: Fixed, s: Moving, total: int) -> None:
    """Grant the fullest subset of the requests that do not saturate, *total* units of them.

    Of equals the lexicographically first. Bit c of ``reach[k]``: some subset of the requests from
    place k on adds up to c.
    """
    count, capacity = s.count[OUT], t.capacity_units
    whole = total <= capacity
    if not whole:
        subset_sums(t, s)
    rest = capacity
    while not whole and not reaches(s, 0, rest):
        rest -= 1
    for k in range(count):
        job = s.l[L.out, k]
        units = s.i[job, J.units]
        if units < t.saturating_units and (
            whole or (units <= rest and reaches(s, k + 1, rest - units))
        ):
            s.w[W.rates, k] = s.f[job, F.peak]
            rest -= units


@kernel
def reaches(s: Moving, k: int, units: int) -> bool:
    """Whether some subset of the requests from place *k* on adds up to *units*."""
    return (s.reach[k, units >> 6] >> np.uint64(units & 63)) & np.uint64(1) != 0


@kernel
def subset_sums(t: Fixed, s: Moving) -> None:
    """Fill ``reach`` from the last request to the first."""
    count, words = s.count[OUT], (t.capacity_units >> 6) + 1
    for word in range(words):
        s.reach[count, word] = np.uint64(0)
    s.reach[count, 0] = np.uint64(1)
    for k in range(count - 1, -1, -1):
        units = s.i[s.l[L.out, k], J.units]
        jump, shift = units >> 6, units & 63
        for word in range(words):
            bits = s.reach[k + 1, word]
            if units < t.saturating_units and word >= jump:
                bits |= s.reach[k + 1, word - jump] << np.uint64(shift)
                if shift and word > jump:
                    bits |= s.reach[k + 1, word - jump - 1] >> np.uint64(64 - shift)
            s.reach[k, word] = bits


@kernel
def adaptive(t: Fixed, s: Moving) -> None:
    """Algorithm 1 as in :func:`ioopt.solvers.batch_io.adaptive.adaptive`; sharing by rule 7.

    Times are times BW; ``full`` nodes saturate the storage. ``depths`` and ``sizes`` are the bytes
    left a node and the nodes of those taken, in the order in which they would finish.
    """
    depths, sizes, finishes = s.w[W.depths], s.w[W.sizes], s.w[W.finishes]
    full, room, size, nodes, stale = t.storage / t.node_rate, t.storage, 0, 0.0, True
    waiting = 0.0
    for k in range(s.count[OUT]):
        job = s.l[L.out, k]
        own, peak = s.f[job, F.allocated], s.f[job, F.peak]
        depth = s.f[job, F.left] / own
        if peak <= room * SLACK:
            room -= peak
        else:
            if stale:
                waiting = finish_times(depths, sizes, finishes, size, nodes, full)
                stale = False
            start = room_at(sizes, finishes, size, nodes, (t.storage * SLACK - peak) / t.node_rate)
            alone = s.f[job, F.left] / peak * t.storage
            together = total_with(depths, sizes, size, nodes, full, depth, own)
            if not together < (waiting + start + alone) * PAYS:
                continue
            room = 0.0
        place = size
        while place > 0 and depths[place - 1] > depth:
            depths[place], sizes[place] = depths[place - 1], sizes[place - 1]
            place -= 1
        depths[place], sizes[place] = depth, own
        size += 1
        nodes += own
        stale = True
        s.w[W.rates, k] = 1.0
    fits = t.node_rate * nodes <= t.storage
    for k in range(s.count[OUT]):
        if s.w[W.rates, k] > 0:
            job = s.l[L.out, k]
            s.w[W.rates, k] = (
                s.f[job, F.peak] if fits else t.storage / nodes * s.f[job, F.allocated]
            )


@kernel
def finish_times(
    depths: np.ndarray, sizes: np.ndarray, finishes: np.ndarray, size: int, nodes: float,
    full: float,
) -> float:  # fmt: skip
    """Finishes of a set in finish order, and their sum."""
    before, now, total = 0.0, 0.0, 0.0
    for k in range(size):
        now += (depths[k] - before) * max(nodes, full)
        before = depths[k]
        finishes[k] = now
        total += now
        nodes -= sizes[k]
    return total


@kernel
def total_with(
    depths: np.ndarray, sizes: np.ndarray, size: int, nodes: float, full: float,
    depth: float, own: float,
) -> float:  # fmt: skip
    """Sum of the finishes when one request of *depth* on *own* nodes joins the set."""
    before, now, total, joined = 0.0, 0.0, 0.0, 0
    nodes += own
    for k in range(size + 1):
        if not joined and (k == size or depths[k] > depth):
            now += (depth - before) * max(nodes, full)
            before, joined = depth, 1
            total += now
            nodes -= own
        if k < size:
            now += (depths[k] - before) * max(nodes, full)
            before = depths[k]
            total += now
            nodes -= sizes[k]
    return total


@kernel
def room_at(sizes: np.ndarray, finishes: np.ndarray, size: int, nodes: float, room: float) -> float:
    """The finish after which at most *room* nodes remain; 0 when so few share already."""
    time = 0.0
    for k in range(size):
        if nodes <= room:
            break
        time = finishes[k]
        nodes -= sizes[k]
    return time


@kernel
def set_10(t: Fixed, s: Moving) -> None:
    """One request a set, the sets in proportion to 10^-set (rule 16); then the rest when ``top``."""
    positions, order = s.l[L.fresh], s.l[L.order]
    weights, ratios, behind = s.w[W.depths], s.w[W.keys], s.w[W.finishes]
    seen, size = np.uint64(0), 0
    for k in range(s.count[OUT]):
        job = s.l[L.out, k]
        # A set below 0 wraps around: 10^-32 to 10^31 seconds have a bit each.
        number = s.i[job, J.set_number]
        bit = np.uint64(1) << np.uint64(number % MOST_SETS)
        if seen & bit == 0:
            seen |= bit
            positions[size] = k
            weights[size] = s.f[job, F.weight]
            ratios[size] = s.f[job, F.peak] / weights[size]
            at = size
            while at > 0 and ratios[order[at - 1]] > ratios[size]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = size
            size += 1
    behind[size] = 0.0
    for q in range(size - 1, -1, -1):
        behind[q] = behind[q + 1] + weights[order[q]]
    left = t.storage
    for q in range(size):
        k = positions[order[q]]
        peak = s.f[s.l[L.out, k], F.peak]
        s.w[W.rates, k] = min(peak, left * weights[order[q]] / behind[q])
        left -= s.w[W.rates, k]
    if t.top:
        left = t.storage
        for k in range(s.count[OUT]):
            left -= s.w[W.rates, k]
            order[k] = k
        top_up(t, s, left)


@kernel
def fill(t: Fixed, s: Moving) -> None:
    """Least R / N^alpha first, filled up (rule 17)."""
    for k in range(s.count[OUT]):
        job = s.l[L.out, k]
        s.w[W.keys, k] = s.f[job, F.left] / s.f[job, F.scale]
    sort_places(s.w[W.keys], s.l[L.order], s.count[OUT])
    left = t.storage
    for q in range(s.count[OUT]):
        k = s.l[L.order, q]
        peak = s.f[s.l[L.out, k], F.peak]
        if peak <= left * SLACK:
            s.w[W.rates, k] = peak
            left -= peak
        else:
            s.w[W.rates, k] = left
            return
        if left <= t.storage * FIT_TOLERANCE:
            return
