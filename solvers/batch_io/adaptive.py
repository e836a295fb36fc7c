"""ADAPTIVE (Zhou et al., Algorithm 1; rule 15): admit a request that does not fit if sharing pays.

Two forms that decide alike: :func:`share_played` plays every set to its end, event by event, for
every request that does not fit, :func:`share_chosen` keeps those of the chosen set.
With S chosen so far and f_j(S) the remaining time of j when exactly S shares (rules 7 and 25),

    T_FCFS = (sum_j f_j(S) + T_i + R_i / r_i) / (|S| + 1),   T_Adaptive = mean of f over S + i,

T_i being the earliest f_j(S) after which what is left of S leaves room for r_i.
"""

from bisect import bisect_right

from ioopt.compiled import Box
from ioopt.decisions.batch_io import IoPolicy, KernelView, place_by_level, share_out
from ioopt.decisions.ordering import Number
from ioopt.solvers.batch_io.settings import EstimateSettings, believing

PAYS = 1 - 1e-9
"""Sharing must win by this factor in floats, so that a tie is not decided by rounding (rule 2)."""
ABOVE, BELOW = 1 + 1e-9, 1 - 1e-9
"""Sums that lie apart by more decide alike however they are added up: rounding is far smaller."""


def adaptive(view: KernelView, rates: Box) -> None:
    """Algorithm 1, sharing per node; O(|S|) for each request tested, O(|S|^2) with own peaks."""
    if view.limits.own_peaks:
        share_played(view, rates)
    else:
        share_chosen(view, rates)


def share_chosen(view: KernelView, rates: Box) -> None:
    """Choose S in FCFS order and let it share.

    Sharing per node, all nodes transfer at one rate, so the members of S finish in ascending order
    of d = R / N, and while M nodes remain, d grows by g in g max(M, BW/b) / BW seconds. Kept of S, in
    that order: ``depths`` d, ``sizes`` N, ``finishes`` f, times BW, and ``keys``, the sums of the d up
    to each; ``full`` nodes are BW/b, and the first ``busy`` of S finish while so many remain. The sum
    with i is added up in full only near a tie.
    """
    jobs, out, depths, sizes, finishes = view.jobs, view.out, view.depths, view.sizes, view.finishes
    storage, node_rate, slack = view.limits.storage, view.limits.node_rate, view.limits.slack
    pays = 1 if view.limits.exact else PAYS
    full, room, size, nodes, stale = storage / node_rate, storage, 0, 0, True
    waiting, busy, spare = storage * 0, 0, 0
    for k in range(view.size):
        request = jobs[out[k]]
        own, peak = request.nodes, request.peak
        depth = request.left / own
        place = bisect_right(depths, depth, 0, size)
        if peak <= room * slack:
            room -= peak
        else:
            if stale:
                waiting, busy, spare = sum_of_finishes(view, size, nodes, full)
                stale = False
            allowed = (storage * slack - peak) / node_rate
            if allowed < full:
                start = room_at(sizes, finishes, size, busy, spare, allowed)
            else:
                start = room_at(sizes, finishes, size, 0, nodes, allowed)
            # Both sides are means over |S| + 1, so the sums are compared.
            most = (waiting + start + request.left / peak * storage) * pays
            told = waiting + added_by(view, size, busy, spare, full, own, depth, place)
            if told > most * ABOVE:
                continue
            close = told >= most * BELOW
            if close and not sum_with(view, size, nodes, full, own, depth) < most:
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
    """Put *value* at *place* among the first *size* of *values*, which has room for it."""
    for k in range(size, place, -1):
        values[k] = values[k - 1]
    values[place] = value


def sum_of_finishes(
    view: KernelView, size: int, nodes: int, full: Number
) -> tuple[Number, int, int]:
    """Finishes of a set of *nodes* in finish order; their sum, how many finish while more than ``full``
    remain, and the nodes that remain then."""
    depths, sizes, finishes, sums = view.depths, view.sizes, view.finishes, view.keys
    before = now = total = deep = full * 0
    busy, spare = 0, nodes
    for k in range(size):
        depth = depths[k]
        if nodes > full:
            now += (depth - before) * nodes
            nodes -= sizes[k]
            busy, spare = k + 1, nodes
        else:
            now += (depth - before) * full
        before = depth
        finishes[k] = now
        total += now
        deep += depth
        sums[k] = deep
    return total, busy, spare


def added_by(
    view: KernelView, size: int, busy: int, spare: int, full: Number, own: int, joining: Number,
    place: int,
) -> Number:  # fmt: skip
    """What a request of depth *joining* on *own* nodes adds to the sum of finishes, but for rounding.

    It would stand at *place*. While more than ``full`` nodes remain it delays what finishes at depth d
    by own d; *busy* and *spare* are those of :func:`sum_of_finishes`.
    """
    depths, finishes, sums = view.depths, view.finishes, view.keys
    before = now = full * 0
    if place > 0:
        before, now = depths[place - 1], finishes[place - 1]
    if place < size:
        now += (joining - before) * ((finishes[place] - now) / (depths[place] - before))
    else:
        now += (joining - before) * full
    if place < busy:
        if place > 0:
            now += own * sums[place - 1]
        return now + (size - place + 1) * own * joining
    delay = before = added = full * 0
    if busy > 0:
        before, added = depths[busy - 1], own * sums[busy - 1]
        delay = own * before
    for k in range(busy, place):
        if spare + own > full:
            delay += (depths[k] - before) * (spare + own - full)
        before = depths[k]
        added += delay
        spare -= view.sizes[k]
    if spare + own > full:
        delay += (joining - before) * (spare + own - full)
    return now + added + (size - place + 1) * delay


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


def room_at(sizes: Box, finishes: Box, size: int, busy: int, nodes: int, room: Number) -> Number:
    """T_i: the finish after which at most *room* nodes remain; 0 when so few share already.

    After *busy* finishes so many *nodes* remain, and before those more. Below saturation peaks are
    b N, and a saturating member leaves no room either way.
    """
    k = busy
    while k < size and nodes > room:
        nodes -= sizes[k]
        k += 1
    return finishes[k - 1] if k > 0 else room * 0


def share_played(view: KernelView, rates: Box) -> None:
    """Algorithm 1 as printed, for peaks of any kind: every set is played to its end (rule 25).

    The reference for :func:`share_chosen`, which needs every peak to be that of the nodes.
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
    share_out(view, rates, size)


def play(
    view: KernelView, size: int, without: int, peak: Number, slack: Number
) -> tuple[Number, Number]:
    """Sum of f_j over the *size* requests in ``order`` but *without* one, and T_i for a *peak*."""
    order, left, speeds, storage = view.order, view.depths, view.finishes, view.limits.storage
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
        share_out(view, speeds, size)
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
                # In floats those that finish together must not leave a crumb for another round.
                if ends or left[k] <= view.jobs[view.out[k]].left * (slack - 1):
                    left[k] = storage * 0
                    total += now
    for q in range(size):
        view.sizes[order[q]] = view.jobs[view.out[order[q]]].nodes
    return total, start


def policy(how: EstimateSettings) -> IoPolicy:
    """ADAPTIVE, on the sizes of the requests or on what is believed of them."""
    return believing(IoPolicy("adaptive", adaptive), how)
