"""Starts of a small queue that wait least, all jobs and their walltimes known: what queues are measured by.

Data: job j is submitted at r(j) and holds n(j) of N units and B(j) of C bytes of a shared burst buffer for
w(j) whole seconds from its start. Variables: s(j), its start. Ours.

(1) minimise sum of s(j) - r(j), with s(j) >= r(j)
(2) at no time do the jobs that run hold more than N units
(3) nor more than C bytes
"""

from collections.abc import Mapping
from fractions import Fraction
from math import lcm

from ioopt.errors import NotApplicableError
from ioopt.models.program import Capacity, Interval, Number, Program
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.units import exact

MOST_JOBS = 30


class StartModel:
    """The model of *problem*: a flat machine, at most MOST_JOBS jobs, whole seconds."""

    def __init__(self, problem: BatchIoProblem) -> None:
        machine, jobs = problem.machine, problem.jobs
        if machine.allocation != "flat" or len(jobs) > MOST_JOBS:
            raise NotApplicableError(f"takes at most {MOST_JOBS} jobs on a flat machine")
        times = [(exact(job.submit_seconds), exact(job.walltime_seconds)) for job in jobs]
        if any(time.denominator > 1 for pair in times for time in pair):
            raise NotApplicableError("takes whole seconds")
        self.program = Program("least wait")
        last = int(max((r for r, _ in times), default=0) + sum(w for _, w in times))
        on = self.program.binary("on")
        self.program.hold(on, least=1)
        self.start = [self.program.whole(f"s[{k}]", int(r), last) for k, (r, _) in enumerate(times)]
        self.program.objective = dict.fromkeys(self.start, 1)
        self.submitted = int(sum(r for r, _ in times))
        runs = [Interval(at, int(w), on) for at, (_, w) in zip(self.start, times)]
        units = [machine.allocated_units(job.nodes) for job in jobs]
        capacities = self.program.capacities
        capacities.append(Capacity("(2)", runs, units, machine.units))
        buffer = machine.burst_buffer
        if buffer is not None and buffer.placement == "shared":
            sizes = [exact(buffer.bytes), *(exact(job.buffer_bytes) for job in jobs)]
            scale = lcm(*(size.denominator for size in sizes))
            most, *demands = (int(size * scale) for size in sizes)
            capacities.append(Capacity("(3)", runs, demands, most))

    def wait(self, objective: Number) -> Fraction:
        """The total wait in seconds where the sum of the starts is *objective*."""
        return exact(objective) - self.submitted

    def starts(self, values: Mapping[int, Number]) -> list[int]:
        """The start of each job, in the order of the problem."""
        return [round(values[at]) for at in self.start]
