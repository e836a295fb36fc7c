"""Make the schedule, the metrics and the timeline of a gang simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ioopt.decisions.gang.state import State
from ioopt.problems.base import Json
from ioopt.problems.gang import GangProblem, nodes_of
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

    def __init__(self, ids: Sequence[Any]) -> None:
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
    order = sorted(range(len(problem.jobs)), key=problem.fcfs.__getitem__)
    start = [trajectory.start[key] for key in order]
    finish = [trajectory.finish[key] for key in order]
    local = [trajectory.local[key] for key in order]
    jobs: list[Json] = []
    for k, job in enumerate(problem.jobs):
        entry = {
            "id": job.id,
            "start_seconds": float(start[k]),
            "finish_seconds": float(finish[k]),
            "local": bool(local[k]),
        }
        if isinstance(finish[k], Fraction):
            entry |= {"start_exact": str(start[k]), "finish_exact": str(finish[k])}
        jobs.append(entry)
    schedule: Json = {"jobs": jobs}
    if history is not None:
        schedule["updates"] = history.updates
    metrics = metrics_of(problem, [float(t) for t in start], [float(t) for t in finish])
    metrics["local_jobs"] = sum(local)
    metrics["migrated_tasks"] = trajectory.tasks_moved
    metrics["matrix_utilisation"] = None
    if problem.jobs:
        machine = problem.machine
        first = min(job.arrival_seconds for job in problem.jobs)
        span = metrics["makespan_seconds"] - first
        slots = machine.nodes * machine.levels * span
        metrics["matrix_utilisation"] = float(trajectory.occupied) / slots
    metrics["matrix_updates"] = trajectory.updates
    return Simulation(schedule, metrics, _timeline(jobs) if drawn else None)


def metrics_of(problem: GangProblem, start: list[float], finish: list[float]) -> Json:
    """Return the metrics that follow from the start and finish times of the jobs, in
    seconds.

    Slowdowns count from the arrival (rule 16).
    """
    import numpy as np

    quantum = problem.machine.quantum_seconds
    arrival = np.array([job.arrival_seconds for job in problem.jobs])
    floor = np.maximum(np.array([local for local, _ in problem.times]), quantum)
    begun = np.array(start)
    ended = np.array(finish)
    slowdown = np.maximum(ended - arrival, quantum) / floor
    wait = begun - arrival
    big = np.array([job.size >= BIG_JOB_TASKS for job in problem.jobs], dtype=bool)

    def mean(values: np.ndarray) -> float | None:
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


def _timeline(jobs: list[Json]) -> Timeline:
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
