"""What a quota on a work directory costs, and what to set so that a run keeps it."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from ioopt.options import Deadline, SolveOptions
from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import SolveRequest
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch
from ioopt.sim.work_directory.order import least_order, sequential_peak
from ioopt.sim.work_directory.replay import replay
from ioopt.solvers.work_directory.dispatch import Question, Runs

NOISY_RUNS = 20
TRIALS = 200
"""Sets of caps that are simulated at most."""


@dataclass(frozen=True)
class Caps:
    """What a nextflow.config can say: tasks at once, and of a process (where it has no place, any)."""

    tasks: int
    forks: Mapping[str, int]


def processes(problem: WorkDirectoryProblem) -> list[str]:
    """The Nextflow process of each task: its name without tag and number (WfFormat has . for :)."""
    names = [task.id.partition(" (")[0].partition("#")[0].strip() for task in problem.tasks]
    if (problem.meta or {}).get("source") == "Nextflow trace":
        return names
    return [re.sub(r"_(ID)?\d+$", "", name).replace(".", ":") for name in names]


def capped(problem: WorkDirectoryProblem, caps: Caps) -> Json:
    """Metrics of the order of submission under *caps*; nothing looks at the quota, as in Nextflow."""
    free = problem.model_copy(update={"quota_bytes": None})
    process = processes(problem)
    runs: Counter[str] = Counter()

    class Capped(Dispatcher):
        """Also looks at the caps."""

        def admits(self, k: int) -> bool:
            most = caps.forks.get(process[k], self.running + 1)
            return self.running < caps.tasks and runs[process[k]] < most

        def started(self, k: int) -> None:
            super().started(k)
            runs[process[k]] += 1

        def ended(self, k: int) -> list[int]:
            runs[process[k]] -= 1
            return super().ended(k)

    return replay(free, dispatch(free, Capped(free))).metrics


def choose_caps(
    problem: WorkDirectoryProblem, plan: WorkDirectoryPlan, quota: int, deadline: Deadline
) -> tuple[Caps | None, Json]:
    """The quickest caps found whose simulated run keeps *quota*, or None with the least peak met.

    Begins at shares of what *plan* has at once, of each process and in all, and then doubles or
    frees one process after the other.
    """
    most = _at_once(problem, plan)
    names = [name for name in most if name]
    best: tuple[Caps, Json] | None = None
    least: Json = {}
    left = TRIALS

    def tried(caps: Caps) -> bool:
        nonlocal best, least, left
        left -= 1
        found = capped(problem, caps)
        if not least or found["peak_bytes"] < least["peak_bytes"]:
            least = found
        better = best is None or found["makespan_seconds"] < best[1]["makespan_seconds"]
        if found["peak_bytes"] > quota or not better:
            return False
        best = caps, found
        return True

    for caps in _shares(problem, most, names):
        tried(caps)
        if deadline.expired():
            break
    going = best is not None
    while going and best is not None:
        going = False
        for name in names:
            now = best[0].forks.get(name)
            if now is None or left <= 0 or deadline.expired():
                continue
            rest = {other: cap for other, cap in best[0].forks.items() if other != name}
            going |= tried(Caps(best[0].tasks, rest)) or tried(
                Caps(best[0].tasks, rest | {name: 2 * now})
            )
    return (None, least) if best is None else best


def _at_once(problem: WorkDirectoryProblem, plan: WorkDirectoryPlan) -> Counter[str]:
    """The most tasks of each process, and in all (the name ""), that run at once in *plan*."""
    process, times = processes(problem), replay(problem, plan).times
    events = sorted((at, step, k) for k, row in times.items() for at, step in zip(row, (1, -1)))
    now, most = Counter[str](), Counter[str]()
    for _, step, k in events:
        for name in (process[k], ""):
            now[name] += step
            most[name] = max(most[name], now[name])
    return most


def _shares(
    problem: WorkDirectoryProblem, most: Counter[str], names: Sequence[str]
) -> Iterator[Caps]:
    """All at once in all, in each process, and in the processes that wait for none."""
    first = {name for name, level in zip(processes(problem), problem.levels) if not level}
    for share in (1, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0):
        part = {name: max(1, ceil(share * most[name])) for name in names}
        yield Caps(max(1, ceil(share * most[""])), {})
        yield Caps(problem.cores, part)
        yield Caps(problem.cores, {name: part[name] for name in names if name in first})


def nextflow_config(problem: WorkDirectoryProblem, caps: Caps, met: Json) -> str:
    """The text of a nextflow.config with *caps*, whose simulated run *met* these metrics."""
    forks = [
        f"    withName: '{name}' {{ maxForks = {cap} }}" for name, cap in sorted(caps.forks.items())
    ]
    return "\n".join(
        [
            f"// {' '.join(problem.name.split())}: simulated, {met['makespan_seconds']:.6g} s with at",
            f"// most {met['peak_bytes']} bytes in work/. Files leave once no task needs them: nf-boost.",
            "plugins { id 'nf-boost' }",
            "boost { cleanup = true }",
            f"executor {{ cpus = {problem.cores}; queueSize = {caps.tasks} }}",
            "process {", *forks, "}", "",
        ]
    )  # fmt: skip


def no_worse(row: Json, other: Json, quota: int) -> None:
    """Put the run with the metrics *other* in *row* where it keeps *quota* and is quicker."""
    now, then = row["makespan_seconds"], other["makespan_seconds"]
    if other["peak_bytes"] <= quota and (now is None or then < now):
        row |= {key: other[key] for key in ("makespan_seconds", "peak_bytes") if key in row}
        row["status"] = "optimal" if then <= row["bound"] * (1 + 1e-9) else "feasible"


def setting(problem: WorkDirectoryProblem) -> Json | None:
    """Policy and samples in flight of the quickest safe run; None where no order keeps the quota."""
    question = Question.of(problem)
    if problem.quota_bytes is not None and question.walk is None:
        return None
    runs = Runs(question)
    rows = [(runs.makespan(runs.run(how, True, cap)), cap, how) for cap, how in runs.in_flight()]
    _, cap, policy = min(rows, key=lambda row: row[0])
    return {"policy": policy, "in_flight": cap}


def noisy(problem: WorkDirectoryProblem, told: Json, times: float, sizes: float) -> Json:
    """Runs of the safe dispatcher whose tasks take, and write, other than estimated (log-normal).

    The dispatcher sees estimates only. ``headroom`` is the largest peak of real bytes over the quota:
    the quota, divided by it, is what to plan with.
    """
    spans, peaks, real = [], [], []
    for seed in range(NOISY_RUNS):
        draw = random.Random(seed)
        actual = {t.id: t.compute_seconds * draw.lognormvariate(0, times) for t in problem.tasks}
        dispatcher = Dispatcher(
            problem, told["policy"], problem.quota_bytes, True, told["in_flight"]
        )
        plan = dispatch(problem, dispatcher, actual)
        found = replay(problem, plan, actual)
        spans.append(found.metrics["makespan_seconds"])
        peaks.append(found.metrics["peak_bytes"])
        files = tuple(
            file.model_copy(update={"bytes": ceil(file.bytes * draw.lognormvariate(0, sizes))})
            for file in problem.files
        )
        other = WorkDirectoryProblem(cores=problem.cores, tasks=problem.tasks, files=files)
        real.append(replay(other, plan, actual).metrics["peak_bytes"])
    spans.sort()
    return {
        "runs": NOISY_RUNS, "median_seconds": spans[NOISY_RUNS // 2], "worst_seconds": spans[-1],
        "peak_bytes": max(peaks), "real_peak_bytes": max(real),
        "headroom": max(real) / problem.quota_bytes if problem.quota_bytes else None,
    }  # fmt: skip


def least_quota(problem: WorkDirectoryProblem) -> Json:
    """The least quota that an order is known to end with, and what none is below."""
    question = Question.of(problem)
    found = sequential_peak(problem, least_order(problem))
    return {"found_bytes": found, "bound_bytes": question.least.bound, "task": question.least.task}


def request(seconds: float | None, seed: int) -> SolveRequest:
    """What the frontier asks of its search."""
    from ioopt.solvers.work_directory.search import Settings

    options = SolveOptions(time_limit_seconds=seconds, seed=seed)
    return SolveRequest(options, Deadline(seconds), Settings())
