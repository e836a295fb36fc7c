"""Run the batch I/O simulator, either in plain Python (on floats or Fractions) or
compiled (on floats).

Plain Python and machine code run the same code, that of
:mod:`ioopt.sim.batch_io.engine`. On floats the times of both are equal to the bit.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ioopt.compiled import Box, compiled
from ioopt.decisions.batch_io import IoPolicy, KernelView
from ioopt.errors import SimulationError
from ioopt.problems.batch_io import BatchIoProblem, Job, Machine, Phase
from ioopt.sim.batch_io import engine
from ioopt.sim.batch_io.state import (
    WORD,
    Clock,
    Starts,
    Tables,
    clock_record,
    tables_of,
)
from ioopt.sim.batch_io.storage import view_of
from ioopt.sim.batch_io.trace import Run, Spans, Trace
from ioopt.sim.pace import Pace

FAST_INSTANTS = 4_000
"""Instants of compiled code between two checks of the deadline."""
PLAIN_INSTANTS = 64
"""Instants of plain Python between two checks of the deadline."""


def simulate_trace(
    trace: Trace,
    policy: IoPolicy,
    *,
    record_rates: bool = False,
    starts: Starts | None = None,
    pace: Pace | None = None,
    fast: bool = False,
) -> Run:
    """Simulate *trace* under *policy*, as compiled code on floats if *fast*.

    *starts* fixes the start time and the first unit of every job (open loop): the batch
    queue is not used, and nodes are not counted. Raises SimulationError if the policy
    never gives some requests any bandwidth, and OutOfTime if *pace* ends the run.
    """
    jobs = len(trace)
    spans: list[Any] = []
    tables = tables_of(trace, policy, starts, record_rates, fast)
    clock = clock_record() if fast else Clock(trace.limits.zero)
    clock.free = tables.total
    advance = engine.advance
    grant = policy.grant or never_asked
    instants = PLAIN_INSTANTS if policy.compilable else 1
    if fast:
        advance, grant = machine_code(grant, tables, clock)
        instants = FAST_INSTANTS
    more = True
    while more:
        more = advance(tables, clock, grant, instants)
        if fast and record_rates:
            spans.append(tables.spans[:, : clock.num_spans].T.copy())
            clock.num_spans = 0
        elif record_rates and not more:
            spans = [*zip(*tables.spans)]
        if more and pace:
            pace.look(int(clock.arrived), int(clock.ended), jobs)
    if clock.outstanding:
        raise SimulationError(
            f"{policy.name}: {clock.outstanding} request(s) never get bandwidth"
        )
    run = Run(
        **_columns(tables, fast),
        units=_units(tables) if tables.closed else None,
        useful=clock.useful if trace.limits.exact else float(clock.useful),
        events=int(clock.events),
        decisions=int(clock.decisions),
    )
    if record_rates:
        found: Spans = spans
        if fast:
            found = np.concatenate(spans)
        run.rates = _spread(trace, run, found) if tables.shared else found
    return run


def _columns(tables: Tables, fast: bool) -> dict[str, list[Any]]:
    """Return the times of all requests and the outcome of all jobs, as lists keyed by
    field name.
    """
    columns: dict[str, Box] = {
        "request": tables.asked,
        "grant": tables.grant,
        "finish": tables.finish,
    }
    records: Box = tables.jobs
    for name in ("start", "end", "killed", "block"):
        if fast:
            columns[name] = records[name]
        else:
            columns[name] = [getattr(job, name) for job in records]
    if fast:
        return {name: column.tolist() for name, column in columns.items()}
    return {name: list(column) for name, column in columns.items()}


def never_asked(view: KernelView, rates: Box) -> None:
    """Stand in for the grant function of a policy that always grants peak rates; it is
    never called.
    """


def _units(tables: Tables) -> list[Sequence[int]] | None:
    """Return, for each job, the numbers of its units; None if units are not numbered
    (rule 32).
    """
    if not tables.boxed or not len(tables.chosen) or not len(tables.chosen[0]):
        return None
    return [_members(row) for row in tables.chosen]


def _members(row: Sequence[int]) -> list[int]:
    """Return the numbers of the units in a set that is stored as bits in words."""
    found = []
    for k, word in enumerate(row):
        bits = int(word)
        found += [WORD * k + bit for bit in range(WORD) if bits >> bit & 1]
    return found


def machine_code(
    grant: Callable[..., None], tables: Tables, clock: Clock
) -> tuple[Any, Any]:
    """Return the compiled engine and the policy's compiled grant function."""
    advance: Any = compiled(engine.__name__, "advance", whole=True)
    kernel: Any = compiled(grant.__module__, grant.__name__)
    if kernel.signatures and advance.signatures:
        return advance, kernel
    from numba import typeof, types

    from ioopt.compiled.references import Reference, handed_on

    kinds = [*map(handed_on, typeof(view_of(tables, clock, tables.out, 0)))]
    called = types.void(
        Reference(types.NamedTuple(kinds, KernelView)), typeof(tables.rates)
    )
    parts: tuple[tuple[Any, Any], ...] = (
        (kernel, called),
        (
            advance,
            types.boolean(
                *map(typeof, (tables, clock)), types.FunctionType(called), types.int64
            ),
        ),
    )
    for function, signature in parts:
        if not function.signatures:
            function.compile(signature)
            function.disable_compile()
    return advance, kernel


def compile_for(policies: Iterable[IoPolicy]) -> None:
    """Compile the engine and the grant functions of *policies*, or load their machine
    code, by running one job under each policy.
    """
    machine = Machine(
        nodes=1,
        unit_nodes=1,
        allocation="flat",
        node_bytes_per_second=1,
        storage_bytes_per_second=1,
    )
    phases = (Phase(compute_seconds=1, io_bytes=1),)
    job = Job(id=0, submit_seconds=0, nodes=1, walltime_seconds=9, phases=phases)
    trace = Trace.of(BatchIoProblem(name="one", machine=machine, jobs=(job,)))
    for policy in policies:
        if policy.compilable:
            simulate_trace(trace, policy, fast=True)


def _spread(trace: Trace, run: Run, changes: Spans) -> Spans:
    """Compute the time spans of every request from the *changes* of rho, the rate per
    node.

    From its grant to its finish, a request moves rho times its number of nodes.
    """
    kind: Any = object if trace.limits.exact else float
    granted = np.array(run.grant, kind)
    finish = np.array(run.finish, kind)
    place = np.flatnonzero(granted == granted)
    job = np.searchsorted(trace.offset, place, side="right") - 1
    since = granted[place]
    until = finish[place]
    until = np.where(until == until, until, np.array(run.end, kind)[job])
    steps = np.array(changes, kind).reshape(-1, 4)[:, 1::2]
    times = np.append(steps[:, 0], np.inf)
    rhos = steps[:, 1]
    first = np.searchsorted(steps[:, 0], since, side="right") - 1
    count = np.maximum(np.searchsorted(steps[:, 0], until) - first, 0)
    of = np.repeat(np.arange(len(place)), count)
    step = np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(of))
    since = np.maximum(since[of], times[step])
    until = np.minimum(until[of], times[step + 1])
    rate = rhos[step] * np.array(trace.allocated)[job[of]]
    long = (until > since).astype(bool)
    rows = np.column_stack([place[of][long], since[long], until[long], rate[long]])
    if trace.limits.exact:
        return [*map(tuple, rows)]
    return rows
