"""Runs in which a job's I/O rate never changes: what a job takes is known when it starts.

Jobs start in order of arrival, so that the whole schedule follows by adding up: the cheapest there
is, for limits in which no policy can be simulated. The options of the batch queue do not count.
"""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from operator import gt
from types import SimpleNamespace
from typing import Any

from ioopt.decisions.batch_io import Number
from ioopt.sim.batch_io.storage import use
from ioopt.sim.batch_io.trace import Run, Trace

MOST_CELLS = 128
"""Places that are told apart in a machine of partitions; more units are taken together."""


def simulate_steady(trace: Trace, rates: Sequence[Number], record_rates: bool = False) -> Run:
    """Run *trace* with ``rates[j]`` bytes per second for every request of job j.

    The rates of jobs that fit the machine together must fit the storage.
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
    for j, (start, block) in enumerate(places(trace, lengths)):
        run.start[j], run.end[j], run.block[j] = start, start + lengths[j], block
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
