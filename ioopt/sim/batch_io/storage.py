"""The storage of the batch I/O simulator: who transfers at what rate (rules 5 to 10).

Progress is lazy. A request keeps its bytes left at the last change of its own rate and the instant at
which it will finish, and a decision touches the outstanding requests only while they do not all fit.
Where everybody shares by nodes (rule 7), every node moves the same number of bytes: one virtual clock
counts them since the storage was last idle, and neither an event nor a decision touches any request
but its own. Where only the first of each lane transfers (rule 16), only first ones are looked at.

One text for plain Python and for numba: see :mod:`ioopt.sim.batch_io.state`.
"""

import math

from ioopt.decisions.batch_io import DecideFunction, Number
from ioopt.decisions.batch_io_kernels import SLACK, slow_down
from ioopt.sim.batch_io.buffer import date_streams, limit_streams
from ioopt.sim.batch_io.plain import (
    ask,
    clear,
    enter,
    note_span,
    remove,
    set_finish,
    set_finishes,
    set_target,
)
from ioopt.sim.batch_io.state import NOBODY, STAGING, TRANSFERRING, ActiveRequest, Moment, World


def use(w: World, m: Moment, since: Number, until: Number, nodes: Number) -> None:
    """*nodes* (a fraction of them where I/O is slowed) do useful work: rule 22, node-seconds."""
    first, last = w.window_first, w.window_last
    span = (until if until < last else last) - (since if since > first else first)
    if span > 0:
        m.useful += span * nodes


def issue(w: World, m: Moment, r: ActiveRequest, place: int) -> None:
    """The request of the phase at *place* becomes outstanding."""
    now, volume = m.now, w.volume[place]
    r.status = TRANSFERRING
    r.volume = volume
    r.place = place
    w.asked[place] = now
    w.fresh[m.num_fresh] = r.job
    m.num_fresh += 1
    m.outstanding += 1
    m.changed = 1
    if w.shared:
        nodes = r.nodes
        m.nodes += nodes
        m.weight += nodes * nodes / r.peak
        set_target(w, m, r, m.clock + volume / nodes)
        return
    r.requested = r.anchor = now
    r.base = r.left = volume
    belief = w.belief[place]
    r.belief = belief if belief >= 0 else volume
    r.moved = r.rate = 0
    r.granted = 0
    if w.num_lanes:
        join_lane(w, m, r)
    else:
        m.load += r.units
        enter(w, m.outstanding - 1, r)


def leave(w: World, m: Moment, r: ActiveRequest) -> None:
    """The request of *r* finished or was killed; an idle storage sets its sums back to exactly 0."""
    m.changed = 1
    if w.shared:
        m.outstanding -= 1
        nodes = r.nodes
        m.nodes -= nodes
        m.weight -= nodes * nodes / r.peak
        if m.outstanding == 0:
            m.clock = m.weight = m.clock * 0
        return
    settle(w, m, r)
    if w.num_lanes:
        leave_lane(w, m, r)
    else:
        m.load -= r.units
        remove(w, m.outstanding, r)
    m.outstanding -= 1


def apply_decision(w: World, m: Moment, decide: DecideFunction) -> None:
    """One decision (rule 9)."""
    if w.shared:
        set_rho(w, m)
    elif w.num_lanes:
        if m.stale:
            m.stale = 0
            ask_and_set(w, m, decide, gather_first(w))
    else:
        if w.ignores_limit or (w.full_when_fits and all_fit(w, m)):
            grant_peaks(w, m)
        else:
            m.crowded = 1
            if w.progress:
                update_progress(w, m)
                if w.buffered:
                    date_streams(w, m)
            ask_and_set(w, m, decide, m.outstanding)
    m.num_fresh = 0


def all_fit(w: World, m: Moment) -> bool:
    """Whether the storage gives all outstanding requests their peaks at once."""
    if m.outstanding <= 1:
        return True
    if w.interference > 0 or (w.buffered and w.buffer.shared):
        return False
    if not w.own_peaks:
        return m.load <= w.capacity_units
    total = w.storage * 0
    for k in range(m.outstanding):
        total += w.jobs[w.out[k]].peak
    return total <= (w.storage if w.exact else w.storage * SLACK)


def grant_peaks(w: World, m: Moment) -> None:
    """While all peaks fit, a policy that then grants them all is not asked."""
    jobs, now = w.jobs, m.now
    if m.crowded:
        m.crowded = 0
        for k in range(m.outstanding):
            r = jobs[w.out[k]]
            if r.rate != r.peak:
                change(w, m, r, r.peak)
                set_finish(w, m, r)
        return
    for k in range(m.num_fresh):
        r = jobs[w.fresh[k]]
        if r.status == TRANSFERRING:
            # Issued now, it has nothing to book.
            r.rate = r.peak
            r.granted = 1
            w.grant[r.place] = now
            r.due = now + r.base / r.peak
            set_finish(w, m, r)


def update_progress(w: World, m: Moment) -> None:
    """Bring what the policy may look at, bytes left and moved, to now."""
    jobs, now = w.jobs, m.now
    for k in range(m.outstanding):
        r = jobs[w.out[k]]
        if r.rate > 0:
            left = r.base - r.rate * (now - r.anchor)
            r.left = left if left > 0 else 0
            r.moved = r.volume - r.left


def ask_and_set(w: World, m: Moment, decide: DecideFunction, count: int) -> None:
    """Let the policy decide about the *count* requests in ``out``, and set what it changes."""
    ask(w, m, decide, count)
    throttle(w, m, count)
    jobs, out, rates, moved = w.jobs, w.out, w.rates, 0
    for k in range(count):
        r = jobs[out[k]]
        if r.rate != rates[k]:
            change(w, m, r, rates[k])
            w.moved[moved] = r.job
            moved += 1
    set_finishes(w, m, moved, count)


def throttle(w: World, m: Moment, count: int) -> None:
    """What the storage makes of the ``rates`` that the policy chose, which knows nothing of it."""
    if w.buffered and w.buffer.shared:
        limit_streams(w, count)
    if w.interference > 0:
        slow_down(w.rates, count, w.storage, w.interference)


def change(w: World, m: Moment, r: ActiveRequest, rate: Number) -> None:
    """From now on *r* transfers at *rate*, and so will be ``due``."""
    settle(w, m, r)
    r.rate = rate
    if rate > 0:
        r.due = m.now + r.base / rate
        if not r.granted:
            r.granted = 1
            w.grant[r.place] = m.now
    else:
        r.due = math.inf


def settle(w: World, m: Moment, r: ActiveRequest) -> None:
    """Book what *r* moved since its rate last changed."""
    rate, since, now = r.rate, r.anchor, m.now
    if rate > 0 and now > since:
        left = r.base - rate * (now - since)
        r.base = r.left = left if left > 0 else 0
        r.moved = r.volume - r.base
        if w.record:
            note_span(w, m, r.place, since, now, rate)
        if not w.buffered or is_work(w, r):
            use(w, m, since, now, rate / r.peak * r.nodes)
    r.anchor = now


def is_work(w: World, r: ActiveRequest) -> bool:
    """Whether the nodes of *r* work on what it moves (rule 48): of streams they wait for stage-ins."""
    b = w.buffer
    return r.job < b.jobs or (not b.early and w.jobs[r.job - b.jobs].status == STAGING)


def set_clock(w: World, m: Moment) -> None:
    """Bring the clock of shared storage, in bytes a node, to now.

    ``weight`` is the sum of N_i^2 / r_i, which turns rho into nodes at useful work.
    """
    now, since, rho = m.now, m.since, m.rho
    if rho > 0 and now > since:
        use(w, m, since, now, rho * m.weight)
        m.clock += rho * (now - since)
    m.since = now


def set_rho(w: World, m: Moment) -> None:
    """rho = min(b, BW_max / N_S) (rule 7); new requests have their first grant."""
    now, before = m.now, m.rho
    for k in range(m.num_fresh):
        r = w.jobs[w.fresh[k]]
        if r.status == TRANSFERRING:
            w.grant[r.place] = now
    rho = before * 0
    if m.outstanding:
        rho, nodes = w.node_rate, m.nodes
        if rho * nodes > w.storage:
            rho = w.storage / nodes
    if rho != before:
        m.rho = rho
        if w.record:
            note_span(w, m, NOBODY, now, now, rho)


def join_lane(w: World, m: Moment, r: ActiveRequest) -> None:
    """Put *r* into its lane, in FCFS order (rule 10)."""
    jobs = w.jobs
    before, behind = w.last[r.lane], NOBODY
    while before != NOBODY and jobs[before].requested == r.requested and jobs[before].id > r.id:
        behind = before
        before = jobs[before].before
    r.before, r.behind = before, behind
    if behind == NOBODY:
        w.last[r.lane] = r.job
    else:
        jobs[behind].before = r.job
    if before != NOBODY:
        jobs[before].behind = r.job
        return
    w.first[r.lane] = r.job
    m.stale = 1
    if behind != NOBODY and jobs[behind].rate > 0:
        # Both were issued at this very time, so the former first has moved nothing yet.
        change(w, m, jobs[behind], m.rho * 0)
        set_finish(w, m, jobs[behind])


def leave_lane(w: World, m: Moment, r: ActiveRequest) -> None:
    """Take *r* out of its lane."""
    if r.behind == NOBODY:
        w.last[r.lane] = r.before
    else:
        w.jobs[r.behind].before = r.before
    if r.before == NOBODY:
        w.first[r.lane] = r.behind
        m.stale = 1
    else:
        w.jobs[r.before].behind = r.behind


def gather_first(w: World) -> int:
    """Put the first of each lane into ``out``, in FCFS order; how many there are."""
    clear(w)
    count = 0
    for lane in range(w.num_lanes):
        if w.first[lane] != NOBODY:
            enter(w, count, w.jobs[w.first[lane]])
            count += 1
    return count
