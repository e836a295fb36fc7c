"""Bound the mean slowdown of a gang workload from below, for every policy (ours)."""

import numpy as np

from ioopt.decisions.gang.state import SAME_INSTANT_RELATIVE, SAME_INSTANT_SECONDS
from ioopt.models.fluid_bound import SHAVED, Work, least_response, total_of
from ioopt.problems.gang import GangProblem
from ioopt.problems.gang_jobs import GangJobs, workload_of


def mean_slowdown_bound(problem: GangProblem) -> float | None:
    """Return a lower bound on the mean slowdown of the jobs.

    The slowdown of a job is max(t_f - t_a, T) / max(L, T): it arrives at t_a, finishes
    at t_f and would run for L seconds on its file nodes alone; T is the quantum.

    The result is the larger of two bounds: one lets every job run alone, the other lets
    all jobs share the nodes as a fluid.
    """
    if not problem.jobs:
        return None
    quantum = float(problem.machine.quantum_seconds)
    jobs = workload_of(problem)
    floor = np.maximum(jobs.local, quantum)
    least = np.maximum(0.0, jobs.local - _finished_seconds(problem, jobs))
    amount = jobs.sizes / problem.machine.nodes * least
    alone = total_of(np.maximum(least, quantum) / floor)
    shared = least_response(Work(jobs.arrival, amount, least, 1 / floor))
    return max(alone, shared * SHAVED) / len(jobs)


def _finished_seconds(problem: GangProblem, jobs: GangJobs) -> float:
    """Return how many seconds before the end of its work a job may be finished (rules 3
    and 4), rounding of its times included.

    The tolerance grows with the time. No job ends after the latest time, by which all
    have run one after another, in one row and beginning with a new cycle.
    """
    machine = problem.machine
    each = jobs.remote + machine.migration_seconds + 2 * machine.quantum_seconds
    latest = float(jobs.arrival.max() + machine.levels * each.sum())
    return max(SAME_INSTANT_SECONDS, 2 * SAME_INSTANT_RELATIVE * latest)
