"""The least total wait of a small queue by CP-SAT, all jobs known: what queues are measured by (ours).

Data: job j is submitted at r(j) and holds n(j) of N units and B(j) of C bytes of a shared burst buffer for
w(j) whole seconds from its start. Variables: s(j), its start.

(1) minimise sum of s(j) - r(j), with s(j) >= r(j)
(2) at no time do the jobs that run hold more than N units
(3) nor more than C bytes
"""

from math import lcm
from typing import NamedTuple

from ioopt.errors import NotApplicableError
from ioopt.models.program import Capacity, Interval, Program
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.units import exact

MOST_JOBS = 30


class LeastWait(NamedTuple):
    """Starts in the order of the problem, their total wait and a lower bound of it, in seconds."""

    starts: list[int]
    wait: float
    bound: float


def least_wait(problem: BatchIoProblem, limits: BackendLimits | None = None) -> LeastWait:
    """The starts that wait least within *limits*; proven where wait and bound are equal.

    Jobs run for their walltimes. Raises NotApplicableError for partitions, parts of seconds, and more than
    MOST_JOBS jobs.
    """
    machine, jobs = problem.machine, problem.jobs
    if machine.allocation != "flat" or len(jobs) > MOST_JOBS:
        raise NotApplicableError(f"takes at most {MOST_JOBS} jobs on a flat machine")
    times = [(exact(job.submit_seconds), exact(job.walltime_seconds)) for job in jobs]
    if any(time.denominator > 1 for pair in times for time in pair):
        raise NotApplicableError("takes whole seconds")
    program = Program("least wait")
    last = int(max((r for r, _ in times), default=0) + sum(w for _, w in times))
    on = program.binary("on")
    program.hold(on, least=1)
    starts = [program.whole(f"s[{k}]", int(r), last) for k, (r, _) in enumerate(times)]
    program.objective = dict.fromkeys(starts, 1)
    runs = [Interval(at, int(w), on) for at, (_, w) in zip(starts, times)]
    units = [machine.allocated_units(job.nodes) for job in jobs]
    program.capacities.append(Capacity("(2)", runs, units, machine.units))
    buffer = machine.burst_buffer
    if buffer is not None and buffer.placement == "shared":
        sizes = [exact(buffer.bytes), *(exact(job.buffer_bytes) for job in jobs)]
        scale = lcm(*(size.denominator for size in sizes))
        most, *demands = (int(size * scale) for size in sizes)
        program.capacities.append(Capacity("(3)", runs, demands, most))
    answer = solve_by_cpsat(program, limits or BackendLimits())
    submitted = float(sum(r for r, _ in times))
    if not answer.found or answer.objective is None:
        return LeastWait([], float("inf"), float(answer.bound or 0) - submitted)
    wait = answer.objective - submitted
    bound = wait if answer.bound is None else answer.bound - submitted
    return LeastWait([round(answer.values[at]) for at in starts], wait, bound)
