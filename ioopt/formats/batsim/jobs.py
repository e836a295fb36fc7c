"""Batsim's ``_jobs.csv`` read: what happened to each job, and the same jobs as an instance.

Source: Batsim's documentation (output-jobs). Times are seconds. Writing is in
:func:`ioopt.formats.batsim.workload.jobs_csv`.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

from ioopt.errors import InstanceError
from ioopt.formats.io_rule import MachineRule
from ioopt.formats.report import file_name, imported, some
from ioopt.formats.values import csv_rows, numeral
from ioopt.problems.batch_io import BatchIoProblem

REQUIRED = ("job_id", "submission_time", "requested_number_of_resources", "requested_time",
            "final_state", "starting_time", "finish_time")  # fmt: skip
KILLED = frozenset({"COMPLETED_WALLTIME_REACHED", "COMPLETED_KILLED"})


@dataclass(frozen=True)
class JobRecord:
    """One job that Batsim ran."""

    id: str
    workload: str
    submit_seconds: float
    resources: int
    walltime_seconds: float | None
    start_seconds: float
    end_seconds: float
    final_state: str

    def row(self) -> dict[str, Any]:
        """The job as the schedule of a batch-io result has it; Batsim tells nothing of its I/O."""
        return {
            "id": self.id, "start_seconds": self.start_seconds, "end_seconds": self.end_seconds,
            "killed": self.final_state in KILLED, "io": [],
        }  # fmt: skip


def read_jobs_csv(source: str | os.PathLike[str]) -> tuple[list[JobRecord], list[str]]:
    """The jobs of a ``_jobs.csv`` that ran, in the order of submission, and the ids of the others.

    Raises InstanceError for a missing column or a value that is none, naming line and column.
    """
    found, others = [], []
    for where, row in csv_rows(source, REQUIRED):
        if row["starting_time"] and (row["final_state"] or "").startswith("COMPLETED"):
            found.append(_record(row, where))
        else:
            others.append(row["job_id"])
    found.sort(key=lambda record: (record.submit_seconds, record.id))
    return found, others


def _record(row: dict[str, str], where: str) -> JobRecord:
    def value(column: str, least: float = 0.0) -> float:
        return numeral(row[column], f"{where}: {column}", least)

    resources = value("requested_number_of_resources", 1)
    asked = value("requested_time", -math.inf) if row["requested_time"] else -1.0
    start, end = value("starting_time"), value("finish_time")
    if not start <= end or resources != int(resources):
        raise InstanceError(f"{where}: {resources:g} resources from {start:g} to {end:g} s")
    return JobRecord(
        id=row["job_id"], workload=row.get("workload_name") or "",
        submit_seconds=value("submission_time"), resources=int(resources),
        walltime_seconds=asked if asked > 0 else None, start_seconds=start, end_seconds=end,
        final_state=row["final_state"],
    )  # fmt: skip


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
            "walltime_seconds": record.walltime_seconds
            or max(record.end_seconds - record.start_seconds, 1.0),
            "phases": [
                {"compute_seconds": record.end_seconds - record.start_seconds, "io_bytes": 0}
            ],
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
