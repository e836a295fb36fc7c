"""Check plans of work directories: replay a plan, name its violations, and compute its
metrics.

The rules B2 to B4 are those of docs/rules/work-directory.md. The clock goes from one
start to the next. The replay of ``ioopt simulate``, in
``ioopt/sim/work_directory/replay.py``, shares no code with this one. An error in either
of them therefore shows as a difference.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ioopt.checks.directory_limits import least_of
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
    """The outcome of a replay.

    ``violations`` have the kinds of rule B3. ``times`` maps the index of each task to
    its (start, end) in seconds. ``use`` has a pair (seconds, bytes inside) for each
    change of the bytes inside.
    """

    violations: list[Json]
    metrics: Json
    times: dict[int, tuple[float, float]]
    use: list[tuple[float, int]]


class Contents:
    """Count the bytes inside the work directory as tasks start and end (rule B2)."""

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
        """Return the number of bytes that enter the directory when *task* starts: its
        outputs and its scratch.
        """
        written = task.scratch_bytes
        for name in task.outputs:
            written += self.files[name].bytes
        return written

    def end(self, task: WorkTask) -> None:
        """End *task*: remove its scratch, and the files that no other task still needs
        and that need not be kept.
        """
        self.use -= task.scratch_bytes
        for name in (*task.outputs, *task.inputs):
            self.waited_for[name] -= 1
            if not self.waited_for[name] and name in self.producer:
                file = self.files[name]
                if not file.keep:
                    self.use -= file.bytes


def replay(
    problem: WorkDirectoryProblem,
    plan: WorkDirectoryPlan,
    actual: Mapping[str, float] | None = None,
) -> Replayed:
    """Start the tasks at the times of *plan*, and record every rule that a start
    breaks.

    *actual* gives compute seconds that replace the planned ones, keyed by task id.
    Raises :class:`Fault` if the list of starts is malformed.
    """
    seconds = compute_seconds(problem, actual)
    rows = _rows(problem, plan)
    releases = [task.release_seconds for task in problem.tasks]
    ticks = Ticks([*seconds, *releases, *(start for start, _ in rows)])
    clock = _Clock(problem, ticks, ticks.all_of(seconds), ticks.all_of(releases))
    quota = None if plan.ignore_quota else problem.quota_bytes
    for at, k in rows:
        clock.start(k, ticks.of(at), quota)
    return clock.result()


class _Clock:
    """Replay a plan from one start to the next, in whole ticks; record the use of time,
    cores and bytes.

    ``area`` is the integral over time of the bytes inside, up to ``now``. ``steps``
    maps an instant to the bytes inside from that instant on.
    """

    def __init__(
        self,
        problem: WorkDirectoryProblem,
        ticks: Ticks,
        length: list[int],
        releases: list[int],
    ) -> None:
        self.problem = problem
        self.ticks = ticks
        self.length = length
        self.releases = releases
        self.inside = Contents(problem)
        self.idle = problem.cores
        self.now = 0
        self.area = 0
        self.peak = 0
        self.running: list[tuple[int, int]] = []
        self.ended: set[str] = set()
        self.steps = {0: 0}
        self.violations: list[Json] = []
        self.times: dict[int, tuple[int, int]] = {}

    def advance(self, instant: int) -> None:
        """Advance the clock to *instant*; tasks that end until then release their cores
        and bytes.
        """
        reach = self.ticks.reach(instant)
        while self.running and self.running[0][0] <= reach:
            end, k = heapq.heappop(self.running)
            self._count_until(min(end, instant))
            task = self.problem.tasks[k]
            self.inside.end(task)
            self.idle += task.cores
            self.ended.add(task.id)
            self.steps[self.now] = self.inside.use
        self._count_until(instant)

    def _count_until(self, instant: int) -> None:
        self.area += self.inside.use * (instant - self.now)
        self.now = instant

    def start(self, k: int, instant: int, quota: int | None) -> None:
        """Start task *k* at *instant* even if the start breaks a rule, and record the
        violations.
        """
        self.advance(instant)
        task = self.problem.tasks[k]
        written = self.inside.written_by(task)
        for kind, what in self._broken(k, instant, written, quota).items():
            seconds = self.ticks.seconds(instant)
            row = {"kind": kind, "task": task.id, "seconds": seconds, **what}
            self.violations.append(row)
        self.inside.use += written
        self.idle -= task.cores
        self.peak = max(self.peak, self.inside.use)
        self.steps[self.now] = self.inside.use
        end = instant + self.length[k]
        self.times[k] = (instant, end)
        heapq.heappush(self.running, (end, k))

    def _broken(
        self, k: int, instant: int, written: int, quota: int | None
    ) -> dict[str, Json]:
        """Return the rules that a start of task *k* breaks, in the order of rule B3.

        The result maps the kind of each violation to its details.
        """
        task = self.problem.tasks[k]
        broken: dict[str, Json] = {}
        if self.releases[k] > self.ticks.reach(instant):
            broken["release"] = {"release": task.release_seconds}
        missing = self._missing_producer(task)
        if missing is not None:
            broken["producer"] = {"producer": missing}
        if task.cores > self.idle:
            broken["cores"] = {"over": task.cores - self.idle}
        if quota is not None and self.inside.use + written > quota:
            broken["quota"] = {"over": self.inside.use + written - quota}
        return broken

    def _missing_producer(self, task: WorkTask) -> str | None:
        """Return the first producer of an input of *task* that has not ended."""
        for name in task.inputs:
            producer = self.inside.producer.get(name)
            if producer is not None and producer not in self.ended:
                return producer
        return None

    def result(self) -> Replayed:
        """Advance to the end of the last task; return the violations and the metrics of
        the plan.
        """
        problem = self.problem
        seconds = self.ticks.seconds
        makespan = max((end for _, end in self.times.values()), default=0)
        self.advance(makespan)
        work = sum(task.cores * self.length[k] for k, task in enumerate(problem.tasks))
        mean_bytes = 0.0
        cores_busy = 0.0
        if makespan:
            mean_bytes = self.area / makespan
            cores_busy = work / (problem.cores * makespan)
        producer = self.inside.producer
        kept = (file for file in problem.files if file.keep and file.id in producer)
        metrics = {
            "makespan_seconds": seconds(makespan),
            "peak_bytes": self.peak,
            "byte_seconds": seconds(self.area),
            "mean_bytes": mean_bytes,
            "cores_busy": cores_busy,
            "kept_bytes": sum(file.bytes for file in kept),
        }
        times = {}
        for k, (start, end) in sorted(self.times.items()):
            times[k] = (seconds(start), seconds(end))
        changes = [(seconds(at), size) for at, size in self.steps.items()]
        return Replayed(self.violations, metrics, times, changes)


def _rows(
    problem: WorkDirectoryProblem, plan: WorkDirectoryPlan
) -> list[tuple[float, int]]:
    """Return the starts as (seconds, index of the task), sorted by time; equal times
    stay in the order of the plan.
    """
    seen: dict[int, float] = {}
    for seconds, name in plan.starts:
        k = problem.task_index.get(name)
        if k is None:
            raise Fault("unknown task", task=name)
        if k in seen:
            raise Fault("started twice", task=name)
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
    """Return the compute seconds of each task, in the order of the problem.

    *actual* seconds, keyed by task id, replace the planned ones. Raises :class:`Fault`
    for an unknown task and for invalid seconds.
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
    """Return a violation of a work-directory plan as text for the user."""
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
    """Check the starts of a plan, and recompute its metrics."""
    if isinstance(plan, dict):
        plan = WorkDirectoryPlan.model_validate(plan)
    actual = (schedule or {}).get("actual_compute_seconds")
    try:
        with collector_paused():
            found = replay(problem, plan, actual)
    except Fault as fault:
        return CheckReport((violation("starts", fault.record["task"], str(fault)),))
    if found.violations:
        told = [
            violation(row["kind"], row["task"], said(row), row.get("over"))
            for row in found.violations
        ]
        return CheckReport(tuple(told))
    objectives = {
        name: found.metrics[name] for name in ("makespan_seconds", "peak_bytes")
    }
    limits = least_of(problem, actual)
    return CheckReport((), objectives, found.metrics, limits=limits)
