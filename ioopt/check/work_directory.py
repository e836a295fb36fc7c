"""Checker of work directories: the replay of a plan says what it breaks and what it comes to (rules B3, B4).

Solvers dispatch, and state nothing of what this recomputes.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

from ioopt.check.directory_limits import least_of
from ioopt.problems.base import LONGEST_SECONDS, Json
from ioopt.problems.work_directory import Fault, Ticks, WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import CheckReport
from ioopt.result import violation


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
        over = 0 if quota is None else use + own - quota
        missing = [problem.tasks[p].id for p in problem.predecessors[k] if p not in ended]
        released = start + ticks.slack >= ticks.of(task.release_seconds)
        at = {"task": task.id, "seconds": ticks.seconds(start)}
        broken = _broken(
            None if released else task.release_seconds, missing, task.cores - idle, over
        )
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


def _broken(release: float | None, missing: list[str], cores: int, size: int) -> Json:
    """What a start breaks, in the order of rule B3: its release, a producer, *cores* or bytes over."""
    broken: Json = {}
    if release is not None:
        broken["release"] = {"release": release}
    if missing:
        broken["producer"] = {"producer": missing[0]}
    if cores > 0:
        broken["cores"] = {"over": cores}
    if size > 0:
        broken["quota"] = {"over": size}
    return broken


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


def compute_seconds(
    problem: WorkDirectoryProblem, actual: Mapping[str, float] | None
) -> list[float]:
    """Per task its compute seconds, the *actual* where given; :class:`Fault` for what is none."""
    for name, seconds in (actual or {}).items():
        if name not in problem.task_index or not 0 <= seconds <= LONGEST_SECONDS:
            kind = "negative" if name in problem.task_index else "unknown task"
            raise Fault(kind, task=name, **({"seconds": seconds} if kind == "negative" else {}))
    return [(actual or {}).get(task.id, task.compute_seconds) for task in problem.tasks]


def said(row: Json) -> str:
    """A violation in words."""
    broken = {
        "release": "before its release at {} s",
        "producer": "before {!r}, which it reads from, has ended",
        "cores": "with {} cores more than there are",
        "quota": "with {} bytes more than the quota",
    }[row["kind"]]
    told = next(row[key] for key in ("release", "producer", "over") if key in row)
    return f"starts at {row['seconds']:g} s, {broken.format(told)}"


def check(
    problem: WorkDirectoryProblem, plan: WorkDirectoryPlan | Json, schedule: Json | None = None
) -> CheckReport:
    """Check the starts of a plan, and recompute what it comes to."""
    chosen = WorkDirectoryPlan.model_validate(plan) if isinstance(plan, dict) else plan
    try:
        found = replay(problem, chosen, (schedule or {}).get("actual_compute_seconds"))
    except Fault as fault:
        return CheckReport((violation("starts", fault.record["task"], str(fault)),))
    if found.violations:
        rows = found.violations
        told = (violation(row["kind"], row["task"], said(row), row.get("over")) for row in rows)
        return CheckReport(tuple(told))
    objectives = {name: found.metrics[name] for name in ("makespan_seconds", "peak_bytes")}
    limits = least_of(problem, (schedule or {}).get("actual_compute_seconds"))
    return CheckReport((), objectives, found.metrics, limits=limits)
