"""Arrays of the compiled batch I/O engine, and helpers that its parts share.

Everything lives in two named tuples of arrays and scalars, so a run can stop between two instants
and go on later: that is how the rate buffer is emptied and the deadline looked at. Kernels allocate
nothing, so numba's reference counting is off (on, it takes most of an instant's time): what they
need to work in stands in ``Moving`` too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ioopt.compiled import cached, called
from ioopt.decisions.batch_io import CLOSE, TIME_TOLERANCE_SECONDS, TIME_TOLERANCE_ULPS
from ioopt.sim.batch_io.trace import Trace

entry = cached(nogil=True, _nrt=False, error_model="numpy")
kernel = called(nogil=True, _nrt=False, error_model="numpy")
searching = called(nogil=True, _nrt=False, fastmath={"nnan", "nsz"})
"""For loops over times: without NaN, and with no sign of zero, they run several at once."""

NEAR = 1 + CLOSE
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
STRIDE = 8
"""Times are searched in blocks of this many, so their rows end in as many infinite ones."""


class FloatFields(NamedTuple):
    """Columns of ``Moving.f``, by job: ``scale`` is N^alpha (rule 17), ``weight`` the set's (rule 16)."""

    submit: int
    walltime: int
    nodes: int
    allocated: int
    peak: int
    scale: int
    weight: int
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


class IntFields(NamedTuple):
    """Columns of ``Moving.i``, by job."""

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


class ListFields(NamedTuple):
    """Rows of ``Moving.l``: lists of jobs; ``order`` holds places in another list."""

    running: int
    out: int
    fresh: int
    waiting: int
    due: int
    arrivals: int
    order: int


class WorkFields(NamedTuple):
    """Rows of ``Moving.w``.

    ``next_time`` and ``target`` go by slot in ``running``, ``arrival_times`` in order; ``rates`` by
    place in ``out``; the others are room to work in.
    """

    next_time: int
    target: int
    arrival_times: int
    rates: int
    keys: int
    depths: int
    sizes: int
    finishes: int


class PhaseFields(NamedTuple):
    """Columns of ``Moving.p``, by phase."""

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


F, J, L, W, P, S = (
    FloatFields(*range(18)),
    IntFields(*range(10)),
    ListFields(*range(7)),
    WorkFields(*range(8)),
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
    window_first: float
    window_last: float


class Moving(NamedTuple):
    """The trace and what changes, in few arrays: compiled calls copy the fields of each.

    What belongs to one job, or to one phase, stands together. ``next_time`` and ``target`` (the
    clock of :class:`ioopt.sim.batch_io.storage.SharedStorage` when a request finishes) go by the
    slot in ``running``, so that the next instant is found by reading them in one piece; ``blocks``
    is ``w`` in blocks of STRIDE. ``busy`` and ``until`` go by allocation unit; ``reach`` is the
    table of Cons-MaxUtil, 64 sums a word.
    """

    count: Any
    value: Any
    f: Any
    i: Any
    l: Any  # noqa: E741
    w: Any
    blocks: Any
    p: Any
    spans: Any
    busy: Any
    until: Any
    reach: Any


def fixed_of(
    trace: Trace, policy: int, top: bool, shared: bool, progress: bool, record: bool, closed: bool
) -> Fixed:
    """The constant side of a run."""
    limits, machine, options = trace.limits, trace.machine, trace.options
    return Fixed(
        jobs=len(trace), partition=machine.allocation == "partition", kill=options.kill,
        wfp=options.queue == "wfp", easy=options.backfill == "easy", closed=closed,
        record=record, top=top, shared=shared, progress=progress, policy=policy,
        total_units=machine.units, capacity_units=limits.capacity_units,
        saturating_units=limits.saturating_units, node_rate=limits.node_rate,
        storage=limits.storage, window_first=float(trace.window[0]),
        window_last=float(trace.window[1]),
    )  # fmt: skip


def moving_of(
    trace: Trace,
    record: bool,
    set_numbers: Sequence[int],
    alpha: float,
    subsets: bool,
    starts: tuple[Sequence[float], Sequence[int]] | None,
) -> Moving:
    """The trace at time 0; *starts* as in :func:`ioopt.sim.batch_io.simulate.simulate_trace`.

    *subsets* asks for room for the subset-sums of rule 12.
    """
    jobs, units = len(trace), trace.machine.units
    f, i = np.zeros((jobs + 1, len(F))), np.zeros((jobs + 1, len(J)), np.int64)
    p = np.full((trace.num_phases, len(P)), math.nan)
    seconds, volumes, repeats = zip(*trace.pieces) if trace.pieces else ((), (), ())
    p[:, P.compute] = np.repeat(np.array(seconds, float), np.array(repeats, np.int64))
    p[:, P.volume] = np.repeat(np.array(volumes, float), np.array(repeats, np.int64))
    times = np.array(trace.submit if starts is None else starts[0], float)
    order = np.argsort(times, kind="stable")
    scale = {nodes: nodes**alpha for nodes in set(trace.allocated)}
    weights: list[float] | float = 0.0 if not set_numbers else [10.0**-n for n in set_numbers]
    for column, values in (
        (F.submit, trace.submit), (F.walltime, trace.walltime), (F.nodes, trace.nodes),
        (F.allocated, trace.allocated), (F.peak, trace.peak), (F.start, math.nan),
        (F.end, math.nan), (F.weight, weights), (F.scale, [scale[nodes] for nodes in trace.allocated]),
    ):  # fmt: skip
        f[:jobs, column] = values
    for column, numbers in (
        (J.units, trace.units), (J.rank, trace.rank), (J.set_number, set_numbers or 0),
        (J.phase, trace.offset[:-1]), (J.block, -1 if starts is None else starts[1]),
    ):  # fmt: skip
        i[:jobs, column] = numbers
    i[:, J.offset] = trace.offset
    lists = np.zeros((len(L), jobs + 1), np.int64)
    blocks = np.zeros((len(W), jobs // STRIDE + 2, STRIDE))
    work = blocks.reshape(len(W), -1)
    lists[L.arrivals, :jobs] = order
    work[W.next_time], work[W.target] = math.inf, math.inf
    work[W.arrival_times, :jobs] = times[order]
    count = np.zeros(13, np.int64)
    count[FREE] = units
    spans = np.zeros((len(S), max(1 << 16, 8 * jobs) + 4096 if record else 1))
    # Memory that is never touched costs nothing: few runs have as many requests at once.
    reach = np.empty(_subset_sums(trace, starts is None) if subsets else (1, 1), np.uint64)
    return Moving(
        count, np.zeros(7), f, i, lists, work, blocks, p, spans, np.zeros(units, np.uint8),
        np.zeros(units), reach,
    )  # fmt: skip


def _subset_sums(trace: Trace, closed: bool) -> tuple[int, int]:
    """Requests and words of the table of rule 12 at most; open loop counts no nodes, so all jobs."""
    jobs, units = len(trace), sum(trace.units)
    if closed:
        jobs, units = min(jobs, trace.machine.units), min(units, trace.machine.units)
    return jobs + 1, min(units, trace.limits.capacity_units) // 64 + 1


@kernel
def tolerance(now: float) -> float:
    """:func:`ioopt.decisions.batch_io.time_tolerance`."""
    return TIME_TOLERANCE_SECONDS + TIME_TOLERANCE_ULPS * (np.nextafter(now, np.inf) - now)


@kernel
def rounded(value: float) -> float:
    """:func:`ioopt.decisions.batch_io.nine_digits`."""
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


@kernel
def below(one: float, other: float) -> bool:
    """Whether ``rounded(one) < rounded(other)``; keys that are not close need no rounding."""
    if one * NEAR < other:
        return True
    if other * NEAR < one or one == other:
        return False
    return rounded(one) < rounded(other)


@kernel
def close(one: float, other: float) -> bool:
    """Whether two keys, 0 or more, differ by so little that rounding may make them equal."""
    return one != other and not one * NEAR < other and not other * NEAR < one


@kernel
def sort_places(keys: np.ndarray, order: np.ndarray, count: int) -> None:
    """Places 0 to *count* by rounded key, ascending, ties by place, into *order*.

    Logarithms, which compilers take out of loops and so for every key, only where keys are close.
    """
    near = False
    for k in range(count):
        key = keys[k]
        at = k
        while at > 0:
            before = keys[order[at - 1]]
            near |= close(key, before)
            if before <= key:
                break
            order[at] = order[at - 1]
            at -= 1
        order[at] = k
    if near:
        sort_close_places(keys, order, count)


@kernel
def sort_close_places(keys: np.ndarray, order: np.ndarray, count: int) -> None:
    """:func:`sort_places` by rounding."""
    for k in range(count):
        key = keys[k]
        at = k
        while at > 0 and below(key, keys[order[at - 1]]):
            order[at] = order[at - 1]
            at -= 1
        order[at] = k


@kernel
def add_useful(t: Fixed, s: Moving, job: int, since: float, until: float, part: float) -> None:
    """Uncongested work inside the window of rule 22."""
    span = min(until, t.window_last) - max(since, t.window_first)
    if span > 0:
        s.value[USEFUL] += span * part * s.f[job, F.allocated]


@searching
def least(blocks: np.ndarray, count: int) -> float:
    """The least of the first *count* values, those up to the next multiple of STRIDE being infinite.

    Four minima at a time: one would wait for itself at every value.
    """
    one = two = three = four = math.inf
    for k in range((count + STRIDE - 1) // STRIDE):
        one = min(one, min(blocks[k, 0], blocks[k, 4]))
        two = min(two, min(blocks[k, 1], blocks[k, 5]))
        three = min(three, min(blocks[k, 2], blocks[k, 6]))
        four = min(four, min(blocks[k, 3], blocks[k, 7]))
    return min(min(one, two), min(three, four))


@searching
def due_at(values: np.ndarray, count: int, base: float, until: float) -> tuple[int, int]:
    """How many values exceed *base* by at most *until*, and the sum of their places: the place of one."""
    found, places = 0, 0
    for k in range((count + STRIDE - 1) // STRIDE * STRIDE):
        due = values[k] - base <= until
        found += due
        places += k if due else 0
    return found, places
