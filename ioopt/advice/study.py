"""Which I/O policy would help whom on the jobs of a log, and how much that depends on assumptions.

The log becomes an instance as by ``ioopt import swf`` and is replayed under sharing and under each
policy. Policies are compared by ratios of sums over jobs (mean response, mean I/O delay), with
intervals from a block bootstrap: the weeks of submission are drawn with replacement, the same weeks
for both policies, and the draws of invented I/O with them (Efron and Tibshirani, *An Introduction to
the Bootstrap*, 1993). The same is done where the I/O fraction and the storage's rate are others.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ioopt.comparing import parse_solver
from ioopt.errors import InstanceError, IooptError, UsageError
from ioopt.formats.darshan.log import DarshanLog
from ioopt.formats.io_rule import IoRule, MachineRule
from ioopt.formats.swf.io import batch_io_from_swf, matched
from ioopt.formats.swf.log import SwfTrace
from ioopt.problems.base import Json
from ioopt.solving import solve

if TYPE_CHECKING:
    import numpy as np

    from ioopt.problems.batch_io import BatchIoProblem

BASELINE, IDEAL = "base-line", "no-congestion"
POLICIES = ("fill", "adaptive", "cons-max-util+top")
"""Those without a starving rule; what they leave of the storage is handed out."""
FACTORS = (0.5, 1.0, 2.0)
"""The sweep's I/O fractions and storage rates, as multiples of what was assumed."""
WEEK, DAY = 7 * 86400.0, 86400.0
FEWEST_BLOCKS = 4
RESPONSE, DELAY = "mean_response_seconds", "io_delay_seconds"
EVERYBODY, LARGE, HEAVY = "all jobs", "large jobs", "I/O-heavy jobs"
TOP_SHARE = 0.9
"""Large and I/O-heavy jobs: from this quantile of nodes, and of the share of I/O, on."""
WORTH = 0.01
"""Less of the mean response than this is not worth changing anything for."""


@dataclass(frozen=True)
class Question:
    """What is asked: the log, what is assumed of it, and how much is to be computed.

    ``draws`` is how many drawings of the invented I/O are run, ``resamples`` those of the weeks.
    """

    trace: SwfTrace
    darshan: tuple[DarshanLog, ...] = ()
    skipped: tuple[str, ...] = ()
    machine: MachineRule = MachineRule()
    options: Json = field(default_factory=dict)
    io: IoRule = IoRule()
    requested_size: bool = False
    max_jobs: int | None = None
    solvers: tuple[str, ...] = POLICIES
    draws: int = 1
    resamples: int = 1000

    def problem(self, io: IoRule, storage: float | None = None) -> BatchIoProblem:
        """The instance with this I/O and rate of the storage."""
        machine = self.machine
        if storage is not None:
            machine = machine.model_copy(update={"storage_bytes_per_second": storage})
        return batch_io_from_swf(
            self.trace, machine=machine, io=io, darshan=self.darshan, skipped=self.skipped,
            requested_size=self.requested_size,
            max_jobs=self.max_jobs, options=self.options,
        )  # fmt: skip


Task = tuple[IoRule, float | None, str]
"""One run: the I/O, the storage's rate where it is another, the policy."""
_asked: list[Question] = []


def _begin(question: Question) -> None:
    _asked[:] = [question]
    _problem.cache_clear()


@lru_cache(maxsize=1)
def _problem(io: IoRule, storage: float | None) -> BatchIoProblem:
    return _asked[0].problem(io, storage)


def _run(task: Task) -> tuple[list[float], list[float]]:
    """Response and run time of each job under one policy."""
    io, storage, solver = task
    problem = _problem(io, storage)
    name, settings = parse_solver(solver)
    result = solve(
        problem, name, settings={"rates": "no", **settings}, bound=False, time_limit=None
    )
    if result.schedule is None or result.violations:
        why = "; ".join(map(str, result.violations[:1] or result.notes))
        raise IooptError(f"{solver} has no answer for {problem.name}: {why}")
    ends = {
        row["id"]: (row["start_seconds"], row["end_seconds"]) for row in result.schedule["jobs"]
    }
    times = [(ends[job.id], job.submit_seconds) for job in problem.jobs]
    return [end - submit for (_, end), submit in times], [end - start for (start, end), _ in times]


@contextmanager
def _mapper(question: Question, threads: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """``map`` over tasks, in *threads* processes."""
    if threads == 1:
        _begin(question)
        yield map
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(threads, context, _begin, (question,)) as pool:
        yield pool.map


def advise(
    question: Question,
    *,
    threads: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Json:
    """The advice as plain data (``ioopt/advice``); *progress* gets runs done and runs in all.

    The same question has the same answer, whatever the *threads*. Raises UsageError for an unknown
    policy, InstanceError for a log without jobs that can be used.
    """
    problem = question.problem(question.io)
    if not any(phase.io_bytes for job in problem.jobs for phase in job.phases):
        raise InstanceError(f"{question.trace.name}: no job has I/O, so no I/O policy matters")
    solvers = tuple(dict.fromkeys(question.solvers))
    if BASELINE in solvers or not solvers:
        raise UsageError(f"name policies to compare with {BASELINE}, not {BASELINE} itself")
    study = _Study(question, problem)
    cells = list(_cells(question, problem))
    total = question.draws * (len(solvers) + 2) + 2 * (len(cells) - 1)
    level = 1 - 0.05 / len(solvers)
    with _mapper(question, threads) as each:
        names = (BASELINE, *solvers, IDEAL)
        study.run(each, [(rule, None, name) for rule in study.rules for name in names],
                  lambda done: progress(done, total))  # fmt: skip
        best = min(solvers, key=lambda name: study.ratio(name, EVERYBODY, RESPONSE)["ratio"] or 0.0)
        others = [(*cell, name) for cell in cells for name in (best, BASELINE)]
        study.run(each, others, lambda done: progress(done, total))
    jobs, (response, runtime) = study.jobs, study.found[question.io, None, BASELINE]
    return {
        "format": "ioopt/advice", "version": 1, "name": problem.name, "baseline": BASELINE,
        "load": {
            **jobs.load(question),
            "mean_wait_simulated_seconds": float((response - runtime).mean()),
        },
        "weeks": jobs.weekly(), "blocks": study.weeks.words,
        "groups": {name: int(member.sum()) for name, member in jobs.groups.items()},
        "policies": [
            {"solver": name, "group": group, "measure": measure,
             **study.ratio(name, group, measure)}
            for name in (*solvers, IDEAL)
            for measure in (RESPONSE, DELAY)
            for group in jobs.groups
        ],
        "best": best,
        "verdict": {**study.ratio(best, EVERYBODY, RESPONSE, level=level), "level": level},
        "sensitivity": [
            {"io_fraction": io.fraction,
             "storage_bytes_per_second": rate or problem.machine.storage_bytes_per_second,
             **study.ratio(best, EVERYBODY, RESPONSE, rules=[io], rate=rate)}
            for io, rate in cells
        ],
        "draws": question.draws, "seed": question.io.seed, "resamples": question.resamples,
        "warnings": [
            text.removeprefix(f"{question.trace.name}: ") for text in problem.warnings
        ],
    }  # fmt: skip


class _Study:
    """Runs that are done, and what they say."""

    def __init__(self, question: Question, problem: BatchIoProblem) -> None:
        self.rules = [
            replace(question.io, seed=question.io.seed + k) for k in range(question.draws)
        ]
        self.jobs = _Jobs(problem, question)
        self.weeks = _Weeks(self.jobs, question)
        self.found: dict[Task, tuple[np.ndarray, np.ndarray]] = {}

    def run(
        self, each: Callable[..., Iterable[Any]], tasks: Sequence[Task], tick: Callable[[int], None]
    ) -> None:
        """Run the *tasks* that are not done yet."""
        import numpy as np

        todo = [task for task in tasks if task not in self.found]
        for task, (response, runtime) in zip(todo, each(_run, todo)):
            self.found[task] = np.array(response), np.array(runtime)
            tick(len(self.found))

    def ratio(
        self, name: str, group: str, measure: str, *, level: float = 0.95,
        rules: Sequence[IoRule] | None = None, rate: float | None = None,
    ) -> dict[str, float | None]:  # fmt: skip
        """What a policy makes of a measure of a group, over what sharing makes of it."""
        pairs = [
            (self.found[rule, rate, name], self.found[rule, rate, BASELINE])
            for rule in rules or self.rules
        ]
        if measure == RESPONSE:
            values = [(top[0], bottom[0]) for top, bottom in pairs]
        else:
            alone = self.jobs.alone
            values = [(top[1] - alone, bottom[1] - alone) for top, bottom in pairs]
        return self.weeks.ratio(values, self.jobs.groups[group], level)


def _cells(question: Question, problem: BatchIoProblem) -> Iterator[tuple[IoRule, float | None]]:
    """The I/O rules and rates of the storage of the sweep; None is the rate assumed."""
    rate = problem.machine.storage_bytes_per_second
    for fraction in dict.fromkeys(min(1.0, question.io.fraction * by) for by in FACTORS):
        for by in FACTORS:
            yield replace(question.io, fraction=fraction), None if by == 1.0 else rate * by


class _Jobs:
    """The jobs of the instance as arrays: what the groups and the load are made of."""

    def __init__(self, problem: BatchIoProblem, question: Question) -> None:
        import numpy as np

        machine = problem.machine
        self.machine = machine
        rows = []
        for job in problem.jobs:
            nodes = machine.allocated_nodes(job.nodes)
            compute = sum(phase.compute_seconds * phase.repeat for phase in job.phases)
            volume = sum(phase.io_bytes * phase.repeat for phase in job.phases)
            peak = machine.peak(nodes, job.io_bytes_per_second)
            ideal = compute + volume / peak
            alone = min(ideal, job.walltime_seconds) if problem.options.kill else ideal
            rows.append((job.submit_seconds, nodes, volume, volume / peak, ideal, alone))
        columns = np.array(rows, float).T
        self.submit, self.nodes, self.volume, self.io, self.ideal, self.alone = columns
        trace = question.trace
        own, _ = matched(question.darshan, trace.usable_jobs()[0], trace.epoch)
        logged = {log.job_id for log in own}
        self.measured = np.array([job.id in logged for job in problem.jobs])
        share = np.divide(self.io, self.ideal, out=np.zeros_like(self.io), where=self.ideal > 0)
        self.groups = {
            EVERYBODY: np.ones(len(rows), bool),
            LARGE: self.nodes >= np.quantile(self.nodes, TOP_SHARE),
            HEAVY: share >= np.quantile(share, TOP_SHARE),
        }
        self.share = share
        self.span = max(float(self.submit.max() - self.submit.min()), 1.0)

    def load(self, question: Question) -> Json:
        """What the log and the assumptions say of the machine and of what it was asked for."""
        import numpy as np

        machine, kept = self.machine, question.trace.jobs
        waits = [job.wait_seconds for job in kept if job.wait_seconds is not None]
        return {
            "jobs": len(self.submit), "jobs_in_log": len(kept), "span_seconds": self.span,
            "nodes": machine.nodes, "node_bytes_per_second": machine.node_bytes_per_second,
            "storage_bytes_per_second": machine.storage_bytes_per_second,
            "node_utilisation": float(self.nodes @ self.ideal) / (machine.nodes * self.span),
            "storage_utilisation": float(self.volume.sum())
            / (machine.storage_bytes_per_second * self.span),
            "median_job_nodes": float(np.median(self.nodes)),
            "large_job_nodes": float(np.quantile(self.nodes, TOP_SHARE)),
            "median_run_seconds": float(np.median(self.ideal)),
            "mean_io_share": float(self.share.mean()), "total_bytes": float(self.volume.sum()),
            "mean_wait_in_log_seconds": sum(waits) / len(waits) if waits else None,
            "darshan_logs": int(self.measured.sum()),
        }  # fmt: skip

    def weekly(self) -> dict[str, list[float]]:
        """What the jobs submitted in each week ask of nodes and storage."""
        import numpy as np

        week = (self.submit // WEEK).astype(int)
        nodes = np.bincount(week, self.nodes * self.ideal) / (self.machine.nodes * WEEK)
        storage = np.bincount(week, self.volume) / (self.machine.storage_bytes_per_second * WEEK)
        return {"nodes": nodes.tolist(), "storage": storage.tolist()}


class _Weeks:
    """Drawings of weeks of submission (days of a short log), and of the draws of invented I/O."""

    def __init__(self, jobs: _Jobs, question: Question) -> None:
        import numpy as np

        length, self.words = (WEEK, "weeks") if jobs.span >= FEWEST_BLOCKS * WEEK else (DAY, "days")
        _, self.block = np.unique((jobs.submit // length).astype(int), return_inverse=True)
        self.count = int(self.block.max()) + 1
        rng = np.random.default_rng(question.io.seed)
        even = np.full(self.count, 1 / self.count)
        self.times = rng.multinomial(self.count, even, question.resamples)
        draws = question.draws
        self.draws = rng.multinomial(draws, np.full(draws, 1 / draws), question.resamples)
        if self.count < FEWEST_BLOCKS:
            self.words = "none: the log is too short for intervals"

    def ratio(
        self, pairs: Sequence[tuple[np.ndarray, np.ndarray]], member: np.ndarray, level: float
    ) -> dict[str, float | None]:
        """Sum over sum of the members' values, and the interval of *level* (None: too few blocks)."""
        import numpy as np

        sums = np.array(
            [
                [np.bincount(self.block, side * member, self.count) for side in pair]
                for pair in pairs
            ]
        )
        top, bottom = sums.sum(axis=(0, 2))
        if bottom <= 0:
            return {"ratio": 1.0, "low": None, "high": None}
        found: dict[str, float | None] = {"ratio": float(top / bottom), "low": None, "high": None}
        if self.count >= FEWEST_BLOCKS:
            draws = self.draws[:, : len(pairs)] if len(pairs) > 1 else np.ones((len(self.times), 1))
            drawn = np.einsum("rw,rd,dsw->sr", self.times, draws, sums)
            ratios = drawn[0] / np.where(drawn[1] > 0, drawn[1], np.nan)
            ends = np.nanquantile(ratios, ((1 - level) / 2, (1 + level) / 2))
            found |= {"low": float(ends[0]), "high": float(ends[1])}
        return found
