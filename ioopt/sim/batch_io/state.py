"""Define the state of a batch I/O run: its jobs, clock, settings and work arrays.

The rules of the simulation (:mod:`~ioopt.sim.batch_io.engine`,
:mod:`~ioopt.sim.batch_io.storage`) are written once. In plain Python they work on these
objects and on lists of floats or Fractions. Compiled by numba they work on records and
arrays with the same field names. The rules allocate no memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from ioopt.problems.batch_io import Machine, QueueOptions
from ioopt.sim.batch_io.trace import Trace

if TYPE_CHECKING:
    from ioopt.compiled import Floats, Ints

# States of a job. Of jobs with an event at the same instant, the higher state goes
# first (rule 1).
WAITING = 0
COMPUTING = 1
TRANSFERRING = 2
ENDED = 3

NOBODY = -1
"""Index that stands for "no job" or "no unit"."""
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
"""Integer fields of a job."""
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
"""Fields of a job that hold times, bytes, rates or weights."""
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
)
CLOCK_AMOUNTS = (
    "now",
    "until",
    "useful",
    "turned",
    "since",
    "rho",
    "weight",
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
"""Initial values of the fields that do not begin at 0."""


class Job(Request):
    """Represent a job of a run; while its status is TRANSFERRING, also its request.

    At time ``anchor`` the request had ``base`` bytes left. Its ``rate`` has been
    constant since then, so that it finishes at time ``due``. ``place`` is the index of
    the current phase in the trace, and ``last_place`` is the index after the job's last
    phase. ``began`` is the time at which the job last began to compute. ``slot`` is the
    job's index in ``running``. ``asked_nodes`` is the number of nodes that the user
    requested. ``block`` is the first unit of the job's partition (-1 on flat machines).
    The job's box (:mod:`~ioopt.sim.batch_io.boxes`) has ``length`` seconds and lasts
    from ``box_start`` to ``box_end``.
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
    """Store the counters and times that change from instant to instant; all are 0 at
    first.

    Times from ``now`` to ``until`` count as one instant. ``turned`` (bytes moved by
    each node), ``since``, ``rho``, ``weight`` and ``nodes`` belong to the virtual clock
    of shared storage (:mod:`~ioopt.sim.batch_io.storage`). The jobs of the
    ``outstanding`` requests use ``load`` units together. ``freed`` is 1 if a job has
    ended since the last pass over the queue.
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
"""Two sequences with one item for each job: start times in seconds, and first units."""


def _columns(
    trace: Trace, policy: IoPolicy, starts: Starts | None
) -> dict[str, Sequence[Number]]:
    """Return the initial values of the job fields that differ between jobs, as a column
    for each field.
    """
    count = len(trace)
    zeros = [trace.limits.zero] * count
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
    if policy.weigh:
        columns["weight"] = [*map(policy.weigh, columns["nodes"], columns["iteration"])]
    return columns


def _held(columns: dict[str, Sequence[Number]], fast: bool) -> Box:
    """Return the jobs described by *columns*: a list of objects, or an array of records
    if *fast*.
    """
    if not fast:
        return [Job(**dict(zip(columns, row))) for row in zip(*columns.values())]
    records = _records(len(columns["job"]), JOB_NUMBERS, JOB_AMOUNTS)
    for name, values in (BEGINNING | columns).items():
        records[name] = values
    return records


def clock_record() -> Clock:
    """Return a clock at time 0 as an array record, for compiled code."""
    import numpy as np

    return _records(1, CLOCK_NUMBERS, CLOCK_AMOUNTS).view(np.recarray)[0]


def _records(count: int, numbers: Sequence[str], amounts: Sequence[str]) -> Box:
    import numpy as np

    fields = [(name, "i8") for name in numbers]
    fields += [(name, "f8") for name in amounts]
    return np.zeros(count, np.dtype(fields, align=True))


WORD = 62
"""Number of units in one word of a set of units; the sign bit stays unused."""


class Tables(NamedTuple):
    """Store the settings of machine, queue and policy, and the work arrays of a run.

    ``total`` is the number of units of the machine. If ``boxed``, passes over the queue
    plan waiting jobs in boxes. If ``numbered``, boxes name their units. If
    ``overlaps``, boxes may overlap: a job planned for less than its walltime has a
    longer box once it runs. If ``keeps``, boxes stay from pass to pass.
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
    conservative: bool
    rebuild: bool
    keeps: bool
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
    # Running jobs by slot, and the time of the next event of each: module agenda.
    running: Ints
    times: Floats
    targets: Floats
    due: Ints
    # Requests, and the work space of their view, which also sorts the queue.
    out: Ints
    fresh: Ints
    rates: Floats
    room: KernelView
    # The queue and the units: module waiting.
    line: Ints
    busy: Ints
    free_from: Floats
    # Boxes: module boxes.
    marks: Ints
    mark_times: Floats
    step_times: Floats
    step_free: Ints
    taken: Ints
    in_use: Ints
    chosen: Ints


PLACES_OF_JOBS = ("running", "due", "out", "fresh", "line")
"""Names of the tables with one entry for each job."""


def tables_of(
    trace: Trace,
    policy: IoPolicy,
    starts: Starts | None = None,
    record: bool = False,
    fast: bool = False,
) -> Tables:
    """Return the settings and work arrays of a run at time 0, as arrays if *fast*, else
    as lists.

    *record* asks for a record of all rates; *starts* fixes the start of every job.
    """
    limits = trace.limits
    machine = trace.machine
    box = boxes(fast)
    held = _held(_columns(trace, policy, starts), fast)
    terms = _terms(machine, trace.options)
    records = len(held)
    places = trace.num_phases
    closed = starts is None
    zero = limits.zero
    units = machine.units if terms["partition"] else 0
    boxed = len(trace) if terms["boxed"] else 0
    words = -(-machine.units // WORD) if terms["numbered"] else 0
    spans = 1 << 60
    if fast:
        import numpy as np

        spans = 1
        if record:
            spans = max(1 << 16, 8 * records) + 4096

    def whole(count: int) -> Box:
        return box([0] * count)

    def real(count: int, value: Number = zero) -> Box:
        return box([value] * count, real=True)

    def rows(count: int, length: int, value: Number) -> Box:
        if fast:
            return np.full((count, length), value)
        return [[value] * length for _ in range(count)]

    # Each job marks at most two ends, and opens one more step when it is fitted and one
    # when it starts.
    steps = 4 * boxed + 8
    order, arrivals = _arrivals(trace, starts)
    knapsack = _knapsack(trace, policy, closed, fast)
    return Tables(
        limits=limits,
        total=machine.units,
        **terms,
        jobs=held,
        compute=box(trace.compute, real=True),
        volume=box(trace.volume, real=True),
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
        # At an instant each job ends at most two spans: one when it leaves, one by a
        # decision.
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
        taken=whole(words),
        in_use=whole(words),
        chosen=rows(boxed, 0 if terms["partition"] else words, 0),
    )


def _knapsack(trace: Trace, policy: IoPolicy, closed: bool, fast: bool) -> Knapsack:
    """Return the work space for the knapsack problems of rules 12 and 26."""
    limits = trace.limits
    most, most_units = trace.most_at_once(closed)
    if not fast:
        return plain_knapsack(limits, most)
    import numpy as np

    states = 0
    if policy.tabulates and limits.own_peaks:
        states = trace.most_states(closed)
    # The system allocates memory at the first write, and few runs have that many
    # requests at once.
    parts = min(most_units, limits.capacity_units) // WORD + 1
    bits = np.empty((most + 1, parts), np.int64)
    return bits, WORD, np.empty(states), np.empty(states, np.int64)


def _terms(machine: Machine, options: QueueOptions) -> Json:
    partition = machine.allocation == "partition"
    conservative = options.backfill == "conservative"
    nodes = options.reservation == "nodes" and not partition
    return {
        "partition": partition,
        "kill": options.kill,
        "easy": options.backfill == "easy",
        "wfp": options.queue == "wfp",
        "short_first": options.queue == "sjf",
        "short_behind": options.backfill_order == "sjf",
        "event": options.pass_ == "event",
        "boxed": conservative or nodes,
        "numbered": nodes or (partition and conservative),
        "overlaps": options.estimate == "uncongested",
        "conservative": conservative,
        "rebuild": options.plan == "rebuild",
        "keeps": conservative and options.plan == "keep",
    }


def _arrivals(
    trace: Trace, starts: Starts | None
) -> tuple[Sequence[int], list[Number]]:
    """Return the numbers of the jobs in order of arrival, and their arrival times
    followed by infinity.
    """
    if starts is None:
        return range(len(trace)), [*trace.submit, math.inf]
    times, _ = starts
    jobs = sorted(range(len(trace)), key=lambda j: (times[j], j))
    return jobs, [*(times[j] for j in jobs), math.inf]
