"""What a run works on: its jobs, its clock, its terms and tables.

The rules (:mod:`~ioopt.sim.batch_io.engine`, :mod:`~ioopt.sim.batch_io.storage`) are
one text. Plain Python runs it on these objects and on lists, of floats or Fractions;
numba on records and arrays of the same names. It allocates nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ioopt.compiled import Box, boxes
from ioopt.decisions.batch_io import (
    Growing,
    IoPolicy,
    KernelView,
    Knapsack,
    Limits,
    Request,
    plain_knapsack,
)
from ioopt.decisions.ordering import Number
from ioopt.problems.base import Json
from ioopt.problems.batch_io import BurstBuffer, Machine, QueueOptions
from ioopt.sim.batch_io.trace import Buffered, Trace

if TYPE_CHECKING:
    from ioopt.compiled import Floats, Ints

# Of what is due at one instant, the higher has its turn first (rules 1 and 43).
WAITING, COMPUTING, WRITING, TRANSFERRING, ENDED, STAGING = 0, 1, 2, 3, 4, 5
NOBODY = -1
JOB_NUMBERS = (
    "job",
    "id",
    "status",
    "place",
    "last_place",
    "granted",
    "units",
    "nodes",
    "asked_nodes",
    "block",
    "killed",
    "slot",
)
"""Whole numbers of a job."""
JOB_AMOUNTS = (
    "base",
    "rate",
    "anchor",
    "peak",
    "left",
    "moved",
    "volume",
    "due",
    "requested",
    "began",
    "compute_so_far",
    "ideal_so_far",
    "start",
    "weight",
    "submit",
    "walltime",
    "end",
    "iteration",
    "length",
    "box_start",
    "box_end",
)
"""Times, bytes and rates of a job."""
CLOCK_NUMBERS = (
    "arrived",
    "ended",
    "waiting",
    "free",
    "outstanding",
    "load",
    "num_fresh",
    "nodes",
    "changed",
    "queue_changed",
    "crowded",
    "more",
    "events",
    "decisions",
    "num_running",
    "num_spans",
    "lined_up",
    "freed",
    "steps",
    "num_writing",
    "writes_changed",
    "num_streams",
    "num_tails",
    "num_ahead",
    "holders",
    "saved_steps",
)
CLOCK_AMOUNTS = (
    "now",
    "until",
    "useful",
    "turned",
    "since",
    "rho",
    "weight",
    "held",
    "held_ahead",
)
BEGINNING = {
    "block": NOBODY,
    "start": math.nan,
    "end": math.nan,
    "requested": math.nan,
    "anchor": math.nan,
    "began": math.nan,
    "due": math.nan,
    "box_start": -math.inf,
    "box_end": -math.inf,
}
"""What does not begin at 0."""


class Job(Request):
    """A job of the run, and the request that it has outstanding
    while it is TRANSFERRING.

    ``base`` bytes were left at ``anchor``, and its ``rate`` held since: it is ``due``
    then. ``place`` is that of the job's phase in the trace, ``last_place`` where its
    phases end, ``began`` when it last began to compute; ``slot`` is its place in
    ``running``; ``asked_nodes`` are those that the user asked for; ``block`` is the
    first unit (-1: flat). Its box of ``length`` seconds is from ``box_start`` to
    ``box_end`` (:mod:`~ioopt.sim.batch_io.boxes`).
    """

    __slots__ = tuple(
        name for name in (*JOB_NUMBERS, *JOB_AMOUNTS) if name not in Request.__slots__
    )

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Number: ...
        def __setattr__(self, name: str, value: Number) -> None: ...

    def __init__(self, **values: Number) -> None:
        for name in (*JOB_NUMBERS, *JOB_AMOUNTS):
            setattr(self, name, values.get(name, BEGINNING.get(name, 0)))


class Clock:
    """What changes from instant to instant; all begins at 0.

    ``until`` ends what is one instant with ``now``. ``turned`` (bytes a node),
    ``since``, ``rho``, ``weight`` and ``nodes`` are those of shared storage.
    ``outstanding`` requests of ``load`` units are counted. ``freed``: a job ended since
    the last pass. ``held`` bytes of the burst buffer belong to ``holders``,
    ``held_ahead`` to waiting jobs.
    """

    __slots__ = (*CLOCK_NUMBERS, *CLOCK_AMOUNTS)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Number: ...
        def __setattr__(self, name: str, value: Number) -> None: ...

    def __init__(self, zero: Number = 0.0) -> None:
        for name in CLOCK_NUMBERS:
            setattr(self, name, 0)
        for name in CLOCK_AMOUNTS:
            setattr(self, name, zero)


Starts = tuple[Sequence[Number], Sequence[int]]
"""The start and the first unit of every job."""


def _columns(
    trace: Trace, policy: IoPolicy, starts: Starts | None
) -> dict[str, Sequence[Number]]:
    """The jobs of a run at time 0; behind them, where there is a burst
    buffer, their streams.
    """
    count, zeros = len(trace), [trace.limits.number(0)] * len(trace)
    columns: dict[str, Sequence[Number]] = {
        "job": range(count),
        "id": trace.rank,
        "units": trace.units,
        "nodes": trace.allocated,
        "asked_nodes": trace.nodes,
        "peak": trace.peak,
        "submit": trace.submit,
        "walltime": trace.walltime,
        "iteration": trace.iteration,
        "length": trace.length,
        "place": trace.offset[:-1],
        "last_place": trace.offset[1:],
        "block": [NOBODY] * count if starts is None else starts[1],
        "rate": zeros,
        "base": zeros,
        "volume": zeros,
    }
    if trace.buffered:
        streams = {
            "job": range(count, 2 * count),
            "peak": trace.buffered.stream,
            "iteration": trace.buffered.iteration,
        }
        columns = {
            name: [*own, *streams.get(name, own)] for name, own in columns.items()
        }
    if policy.weigh:
        columns["weight"] = [*map(policy.weigh, columns["nodes"], columns["iteration"])]
    return columns


def _held(columns: dict[str, Sequence[Number]], fast: bool) -> Box:
    """The jobs in *columns* as objects, or where it is *fast* as
    records of one array.
    """
    if not fast:
        return [Job(**dict(zip(columns, row))) for row in zip(*columns.values())]
    records = _records(len(columns["job"]), JOB_NUMBERS, JOB_AMOUNTS)
    for name, values in (BEGINNING | columns).items():
        records[name] = values
    return records


def clock_record() -> Clock:
    """A clock at 0 as a record."""
    import numpy as np

    return _records(1, CLOCK_NUMBERS, CLOCK_AMOUNTS).view(np.recarray)[0]


def _records(count: int, numbers: Sequence[str], amounts: Sequence[str]) -> Box:
    import numpy as np

    kinds = [(name, np.int64) for name in numbers] + [
        (name, np.float64) for name in amounts
    ]
    return np.zeros(count, np.dtype(kinds, align=True))


WORD = 62
"""Units to a whole number, whose sign stays free."""


class Buffer(NamedTuple):
    """Terms of the burst buffer, and what is kept of each job; lists,
    or arrays under numba.

    Licences are counted as bytes of a shared buffer that nobody writes to
    (``licensed``). ``jobs`` and ``phases`` are how many there are. ``capacity``,
    ``rate`` and ``drain`` are C, Bb and D of rule 39, ``slack`` the tolerance of
    rule 49. ``alone``: no write slows another; ``keeps``: nodes are held to the
    release. ``size``, ``load_in`` and ``load_out`` are B, I and O. ``undrained``
    bytes are written and not drained, of phases from the place ``drained`` to
    ``written``. ``stage`` says how far staging is; ``held`` who holds bytes.
    ``writing`` (and ``active`` of these), ``tails`` (ended, not released) and
    ``ahead`` (waiting, holding) list jobs.
    """

    jobs: int
    phases: int
    shared: bool
    licensed: bool
    early: bool
    keeps: bool
    alone: bool
    capacity: Number
    rate: Number
    drain: Number
    slack: Number
    size: Floats
    load_in: Floats
    load_out: Floats
    undrained: Floats
    drained: Ints
    written: Ints
    stage: Ints
    held: Ints
    released: Floats
    writing: Ints
    tails: Ints
    ahead: Ints
    active: Ints


NO_BUFFER = BurstBuffer(
    bytes=1, bytes_per_second=1, drain_bytes_per_second=1, placement="shared"
)
"""What stands for the buffer of a machine without one: nobody asks for it."""


def buffer_of(trace: Trace, ignores_limit: bool, box: Callable[..., Box]) -> Buffer:
    """The buffer at time 0; *box* is one of :func:`ioopt.compiled.boxes`."""
    machine, number = trace.machine, trace.limits.number
    buffer = machine.burst_buffer
    terms = buffer or NO_BUFFER
    asked = trace.buffered or Buffered((), (), (), (), ())
    jobs, per_node = len(asked.size), terms.placement == "per-node"
    size, capacity = trace.licences or (asked.size, terms.bytes)
    shared, licensed = buffer is not None and not per_node, trace.licences is not None
    zeros, none, places = [number(0)] * jobs, [0] * jobs, trace.offset[:jobs]
    return Buffer(
        jobs=jobs,
        phases=trace.num_phases,
        shared=shared or licensed,
        licensed=licensed,
        early=trace.stages_early,
        keeps=trace.keeps_nodes,
        alone=per_node or ignores_limit,
        capacity=number(capacity),
        rate=number(terms.bytes_per_second),
        drain=number(terms.drain_bytes_per_second),
        slack=trace.limits.slack,
        size=box(size, real=True),
        load_in=box(asked.load_in, real=True),
        load_out=box(asked.load_out, real=True),
        undrained=box(zeros, real=True),
        drained=box(places),
        written=box(places),
        stage=box(none),
        held=box(none),
        released=box(zeros, real=True),
        writing=box(none),
        tails=box(none),
        ahead=box(none),
        active=box(none),
    )


class Tables(NamedTuple):
    """Terms of the machine, its queue and the policy, and the tables of a run.

    ``total`` are the units of the machine. ``boxed``: a pass gives boxes to waiting
    jobs, ``numbered``: units of theirs are told apart, which partitions do without
    boxes too; ``overlaps``: boxes may meet, those of jobs planned for less than their
    walltime once they run, those of ended jobs as their release moves; ``keeps``: boxes
    last from pass to pass.
    """

    limits: Limits
    total: int
    partition: bool
    kill: bool
    easy: bool
    wfp: bool
    short_first: bool
    short_behind: bool
    event: bool
    boxed: bool
    numbered: bool
    overlaps: bool
    search: bool
    conservative: bool
    rebuild: bool
    keeps: bool
    plan_depth: int
    plan_power: int
    plan_evaluations: int
    jobs: Sequence[Job]
    compute: Floats
    volume: Floats
    asked: Floats
    grant: Floats
    finish: Floats
    closed: bool
    arrival_jobs: Ints
    arrivals: Floats
    window_first: Number
    window_last: Number
    ignores_limit: bool
    full_when_fits: bool
    shared: bool
    record: bool
    span_room: int
    spans: Box
    # Jobs that run, by slot, and what is due of them: see ioopt.sim.batch_io.agenda.
    running: Ints
    times: Floats
    targets: Floats
    due: Ints
    # Requests, and the room of their view, in which the queue is put in order too.
    out: Ints
    fresh: Ints
    rates: Floats
    room: KernelView
    # The queue and the units: see ioopt.sim.batch_io.waiting.
    line: Ints
    line_all: Ints
    busy: Ints
    free_from: Floats
    # Boxes: see ioopt.sim.batch_io.boxes.
    marks: Ints
    mark_times: Floats
    step_times: Floats
    step_free: Ints
    step_room: Floats
    saved_times: Floats
    saved_free: Ints
    saved_room: Floats
    trial: Ints
    best: Ints
    taken: Ints
    in_use: Ints
    chosen: Ints
    buffered: bool
    buffer: Buffer


PLACES_OF_JOBS = ("running", "due", "out", "fresh", "line", "line_all")
"""Tables with room for every job."""


def tables_of(
    trace: Trace,
    policy: IoPolicy,
    starts: Starts | None = None,
    record: bool = False,
    fast: bool = False,
) -> Tables:
    """The tables of a run at time 0: arrays where it is *fast*, else lists."""
    limits, machine, box = trace.limits, trace.machine, boxes(fast)
    held, terms = (
        _held(_columns(trace, policy, starts), fast),
        _terms(machine, trace.options),
    )
    records, places, closed = len(held), trace.num_places, starts is None
    zero, units = limits.number(0), machine.units if terms["partition"] else 0
    boxed = len(trace) if terms["boxed"] else 0
    words = -(-machine.units // WORD) if terms["numbered"] else 0
    spans = 1 << 60
    if fast:
        import numpy as np

        spans = max(1 << 16, 8 * records) + 4096 if record else 1

    def whole(count: int) -> Box:
        return box([0] * count)

    def real(count: int, value: Number = zero) -> Box:
        return box([value] * count, real=True)

    def rows(count: int, length: int, value: Number) -> Box:
        if fast:
            return np.full((count, length), value)
        return [[value] * length for _ in range(count)]

    # Each job marks two ends at most, and opens one more step when it is fitted
    # and when it starts.
    steps = 4 * boxed + 8
    saved = steps if terms["search"] else 1
    volume = box([*trace.volume, *[zero] * (places - trace.num_phases)], real=True)
    order, arrivals = _arrivals(trace, starts)
    knapsack = _knapsack(trace, policy, closed, fast)
    return Tables(
        limits=limits,
        total=machine.units,
        **terms,
        jobs=held,
        compute=box(trace.compute, real=True),
        volume=volume,
        asked=real(places, math.nan),
        grant=real(places, math.nan),
        finish=real(places, math.nan),
        closed=closed,
        arrival_jobs=box(order),
        arrivals=box(arrivals, real=True),
        window_first=limits.number(trace.window[0]),
        window_last=limits.number(trace.window[1]),
        ignores_limit=policy.ignores_limit,
        full_when_fits=policy.full_when_fits,
        shared=policy.by_clock(limits),
        record=record,
        # An instant ends at most the spans of all jobs, once a leave
        # and once a decision.
        span_room=spans - 4 * (records + 64) if record else 1,
        spans=np.empty((4, spans)) if fast else [Growing() for _ in range(4)],
        times=real(records + 1, math.inf),
        targets=real(records + 1, math.inf),
        **{name: whole(records + 2) for name in PLACES_OF_JOBS},
        rates=real(records + 1),
        room=KernelView.of(policy, held, limits, knapsack, box),
        busy=whole(units),
        free_from=real(units),
        marks=whole(2 * boxed + 2),
        mark_times=real(2 * boxed + 2),
        step_times=real(steps),
        step_free=whole(steps),
        step_room=real(steps),
        saved_times=real(saved),
        saved_free=whole(saved),
        saved_room=real(saved),
        trial=whole(boxed),
        best=whole(boxed),
        taken=whole(words),
        in_use=whole(words),
        chosen=rows(boxed, 0 if terms["partition"] else words, 0),
        buffered=trace.buffered is not None,
        buffer=buffer_of(trace, policy.ignores_limit, box),
    )


def _knapsack(trace: Trace, policy: IoPolicy, closed: bool, fast: bool) -> Knapsack:
    limits, (most, most_units) = trace.limits, trace.most_at_once(closed)
    if not fast:
        return plain_knapsack(limits, most)
    import numpy as np

    states = trace.most_states(closed) if policy.tabulates and limits.own_peaks else 0
    # Memory that is never touched costs nothing: few runs have as
    # many requests at once.
    parts = min(most_units, limits.capacity_units) // WORD + 1
    bits = np.empty((most + 1, parts), np.int64)
    return bits, WORD, np.empty(states), np.empty(states, np.int64)


def _terms(machine: Machine, options: QueueOptions) -> Json:
    partition, search = machine.allocation == "partition", options.queue == "plan"
    conservative = not search and options.backfill == "conservative"
    nodes = options.reservation == "nodes" and not partition
    return {
        "partition": partition,
        "kill": options.kill,
        "easy": options.backfill == "easy",
        "wfp": options.queue == "wfp",
        "short_first": options.queue == "sjf",
        "short_behind": options.backfill_order == "sjf",
        "event": options.pass_ == "event",
        "boxed": search or conservative or nodes,
        "numbered": nodes or (partition and (search or conservative)),
        "search": search,
        "overlaps": options.estimate == "uncongested"
        or machine.burst_buffer is not None,
        "conservative": conservative,
        "rebuild": options.plan == "rebuild",
        "keeps": conservative and options.plan == "keep",
        "plan_depth": options.plan_depth,
        "plan_power": options.plan_power,
        "plan_evaluations": options.plan_evaluations,
    }


def _arrivals(
    trace: Trace, starts: Starts | None
) -> tuple[Sequence[int], list[Number]]:
    """Jobs in the order in which they come, and when; infinity comes last."""
    if starts is None:
        return range(len(trace)), [*trace.submit, math.inf]
    jobs = sorted(range(len(trace)), key=lambda j: (starts[0][j], j))
    return jobs, [*(starts[0][j] for j in jobs), math.inf]
