"""Batsim's ``_jobs.csv`` read: what happened to each job, and the same jobs as an instance.

Source: Batsim's documentation (output-jobs). Times are seconds. Writing is in
:func:`ioopt.formats.batsim.workload.jobs_csv`.
"""

import os
from typing import Annotated, Any

from pydantic import Field

from ioopt.errors import InstanceError
from ioopt.formats.io_rule import SHORTEST_WALLTIME_SECONDS, MachineRule
from ioopt.formats.report import file_name, imported, some
from ioopt.formats.values import Cell, csv_records
from ioopt.problems.base import Record
from ioopt.problems.batch_io import BatchIoProblem


class JobRecord(Record, extra="ignore"):
    """One job of the file; one that did not run has no ``start_seconds``."""

    id: str = Field(alias="job_id")
    submit_seconds: Cell = Field(alias="submission_time")
    resources: Annotated[int, Field(ge=1)] = Field(alias="requested_number_of_resources")
    requested_seconds: float | None = Field(None, alias="requested_time")
    final_state: str = Field(alias="final_state")
    start_seconds: Cell | None = Field(None, alias="starting_time")
    end_seconds: Cell | None = Field(None, alias="finish_time")

    @property
    def ran(self) -> bool:
        """Whether Batsim ran it."""
        return self.start_seconds is not None and self.final_state.startswith("COMPLETED")

    @property
    def run_seconds(self) -> float:
        """From start to end; 0 for a job that did not run."""
        return (self.end_seconds or 0.0) - (self.start_seconds or 0.0)


def read_jobs_csv(source: str | os.PathLike[str]) -> tuple[list[JobRecord], list[str]]:
    """The jobs of a ``_jobs.csv`` that ran, in the order of submission, and the ids of the others.

    Raises InstanceError for a missing column or a value that is none, naming line and column.
    """
    found, others = [], []
    for where, record in csv_records(source, JobRecord):
        if not record.ran:
            others.append(record.id)
        elif record.end_seconds is None or record.run_seconds < 0:
            raise InstanceError(
                f"{where}: starting_time {record.start_seconds}, finish_time {record.end_seconds}"
            )
        else:
            found.append(record)
    found.sort(key=lambda record: (record.submit_seconds, record.id))
    return found, others


def batch_io_from_jobs(
    source: str | os.PathLike[str],
    *,
    machine: MachineRule = MachineRule(),
    options: dict[str, Any] | None = None,
) -> BatchIoProblem:
    """The jobs of a ``_jobs.csv`` as a batch-io instance that computes as long as they ran.

    A job without walltime gets its run time (at least a second). Jobs that did not run are left
    out with a warning. The machine is as large as the largest job unless *machine* says otherwise.
    """
    name = os.fspath(source)
    records, others = read_jobs_csv(source)
    if not records:
        raise InstanceError(f"{name}: no job that ran")
    block = machine.machine(max(record.resources for record in records))
    warnings = []
    if others:
        warnings.append(f"{name}: {len(others)} jobs left out, they did not run: {some(others)}")
    jobs = [
        {
            "id": record.id,
            "submit_seconds": record.submit_seconds,
            "nodes": machine.nodes_for(record.resources),
            "walltime_seconds": max(record.requested_seconds or 0.0, 0.0)
            or max(record.run_seconds, SHORTEST_WALLTIME_SECONDS),
            "phases": [{"compute_seconds": record.run_seconds, "io_bytes": 0}],
        }
        for record in records
    ]
    document = {
        "name": file_name(name), "meta": {"source": file_name(name)}, "machine": block,
        "options": options or {}, "jobs": jobs,
    }  # fmt: skip
    warnings.append(f"{name}: no I/O: the file tells none, so jobs compute for as long as they ran")
    synthetic = {"rates": machine.invented_rates(block)}
    return imported(BatchIoProblem, document, warnings, name, synthetic)
