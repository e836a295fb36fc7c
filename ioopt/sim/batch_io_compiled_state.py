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


class FloatFields(NamedTuple):
    """Rows of ``Moving.f``, by job; ``next_time`` and ``target`` by slot, ``arrival_times`` in order."""

    submit: int
    walltime: int
    nodes: int
    allocated: int
    peak: int
    base: int
    anchor: int
    rate: int
    left: int
    moved: int
    asked: int
    compute_so_far: int
    ideal_so_far: int
    began: int
    start: int
    end: int
    next_time: int
    target: int
    arrival_times: int


class IntFields(NamedTuple):
    """Rows of ``Moving.i``, by job; from ``running`` on they are lists of jobs."""

    units: int
    rank: int
    offset: int
    set_number: int
    phase: int
    status: int
    granted: int
    killed: int
    block: int
    slot: int
    running: int
    out: int
    fresh: int
    waiting: int
    due: int
    arrivals: int


class PhaseFields(NamedTuple):
    """Rows of ``Moving.p``, by phase."""

    compute: int
    volume: int
    request: int
    grant: int
    finish: int


class SpanFields(NamedTuple):
    """Rows of ``Moving.spans``; place -1 marks a change of rho."""

    place: int
    since: int
    until: int
    rate: int


F, J, P, S = (
    FloatFields(*range(19)),
    IntFields(*range(16)),
    PhaseFields(*range(5)),
    SpanFields(*range(4)),
)


class Fixed(NamedTuple):
    """What does not change: the machine, the queue's options and the policy."""

    jobs: int
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


class Moving(NamedTuple):
    """The trace and what changes, in few arrays: compiled calls copy the fields of each.

    ``next_time`` and ``target`` (the clock of :class:`ioopt.sim.batch_io_storage.SharedStorage`
    when a request finishes) go by the slot in ``running``, so that the next instant is found by
    reading them in one piece. ``busy`` and ``until`` go by allocation unit.
    """

    count: Any
    value: Any
    f: Any
    i: Any
    p: Any
    spans: Any
    busy: Any
    until: Any


def fixed_of(
    trace: Trace, policy: int, top: bool, shared: bool, progress: bool, alpha: float,
    record: bool, closed: bool,
) -> Fixed:  # fmt: skip
    """The constant side of a run."""
    limits, machine, options = trace.limits, trace.machine, trace.options
    return Fixed(
        jobs=len(trace), partition=machine.allocation == "partition", kill=options.kill,
        wfp=options.queue == "wfp", easy=options.backfill == "easy", closed=closed,
        record=record, top=top, shared=shared, progress=progress, policy=policy,
        total_units=machine.units, capacity_units=limits.capacity_units,
        saturating_units=limits.saturating_units, node_rate=limits.node_rate,
        storage=limits.storage, alpha=float(alpha), window_first=float(trace.window[0]),
        window_last=float(trace.window[1]),
    )  # fmt: skip


def moving_of(
    trace: Trace,
    record: bool,
    set_numbers: Sequence[int],
    starts: tuple[Sequence[float], Sequence[int]] | None,
) -> Moving:
    """The trace at time 0; *starts* as in :func:`ioopt.sim.batch_io.simulate_trace`."""
    jobs, phases, units = len(trace), len(trace.compute), trace.machine.units
    f, i = np.zeros((len(F), jobs + 1)), np.zeros((len(J), jobs + 1), np.int64)
    p = np.full((len(P), phases), math.nan)
    p[P.compute], p[P.volume] = trace.compute, trace.volume
    order = list(range(jobs))
    times = trace.submit if starts is None else starts[0]
    if starts is not None:
        order.sort(key=lambda j: (times[j], j))
    for row, column in (
        (F.submit, trace.submit), (F.walltime, trace.walltime), (F.nodes, trace.nodes),
        (F.allocated, trace.allocated), (F.peak, trace.peak), (F.start, math.nan),
        (F.end, math.nan), (F.next_time, math.inf), (F.target, math.inf),
        (F.arrival_times, [times[j] for j in order]),
    ):  # fmt: skip
        f[row, :jobs] = column
    for row, numbers in (
        (J.units, trace.units), (J.rank, trace.rank), (J.set_number, set_numbers),
        (J.phase, trace.offset[:-1]), (J.block, -1 if starts is None else starts[1]),
        (J.arrivals, order),
    ):  # fmt: skip
        i[row, :jobs] = numbers
    i[J.offset] = trace.offset
    count = np.zeros(13, np.int64)
    count[FREE] = units
    spans = np.zeros((len(S), max(1 << 16, 8 * jobs) + 4096 if record else 1))
    return Moving(count, np.zeros(7), f, i, p, spans, np.zeros(units, np.uint8), np.zeros(units))


@njit(cache=True, inline="always")
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


@njit(cache=True, inline="always")
def add_useful(t: Fixed, s: Moving, job: int, since: float, until: float, part: float) -> None:
    """Uncongested work inside the window of rule 22."""
    span = min(until, t.window_last) - max(since, t.window_first)
    if span > 0:
        s.value[USEFUL] += span * part * s.f[F.allocated, job]
