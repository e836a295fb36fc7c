"""ADAPTIVE (Zhou et al., Algorithm 1; rule 15): admit a request that does not fit if sharing pays.

Two forms that decide alike: :func:`adaptive_naive` plays every set to its end, event by event, for
every request that does not fit; :func:`adaptive`, plain or compiled, keeps those of the chosen set.
With S chosen so far and f_j(S) the remaining time of j when exactly S shares (rule 7),

    T_FCFS = (sum_j f_j(S) + T_i + R_i / r_i) / (|S| + 1),   T_Adaptive = mean of f over S + i,

T_i being the earliest f_j(S) after which what is left of S leaves room for r_i.
"""

from collections.abc import Callable, Sequence
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
from ioopt.decisions.batch_io_kernels import SLACK
from ioopt.solvers.batch_io.base_line import share_per_application, share_per_node
from ioopt.solvers.batch_io.settings import SharingSettings

ShareFunction = Callable[[Sequence[Request], Limits], Rates]

PAYS = 1 - 1e-9
"""Sharing must win by this factor in floats, so that a tie is not decided by rounding (rule 2)."""


def adaptive(view: View) -> Rates:
    """Algorithm 1, sharing per node; O(|S|) for each request tested."""
    requests, limits = view.requests, view.limits
    size = len(requests)
    zero = limits.storage * 0
    depths, sizes, finishes = ([zero] * size for _ in range(3))
    arrays = KernelView(
        requests, range(size), size, view.now, limits.storage, limits.node_rate,
        limits.capacity_units, limits.saturating_units, False, (), (), depths, sizes,
        finishes, (),
    )  # fmt: skip
    rates = [zero] * size
    if limits.exact:
        share_chosen(arrays, rates, 1, 1)
    else:
        share_chosen(arrays, rates, SLACK, PAYS)
    return rates


def adaptive_kernel(view: KernelView, rates: Any) -> None:
    """:func:`adaptive` compiled."""
    share_chosen(view, rates, SLACK, PAYS)


def share_chosen(view: KernelView, rates: Any, slack: Number, pays: Number) -> None:
    """Choose S in FCFS order and let it share.

    Sharing per node, all nodes transfer at one rate, so the members of S finish in ascending order
    of d = R / N, and while M nodes remain, d grows by g in g max(M, BW/b) / BW seconds. Kept of S, in
    that order: ``depths`` d, ``sizes`` N, ``finishes`` f, times BW; ``full`` nodes are BW/b. Hot in
    plain Python: the greater of two numbers is written out.
    """
    depths, sizes, storage = view.depths, view.sizes, view.storage
    full, room, size, nodes, stale = storage / view.node_rate, storage, 0, 0, True
    waiting = storage * 0
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        own, peak = request.nodes, request.peak
        depth = request.left / own
        if peak <= room * slack:
            room -= peak
        else:
            if stale:
                waiting = sum_of_finishes(view, size, nodes, full)
                stale = False
            start = room_at(view, size, nodes, (storage * slack - peak) / view.node_rate)
            alone = request.left / peak * storage
            # Both sides are means over |S| + 1, so the sums are compared.
            if not sum_with(view, size, nodes, full, own, depth) < (waiting + start + alone) * pays:
                continue
            room = storage * 0
        place = size
        while place > 0 and depths[place - 1] > depth:
            depths[place], sizes[place] = depths[place - 1], sizes[place - 1]
            place -= 1
        depths[place], sizes[place] = depth, own
        size += 1
        nodes += own
        stale = True
        rates[k] = peak
    if view.node_rate * nodes > storage:
        rho = storage / nodes
        for k in range(view.size):
            if rates[k] > 0:
                rates[k] = rho * view.jobs[view.out[k]].nodes


def sum_of_finishes(view: KernelView, size: int, nodes: int, full: Number) -> Number:
    """Finishes of a set of *nodes* in finish order, and their sum."""
    depths, sizes, finishes = view.depths, view.sizes, view.finishes
    before = now = total = full * 0
    for k in range(size):
        depth = depths[k]
        now += (depth - before) * (nodes if nodes > full else full)
        before = depth
        finishes[k] = now
        total += now
        nodes -= sizes[k]
    return total


def sum_with(
    view: KernelView, size: int, nodes: int, full: Number, own: int, joining: Number
) -> Number:
    """Sum of the finishes when one request of depth *joining* on *own* nodes joins the set."""
    depths, sizes = view.depths, view.sizes
    before = now = total = full * 0
    nodes += own
    place = 0
    while place < size and depths[place] <= joining:
        depth = depths[place]
        now += (depth - before) * (nodes if nodes > full else full)
        before = depth
        total += now
        nodes -= sizes[place]
        place += 1
    now += (joining - before) * (nodes if nodes > full else full)
    before = joining
    total += now
    nodes -= own
    for k in range(place, size):
        depth = depths[k]
        now += (depth - before) * (nodes if nodes > full else full)
        before = depth
        total += now
        nodes -= sizes[k]
    return total


def room_at(view: KernelView, size: int, nodes: int, room: Number) -> Number:
    """T_i: the finish after which at most *room* nodes remain; 0 when so few share already.

    Below saturation peaks are b N, and a saturating member leaves no room either way.
    """
    sizes, k = view.sizes, 0
    while k < size and nodes > room:
        nodes -= sizes[k]
        k += 1
    return view.finishes[k - 1] if k > 0 else room * 0


def adaptive_naive(view: View) -> Rates:
    """Algorithm 1 by playing every set to its end; the reference for :func:`adaptive`."""
    return _naive(view, share_per_node)


def adaptive_per_application(view: View) -> Rates:
    """Algorithm 1 with a granted set that shares evenly among applications (Section IV.D)."""
    return _naive(view, share_per_application)


def _naive(view: View, share: ShareFunction) -> Rates:
    """Algorithm 1 as printed: every set is played to its end by *share*."""
    limits = view.limits
    room, slack = limits.storage, 1 + limits.eps if limits.eps else 1
    pays: Number = 1 if limits.exact else PAYS
    chosen: list[int] = []
    for k, request in enumerate(view.requests):
        if request.peak <= room * slack:
            chosen.append(k)
            room -= request.peak
            continue
        members = [view.requests[j] for j in chosen]
        times = finish_times(members, limits, share)
        start = _room_at(members, times, request.peak, limits)
        waiting = sum(times) + start + request.left / request.peak
        if sum(finish_times([*members, request], limits, share)) < waiting * pays:
            chosen.append(k)
            room = limits.storage * 0
    rates: Rates = [limits.storage * 0] * len(view.requests)
    for k, rate in zip(chosen, share([view.requests[j] for j in chosen], limits)):
        rates[k] = rate
    return rates


def finish_times(members: Sequence[Request], limits: Limits, share: ShareFunction) -> list[Number]:
    """f_j(S): seconds until each member finishes if exactly these share and nothing arrives."""
    left = [member.left for member in members]
    times: list[Number] = [limits.storage * 0] * len(members)
    alive = [k for k in range(len(members)) if left[k] > 0]
    now = limits.storage * 0
    while alive:
        rates = dict(zip(alive, share([members[k] for k in alive], limits)))
        first = min(alive, key=lambda k: left[k] / rates[k])
        step = left[first] / rates[first]
        now += step
        for k in alive:
            left[k] -= rates[k] * step
            # In floats members that finish together must not leave a crumb for another round.
            if k == first or left[k] <= members[k].left * limits.eps:
                left[k], times[k] = 0, now
        alive = [k for k in alive if left[k] > 0]
    return times


def _room_at(
    members: Sequence[Request], times: Sequence[Number], peak: Number, limits: Limits
) -> Number:
    """T_i: the earliest finish after which the members left leave room for *peak*."""
    slack = 1 + limits.eps if limits.eps else 1
    for time in sorted(times):
        busy = sum(m.peak for m, finish in zip(members, times) if finish > time)
        if busy + peak <= limits.storage * slack:
            return time
    raise AssertionError("the last finish leaves the storage idle")


def policy(how: SharingSettings) -> IoPolicy:
    """ADAPTIVE with the chosen sharing (rule 7)."""
    if how.share == "per-node":
        return IoPolicy("adaptive", adaptive, twin=Twin(adaptive_kernel))
    return IoPolicy("adaptive", adaptive_per_application, no_twin="share=per-application")
