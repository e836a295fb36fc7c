"""Define the state of a batch I/O run: its jobs, clock, settings and work space.

The rules of the simulation (:mod:`~ioopt.sim.batch_io.engine`,
:mod:`~ioopt.sim.batch_io.storage`) are kernel text (:mod:`ioopt.compiled.memory`): they
run as plain Python, on floats or Fractions, and compiled, on floats. They allocate no
memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from ioopt.compiled.memory import Maker
from ioopt.decisions.batch_io import IoPolicy, KernelView, Limits, Request
from ioopt.decisions.ordering import Number
from ioopt.problems.batch_io import Machine, QueueOptions
from ioopt.sim.batch_io.trace import Trace

# States of a job. Of jobs with an event at the same instant, the higher state goes
# first (rule 1).
WAITING = 0
COMPUTING = 1
TRANSFERRING = 2
ENDED = 3

NOBODY = -1
"""Index that stands for "no job" or "no unit"."""
WORD = 62
"""Number of units in one word of a set of units; the sign bit stays unused."""


@dataclass(slots=True, eq=False)
class Job:
    """A job of a run. ``number`` is its index, and ``id`` the rank of its id.

    ``place`` is the index of the current phase in the trace, and ``last_place`` is the
    index after the job's last phase. ``began`` is the time at which the job last began
    to compute. ``slot`` is the job's index in ``Agenda.running``. ``asked_nodes`` is
    the number of nodes that the user requested. ``block`` is the first unit of the
    job's partition (-1 on flat machines). The job's box
    (:mod:`~ioopt.sim.batch_io.boxes`) has ``length`` seconds and lasts from
    ``box_start`` to ``box_end``.

    While the status is TRANSFERRING, the job has a request of ``volume`` bytes. At time
    ``anchor`` it had ``base`` bytes left. Its ``rate`` has been constant since then, so
    that it finishes at time ``due``. ``granted`` says whether it ever had a rate above
    0. What policies read of it is in the :class:`~ioopt.decisions.batch_io.Request` of
    the same number.
    """

    number: int
    id: int
    status: int
    place: int
    last_place: int
    slot: int
    block: int
    units: int
    nodes: int
    asked_nodes: int
    granted: bool
    killed: bool
    peak: Number
    volume: Number
    base: Number
    rate: Number
    anchor: Number
    due: Number
    began: Number
    submit: Number
    start: Number
    walltime: Number
    end: Number
    length: Number
    box_start: Number
    box_end: Number


@dataclass(slots=True)
class Clock:
    """The counters and times that change from instant to instant; all are 0 at first.

    Times from ``now`` to ``until`` count as one instant. ``arrived`` and ``ended``
    count jobs; ``waiting`` jobs are in the queue, of which the present pass has put
    ``lined_up`` in order; ``num_running`` jobs run. ``free`` units have no job.
    ``freed`` says whether a job has ended since the last pass. ``changed`` and
    ``queue_changed`` say whether a decision and a pass are due, and ``more`` whether
    another event belongs to this instant.

    The jobs of the ``outstanding`` requests use ``load`` units together; ``num_fresh``
    of them were issued since the last decision. ``crowded`` says whether the last
    decision was made by the policy. ``turned`` (bytes moved by each node), ``since``,
    ``rho``, ``weight`` and ``nodes`` belong to the virtual clock of shared storage
    (:mod:`~ioopt.sim.batch_io.storage`). ``useful`` is work of rule 22 in node-seconds.
    ``steps`` and ``num_spans`` count entries of :class:`Profile` and :class:`Spans`.
    """

    arrived: int
    ended: int
    waiting: int
    lined_up: int
    num_running: int
    free: int
    freed: bool
    changed: bool
    queue_changed: bool
    more: bool
    outstanding: int
    load: int
    num_fresh: int
    crowded: bool
    nodes: int
    steps: int
    num_spans: int
    events: int
    decisions: int
    now: Number
    until: Number
    useful: Number
    turned: Number
    since: Number
    rho: Number
    weight: Number


@dataclass(slots=True)
class Rules:
    """The settings of the machine, the queue and the policy.

    ``total`` is the number of units of the machine. In a ``closed`` run jobs wait in
    the queue; else their starts are given. If ``boxed``, passes over the queue plan
    waiting jobs in boxes. If ``numbered``, boxes name their units. If ``overlaps``,
    boxes may overlap: a job planned for less than its walltime has a longer box once it
    runs. If ``keeps``, boxes stay from pass to pass. If ``shared``, the virtual clock
    simulates the storage. If ``record``, all rates are recorded. Useful work is
    measured from ``window_first`` to ``window_last``.
    """

    total: int
    partition: bool
    closed: bool
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
    ignores_limit: bool
    full_when_fits: bool
    shared: bool
    record: bool
    window_first: Number
    window_last: Number


@dataclass(slots=True)
class Agenda:
    """The running jobs by slot, and the time of the next event of each
    (:mod:`~ioopt.sim.batch_io.agenda`). ``due`` lists the jobs of one instant.
    """

    running: list[int]
    times: list[Number]
    targets: list[Number]
    due: list[int]


@dataclass(slots=True)
class Units:
    """Which units have a job (:mod:`~ioopt.sim.batch_io.waiting`).

    ``busy`` is 1 for each such unit of a machine with partitions, and ``free_from`` the
    time at which it is predicted to be free. On flat machines whose units are numbered,
    a set of units has ``words`` words of ``WORD`` bits: ``in_use`` is the set of the
    units that have a job, ``taken`` a set that is being made, and the words of
    ``chosen`` from ``number * words`` on are the set of a job.
    """

    words: int
    busy: list[int]
    free_from: list[Number]
    in_use: list[int]
    taken: list[int]
    chosen: list[int]


@dataclass(slots=True)
class Profile:
    """The free units over time, and the starts and ends of boxes of which it is made
    (:mod:`~ioopt.sim.batch_io.boxes`).
    """

    marks: list[int]
    mark_times: list[Number]
    step_times: list[Number]
    step_free: list[int]


@dataclass(slots=True)
class Spans:
    """Time spans in which a request moved at a constant rate: the phase of the request,
    from, until, and bytes per second.

    No instant begins while there are more than ``room``.
    """

    room: int
    place: list[int]
    since: list[Number]
    until: list[Number]
    rate: list[Number]


@dataclass(slots=True)
class System:
    """A machine, its queue, its storage and the jobs of a run.

    ``compute`` (seconds) and ``volume`` (bytes) describe each phase of the trace;
    ``asked``, ``grant`` and ``finish`` are the times of its request. ``arrivals`` are
    the times at which the jobs ``arrival_jobs`` arrive, followed by infinity. ``line``
    is the queue, and ``keys`` and ``order`` are its work space. ``view`` is what the
    policy sees, ``rates`` is what it grants, and ``fresh`` lists the requests that were
    issued since the last decision.
    """

    limits: Limits
    rules: Rules
    jobs: list[Job]
    requests: list[Request]
    compute: list[Number]
    volume: list[Number]
    asked: list[Number]
    grant: list[Number]
    finish: list[Number]
    arrival_jobs: list[int]
    arrivals: list[Number]
    agenda: Agenda
    line: list[int]
    keys: list[Number]
    order: list[int]
    units: Units
    profile: Profile
    view: KernelView
    rates: list[Number]
    fresh: list[int]
    spans: Spans


Starts = tuple[Sequence[Number], Sequence[int]]
"""Two sequences with one item for each job: start times in seconds, and first units."""

SPANS = 1 << 12
"""Number of time spans that are recorded between two looks at their room."""


def system_of(
    make: Maker,
    trace: Trace,
    policy: IoPolicy,
    starts: Starts | None = None,
    record: bool = False,
) -> System:
    """Return a run at time 0, made by *make*.

    *record* asks for a record of all rates; *starts* fixes the start of every job.
    """
    jobs = len(trace)
    zero = trace.limits.zero
    phases = trace.num_phases
    limits = make.records(Limits, 1, **_values(trace.limits))[0]
    rules = _rules(make, trace, policy, starts is None, record)
    requests = _requests(make, trace, policy)
    order, arrivals = _arrivals(trace, starts)
    compute, volume = _phases(make, trace)

    # At an instant each job ends at most two spans: one when it leaves, one by a
    # decision.
    each = 4 * (jobs + 64)
    spans = SPANS + each if record else 1
    return make.table(
        System,
        limits=limits,
        rules=rules,
        jobs=_jobs(make, trace, starts),
        requests=requests,
        compute=compute,
        volume=volume,
        asked=_reals(make, phases, math.nan),
        grant=_reals(make, phases, math.nan),
        finish=_reals(make, phases, math.nan),
        arrival_jobs=make.ints(order),
        arrivals=make.floats(arrivals),
        agenda=make.table(
            Agenda,
            running=_wholes(make, jobs + 2),
            times=_reals(make, jobs + 1, math.inf),
            targets=_reals(make, jobs + 1, math.inf),
            due=_wholes(make, jobs + 2),
        ),
        line=_wholes(make, jobs + 2),
        keys=_reals(make, jobs + 1, zero),
        order=_wholes(make, jobs + 2),
        units=_units(make, trace, rules),
        profile=_profile(make, jobs if rules.boxed else 0, zero),
        view=_view(make, trace, policy, requests, limits, starts is None),
        rates=_reals(make, jobs + 1, zero),
        fresh=_wholes(make, jobs + 2),
        spans=make.table(
            Spans,
            room=spans - each,
            place=_wholes(make, spans),
            since=_reals(make, spans, zero),
            until=_reals(make, spans, zero),
            rate=_reals(make, spans, zero),
        ),
    )


def _wholes(make: Maker, count: int) -> list[int]:
    """Return *count* whole numbers, all 0."""
    # numpy arrays are shared with C, while a list would be copied.
    return make.ints(np.zeros(count, np.int64) if make.compiled else [0] * count)


def _reals(make: Maker, count: int, value: Number) -> list[Number]:
    """Return *count* numbers, all *value*."""
    if make.compiled:
        return make.floats(np.full(count, value, float))
    return make.floats([value] * count)


def clock_of(make: Maker, limits: Limits, free: int) -> Clock:
    """Return a clock at time 0, when *free* units have no job."""
    zero = limits.zero
    return make.records(
        Clock,
        1,
        free=free,
        now=zero,
        until=zero,
        useful=zero,
        turned=zero,
        since=zero,
        rho=zero,
        weight=zero,
    )[0]


def _values(limits: Limits) -> dict[str, Number]:
    """Return the fields of *limits* by name."""
    return {field.name: getattr(limits, field.name) for field in fields(limits)}


def _phases(make: Maker, trace: Trace) -> tuple[list[Number], list[Number]]:
    """Return the compute seconds and the bytes of each phase of *trace*."""
    if not make.compiled:
        return make.floats(trace.compute), make.floats(trace.volume)
    pieces = np.array(trace.pieces, float).reshape(-1, 3)
    repeat = pieces[:, 2].astype(np.int64)
    compute, volume = (np.repeat(pieces[:, k], repeat) for k in range(2))
    return make.floats(compute), make.floats(volume)


def _jobs(make: Maker, trace: Trace, starts: Starts | None) -> list[Job]:
    """Return the jobs of *trace* before they arrive."""
    count = len(trace)
    zero = trace.limits.zero
    return make.records(
        Job,
        count,
        number=range(count),
        id=trace.rank,
        status=WAITING,
        place=trace.offset[:-1],
        last_place=trace.offset[1:],
        block=NOBODY if starts is None else starts[1],
        units=trace.units,
        nodes=trace.allocated,
        asked_nodes=trace.nodes,
        peak=trace.peak,
        volume=zero,
        base=zero,
        rate=zero,
        anchor=math.nan,
        due=math.nan,
        began=math.nan,
        submit=trace.submit,
        start=math.nan,
        walltime=trace.walltime,
        end=math.nan,
        length=trace.length,
        box_start=-math.inf,
        box_end=-math.inf,
    )


def _requests(make: Maker, trace: Trace, policy: IoPolicy) -> list[Request]:
    """Return what policies read of the requests of each job of *trace*."""
    zero = trace.limits.zero
    iteration = trace.iteration
    weights: Sequence[Number] | Number = zero
    if policy.weigh:
        weights = [*map(policy.weigh, trace.allocated, iteration)]
    return make.records(
        Request,
        len(trace),
        id=trace.rank,
        nodes=trace.allocated,
        units=trace.units,
        peak=trace.peak,
        requested=math.nan,
        left=zero,
        moved=zero,
        start=math.nan,
        compute_so_far=zero,
        ideal_so_far=zero,
        iteration=iteration,
        weight=weights,
    )


def _rules(
    make: Maker, trace: Trace, policy: IoPolicy, closed: bool, record: bool
) -> Rules:
    """Return the settings of the machine, the queue and the policy."""
    machine: Machine = trace.machine
    options: QueueOptions = trace.options
    partition = machine.allocation == "partition"
    conservative = options.backfill == "conservative"
    nodes = options.reservation == "nodes" and not partition
    return make.records(
        Rules,
        1,
        total=machine.units,
        partition=partition,
        closed=closed,
        kill=options.kill,
        easy=options.backfill == "easy",
        wfp=options.queue == "wfp",
        short_first=options.queue == "sjf",
        short_behind=options.backfill_order == "sjf",
        event=options.pass_ == "event",
        boxed=conservative or nodes,
        numbered=nodes or (partition and conservative),
        overlaps=options.estimate == "uncongested",
        conservative=conservative,
        rebuild=options.plan == "rebuild",
        keeps=conservative and options.plan == "keep",
        ignores_limit=policy.ignores_limit,
        full_when_fits=policy.full_when_fits,
        shared=policy.by_clock(trace.limits),
        record=record,
        window_first=trace.window[0],
        window_last=trace.window[1],
    )[0]


def _units(make: Maker, trace: Trace, rules: Rules) -> Units:
    """Return the units of the machine, all free."""
    blocks = trace.machine.units if rules.partition else 0
    words = -(-trace.machine.units // WORD) if rules.numbered else 0
    sets = 0
    if rules.boxed and not rules.partition:
        sets = len(trace)
    return make.table(
        Units,
        words=words,
        busy=_wholes(make, blocks),
        free_from=_reals(make, blocks, trace.limits.zero),
        in_use=_wholes(make, words),
        taken=_wholes(make, words),
        chosen=_wholes(make, sets * words),
    )


def _profile(make: Maker, jobs: int, zero: Number) -> Profile:
    """Return work space for the boxes of *jobs*.

    Each job marks at most two ends, and opens one more step when it is fitted and one
    when it starts.
    """
    return make.table(
        Profile,
        marks=_wholes(make, 2 * jobs + 2),
        mark_times=_reals(make, 2 * jobs + 2, zero),
        step_times=_reals(make, 4 * jobs + 8, zero),
        step_free=_wholes(make, 4 * jobs + 8),
    )


def _view(
    make: Maker,
    trace: Trace,
    policy: IoPolicy,
    requests: list[Request],
    limits: Limits,
    closed: bool,
) -> KernelView:
    """Return a view of no requests, with work space for those of all jobs."""
    if not make.compiled:
        return KernelView.plain(policy, requests, limits)
    most, most_units = trace.most_at_once(closed)
    states = 0
    if policy.tabulates and limits.own_peaks:
        states = trace.most_states(closed)
    places = len(requests) + 2
    # Few runs have that many requests at once. The system allocates this memory when it
    # is written first.
    words = min(most_units, limits.capacity_units) // WORD + 1
    bits = np.empty((most + 1) * words, np.int64)
    return make.table(
        KernelView,
        limits=limits,
        jobs=requests,
        out=make.ints(np.arange(places)),
        top=policy.top,
        power=1,
        keys=_reals(make, places, 0.0),
        order=_wholes(make, places),
        depths=_reals(make, places, 0.0),
        sizes=_reals(make, places, 0.0),
        finishes=_reals(make, places, 0.0),
        bits=make.ints(bits),
        width=WORD,
        words=words,
        loads=make.floats(np.empty(states)),
        values=make.ints(np.empty(states, np.int64)),
        rows=_wholes(make, places),
    )


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
