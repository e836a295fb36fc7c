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
from ioopt.protocols import SolveRequest
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch
from ioopt.sim.work_directory.order import least_order, sequential_peak
from ioopt.sim.work_directory.replay import carried_out
from ioopt.solvers.work_directory.dispatch import Question, Runs, quickest
from ioopt.solvers.work_directory.frontier import SHARES, frontier, unlimited
from ioopt.solvers.work_directory.search import Settings, search

Request = SolveRequest[Settings, WorkDirectoryPlan]

PLAN, SETTING, CURVE, CAPS = 0.3, 0.15, 0.4, 0.3
"""Part of the time left that each question may take, one after the other; noisy runs have the rest."""
NOISY_RUNS, PLANNED, LESS = 20, 5, 0.97
"""Runs with wrong estimates; quotas to plan with that are tried, each this part of the last at most."""
SHARES_OF_PLAN = (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1)
"""Caps, in what a plan runs at once, until one does not keep the quota."""


def answer(
    problem: WorkDirectoryProblem,
    deadline: Deadline,
    seed: int = 0,
    caps: bool = False,
    noise: tuple[float, float] | None = None,
) -> Json:
    """All that is asked about *problem*, as plain data; the *deadline* counts all of it.

    *caps*: also of Nextflow. *noise*: also standard deviations of the logarithms of times and of sizes.
    """

    def request(share: float) -> Request:
        return SolveRequest(SolveOptions(seed=seed), part(share), Settings())

    def part(share: float) -> Deadline:
        return deadline.within(share * deadline.remaining())

    quota, free, order = problem.quota_bytes, unlimited(problem), least_order(problem)
    question, found = Question.of(problem, order=order), sequential_peak(problem, order)
    seconds = sum(task.compute_seconds for task in problem.tasks)
    seconds += max((task.release_seconds for task in problem.tasks), default=0.0)
    one_by_one = {"makespan_seconds": seconds, "peak_bytes": found}
    least = {"found_bytes": found, "bound_bytes": question.least.bound, "task": question.least.task}
    told: Json = {
        "format": "ioopt/budget", "version": 1, "instance": problem.name, "cores": problem.cores,
        "tasks": len(problem.tasks), "samples": len({*problem.samples} - {-1}), "quota_bytes": quota,
        "least": least, "unlimited": free, "at_quota": None, "setting": None, "nextflow": None,
        "batches": None, "noise": None, "notes": [],
    }  # fmt: skip
    plan = None
    if quota is not None:
        best = search(question, request(PLAN), Settings().evaluations)
        plan, told["notes"] = best.plan, [*best.notes]
        met = {} if plan is None else carried_out(problem, plan).metrics
        status = "infeasible" if best.infeasible else "unknown" if plan is None else "feasible"
        row = {key: met.get(key) for key in ("makespan_seconds", "peak_bytes")}
        told["at_quota"] = {"status": status, "bound": question.seconds, **row}
    if plan is not None and question.walk is not None:
        starts, cap, policy, _ = quickest(Runs(question), part(SETTING))
        met = carried_out(problem, question.plan(starts)).metrics
        told["setting"] = {"policy": policy, "in_flight": cap, **met}
    quotas = {ceil(share * free["peak_bytes"]) for share in SHARES} | {found}
    told["curve"] = frontier(problem, request(CURVE), sorted(quotas))
    if plan is not None and caps:
        told["nextflow"] = choose_caps(problem, plan, part(CAPS))
        told["batches"] = batches(problem, part(CAPS))
    if told["setting"] and noise is not None:
        told["noise"] = noisy(problem, told["setting"], noise, deadline)
    known = ("unlimited", "at_quota", "setting", "nextflow", "batches")
    runs = [one_by_one, *(told[key] for key in known if told[key])]
    for row in (*told["curve"], *([told["at_quota"]] if told["at_quota"] else [])):
        for run in runs:
            no_worse(row, run, row.get("quota_bytes", quota))
    return told


def no_worse(row: Json, run: Json, quota: int) -> None:
    """Put *run* in *row* where it keeps *quota* and is quicker: a short search may find less than it."""
    now, then = row["makespan_seconds"], run["makespan_seconds"]
    if then is not None and run["peak_bytes"] <= quota and (now is None or then < now):
        row |= {key: run[key] for key in ("makespan_seconds", "peak_bytes") if key in row}
        row["status"] = "optimal" if then <= row["bound"] * (1 + 1e-9) else "feasible"


def processes(problem: WorkDirectoryProblem) -> list[str]:
    """The Nextflow process of each task: its name without tag and number (WfFormat has . for :)."""
    names = [task.id.partition(" (")[0].partition("#")[0].strip() for task in problem.tasks]
    if (problem.meta or {}).get("source") == "Nextflow trace":
        return names
    return [re.sub(r"_(ID)?\d+$", "", name).replace(".", ":") for name in names]


class _Capped(Dispatcher):
    """At most *tasks* at once, and *forks* of a process; nothing looks at a quota, as in Nextflow."""

    def __init__(self, problem: WorkDirectoryProblem, tasks: int, forks: Mapping[str, int]) -> None:
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


def choose_caps(problem: WorkDirectoryProblem, plan: WorkDirectoryPlan, deadline: Deadline) -> Json:
    """Caps whose simulated run, its metrics beside, keeps the quota and is quickest; else of least peak.

    They are parts of what *plan* runs at once: in all, of each process, and of those that wait for none.
    """
    quota, process, rows = problem.quota_bytes or 0, processes(problem), list[Json]()
    now, most = Counter[str](), Counter[str]()
    times = carried_out(problem, plan).times.items()
    for _, step, k in sorted((at, step, k) for k, row in times for at, step in zip(row, (1, -1))):
        for name in (process[k], ""):
            now[name] += step
            most[name] = max(most[name], now[name])
    tasks = most.pop("", 1)
    first = {name for name, level in zip(process, problem.levels) if not level}
    for capped in (set[str](), {*most}, first):
        for share in SHARES_OF_PLAN:
            forks = {name: max(1, ceil(share * most[name])) for name in most if name in capped}
            cap = problem.cores if capped else max(1, ceil(share * tasks))
            plan = dispatch(problem, _Capped(problem, cap, forks))
            met = carried_out(problem, plan.model_copy(update={"ignore_quota": True})).metrics
            rows.append({"tasks": cap, "forks": forks, **met})
            if met["peak_bytes"] > quota or deadline.expired():
                break
    return min(rows, key=lambda row: (max(0, row["peak_bytes"] - quota), row["makespan_seconds"]))


def batches(problem: WorkDirectoryProblem, deadline: Deadline) -> Json | None:
    """The fewest runs, one after the other and of as many samples each, that keep the quota without caps."""
    count = max(problem.samples, default=0) + 1
    for size in sorted({-(-count // runs) for runs in range(2, count + 1)}, reverse=True):
        met = []
        for first in range(0, count, size):
            rows = zip(problem.tasks, problem.samples)
            tasks = [task for task, at in rows if first <= max(0, at) < first + size]
            part = {"cores": problem.cores, "tasks": tuple(tasks), "files": problem.files}
            met.append(unlimited(WorkDirectoryProblem(**part)))
        peak = max(row["peak_bytes"] for row in met)
        if peak <= (problem.quota_bytes or 0):
            seconds = sum(row["makespan_seconds"] for row in met)
            told = {"samples": size, "runs": len(met)}
            return {**told, "makespan_seconds": seconds, "peak_bytes": peak}
        if deadline.expired():
            break
    return None


def nextflow_config(found: Json) -> str:
    """The text of a nextflow.config with the caps that an answer *found*."""
    caps, name = found["nextflow"], " ".join(found["instance"].split())
    forks = sorted(caps["forks"].items())
    rows = [f"    withName: '{process}' {{ maxForks = {cap} }}\n" for process, cap in forks]
    return f"""\
// {name}: simulated, {caps["makespan_seconds"]:.6g} s with at
// most {caps["peak_bytes"]} bytes in work/. Files leave once no task needs them: nf-boost.
plugins {{ id 'nf-boost' }}
boost {{ cleanup = true }}
executor {{ cpus = {found["cores"]}; queueSize = {caps["tasks"]} }}
process {{
{"".join(rows)}}}
"""


class _Surprised(Dispatcher):
    """Learns the *real* bytes of products when their task ends; ``peak``: the most that really lies there."""

    def __init__(self, question: Question, how: Json, real: Sequence[int]) -> None:
        policy, cap = how["policy"], how["in_flight"]
        super().__init__(question.problem, policy, question.quota, True, cap, question.walk)
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
    problem: WorkDirectoryProblem, how: Json, noise: tuple[float, float], deadline: Deadline
) -> Json:
    """Runs of the safe dispatcher whose tasks take, and write, other than estimated (log-normal).

    It decides on estimates, and counts the real bytes of a task once that has ended. ``plan_bytes`` is
    a quota to plan with so that all keep that of the problem, ``tried`` whether they were run with it.
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
        "runs": len(first), "stuck": len(first) - len(ends), "plan_bytes": plan, "tried": tried,
        "peak_bytes": max(peak for _, peak in first),
        "median_seconds": ends[len(ends) // 2] if ends else None,
        "worst_seconds": ends[-1] if ends else None,
    }  # fmt: skip


def _noisy_runs(
    problem: WorkDirectoryProblem, how: Json, noise: tuple[float, float], quota: int, deadline: Deadline
) -> list[tuple[float | None, int]]:  # fmt: skip
    """Makespan (None: stuck) and most real bytes by seed, when planned with *quota*; one at least.

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
        actual = {k: round(at * draw.lognormvariate(0, noise[0]), 3) for k, at in planned}
        real = [ceil(file.bytes * draw.lognormvariate(0, noise[1])) for file in problem.products]
        run = _Surprised(question, how, real)
        try:
            starts = dispatch(problem, run, actual).starts
        except Fault:
            rows.append((None, run.peak))
        else:
            rows.append((max((at + actual[name] for at, name in starts), default=0.0), run.peak))
    return rows
