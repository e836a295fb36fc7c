"""Burst buffers in the queue: a real log with drawn buffer requests, and exact starts of small queues.

The log is that of Kopanski and Rzadca's figures; their requests come from another log, ours are drawn.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from statistics import fmean
from typing import Any

from bench.frame import cpu, shared_data, timed

import ioopt
from ioopt.formats.swf.io import batch_io_from_swf
from ioopt.formats.swf.log import read_swf
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.batch_io.least_wait import least_wait
from ioopt.solvers.batch_io.run import run_trace

Row = list[Any]
QUEUES: dict[str, dict[str, Any]] = {
    "FCFS-EASY": {"queue": "fcfs", "backfill": "easy"},
    "SJF-EASY": {"queue": "fcfs", "backfill": "easy", "backfill_order": "sjf"},
    "plan": {"queue": "plan", "plan_power": 1},
    "plan, squares": {"queue": "plan", "plan_power": 2},
}
SMALL_QUEUES: dict[str, dict[str, Any]] = {
    **QUEUES,
    "FCFS, no backfill": {"queue": "fcfs", "backfill": "none"},
    "conservative": {"queue": "fcfs", "backfill": "conservative"},
}
GIB = 2.0**30
MEAN_BYTES, SPREAD = 4 * GIB, 1.0
"""Buffer of a node: log-normal, this mean, and this deviation of the logarithm."""


def with_buffers(problem: BatchIoProblem, seed: int) -> dict[str, Any]:
    """*problem* with a shared buffer of what all nodes ask on average, and a request of each job.

    B = nodes x log-normal, at most the whole; the job writes half of it in each phase, and stages half
    of it in and out.
    """
    rng = random.Random(seed)
    instance = problem.model_dump(mode="json", by_alias=True, exclude_none=True)
    nodes = problem.machine.nodes
    room = nodes * MEAN_BYTES
    instance["machine"]["burst_buffer"] = {
        "bytes": room, "bytes_per_second": nodes * GIB, "drain_bytes_per_second": nodes * GIB / 10,
        "placement": "shared",
    }  # fmt: skip
    shift = -(SPREAD**2) / 2
    for job in instance["jobs"]:
        share = job["nodes"] * MEAN_BYTES * rng.lognormvariate(shift, SPREAD)
        own = job["buffer_bytes"] = min(share, room)
        job["stage_in_bytes"] = job["stage_out_bytes"] = own / 2
        job["phases"] = [{**phase, "io_bytes": own / 2} for phase in job["phases"]]
    return instance


def queue_rows(quick: bool) -> Iterator[Row]:
    """KTH jobs with drawn buffer requests: mean wait and bounded slowdown (10 s) by queue."""
    source = shared_data("swf") / "KTH-SP2-1996-2.1-cln.first20000.swf"
    if not source.exists():
        yield ["KTH-SP2", "trace not here (IOOPT_SHARED)", "", "", ""]
        return
    log = batch_io_from_swf(read_swf(source), max_jobs=1_000 if quick else 20_000)
    instance = with_buffers(log, seed=0)
    for name, options in QUEUES.items():
        trace = Trace.of(ioopt.load({**instance, "options": options}))
        simulate = partial(run_trace, trace, io_policy("cons-fcfs"), engine="compiled")
        seconds, run = timed(simulate, cpu)
        waits = [begun - submit for begun, submit in zip(run.start, trace.submit)]
        ends = zip(run.start, run.end, trace.submit)
        slow = [max(1.0, (end - submit) / max(10.0, end - begun)) for begun, end, submit in ends]
        yield [f"KTH-SP2, {len(trace)} jobs", name, f"{seconds:.1f} s",
               f"wait {fmean(waits):.0f} s, bounded slowdown {fmean(slow):.2f}", "<= 30 s"]  # fmt: skip


def small_queue(seed: int, jobs: int = 9) -> dict[str, Any]:
    """A queue of jobs that run for their walltimes, on 16 nodes with a buffer that is as scarce as they."""
    rng = random.Random(seed)
    return {
        "format": "ioopt/batch-io", "version": 1, "name": f"queue-{seed}",
        "machine": {
            "nodes": 16, "unit_nodes": 1, "allocation": "flat", "node_bytes_per_second": 1,
            "storage_bytes_per_second": 16,
            "burst_buffer": {"bytes": 16, "bytes_per_second": 16, "drain_bytes_per_second": 16,
                             "placement": "shared"},
        },
        "jobs": [
            {"id": k, "submit_seconds": rng.randint(0, 60), "nodes": rng.randint(1, 12),
             "walltime_seconds": seconds, "buffer_bytes": rng.randint(0, 12),
             "phases": [{"compute_seconds": seconds, "io_bytes": 0}]}
            for k in range(jobs) for seconds in [rng.randint(1, 60)]
        ],
    }  # fmt: skip


def exact_rows(quick: bool) -> Iterator[Row]:
    """Total wait of 50 random queues over the least there is, all jobs known before (CP-SAT)."""
    ratios: dict[str, list[float]] = {name: [] for name in SMALL_QUEUES}
    begun, proven = cpu(), 0
    for seed in range(5 if quick else 50):
        instance = small_queue(seed)
        least = least_wait(ioopt.load(instance), BackendLimits(seconds=20))
        proven += least.wait == least.bound
        for name, options in SMALL_QUEUES.items():
            trace = Trace.of(ioopt.load({**instance, "options": options}))
            run = run_trace(trace, io_policy("cons-fcfs"), engine="python")
            wait = sum(run.start) - sum(trace.submit)
            ratios[name].append(wait / least.wait)
    seconds = cpu() - begun
    for name, found in ratios.items():
        figures = f"{fmean(found):.3f} in the mean, {max(found):.2f} at most"
        yield [
            f"{len(found)} queues, {proven} proven",
            name,
            f"{seconds:.0f} s in all",
            figures,
            "",
        ]
