"""Runs of the batch I/O simulator in plain Python, generic over floats and Fractions.

The text of :mod:`ioopt.sim.batch_io.engine` gives the same times to the bit when it is compiled.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from ioopt.compiled import boxes
from ioopt.decisions.batch_io import IoPolicy, Number
from ioopt.errors import SimulationError
from ioopt.sim.batch_io.buffer import buffer_of
from ioopt.sim.batch_io.engine import advance
from ioopt.sim.batch_io.jobs import start
from ioopt.sim.batch_io.state import Moment, World
from ioopt.sim.batch_io.trace import Run, Span, Spans, Trace, known
from ioopt.sim.pace import Pace

_INSTANTS_PER_LOOK = 64
"""Instants between two looks at the deadline."""

Starts = tuple[Sequence[Number], Sequence[int]]


def simulate_trace(
    trace: Trace,
    policy: IoPolicy,
    *,
    record_rates: bool = False,
    starts: Starts | None = None,
    pace: Pace | None = None,
) -> Run:
    """Run *trace* under *policy*.

    *starts* fixes the start and the first unit of every job (open loop): the batch queue is not
    asked and nodes are not counted. Raises SimulationError when the policy leaves every request
    without bandwidth for good, OutOfTime where *pace* ends the run.
    """
    run = Run.empty(trace, record_rates)
    w = World(trace.machine, trace.options, trace.limits, start)
    w.buffer = buffer_of(trace, policy.ignores_limit, boxes(False))
    w.play(trace, policy, run, starts)
    m = Moment(trace.limits.number(0))
    m.free = w.total
    jobs, instants = len(trace), 1 if policy.slow else _INSTANTS_PER_LOOK
    while advance(w, m, policy.decide, instants):
        if pace:
            pace.look(m.arrived, m.ended, jobs)
    for job, r in enumerate(w.jobs[:jobs]):
        run.start[job], run.end[job] = r.start, r.end
        run.killed[job], run.block[job] = r.killed, r.block
    if w.chosen:
        run.units = [bits_of(w.chosen[job]) for job in range(jobs)]
    run.released = w.buffer.released if w.buffered else None
    finish_run(trace, policy, run, m, w.spans)
    return run


def bits_of(number: int) -> list[int]:
    """The bits that are set in *number*, ascending."""
    return [k for k, bit in enumerate(reversed(bin(number))) if bit == "1"]


def finish_run(trace: Trace, policy: IoPolicy, run: Run, m: Moment, spans: Spans) -> None:
    """Write into *run* what its last moment says, and the *spans* that it recorded.

    Raises SimulationError where requests are left.
    """
    if m.outstanding:
        raise SimulationError(f"{policy.name}: {m.outstanding} request(s) never get bandwidth")
    run.useful = m.useful if trace.limits.exact else float(m.useful)
    run.events, run.decisions = int(m.events), int(m.decisions)
    if run.rates is not None:
        run.rates = _spread(trace, run, spans) if policy.by_clock(trace.limits) else spans


def _spread(trace: Trace, run: Run, changes: Spans) -> Spans:
    """Spans of every request from the changes of rho."""
    if not trace.limits.exact:
        return _spread_floats(trace, run, changes)
    times, rhos = [change[1] for change in changes], [change[3] for change in changes]
    spans: list[Span] = []
    for j, nodes in enumerate(trace.allocated):
        for place in range(trace.offset[j], trace.offset[j + 1]):
            if known(run.grant[place]):
                last = run.finish[place] if known(run.finish[place]) else run.end[j]
                for since, until, rho in history(times, rhos, run.grant[place], last):
                    spans.append((place, since, until, rho * nodes))
    return spans


def _spread_floats(trace: Trace, run: Run, changes: Spans) -> Spans:
    """The same from arrays: each request at the steps between its grant and its finish."""
    import numpy as np

    granted = np.asarray(run.grant)
    place = np.flatnonzero(~np.isnan(granted))
    job = np.searchsorted(trace.offset, place, side="right") - 1
    since, until = granted[place], np.asarray(run.finish)[place]
    until = np.where(np.isnan(until), np.asarray(run.end, dtype=float)[job], until)
    steps = np.asarray(changes, dtype=float).reshape(-1, 4)[:, 1::2]
    times, rhos = np.append(steps[:, 0], np.inf), steps[:, 1]
    first = np.searchsorted(steps[:, 0], since, side="right") - 1
    count = np.maximum(np.searchsorted(steps[:, 0], until) - first, 0)
    of = np.repeat(np.arange(len(place)), count)
    step = np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(of))
    since, until = np.maximum(since[of], times[step]), np.minimum(until[of], times[step + 1])
    rate = rhos[step] * np.asarray(trace.allocated)[job[of]]
    long = until > since
    return np.column_stack([place[of][long], since[long], until[long], rate[long]])


def history(
    times: list[Number], values: list[Number], since: Number, until: Number
) -> Iterator[tuple[Number, Number, Number]]:
    """Spans of a step function between two instants: ``values[k]`` holds from ``times[k]`` on."""
    k = bisect_right(times, since)
    while since < until:
        end = times[k] if k < len(times) and times[k] < until else until
        if end > since:
            yield since, end, values[k - 1]
        since = end
        k += 1
