"""Boxes in the compiled engine: for each of :mod:`ioopt.sim.batch_io.box_lists` its namesake in arrays.

Sets of units stand in words of ``WORD`` bits: those chosen for a job in its row of ``chosen``.
"""

from typing import Any

from ioopt.compiled import apart
from ioopt.sim.batch_io.buffer import units_held
from ioopt.sim.batch_io.queue_arrays import sort_by

WORD = 62
"""Units to a whole number, whose sign stays free."""


def line_up_running(w: Any, m: Any) -> None:
    """The running jobs stand in ``running`` always."""


def mark(w: Any, k: int, code: int, time: float) -> None:
    """The *k*-th mark: box of job *code* / 2 begins (even) or ends (odd) at *time*."""
    w.marks[k] = code
    w.mark_times[code] = time


def sort_marks(w: Any, count: int) -> None:
    """Bring the first *count* marks into the order of time, ties by code."""
    sort_by(w.mark_times, w.marks, 0, count)


def mark_at(w: Any, k: int) -> tuple[int, float]:
    """Code and time of a mark."""
    return w.marks[k], w.mark_times[w.marks[k]]


def first_step(w: Any, m: Any, free: int, room: float) -> None:
    """The profile is one step, which begins now."""
    w.step_times[0], w.step_free[0], w.step_room[0] = m.now, free, room
    m.steps = 1


def open_step(w: Any, m: Any, at: int, time: float) -> None:
    """A step begins at *time* as number *at*, with what is free in the one before."""
    times, free = w.step_times, w.step_free
    for k in range(m.steps, at, -1):
        times[k] = times[k - 1]
    for k in range(m.steps, at, -1):
        free[k] = free[k - 1]
    times[at], free[at] = time, free[at - 1]
    if w.bytes:
        for k in range(m.steps, at, -1):
            w.step_room[k] = w.step_room[k - 1]
        w.step_room[at] = w.step_room[at - 1]
    m.steps += 1


@apart
def save_steps(w: Any, m: Any, slot: int) -> None:
    """Keep the profile in *slot* 0 or 1."""
    w.saved_steps[slot] = m.steps
    for k in range(m.steps):
        w.saved_times[slot, k] = w.step_times[k]
        w.saved_free[slot, k] = w.step_free[k]
        w.saved_room[slot, k] = w.step_room[k]


@apart
def load_steps(w: Any, m: Any, slot: int) -> None:
    """Go back to the profile kept in *slot*."""
    m.steps = w.saved_steps[slot]
    for k in range(m.steps):
        w.step_times[k] = w.saved_times[slot, k]
        w.step_free[k] = w.saved_free[slot, k]
        w.step_room[k] = w.saved_room[slot, k]


def make_orders(w: Any, count: int) -> None:
    """Room for two orders is there."""


def note_taken(w: Any, r: Any, start: float, stop: float) -> None:
    """Add the units of *r* to ``taken`` if its box meets the time from *start* to *stop*."""
    since = r.box_start
    if since < r.box_end and r.box_end > start and (since < stop or since <= start):
        if not units_held(w, r):
            return
        if w.partition:
            for unit in range(r.block, r.block + r.units):
                w.taken[unit // WORD] |= 1 << unit % WORD
        else:
            for word in range(len(w.taken)):
                w.taken[word] |= w.chosen[r.job, word]


@apart
def choose_units(w: Any, m: Any, r: Any, start: float, stop: float) -> bool:
    """Choose the lowest units that are free for *r* from *start* to *stop*; False: there are none."""
    for word in range(len(w.taken)):
        w.taken[word] = 0
    for k in range(m.num_running):
        note_taken(w, w.jobs[w.running[k]], start, stop)
    for k in range(m.num_tails if w.buffer.keeps else 0):
        note_taken(w, w.jobs[w.buffer.tails[k]], start, stop)
    for k in range(m.lined_up):
        note_taken(w, w.jobs[w.line[k]], start, stop)
    if w.partition:
        r.block = lowest_block(w, r.units)
        return bool(r.block >= 0)
    missing = r.units
    for word in range(len(w.taken)):
        count = min(WORD, w.total - word * WORD)
        free, chosen = ~w.taken[word] & ((1 << count) - 1), 0
        while free and missing:
            lowest = free & -free
            chosen |= lowest
            free ^= lowest
            missing -= 1
        w.chosen[r.job, word] = chosen
    return bool(missing == 0)


def lowest_block(w: Any, units: int) -> int:
    """The lowest aligned block of *units* outside ``taken``; -1: there is none."""
    for place in range(0, w.total - units + 1, units):
        unit = place
        while unit < place + units and not w.taken[unit // WORD] >> unit % WORD & 1:
            unit += 1
        if unit == place + units:
            return place
    return -1


def units_free(w: Any, r: Any) -> bool:
    """Whether nobody is on the units chosen for *r*."""
    taken = 0
    if w.partition:
        for unit in range(r.block, r.block + r.units):
            taken |= w.busy[unit]
    else:
        for word in range(len(w.taken)):
            taken |= w.chosen[r.job, word] & w.in_use[word]
    return taken == 0
