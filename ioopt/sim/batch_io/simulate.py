"""Runs of the batch I/O simulator, generic over floats and Fractions, in plain Python or compiled.

Both run the text of :mod:`ioopt.sim.batch_io.engine` and give the same times to the bit.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from ioopt.decisions.batch_io import IoPolicy, Number
from ioopt.errors import OutOfTime, SimulationError
from ioopt.options import Deadline
from ioopt.sim.batch_io.engine import advance
from ioopt.sim.batch_io.jobs import start
from ioopt.sim.batch_io.state import Moment, World
from ioopt.sim.batch_io.trace import Run, Span, Trace, known
from ioopt.sim.relay import Relay

_INSTANTS_PER_LOOK = 64
"""Instants between two looks at the deadline."""

Starts = tuple[Sequence[Number], Sequence[int]]


def simulate_trace(
    trace: Trace,
    policy: IoPolicy,
    *,
    record_rates: bool = False,
    starts: Starts | None = None,
    deadline: Deadline | None = None,
    relay: Relay | None = None,
) -> Run:
    """Run *trace* under *policy*.

    *starts* fixes the start and the first unit of every job (open loop): the batch queue is not
    asked and nodes are not counted. Raises SimulationError when the policy leaves every request
    without bandwidth for good, OutOfTime when the *deadline* passes. *relay*, which has a deadline of
    its own, may end the run too.
    """
    run = Run.empty(trace, record_rates)
    w = World(trace.machine, trace.options, trace.limits, start)
    w.play(trace, policy, run, starts)
    m = Moment(trace.limits.number(0))
    m.free = w.total
    jobs, instants = len(trace), 1 if policy.slow else _INSTANTS_PER_LOOK
    while advance(w, m, policy.decide, instants):
        if relay:
            relay.look(m.arrived, m.ended, jobs)
        elif deadline and deadline.expired():
            raise out_of_time(m.ended, jobs)
    for job, r in enumerate(w.jobs):
        run.start[job], run.end[job] = r.start, r.end
        run.killed[job], run.block[job] = r.killed, r.block
    if w.chosen:
        run.units = [bits_of(w.chosen[job]) for job in range(jobs)]
    finish_run(trace, policy, run, m, w.spans)
    return run


def bits_of(number: int) -> list[int]:
    """The bits that are set in *number*, ascending."""
    return [k for k, bit in enumerate(reversed(bin(number))) if bit == "1"]


def out_of_time(ended: int, jobs: int) -> OutOfTime:
    """The error of a run whose time is over."""
    return OutOfTime(f"out of time with {ended} of {jobs} jobs finished")


def finish_run(trace: Trace, policy: IoPolicy, run: Run, m: Moment, spans: list[Span]) -> None:
    """Write into *run* what its last moment says, and the *spans* that it recorded.

    Raises SimulationError where requests are left.
    """
    if m.outstanding:
        raise SimulationError(f"{policy.name}: {m.outstanding} request(s) never get bandwidth")
    run.useful = m.useful if trace.limits.exact else float(m.useful)
    run.events, run.decisions = int(m.events), int(m.decisions)
    if run.rates is not None:
        run.rates = _spread(trace, run, spans) if policy.by_clock(trace.limits) else spans


def _spread(trace: Trace, run: Run, changes: list[Span]) -> list[Span]:
    """Spans of every request from the changes of rho."""
    times, rhos = [change[1] for change in changes], [change[3] for change in changes]
    spans = []
    for j, nodes in enumerate(trace.allocated):
        for place in range(trace.offset[j], trace.offset[j + 1]):
            if known(run.grant[place]):
                last = run.finish[place] if known(run.finish[place]) else run.end[j]
                for since, until, rho in history(times, rhos, run.grant[place], last):
                    spans.append((place, since, until, rho * nodes))
    return spans


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
