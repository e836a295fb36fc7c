"""ADAPTIVE (Zhou et al., Algorithm 1; rule 15): admit a request that does not fit if sharing pays.

Two forms that decide alike: :func:`adaptive_naive` plays every set to its end, event by event, for
every request that does not fit; :func:`adaptive` keeps the finishes of the chosen set.
With S chosen so far and f_j(S) the remaining time of j when exactly S shares (rule 7),

    T_FCFS = (sum_j f_j(S) + T_i + R_i / r_i) / (|S| + 1),   T_Adaptive = mean of f over S + i,

T_i being the earliest f_j(S) after which what is left of S leaves room for r_i.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import neg
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
    chosen = _choose(view)
    requests, limits = view.requests, view.limits
    if len(chosen) == len(requests):
        return share_per_node(requests, limits)
    rates: Rates = [limits.storage * 0] * len(requests)
    for k, rate in zip(chosen, share_per_node([requests[k] for k in chosen], limits)):
        rates[k] = rate
    return rates


def _choose(view: View) -> list[int]:
    """Positions taken, in FCFS order.

    Sharing per node, all nodes transfer at one rate, so the members of S finish in ascending order
    of d = R / N, and while M nodes remain, d grows by g in g max(M, BW/b) / BW seconds. Kept of S,
    in that order: ``depths`` d, ``nodes_from`` M (a 0 at the end), ``finishes`` f, times BW.
    Hot: the test of one request is written out instead of called.
    """
    limits = view.limits
    storage, rate, pays = limits.storage, limits.node_rate, 1 if limits.exact else PAYS
    full, slack = storage / rate, 1 + limits.eps if limits.eps else 1
    room = storage
    chosen: list[int] = []
    stale = True
    for k, request in enumerate(view.requests):
        nodes, peak, left = request.nodes, request.peak, request.left
        if peak <= room * slack:
            chosen.append(k)
            room -= peak
            stale = True
            continue
        if stale:
            depths, nodes_from, finishes = _in_finish_order(
                [view.requests[j] for j in chosen], full
            )
            stale = False
        # f over S + i: those before i, i itself, and those behind it, who all shift by as much.
        depth = left / nodes
        place = bisect_right(depths, depth)
        before, now = depth * 0, depth * 0
        sooner = []
        for other, remaining in zip(depths[:place], nodes_from):
            remaining += nodes
            now += (other - before) * (remaining if remaining > full else full)
            before = other
            sooner.append(now)
        rest, step = nodes_from[place], depth - before
        alone = (finishes[place - 1] if place else 0) + step * (rest if rest > full else full)
        rest += nodes
        now += step * (rest if rest > full else full)
        later = [finish + now - alone for finish in finishes[place:]]
        # T_i: below saturation peaks are b N, and a saturating member leaves no room either way.
        done = bisect_left(nodes_from, -(storage * slack - peak) / rate, key=neg)
        waiting = sum(finishes) + (finishes[done - 1] if done else 0) + left / peak * storage
        # Both sides are means over |S| + 1, so the sums are compared.
        if sum(sooner) + now + sum(later) < waiting * pays:
            chosen.append(k)
            room = storage * 0
            finishes = [*sooner, now, *later]
            nodes_from[: place + 1] = [
                *[n + nodes for n in nodes_from[:place]],
                rest,
                nodes_from[place],
            ]
            depths.insert(place, depth)
    return chosen


def _in_finish_order(
    members: list[Request], full: Number
) -> tuple[list[Number], list[Number], list[Number]]:
    """``depths``, ``nodes_from`` and ``finishes`` of :func:`_choose` for a set S."""
    ordered = sorted((member.left / member.nodes, member.nodes) for member in members)
    nodes_from = [*accumulate((nodes for _, nodes in reversed(ordered)), initial=0)][::-1]
    finishes = []
    before, now = full * 0, full * 0
    for (depth, _), remaining in zip(ordered, nodes_from):
        now += (depth - before) * (remaining if remaining > full else full)
        before = depth
        finishes.append(now)
    return [depth for depth, _ in ordered], nodes_from, finishes


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


def adaptive_kernel(view: KernelView, rates: Any) -> None:
    """:func:`adaptive` compiled.

    Times are times BW; ``full`` nodes saturate the storage. ``depths`` and ``sizes`` are the bytes
    left a node and the nodes of those taken, in the order in which they would finish.
    """
    depths, sizes, finishes = view.depths, view.sizes, view.finishes
    full, room, size, nodes, stale = view.storage / view.node_rate, view.storage, 0, 0.0, True
    waiting = 0.0
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        own, peak = float(request.nodes), request.peak
        depth = request.left / own
        if peak <= room * SLACK:
            room -= peak
        else:
            if stale:
                waiting = sum_of_finishes(depths, sizes, finishes, size, nodes, full)
                stale = False
            most = (view.storage * SLACK - peak) / view.node_rate
            start = room_at(sizes, finishes, size, nodes, most)
            alone = request.left / peak * view.storage
            together = sum_with(depths, sizes, size, nodes, full, depth, own)
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
        rates[k] = 1.0
    fits = view.node_rate * nodes <= view.storage
    for k in range(view.size):
        if rates[k] > 0:
            request = view.jobs[view.out[k]]
            rates[k] = request.peak if fits else view.storage / nodes * request.nodes


def sum_of_finishes(
    depths: Any, sizes: Any, finishes: Any, size: int, nodes: float, full: float
) -> float:
    """Finishes of a set in finish order, and their sum."""
    before, now, total = 0.0, 0.0, 0.0
    for k in range(size):
        now += (depths[k] - before) * max(nodes, full)
        before = depths[k]
        finishes[k] = now
        total += now
        nodes -= sizes[k]
    return total


def sum_with(
    depths: Any, sizes: Any, size: int, nodes: float, full: float, depth: float, own: float
) -> float:
    """Sum of the finishes when one request of *depth* on *own* nodes joins the set."""
    before, now, total, joined = 0.0, 0.0, 0.0, False
    nodes += own
    for k in range(size + 1):
        if not joined and (k == size or depths[k] > depth):
            now += (depth - before) * max(nodes, full)
            before, joined = depth, True
            total += now
            nodes -= own
        if k < size:
            now += (depths[k] - before) * max(nodes, full)
            before = depths[k]
            total += now
            nodes -= sizes[k]
    return total


def room_at(sizes: Any, finishes: Any, size: int, nodes: float, room: float) -> float:
    """The finish after which at most *room* nodes remain; 0 when so few share already."""
    time = 0.0
    for k in range(size):
        if nodes <= room:
            break
        time = finishes[k]
        nodes -= sizes[k]
    return time


def policy(how: SharingSettings) -> IoPolicy:
    """ADAPTIVE with the chosen sharing (rule 7)."""
    if how.share == "per-node":
        return IoPolicy("adaptive", adaptive, twin=Twin(adaptive_kernel))
    return IoPolicy("adaptive", adaptive_per_application, no_twin="share=per-application")
