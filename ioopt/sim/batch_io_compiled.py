"""Compiled twin of :mod:`ioopt.sim.batch_io` for floats: the same rules in numba.

It scans the running jobs for the next instant, which at the sizes of real machines is cheaper than
a heap; the cost of an instant depends on what runs, not on the length of the trace.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from ioopt.errors import SimulationError
from ioopt.options import Deadline
from ioopt.sim.batch_io import OutOfTime
from ioopt.sim.batch_io_compiled_policies import CODES, NO_CONGESTION, SET_10, decide
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
    COMPUTING,
    CROWDED,
    DECISIONS,
    ENDED,
    EVENTS,
    FREE,
    FRESH,
    LOAD,
    NOW,
    OUT,
    PASS,
    QUEUE,
    RUNNING,
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
from ioopt.sim.batch_io_trace import Run, Trace

INSTANTS_PER_CALL = 1_000_000
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
    t = fixed_of(
        trace, CODES[plain], plain != policy, alpha, record_rates,
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
    if s.count[OUT]:
        raise SimulationError(f"{policy}: {s.count[OUT]} request(s) never get bandwidth")
    return Run(
        start=s.start.tolist(), end=s.end.tolist(), killed=s.killed.tolist(),
        block=s.block.tolist(), request=s.request, grant=s.grant, finish=s.finish,
        useful=float(s.value[USEFUL]), rates=spans if record_rates else None,
        events=int(s.count[EVENTS]), decisions=int(s.count[DECISIONS]), engine="compiled",
    )  # fmt: skip


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
    for k in range(s.count[RUNNING]):
        job = s.running[k]
        instant = min(instant, s.next_time[job])
        if t.kill:
            instant = min(instant, s.start[job] + t.walltime[job])
    return instant


@njit(cache=True)
def apply_instant(t: Fixed, s: Moving, until: float) -> None:
    """Completions, kills and arrivals, in the order of rule 1; ended jobs leave from the back."""
    for k in range(s.count[RUNNING] - 1, -1, -1):
        job = s.running[k]
        if s.status[job] == TRANSFERRING and s.next_time[job] <= until:
            finish(t, s, job)
    for k in range(s.count[RUNNING] - 1, -1, -1):
        job = s.running[k]
        while s.status[job] == COMPUTING and s.next_time[job] <= until:
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
            s.next_time[job] = s.value[NOW] + seconds
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
def issue(t: Fixed, s: Moving, job: int, place: int) -> None:
    """A request becomes outstanding, in FCFS order (rule 10)."""
    now, volume = s.value[NOW], t.volume[place]
    s.status[job] = TRANSFERRING
    s.next_time[job] = np.inf
    s.base[job] = s.left[job] = volume
    s.moved[job] = s.rate[job] = 0.0
    s.granted[job] = 0
    s.anchor[job] = s.asked[job] = s.request[place] = now
    s.count[LOAD] += t.units[job]
    s.count[CHANGED] = 1
    s.fresh[s.count[FRESH]] = job
    s.count[FRESH] += 1
    k = s.count[OUT]
    while k > 0:
        other = s.out[k - 1]
        if s.asked[other] < now or t.rank[other] < t.rank[job]:
            break
        s.out[k] = other
        k -= 1
    s.out[k] = job
    s.count[OUT] += 1


@njit(cache=True)
def leave(t: Fixed, s: Moving, job: int) -> None:
    """The request of *job* is no longer outstanding."""
    settle(t, s, job)
    s.count[LOAD] -= t.units[job]
    s.count[CHANGED] = 1
    count = s.count[OUT]
    k = 0
    while s.out[k] != job:
        k += 1
    for p in range(k, count - 1):
        s.out[p] = s.out[p + 1]
    s.count[OUT] = count - 1


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
    s.next_time[job] = np.inf
    s.count[PASS] = 1
    s.count[RUNNING] -= 1
    last = s.running[s.count[RUNNING]]
    s.running[s.slot[job]] = last
    s.slot[last] = s.slot[job]
    if t.closed:
        vacate(t, s, job)


@njit(cache=True)
def apply_decision(t: Fixed, s: Moving) -> None:
    """One decision (rule 9); while all fit, policies that then grant every peak are not asked."""
    count = s.count[OUT]
    fits = s.count[LOAD] <= t.capacity_units or count <= 1
    if t.policy == NO_CONGESTION or (fits and t.policy != SET_10):
        jobs = s.out[:count] if s.count[CROWDED] else s.fresh[: s.count[FRESH]]
        for job in jobs:
            if s.status[job] == TRANSFERRING and s.rate[job] != t.peak[job]:
                set_rate(t, s, job, t.peak[job])
        s.count[CROWDED] = 0
        return
    s.count[CROWDED] = 1
    for k in range(count):
        job = s.out[k]
        if s.rate[job] > 0:
            left = s.base[job] - s.rate[job] * (s.value[NOW] - s.anchor[job])
            s.left[job] = max(left, 0.0)
            s.moved[job] = t.volume[s.phase[job]] - s.left[job]
    rates = decide(t, s)
    for k in range(count):
        if rates[k] != s.rate[s.out[k]]:
            set_rate(t, s, s.out[k], rates[k])


@njit(cache=True)
def set_rate(t: Fixed, s: Moving, job: int, rate: float) -> None:
    """From now on *job* transfers at *rate*."""
    settle(t, s, job)
    s.rate[job] = rate
    s.next_time[job] = s.value[NOW] + s.base[job] / rate if rate > 0 else np.inf
    if rate > 0 and not s.granted[job]:
        s.granted[job] = 1
        s.grant[s.phase[job]] = s.value[NOW]


@njit(cache=True)
def settle(t: Fixed, s: Moving, job: int) -> None:
    """Book what *job* moved since its rate last changed."""
    rate, since, now = s.rate[job], s.anchor[job], s.value[NOW]
    if rate > 0 and now > since:
        s.base[job] = max(s.base[job] - rate * (now - since), 0.0)
        s.left[job] = s.base[job]
        s.moved[job] = t.volume[s.phase[job]] - s.base[job]
        if t.record:
            k = s.count[SPANS]
            s.span_place[k], s.span_rate[k] = s.phase[job], rate
            s.span_since[k], s.span_until[k] = since, now
            s.count[SPANS] = k + 1
        add_useful(t, s, job, since, now, rate / t.peak[job])
    s.anchor[job] = now
