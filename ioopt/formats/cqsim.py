"""CQSim's results (``.rst``): a trace, and the schedule that CQSim made of it.

A line is one job in the order of the ends: number, processors (twice), requested seconds, run seconds,
wait, submission, start and end, separated by semicolons. Source: CQSim (github.com/SPEAR-UIC/CQSim),
branch CQSim-GUI, data/Results.
"""

import os
from typing import Any, NamedTuple

from ioopt.errors import InstanceError
from ioopt.formats.io_rule import MachineRule
from ioopt.formats.native import named, read_text
from ioopt.formats.report import file_name, imported, some
from ioopt.problems.batch_io import BatchIoProblem

COLUMNS = 9


class CqsimJob(NamedTuple):
    """A line: the job, and when CQSim started it."""

    id: int
    processors: int
    requested_seconds: float
    run_seconds: float
    submit_seconds: float
    start_seconds: float


def read_cqsim(source: str | os.PathLike[str]) -> list[CqsimJob]:
    """The jobs of a results file by (submission, number); raises InstanceError naming a bad line."""
    jobs = []
    for line, text in enumerate(read_text(source).splitlines(), 1):
        if not text.strip():
            continue
        try:
            cells = [float(cell) for cell in text.split(";")]
            number, processors, _, requested, run, _, submit, start, _ = cells
            jobs.append(CqsimJob(int(number), int(processors), requested, run, submit, start))
        except (ValueError, OverflowError):
            raise InstanceError(
                f"{named(source)}: line {line}: wanted {COLUMNS} numbers separated by semicolons"
            ) from None
    return sorted(jobs, key=lambda job: (job.submit_seconds, job.id))


def batch_io_from_cqsim(
    source: str | os.PathLike[str],
    *,
    machine: MachineRule = MachineRule(),
    options: dict[str, Any] | None = None,
) -> BatchIoProblem:
    """The jobs of a results file as a batch-io instance that computes as long as they ran.

    Without *machine* it has as many processors as CQSim ever used at once. Jobs without run time,
    requested time or processors are left out with a warning.
    """
    name = os.fspath(source)
    read = read_cqsim(source)
    jobs = [job for job in read if min(job.processors, job.run_seconds, job.requested_seconds) > 0]
    if not jobs:
        raise InstanceError(f"{name}: no job that ran")
    kept = set(jobs)
    left_out = [job.id for job in read if job not in kept]
    changes = sorted(
        (time, change)
        for job in jobs
        for time, change in (
            (job.start_seconds, job.processors),
            (job.start_seconds + job.run_seconds, -job.processors),
        )
    )
    used = most = 0
    for _, change in changes:
        used += change
        most = max(most, used)
    block = machine.machine(most)
    warnings = [f"{name}: {len(left_out)} jobs left out: {some(left_out)}"] if left_out else []
    warnings.append(f"{name}: no I/O: the file tells none, so jobs compute for as long as they ran")
    document = {
        "name": file_name(name), "meta": {"source": file_name(name)}, "machine": block,
        "options": options or {},
        "jobs": [
            {
                "id": job.id, "submit_seconds": job.submit_seconds,
                "nodes": machine.nodes_for(job.processors),
                "walltime_seconds": job.requested_seconds,
                "phases": [{"compute_seconds": job.run_seconds, "io_bytes": 0}],
            }
            for job in jobs
        ],
    }  # fmt: skip
    synthetic = {"rates": machine.invented_rates(block)}
    return imported(BatchIoProblem, document, warnings, name, synthetic)
