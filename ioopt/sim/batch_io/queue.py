"""The batch queue and the allocation of nodes: rules 18 to 20 and 30.

One text for plain Python and for numba: see :mod:`ioopt.sim.batch_io.state`.
"""

import math

from ioopt.compiled import apart
from ioopt.decisions.batch_io import Number
from ioopt.sim.batch_io.boxes import OVERDUE_SECONDS, passed, tolerance
from ioopt.sim.batch_io.buffer import has_room, units_held
from ioopt.sim.batch_io.plain import launch
from ioopt.sim.batch_io.plans import boxed_pass
from ioopt.sim.batch_io.queue_lists import (
    block_free_from,
    close_pass,
    find_place,
    line_up,
    line_up_ends,
    line_up_rest,
    line_up_units,
    next_end,
    occupy,
    smallest,
    take,
)
from ioopt.sim.batch_io.state import ENDED, Moment, World
from ioopt.sim.batch_io.streams import stage_ahead


@apart
def run_queue(w: World, m: Moment) -> None:
    """One batch pass, repeated while a job started by it ended at once (rule 1)."""
    again = True
    while again:
        again = False
        if m.waiting and (m.free or w.keeps):
            again = boxed_pass(w, m) if w.boxed else batch_pass(w, m)
        if w.buffered and w.buffer.early:
            stage_ahead(w, m)


@apart
def batch_pass(w: World, m: Moment) -> bool:
    """One pass over the queue; True when a job that it started ended at once (rules 19 and 20).

    A pass that can start nothing is left at once; the reservation is made when somebody asks. What
    of one length finds no units rules out what is larger: aligned blocks nest.
    """
    least = smallest(w, m)
    if find_place(w, m, least, 0, 0) < 0:
        return False
    line_up(w, m)
    jobs, now, again, promised, reserved = w.jobs, m.now, False, 0, False
    until, extra, avoid, length = now, 0, 0, 0
    head, spare, buffered = 0, now * 0, w.buffered
    no_short, no_long = w.total + 1, w.total + 1
    turn = 0
    while turn < m.lined_up and m.free >= least:
        r = jobs[w.line[turn]]
        turn += 1
        units = r.units
        if not promised:
            place = -1
            if not buffered or has_room(w, m, r.job):
                place = find_place(w, m, units, 0, 0)
            if place < 0:
                if not w.easy:
                    break
                promised, head = units, r.job
                if w.short_behind:
                    line_up_rest(w, m, turn)
                continue
        else:
            if units > m.free or (buffered and not has_room(w, m, r.job)):
                continue
            if not reserved:
                reserved = True
                ready = bytes_ready(w, m, head) if buffered else now
                if w.partition:
                    until, avoid = reserve_block(w, m, promised, ready)
                    length = promised
                else:
                    until, extra = reserve_flat(w, m, promised, ready)
                until += tolerance(w, until)
                if buffered:
                    spare = spare_bytes(w, m, head, until)
            short = now + r.length <= until
            if buffered and not short and w.buffer.shared and w.buffer.size[r.job] > spare:
                continue
            if units >= (no_short if short else no_long):
                continue
            if short:
                place = find_place(w, m, units, 0, 0)
            elif w.partition:
                place = find_place(w, m, units, avoid, length)
            else:
                place = 0 if units <= extra else -1
            if place < 0:
                if short:
                    no_short = units
                else:
                    no_long = units
                continue
            if not short and not w.partition and not buffered:
                extra -= units
        free, held = m.free, m.held
        take(w, m, r, turn)
        occupy(w, m, r, place)
        launch(w, m, r)
        if buffered and reserved and not short:
            # What was given back at once is not used up (rule 46).
            extra -= free - m.free
            spare -= m.held - held
        again = again or r.status == ENDED
    close_pass(w, m)
    return again


def bytes_ready(w: World, m: Moment, job: int) -> Number:
    """When the buffer is predicted to have the bytes of *job* (rule 46)."""
    b, time = w.buffer, m.now
    held = m.held
    for turn in range(line_up_ends(w, m, passed(w, m), time + OVERDUE_SECONDS) if b.shared else 0):
        if held + b.size[job] <= b.capacity * b.slack:
            break
        time, other = next_end(w, m, turn)
        held -= b.size[other]
    return time


def spare_bytes(w: World, m: Moment, job: int, until: Number) -> Number:
    """Bytes that are predicted to be free *until* then beside those of *job*."""
    b, now = w.buffer, m.now
    spare = b.capacity * b.slack - m.held - b.size[job]
    for turn in range(line_up_ends(w, m, passed(w, m), now + OVERDUE_SECONDS) if b.shared else 0):
        end, other = next_end(w, m, turn)
        if end > until:
            break
        spare += b.size[other]
    return spare


def reserve_flat(w: World, m: Moment, units: int, ready: Number) -> tuple[Number, int]:
    """(time from *ready* on at which enough units are free, units free beside the request then)."""
    free, time, now = m.free, ready, m.now
    for turn in range(line_up_ends(w, m, passed(w, m), now + OVERDUE_SECONDS)):
        end, job = next_end(w, m, turn)
        if free >= units and end > time + tolerance(w, time):
            break
        if free < units and end > time:
            time = end
        free += units_held(w, w.jobs[job])
    return time, free - units


def reserve_block(w: World, m: Moment, units: int, ready: Number) -> tuple[Number, int]:
    """(earliest predicted free time of a block of *units* from *ready* on, its first unit).

    Ties: lowest start.
    """
    now = m.now
    line_up_units(w, m, passed(w, m), now + OVERDUE_SECONDS)
    best, best_place, sooner = ready, 0, math.inf
    for place in range(0, w.total - units + 1, units):
        time = max(ready, block_free_from(w, m, place, units))
        if time < sooner:
            best, best_place = time, place
            sooner = time - tolerance(w, time)
    return best, best_place
