"""Checker of work directories: replay a plan, name what it breaks and measure it (rules
B3, B4).

A clock goes from start to start. It reads the instance by its ids, and is independent
of the replay of ``ioopt simulate``, ``ioopt/sim/work_directory/replay.py``, which
shares no code with it: a fault in one of the two shows as a difference between them.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ioopt.check.directory_limits import least_of
from ioopt.problems.base import LONGEST_SECONDS, Json, collector_paused
from ioopt.problems.work_directory import (
    Fault,
    Ticks,
    WorkDirectoryPlan,
    WorkDirectoryProblem,
    WorkTask,
)
from ioopt.protocols import CheckReport
from ioopt.result import violation


@dataclass(frozen=True)
class Replayed:
    """What a replay found.

    ``violations`` as the rules name them, ``metrics``, (start, end) by task, and
    ``use`` at each change of it.
    """

    violations: list[Json]
    metrics: Json
    times: dict[int, tuple[float, float]]
    use: list[tuple[float, int]]


class Contents:
    """Keep what is inside the directory, by the ids of tasks and files (rule B2)."""

    def __init__(self, problem: WorkDirectoryProblem) -> None:
        self.use = 0
        self.files = {file.id: file for file in problem.files}
        self.producer = {
            name: task.id for task in problem.tasks for name in task.outputs
        }
        self.waited_for: dict[str, int] = defaultdict(int)
        for task in problem.tasks:
            for name in (*task.outputs, *task.inputs):
                self.waited_for[name] += 1

    def written_by(self, task: WorkTask) -> int:
        """Return the bytes that enter when *task* starts: its outputs and its scratch.
        """
        written = task.scratch_bytes
        for name in task.outputs:
            written += self.files[name].bytes
        return written

    def end(self, task: WorkTask) -> None:
        """Take out what no task needs once *task* has ended."""
        self.use -= task.scratch_bytes
        for name in (*task.outputs, *task.inputs):
            self.waited_for[name] -= 1
            if not self.waited_for[name] and name in self.producer:
                file = self.files[name]
                self.use -= 0 if file.keep else file.bytes


def replay(
    problem: WorkDirectoryProblem,
    plan: WorkDirectoryPlan,
    actual: Mapping[str, float] | None = None,
) -> Replayed:
    """Start the tasks when *plan* says, whatever that breaks; :class:`Fault` for a list
    that is none.

    *actual* compute seconds by task replace the planned ones.
    """
    seconds, rows = compute_seconds(problem, actual), _rows(problem, plan)
    releases = [task.release_seconds for task in problem.tasks]
    ticks = Ticks([*seconds, *releases, *(start for start, _ in rows)])
    length, released = ticks.all_of(seconds), ticks.all_of(releases)
    quota = None if plan.ignore_quota else problem.quota_bytes
    inside = Contents(problem)
    idle, now, area, peak = problem.cores, 0, 0, 0
    running: list[tuple[int, int]] = []
    ended: set[str] = set()
    steps = {0: 0}
    violations: list[Json] = []
    times: dict[int, tuple[int, int]] = {}

    def pass_to(instant: int) -> None:
        """End what ends up to *instant*, and add what is inside until then."""
        nonlocal idle, now, area
        reach = ticks.reach(instant)
        while running and running[0][0] <= reach:
            end, k = heapq.heappop(running)
            then = min(end, instant)
            area += inside.use * (then - now)
            now = then
            task = problem.tasks[k]
            inside.end(task)
            idle += task.cores
            ended.add(task.id)
            steps[now] = inside.use
        area += inside.use * (instant - now)
        now = instant

    for at, k in rows:
        start = ticks.of(at)
        pass_to(start)
        task = problem.tasks[k]
        written = inside.written_by(task)
        over = 0 if quota is None else inside.use + written - quota
        makers = (
            inside.producer[name] for name in task.inputs if name in inside.producer
        )
        missing = next((maker for maker in makers if maker not in ended), None)
        early = None if released[k] <= ticks.reach(start) else task.release_seconds
        broken = _broken(early, missing, task.cores - idle, over)
        if broken:
            told = {"task": task.id, "seconds": ticks.seconds(start)}
            violations += [
                {"kind": kind, **told, **more} for kind, more in broken.items()
            ]
        inside.use += written
        idle -= task.cores
        peak = max(peak, inside.use)
        steps[now] = inside.use
        times[k] = (start, start + length[k])
        heapq.heappush(running, (times[k][1], k))
    makespan = max((end for _, end in times.values()), default=0)
    pass_to(makespan)
    work = sum(task.cores * length[k] for k, task in enumerate(problem.tasks))
    kept = (file for file in problem.files if file.keep and file.id in inside.producer)
    metrics = {
        "makespan_seconds": ticks.seconds(makespan),
        "peak_bytes": peak,
        "byte_seconds": ticks.seconds(area),
        "mean_bytes": area / makespan if makespan else 0.0,
        "cores_busy": work / (problem.cores * makespan) if makespan else 0.0,
        "kept_bytes": sum(file.bytes for file in kept),
    }
    spans = {
        k: (ticks.seconds(a), ticks.seconds(b)) for k, (a, b) in sorted(times.items())
    }
    changes = [(ticks.seconds(at), size) for at, size in steps.items()]
    return Replayed(violations, metrics, spans, changes)


def _broken(release: float | None, missing: str | None, cores: int, size: int) -> Json:
    """Return what a start breaks, in the order of rule B3.

    Its *release*, a producer that is *missing*, *cores* over, bytes (*size*) over.
    """
    broken: Json = {}
    if release is not None:
        broken["release"] = {"release": release}
    if missing is not None:
        broken["producer"] = {"producer": missing}
    if cores > 0:
        broken["cores"] = {"over": cores}
    if size > 0:
        broken["quota"] = {"over": size}
    return broken


def _rows(
    problem: WorkDirectoryProblem, plan: WorkDirectoryPlan
) -> list[tuple[float, int]]:
    """Return the starts by seconds, equal ones as listed."""
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


def compute_seconds(
    problem: WorkDirectoryProblem, actual: Mapping[str, float] | None
) -> list[float]:
    """Return the compute seconds of each task, the *actual* where given.

    Raises :class:`Fault` for an unknown task and for seconds that are none.
    """
    given = dict(actual or {})
    known = {task.id for task in problem.tasks}
    for name, seconds in given.items():
        if name not in known:
            raise Fault("unknown task", task=name)
        if not 0 <= seconds <= LONGEST_SECONDS:
            raise Fault("negative", task=name, seconds=seconds)
    return [given.get(task.id, task.compute_seconds) for task in problem.tasks]


def said(row: Json) -> str:
    """Return a violation in words."""
    broken = {
        "release": "before its release at {} s",
        "producer": "before {!r}, which it reads from, has ended",
        "cores": "with {} cores more than there are",
        "quota": "with {} bytes more than the quota",
    }[row["kind"]]
    told = next(row[key] for key in ("release", "producer", "over") if key in row)
    return f"starts at {row['seconds']:g} s, {broken.format(told)}"


def check(
    problem: WorkDirectoryProblem,
    plan: WorkDirectoryPlan | Json,
    schedule: Json | None = None,
) -> CheckReport:
    """Check the starts of a plan, and recompute what it comes to."""
    chosen = WorkDirectoryPlan.model_validate(plan) if isinstance(plan, dict) else plan
    try:
        with collector_paused():
            found = replay(
                problem, chosen, (schedule or {}).get("actual_compute_seconds")
            )
    except Fault as fault:
        return CheckReport((violation("starts", fault.record["task"], str(fault)),))
    if found.violations:
        rows = found.violations
        told = (
            violation(row["kind"], row["task"], said(row), row.get("over"))
            for row in rows
        )
        return CheckReport(tuple(told))
    objectives = {
        name: found.metrics[name] for name in ("makespan_seconds", "peak_bytes")
    }
    limits = least_of(problem, (schedule or {}).get("actual_compute_seconds"))
    return CheckReport((), objectives, found.metrics, limits=limits)
