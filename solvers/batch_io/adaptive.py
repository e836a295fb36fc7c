"""ADAPTIVE (Zhou et al., Algorithm 1; rule 15): admit a request that does not
fit if sharing pays.

Two forms that decide alike: :func:`share_played` plays every set to its end, event by
event, for every request that does not fit, :func:`share_chosen` keeps those of the
chosen set. With S chosen so far and f_j(S) the remaining time of j when exactly S
shares (rules 7 and 25),

    T_FCFS = (sum_j f_j(S) + T_i + R_i / r_i) / (|S| + 1), T_Adaptive =
    mean of f over S + i,

T_i being the earliest f_j(S) after which what is left of S leaves room for r_i.
"""

from bisect import bisect_right

from ioopt.compiled import Box
from ioopt.decisions.batch_io import IoPolicy, KernelView, place_by_level, share_out
from ioopt.decisions.ordering import Number
from ioopt.solvers.batch_io.settings import Settings

PAYS = 1 - 1e-9
"""Sharing must win by this factor in floats, so that a tie is not decided
by rounding (rule 2).
"""


def adaptive(view: KernelView, rates: Box) -> None:
    """Algorithm 1, sharing per node; O(|S|) a request, O(|S|^2) with own peaks."""
    if view.limits.own_peaks:
        share_played(view, rates)
    else:
        share_chosen(view, rates)


def share_chosen(view: KernelView, rates: Box) -> None:
    """Choose S in FCFS order and let it share.

    Sharing per node, all nodes transfer at one rate, so the members of S finish in
    ascending order of d = R / N, and while M nodes remain, d grows by g in g max(M,
    BW/b) / BW seconds. Kept of S, in that order: ``depths`` d, ``sizes`` N,
    ``finishes`` f, times BW; ``full`` nodes are BW/b.
    """
    jobs, out, depths, sizes, finishes = (
        view.jobs,
        view.out,
        view.depths,
        view.sizes,
        view.finishes,
    )
    storage, node_rate, slack = (
        view.limits.storage,
        view.limits.node_rate,
        view.limits.slack,
    )
    pays = 1 if view.limits.exact else PAYS
    full, room, size, nodes, stale = storage / node_rate, storage, 0, 0, True
    waiting = storage * 0
    for k in range(view.size):
        request = jobs[out[k]]
        own, peak = request.nodes, request.peak
        depth = request.left / own
        place = bisect_right(depths, depth, 0, size)
        if peak <= room * slack:
            room -= peak
        else:
            if stale:
                waiting, stale = sum_of_finishes(view, size, nodes, full), False
            start = room_at(
                sizes, finishes, size, nodes, (storage * slack - peak) / node_rate
            )
            # Both sides are means over |S| + 1, so the sums are compared.
            most = (waiting + start + request.left / peak * storage) * pays
            if not sum_with(view, size, nodes, full, own, depth, place, most) < most:
                continue
            room = storage * 0
        insert_at(depths, place, size, depth)
        insert_at(sizes, place, size, own)
        size += 1
        nodes += own
        stale = True
        rates[k] = peak
    if node_rate * nodes > storage:
        rho = storage / nodes
        for k in range(view.size):
            if rates[k] > 0:
                rates[k] = rho * view.jobs[view.out[k]].nodes


def insert_at(values: Box, place: int, size: int, value: Number) -> None:
    """Put *value* at *place* among the first *size* of *values*,
    which has room for it.
    """
    for k in range(size, place, -1):
        values[k] = values[k - 1]
    values[place] = value


def sum_of_finishes(view: KernelView, size: int, nodes: int, full: Number) -> Number:
    """``finishes`` of a set of *nodes* in finish order; their sum."""
    depths, sizes, finishes = view.depths, view.sizes, view.finishes
    before = now = total = full * 0
    for k in range(size):
        now += (depths[k] - before) * (nodes if nodes > full else full)
        before = depths[k]
        nodes -= sizes[k]
        finishes[k] = now
        total += now
    return total


def sum_with(
    view: KernelView,
    size: int,
    nodes: int,
    full: Number,
    own: int,
    joining: Number,
    place: int,
    most: Number,
) -> Number:
    """Sum of the finishes when so deep a request on *own* nodes joins at
    *place*, up to *most*.
    """
    depths, sizes = view.depths, view.sizes
    before = now = total = full * 0
    nodes += own
    for k in range(place):
        depth = depths[k]
        now += (depth - before) * (nodes if nodes > full else full)
        before = depth
        total += now
        nodes -= sizes[k]
    now += (joining - before) * (nodes if nodes > full else full)
    before = joining
    total += now
    nodes -= own
    for k in range(place, size):
        if total >= most:
            break
        depth = depths[k]
        now += (depth - before) * (nodes if nodes > full else full)
        before = depth
        total += now
        nodes -= sizes[k]
    return total


def room_at(sizes: Box, finishes: Box, size: int, nodes: int, room: Number) -> Number:
    """T_i: the finish after which at most *room* nodes remain; 0 when
    so few share already.
    """
    k = 0
    while k < size and nodes > room:
        nodes -= sizes[k]
        k += 1
    return finishes[k - 1] if k > 0 else room * 0


def share_played(view: KernelView, rates: Box) -> None:
    """Algorithm 1 as printed, for peaks of any kind: every set is played
    to its end (rule 25).

    The reference for :func:`share_chosen`, which needs every peak to
    be that of the nodes.
    """
    size, room, slack = 0, view.limits.storage, view.limits.slack
    pays = 1 if view.limits.exact else PAYS
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        peak = request.peak
        place = place_by_level(view, size, k, request.nodes)
        if peak <= room * slack:
            room -= peak
        else:
            together, _ = play(view, size + 1, view.size, peak, slack)
            waiting, start = play(view, size + 1, k, peak, slack)
            if not together < (waiting + start + request.left / peak) * pays:
                for q in range(place, size):
                    view.order[q] = view.order[q + 1]
                continue
            room = view.limits.storage * 0
        size += 1
    share_out(view, rates, size, view.limits.storage)


def play(
    view: KernelView, size: int, without: int, peak: Number, slack: Number
) -> tuple[Number, Number]:
    """Sum of f_j over the *size* requests in ``order`` but *without* one,
    and T_i for a *peak*.
    """
    order, left, speeds, storage = (
        view.order,
        view.depths,
        view.finishes,
        view.limits.storage,
    )
    now = total = start = storage * 0
    known = False
    for q in range(size):
        k = order[q]
        left[k] = storage * 0 if k == without else view.jobs[view.out[k]].left
    while True:
        busy, step = storage * 0, storage * 0
        for q in range(size):
            k = order[q]
            request = view.jobs[view.out[k]]
            view.sizes[k] = request.nodes if left[k] > 0 else 0
            if left[k] > 0:
                busy += request.peak
        if not known and busy + peak <= storage * slack:
            start, known = now, True
        if busy == 0:
            break
        share_out(view, speeds, size, storage)
        for q in range(size):
            k = order[q]
            if left[k] > 0 and (step == 0 or left[k] / speeds[k] < step):
                step = left[k] / speeds[k]
        now += step
        for q in range(size):
            k = order[q]
            if left[k] > 0:
                ends = left[k] / speeds[k] <= step
                left[k] -= speeds[k] * step
                # In floats those that finish together must not leave a crumb
                # for another round.
                if ends or left[k] <= view.jobs[view.out[k]].left * (slack - 1):
                    left[k] = storage * 0
                    total += now
    for q in range(size):
        view.sizes[order[q]] = view.jobs[view.out[order[q]]].nodes
    return total, start


def policy(how: Settings) -> IoPolicy:
    """ADAPTIVE, which has no settings of its own."""
    return IoPolicy("adaptive", adaptive)
