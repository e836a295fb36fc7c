"""Checker of plans of work directories: the violations of rule B3 and the metrics of rule B4.

No clock goes on here. Every file, every scratch and every core has an interval of places in the list of
starts, from the start that brings it to the first before which the last task that holds it has ended.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from fractions import Fraction
from itertools import accumulate

from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import CheckReport
from ioopt.result import Violation, violation
from ioopt.units import exact

INSTANT = Fraction(1, 10**9)
"""Times so near to each other are the same."""
_SAID = {
    "release": "starts before its release at {} s",
    "producer": "starts before {!r}, which it reads from, has ended",
    "cores": "takes {} cores more than there are",
    "quota": "takes {} bytes more than the quota",
}


def check(
    problem: WorkDirectoryProblem, plan: WorkDirectoryPlan | Json, schedule: Json | None = None
) -> CheckReport:
    """Check the starts of a plan, and recompute what it comes to."""
    chosen = WorkDirectoryPlan.model_validate(plan) if isinstance(plan, dict) else plan
    wrong = _list(problem, chosen)
    if wrong is not None:
        return CheckReport((wrong,))
    starts = _Starts(problem, chosen, (schedule or {}).get("actual_compute_seconds") or {})
    found = []
    for row in starts.violations(None if chosen.ignore_quota else problem.quota_bytes):
        told = next(row[key] for key in ("release", "producer", "over") if key in row)
        text = f"at {row['seconds']:g} s {_SAID[row['kind']].format(told)}"
        found.append(violation(row["kind"], row["task"], text, row.get("over")))
    if found:
        return CheckReport(tuple(found))
    metrics = starts.metrics()
    objectives = {name: metrics[name] for name in ("makespan_seconds", "peak_bytes")}
    return CheckReport((), objectives, metrics)


def _list(problem: WorkDirectoryProblem, plan: WorkDirectoryPlan) -> Violation | None:
    """What keeps the list from being a plan: its first bad row, else the first task that it lacks."""
    known = {task.id for task in problem.tasks}
    seen: set[str] = set()
    for seconds, name in plan.starts:
        why = "there is no such task" if name not in known else "starts twice"
        if name not in known or name in seen or seconds < 0:
            why = f"starts at {seconds:g} s, before 0" if name in known - seen else why
            return violation("starts", name, why)
        seen.add(name)
    lost = next((task.id for task in problem.tasks if task.id not in seen), None)
    return None if lost is None else violation("starts", lost, "never starts")


class _Starts:
    """The starts in order of time: (place, start, end) of each task, and intervals of places."""

    def __init__(
        self, problem: WorkDirectoryProblem, plan: WorkDirectoryPlan, actual: Mapping[str, float]
    ) -> None:
        self.problem = problem
        self.tasks = {task.id: task for task in problem.tasks}
        rows = sorted(((exact(at), name) for at, name in plan.starts), key=lambda row: row[0])
        self.names = [name for _, name in rows]
        self.times = [at for at, _ in rows]
        self.place = {name: at for at, name in enumerate(self.names)}
        self.end = {
            name: at + exact(actual.get(name, self.tasks[name].compute_seconds))
            for at, name in rows
        }
        written = {f: task.id for task in problem.tasks for f in task.outputs}
        self.holders = {f: [name] for f, name in written.items()}
        for task in problem.tasks:
            for f in task.inputs:
                if f in written:
                    self.holders[f].append(task.id)
        self.files = [file for file in problem.files if file.id in written]
        self.over = {name: self._over([name]) for name in self.names}
        inside = [(task.id, [task.id], task.scratch_bytes) for task in problem.tasks]
        inside += [
            (written[f.id], [] if f.keep else self.holders[f.id], f.bytes) for f in self.files
        ]
        self.inside = inside
        self.use = self._sums([(name, self._over(held), size) for name, held, size in inside])

    def _over(self, held: list[str]) -> int:
        """The first place before which all of *held* have ended; after all places for none."""
        if not held:
            return len(self.names)
        last = max(self.end[name] for name in held)
        after = max(self.place[name] for name in held) + 1
        return max(after, bisect_left(self.times, last - INSTANT))

    def _sums(self, rows: list[tuple[str, int, int]]) -> list[int]:
        """Right after each start, the sum of what is there: brought by a task, until before a place."""
        change = [0] * (len(self.names) + 1)
        for name, until, size in rows:
            change[self.place[name]] += size
            change[until] -= size
        return list(accumulate(change[:-1]))

    def violations(self, quota: int | None) -> list[Json]:
        """Every violation by start, as rule B3 names them."""
        cores = self._sums([(t.id, self.over[t.id], t.cores) for t in self.problem.tasks])
        found: list[Json] = []
        for at, name in enumerate(self.names):
            task, told = self.tasks[name], {"task": name, "seconds": float(self.times[at])}
            if self.times[at] + INSTANT < exact(task.release_seconds):
                found.append({"kind": "release", **told, "release": task.release_seconds})
            makers = (self.holders[f][0] for f in task.inputs if f in self.holders)
            late = next((maker for maker in makers if self.over[maker] > at), None)
            if late is not None:
                found.append({"kind": "producer", **told, "producer": late})
            if cores[at] > self.problem.cores:
                found.append({"kind": "cores", **told, "over": cores[at] - self.problem.cores})
            if quota is not None and self.use[at] > quota:
                found.append({"kind": "quota", **told, "over": self.use[at] - quota})
        return found

    def metrics(self) -> Json:
        """What the starts come to."""
        makespan = max(self.end.values(), default=Fraction(0))
        start = {name: self.times[at] for name, at in self.place.items()}
        held = (
            size * (max((self.end[n] for n in names), default=makespan) - start[name])
            for name, names, size in self.inside
        )
        area = sum(held, Fraction(0))
        work = sum((self.end[t.id] - start[t.id]) * t.cores for t in self.problem.tasks)
        return {
            "makespan_seconds": float(makespan),
            "peak_bytes": max(self.use, default=0),
            "byte_seconds": float(area),
            "mean_bytes": float(area / makespan) if makespan else 0.0,
            "cores_busy": float(work / (self.problem.cores * makespan)) if makespan else 0.0,
            "kept_bytes": sum(file.bytes for file in self.files if file.keep),
        }
