"""Logs whose truth is known by construction: a machine, its queue and its I/O are
simulated, and logged.
"""

from collections.abc import Callable

import numpy as np
from batch_io_traces import FLAT

from ioopt.advice.runs import BASELINE
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io.run import run_trace

NODES, NODE_RATE, DAY = 64, 1e9, 86400.0
QUEUE = {"kill": False, "queue": "fcfs", "backfill": "easy"}


def truth(storage: float, fraction: float, seed: int, days: int = 56) -> BatchIoProblem:
    """A machine of 64 nodes, two thirds asked for; jobs spend about *fraction*
    of their run in I/O.
    """
    rng = np.random.default_rng(seed)
    count = 40 * days
    submit = np.sort(rng.uniform(0, days * DAY, count))
    nodes = 2 ** rng.integers(0, 6, count)
    length = rng.lognormal(np.log(5400), 0.9, count)
    length *= 0.66 * NODES * days * DAY / float(nodes @ length)
    share = rng.uniform(0, 2 * fraction, count)
    jobs = []
    for k in range(count):
        phases = max(1, round(length[k] / 3600))
        peak = min(nodes[k] * NODE_RATE, storage)
        phase = {
            "compute_seconds": length[k] * (1 - share[k]) / phases,
            "io_bytes": round(length[k] * share[k] * peak / phases),
            "repeat": phases,
        }
        jobs.append(
            {
                "id": k + 1,
                "submit_seconds": float(submit[k] - submit[0]),
                "nodes": int(nodes[k]),
                "walltime_seconds": float(length[k] * rng.uniform(1.5, 4)),
                "phases": [phase],
            }
        )
    rates = {"node_bytes_per_second": NODE_RATE, "storage_bytes_per_second": storage}
    given = {
        "machine": {**FLAT, "nodes": NODES, **rates},
        "options": QUEUE,
        "jobs": jobs,
    }
    return BatchIoProblem.model_validate({"name": "truth", **given})


def mean_response(problem: BatchIoProblem, solver: str) -> float:
    """Of the true machine under a policy."""
    trace = Trace.of(problem)
    run = run_trace(trace, io_policy(solver), trials=20)
    return float(np.mean(np.array(run.end) - np.array(trace.submit)))


def io_share(problem: BatchIoProblem) -> float:
    """The share of run time in I/O that is measured on this machine: the mean over
    jobs, under sharing.
    """
    trace = Trace.of(problem)
    run = run_trace(trace, io_policy(BASELINE), trials=20)
    jobs = [problem.jobs[k] for k in trace.position]
    compute = [job.phases[0].compute_seconds * job.phases[0].repeat for job in jobs]
    return float(
        np.mean(1 - np.array(compute) / (np.array(run.end) - np.array(run.start)))
    )


def swf(
    problem: BatchIoProblem, delay: Callable[[float], float] = lambda wait: wait
) -> str:
    """The log that this machine keeps of its jobs under sharing, *delay* being
    what becomes of waits.
    """
    trace = Trace.of(problem)
    run = run_trace(trace, io_policy(BASELINE), trials=20)
    lines = [f"; MaxProcs: {NODES}", "; UnixStartTime: 1700000000"]
    for j, job in enumerate(trace.ids):
        submit, start, end = trace.submit[j], run.start[j], run.end[j]
        wait = delay(start - submit)
        lines.append(
            f"{job} {submit:.0f} {wait:.0f} {end - start:.0f} {trace.nodes[j]} -1 -1 "
            f"{trace.nodes[j]} {max(trace.walltime[j], end - start):.0f} -1 1 "
            f"{job % 17} 1 1 1 1 -1 -1"
        )
    return "\n".join(lines) + "\n"
