"""Bound the mean slowdown of a gang workload from below, for every policy (ours)."""

from ioopt.models.fluid_bound import SHAVED, Work, least_response
from ioopt.problems.gang import GangProblem

FINISHED_SECONDS = 1e-7
"""Seconds: a job with less than this left at a slice end finishes there (rule 4)."""


def mean_slowdown_bound(problem: GangProblem) -> float | None:
    """Return a lower bound on the mean slowdown of the jobs.

    The slowdown of a job is max(t_f - t_a, T) / max(L, T): it arrives at t_a, finishes
    at t_f and would run for L seconds on its file nodes alone; T is the quantum.

    The result is the larger of two bounds: one lets every job run alone, the other lets
    all jobs share the nodes as a fluid.
    """
    if not problem.jobs:
        return None
    quantum = problem.machine.quantum_seconds
    nodes = problem.machine.nodes
    work = []
    alone = 0.0
    for job, (local_time, _) in zip(problem.jobs, problem.times, strict=True):
        local = float(local_time)
        floor = max(float(local_time), float(quantum))
        least = max(0.0, local - FINISHED_SECONDS)
        work.append(
            Work(float(job.arrival_seconds), job.size / nodes * least, least, 1 / floor)
        )
        alone += max(least, float(quantum)) / floor
    return max(alone, least_response(work) * SHAVED) / len(work)
