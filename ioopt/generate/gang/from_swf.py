"""Make gang workloads from the jobs of SWF traces.

Job sizes, gaps between arrivals and run times come from the log. A log has no files.
Their placement and the I/O intensity come from the settings of the generator. The run
time in the log counts as L, the time of a job with all input local, up to the rounding
of requests.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ioopt.errors import InstanceError
from ioopt.formats.report import imported
from ioopt.formats.swf.log import SwfJob, SwfTrace
from ioopt.generate.gang.generate import Settings, assemble, problem_of
from ioopt.problems.base import Json
from ioopt.problems.gang import GangProblem


def gang_from_swf(
    trace: SwfTrace, settings: Settings, seed: int = 0, *, max_jobs: int | None = None
) -> GangProblem:
    """Make a workload of usable jobs of *trace* on the machine of *settings*.

    *max_jobs* keeps only the first jobs. Arrival times count from the first job. Jobs
    that ran for no time or are larger than the machine are left out, with a warning.
    Raises InstanceError when no job is left.
    """
    small, warnings = _small_jobs(trace, settings)
    fitting = small[:max_jobs]
    if not fitting:
        raise InstanceError(
            f"{trace.name}: no job fits a machine of {settings.nodes} nodes"
        )
    submit = np.array([job.submit_seconds for job in fitting], np.float64)
    size = np.array([job.size() for job in fitting], np.int64)
    length = np.array([job.run_seconds for job in fitting], np.float64)
    streams = [
        np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2)
    ]
    table = assemble(settings, submit - submit[0], size, length, *streams)
    warnings = [*trace.warnings, *warnings, *_said(trace, settings, fitting)]
    if len(fitting) < len(small):
        warnings.append(f"the first {len(fitting)} of {len(small)} jobs")
    synthetic = {
        "I/O": f"intensity {settings.intensity} and {settings.placement} placement of "
        f"files, seed {seed} (--set intensity, placement; --seed)",
    }
    meta: Json = {
        "source": trace.name,
        "seed": seed,
        "settings": settings.model_dump(mode="json"),
    }
    problem = problem_of(table, settings.machine, f"{Path(trace.name).name}-gang", meta)
    data = problem.model_dump(mode="json", by_alias=True)
    return imported(
        GangProblem,
        data,
        [f"{trace.name}: {line}" for line in warnings],
        trace.name,
        synthetic,
    )


def _small_jobs(trace: SwfTrace, settings: Settings) -> tuple[list[SwfJob], list[str]]:
    """Return the jobs that ran and fit the machine, and warnings about the others."""
    usable, warnings = trace.usable_jobs()
    ran = [job for job in usable if job.run_seconds]
    small = [job for job in ran if (job.size() or 0) <= settings.nodes]
    if len(ran) < len(usable):
        warnings.append(
            f"{len(usable) - len(ran)} jobs left out because they ran for no time"
        )
    if len(small) < len(ran):
        warnings.append(
            f"{len(ran) - len(small)} jobs left out, larger than the machine of "
            f"{settings.nodes} nodes"
        )
    return small, warnings


def _said(trace: SwfTrace, settings: Settings, jobs: Sequence[SwfJob]) -> list[str]:
    """Return warnings about data of the log that are unused or assumed."""
    said = ["run times of the log are taken as those with all input local"]
    stated = trace.header_number("MaxNodes", "MaxProcs")
    if stated not in (None, settings.nodes):
        said.append(
            f"the log's machine of {stated} nodes is not used: this one has "
            f"{settings.nodes} (--set nodes)"
        )
    return said + trace.unused(jobs)
