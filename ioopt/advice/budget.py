"""What a quota on a work directory costs, and what to set so that a run keeps it."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil

from ioopt.options import Deadline, SolveOptions
from ioopt.problems.base import Json
from ioopt.problems.work_directory import Fault, WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import Status
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch, named
from ioopt.sim.work_directory.order import least_order
from ioopt.sim.work_directory.replay import carried_out
from ioopt.solvers.work_directory.dispatch import Question, Runs, one_by_one, quickest
from ioopt.solvers.work_directory.frontier import SHARES, frontier, no_worse, unlimited
from ioopt.solvers.work_directory.search import Settings, search

Request = SolveRequest[Settings, WorkDirectoryPlan]

PLAN, SETTING, CURVE, CAPS = 0.3, 0.15, 0.4, 0.3
"""Part of the time left that each question may take, one after the other;
noisy runs have the rest.
"""
NOISY_RUNS, PLANNED, LESS = 20, 5, 0.97
"""Runs with wrong estimates; quotas to plan with that are tried, each this part
of the last at most.
"""
SHARES_OF_PLAN = (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1)
"""Caps, in what a plan runs at once, until one does not keep the quota."""


def answer(
    problem: WorkDirectoryProblem,
    deadline: Deadline,
    seed: int = 0,
    caps: bool = False,
    noise: tuple[float, float] | None = None,
) -> Json:
    """Return all that is asked about *problem* as plain data; the
    *deadline* counts all of it.

    *caps*: also of Nextflow. *noise*: also standard deviations of the
    logarithms of times and of sizes. Every makespan is that of a plan of the
    whole instance that was replayed.
    """

    def request(share: float) -> Request:
        return SolveRequest(SolveOptions(seed=seed), part(share), Settings())

    def part(share: float) -> Deadline:
        return deadline.within(share * deadline.remaining())

    quota, free, order = (
        problem.quota_bytes,
        unlimited(problem),
        least_order(problem, deadline),
    )
    question = Question.of(problem, order=order, deadline=deadline)
    least = {
        "found_bytes": question.found,
        "bound_bytes": question.least.bound,
        "task": question.least.task,
    }
    told: Json = {
        "format": "ioopt/budget",
        "version": 1,
        "instance": problem.name,
        "cores": problem.cores,
        "tasks": len(problem.tasks),
        "samples": len({*problem.samples} - {-1}),
        "independent": independent(problem),
        "quota_bytes": quota,
        "least": least,
        "unlimited": free,
        "at_quota": None,
        "setting": None,
        "nextflow": None,
        "noise": None,
        "notes": [],
    }
    plan = None
    if quota is not None:
        best = search(question, request(PLAN), Settings().evaluations)
        plan, told["notes"] = best.plan, [*best.notes]
        told["at_quota"] = _at_quota(problem, question, best)
    if plan is not None and question.walk is not None:
        told["setting"] = _setting(problem, question, part(SETTING))
    quotas = {ceil(share * free["peak_bytes"]) for share in SHARES} | {question.found}
    told["curve"] = frontier(problem, request(CURVE), sorted(quotas))
    if plan is not None and caps:
        told["nextflow"] = choose_caps(problem, plan, part(CAPS))
    if told["setting"] and noise is not None:
        told["noise"] = noisy(problem, told["setting"], noise, deadline)
    known = ("unlimited", "at_quota", "setting", "nextflow")
    runs = [
        told[key]
        for key in known
        if told[key] and told[key]["makespan_seconds"] is not None
    ]
    runs.append(_one_by_one(problem, order))
    rows = [*told["curve"], *([told["at_quota"]] if told["at_quota"] else [])]
    for row in rows:
        for run in runs:
            no_worse(row, run)
        if told["independent"] and row["status"] == Status.OPTIMAL:
            row["status"] = str(Status.FEASIBLE)
    return told


def independent(problem: WorkDirectoryProblem) -> bool:
    """Return whether *problem* comes from a record that does not say which
    tasks wait for which.
    """
    recorded = "invented" in (problem.meta or {})
    nothing_waits = (
        recorded and len(problem.tasks) > 1 and not any(problem.predecessors)
    )
    return nothing_waits or any(
        "tasks are independent" in line for line in problem.warnings
    )


def _at_quota(
    problem: WorkDirectoryProblem, question: Question, best: Outcome[WorkDirectoryPlan]
) -> Json:
    """Return what the *best* plan under the quota of *problem* comes to."""
    row: Json = {
        "status": str(Status.INFEASIBLE if best.infeasible else Status.UNKNOWN),
        "quota_bytes": question.quota,
        "bound": question.seconds,
        "makespan_seconds": None,
        "peak_bytes": None,
    }
    if best.plan is not None:
        no_worse(row, carried_out(problem, best.plan).metrics)
    return row


def _setting(
    problem: WorkDirectoryProblem, question: Question, deadline: Deadline
) -> Json | None:
    """Return policy and samples in flight of the quickest safe run, its metrics
    beside; None if late.
    """
    found = quickest(Runs(question), deadline)
    if found.cap is None:
        return None
    met = carried_out(problem, question.plan(found.starts)).metrics
    return {"policy": found.policy, "in_flight": found.cap, **met}


def _one_by_one(problem: WorkDirectoryProblem, order: Sequence[int]) -> Json:
    """Return the metrics of the tasks one at a time in *order*."""
    plan = named(problem, problem.ticks, one_by_one(problem, order))
    return carried_out(problem.model_copy(update={"quota_bytes": None}), plan).metrics


def processes(problem: WorkDirectoryProblem) -> list[str]:
    """The Nextflow process of each task: its name without tag and number
    (WfFormat has . for :).
    """
    names = [
        task.id.partition(" (")[0].partition("#")[0].strip() for task in problem.tasks
    ]
    if (problem.meta or {}).get("source") == "Nextflow trace":
        return names
    return [re.sub(r"_(ID)?\d+$", "", name).replace(".", ":") for name in names]


class _Capped(Dispatcher):
    """At most *tasks* at once, and *forks* of a process; nothing looks at a
    quota, as in Nextflow.
    """

    def __init__(
        self, problem: WorkDirectoryProblem, tasks: int, forks: Mapping[str, int]
    ) -> None:
        super().__init__(problem)
        self.tasks, self.forks = tasks, forks
        self.process, self.runs = processes(problem), Counter[str]()

    def admits(self, k: int) -> bool:
        """Whether the caps leave room for task *k*."""
        process = self.process[k]
        room = self.runs[process] < self.forks.get(process, self.tasks)
        return room and self.running < self.tasks

    def started(self, k: int) -> None:
        """Count it."""
        super().started(k)
        self.runs[self.process[k]] += 1

    def ended(self, k: int) -> list[int]:
        """Count it no longer."""
        self.runs[self.process[k]] -= 1
        return super().ended(k)


def choose_caps(
    problem: WorkDirectoryProblem, plan: WorkDirectoryPlan, deadline: Deadline
) -> Json:
    """Caps whose simulated run, its metrics beside, keeps the quota and is
    quickest; else of least peak.

    They are parts of what *plan* runs at once: in all, of each process, and of
    those that wait for none.
    """
    quota, process, rows = problem.quota_bytes or 0, processes(problem), list[Json]()
    now, most = Counter[str](), Counter[str]()
    times = carried_out(problem, plan).times.items()
    for _, step, k in sorted(
        (at, step, k) for k, row in times for at, step in zip(row, (1, -1))
    ):
        for name in (process[k], ""):
            now[name] += step
            most[name] = max(most[name], now[name])
    tasks = most.pop("", 1)
    first = {name for name, level in zip(process, problem.levels) if not level}
    for capped in (set[str](), {*most}, first):
        for share in SHARES_OF_PLAN:
            forks = {
                name: max(1, ceil(share * most[name]))
                for name in most
                if name in capped
            }
            cap = problem.cores if capped else max(1, ceil(share * tasks))
            plan = dispatch(problem, _Capped(problem, cap, forks))
            met = carried_out(
                problem, plan.model_copy(update={"ignore_quota": True})
            ).metrics
            rows.append({"tasks": cap, "forks": forks, **met})
            if met["peak_bytes"] > quota or deadline.expired():
                break
    return min(
        rows,
        key=lambda row: (max(0, row["peak_bytes"] - quota), row["makespan_seconds"]),
    )


def nextflow_config(found: Json) -> str:
    """The text of a nextflow.config with the caps that an answer *found*."""
    caps, name = found["nextflow"], " ".join(found["instance"].split())
    forks = sorted(caps["forks"].items())
    rows = [
        f"    withName: '{process}' {{ maxForks = {cap} }}\n" for process, cap in forks
    ]
    assumed = ", if tasks were independent" if found["independent"] else ""
    return f"""\
// {name}: simulated, {caps["makespan_seconds"]:.6g} s with at
// most {caps["peak_bytes"]} bytes in work/{assumed}. Files leave once no task needs them: nf-boost.
plugins {{ id 'nf-boost' }}
boost {{ cleanup = true }}
executor {{ cpus = {found["cores"]}; queueSize = {caps["tasks"]} }}
process {{
{"".join(rows)}}}
"""


class _Surprised(Dispatcher):
    """Learns the *real* bytes of products when their task ends; ``peak``: the most
    that really lies there.
    """

    def __init__(self, question: Question, how: Json, real: Sequence[int]) -> None:
        policy, cap = how["policy"], how["in_flight"]
        super().__init__(
            question.problem, policy, question.quota, True, cap, question.walk
        )
        self.real, self.unseen, self.peak = real, 0, 0

    def _more(self, k: int) -> int:
        return sum(self.real[f] - self.sizes[f] for f in self.problem.outputs[k])

    def started(self, k: int) -> None:
        """What it really writes enters beside what is expected."""
        super().started(k)
        self.unseen += self._more(k)
        self.peak = max(self.peak, self.use + self.unseen)

    def ended(self, k: int) -> list[int]:
        """Its real bytes are known."""
        self.unseen -= self._more(k)
        for f in self.problem.outputs[k]:
            self.resize(k, f, self.real[f])
        return super().ended(k)


def noisy(
    problem: WorkDirectoryProblem,
    how: Json,
    noise: tuple[float, float],
    deadline: Deadline,
) -> Json:
    """Runs of the safe dispatcher whose tasks take, and write, other than
    estimated (log-normal).

    It decides on estimates, and counts the real bytes of a task once that has ended.
    ``plan_bytes`` is a quota to plan with so that all keep that of the problem,
    ``tried`` whether they were run with it.
    """
    quota = problem.quota_bytes or 0
    plan, tried, first = quota, False, _noisy_runs(problem, how, noise, quota, deadline)
    rows = first
    for _ in range(PLANNED):
        if len(rows) < len(first):  # no order keeps it, or there is no time
            break
        peak = max(peak for _, peak in rows)
        tried = peak <= quota and None not in dict(rows)
        if tried:
            break
        plan = int(plan * min(LESS, quota / max(1, peak)))
        rows = _noisy_runs(problem, how, noise, plan, deadline)
    ends = sorted(span for span, _ in first if span is not None)
    return {
        "runs": len(first),
        "stuck": len(first) - len(ends),
        "plan_bytes": plan,
        "tried": tried,
        "peak_bytes": max(peak for _, peak in first),
        "median_seconds": ends[len(ends) // 2] if ends else None,
        "worst_seconds": ends[-1] if ends else None,
    }


def _noisy_runs(
    problem: WorkDirectoryProblem,
    how: Json,
    noise: tuple[float, float],
    quota: int,
    deadline: Deadline,
) -> list[tuple[float | None, int]]:
    """Makespan (None: stuck) and most real bytes by seed, when planned with
    *quota*; one at least.

    None at all where no order is known to keep it.
    """
    asked = problem.model_copy(update={"quota_bytes": quota})
    question = Question.of(asked, order=least_order(problem))
    if question.walk is None:
        return []
    rows: list[tuple[float | None, int]] = []
    for seed in range(NOISY_RUNS):
        if rows and deadline.expired():
            break
        draw = random.Random(seed)
        planned = ((task.id, task.compute_seconds) for task in problem.tasks)
        actual = {
            k: round(at * draw.lognormvariate(0, noise[0]), 3) for k, at in planned
        }
        real = [
            ceil(file.bytes * draw.lognormvariate(0, noise[1]))
            for file in problem.products
        ]
        run = _Surprised(question, how, real)
        try:
            starts = dispatch(problem, run, actual).starts
        except Fault:
            rows.append((None, run.peak))
        else:
            rows.append(
                (max((at + actual[name] for at, name in starts), default=0.0), run.peak)
            )
    return rows
