"""The compiled engine: the text of :mod:`ioopt.sim.batch_io.engine` on records and arrays."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ioopt.compiled import boxes, compiled
from ioopt.decisions.batch_io import IoPolicy, KernelView, Twin
from ioopt.problems.batch_io import BatchIoProblem, Job, Machine, Phase
from ioopt.sim.batch_io import engine
from ioopt.sim.batch_io.box_arrays import WORD
from ioopt.sim.batch_io.buffer import Buffer, buffer_of
from ioopt.sim.batch_io.simulate import Starts, finish_run
from ioopt.sim.batch_io.state import (
    JOB_AMOUNTS,
    JOB_NUMBERS,
    MOMENT_AMOUNTS,
    MOMENT_NUMBERS,
    NOBODY,
    arrivals_of,
    facts_of,
    lanes_of,
    terms_of,
)
from ioopt.sim.batch_io.trace import Run, Trace, beliefs_of
from ioopt.sim.pace import Pace

INSTANTS_PER_CALL = 4_000
"""Instants between two looks at the deadline."""
BITS_A_WORD = 62

advance: Any = compiled(engine.__name__, "advance", whole=True)


def _record(numbers: Sequence[str], amounts: Sequence[str]) -> np.dtype[Any]:
    return np.dtype(
        [*((name, np.int64) for name in numbers), *((name, float) for name in amounts)], align=True
    )


JOB = _record(JOB_NUMBERS, JOB_AMOUNTS)
MOMENT = _record(MOMENT_NUMBERS, MOMENT_AMOUNTS)
SPAN = _record(("place",), ("since", "until", "rate"))


class Arrays(NamedTuple):
    """:class:`ioopt.sim.batch_io.state.World` for numba; for the last ones see ``arrays`` and
    :class:`ioopt.decisions.batch_io.KernelView`."""

    exact: bool
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
    bytes: bool
    capacity: float
    plan_depth: int
    plan_power: int
    plan_evaluations: int
    closed: bool
    record: bool
    shared: bool
    progress: bool
    ignores_limit: bool
    full_when_fits: bool
    total: int
    capacity_units: int
    num_lanes: int
    span_room: int
    storage: float
    node_rate: float
    interference: float
    own_peaks: bool
    window_first: float
    window_last: float
    jobs: Any
    compute: Any
    volume: Any
    belief: Any
    asked: Any
    grant: Any
    finish: Any
    arrival_jobs: Any
    arrivals: Any
    first: Any
    last: Any
    spans: Any
    out: Any
    due: Any
    fresh: Any
    moved: Any
    rates: Any
    line: Any
    running: Any
    times: Any
    targets: Any
    busy: Any
    free_from: Any
    saturating_units: int
    top: bool
    keys: Any
    order: Any
    depths: Any
    sizes: Any
    finishes: Any
    bits: Any
    loads: Any
    values: Any
    rows: Any
    marks: Any
    mark_times: Any
    step_times: Any
    step_free: Any
    step_room: Any
    saved_steps: Any
    saved_times: Any
    saved_free: Any
    saved_room: Any
    trial: Any
    best: Any
    taken: Any
    in_use: Any
    chosen: Any
    buffered: bool
    buffer: Buffer
    line_all: Any


def arrays_of(trace: Trace, policy: IoPolicy, record: bool, starts: Starts | None) -> Arrays:
    """The world of a run at time 0."""
    twin, limits, options = policy.twin, trace.limits, trace.options
    buffered = trace.buffered is not None
    jobs = len(trace) * (2 if buffered else 1)
    assert twin is not None
    units = trace.machine.units
    terms = terms_of(trace.machine, options, limits)
    partition = terms["partition"]
    records = _jobs(trace, twin, starts)
    phases, count = np.full((5, trace.num_places), math.nan), trace.num_phases
    if trace.pieces:
        seconds, volumes, repeats = (np.array(column) for column in zip(*trace.pieces))
        phases[0, :count] = np.repeat(seconds, repeats)
        phases[1, :count] = np.repeat(volumes, repeats)
    order, times = arrivals_of(trace, starts)
    lists = np.zeros((8, jobs + 2), np.int64)
    tabulated = twin.tabulates and limits.own_peaks
    states = trace.most_states(starts is None) if tabulated else 0
    rows = np.zeros((7, jobs + 1))
    rows[5:] = math.inf
    lanes, records["lane"] = lanes_of(policy, trace)
    spans = np.zeros(max(1 << 16, 8 * jobs) + 4096 if record else 1, SPAN)
    return Arrays(
        exact=False, **terms, closed=starts is None, record=record,
        shared=policy.by_clock(limits),
        progress=policy.reads_progress or (buffered and policy.needs_start),
        ignores_limit=policy.ignores_limit, full_when_fits=policy.full_when_fits, total=units,
        capacity_units=limits.capacity_units, num_lanes=lanes,
        # An instant ends at most the spans of all jobs, once a leave and once a decision.
        span_room=len(spans) - 4 * (jobs + 64) if record else 1,
        storage=limits.storage, node_rate=limits.node_rate,
        interference=limits.interference, own_peaks=limits.own_peaks,
        window_first=float(trace.window[0]), window_last=float(trace.window[1]), jobs=records,
        compute=phases[0], volume=phases[1],
        belief=np.array(beliefs_of(policy, trace), float) if policy.believes else phases[1],
        asked=phases[2], grant=phases[3], finish=phases[4],
        arrival_jobs=np.array(order, np.int64), arrivals=np.array(times),
        first=np.full(lanes, NOBODY), last=np.full(lanes, NOBODY), spans=spans,
        out=lists[0], due=lists[1], fresh=lists[2], moved=lists[3], line=lists[4],
        running=lists[5], order=lists[6], rates=rows[0], keys=rows[1], depths=rows[2],
        sizes=rows[3], finishes=rows[4], times=rows[5], targets=rows[6],
        busy=np.zeros(units if partition else 0, np.uint8),
        free_from=np.zeros(units if partition else 0),
        saturating_units=limits.saturating_units, top=twin.top,
        # Memory that is never touched costs nothing: few runs have as many requests at once.
        loads=np.empty(states), values=np.empty(states, np.int64), rows=lists[7],
        bits=np.empty(_table(trace, starts is None), np.int64), buffered=buffered,
        buffer=buffer_of(trace, policy.ignores_limit, boxes(True)),
        line_all=np.zeros(jobs + 1, np.int64), **_boxes(trace, terms),
    )  # fmt: skip


def _boxes(trace: Trace, terms: dict[str, Any]) -> dict[str, Any]:
    """What :mod:`ioopt.sim.batch_io.box_arrays` works in; empty where no pass gives boxes."""
    jobs = len(trace) if terms["boxed"] else 0
    words = -(-trace.machine.units // WORD) if terms["numbered"] else 0
    # Each job marks two ends at most, and opens one more step when it is fitted and when it starts.
    marks, steps = 2 * jobs + 2, 4 * jobs + 8
    kept = (2, steps if terms["search"] else 1)
    return {
        "marks": np.empty(marks, np.int64),
        "mark_times": np.empty(marks), "step_times": np.empty(steps),
        "step_free": np.empty(steps, np.int64), "step_room": np.empty(steps),
        "saved_steps": np.zeros(2, np.int64), "saved_times": np.empty(kept),
        "saved_free": np.empty(kept, np.int64), "saved_room": np.empty(kept),
        "trial": np.empty(jobs, np.int64), "best": np.empty(jobs, np.int64),
        "taken": np.zeros(words, np.int64), "in_use": np.zeros(words, np.int64),
        "chosen": np.zeros((jobs, 0 if terms["partition"] else words), np.int64),
    }  # fmt: skip


def _units(chosen: Any) -> list[Sequence[int]] | None:
    """The numbers of the units in each row of words; None where units have no numbers."""
    if not chosen.size:
        return None
    bits = (np.unpackbits(row.view(np.uint8), bitorder="little") for row in chosen)
    return [np.flatnonzero(row.reshape(-1, 64)[:, :WORD]).tolist() for row in bits]


def _jobs(trace: Trace, twin: Twin, starts: Starts | None) -> Any:
    """A record a job, with what :class:`ioopt.sim.batch_io.state.ActiveRequest` begins with."""
    jobs = np.zeros(len(trace), JOB).view(np.recarray)
    jobs.job, jobs.id = range(len(trace)), trace.rank
    jobs.nodes, jobs.asked_nodes, jobs.units = trace.allocated, trace.nodes, trace.units
    jobs.peak, jobs.submit, jobs.walltime = trace.peak, trace.submit, trace.walltime
    jobs.place, jobs.last_place = trace.offset[:-1], trace.offset[1:]
    jobs.block = NOBODY if starts is None else starts[1]
    jobs.start = jobs.end = math.nan
    jobs.length, jobs.box_start, jobs.box_end = trace.length, -math.inf, -math.inf
    if trace.buffered:
        jobs = np.concatenate([jobs, jobs]).view(np.recarray)
        jobs.job = range(len(jobs))
        jobs.peak[len(trace) :] = trace.buffered.stream
    if twin.constant:
        jobs.constant = [twin.constant(facts) for facts in facts_of(trace)]
    return jobs.view(np.ndarray)


def _table(trace: Trace, closed: bool) -> tuple[int, int]:
    """Requests and words at most of the table of rule 12."""
    jobs, units = trace.most_at_once(closed)
    return jobs + 1, min(units, trace.limits.capacity_units) // BITS_A_WORD + 1


def simulate_compiled(
    trace: Trace,
    policy: IoPolicy,
    *,
    record_rates: bool = False,
    starts: Starts | None = None,
    pace: Pace | None = None,
) -> Run:
    """As :func:`ioopt.sim.batch_io.simulate.simulate_trace`, in floats, for a policy with a twin."""
    w = arrays_of(trace, policy, record_rates, starts)
    m = np.zeros(1, MOMENT).view(np.recarray)[0]
    m.free = w.total
    assert policy.twin is not None
    kernel = _machine_code(policy.twin, w, m)
    spans: list[Any] = []
    more = True
    while more:
        more = advance(w, m, kernel, INSTANTS_PER_CALL)
        found = w.spans[: m.num_spans]
        spans.append(np.column_stack([found[name] for name in SPAN.names or ()]))
        m.num_spans = 0
        if more and pace:
            pace.look(int(m.arrived), int(m.ended), len(trace))
    run = Run(
        **{name: w.jobs[name][: len(trace)].tolist() for name in ("start", "end", "killed", "block")},
        released=w.buffer.released.tolist() if w.buffered else None, request=w.asked,
        grant=w.grant, finish=w.finish, rates=[] if record_rates else None, engine="compiled",
        units=_units(w.chosen) if w.closed else None,
    )  # fmt: skip
    finish_run(trace, policy, run, m, np.concatenate(spans))
    return run


def _machine_code(twin: Twin, w: Arrays, m: Any) -> Any:
    """The kernel of the policy, which the engine calls by its address; both are ready then."""
    kernel: Any = compiled(twin.kernel.__module__, twin.kernel.__name__)
    if kernel.signatures and advance.signatures:
        return kernel
    from numba import typeof, types

    from ioopt.compiled.by_reference import Reference

    view = KernelView(
        w.jobs, w.out, 0, 0.0, w.storage, w.node_rate, w.capacity_units, w.saturating_units,
        w.own_peaks, w.top, w.keys, w.order, w.depths, w.sizes, w.finishes, w.bits, w.loads,
        w.values, w.rows,
    )  # fmt: skip
    called = types.void(Reference(typeof(view)), typeof(w.rates))
    parts: tuple[tuple[Any, Any], ...] = (
        (kernel, called),
        (advance, types.boolean(typeof(w), typeof(m), types.FunctionType(called), types.int64)),
    )
    for function, signature in parts:
        if not function.signatures:
            function.compile(signature)
            function.disable_compile()
    return kernel


def compile_for(policies: Iterable[IoPolicy]) -> None:
    """Compile the engine and the kernels of *policies*, or load them, by a run of one job each."""
    machine = Machine(
        nodes=1, unit_nodes=1, allocation="flat", node_bytes_per_second=1,
        storage_bytes_per_second=1,
    )  # fmt: skip
    phases = (Phase(compute_seconds=1, io_bytes=1),)
    job = Job(id=0, submit_seconds=0, nodes=1, walltime_seconds=9, phases=phases)
    trace = Trace.of(BatchIoProblem(name="one", machine=machine, jobs=(job,)))
    for policy in policies:
        if policy.twin:
            simulate_compiled(trace, policy)
