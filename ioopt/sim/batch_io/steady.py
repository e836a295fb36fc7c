"""Runs in which a job's I/O rate never changes: what a job takes is known when it starts.

The simulator is then asked for the starts alone, two instants a job; the phases follow by adding up.
That is the cheapest way to a whole schedule, for limits in which no policy can be simulated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ioopt.decisions.batch_io import IoPolicy, Number
from ioopt.sim.batch_io.simulate import simulate_trace
from ioopt.sim.batch_io.storage import Usage
from ioopt.sim.batch_io.trace import Run, Trace

_NOBODY = IoPolicy("steady", lambda view: [], shares_by_nodes=True)


def simulate_steady(trace: Trace, rates: Sequence[Number], record_rates: bool = False) -> Run:
    """Run *trace* with ``rates[j]`` bytes per second for every request of job j.

    The rates of jobs that fit the machine together must fit the storage.
    """
    zero = trace.limits.number(0)
    steps = [_steps(trace, j, rate) for j, rate in enumerate(rates)]
    lengths = [(times[-1], zero, 1) for times in steps]
    jobs = replace(trace, offset=range(len(trace) + 1), pieces=lengths)
    run, short = Run.empty(trace, record_rates), simulate_trace(jobs, _NOBODY)
    run.start, run.end, run.killed, run.block = short.start, short.end, short.killed, short.block
    run.events, usage = short.events, Usage(run, trace.window)
    for j, times in enumerate(steps):
        _write(trace, run, usage, j, times, rates[j])
    return run


def _steps(trace: Trace, j: int, rate: Number) -> list[Number]:
    """When the computes and the transfers of job *j* end, in turn, counted from its start."""
    now, steps = trace.limits.number(0), []
    for place in range(trace.offset[j], trace.offset[j + 1]):
        now += trace.compute[place]
        steps.append(now)
        now += trace.volume[place] / rate
        steps.append(now)
    return steps


def _write(trace: Trace, run: Run, usage: Usage, j: int, steps: list[Number], rate: Number) -> None:
    """The requests of job *j*, up to its end where its walltime ended it."""
    start, end, nodes = run.start[j], run.end[j], trace.allocated[j]
    last = end if run.killed[j] else start + steps[-1]
    part = nodes * (rate / trace.peak[j])
    begun = start
    for k, place in enumerate(range(trace.offset[j], trace.offset[j + 1])):
        request, finish = start + steps[2 * k], start + steps[2 * k + 1]
        usage.add(begun, min(request, last), nodes)
        if request > last:
            return
        if finish > request:
            run.request[place], until = request, min(finish, last)
            if until == request:  # its job is killed at that instant
                return
            run.grant[place] = request
            if finish <= last:
                run.finish[place] = finish
            usage.add(request, until, part)
            if run.rates is not None:
                run.rates.append((place, request, until, rate))
        begun = finish
