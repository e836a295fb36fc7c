"""Grant by ADAPTIVE (Zhou et al., Algorithm 1; rule 15).

Requests are considered in FCFS order. A request i that does not fit beside the set S
chosen so far is admitted if sharing lowers the mean finish time. For j in S, f_j(S) is
the remaining time of request j when exactly the requests in S share the storage
(rules 7 and 25). R_i are the bytes left of request i and r_i its peak rate. Compared
are

T_FCFS = (sum over j in S of f_j(S) + T_i + R_i / r_i) / (|S| + 1) T_Adaptive = mean of
f_j(S + i) over the j in S + i

T_i is the earliest f_j(S) after which the rest of S leaves room for r_i. Two functions
make the same decisions. :func:`share_played` simulates every set to its end, event by
event. :func:`share_chosen` is faster, but every peak rate must be the rate of the job's
nodes.
"""

from ioopt.decisions.batch_io import IoPolicy, KernelView, place_by_level, share_out
from ioopt.decisions.ordering import Number, bisect_right
from ioopt.solvers.batch_io.settings import Settings

PAYS = 1 - 1e-9
"""Factor by which sharing must be better in floats, so that rounding decides no tie
(rule 2).
"""


def adaptive(view: KernelView, rates: list[Number]) -> None:
    """Grant by Algorithm 1.

    It takes O(|S|) per request, or O(|S|^2) if requests have peak rates of their own.
    """
    if view.limits.own_peaks:
        share_played(view, rates)
    else:
        share_chosen(view, rates)


def share_chosen(view: KernelView, rates: list[Number]) -> None:
    """Choose the set S in FCFS order and let it share the storage.

    All nodes transfer at one rate, so the members of S finish in ascending order of d =
    R / N, the bytes left per node. While the members left have M nodes, d grows by g in
    g max(M, BW/b) / BW seconds, where BW is the storage's rate and b that of a node.
    Three arrays hold S in this order: ``depths`` has d, ``sizes`` N, ``finishes`` f
    times BW. ``full`` is BW/b, the number of nodes that saturate the storage.
    """
    jobs = view.jobs
    out = view.out
    depths = view.depths
    sizes = view.sizes
    finishes = view.finishes
    storage = view.limits.storage
    node_rate = view.limits.node_rate
    slack = view.limits.slack
    zero = view.limits.zero
    pays = 1 if view.limits.exact else PAYS
    full = storage / node_rate
    room = storage
    size = 0
    nodes = 0
    waiting = zero  # S has changed: the sum of finishes is out of date.
    stale = True
    for k in range(view.size):
        request = jobs[out[k]]
        own = request.nodes
        peak = request.peak
        depth = request.left / own
        place = bisect_right(depths, depth, 0, size)
        if peak <= room * slack:
            room -= peak
        else:
            if stale:
                waiting = sum_of_finishes(view, size, nodes, full)
                stale = False
            beside = (storage * slack - peak) / node_rate
            done = members_to_wait_for(sizes, size, nodes, beside)
            start = zero
            if done > 0:
                start = finishes[done - 1]
            # Both sides are sums divided by |S| + 1, so comparing the sums suffices.
            most = (waiting + start + request.left / peak * storage) * pays
            if not sum_with(view, size, nodes, full, own, depth, place, most) < most:
                continue
            room = zero
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


def insert_at(values: list[Number], place: int, size: int, value: Number) -> None:
    """Insert *value* at *place* into *values*, whose first *size* entries are in
    use.
    """
    for k in range(size, place, -1):
        values[k] = values[k - 1]
    values[place] = value


def sum_of_finishes(view: KernelView, size: int, nodes: Number, full: Number) -> Number:
    """Write ``finishes`` of the set S and return their sum.

    The set has *size* members in finish order, with *nodes* nodes together.
    """
    depths = view.depths
    sizes = view.sizes
    finishes = view.finishes
    before = view.limits.zero
    now = view.limits.zero
    total = view.limits.zero
    for k in range(size):
        width = full
        if nodes > full:
            width = nodes
        now += (depths[k] - before) * width
        before = depths[k]
        nodes -= sizes[k]
        finishes[k] = now
        total += now
    return total


def sum_with(
    view: KernelView,
    size: int,
    nodes: Number,
    full: Number,
    own: int,
    joining: Number,
    place: int,
    most: Number,
) -> Number:
    """Return the sum of the finishes of S with one more request.

    The request has depth *joining* and *own* nodes, and joins at *place* of the finish
    order. The summation may stop once the sum reaches *most*.
    """
    depths = view.depths
    sizes = view.sizes
    before = view.limits.zero
    now = view.limits.zero
    total = view.limits.zero
    nodes += own
    for k in range(place):
        depth = depths[k]
        width = full
        if nodes > full:
            width = nodes
        now += (depth - before) * width
        before = depth
        total += now
        nodes -= sizes[k]
    width = full
    if nodes > full:
        width = nodes
    now += (joining - before) * width
    before = joining
    total += now
    nodes -= own
    for k in range(place, size):
        if total >= most:
            break
        depth = depths[k]
        width = full
        if nodes > full:
            width = nodes
        now += (depth - before) * width
        before = depth
        total += now
        nodes -= sizes[k]
    return total


def members_to_wait_for(
    sizes: list[Number], size: int, nodes: Number, room: Number
) -> int:
    """Return how many members of S must finish before at most *room* nodes are in use.

    *nodes* is the number of nodes in use at first.
    """
    k = 0
    while k < size and nodes > room:
        nodes -= sizes[k]
        k += 1
    return k


def share_played(view: KernelView, rates: list[Number]) -> None:
    """Run Algorithm 1 as printed, for peak rates of any kind (rule 25).

    Every set is simulated to its end. Tests compare :func:`share_chosen` with this
    function.
    """
    size = 0
    room = view.limits.storage
    slack = view.limits.slack
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
            room = view.limits.zero
        size += 1
    share_out(view, rates, size, view.limits.storage)


def play(
    view: KernelView, size: int, without: int, peak: Number, slack: Number
) -> tuple[Number, Number]:
    """Simulate the first *size* requests of ``order``, without the request *without*.

    Return the sum of their finish times f_j, and the time T_i at which a request of
    rate *peak* first fits beside the others.
    """
    storage = view.limits.storage
    now = view.limits.zero
    total = view.limits.zero
    start = view.limits.zero
    known = False
    for q in range(size):
        k = view.order[q]
        view.depths[k] = view.jobs[view.out[k]].left
        if k == without:
            view.depths[k] = view.limits.zero
    while True:
        busy = rate_of_unfinished(view, size)
        if not known and busy + peak <= storage * slack:
            start = now
            known = True
        if busy == 0:
            break
        share_out(view, view.finishes, size, storage)
        step = seconds_to_next_end(view, size)
        now += step
        total = play_step(view, size, step, slack, now, total)
    for q in range(size):
        view.sizes[view.order[q]] = view.jobs[view.out[view.order[q]]].nodes
    return total, start


def rate_of_unfinished(view: KernelView, size: int) -> Number:
    """Return the sum of the peak rates of the requests that have bytes left in
    ``depths``; set ``sizes`` to their nodes, and to 0 for the others.
    """
    busy = view.limits.zero
    for q in range(size):
        k = view.order[q]
        request = view.jobs[view.out[k]]
        view.sizes[k] = 0
        if view.depths[k] > 0:
            view.sizes[k] = request.nodes
            busy += request.peak
    return busy


def seconds_to_next_end(view: KernelView, size: int) -> Number:
    """Return the seconds until a request ends at the rates in ``finishes``."""
    step = view.limits.zero
    for q in range(size):
        k = view.order[q]
        if view.depths[k] > 0:
            seconds = view.depths[k] / view.finishes[k]
            if step == 0 or seconds < step:
                step = seconds
    return step


def play_step(
    view: KernelView, size: int, step: Number, slack: Number, now: Number, total: Number
) -> Number:
    """Move bytes for *step* seconds, up to *now*, at the rates in ``finishes``; return
    *total* with the finish times of the requests that end.
    """
    left = view.depths
    for q in range(size):
        k = view.order[q]
        if left[k] > 0:
            ends = left[k] / view.finishes[k] <= step
            left[k] -= view.finishes[k] * step
            # Requests that finish together must all end in this round, although
            # rounding leaves a few bytes of some.
            if ends or left[k] <= view.jobs[view.out[k]].left * (slack - 1):
                left[k] = view.limits.zero
                total += now
    return total


def policy(how: Settings) -> IoPolicy:
    """Return the policy ADAPTIVE, which has no settings of its own."""
    return IoPolicy("adaptive", adaptive)
