"""Second replay of work directories, that shares no code with the one in ioopt.

No clock goes on here. Every file, every scratch and every core has an interval of places in the list of
starts, from the start that brings it to the first before which the last task that holds it has ended.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from fractions import Fraction
from itertools import accumulate
from typing import Any

from ioopt.problems.work_directory import WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.units import exact

Json = dict[str, Any]
INSTANT = Fraction(1, 10**9)


class Starts:
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
