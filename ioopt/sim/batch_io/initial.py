"""Make the state of a batch I/O run at time 0 (:mod:`~ioopt.sim.batch_io.state`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from ioopt.compiled.memory import Maker
from ioopt.decisions.batch_io import IoPolicy, KernelView, Limits, Request
from ioopt.decisions.ordering import Number
from ioopt.problems.batch_io import Machine, QueueOptions
from ioopt.sim.batch_io.state import (
    NOBODY,
    WAITING,
    WORD,
    Agenda,
    Clock,
    Job,
    Profile,
    Rules,
    Spans,
    System,
    Units,
)
from ioopt.sim.batch_io.trace import Trace

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
        compute=make.floats(trace.compute),
        volume=make.floats(trace.volume),
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
        least=policy.least,
        keys=_reals(make, places, 0.0),
        order=_wholes(make, places),
        depths=_reals(make, places, 0.0),
        sizes=_reals(make, places, 0.0),
        finishes=_reals(make, places, 0.0),
        bits=make.ints(bits),
        width=WORD,
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
