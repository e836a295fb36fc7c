"""Batch I/O in one run: decisions in microseconds, whole traces in seconds, memory of each.

Times are processor seconds, those of child processes included, so that what else runs on the
machine counts little. The trace of a real machine needs the shared data (``IOOPT_SHARED``).
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.frame import ROOT, apart, cpu, peak_bytes, per_call, shared_data, show, timed

import ioopt
from ioopt.decisions.batch_io import Limits, Request, View
from ioopt.embed import IoArbiter
from ioopt.generate.batch_io.generate import generate
from ioopt.problems.batch_io import BatchIoProblem, Machine, Phase
from ioopt.registry import solvers_for
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io.adaptive import adaptive, adaptive_naive
from ioopt.solvers.batch_io.knapsack_engines import subset_by
from ioopt.solvers.batch_io.max_util import best_subset
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
    """Cons-MaxUtil at K = 20 as a bitset dynamic program and as everybody else's knapsack.

    By the wall clock: PuLP starts a process and waits for it.
    """
    rng = random.Random(1)
    states = [[rng.choice(SIZES) for _ in range(20)] for _ in range(2 if quick else 8)]
    capacity = 15
    wall = time.perf_counter
    ours = sum(per_call(partial(best_subset, w, capacity), 0.5, wall) for w in states)
    ours /= len(states)
    yield ["MaxUtil, K = 20", "bitset dynamic program", f"{ours:.1f} us", "", ""]
    for name, goal in (("or-tools", 3), ("cp-sat", 200), ("pulp", 2000)):
        solve = subset_by(name)
        theirs = 0.0
        for weights in states:
            best = sum(weights[k] for k in best_subset(weights, capacity))
            assert sum(weights[k] for k in solve(weights, capacity)) == best
            theirs += per_call(partial(solve, weights, capacity), 0.5, wall)
        theirs /= len(states)
        times = f"{theirs / ours:.0f}x"
        yield ["", f"{name}, the same optimum", f"{theirs:.1f} us", times, f">= {goal}x"]


def policy_rows(quick: bool) -> Iterator[Row]:
    """ADAPTIVE in pure Python, and what the arbiter adds to a policy."""
    count = 3 if quick else 20
    for size, goal in ((20, 60), (50, 300)):
        views = [state(size, seed) for seed in range(count)]
        quickly = sum(per_call(lambda v=v: adaptive(v), 0.1) for v in views) / count
        naively = sum(per_call(lambda v=v: adaptive_naive(v), 0.1) for v in views) / count
        yield [f"ADAPTIVE, K = {size}", "incremental", f"{quickly:.0f} us", "", f"<= {goal} us"]
        yield ["", "naive", f"{naively:.0f} us", f"{naively / quickly:.0f}x", ""]
    for name in ("fill", "adaptive"):
        view = state(20, 7)
        arbiter = IoArbiter(MIRA, name)
        for request in view.requests:
            arbiter.request(request.id, request.nodes, request.left, request.requested)
        decide = arbiter._policy.decide
        bare = per_call(lambda: decide(View(view.limits, 1000.0, view.requests)))  # noqa: B023
        whole = per_call(lambda: arbiter.decide(1000.0))  # noqa: B023
        yield [f"IoArbiter({name}), K = 20", "more than the bare policy",
                     f"{whole - bare:.1f} us", "", "<= 10 us"]  # fmt: skip


class Timed(NamedTuple):
    """One simulation: processor seconds, instants, I/O decisions, peak bytes of the process."""

    seconds: float
    events: int
    decisions: int
    peak: int

    @property
    def per_instant(self) -> str:
        """Microseconds an instant."""
        return f"{self.seconds / self.events * 1e6:.2f} us an instant"


def warm_up(policy: str, name: str) -> None:
    """A simulation of a small trace, which loads the compiled code."""
    small = generate("mira-month", {"jobs": 20, "days": 1}, 1)
    run_trace(Trace.of(small), io_policy(policy), engine=name)  # type: ignore[arg-type]


def simulate(problem: BatchIoProblem, policy: str, name: str, repeats: int = 1) -> Timed:
    """The mean of *repeats* simulations on a warm engine, from the loaded problem to all times.

    The phases are expanded and the arrays built each time; nothing is checked or written.
    """
    chosen = io_policy(policy)
    warm_up(policy, name)

    def repeated() -> Any:
        for _ in range(repeats):
            run = run_trace(Trace.of(problem), chosen, engine=name)  # type: ignore[arg-type]
        return run

    seconds, run = timed(repeated, cpu)
    return Timed(seconds / repeats, run.events, run.decisions, peak_bytes())


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


def long_runs(jobs: int, policies: tuple[str, ...], name: str) -> list[Timed]:
    """:func:`simulate` of a :func:`long_trace` of 100 phases a job, under each policy."""
    problem = long_trace(jobs, 100)
    return [simulate(problem, policy, name) for policy in policies]


def long_rows(quick: bool) -> Iterator[Row]:
    """Traces of growing length: seconds, and microseconds an instant.

    The policies beside LONG_POLICIES share a process (its memory is not theirs) and are run in pure
    Python on a third of the jobs, since the cost goes by instants.
    """
    known = (row.name for row in solvers_for("batch-io"))
    others = tuple(name for name in known if name not in LONG_POLICIES)
    runs = [
        (name, jobs, (policy,))
        for name, (_, lengths) in LONG.items()
        for policy in LONG_POLICIES
        for jobs in lengths
    ]
    for name, jobs, policies in [*runs, ("compiled", 30_000, others), ("python", 10_000, others)]:
        jobs //= 15 if quick else 1
        for policy, found in zip(policies, apart(long_runs, jobs, policies, name)):
            memory = f", {found.peak / 1e6:.0f} MB" if len(policies) == 1 else ""
            yield [
                f"{jobs} jobs x 100 phases", f"{name}, {policy}", f"{found.seconds:.2f} s",
                f"{found.per_instant}, {found.decisions} decisions{memory}",
                f"<= {LONG[name][0]} s" if jobs == 30_000 else "",
            ]  # fmt: skip


def trace_rows(quick: bool) -> Iterator[Row]:
    """KTH jobs with I/O added, through the front door: simulated, checked, schedule written."""
    for jobs, goal in ((1000, 1), (20_000, 10)) if not quick else ((1000, 1),):
        problem = kth(jobs)
        if problem is None:
            yield MISSING
            return
        for policy in ("base-line", "adaptive", "fill"):
            warm_up(policy, "compiled")
            solve = partial(ioopt.solve, problem, policy, settings={"engine": "compiled"})
            seconds, result = timed(solve, cpu)
            yield [f"KTH-SP2, {jobs} jobs", f"compiled, {policy}, checked", f"{seconds:.2f} s",
                   f"{len(result.violations)} violations", f"<= {goal} s"]  # fmt: skip


def kth(jobs: int) -> BatchIoProblem | None:
    """The first jobs of KTH-SP2 with I/O added by the importer; None where the log is not here."""
    source = shared_data("swf") / "KTH-SP2-1996-2.1-cln.first20000.swf"
    if not source.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"kth-{jobs}.json"
        command = [sys.executable, "-m", "ioopt", "import", "swf", str(source), "-q"]
        command += ["--jobs", str(jobs), "-o", str(target)]
        subprocess.run(command, check=True, cwd=ROOT)
        problem: BatchIoProblem = ioopt.load(target)
    return problem


def main(quick: bool) -> None:
    """Print all figures of one run."""
    for part in (knapsack_rows, policy_rows, trace_rows, long_rows):
        title = (part.__doc__ or "").splitlines()[0]
        show(title, ("what", "how", "time", "figures", "goal"), part(quick))
