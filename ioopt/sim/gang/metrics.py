"""Metrics, schedule and timeline of a simulated gang workload."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ioopt.decisions.gang.rules import Number
from ioopt.decisions.gang.state import State
from ioopt.problems.base import Json
from ioopt.problems.gang import GangProblem, nodes_of
from ioopt.protocols import Simulation
from ioopt.sim.gang.simulate import Trajectory
from ioopt.timeline import Interval, Timeline


class History:
    """Observer of a simulation; ``updates`` is the extra key of the schedule.

    Each update is ``{"seconds", "left": [id], "placed": [{"id", "columns", "home_row", "rows",
    "local"}]}`` and names only the jobs whose place differs from the one before; *ids* are by job
    key.
    """

    def __init__(self, ids: Sequence[Any]) -> None:
        self.ids = ids
        self.updates: list[Json] = []
        self._places: dict[int, tuple[int, int, int]] = {}

    def __call__(self, now: Number, index: int, state: State, gone: tuple[int, ...]) -> None:
        """Note the changes of one update."""
        for key in gone:
            del self._places[key]
        placed = []
        for job, *place in zip(state.jobs, state.columns, state.homes, state.spans):
            columns, home, span = place
            if self._places.get(job.key) != (columns, home, span):
                self._places[job.key] = (columns, home, span)
                placed.append(
                    {
                        "id": self.ids[job.key], "columns": list(nodes_of(columns)),
                        "home_row": home, "rows": list(nodes_of(span)), "local": columns == job.files,
                    }
                )  # fmt: skip
        left = [self.ids[key] for key in gone]
        self.updates.append({"seconds": float(now), "left": left, "placed": placed})


BIG_JOB_TASKS = 64


def simulation_of(
    problem: GangProblem, trajectory: Trajectory, history: History | None
) -> Simulation:
    """The schedule, metrics and timeline; jobs in the order of the instance."""
    num = len(problem.jobs)
    order = sorted(range(num), key=problem.fcfs.__getitem__)
    start = [trajectory.start[key] for key in order]
    finish = [trajectory.finish[key] for key in order]
    local = [trajectory.local[key] for key in order]
    jobs: list[Json] = []
    for k, job in enumerate(problem.jobs):
        entry = {
            "id": job.id, "start_seconds": float(start[k]), "finish_seconds": float(finish[k]),
            "local": bool(local[k]),
        }  # fmt: skip
        if isinstance(finish[k], Fraction):
            entry |= {"start_exact": str(start[k]), "finish_exact": str(finish[k])}
        jobs.append(entry)
    schedule: Json = {"jobs": jobs}
    if history is not None:
        schedule["updates"] = history.updates
    metrics = metrics_of(problem, [float(t) for t in start], [float(t) for t in finish])
    metrics["local_jobs"] = sum(local)
    metrics["migrated_tasks"] = trajectory.tasks_moved
    metrics["matrix_utilisation"] = _utilisation(problem, metrics, trajectory)
    metrics["matrix_updates"] = trajectory.updates
    return Simulation(schedule, metrics, _timeline(jobs))


def metrics_of(problem: GangProblem, start: list[float], finish: list[float]) -> Json:
    """Metrics that follow from start and finish times alone, in the order of the instance.

    Slowdown counts from arrival (rule 16); None where there is no job to average over.
    """
    import numpy as np

    quantum = problem.machine.quantum_seconds
    arrival = np.array([job.arrival_seconds for job in problem.jobs])
    floor = np.maximum(np.array([local for local, _ in problem.times]), quantum)
    begun, ended = np.array(start), np.array(finish)
    slowdown = np.maximum(ended - arrival, quantum) / floor
    wait = begun - arrival
    big = np.array([job.size >= BIG_JOB_TASKS for job in problem.jobs], dtype=bool)

    def mean(values: Any) -> float | None:
        return float(values.mean()) if len(values) else None

    return {
        "mean_slowdown": mean(slowdown),
        "mean_slowdown_from_start": mean(np.maximum(ended - begun, quantum) / floor),
        "p99_slowdown": float(np.quantile(slowdown, 0.99)) if len(slowdown) else None,
        "big_job_slowdown": mean(slowdown[big]),
        "mean_wait_seconds": mean(wait),
        "max_wait_seconds": float(wait.max()) if len(wait) else None,
        "makespan_seconds": float(ended.max()) if len(ended) else None,
    }


def _utilisation(problem: GangProblem, metrics: Json, trajectory: Trajectory) -> float | None:
    if not problem.jobs:
        return None
    machine = problem.machine
    span = metrics["makespan_seconds"] - min(job.arrival_seconds for job in problem.jobs)
    return float(trajectory.occupied) / (machine.nodes * machine.levels * span)


def _timeline(jobs: list[Json]) -> Timeline:
    """One interval a job from its start to its finish, on a resource of its own."""
    return Timeline.of(
        [
            Interval(
                job["start_seconds"], job["finish_seconds"], f"job {job['id']}",
                "local" if job["local"] else "remote", str(job["id"]),
            )
            for job in jobs
        ],
        [f"job {job['id']}" for job in jobs],
    )  # fmt: skip
