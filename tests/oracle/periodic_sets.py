"""Sets of periodic applications: read them, convert them to instances, and measure
schedules.

A set has one application in each line: seconds of computation and GB of I/O in each
period, and processors. Source: Aupy, Gainaru, Le Fevre, "Periodic I/O scheduling for
super-computers" (PMBS 2017). Their machine has 640 cores with B = 3 GB/s and b = 0.01
GB/s, all divided by 64. Here nothing is divided, so a set runs on 40,960 processors
with 192 GB/s.
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
    """A periodic application, which computes *work_seconds* and then moves *io_bytes*
    in each period.
    """

    work_seconds: float
    io_bytes: float
    processors: int

    @property
    def ideal_seconds(self) -> float:
        """Return the length of a period in seconds without congestion."""
        peak = min(
            self.processors * PROCESSOR_BYTES_PER_SECOND, STORAGE_BYTES_PER_SECOND
        )
        return self.work_seconds + self.io_bytes / peak


@dataclass(frozen=True, slots=True)
class SteadyState:
    """System efficiency and the largest dilation of an application over a horizon.

    System efficiency is the share of the time of all processors that is spent on
    computing. Dilation is the ideal rate of work of an application divided by its
    actual rate (Aupy et al., Section 2.2).
    """

    efficiency: float
    dilation: float


def steady_state(
    problem: BatchIoProblem, schedule: Mapping[str, Any], horizon_seconds: float
) -> SteadyState:
    """Return efficiency and dilation of a *schedule* from time 0 to the horizon.

    *problem* comes from :func:`batch_io_from_set`. A job computes from its start, or
    the end of an I/O, until the next request.
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
    """Return the applications of one set."""
    rows = [
        [float(word) for word in line.split()]
        for line in source.read_text().splitlines()
    ]
    return tuple(Application(row[0], row[1] * 1e9, int(row[2])) for row in rows if row)


def horizon_of(
    applications: Sequence[Application], periods: int = DEFAULT_PERIODS
) -> float:
    """Return the seconds that the longest application needs for *periods* periods
    without congestion.
    """
    return periods * max(app.ideal_seconds for app in applications)


def batch_io_from_set(
    applications: Sequence[Application], name: str, *, periods: int = DEFAULT_PERIODS
) -> BatchIoProblem:
    """Return a batch-io problem in which all applications start at 0 and outlast the
    horizon.

    Each application is one job with as many periods as fit :func:`horizon_of`.
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
