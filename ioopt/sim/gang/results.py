"""Make the schedule, the metrics and the timeline of a gang simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ioopt.arrays import Floats
from ioopt.decisions.gang.state import State
from ioopt.problems.base import Json
from ioopt.problems.gang import GangProblem, nodes_of
from ioopt.problems.gang_jobs import workload_of
from ioopt.problems.gang_rows import GangRows
from ioopt.protocols import Simulation
from ioopt.timeline import Interval, Timeline


@dataclass
class Trajectory:
    """Store the result of a simulation. Lists are indexed by job key (FCFS position);
    times are in seconds.

    ``occupied`` is the integral over time of the number of occupied slots (node, row),
    replicas included.
    """

    start: list[float]
    finish: list[float]
    local: list[bool]
    tasks_moved: int = 0
    occupied: float = 0.0
    updates: int = 0


class History:
    """Record the updates of a simulation for the optional key ``updates`` of the
    schedule.

    Each update is ``{"seconds", "left": [id], "placed": [{"id", "columns", "home_row",
    "rows", "local"}]}`` and names only the jobs whose place changed. *ids* are the ids
    of the jobs, indexed by job key.
    """

    def __init__(self, ids: Sequence[object]) -> None:
        self.ids = ids
        self.updates: list[Json] = []
        self._places: dict[int, tuple[int, int, int]] = {}

    def __call__(
        self, now: float, index: int, state: State, gone: tuple[int, ...]
    ) -> None:
        """Record which jobs left and which changed their place in one update."""
        for key in gone:
            del self._places[key]
        placed = []
        for job, columns, home, span in zip(
            state.jobs, state.columns, state.homes, state.spans
        ):
            if self._places.get(job.key) != (columns, home, span):
                self._places[job.key] = (columns, home, span)
                placed.append(
                    {
                        "id": self.ids[job.key],
                        "columns": list(nodes_of(columns)),
                        "home_row": home,
                        "rows": list(nodes_of(span)),
                        "local": columns == job.files,
                    }
                )
        left = [self.ids[key] for key in gone]
        self.updates.append({"seconds": float(now), "left": left, "placed": placed})


BIG_JOB_TASKS = 64
"""Least number of tasks of a job that counts in the metric ``big_job_slowdown``."""


def simulation_of(
    problem: GangProblem,
    trajectory: Trajectory,
    history: History | None,
    drawn: bool = True,
) -> Simulation:
    """Return the schedule, the metrics and, if *drawn*, the timeline of a simulation,
    with jobs in the order of the instance.
    """
    workload = workload_of(problem)
    keys = workload.keys
    jobs = GangRows(
        ids=workload.ids,
        start=np.array(trajectory.start, float)[keys],
        finish=np.array(trajectory.finish, float)[keys],
        local=np.array(trajectory.local, bool)[keys],
    )
    schedule: Json = {"jobs": jobs}
    if isinstance(trajectory.occupied, Fraction):
        schedule["jobs"] = _exact_rows(jobs, keys.tolist(), trajectory)
    if history is not None:
        schedule["updates"] = history.updates
    metrics = metrics_of(problem, jobs)
    metrics["local_jobs"] = int(np.count_nonzero(jobs.local))
    metrics["migrated_tasks"] = trajectory.tasks_moved
    metrics["matrix_utilisation"] = None
    if problem.jobs:
        machine = problem.machine
        span = metrics["makespan_seconds"] - float(workload.arrival.min())
        slots = machine.nodes * machine.levels * span
        if slots > 0:  # late times may be apart by less than a float tells
            metrics["matrix_utilisation"] = float(trajectory.occupied) / slots
    metrics["matrix_updates"] = trajectory.updates
    return Simulation(schedule, metrics, _timeline(jobs) if drawn else None)


def _exact_rows(
    jobs: GangRows, keys: Sequence[int], trajectory: Trajectory
) -> list[Json]:
    """Return the rows of an exact run, with its times as text too. Row k is that of the
    job with key ``keys[k]``.
    """
    rows = jobs.rows()
    for row, key in zip(rows, keys):
        row["start_exact"] = str(trajectory.start[key])
        row["finish_exact"] = str(trajectory.finish[key])
    return rows


def metrics_of(problem: GangProblem, jobs: GangRows) -> Json:
    """Return the metrics that follow from the start and finish times of the jobs.

    Slowdowns count from the arrival (rule 16).
    """
    workload = workload_of(problem)
    quantum = problem.machine.quantum_seconds
    arrival = workload.arrival
    floor = np.maximum(workload.local, quantum)
    begun = jobs.start
    ended = jobs.finish
    slowdown = np.maximum(ended - arrival, quantum) / floor
    wait = begun - arrival
    big = workload.sizes >= BIG_JOB_TASKS

    def mean(values: Floats) -> float | None:
        if not len(values):
            return None
        return float(values.mean())

    metrics: Json = {
        "mean_slowdown": mean(slowdown),
        "mean_slowdown_from_start": mean(np.maximum(ended - begun, quantum) / floor),
        "p99_slowdown": None,
        "big_job_slowdown": mean(slowdown[big]),
        "mean_wait_seconds": mean(wait),
        "max_wait_seconds": None,
        "makespan_seconds": None,
    }
    if problem.jobs:
        metrics["p99_slowdown"] = float(np.quantile(slowdown, 0.99))
        metrics["max_wait_seconds"] = float(wait.max())
        metrics["makespan_seconds"] = float(ended.max())
    return metrics


def _timeline(jobs: GangRows) -> Timeline:
    """Return one interval for each job, from its start to its finish, each on a
    resource of its own.
    """
    rows = {f"job {job['id']}": job for job in jobs}
    intervals = []
    for name, job in rows.items():
        kind = "remote"
        if job["local"]:
            kind = "local"
        start = job["start_seconds"]
        finish = job["finish_seconds"]
        intervals.append(Interval(start, finish, name, kind, str(job["id"])))
    return Timeline.of(intervals, rows)
