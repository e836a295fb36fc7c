"""Boxes in the plain engine: steps in lists, units as the bits of a whole number.

For each function here numba takes its namesake of :mod:`ioopt.sim.batch_io.box_arrays`.
"""

from ioopt.decisions.batch_io import Number
from ioopt.sim.batch_io.buffer import units_held
from ioopt.sim.batch_io.queue_lists import lowest_block
from ioopt.sim.batch_io.state import ENDED, ActiveRequest, Moment, World

COMPILED_AS = "ioopt.sim.batch_io.box_arrays"


def line_up_running(w: World, m: Moment) -> None:
    """Put the running jobs into ``running``; no step is marked yet."""
    w.running = [job for job in w.ends if w.jobs[job].status != ENDED] if w.buffered else [*w.ends]
    m.num_running = len(w.running)
    w.marks.clear()


def mark(w: World, k: int, code: int, time: Number) -> None:
    """The *k*-th mark: box of job *code* / 2 begins (even) or ends (odd) at *time*."""
    w.marks.append((time, code))


def sort_marks(w: World, count: int) -> None:
    """Bring the first *count* marks into the order of time, ties by code."""
    w.marks.sort()


def mark_at(w: World, k: int) -> tuple[int, Number]:
    """Code and time of a mark."""
    time, code = w.marks[k]
    return code, time


def first_step(w: World, m: Moment, free: int, room: Number) -> None:
    """The profile is one step, which begins now."""
    w.step_times, w.step_free, w.step_room = [m.now], [free], [room]
    m.steps = 1


def open_step(w: World, m: Moment, at: int, time: Number) -> None:
    """A step begins at *time* as number *at*, with what is free in the one before."""
    w.step_times.insert(at, time)
    w.step_free.insert(at, w.step_free[at - 1])
    w.step_room.insert(at, w.step_room[at - 1])
    m.steps += 1


def save_steps(w: World, m: Moment, slot: int) -> None:
    """Keep the profile in *slot* 0 or 1."""
    w.saved[slot] = [*w.step_times], [*w.step_free], [*w.step_room]


def load_steps(w: World, m: Moment, slot: int) -> None:
    """Go back to the profile kept in *slot*."""
    times, free, room = w.saved[slot]
    w.step_times, w.step_free, w.step_room = [*times], [*free], [*room]
    m.steps = len(times)


def make_orders(w: World, count: int) -> None:
    """Room for two orders of *count* jobs."""
    w.trial, w.best = [0] * count, [0] * count


def _units_of(w: World, r: ActiveRequest) -> int:
    """The units chosen for *r* as bits."""
    return ((1 << r.units) - 1) << r.block if w.partition else w.chosen[r.job]


def choose_units(w: World, m: Moment, r: ActiveRequest, start: Number, stop: Number) -> bool:
    """Choose the lowest units that are free for *r* from *start* to *stop*; False: there are none."""
    taken = 0
    tails = w.buffer.tails[: m.num_tails] if m.num_tails and w.buffer.keeps else ()
    for job in (*w.running, *tails, *w.line[: m.lined_up]):
        other = w.jobs[job]
        since = other.box_start
        if since < other.box_end > start and (since < stop or since <= start):
            taken |= _units_of(w, other) if units_held(w, other) else 0
    if w.partition:
        r.block = lowest_block(w, r.units, taken)
        return r.block >= 0
    free = ~taken & ((1 << w.total) - 1)
    if free.bit_count() < r.units:
        return False
    low, high = r.units, w.total  # the fewest first units of which enough are free
    while low < high:
        middle = (low + high) // 2
        if (free & ((1 << middle) - 1)).bit_count() < r.units:
            low = middle + 1
        else:
            high = middle
    w.chosen[r.job] = free & ((1 << low) - 1)
    return True


def units_free(w: World, r: ActiveRequest) -> bool:
    """Whether nobody is on the units chosen for *r*."""
    return not _units_of(w, r) & w.busy
