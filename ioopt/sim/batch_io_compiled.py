"""Compiled twin of :mod:`ioopt.sim.batch_io` for floats: the same rules in numba.

It reads the next times of the running jobs in one piece, which at the sizes of real machines is
cheaper than a heap; the cost of an instant depends on what runs and waits, not on the trace's length.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from ioopt.errors import SimulationError
from ioopt.options import Deadline
from ioopt.sim.batch_io import OutOfTime
from ioopt.sim.batch_io_compiled_policies import (
    BASE_LINE,
    CODES,
    READS_PROGRESS,
)
from ioopt.sim.batch_io_compiled_queue import (
    drop_started,
    find_place,
    occupy,
    queue_order,
    reserve_block,
    reserve_flat,
    vacate,
)
from ioopt.sim.batch_io_compiled_state import (
    ARRIVED,
    CHANGED,
    CLOCK,
    COMPUTING,
    DECISIONS,
    ENDED,
    EVENTS,
    FREE,
    FRESH,
    NOW,
    OUT,
    PASS,
    QUEUE,
    RHO,
    RUNNING,
    SINCE,
    SPANS,
    TRANSFERRING,
    USEFUL,
    Fixed,
    Moving,
    add_useful,
    fixed_of,
    moving_of,
    tolerance,
)
from ioopt.sim.batch_io_compiled_storage import apply_decision, issue, leave, set_clock
from ioopt.sim.batch_io_storage import history
from ioopt.sim.batch_io_trace import Run, Trace

INSTANTS_PER_CALL = 100_000
"""Instants between two looks at the deadline."""


def simulate_compiled(
    trace: Trace,
    policy: str,
    *,
    alpha: float = 0.5,
    set_numbers: Sequence[int] = (),
    record_rates: bool = False,
    starts: tuple[Sequence[float], Sequence[int]] | None = None,
    deadline: Deadline | None = None,
) -> Run:
    """As :func:`ioopt.sim.batch_io.simulate_trace`, for the float policy of that name.

    *set_numbers* are the sets of rule 16 by job, needed by ``set-10`` only.
    """
    plain = policy.removesuffix("+top")
    code = CODES[plain]
    t = fixed_of(
        trace, code, plain != policy, code == BASE_LINE, code in READS_PROGRESS, alpha, record_rates,
        set_numbers or [0] * len(trace), starts,
    )  # fmt: skip
    s = moving_of(trace, record_rates, None if starts is None else starts[1])
    spans: list[tuple[int, float, float, float]] = []
    while advance(t, s, INSTANTS_PER_CALL):
        _drain(s, spans)
        if deadline and deadline.expired():
            ended = int((s.status == ENDED).sum())
            raise OutOfTime(f"out of time with {ended} of {len(trace)} jobs ended")
    _drain(s, spans)
    if t.shared and record_rates:
        spans = _spread(trace, s, spans)
    if s.count[OUT]:
        raise SimulationError(f"{policy}: {s.count[OUT]} request(s) never get bandwidth")
    return Run(
        start=s.start.tolist(), end=s.end.tolist(), killed=s.killed.tolist(),
        block=s.block.tolist(), request=s.request, grant=s.grant, finish=s.finish,
        useful=float(s.value[USEFUL]), rates=spans if record_rates else None,
        events=int(s.count[EVENTS]), decisions=int(s.count[DECISIONS]), engine="compiled",
    )  # fmt: skip


def _spread(
    trace: Trace, s: Moving, changes: list[tuple[int, float, float, float]]
) -> list[tuple[int, float, float, float]]:
    """Spans of every request from the changes of rho."""
    times, rhos = [change[1] for change in changes], [change[3] for change in changes]
    spans = []
    for j, nodes in enumerate(trace.allocated):
        for place in range(trace.offset[j], trace.offset[j + 1]):
            if s.grant[place] == s.grant[place]:
                known = s.finish[place] == s.finish[place]
                last = float(s.finish[place] if known else s.end[j])
                for since, until, rho in history(times, rhos, float(s.grant[place]), last):
                    spans.append((place, since, until, rho * nodes))
    return spans


def _drain(s: Moving, spans: list[tuple[int, float, float, float]]) -> None:
    count = int(s.count[SPANS])
    columns = (s.span_place, s.span_since, s.span_until, s.span_rate)
    spans.extend(zip(*(column[:count].tolist() for column in columns)))
    s.count[SPANS] = 0


@njit(cache=True)
def advance(t: Fixed, s: Moving, instants: int) -> bool:
    """Step at most that many instants; False when nothing is left to happen."""
    for _ in range(instants):
        if t.record and s.count[SPANS] + 4 * (s.count[RUNNING] + 64) > len(s.span_place):
            return True
        instant = next_instant(t, s)
        if instant == np.inf:
            return False
        until = instant + tolerance(instant)
        k = s.count[ARRIVED]
        while k < len(t.arrivals) and t.arrival_times[k] <= until:
            instant = max(instant, t.arrival_times[k])
            k += 1
        s.value[NOW] = instant
        s.count[EVENTS] += 1
        apply_instant(t, s, instant + tolerance(instant))
        if s.count[PASS] and t.closed:
            while s.count[QUEUE] and s.count[FREE] and batch_pass(t, s):
                pass
        s.count[PASS] = 0
        if s.count[CHANGED]:
            s.count[CHANGED] = 0
            s.count[DECISIONS] += 1
            apply_decision(t, s)
        s.count[FRESH] = 0
    return True


@njit(cache=True)
def next_instant(t: Fixed, s: Moving) -> float:
    """When something happens next; infinity when nothing will."""
    instant = np.inf
    if s.count[ARRIVED] < len(t.arrivals):
        instant = t.arrival_times[s.count[ARRIVED]]
    count = s.count[RUNNING]
    for k in range(count):
        instant = min(instant, s.next_time[k])
    if t.shared and s.value[RHO] > 0:
        target = np.inf
        for k in range(count):
            target = min(target, s.target[k])
        finish = s.value[SINCE] + (target - s.value[CLOCK]) / s.value[RHO]
        instant = min(instant, finish)
    if t.kill:
        for k in range(count):
            job = s.running[k]
            instant = min(instant, s.start[job] + t.walltime[job])
    return instant


@njit(cache=True)
def apply_instant(t: Fixed, s: Moving, until: float) -> None:
    """Completions, kills and arrivals, in the order of rule 1."""
    target = -np.inf
    if t.shared:
        set_clock(t, s)
        target = s.value[CLOCK] + s.value[RHO] * (until - s.value[NOW])
    count = 0
    for k in range(s.count[RUNNING]):
        if s.next_time[k] <= until or s.target[k] <= target:
            s.due[count] = s.running[k]
            count += 1
    for k in range(count):
        if s.status[s.due[k]] == TRANSFERRING:
            finish(t, s, s.due[k])
    for k in range(count):
        job = s.due[k]
        while s.status[job] == COMPUTING and s.next_time[s.slot[job]] <= until:
            issue_or_go_on(t, s, job)
    if t.kill:
        for k in range(s.count[RUNNING] - 1, -1, -1):
            job = s.running[k]
            if s.start[job] + t.walltime[job] <= until:
                kill(t, s, job)
    while s.count[ARRIVED] < len(t.arrivals):
        if t.arrival_times[s.count[ARRIVED]] > s.value[NOW]:
            break
        job = t.arrivals[s.count[ARRIVED]]
        s.count[ARRIVED] += 1
        s.count[PASS] = 1
        if t.closed:
            s.waiting[s.count[QUEUE]] = job
            s.count[QUEUE] += 1
        else:
            start(t, s, job)


@njit(cache=True)
def batch_pass(t: Fixed, s: Moving) -> bool:
    """One pass over the queue; True when a job that it started ended at once (rules 19 and 20)."""
    again = False
    reserved, until, extra, avoid, length = False, 0.0, 0, 0, 0
    for job in queue_order(t, s):
        units = t.units[job]
        if s.count[FREE] == 0:
            break
        if not reserved:
            place = find_place(t, s, units, 0, 0)
            if place < 0:
                if not t.easy:
                    break
                reserved = True
                if t.partition:
                    until, avoid = reserve_block(t, s, units)
                    length = units
                else:
                    until, extra = reserve_flat(t, s, units)
                continue
        else:
            short = s.value[NOW] + t.walltime[job] <= until + tolerance(until)
            place = find_place(t, s, units, avoid, 0 if short else length)
            if place < 0 or (not t.partition and not short and units > extra):
                continue
            if not t.partition and not short:
                extra -= units
        occupy(t, s, job, place)
        start(t, s, job)
        again |= s.status[job] == ENDED
    drop_started(s)
    return again


@njit(cache=True)
def start(t: Fixed, s: Moving, job: int) -> None:
    """Start *job* now."""
    s.start[job] = s.value[NOW]
    s.slot[job] = s.count[RUNNING]
    s.running[s.count[RUNNING]] = job
    s.count[RUNNING] += 1
    begin_phase(t, s, job)


@njit(cache=True)
def begin_phase(t: Fixed, s: Moving, job: int) -> None:
    """Go to the next compute or request of *job*, or end it (rule 3)."""
    while True:
        place = s.phase[job]
        if place == t.offset[job + 1]:
            end(t, s, job)
            return
        seconds = t.compute[place]
        if seconds > 0:
            s.compute_so_far[job] += seconds
            s.began[job] = s.value[NOW]
            s.status[job] = COMPUTING
            s.next_time[s.slot[job]] = s.value[NOW] + seconds
            return
        if t.volume[place] > 0:
            issue(t, s, job, place)
            return
        s.phase[job] += 1


@njit(cache=True)
def issue_or_go_on(t: Fixed, s: Moving, job: int) -> None:
    """The compute of a phase ended."""
    place = s.phase[job]
    add_useful(t, s, job, s.began[job], s.value[NOW], 1.0)
    if t.volume[place] > 0:
        issue(t, s, job, place)
    else:
        s.phase[job] += 1
        begin_phase(t, s, job)


@njit(cache=True)
def finish(t: Fixed, s: Moving, job: int) -> None:
    """The request of *job* is done."""
    leave(t, s, job)
    place = s.phase[job]
    s.finish[place] = s.value[NOW]
    s.ideal_so_far[job] += t.volume[place] / t.peak[job]
    s.phase[job] += 1
    begin_phase(t, s, job)


@njit(cache=True)
def kill(t: Fixed, s: Moving, job: int) -> None:
    """The walltime of *job* is over (rule 21)."""
    if s.status[job] == TRANSFERRING:
        leave(t, s, job)
    else:
        add_useful(t, s, job, s.began[job], s.value[NOW], 1.0)
    s.killed[job] = 1
    end(t, s, job)


@njit(cache=True)
def end(t: Fixed, s: Moving, job: int) -> None:
    """*job* leaves the machine; the last running job takes its slot."""
    s.end[job] = s.value[NOW]
    s.status[job] = ENDED
    s.count[PASS] = 1
    s.count[RUNNING] -= 1
    slot, last_slot = s.slot[job], s.count[RUNNING]
    last = s.running[last_slot]
    s.running[slot], s.slot[last] = last, slot
    s.next_time[slot], s.target[slot] = s.next_time[last_slot], s.target[last_slot]
    s.next_time[last_slot] = s.target[last_slot] = np.inf
    if t.closed:
        vacate(t, s, job)
