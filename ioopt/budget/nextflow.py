"""Choose caps for Nextflow with which a simulated run keeps the quota of a work
directory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from math import ceil

from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch
from ioopt.sim.work_directory.replay import carried_out

SHARES_OF_PLAN = (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1)
"""The caps to try in turn, as shares of what a plan runs at once, until one breaks the
quota.
"""


def processes(problem: WorkDirectoryProblem) -> list[str]:
    """Return the Nextflow process of each task: its name without tag and number.

    WfFormat writes a dot for the colon in a process name.
    """
    names = []
    for task in problem.tasks:
        untagged = task.id.partition(" (")[0]
        names.append(untagged.partition("#")[0].strip())
    if (problem.meta or {}).get("source") == "Nextflow trace":
        return names
    return [re.sub(r"_(ID)?\d+$", "", name).replace(".", ":") for name in names]


class Capped(Dispatcher):
    """Run at most *tasks* at once, and at most *forks* of each process.

    Like Nextflow, it ignores the quota.
    """

    def __init__(
        self, problem: WorkDirectoryProblem, tasks: int, forks: Mapping[str, int]
    ) -> None:
        super().__init__(problem)
        self.tasks = tasks
        self.forks = forks
        self.process = processes(problem)
        self.runs = Counter[str]()

    def admits(self, k: int) -> bool:
        """Return whether the caps leave room for task *k*."""
        if self.running >= self.tasks:
            return False
        process = self.process[k]
        return self.runs[process] < self.forks.get(process, self.tasks)

    def started(self, k: int) -> None:
        """Count task *k* among the running ones of its process."""
        super().started(k)
        self.runs[self.process[k]] += 1

    def ended(self, k: int) -> list[int]:
        """Take task *k* from the running ones; return the tasks it made ready."""
        self.runs[self.process[k]] -= 1
        return super().ended(k)


def choose_caps(
    problem: WorkDirectoryProblem, plan: WorkDirectoryPlan, deadline: Deadline
) -> Json:
    """Return the caps with the quickest simulated run that keeps the quota, and the
    metrics of that run.

    If none keeps it, the caps of the least peak are returned. The caps are shares of
    what *plan* runs at once: of all tasks, of each process, and of the processes whose
    tasks depend on no other task.
    """
    quota = problem.quota_bytes or 0
    most_tasks, most_forks = _most_at_once(problem, plan)
    first = {
        process
        for process, level in zip(processes(problem), problem.levels)
        if level == 0
    }
    rows: list[Json] = []
    for capped in (set[str](), set(most_forks), first):
        for share in SHARES_OF_PLAN:
            tasks = problem.cores
            if not capped:
                tasks = _share(share, most_tasks)
            forks = _forks(share, most_forks, capped)
            row = _capped_run(problem, tasks, forks)
            rows.append(row)
            if row["peak_bytes"] > quota or deadline.expired():
                break

    def over_then_slow(row: Json) -> tuple[int, float]:
        return max(0, row["peak_bytes"] - quota), row["makespan_seconds"]

    return min(rows, key=over_then_slow)


def _share(share: float, most: int) -> int:
    """Return *share* of *most* as a cap: rounded up, at least 1."""
    return max(1, ceil(share * most))


def _forks(
    share: float, most: Mapping[str, int], capped: Collection[str]
) -> dict[str, int]:
    """Return *share* of *most* by process, for the *capped* processes only."""
    return {name: _share(share, most[name]) for name in most if name in capped}


def _capped_run(
    problem: WorkDirectoryProblem, tasks: int, forks: dict[str, int]
) -> Json:
    """Simulate one pair of caps; return them with the metrics of the run."""
    plan = dispatch(problem, Capped(problem, tasks, forks))
    replayed = carried_out(problem, plan.model_copy(update={"ignore_quota": True}))
    return {"tasks": tasks, "forks": forks, **replayed.metrics}


def _most_at_once(
    problem: WorkDirectoryProblem, plan: WorkDirectoryPlan
) -> tuple[int, Counter[str]]:
    """Return the most tasks that *plan* runs at once: of all, and by process."""
    process = processes(problem)
    events: list[tuple[float, int, int]] = []
    for k, (start, end) in carried_out(problem, plan).times.items():
        events.append((start, 1, k))
        events.append((end, -1, k))
    running = 0
    most = 0
    running_of = Counter[str]()
    most_of = Counter[str]()
    for _, step, k in sorted(events):
        name = process[k]
        running += step
        running_of[name] += step
        most = max(most, running)
        most_of[name] = max(most_of[name], running_of[name])
    if not events:
        most = 1
    return most, most_of


def nextflow_config(found: Json) -> str:
    """Return the text of a nextflow.config with the caps of the answer *found*."""
    caps = found["nextflow"]
    name = " ".join(found["instance"].split())
    rows = [
        f"    withName: '{process}' {{ maxForks = {cap} }}\n"
        for process, cap in sorted(caps["forks"].items())
    ]
    assumed = ""
    if found["independent"]:
        assumed = ", if tasks were independent"
    peak = caps["peak_bytes"]
    return f"""\
// {name}: simulated, {caps["makespan_seconds"]:.6g} s with at
// most {peak} bytes in work/{assumed}. Files leave once no task needs them: nf-boost.
plugins {{ id 'nf-boost' }}
boost {{ cleanup = true }}
executor {{ cpus = {found["cores"]}; queueSize = {caps["tasks"]} }}
process {{
{"".join(rows)}}}
"""
