"""Sets of periodic applications: read, as instances, and what they reach,
measured and published.

A set has one application a line: seconds of computation and GB of I/O in each period,
processors. Source: Aupy, Gainaru, Le Fevre, "Periodic I/O scheduling for
super-computers" (PMBS 2017). Their machine is 640 cores with B = 3 GB/s and b = 0.01
GB/s, every value divided by 64; here nothing is divided, so a set runs on 40,960
processors with 192 GB/s.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ioopt.problems.batch_io import BatchIoProblem

PROCESSORS = 40_960
PROCESSOR_BYTES_PER_SECOND = 1e7
STORAGE_BYTES_PER_SECOND = 192e9
DEFAULT_PERIODS = 20


@dataclass(frozen=True, slots=True)
class Application:
    """A periodic application: each period computes *work_seconds*,
    then moves *io_bytes*.
    """

    work_seconds: float
    io_bytes: float
    processors: int

    @property
    def ideal_seconds(self) -> float:
        """Length of a period without congestion."""
        peak = min(
            self.processors * PROCESSOR_BYTES_PER_SECOND, STORAGE_BYTES_PER_SECOND
        )
        return self.work_seconds + self.io_bytes / peak


@dataclass(frozen=True, slots=True)
class SteadyState:
    """Measures over a horizon: system efficiency and the largest
    dilation of an application.

    System efficiency is the share of all processors' time spent computing, dilation an
    application's ideal pace of work over the pace it had (Aupy et al., Section 2.2).
    """

    efficiency: float
    dilation: float


def steady_state(
    problem: BatchIoProblem, schedule: Mapping[str, Any], horizon_seconds: float
) -> SteadyState:
    """Efficiency and dilation of a batch-io *schedule* of
    :func:`batch_io_from_set` on [0, horizon].

    Computation is what lies between the end of one I/O (or the start)
    and the next request.
    """
    jobs = {job.id: job for job in problem.jobs}
    used, dilation = 0.0, 1.0
    for row in schedule["jobs"]:
        job = jobs[row["id"]]
        work, before = 0.0, row["start_seconds"]
        for io in row["io"]:
            work += max(0.0, min(io["request_seconds"], horizon_seconds) - before)
            before = math.inf if io["finish_seconds"] is None else io["finish_seconds"]
        used += work * job.nodes
        phase = job.phases[0]
        if phase.compute_seconds > 0:
            app = Application(phase.compute_seconds, phase.io_bytes, job.nodes)
            ideal = phase.compute_seconds / app.ideal_seconds
            dilation = max(
                dilation, ideal * horizon_seconds / work if work else math.inf
            )
    return SteadyState(used / (problem.machine.nodes * horizon_seconds), dilation)


def read_set(source: Path) -> tuple[Application, ...]:
    """The applications of one set."""
    rows = [
        [float(word) for word in line.split()]
        for line in source.read_text().splitlines()
    ]
    return tuple(Application(row[0], row[1] * 1e9, int(row[2])) for row in rows if row)


def horizon_of(
    applications: Sequence[Application], periods: int = DEFAULT_PERIODS
) -> float:
    """Seconds in which the longest application would do *periods*
    periods without congestion.
    """
    return periods * max(app.ideal_seconds for app in applications)


def batch_io_from_set(
    applications: Sequence[Application], name: str, *, periods: int = DEFAULT_PERIODS
) -> BatchIoProblem:
    """A batch-io problem in which all applications start at 0 and none
    ends before the horizon.

    Each is one job with as many periods as it could do until :func:`horizon_of`.
    """
    horizon = horizon_of(applications, periods)
    jobs = []
    for k, app in enumerate(applications, 1):
        repeat = math.ceil(horizon / app.ideal_seconds)
        phase = {
            "compute_seconds": app.work_seconds,
            "io_bytes": app.io_bytes,
            "repeat": repeat,
        }
        jobs.append(
            {
                "id": k,
                "submit_seconds": 0.0,
                "nodes": app.processors,
                "walltime_seconds": 10 * repeat * app.ideal_seconds,
                "phases": [phase],
            }
        )
    machine = {
        "nodes": PROCESSORS,
        "unit_nodes": 1,
        "allocation": "flat",
        "node_bytes_per_second": PROCESSOR_BYTES_PER_SECOND,
        "storage_bytes_per_second": STORAGE_BYTES_PER_SECOND,
    }
    return BatchIoProblem.model_validate(
        {"name": name, "machine": machine, "options": {"queue": "fcfs"}, "jobs": jobs}
    )
