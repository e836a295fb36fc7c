"""Runs of the batch I/O simulator in plain Python, generic over floats and Fractions.

The text of :mod:`ioopt.sim.batch_io.engine` gives the same times to the bit when it is compiled. Where a
job's I/O rate never changes, what it takes is known when it starts: then the whole schedule follows by
adding up.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from operator import gt
from types import SimpleNamespace
from typing import Any

from ioopt.compiled import boxes
from ioopt.decisions.batch_io import IoPolicy, Number
from ioopt.errors import SimulationError
from ioopt.sim.batch_io.buffer import buffer_of
from ioopt.sim.batch_io.engine import advance
from ioopt.sim.batch_io.jobs import start
from ioopt.sim.batch_io.state import Moment, World
from ioopt.sim.batch_io.storage import use
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


MOST_CELLS = 128
"""Places that are told apart in a machine of partitions; more units are taken together."""


def simulate_steady(trace: Trace, rates: Sequence[Number], record_rates: bool = False) -> Run:
    """Run *trace* with ``rates[j]`` bytes per second for every request of job j.

    Jobs start in order of arrival; the options of the batch queue do not
    count. The rates of jobs that fit the machine together must fit the storage.
    """
    run = Run.empty(trace, record_rates)
    run.events = 2 * len(trace)
    first, last = trace.window
    usage = SimpleNamespace(window_first=first, window_last=last, useful=0)
    places = _blocks if trace.machine.allocation == "partition" else _counts
    steps = [_steps(trace, j, rate) for j, rate in enumerate(rates)]
    lengths = [times[-1] for times in steps]
    if trace.options.kill:
        run.killed = bytearray(map(gt, lengths, trace.walltime))
        lengths = list(map(min, lengths, trace.walltime))
    for j, (began, block) in enumerate(places(trace, lengths)):
        run.start[j], run.end[j], run.block[j] = began, began + lengths[j], block
        _write(trace, run, usage, j, steps[j], rates[j])
    run.useful = usage.useful
    return run


def _counts(trace: Trace, lengths: Sequence[Number]) -> Iterator[tuple[Number, int]]:
    """Starts on a flat machine: each job when it fits, and not before the one ahead of it."""
    now, free = trace.limits.number(0), trace.machine.units
    ends: list[tuple[Number, int]] = []
    for submit, units, length in zip(trace.submit, trace.units, lengths):
        now = max(now, submit)
        while ends and (free < units or ends[0][0] <= now):
            end, released = heappop(ends)
            now, free = max(now, end), free + released
        yield now, -1
        heappush(ends, (now + length, units))
        free -= units


def _blocks(trace: Trace, lengths: Sequence[Number]) -> Iterator[tuple[Number, int]]:
    """Starts and first units on partitions: each job takes the aligned block that is free first."""
    grain = 1
    while trace.machine.units // grain > MOST_CELLS:
        grain *= 2
    until = [trace.limits.number(0)] * (trace.machine.units // grain)
    for submit, units, length in zip(trace.submit, trace.units, lengths):
        width = min(len(until), max(1, units // grain))
        begins = range(0, len(until) - width + 1, width)
        free, at = min((max(until[k : k + width]), k) for k in begins)
        start = max(submit, free)
        yield start, at * grain
        until[at : at + width] = [start + length] * width


def _steps(trace: Trace, j: int, rate: Number) -> list[Number]:
    """When the computes and the transfers of job *j* end, in turn, counted from its start."""
    now, steps = trace.limits.number(0), []
    for place in range(trace.offset[j], trace.offset[j + 1]):
        now += trace.compute[place]
        steps.append(now)
        now += trace.volume[place] / rate
        steps.append(now)
    return steps


def _write(trace: Trace, run: Run, usage: Any, j: int, steps: list[Number], rate: Number) -> None:
    """The requests of job *j*, up to its end where its walltime ended it."""
    start, last, nodes = run.start[j], run.end[j], trace.allocated[j]
    part = nodes * (rate / trace.peak[j])
    begun = start
    for k, place in enumerate(range(trace.offset[j], trace.offset[j + 1])):
        request, finish = start + steps[2 * k], start + steps[2 * k + 1]
        use(usage, usage, begun, min(request, last), nodes)
        if request > last:
            return
        if finish > request:
            run.request[place], until = request, min(finish, last)
            if until == request:  # its job is killed at that instant
                return
            run.grant[place] = request
            if finish <= last:
                run.finish[place] = finish
            use(usage, usage, request, until, part)
            if run.rates is not None:
                run.rates.append((place, request, until, rate))
        begun = finish
