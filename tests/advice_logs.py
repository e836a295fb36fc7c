"""Logs whose true values are known, because a simulated machine with queue and I/O
wrote them.
"""

from dataclasses import replace

import numpy as np
from batch_io_traces import FLAT

from ioopt.advice.knobs import SHARING, Option
from ioopt.advice.replays import replay
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io.run import run_trace

NODES = 64
NODE_RATE = 1e9
DAY = 86400.0
JOBS_A_DAY = 40
QUEUE = {"kill": False, "queue": "fcfs", "backfill": "easy"}


def truth(storage: float, fraction: float, seed: int, days: int) -> BatchIoProblem:
    """Return a machine of 64 nodes whose jobs spend about *fraction* of their run time
    in I/O.

    The jobs need two thirds of the machine's node-seconds. Their lengths are similar:
    if few jobs are much longer than the others, taking turns makes many jobs wait for
    one.
    """
    rng = np.random.default_rng(seed)
    count = JOBS_A_DAY * days
    submit = np.sort(rng.uniform(0, days * DAY, count))
    nodes = 2 ** rng.integers(0, 6, count)
    length = rng.lognormal(np.log(5400), 0.2, count)
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


class Machine:
    """The machine that wrote a log, and what an option would have saved on it."""

    def __init__(self, problem: BatchIoProblem) -> None:
        self.problem = problem
        self.trace = Trace.of(problem)
        self.logged = run_trace(self.trace, io_policy(SHARING.solver))

    @property
    def io_fraction(self) -> float:
        """Return the mean over the jobs of the share of their run time that was spent
        in I/O.
        """
        jobs = [self.problem.jobs[place] for place in self.trace.position]
        compute = [job.phases[0].compute_seconds * job.phases[0].repeat for job in jobs]
        ran = np.array(self.logged.end) - np.array(self.logged.start)
        return float(np.mean(1 - np.array(compute) / ran))

    def saves(self, option: Option) -> float:
        """Return the share of run time that *option* saves, if jobs start as in the
        log.
        """
        starts = [float(start) for start in self.logged.start]
        found = replay(replace(self.trace, submit=starts), option)
        ran = sum(self.logged.end) - sum(self.logged.start)
        return 1 - (sum(found.end) - sum(found.start)) / ran

    def swf(self) -> str:
        """Return the log in the Standard Workload Format."""
        lines = [f"; MaxProcs: {NODES}", "; UnixStartTime: 1700000000"]
        trace = self.trace
        for j, job in enumerate(trace.ids):
            submit = trace.submit[j]
            start = self.logged.start[j]
            run = self.logged.end[j] - start
            lines.append(
                f"{job} {submit:.0f} {start - submit:.0f} {run:.0f} {trace.nodes[j]} "
                f"-1 -1 {trace.nodes[j]} {max(trace.walltime[j], run):.0f} -1 1 "
                f"{job % 17} 1 1 1 1 -1 -1"
            )
        return "\n".join(lines) + "\n"
