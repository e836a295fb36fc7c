"""Plans of work directories replayed (rules B3 and B4), with the bounds beside what they come to."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace

from ioopt.check.work_directory import Replayed, replay, said
from ioopt.errors import SimulationError
from ioopt.models.work_directory.bounds import makespan_bound, peak_bound
from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import Simulation
from ioopt.timeline import Interval, Timeline, steps_of

STAGES = 7
"""Stages that are told apart."""


def carried_out(
    problem: WorkDirectoryProblem,
    plan: WorkDirectoryPlan,
    actual: Mapping[str, float] | None = None,
) -> Replayed:
    """The replay of *plan*; SimulationError that names each task with a violation."""
    found = replay(problem, plan, actual)
    if found.violations:
        raise SimulationError("; ".join(f"{row['task']}: {said(row)}" for row in found.violations))
    return found


def simulate(
    problem: WorkDirectoryProblem,
    plan: WorkDirectoryPlan,
    actual: Mapping[str, float] | None = None,
) -> Simulation:
    """Replay *plan* as :func:`carried_out` does, for a result.

    The metrics hold the bounds too, of the planned times: that of the makespan is left out where
    *actual* times replace them.
    """
    found = carried_out(problem, plan, actual)
    quota = None if plan.ignore_quota else problem.quota_bytes
    metrics = {**found.metrics, "peak_bound_bytes": peak_bound(problem).bound}
    if actual is None:
        metrics["lower_bound_seconds"] = makespan_bound(problem, quota)
    names = {k: problem.tasks[k].id for k in found.times}
    rows = [
        {"id": names[k], "start_seconds": a, "end_seconds": b, "stage": stage(names[k])}
        for k, (a, b) in found.times.items()
    ]
    schedule: Json = {"tasks": rows, "use": [list(step) for step in found.use]}
    schedule |= {"quota_bytes": quota, "stages": _by_stage(problem, found)}
    if actual is not None:
        schedule["actual_compute_seconds"] = dict(actual)
    parts = (
        Interval(a, b, f"sample {problem.samples[k] + 1}", "compute", problem.tasks[k].id)
        for k, (a, b) in found.times.items()
    )
    timeline = replace(Timeline.of(parts), counters={"bytes inside": found.use})
    return Simulation(schedule, metrics, timeline)


def stage(task: str) -> str:
    """The name of a task without numbers: what tasks of one step of a workflow have in common.

    >>> stage("FASTQC (s1)#3"), stage("mProject_ID0000012"), stage("c0t3")
    ('FASTQC', 'mProject', 'c0t')
    """
    return re.sub(r"( \(.*\)|#\d+|[._-]?(ID)?\d+(-\d+)?)+$", "", task) or task


def _by_stage(problem: WorkDirectoryProblem, found: Replayed) -> dict[str, list[list[float]]]:
    """(seconds, bytes) at each change of what the tasks of a stage wrote; of all but the largest as one."""
    last, changes = found.metrics["makespan_seconds"], defaultdict[str, Counter[float]](Counter)
    weight: dict[str, float] = defaultdict(float)
    for k, (start, end) in found.times.items():
        name, held = stage(problem.tasks[k].id), [(problem.tasks[k].scratch_bytes, end)]
        for f in problem.outputs[k]:
            until = max([end, *(found.times[j][1] for j in problem.readers[f])])
            file = problem.products[f]
            held.append((file.bytes, last if file.keep else until))
        for size, until in held:
            changes[name][start] += size
            changes[name][until] -= size
            weight[name] += size * (until - start)
    shown: dict[str, Counter[float]] = {}
    for name in sorted(weight, key=lambda name: (-weight[name], name)):
        label = name if len(shown) < STAGES else "others"
        shown.setdefault(label, Counter()).update(changes[name])
    return {name: steps_of(rows) for name, rows in shown.items()}
