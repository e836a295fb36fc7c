"""The metrics of a gang schedule (rules 16 and 17), recomputed from its starts and finishes."""

from collections.abc import Mapping

from ioopt.problems.base import JobId, Json
from ioopt.problems.gang import GangProblem

BIG_JOB_TASKS = 64


def times_metrics(
    problem: GangProblem, entries: Mapping[JobId, Json]
) -> dict[str, float | int | None]:
    """What starts, finishes and ``local`` tell; None where there is no job to average over."""
    import numpy as np

    rows = [entries[job.id] for job in problem.jobs]
    arrival = np.array([job.arrival_seconds for job in problem.jobs])
    start = np.array([row["start_seconds"] for row in rows])
    finish = np.array([row["finish_seconds"] for row in rows])
    quantum = problem.machine.quantum_seconds
    shortest = np.maximum([local for local, _ in problem.times], quantum)
    slowdown = np.maximum(finish - arrival, quantum) / shortest
    big = slowdown[[job.size >= BIG_JOB_TASKS for job in problem.jobs]]
    return {
        "mean_slowdown": float(slowdown.mean()),
        "mean_slowdown_from_start": float((np.maximum(finish - start, quantum) / shortest).mean()),
        "p99_slowdown": float(np.percentile(slowdown, 99)),
        "big_job_slowdown": float(big.mean()) if len(big) else None,
        "mean_wait_seconds": float((start - arrival).mean()),
        "max_wait_seconds": float((start - arrival).max()),
        "makespan_seconds": float(finish.max()),
        "local_jobs": sum(bool(row.get("local")) for row in rows),
    }


def span_seconds(problem: GangProblem, makespan: float) -> float:
    """From the first arrival to the last finish."""
    return makespan - min(job.arrival_seconds for job in problem.jobs)


def ranges(
    problem: GangProblem, entries: Mapping[JobId, Json], makespan: float
) -> dict[str, tuple[float, float]]:
    """Limits of what only the history of the matrix tells, where the schedule has none.

    A job holds its nodes in one row at least while it is in the matrix; the last update may be held
    to the next slice boundary. A job moves once at most, and nothing happens but arrivals and ends.
    """
    machine, tasks = problem.machine, sum(job.size for job in problem.jobs)
    least = 0.0
    for job in problem.jobs:
        entry = entries[job.id]
        least += job.size * (entry["finish_seconds"] - entry["start_seconds"])
    span = span_seconds(problem, makespan)
    return {
        "matrix_utilisation": (
            least / (machine.nodes * machine.levels * span),
            (span + machine.quantum_seconds) / span,
        ),
        "migrated_tasks": (0, tasks),
        "matrix_updates": (1, 2 * len(problem.jobs)),
    }
