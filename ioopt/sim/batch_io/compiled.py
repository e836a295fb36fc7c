"""Compiled twin of :mod:`ioopt.sim.batch_io.simulate` for floats: the same rules in numba.

It reads the next times of the running jobs in one piece, which at the sizes of real machines is
cheaper than a heap; the cost of an instant depends on what runs and waits, not on the trace's length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ioopt.decisions.batch_io import BASE_LINE, FILL, MAX_UTIL, IoPolicy, Twin
from ioopt.errors import OutOfTime, SimulationError
from ioopt.options import Deadline
from ioopt.problems.batch_io import BatchIoProblem, Job, Machine, Phase
from ioopt.sim.batch_io.compiled_policies import READS_PROGRESS
from ioopt.sim.batch_io.compiled_queue import (
    drop_started,
    find_place,
    occupy,
    reserve_block,
    reserve_flat,
    smallest,
    sort_queue,
    vacate,
)
from ioopt.sim.batch_io.compiled_state import (
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
    L,
    Moving,
    P,
    W,
    add_useful,
    due_at,
    entry,
    fixed_of,
    kernel,
    least,
    moving_of,
    tolerance,
)
from ioopt.sim.batch_io.compiled_storage import apply_decision, issue, leave, set_clock
from ioopt.sim.batch_io.storage import history
from ioopt.sim.batch_io.trace import Run, Trace

INSTANTS_PER_CALL = 4_000
"""Instants between two looks at the deadline."""


def simulate_compiled(
    trace: Trace,
    policy: IoPolicy,
    *,
    record_rates: bool = False,
    starts: tuple[Sequence[float], Sequence[int]] | None = None,
    deadline: Deadline | None = None,
) -> Run:
    """As :func:`ioopt.sim.batch_io.simulate.simulate_trace`, in floats, for a policy with a twin."""
    twin, jobs = policy.twin, len(trace)
    assert twin is not None
    code, set_of = twin.kernel, twin.set_of
    sets = [set_of(w) if w else 0 for w in trace.iteration] if set_of else []
    t = fixed_of(
        trace, code, twin.top, code == BASE_LINE, code in READS_PROGRESS, record_rates,
        starts is None,
    )  # fmt: skip
    s = moving_of(trace, record_rates, sets, twin.alpha, code == MAX_UTIL, starts)
    spans: list[tuple[int, float, float, float]] = []
    while advance(t, s, INSTANTS_PER_CALL):
        _drain(s, spans)
        if deadline and deadline.expired():
            ended = int((s.i[:jobs, J.status] == ENDED).sum())
            raise OutOfTime(f"out of time with {ended} of {jobs} jobs finished")
    _drain(s, spans)
    if t.shared and record_rates:
        spans = _spread(trace, s, spans)
    if s.count[OUT]:
        raise SimulationError(f"{policy.name}: {s.count[OUT]} request(s) never get bandwidth")
    return Run(
        start=s.f[:jobs, F.start].tolist(), end=s.f[:jobs, F.end].tolist(),
        killed=s.i[:jobs, J.killed].tolist(), block=s.i[:jobs, J.block].tolist(),
        request=s.p[:, P.request], grant=s.p[:, P.grant],
        finish=s.p[:, P.finish], useful=float(s.value[USEFUL]),
        rates=spans if record_rates else None, events=int(s.count[EVENTS]),
        decisions=int(s.count[DECISIONS]), engine="compiled",
    )  # fmt: skip


def compile_kernels() -> None:
    """Compile the kernel, or load it, by a run of one job."""
    machine = Machine(
        nodes=1, unit_nodes=1, allocation="flat", node_bytes_per_second=1,
        storage_bytes_per_second=1,
    )  # fmt: skip
    phases = (Phase(compute_seconds=1, io_bytes=1),)
    job = Job(id=0, submit_seconds=0, nodes=1, walltime_seconds=9, phases=phases)
    nobody = IoPolicy("fill", lambda view: [], twin=Twin(FILL))
    simulate_compiled(Trace.of(BatchIoProblem(name="one", machine=machine, jobs=(job,))), nobody)


def _spread(
    trace: Trace, s: Moving, changes: list[tuple[int, float, float, float]]
) -> list[tuple[int, float, float, float]]:
    """Spans of every request from the changes of rho."""
    times, rhos = [change[1] for change in changes], [change[3] for change in changes]
    spans = []
    for j, nodes in enumerate(trace.allocated):
        for place in range(trace.offset[j], trace.offset[j + 1]):
            if not np.isnan(s.p[place, P.grant]):
                known = not np.isnan(s.p[place, P.finish])
                last = float(s.p[place, P.finish] if known else s.f[j, F.end])
                for since, until, rho in history(times, rhos, float(s.p[place, P.grant]), last):
                    spans.append((place, since, until, rho * nodes))
    return spans


def _drain(s: Moving, spans: list[tuple[int, float, float, float]]) -> None:
    """Move the recorded spans out of the arrays, which are then empty."""
    places, *numbers = (row[: s.count[SPANS]].tolist() for row in s.spans)
    spans.extend(zip(map(int, places), *numbers))
    s.count[SPANS] = 0


@entry
def advance(t: Fixed, s: Moving, instants: int) -> bool:
    """Step at most that many instants; False when nothing is left to happen."""
    for _ in range(instants):
        if t.record and s.count[SPANS] + 4 * (s.count[RUNNING] + 64) > s.spans.shape[1]:
            return True
        instant = next_instant(t, s)
        if instant == math.inf:
            return False
        until = instant + tolerance(instant)
        k = s.count[ARRIVED]
        if k < t.jobs and s.w[W.arrival_times, k] <= until:
            last = until
            while k < t.jobs and s.w[W.arrival_times, k] <= last:
                instant = max(instant, s.w[W.arrival_times, k])
                k += 1
            until = instant + tolerance(instant)
        s.value[NOW] = instant
        s.count[EVENTS] += 1
        apply_instant(t, s, until)
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


@kernel
def next_instant(t: Fixed, s: Moving) -> float:
    """When something happens next; infinity when nothing will."""
    instant = math.inf
    if s.count[ARRIVED] < t.jobs:
        instant = s.w[W.arrival_times, s.count[ARRIVED]]
    count = s.count[RUNNING]
    instant = min(instant, least(s.blocks[W.next_time], count))
    if t.shared and s.value[RHO] > 0:
        target = least(s.blocks[W.target], count)
        finish = s.value[SINCE] + (target - s.value[CLOCK]) / s.value[RHO]
        instant = min(instant, finish)
    if t.kill:
        for k in range(count):
            job = s.l[L.running, k]
            instant = min(instant, s.f[job, F.start] + s.f[job, F.walltime])
    return instant


@kernel
def collect(t: Fixed, s: Moving, until: float) -> int:
    """Put the running jobs whose time or target has come into ``L.due``; how many."""
    times, targets, count = s.w[W.next_time], s.w[W.target], s.count[RUNNING]
    clock, slack = 0.0, -math.inf
    due, place = due_at(times, count, 0.0, until)
    if t.shared:
        set_clock(t, s)
        clock, slack = s.value[CLOCK], s.value[RHO] * (until - s.value[NOW])
        more, other = due_at(targets, count, clock, slack)
        due, place = due + more, place + other
    if due == 1:
        s.l[L.due, 0] = s.l[L.running, place]
        return 1
    found, k = 0, 0
    while found < due:
        if times[k] <= until or targets[k] - clock <= slack:
            s.l[L.due, found] = s.l[L.running, k]
            found += 1
        k += 1
    return due


@kernel
def apply_instant(t: Fixed, s: Moving, until: float) -> None:
    """Completions, kills and arrivals, in the order of rule 1."""
    count = collect(t, s, until)
    for k in range(count):
        if s.i[s.l[L.due, k], J.status] == TRANSFERRING:
            finish(t, s, s.l[L.due, k])
    for k in range(count):
        job = s.l[L.due, k]
        while s.i[job, J.status] == COMPUTING and s.w[W.next_time, s.i[job, J.slot]] <= until:
            issue_or_go_on(t, s, job)
    if t.kill:
        for k in range(s.count[RUNNING] - 1, -1, -1):
            job = s.l[L.running, k]
            if s.f[job, F.start] + s.f[job, F.walltime] <= until:
                kill(t, s, job)
    while s.count[ARRIVED] < t.jobs:
        if s.w[W.arrival_times, s.count[ARRIVED]] > s.value[NOW]:
            break
        job = s.l[L.arrivals, s.count[ARRIVED]]
        s.count[ARRIVED] += 1
        s.count[PASS] = 1
        if t.closed:
            s.l[L.waiting, s.count[QUEUE]] = job
            s.count[QUEUE] += 1
        else:
            start(t, s, job)


@kernel
def batch_pass(t: Fixed, s: Moving) -> bool:
    """One pass over the queue; True when a job that it started ended at once (rules 19 and 20).

    A pass that can start nothing is left at once. On partitions a size that found no block rules
    out the larger ones: aligned blocks nest.
    """
    least_units = smallest(s)
    if find_place(t, s, least_units, 0, 0) < 0:
        return False
    sort_queue(t, s)
    again, reserved, until, extra, avoid, length = False, False, 0.0, 0, 0, 0
    no_short, no_long = t.total_units + 1, t.total_units + 1
    for k in range(s.count[QUEUE]):
        if s.count[FREE] < least_units:
            break
        job = s.l[L.waiting, k]
        units = s.i[job, J.units]
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
                until += tolerance(until)
                continue
        else:
            short = s.value[NOW] + s.f[job, F.walltime] <= until
            if units >= (no_short if short else no_long):
                continue
            place = find_place(t, s, units, avoid, 0 if short else length)
            if place < 0 or (not t.partition and not short and units > extra):
                if t.partition:
                    no_short, no_long = (units, no_long) if short else (no_short, units)
                continue
            if not t.partition and not short:
                extra -= units
        occupy(t, s, job, place)
        start(t, s, job)
        again |= s.i[job, J.status] == ENDED
    drop_started(s)
    return again


@kernel
def start(t: Fixed, s: Moving, job: int) -> None:
    """Start *job* now."""
    s.f[job, F.start] = s.value[NOW]
    s.i[job, J.slot] = s.count[RUNNING]
    s.l[L.running, s.count[RUNNING]] = job
    s.count[RUNNING] += 1
    begin_phase(t, s, job)


@kernel
def begin_phase(t: Fixed, s: Moving, job: int) -> None:
    """Go to the next compute or request of *job*, or end it (rule 3)."""
    while True:
        place = s.i[job, J.phase]
        if place == s.i[job + 1, J.offset]:
            end(t, s, job)
            return
        seconds = s.p[place, P.compute]
        if seconds > 0:
            s.f[job, F.compute_so_far] += seconds
            s.f[job, F.began] = s.value[NOW]
            s.i[job, J.status] = COMPUTING
            s.w[W.next_time, s.i[job, J.slot]] = s.value[NOW] + seconds
            return
        if s.p[place, P.volume] > 0:
            issue(t, s, job, place)
            return
        s.i[job, J.phase] += 1


@kernel
def issue_or_go_on(t: Fixed, s: Moving, job: int) -> None:
    """The compute of a phase ended."""
    place = s.i[job, J.phase]
    add_useful(t, s, job, s.f[job, F.began], s.value[NOW], 1.0)
    if s.p[place, P.volume] > 0:
        issue(t, s, job, place)
    else:
        s.i[job, J.phase] += 1
        begin_phase(t, s, job)


@kernel
def finish(t: Fixed, s: Moving, job: int) -> None:
    """The request of *job* is done."""
    leave(t, s, job)
    place = s.i[job, J.phase]
    s.p[place, P.finish] = s.value[NOW]
    s.f[job, F.ideal_so_far] += s.p[place, P.volume] / s.f[job, F.peak]
    s.i[job, J.phase] += 1
    begin_phase(t, s, job)


@kernel
def kill(t: Fixed, s: Moving, job: int) -> None:
    """The walltime of *job* is over (rule 21)."""
    if s.i[job, J.status] == TRANSFERRING:
        leave(t, s, job)
    else:
        add_useful(t, s, job, s.f[job, F.began], s.value[NOW], 1.0)
    s.i[job, J.killed] = 1
    end(t, s, job)


@kernel
def end(t: Fixed, s: Moving, job: int) -> None:
    """*job* leaves the machine; the last running job takes its slot."""
    s.f[job, F.end] = s.value[NOW]
    s.i[job, J.status] = ENDED
    s.count[PASS] = 1
    s.count[RUNNING] -= 1
    slot, last_slot = s.i[job, J.slot], s.count[RUNNING]
    last = s.l[L.running, last_slot]
    s.l[L.running, slot], s.i[last, J.slot] = last, slot
    s.w[W.next_time, slot], s.w[W.target, slot] = (
        s.w[W.next_time, last_slot],
        s.w[W.target, last_slot],
    )
    s.w[W.next_time, last_slot] = s.w[W.target, last_slot] = math.inf
    if t.closed:
        vacate(t, s, job)
