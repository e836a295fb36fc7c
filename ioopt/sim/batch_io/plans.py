"""Passes of the queue that give waiting jobs boxes: rules 32 to 34 and 47.

One text for plain Python and for numba: see :mod:`ioopt.sim.batch_io.state`.
"""

import math

from ioopt.compiled import apart
from ioopt.decisions.batch_io import FIT_TOLERANCE, Number
from ioopt.sim.batch_io.box_lists import (
    line_up_running,
    load_steps,
    make_orders,
    save_steps,
    units_free,
)
from ioopt.sim.batch_io.boxes import (
    blocked_at,
    drop,
    first_fit,
    lay_out,
    passed,
    put,
    take_out,
    tolerance,
)
from ioopt.sim.batch_io.buffer import has_room, release_time
from ioopt.sim.batch_io.plain import launch
from ioopt.sim.batch_io.queue_lists import close_pass, line_up, line_up_rest, occupy, take
from ioopt.sim.batch_io.state import ENDED, NOBODY, ActiveRequest, Moment, World

FEW = 5
"""Of so many jobs every order is tried (rule 47)."""
SORTS = 9


@apart
def boxed_pass(w: World, m: Moment) -> bool:
    """One pass; True when a job that it started ended at once."""
    line_up(w, m)
    again = False
    if w.search:
        again = search_pass(w, m)
    elif w.conservative:
        again = conservative_pass(w, m)
    else:
        again = numbered_pass(w, m)
    close_pass(w, m)
    return again


@apart
def can_start(w: World, m: Moment, r: ActiveRequest) -> bool:
    """Whether what *r* needs is free right now, whatever the boxes say (rule 36)."""
    if r.units > m.free or (w.bytes and not has_room(w, m, r.job)):
        return False
    return not w.numbered or units_free(w, r)


@apart
def begin(w: World, m: Moment, r: ActiveRequest, length: Number) -> bool:
    """Start *r* at its place, with a box of *length* to the end of the pass; True: it ended at once."""
    take_out(w, m, r)
    take(w, m, r, 0)
    occupy(w, m, r, r.block)
    launch(w, m, r)
    if r.status == ENDED:
        if w.buffered and w.buffer.held[r.job]:
            put(w, m, r, 0, release_time(w, m, r.job) - m.now)
        return True
    put(w, m, r, 0, length)
    return False


def drop_boxes(w: World, m: Moment) -> None:
    """No waiting job has a box."""
    for turn in range(m.lined_up):
        drop(w.jobs[w.line[turn]])


@apart
def numbered_pass(w: World, m: Moment) -> bool:
    """EASY, or no backfilling, with numbered units (rule 32)."""
    drop_boxes(w, m)
    lay_out(w, m)
    again, reserved, turn = False, False, 0
    while turn < m.lined_up and m.free:
        r = w.jobs[w.line[turn]]
        turn += 1
        if reserved and r.units > m.free:
            continue
        if blocked_at(w, m, r, 0) == NOBODY and can_start(w, m, r):
            again = begin(w, m, r, r.walltime) or again
        elif not w.easy:
            break
        elif not reserved:
            reserved = True
            put(w, m, r, first_fit(w, m, r), r.length)
            if w.short_behind:
                line_up_rest(w, m, turn)
    return again


@apart
def conservative_pass(w: World, m: Moment) -> bool:
    """Every waiting job has a box, kept or made anew (rules 33 and 34).

    Of plans made anew only what starts now is left, so the last that can are the last looked at. There a
    job that starts behind one that waits keeps the box of its estimate to the end of the pass (rule 35).
    """
    jobs, again, every = w.jobs, False, m.freed
    m.freed = 0
    if w.rebuild or missed(w, m):
        drop_boxes(w, m)
    last = startable(w, m, m.lined_up)
    if w.rebuild and not last:
        return False
    lay_out(w, m)
    turn, behind = 0, False
    while turn < last:
        r = jobs[w.line[turn]]
        turn += 1
        if r.box_start > m.now and not every:
            continue
        take_out(w, m, r)
        put(w, m, r, first_fit(w, m, r), r.length)
        if r.box_start == m.now and can_start(w, m, r):
            again = begin(w, m, r, r.length if behind and w.rebuild else r.walltime) or again
            last = startable(w, m, last)
        else:
            behind = True
    return again


def startable(w: World, m: Moment, last: int) -> int:
    """How many of the first *last* jobs a pass has to look at: with kept plans all."""
    if w.rebuild:
        while last > 0 and w.jobs[w.line[last - 1]].units > m.free:
            last -= 1
    return last


@apart
def missed(w: World, m: Moment) -> bool:
    """Whether a box should have begun before now, or a running job is past its walltime."""
    before = m.now - tolerance(w, m.now)
    for turn in range(m.lined_up):
        if -math.inf < w.jobs[w.line[turn]].box_start < before:
            return True
    limit = passed(w, m)
    line_up_running(w, m)
    for k in range(m.num_running):
        r = w.jobs[w.running[k]]
        if r.start + r.walltime <= limit:
            return True
    return False


@apart
def search_pass(w: World, m: Moment) -> bool:
    """Search the order whose first fits wait least, and start those that fit now (rule 47).

    ``trial`` and ``best`` are orders of the jobs behind the first ``plan_depth``, whose boxes stay.
    """
    able = False
    for turn in range(m.lined_up):
        able = able or w.jobs[w.line[turn]].units <= m.free
    if not able:
        return False
    drop_boxes(w, m)
    lay_out(w, m)
    first = min(w.plan_depth, m.lined_up)
    count = m.lined_up - first
    for turn in range(first):
        r = w.jobs[w.line[turn]]
        put(w, m, r, first_fit(w, m, r), r.length)
    save_steps(w, m, 0)
    make_orders(w, count)
    for k in range(count):
        w.trial[k] = w.best[k] = w.line[first + k]
    if count <= FEW:
        permute(w, m, count)
    else:
        exchange(w, m, count)
    fit_rest(w, m, 0, 0, count, m.now * 0, math.inf)
    again = False
    for turn in range(m.lined_up):
        r = w.jobs[w.best[turn - first] if turn >= first else w.line[turn]]
        if r.box_start == m.now and can_start(w, m, r):
            again = begin(w, m, r, r.length) or again
    return again


@apart
def fit_rest(
    w: World, m: Moment, slot: int, begun: int, count: int, score: Number, limit: Number
) -> Number:
    """*score* with the waits of ``trial`` from *begun* on, on the profile in *slot*; up to *limit*."""
    load_steps(w, m, slot)
    for k in range(begun, count):
        drop(w.jobs[w.trial[k]])
    for k in range(begun, count):
        score += fit_next(w, m, w.jobs[w.trial[k]])
        if score >= limit:
            break
    return score


@apart
def fit_next(w: World, m: Moment, r: ActiveRequest) -> Number:
    """Give *r* its box; its wait to the power of the plan."""
    put(w, m, r, first_fit(w, m, r), r.length)
    wait = power = r.box_start - r.submit
    for _ in range(w.plan_power - 1):
        power *= wait
    return power


def below(w: World, score: Number) -> Number:
    """A score replaces *score* if it is less than this (rule 49)."""
    return score if w.exact else score * (1 - FIT_TOLERANCE)


def keep_trial(w: World, count: int) -> None:
    """The order in ``trial`` is the best."""
    for k in range(count):
        w.best[k] = w.trial[k]


@apart
def permute(w: World, m: Moment, count: int) -> None:
    """All orders of *count* jobs, lexicographic by (submission, id)."""
    zero = m.now * 0
    limit = below(w, fit_rest(w, m, 0, 0, count, zero, math.inf))
    while True:
        k = count - 2
        while k >= 0 and w.trial[k] > w.trial[k + 1]:
            k -= 1
        if k < 0:
            break
        other = count - 1
        while w.trial[other] < w.trial[k]:
            other -= 1
        swap(w, k, other)
        for step in range((count - 1 - k) // 2):
            swap(w, k + 1 + step, count - 1 - step)
        score = fit_rest(w, m, 0, 0, count, zero, limit)
        if score < limit:
            limit = below(w, score)
            keep_trial(w, count)
    for k in range(count):
        w.trial[k] = w.best[k]


def swap(w: World, a: int, b: int) -> None:
    """Exchange two positions of ``trial``."""
    job = w.trial[a]
    w.trial[a] = w.trial[b]
    w.trial[b] = job


@apart
def exchange(w: World, m: Moment, count: int) -> None:
    """Sorted orders, then exchanges of two positions of the best, as long as they help.

    What stands before the first of the two positions is fitted once for all of the second.
    """
    zero, limit, used = m.now * 0, m.now * 0 + math.inf, 0
    for sort in range(min(SORTS, w.plan_evaluations)):
        sort_trial(w, count, sort)
        score = fit_rest(w, m, 0, 0, count, zero, limit)
        used += 1
        if score < limit:
            limit = below(w, score)
            keep_trial(w, count)
    for k in range(count):
        w.trial[k] = w.best[k]
    gained = True
    while gained and used < w.plan_evaluations:
        gained = False
        before = zero
        load_steps(w, m, 0)
        for a in range(count - 1):
            if used == w.plan_evaluations:
                break
            save_steps(w, m, 1)
            for b in range(a + 1, count):
                if used == w.plan_evaluations:
                    break
                swap(w, a, b)
                score = fit_rest(w, m, 1, a, count, before, limit)
                used += 1
                if score < limit:
                    limit, gained = below(w, score), True
                else:
                    swap(w, a, b)
            load_steps(w, m, 1)
            for k in range(a, count):
                drop(w.jobs[w.trial[k]])
            before += fit_next(w, m, w.jobs[w.trial[a]])
    keep_trial(w, count)


@apart
def sort_trial(w: World, count: int, sort: int) -> None:
    """Bring the order of the queue into the *sort*-th order of rule 47; ties stay as they are."""
    first = w.plan_depth
    for k in range(count):
        job = w.line[first + k]
        key, at = sort_key(w, w.jobs[job], sort), k
        while at > 0 and key < sort_key(w, w.jobs[w.trial[at - 1]], sort):
            w.trial[at] = w.trial[at - 1]
            at -= 1
        w.trial[at] = job


def sort_key(w: World, r: ActiveRequest, sort: int) -> Number:
    """As queued; units, bytes, bytes a unit, each descending; the last three ascending; walltimes."""
    share = w.buffer.size[r.job] if w.buffered else 0
    if sort == 1:
        return -r.units
    if sort == 2:
        return -share
    if sort == 3:
        return -share / r.units
    if sort == 4:
        return share / r.units
    if sort == 5:
        return r.units
    if sort == 6:
        return share
    if sort == 7:
        return r.walltime
    return -r.walltime if sort == 8 else 0
