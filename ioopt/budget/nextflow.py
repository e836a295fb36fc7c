"""Choose caps for Nextflow with which a simulated run keeps the quota of a work
directory.

A cap is a largest number of tasks that run at once, of the whole run or of one process.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from math import ceil

from ioopt.budget import NF_BOOST, TRACE
from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch
from ioopt.sim.work_directory.replay import carried_out
from ioopt.units import counted

SHARES_OF_PLAN = (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1)
"""The caps to try in this order, as shares of the number of tasks that a plan runs at
once. The search ends at the first cap that breaks the quota.
"""


def processes(problem: WorkDirectoryProblem) -> list[str]:
    """Return, for each task, its Nextflow process: the name of the task without tag and
    number.

    WfFormat writes a dot in place of the colon in the name of a process.
    """
    names = []
    for task in problem.tasks:
        untagged = task.id.partition(" (")[0]
        names.append(untagged.partition("#")[0].strip())
    if (problem.meta or {}).get("source") == TRACE:
        return names
    return [re.sub(r"_(ID)?\d+$", "", name).replace(".", ":") for name in names]


class Capped(Dispatcher):
    """Run at most *tasks* tasks at once, and at most *forks* tasks of each process.

    The quota is ignored, as Nextflow ignores it.
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
        """Return whether the caps allow task *k* to start."""
        if self.running >= self.tasks:
            return False
        process = self.process[k]
        return self.runs[process] < self.forks.get(process, self.tasks)

    def started(self, k: int) -> None:
        """Record that task *k* runs, and count it for its process."""
        super().started(k)
        self.runs[self.process[k]] += 1

    def ended(self, k: int) -> list[int]:
        """Record that task *k* has ended; return the tasks that become ready by
        this.
        """
        self.runs[self.process[k]] -= 1
        return super().ended(k)


def choose_caps(
    problem: WorkDirectoryProblem, plan: WorkDirectoryPlan, deadline: Deadline
) -> Json:
    """Return the caps with which the simulated run is quickest and keeps the quota,
    with the metrics of the run.

    If no caps keep the quota, the caps whose run exceeds it least are returned. The
    caps to try are shares of the number of tasks that *plan* runs at once. In turn, a
    cap is set for all tasks together, for each process, and for each process whose
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
    """Return *share* of *most* as a cap, rounded up and at least 1."""
    return max(1, ceil(share * most))


def _forks(
    share: float, most: Mapping[str, int], capped: Collection[str]
) -> dict[str, int]:
    """Return a cap for each of the processes *capped*: *share* of the number in *most*
    for this process.
    """
    return {name: _share(share, most[name]) for name in most if name in capped}


def _capped_run(
    problem: WorkDirectoryProblem, tasks: int, forks: dict[str, int]
) -> Json:
    """Simulate a run with the caps *tasks* and *forks*; return the caps with the
    metrics of the run.
    """
    plan = dispatch(problem, Capped(problem, tasks, forks))
    replayed = carried_out(problem, plan.model_copy(update={"ignore_quota": True}))
    return {"tasks": tasks, "forks": forks, **replayed.metrics}


def _most_at_once(
    problem: WorkDirectoryProblem, plan: WorkDirectoryPlan
) -> tuple[int, Counter[str]]:
    """Return the largest number of tasks that *plan* runs at once, and the same for
    each process.
    """
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
    """Return the text of a nextflow.config with the caps in the answer *found*."""
    caps = found["nextflow"]
    name = " ".join(found["instance"].split())
    rows = [
        f"    withName: '{process}' {{ maxForks = {cap} }}\n"
        for process, cap in sorted(caps["forks"].items())
    ]
    assumed = ""
    if found["independent"]:
        assumed = ", if tasks were independent"
    elif not found["fits"]["whatever_is_read"]:
        assumed = ", if tasks read what ioopt budget says it assumes"
    peak = caps["peak_bytes"]
    boost = "\n".join(NF_BOOST)
    return f"""\
// {name}: simulated, {caps["makespan_seconds"]:.6g} s with at
// most {peak} bytes in work/{assumed}. Files leave once no task needs them: nf-boost.
// Simulated with {counted(found["cores"], "core")}. The executor local takes them from
// here; on a cluster give it no more, or more tasks may run at once than simulated.
{boost}
executor {{
    queueSize = {caps["tasks"]}
    $local {{ cpus = {found["cores"]} }}
}}
process {{
{"".join(rows)}}}
"""
