"""Replay plans of work directories (rules B3 and B4).

The replay needs no clock. It lists the starts in order of time. Bytes and cores are
held from the start that takes them to the first start at which they are free again. The
checker, ``ioopt/checks/work_directory.py``, shares no code with this replay. An error
in either of them therefore shows as a difference.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from ioopt.errors import SimulationError
from ioopt.options import Deadline
from ioopt.problems.base import Json, collector_paused
from ioopt.problems.work_directory import (
    Fault,
    Ticks,
    WorkDirectoryPlan,
    WorkDirectoryProblem,
)
from ioopt.protocols import Simulation
from ioopt.sim.work_directory.directory import lengths
from ioopt.timeline import Interval, Timeline, steps_of

STAGES = 7
"""Largest number of stages of a workflow that are shown separately; the others are
shown together.
"""


@dataclass(frozen=True)
class CarriedOut:
    """Record the replay of a plan without violations.

    ``times`` maps the position of each task to its (start, end) in seconds. ``use`` has
    a pair (seconds, bytes inside from then on) for each change.
    """

    metrics: Json
    times: dict[int, tuple[float, float]]
    use: list[tuple[float, int]]


class Held(NamedTuple):
    """Record bytes or cores that are in use over several starts of a plan.

    The bytes or cores are in use from the start at place ``first`` until the start at
    place ``over``, and are free again for the latter. ``left`` is the tick at which
    they are released. For a file that is ``kept`` for good, ``left`` is the end of the
    last task.
    """

    amount: int
    first: int
    over: int
    left: int
    kept: bool = False


class Places:
    """List the starts of a plan in order, and the bytes and cores in use between them.

    Raises :class:`Fault` for a list of starts that is not a plan.
    """

    def __init__(
        self,
        problem: WorkDirectoryProblem,
        plan: WorkDirectoryPlan,
        actual: Mapping[str, float] | None = None,
    ) -> None:
        self.problem = problem
        seconds = lengths(problem, actual)
        begun = _begun(problem, plan)
        releases = [task.release_seconds for task in problem.tasks]
        self.ticks = Ticks([*seconds, *releases, *begun.values()])
        self.order = sorted(begun, key=begun.__getitem__)
        self.starts = [self.ticks.of(begun[k]) for k in self.order]
        self.reach = [self.ticks.reach(at) for at in self.starts]
        self.length = self.ticks.all_of(seconds)
        self.releases = self.ticks.all_of(releases)
        self.place = [0] * len(self.order)
        for place, k in enumerate(self.order):
            self.place[k] = place
        self.ends = [
            self.starts[self.place[k]] + span for k, span in enumerate(self.length)
        ]
        self.makespan = max(self.ends, default=0)
        self.over = [
            self._over(place, end) for place, end in zip(self.place, self.ends)
        ]
        self.left = [self._left(over, end) for over, end in zip(self.over, self.ends)]

    def _over(self, place: int, end: int) -> int:
        """Return the first place after *place* whose start is not before *end*, the end
        of the task at *place*.
        """
        return bisect_left(self.reach, end, lo=place + 1)

    def _left(self, over: int, end: int) -> int:
        """Return the tick at which a task releases the bytes that it holds until place
        *over*.

        The bytes leave at the *end* of the task, or at the start at *over* if both are
        the same instant.
        """
        if over == len(self.starts):
            return end
        return min(end, self.starts[over])

    def bytes_held(self) -> list[Held]:
        """Return the scratch of every task, and every product, as held bytes (rule
        B2).
        """
        problem = self.problem
        found = []
        for k, task in enumerate(problem.tasks):
            if task.scratch_bytes:
                found.append(
                    Held(task.scratch_bytes, self.place[k], self.over[k], self.left[k])
                )
            for f in problem.outputs[k]:
                found.append(self.product_held(k, f))
        return found

    def product_held(self, maker: int, f: int) -> Held:
        """Return how long product *f*, which task *maker* writes, is inside the
        directory.
        """
        file = self.problem.products[f]
        if file.keep:
            return Held(
                file.bytes, self.place[maker], len(self.starts), self.makespan, True
            )
        holders = (maker, *self.problem.readers[f])
        over = max(self.over[k] for k in holders)
        left = max(self.left[k] for k in holders)
        return Held(file.bytes, self.place[maker], over, left)

    def cores_held(self) -> list[Held]:
        """Return, for each task, from which start to which start its cores are in
        use.
        """
        rows = enumerate(self.problem.tasks)
        return [
            Held(task.cores, self.place[k], self.over[k], self.left[k])
            for k, task in rows
        ]

    def totals(self, rows: list[Held]) -> list[int]:
        """Return, for each start, how much of the amounts in *rows* is in use right
        after it.
        """
        change = [0] * (len(self.starts) + 1)
        for row in rows:
            change[row.first] += row.amount
            change[row.over] -= row.amount
        return list(accumulate(change[:-1]))

    def faults(self, quota: int | None, use: list[int]) -> list[str]:
        """Return a sentence for each start that breaks a release, a producer, the cores
        or *quota*.

        *use* holds the bytes inside after each start.
        """
        problem = self.problem
        found = []
        cores = self.totals(self.cores_held())
        for place, k in enumerate(self.order):
            task = problem.tasks[k]
            at = f"{task.id}: starts at {self.ticks.seconds(self.starts[place]):g} s, "
            if self.releases[k] > self.reach[place]:
                found.append(f"{at}before its release at {task.release_seconds} s")
            late = (p for p in problem.predecessors[k] if self.over[p] > place)
            if (maker := next(late, None)) is not None:
                name = problem.tasks[maker].id
                found.append(f"{at}before {name!r}, which it reads from, has ended")
            if cores[place] > problem.cores:
                more = cores[place] - problem.cores
                found.append(f"{at}with {more} cores more than there are")
            if quota is not None and use[place] > quota:
                found.append(f"{at}with {use[place] - quota} bytes more than the quota")
        return found

    def measured(self, rows: list[Held], use: list[int]) -> Json:
        """Return the metrics of rule B4 for the held bytes *rows*.

        *use* holds the bytes inside after each start.
        """
        tasks = self.problem.tasks
        makespan = self.makespan
        area = sum(row.amount * (row.left - self.starts[row.first]) for row in rows)
        work = sum(task.cores * self.length[k] for k, task in enumerate(tasks))
        return {
            "makespan_seconds": self.ticks.seconds(makespan),
            "peak_bytes": max(use, default=0),
            "byte_seconds": self.ticks.seconds(area),
            "mean_bytes": area / makespan if makespan else 0.0,
            "cores_busy": work / (self.problem.cores * makespan) if makespan else 0.0,
            "kept_bytes": sum(
                file.bytes for file in self.problem.products if file.keep
            ),
        }

    def steps(self, rows: list[Held]) -> list[tuple[float, int]]:
        """Return (seconds, bytes inside) at time 0, at each start and at each end.

        Equal instants appear once.
        """
        change = {0: 0} | dict.fromkeys(sorted({*self.starts, *self.left}), 0)
        for row in rows:
            change[self.starts[row.first]] += row.amount
            if not row.kept:
                change[row.left] -= row.amount
        totals = accumulate(change.values())
        return [
            (self.ticks.seconds(at), size)
            for at, size in zip(change, totals, strict=True)
        ]


def _begun(problem: WorkDirectoryProblem, plan: WorkDirectoryPlan) -> dict[int, float]:
    """Return the start of each task in seconds, keyed by its position, in the order of
    the plan.

    Raises :class:`Fault` for a list of starts that is not a plan.
    """
    begun: dict[int, float] = {}
    for seconds, name in plan.starts:
        k = problem.task_index.get(name)
        if k is None:
            raise Fault("unknown task", task=name)
        if k in begun:
            raise Fault("started twice", task=name)
        if seconds < 0:
            raise Fault("negative", task=name, seconds=seconds)
        begun[k] = seconds
    for k, task in enumerate(problem.tasks):
        if k not in begun:
            raise Fault("never started", task=task.id)
    return begun


def carried_out(
    problem: WorkDirectoryProblem,
    plan: WorkDirectoryPlan,
    actual: Mapping[str, float] | None = None,
) -> CarriedOut:
    """Replay *plan*; raise SimulationError that names each task with a violation.

    *actual* gives compute seconds that replace the planned ones, keyed by task id.
    """
    places = Places(problem, plan, actual)
    rows = places.bytes_held()
    use = places.totals(rows)
    quota = None if plan.ignore_quota else problem.quota_bytes
    if faults := places.faults(quota, use):
        raise SimulationError("; ".join(faults))
    seconds = places.ticks.seconds
    spans = enumerate(places.ends)
    times = {
        k: (seconds(places.starts[places.place[k]]), seconds(end)) for k, end in spans
    }
    return CarriedOut(places.measured(rows, use), times, places.steps(rows))


def keeps(
    problem: WorkDirectoryProblem, plan: WorkDirectoryPlan, quota: int | None
) -> bool:
    """Return whether *plan* breaks no rule under *quota*, which replaces the quota of
    the problem.
    """
    asked = problem.model_copy(update={"quota_bytes": quota})
    try:
        carried_out(asked, plan.model_copy(update={"ignore_quota": False}))
    except SimulationError:
        return False
    return True


def simulate(
    problem: WorkDirectoryProblem,
    plan: WorkDirectoryPlan,
    actual: Mapping[str, float] | None = None,
    deadline: Deadline | None = None,
) -> Simulation:
    """Replay *plan*, and return the metrics and the schedule; without a *deadline*,
    also the timeline.

    *actual* gives compute seconds that replace the planned ones, keyed by task id.
    """
    with collector_paused():
        return _simulated(problem, plan, actual, deadline)


def _simulated(
    problem: WorkDirectoryProblem,
    plan: WorkDirectoryPlan,
    actual: Mapping[str, float] | None,
    deadline: Deadline | None,
) -> Simulation:
    """Replay *plan* as :func:`simulate` says."""
    found = carried_out(problem, plan, actual)
    quota = None if plan.ignore_quota else problem.quota_bytes
    stages = [stage(task.id) for task in problem.tasks]
    rows = [
        {
            "id": problem.tasks[k].id,
            "start_seconds": start,
            "end_seconds": end,
            "stage": stages[k],
        }
        for k, (start, end) in found.times.items()
    ]
    schedule: Json = {"tasks": rows, "use": [list(step) for step in found.use]}
    schedule |= {"quota_bytes": quota, "stages": _by_stage(problem, found, stages)}
    if actual is not None:
        schedule["actual_compute_seconds"] = dict(actual)
    if deadline is not None:
        return Simulation(schedule, found.metrics)
    parts = []
    for k, (start, end) in found.times.items():
        row = f"sample {problem.samples[k] + 1}"
        parts.append(Interval(start, end, row, "compute", problem.tasks[k].id))
    timeline = replace(Timeline.of(parts), counters={"bytes inside": found.use})
    return Simulation(schedule, found.metrics, timeline)


def stage(task: str) -> str:
    """Return the name of a task without numbers, which all tasks of one step of a
    workflow share.

    >>> stage("FASTQC (s1)#3"), stage("mProject_ID0000012"), stage("c0t3")
    ('FASTQC', 'mProject', 'c0t')
    """
    return re.sub(r"( \(.*\)|#\d+|[._-]?(ID)?\d+(-\d+)?)+$", "", task) or task


def _by_stage(
    problem: WorkDirectoryProblem, found: CarriedOut, stages: list[str]
) -> dict[str, list[list[float]]]:
    """Return, keyed by stage, rows [seconds, bytes inside], one for each change of the
    bytes inside.

    *stages* holds the stage of each task. The stages with the most byte-seconds are
    shown; all others count as one stage, ``others``.
    """
    last = found.metrics["makespan_seconds"]
    changes = defaultdict[str, Counter[float]](Counter)
    weight: dict[str, float] = defaultdict(float)
    for k, (start, end) in found.times.items():
        name = stages[k]
        held = [(problem.tasks[k].scratch_bytes, end)]
        for f in problem.outputs[k]:
            until = max([end, *(found.times[j][1] for j in problem.readers[f])])
            file = problem.products[f]
            if file.keep:
                until = last
            held.append((file.bytes, until))
        for size, until in held:
            changes[name][start] += size
            changes[name][until] -= size
            weight[name] += size * (until - start)
    shown: dict[str, Counter[float]] = {}
    for name in sorted(weight, key=lambda name: (-weight[name], name)):
        label = name if len(shown) < STAGES else "others"
        shown.setdefault(label, Counter()).update(changes[name])
    return {name: steps_of(rows) for name, rows in shown.items()}
