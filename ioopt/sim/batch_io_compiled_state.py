"""Arrays of the compiled batch I/O engine, and helpers that its parts share.

Everything lives in two named tuples of arrays and scalars, so a run can stop between two instants
and go on later: that is how the rate buffer is emptied and the deadline looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ioopt.sim.batch_io_trace import Trace
from ioopt.sim.batch_io_view import TIME_TOLERANCE_SECONDS, TIME_TOLERANCE_ULPS

POWERS = np.array([10.0**k for k in range(-300, 301)])
WAITING, COMPUTING, TRANSFERRING, ENDED = 0, 1, 2, 3
# Places in Moving.count (whole numbers) and Moving.value (floats).
(
    ARRIVED,
    RUNNING,
    OUT,
    FRESH,
    LOAD,
    QUEUE,
    FREE,
    CROWDED,
    CHANGED,
    PASS,
    EVENTS,
    DECISIONS,
    SPANS,
) = range(13)
NOW, USEFUL, CLOCK, SINCE, RHO, WEIGHT, NODES = range(7)


class Fixed(NamedTuple):
    """The trace and the policy; see :class:`ioopt.sim.batch_io_trace.Trace`."""

    partition: bool
    kill: bool
    wfp: bool
    easy: bool
    closed: bool
    record: bool
    top: bool
    shared: bool
    progress: bool
    policy: int
    total_units: int
    capacity_units: int
    saturating_units: int
    node_rate: float
    storage: float
    alpha: float
    window_first: float
    window_last: float
    submit: Any
    walltime: Any
    nodes: Any
    units: Any
    allocated: Any
    peak: Any
    rank: Any
    offset: Any
    compute: Any
    volume: Any
    set_number: Any
    arrivals: Any
    arrival_times: Any


class Moving(NamedTuple):
    """What changes: per job, per phase, and the lists of running, outstanding and waiting jobs.

    ``next_time`` and ``target`` (the clock of :class:`ioopt.sim.batch_io_storage.SharedStorage`
    when a request finishes) go by the slot in ``running``, so that the next instant is found by
    reading them in one piece. Spans of place -1 are changes of rho.
    """

    count: Any
    value: Any
    phase: Any
    status: Any
    next_time: Any
    target: Any
    due: Any
    base: Any
    anchor: Any
    rate: Any
    left: Any
    moved: Any
    asked: Any
    granted: Any
    compute_so_far: Any
    ideal_so_far: Any
    began: Any
    start: Any
    end: Any
    killed: Any
    block: Any
    slot: Any
    running: Any
    out: Any
    fresh: Any
    waiting: Any
    busy: Any
    until: Any
    request: Any
    grant: Any
    finish: Any
    span_place: Any
    span_since: Any
    span_until: Any
    span_rate: Any


def fixed_of(
    trace: Trace,
    policy: int,
    top: bool,
    shared: bool,
    progress: bool,
    alpha: float,
    record: bool,
    set_numbers: Sequence[int],
    starts: tuple[Sequence[float], Sequence[int]] | None,
) -> Fixed:
    """The constant side of a run; *starts* as in :func:`ioopt.sim.batch_io.simulate_trace`."""
    limits, machine, options = trace.limits, trace.machine, trace.options
    order = range(len(trace))
    times = trace.submit if starts is None else starts[0]
    if starts is not None:
        order = sorted(order, key=lambda j: (times[j], j))  # type: ignore[assignment]
    whole, real = np.int64, np.float64
    return Fixed(
        partition=machine.allocation == "partition", kill=options.kill,
        wfp=options.queue == "wfp", easy=options.backfill == "easy", closed=starts is None,
        record=record, top=top, shared=shared, progress=progress, policy=policy, total_units=machine.units,
        capacity_units=limits.capacity_units, saturating_units=limits.saturating_units,
        node_rate=limits.node_rate, storage=limits.storage, alpha=float(alpha),
        window_first=float(trace.window[0]), window_last=float(trace.window[1]),
        submit=np.array(trace.submit, real), walltime=np.array(trace.walltime, real),
        nodes=np.array(trace.nodes, real), units=np.array(trace.units, whole),
        allocated=np.array(trace.allocated, real), peak=np.array(trace.peak, real),
        rank=np.array(trace.rank, whole), offset=np.array(trace.offset, whole),
        compute=np.array(trace.compute, real), volume=np.array(trace.volume, real),
        set_number=np.array(set_numbers, whole), arrivals=np.array(order, whole),
        arrival_times=np.array([times[j] for j in order], real),
    )  # fmt: skip


def moving_of(trace: Trace, record: bool, blocks: Sequence[int] | None) -> Moving:
    """The changing side at time 0."""
    jobs, phases, units = len(trace), len(trace.compute), trace.machine.units
    spans = max(1 << 16, 8 * jobs) + 4096 if record else 1
    zeros, nans = np.zeros, lambda n: np.full(n, math.nan)
    whole = np.int64
    count = zeros(13, whole)
    count[FREE] = units
    return Moving(
        count=count, value=zeros(7), phase=np.array(trace.offset[:-1], whole),
        status=zeros(jobs, np.int8), next_time=np.full(jobs, math.inf),
        target=np.full(jobs, math.inf), due=zeros(jobs, whole), base=zeros(jobs),
        anchor=zeros(jobs), rate=zeros(jobs), left=zeros(jobs), moved=zeros(jobs),
        asked=zeros(jobs), granted=zeros(jobs, np.int8), compute_so_far=zeros(jobs),
        ideal_so_far=zeros(jobs), began=zeros(jobs), start=nans(jobs), end=nans(jobs),
        killed=zeros(jobs, np.uint8),
        block=np.full(jobs, -1, whole) if blocks is None else np.array(blocks, whole),
        slot=zeros(jobs, whole), running=zeros(jobs, whole), out=zeros(jobs, whole),
        fresh=zeros(jobs + 1, whole), waiting=zeros(jobs, whole), busy=zeros(units, np.uint8),
        until=zeros(units), request=nans(phases), grant=nans(phases), finish=nans(phases),
        span_place=zeros(spans, whole), span_since=zeros(spans), span_until=zeros(spans),
        span_rate=zeros(spans),
    )  # fmt: skip


@njit(cache=True)
def tolerance(now: float) -> float:
    """:func:`ioopt.sim.batch_io_view.time_tolerance`."""
    return TIME_TOLERANCE_SECONDS + TIME_TOLERANCE_ULPS * (np.nextafter(now, np.inf) - now)


@njit(cache=True)
def rounded(value: float) -> float:
    """:func:`ioopt.sim.batch_io_view.nine_digits`."""
    if value == 0.0 or math.isinf(value):
        return value
    exponent = math.floor(math.log10(value))
    if -290 < exponent < 290:
        if exponent <= 8:
            scale = POWERS[300 + 8 - exponent]
            return math.floor(value * scale + 0.5) / scale
        scale = POWERS[300 + exponent - 8]
        return math.floor(value / scale + 0.5) * scale
    return value


@njit(cache=True)
def add_useful(t: Fixed, s: Moving, job: int, since: float, until: float, part: float) -> None:
    """Uncongested work inside the window of rule 22."""
    span = min(until, t.window_last) - max(since, t.window_first)
    if span > 0:
        s.value[USEFUL] += span * part * t.allocated[job]
