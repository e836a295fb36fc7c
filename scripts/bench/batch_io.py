"""Batch I/O in one run: decisions in microseconds, whole traces in seconds, memory of each.

Times are processor seconds, those of child processes included, so that what else runs on the
machine counts little. The trace of a real machine needs the shared data (``IOOPT_SHARED``).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

from bench.burst_buffer import exact_rows, queue_rows
from bench.frame import cpu, peak_bytes, per_call, shared_data, show, timed

import ioopt
from ioopt.decisions.batch_io import Limits, Request, View
from ioopt.formats.swf.io import batch_io_from_swf
from ioopt.formats.swf.log import read_swf
from ioopt.generate.batch_io.generate import generate
from ioopt.problems.batch_io import BatchIoProblem, Machine, Phase
from ioopt.registry import solvers_for
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io.adaptive import adaptive, adaptive_naive
from ioopt.solvers.batch_io.max_util import best_subset
from ioopt.solvers.batch_io.max_util_program import subset_by_program
from ioopt.solvers.batch_io.run import run_trace

MIRA = {
    "nodes": 49152, "unit_nodes": 512, "allocation": "partition",
    "node_bytes_per_second": 31.25e6, "storage_bytes_per_second": 250e9,
}  # fmt: skip
SIZES = (1, 1, 1, 2, 2, 4, 8)
LONG_POLICIES = ("base-line", "cons-fcfs", "adaptive", "set-10")
LONG = {"compiled": (10, (7_500, 15_000, 30_000)), "python": (90, (7_500, 30_000))}
Row = list[Any]
MISSING: Row = ["KTH-SP2", "trace not here (IOOPT_SHARED)", "", "", ""]


def state(count: int, seed: int) -> View:
    """*count* requests on Mira, far more than the storage takes."""
    rng = random.Random(seed)
    limits = Limits.of(Machine.model_validate(MIRA))
    requests = [
        Request(k, 512 * rng.choice(SIZES), limits, rng.uniform(0, 500), rng.uniform(1e11, 1e13))
        for k in range(count)
    ]
    return View(limits, 1000.0, sorted(requests, key=lambda request: request.key))


def knapsack_rows(quick: bool) -> Iterator[Row]:
    """Cons-MaxUtil at K = 20 as a bitset dynamic program and as an integer program."""
    rng = random.Random(1)
    states = [[rng.choice(SIZES) for _ in range(20)] for _ in range(2 if quick else 8)]
    capacity = 15
    ours = sum(per_call(partial(best_subset, w, capacity), 0.5) for w in states) / len(states)
    yield ["MaxUtil, K = 20", "bitset dynamic program", f"{ours:.1f} us", "", ""]
    theirs = 0.0
    for weights in states:
        best = sum(weights[k] for k in best_subset(weights, capacity))
        assert sum(weights[k] for k in subset_by_program(weights, capacity)) == best
        theirs += per_call(partial(subset_by_program, weights, capacity), 0.5) / len(states)
    times = f"{theirs / ours:.0f}x"
    yield ["", "cp-sat, the same optimum", f"{theirs:.1f} us", times, ">= 200x"]


def policy_rows(quick: bool) -> Iterator[Row]:
    """ADAPTIVE in pure Python."""
    count = 3 if quick else 20
    for size, goal in ((20, 60), (50, 300)):
        views = [state(size, seed) for seed in range(count)]
        quickly = sum(per_call(lambda v=v: adaptive(v), 0.1) for v in views) / count
        naively = sum(per_call(lambda v=v: adaptive_naive(v), 0.1) for v in views) / count
        yield [f"ADAPTIVE, K = {size}", "incremental", f"{quickly:.0f} us", "", f"<= {goal} us"]
        yield ["", "naive", f"{naively:.0f} us", f"{naively / quickly:.0f}x", ""]


def warm_up(policy: str) -> None:
    """A simulation of a small trace, which loads the compiled code."""
    small = generate("mira-month", {"jobs": 20, "days": 1}, 1)
    run_trace(Trace.of(small), io_policy(policy), engine="compiled")


def long_trace(jobs: int, phases: int) -> BatchIoProblem:
    """Mira-like jobs, *phases* equal phases each, at a load that keeps the queue short."""
    problem = generate("mira-month", {"jobs": jobs, "days": jobs / 100, "load": 0.7}, 1)
    changed = []
    for job in problem.jobs:
        compute = sum(p.compute_seconds * p.repeat for p in job.phases) / phases
        volume = sum(p.io_bytes * p.repeat for p in job.phases) / phases
        phase = Phase(compute_seconds=compute, io_bytes=volume, repeat=phases)
        changed.append(job.model_copy(update={"phases": (phase,)}))
    return problem.model_copy(update={"jobs": tuple(changed)})


def long_rows(quick: bool) -> Iterator[Row]:
    """Traces of growing length, 100 phases a job: seconds, and microseconds an instant.

    From the loaded problem to all times; all policies on the shortest trace, since the cost goes by
    instants, LONG_POLICIES on the others.
    """
    everybody = [row.name for row in solvers_for("io-requests")]
    for engine_name, (goal, lengths) in LONG.items():
        for jobs in lengths:
            problem = long_trace(jobs // (15 if quick else 1), 100)
            for policy in everybody if jobs == lengths[0] else LONG_POLICIES:
                warm_up(policy)
                simulate = partial(_simulated, problem, policy, engine_name)
                seconds, run = timed(simulate, cpu)
                yield [
                    f"{len(problem.jobs)} jobs", f"{engine_name}, {policy}", f"{seconds:.2f} s",
                    f"{1e6 * seconds / run.events:.2f} us an instant, {run.decisions} decisions",
                    f"<= {goal} s" if jobs == lengths[-1] else "",
                ]  # fmt: skip
    yield ["this process", "", "", f"{peak_bytes() / 1e6:.0f} MB at most", ""]


def _simulated(problem: BatchIoProblem, policy: str, engine_name: Any) -> Any:
    return run_trace(Trace.of(problem), io_policy(policy), engine=engine_name)


def trace_rows(quick: bool) -> Iterator[Row]:
    """KTH jobs with I/O added, through the front door: simulated, checked, schedule written."""
    source = shared_data("swf") / "KTH-SP2-1996-2.1-cln.first20000.swf"
    if not source.exists():
        yield MISSING
        return
    log = read_swf(source)
    for jobs, goal in ((1000, 1),) if quick else ((1000, 1), (20_000, 10)):
        problem = batch_io_from_swf(log, max_jobs=jobs)
        for policy in ("base-line", "adaptive", "fill"):
            warm_up(policy)
            solve = partial(ioopt.solve, problem, policy, settings={"engine": "compiled"})
            seconds, result = timed(solve, cpu)
            yield [f"KTH-SP2, {jobs} jobs", f"compiled, {policy}, checked", f"{seconds:.2f} s",
                   f"{len(result.violations)} violations", f"<= {goal} s"]  # fmt: skip


def main(quick: bool) -> None:
    """Print all figures of one run."""
    for part in (knapsack_rows, policy_rows, trace_rows, long_rows, queue_rows, exact_rows):
        title = (part.__doc__ or "").splitlines()[0]
        show(title, ("what", "how", "time", "figures", "goal"), part(quick))
