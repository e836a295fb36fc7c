"""Compiled twin of :mod:`ioopt.sim.batch_io` for floats: the same rules in numba.

It reads the next times of the running jobs in one piece, which at the sizes of real machines is
cheaper than a heap; the cost of an instant depends on what runs and waits, not on the trace's length.
numba notices changes of this file only: after a change in another ``batch_io_compiled_*`` module
delete the ``*.nbi`` files in ``__pycache__``.
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
    F,
    Fixed,
    J,
    Moving,
    P,
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
    code, jobs = CODES[plain], len(trace)
    t = fixed_of(
        trace, code, plain != policy, code == BASE_LINE, code in READS_PROGRESS, alpha,
        record_rates, starts is None,
    )  # fmt: skip
    s = moving_of(trace, record_rates, set_numbers or [0] * len(trace), starts)
    spans: list[tuple[int, float, float, float]] = []
    while advance(t, s, INSTANTS_PER_CALL):
        _drain(s, spans)
        if deadline and deadline.expired():
            ended = int((s.i[J.status, :jobs] == ENDED).sum())
            raise OutOfTime(f"out of time with {ended} of {jobs} jobs ended")
    _drain(s, spans)
    if t.shared and record_rates:
        spans = _spread(trace, s, spans)
    if s.count[OUT]:
        raise SimulationError(f"{policy}: {s.count[OUT]} request(s) never get bandwidth")
    return Run(
        start=s.f[F.start, :jobs].tolist(), end=s.f[F.end, :jobs].tolist(),
        killed=s.i[J.killed, :jobs].tolist(), block=s.i[J.block, :jobs].tolist(),
        request=s.p[P.request], grant=s.p[P.grant],
        finish=s.p[P.finish], useful=float(s.value[USEFUL]),
        rates=spans if record_rates else None, events=int(s.count[EVENTS]),
        decisions=int(s.count[DECISIONS]), engine="compiled",
    )  # fmt: skip


def _spread(
    trace: Trace, s: Moving, changes: list[tuple[int, float, float, float]]
) -> list[tuple[int, float, float, float]]:
    """Spans of every request from the changes of rho."""
    times, rhos = [change[1] for change in changes], [change[3] for change in changes]
    spans = []
    for j, nodes in enumerate(trace.allocated):
        for place in range(trace.offset[j], trace.offset[j + 1]):
            if not np.isnan(s.p[P.grant, place]):
                known = not np.isnan(s.p[P.finish, place])
                last = float(s.p[P.finish, place] if known else s.f[F.end, j])
                for since, until, rho in history(times, rhos, float(s.p[P.grant, place]), last):
                    spans.append((place, since, until, rho * nodes))
    return spans


def _drain(s: Moving, spans: list[tuple[int, float, float, float]]) -> None:
    places, *numbers = (row[: s.count[SPANS]].tolist() for row in s.spans)
    spans.extend(zip(map(int, places), *numbers))
    s.count[SPANS] = 0


@njit(cache=True)
def advance(t: Fixed, s: Moving, instants: int) -> bool:
    """Step at most that many instants; False when nothing is left to happen."""
    for _ in range(instants):
        if t.record and s.count[SPANS] + 4 * (s.count[RUNNING] + 64) > s.spans.shape[1]:
            return True
        instant = next_instant(t, s)
        if instant == np.inf:
            return False
        until = instant + tolerance(instant)
        k = s.count[ARRIVED]
        while k < t.jobs and s.f[F.arrival_times, k] <= until:
            instant = max(instant, s.f[F.arrival_times, k])
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


@njit(cache=True, inline="always")
def least(values: np.ndarray, count: int, least: float) -> float:
    """The least of the first *count* values and *least*."""
    for k in range(count):
        if values[k] < least:
            least = values[k]
    return least


@njit(cache=True)
def collect(
    due: np.ndarray, jobs: np.ndarray, times: np.ndarray, targets: np.ndarray, count: int,
    until: float, target: float,
) -> int:  # fmt: skip
    """Put those of the first *count* jobs whose time or target has come into *due*; how many."""
    found = 0
    for k in range(count):
        if times[k] <= until or targets[k] <= target:
            due[found] = jobs[k]
            found += 1
    return found


@njit(cache=True, inline="always")
def next_instant(t: Fixed, s: Moving) -> float:
    """When something happens next; infinity when nothing will."""
    instant = np.inf
    if s.count[ARRIVED] < t.jobs:
        instant = s.f[F.arrival_times, s.count[ARRIVED]]
    count = s.count[RUNNING]
    instant = least(s.f[F.next_time], count, instant)
    if t.shared and s.value[RHO] > 0:
        target = least(s.f[F.target], count, np.inf)
        finish = s.value[SINCE] + (target - s.value[CLOCK]) / s.value[RHO]
        instant = min(instant, finish)
    if t.kill:
        for k in range(count):
            job = s.i[J.running, k]
            instant = min(instant, s.f[F.start, job] + s.f[F.walltime, job])
    return instant


@njit(cache=True, inline="always")
def apply_instant(t: Fixed, s: Moving, until: float) -> None:
    """Completions, kills and arrivals, in the order of rule 1."""
    target = -np.inf
    if t.shared:
        set_clock(t, s)
        target = s.value[CLOCK] + s.value[RHO] * (until - s.value[NOW])
    count = collect(
        s.i[J.due], s.i[J.running], s.f[F.next_time], s.f[F.target], s.count[RUNNING], until, target
    )
    for k in range(count):
        if s.i[J.status, s.i[J.due, k]] == TRANSFERRING:
            finish(t, s, s.i[J.due, k])
    for k in range(count):
        job = s.i[J.due, k]
        while s.i[J.status, job] == COMPUTING and s.f[F.next_time, s.i[J.slot, job]] <= until:
            issue_or_go_on(t, s, job)
    if t.kill:
        for k in range(s.count[RUNNING] - 1, -1, -1):
            job = s.i[J.running, k]
            if s.f[F.start, job] + s.f[F.walltime, job] <= until:
                kill(t, s, job)
    while s.count[ARRIVED] < t.jobs:
        if s.f[F.arrival_times, s.count[ARRIVED]] > s.value[NOW]:
            break
        job = s.i[J.arrivals, s.count[ARRIVED]]
        s.count[ARRIVED] += 1
        s.count[PASS] = 1
        if t.closed:
            s.i[J.waiting, s.count[QUEUE]] = job
            s.count[QUEUE] += 1
        else:
            start(t, s, job)


@njit(cache=True)
def batch_pass(t: Fixed, s: Moving) -> bool:
    """One pass over the queue; True when a job that it started ended at once (rules 19 and 20)."""
    again = False
    reserved, until, extra, avoid, length = False, 0.0, 0, 0, 0
    for job in queue_order(t, s):
        units = s.i[J.units, job]
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
            short = s.value[NOW] + s.f[F.walltime, job] <= until + tolerance(until)
            place = find_place(t, s, units, avoid, 0 if short else length)
            if place < 0 or (not t.partition and not short and units > extra):
                continue
            if not t.partition and not short:
                extra -= units
        occupy(t, s, job, place)
        start(t, s, job)
        again |= s.i[J.status, job] == ENDED
    drop_started(s)
    return again


@njit(cache=True)
def start(t: Fixed, s: Moving, job: int) -> None:
    """Start *job* now."""
    s.f[F.start, job] = s.value[NOW]
    s.i[J.slot, job] = s.count[RUNNING]
    s.i[J.running, s.count[RUNNING]] = job
    s.count[RUNNING] += 1
    begin_phase(t, s, job)


@njit(cache=True, inline="always")
def begin_phase(t: Fixed, s: Moving, job: int) -> None:
    """Go to the next compute or request of *job*, or end it (rule 3)."""
    while True:
        place = s.i[J.phase, job]
        if place == s.i[J.offset, job + 1]:
            end(t, s, job)
            return
        seconds = s.p[P.compute, place]
        if seconds > 0:
            s.f[F.compute_so_far, job] += seconds
            s.f[F.began, job] = s.value[NOW]
            s.i[J.status, job] = COMPUTING
            s.f[F.next_time, s.i[J.slot, job]] = s.value[NOW] + seconds
            return
        if s.p[P.volume, place] > 0:
            issue(t, s, job, place)
            return
        s.i[J.phase, job] += 1


@njit(cache=True, inline="always")
def issue_or_go_on(t: Fixed, s: Moving, job: int) -> None:
    """The compute of a phase ended."""
    place = s.i[J.phase, job]
    add_useful(t, s, job, s.f[F.began, job], s.value[NOW], 1.0)
    if s.p[P.volume, place] > 0:
        issue(t, s, job, place)
    else:
        s.i[J.phase, job] += 1
        begin_phase(t, s, job)


@njit(cache=True, inline="always")
def finish(t: Fixed, s: Moving, job: int) -> None:
    """The request of *job* is done."""
    leave(t, s, job)
    place = s.i[J.phase, job]
    s.p[P.finish, place] = s.value[NOW]
    s.f[F.ideal_so_far, job] += s.p[P.volume, place] / s.f[F.peak, job]
    s.i[J.phase, job] += 1
    begin_phase(t, s, job)


@njit(cache=True)
def kill(t: Fixed, s: Moving, job: int) -> None:
    """The walltime of *job* is over (rule 21)."""
    if s.i[J.status, job] == TRANSFERRING:
        leave(t, s, job)
    else:
        add_useful(t, s, job, s.f[F.began, job], s.value[NOW], 1.0)
    s.i[J.killed, job] = 1
    end(t, s, job)


@njit(cache=True, inline="always")
def end(t: Fixed, s: Moving, job: int) -> None:
    """*job* leaves the machine; the last running job takes its slot."""
    s.f[F.end, job] = s.value[NOW]
    s.i[J.status, job] = ENDED
    s.count[PASS] = 1
    s.count[RUNNING] -= 1
    slot, last_slot = s.i[J.slot, job], s.count[RUNNING]
    last = s.i[J.running, last_slot]
    s.i[J.running, slot], s.i[J.slot, last] = last, slot
    s.f[F.next_time, slot], s.f[F.target, slot] = (
        s.f[F.next_time, last_slot],
        s.f[F.target, last_slot],
    )
    s.f[F.next_time, last_slot] = s.f[F.target, last_slot] = np.inf
    if t.closed:
        vacate(t, s, job)
