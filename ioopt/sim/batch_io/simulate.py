"""Run the batch I/O simulator, either in plain Python (on floats or Fractions) or
compiled (on floats).

Both run the same code, that of :mod:`ioopt.sim.batch_io.engine`. On floats the times of
both are equal to the bit.
"""

from collections.abc import Sequence

import numpy as np

from ioopt.compiled.memory import Maker, array_of, column
from ioopt.decisions.batch_io import IoPolicy
from ioopt.decisions.ordering import Number
from ioopt.errors import SimulationError
from ioopt.sim.batch_io import engine
from ioopt.sim.batch_io.initial import Starts, clock_of, system_of
from ioopt.sim.batch_io.state import WORD, System
from ioopt.sim.batch_io.trace import Numbers, Run, Spans, Trace
from ioopt.sim.pace import Pace

COMPILED_INSTANTS = 4_000
"""Instants of compiled code between two checks of the deadline."""
PLAIN_INSTANTS = 64
"""Instants of plain Python between two checks of the deadline."""


def simulate_trace(
    trace: Trace,
    policy: IoPolicy,
    make: Maker,
    *,
    record_rates: bool = False,
    starts: Starts | None = None,
    pace: Pace | None = None,
) -> Run:
    """Simulate *trace* under *policy* with the kernels of *make*.

    *starts* fixes the start time and the first unit of every job (open loop): the batch
    queue is not used, and nodes are not counted. Raises SimulationError if the policy
    never gives some requests any bandwidth, and OutOfTime if *pace* ends the run.
    """
    jobs = len(trace)
    run = system_of(make, trace, policy, starts, record_rates)
    clock = clock_of(make, trace.limits, run.rules.total)
    advance = make.function(engine.advance)
    grant = make.function(policy.grant or engine.never_asked)
    instants = COMPILED_INSTANTS
    if not make.compiled:
        # A policy that is no kernel text may take long to decide.
        instants = PLAIN_INSTANTS if policy.is_text else 1
    spans: list[Spans] = []
    more = True
    while more:
        more = advance(run, clock, grant, instants)
        if clock.num_spans:
            spans.append(_recorded(run, clock.num_spans))
            clock.num_spans = 0
        if more and pace:
            pace.look(clock.arrived, clock.ended, jobs)
    if clock.outstanding:
        raise SimulationError(
            f"{policy.name}: {clock.outstanding} request(s) never get bandwidth"
        )
    found = Run(
        start=column(run.jobs, "start"),
        end=column(run.jobs, "end"),
        killed=column(run.jobs, "killed"),
        block=column(run.jobs, "block"),
        request=_times(run.asked, trace),
        grant=_times(run.grant, trace),
        finish=_times(run.finish, trace),
        units=_units(run) if starts is None else None,
        useful=clock.useful,
        events=clock.events,
        decisions=clock.decisions,
    )
    if record_rates:
        rows = np.concatenate(spans) if spans else np.empty((0, 4))
        found.rates = _spread(trace, found, rows) if run.rules.shared else rows
    return found


def _times(times: list[Number], trace: Trace) -> Numbers:
    """Return the *times* of all phases as an array."""
    if trace.limits.exact:
        return np.array(times, object)
    found: Numbers = array_of(times, trace.num_phases)
    return found


def _recorded(run: System, count: int) -> Spans:
    """Return the first *count* spans as an array of rows; see :class:`Run`."""
    spans = run.spans
    lists = (spans.place, spans.since, spans.until, spans.rate)
    return np.column_stack([array_of(numbers, count) for numbers in lists])


def _units(run: System) -> list[Sequence[int]] | None:
    """Return, for each job, the numbers of its units; None if units are not numbered
    (rule 32).
    """
    words = run.units.words
    chosen = run.units.chosen[:]
    if not chosen:
        return None
    return [
        _members(chosen[first : first + words])
        for first in range(0, len(chosen), words)
    ]


def _members(row: Sequence[int]) -> list[int]:
    """Return the numbers of the units in a set that is stored as bits in words."""
    found = []
    for k, word in enumerate(row):
        found += [WORD * k + bit for bit in range(WORD) if word >> bit & 1]
    return found


def _spread(trace: Trace, run: Run, changes: Spans) -> Spans:
    """Compute the time spans of every request from the *changes* of rho, the rate per
    node.

    From its grant to its finish, a request moves rho times its number of nodes.
    """
    kind = trace.kind
    place = np.flatnonzero(run.grant == run.grant)
    job = trace.owner[place]
    since = run.grant[place]
    until = run.finish[place]
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
    return np.column_stack([place[of][long], since[long], until[long], rate[long]])
