"""Plans of work directories replayed: violations, metrics and the use over time (rules B3 and B4)."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

from ioopt.errors import SimulationError
from ioopt.models.work_directory import bounds
from ioopt.problems.base import Json
from ioopt.problems.work_directory import Fault, Ticks, WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import Simulation
from ioopt.sim.work_directory.dispatch import compute_seconds
from ioopt.timeline import Interval, Timeline


@dataclass(frozen=True)
class Replayed:
    """Violations as the rules name them; metrics, (start, end) by task and use at each change without any."""

    violations: list[Json]
    metrics: Json
    times: dict[int, tuple[float, float]]
    use: list[tuple[float, int]]


def replay(
    problem: WorkDirectoryProblem,
    plan: WorkDirectoryPlan,
    actual: Mapping[str, float] | None = None,
) -> Replayed:
    """Start the tasks when *plan* says, whatever that breaks; :class:`Fault` for a list that is none.

    *actual* compute seconds by task replace the planned ones.
    """
    seconds, rows = compute_seconds(problem, actual), _rows(problem, plan)
    releases = [task.release_seconds for task in problem.tasks]
    ticks = Ticks([*seconds, *releases, *(start for start, _ in rows)])
    quota = None if plan.ignore_quota else problem.quota_bytes
    idle, use, now, area, peak = problem.cores, 0, 0, 0, 0
    awaited = [len(tasks) + 1 for tasks in problem.readers]
    running: list[tuple[int, int]] = []
    ended: set[int] = set()
    steps, violations = {0: 0}, []
    times: dict[int, tuple[int, int]] = {}

    def pass_to(instant: int) -> None:
        """End what ends up to *instant*, and add what is inside until then."""
        nonlocal idle, use, now, area
        while running and running[0][0] <= instant + ticks.slack:
            end, k = heapq.heappop(running)
            area, now = area + use * (min(end, instant) - now), min(end, instant)
            use -= problem.tasks[k].scratch_bytes
            for f in (*problem.inputs[k], *problem.outputs[k]):
                awaited[f] -= 1
                if not awaited[f] and not problem.products[f].keep:
                    use -= problem.products[f].bytes
            idle += problem.tasks[k].cores
            ended.add(k)
            steps[now] = use
        area, now = area + use * (instant - now), instant

    for start, k in ((ticks.of(start), k) for start, k in rows):
        pass_to(start)
        task, own = problem.tasks[k], problem.own_bytes[k]
        missing = [p for p in problem.predecessors[k] if p not in ended]
        broken: Json = {}
        if start + ticks.slack < ticks.of(task.release_seconds):
            broken["release"] = {"release": task.release_seconds}
        if missing:
            broken["producer"] = {"producer": problem.tasks[missing[0]].id}
        if task.cores > idle:
            broken["cores"] = {"over": task.cores - idle}
        if quota is not None and use + own > quota:
            broken["quota"] = {"over": use + own - quota}
        at = {"task": task.id, "seconds": ticks.seconds(start)}
        violations += [{"kind": kind, **at, **told} for kind, told in broken.items()]
        use += own
        idle -= task.cores
        peak = max(peak, use)
        steps[now] = use
        times[k] = (start, start + ticks.of(seconds[k]))
        heapq.heappush(running, (times[k][1], k))
    makespan = max((end for _, end in times.values()), default=0)
    pass_to(makespan)
    work = sum(task.cores * ticks.of(s) for task, s in zip(problem.tasks, seconds, strict=True))
    metrics = {
        "makespan_seconds": ticks.seconds(makespan),
        "peak_bytes": peak,
        "byte_seconds": ticks.seconds(area),
        "mean_bytes": area / makespan if makespan else 0.0,
        "cores_busy": work / (problem.cores * makespan) if makespan else 0.0,
        "kept_bytes": sum(file.bytes for file in problem.products if file.keep),
    }
    spans = {k: (ticks.seconds(a), ticks.seconds(b)) for k, (a, b) in sorted(times.items())}
    changes = [(ticks.seconds(at), size) for at, size in steps.items()]
    return Replayed(violations, metrics, spans, changes)


def _rows(problem: WorkDirectoryProblem, plan: WorkDirectoryPlan) -> list[tuple[float, int]]:
    """The starts by seconds, equal ones as listed."""
    seen: dict[int, float] = {}
    for seconds, name in plan.starts:
        k = problem.task_index.get(name, -1)
        if k < 0 or k in seen:
            raise Fault("unknown task" if k < 0 else "started twice", task=name)
        if seconds < 0:
            raise Fault("negative", task=name, seconds=seconds)
        seen[k] = seconds
    for k, task in enumerate(problem.tasks):
        if k not in seen:
            raise Fault("never started", task=task.id)
    return sorted(((seconds, k) for k, seconds in seen.items()), key=lambda row: row[0])


def simulate(
    problem: WorkDirectoryProblem,
    plan: WorkDirectoryPlan,
    actual: Mapping[str, float] | None = None,
) -> Simulation:
    """Replay *plan*; SimulationError that names each task with a violation.

    The metrics hold the bounds too, of the planned times: that of the makespan is left out where
    *actual* times replace them.
    """
    found = replay(problem, plan, actual)
    if found.violations:
        told = (
            " ".join(f"{key} {value}" for key, value in row.items()) for row in found.violations
        )
        raise SimulationError("; ".join(told))
    quota = None if plan.ignore_quota else problem.quota_bytes
    metrics = {**found.metrics, "peak_bound_bytes": bounds.peak_bound(problem).bound}
    if actual is None:
        metrics["lower_bound_seconds"] = bounds.makespan_bound(problem, quota)
    rows = [
        {"id": problem.tasks[k].id, "start_seconds": a, "end_seconds": b}
        for k, (a, b) in found.times.items()
    ]
    schedule: Json = {"tasks": rows, "use": [list(step) for step in found.use]}
    if actual is not None:
        schedule["actual_compute_seconds"] = dict(actual)
    parts = (
        Interval(a, b, f"sample {problem.samples[k] + 1}", "compute", problem.tasks[k].id)
        for k, (a, b) in found.times.items()
    )
    names = [f"sample {number + 1}" for number in sorted(set(problem.samples))]
    timeline = Timeline.of(parts, names)
    return Simulation(schedule, metrics, timeline)
