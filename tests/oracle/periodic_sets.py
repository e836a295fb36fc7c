"""System efficiency and dilation of sets of periodic applications, as measured and as published."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ioopt.formats.io_congestion import Application
from ioopt.problems.batch_io import BatchIoProblem


@dataclass(frozen=True, slots=True)
class SteadyState:
    """Measures over a horizon: system efficiency and the largest dilation of an application.

    System efficiency is the share of all processors' time spent computing, dilation an
    application's ideal pace of work over the pace it had (Aupy et al., Section 2.2).
    """

    efficiency: float
    dilation: float


def read_published(source: Path) -> dict[int, SteadyState]:
    """The published figures of each set (``results_paper.txt``)."""
    rows = [line.partition("#")[0].split() for line in source.read_text().splitlines()]
    return {int(row[0]): SteadyState(float(row[1]), float(row[2])) for row in rows if row}


def steady_state(
    problem: BatchIoProblem, schedule: Mapping[str, Any], horizon_seconds: float
) -> SteadyState:
    """Efficiency and dilation of a batch-io *schedule* of :func:`batch_io_from_set` on [0, horizon].

    Computation is what lies between the end of one I/O (or the start) and the next request.
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
            dilation = max(dilation, ideal * horizon_seconds / work if work else math.inf)
    return SteadyState(used / (problem.machine.nodes * horizon_seconds), dilation)
