"""Batsim workloads (JSON): three dialects read, one written, and the ``_jobs.csv`` of results.

Source: the documentation of Batsim (input-workload, output-jobs) and, for the burst-buffer dialect,
Kopanski and Rzadca, Euro-Par 2021. What each profile type becomes is said in
:mod:`ioopt.formats.batsim.profiles`. Times are seconds, sizes bytes.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from ioopt.errors import InstanceError
from ioopt.formats.batsim.profiles import Platform, Profiles, UnsupportedProfileError
from ioopt.formats.io_rule import MachineRule
from ioopt.formats.native import named, read_json, validate
from ioopt.formats.report import file_name, imported, some
from ioopt.formats.values import number, whole
from ioopt.problems.batch_io import BatchIoProblem, Machine

SHORTEST_WALLTIME_SECONDS = 1.0


def read_batsim(
    source: str | os.PathLike[str],
    *,
    machine: MachineRule = MachineRule(),
    platform: Platform = Platform(),
    options: dict[str, Any] | None = None,
) -> BatchIoProblem:
    """Read a workload file (plain or gzipped) as a batch-io problem; see :func:`batch_io_from_batsim`."""
    return batch_io_from_batsim(
        read_json(source), named(source), machine=machine, platform=platform, options=options
    )


def batch_io_from_batsim(
    data: Any,
    name: str,
    *,
    machine: MachineRule = MachineRule(),
    platform: Platform = Platform(),
    options: dict[str, Any] | None = None,
) -> BatchIoProblem:
    """Make a batch-io problem of a parsed workload that came from the file *name*.

    Ids that mix numbers and text become text. A job without walltime has its uncongested run time
    (at least a second). Jobs larger than the machine and jobs whose profile has a type that only
    Batsim can run (trace replays) are left out with a warning. Raises InstanceError for anything
    that contradicts the format, or when no job is left.
    """
    jobs, profiles = _parts(data, name)
    warnings: list[str] = []
    processors = _resources(data, jobs, machine, name, warnings)
    block = machine.machine(processors)
    built = validate(Machine, block, f"{name}: machine")
    known = Profiles(profiles, platform, name)
    left_out: dict[str, list[Any]] = defaultdict(list)
    rows = []
    for k, job in enumerate(jobs):
        row = _job(job, f"{name}: jobs[{k}]", known, machine, built, left_out)
        if row is not None:
            rows.append(row)
    warnings += [
        f"{name}: {len(ids)} jobs left out, {why}: {some(ids)}" for why, ids in left_out.items()
    ]
    if not rows:
        raise InstanceError(f"{name}: no job that can be used; {'; '.join(warnings)}")
    if len({isinstance(row["id"], str) for row in rows}) > 1:
        for row in rows:
            row["id"] = str(row["id"])
    unlimited = [row["id"] for row in rows if row.pop("unlimited")]
    if unlimited:
        warnings.append(
            f"{name}: {len(unlimited)} jobs have no walltime and get their uncongested run time: "
            f"{some(unlimited)}"
        )
    document = {
        "name": file_name(name),
        "meta": {"source": file_name(name), "platform": platform.describe()},
        "machine": block,
        "options": options or {},
        "jobs": rows,
    }
    warnings.append(f"{name}: reads and writes are one; so are computing and sending between nodes")
    synthetic = {
        "rates": machine.invented_rates(block),
        "platform": f"{platform.describe()} (--flops, --network-rate; Batsim's platform file has them)",
    }
    return imported(BatchIoProblem, document, warnings, name, synthetic)


def _parts(data: Any, name: str) -> tuple[list[Any], Mapping[str, Any]]:
    if not isinstance(data, Mapping):
        raise InstanceError(
            f"{name}: a Batsim workload is a JSON object, not {type(data).__name__}"
        )
    jobs, profiles = data.get("jobs"), data.get("profiles")
    if not isinstance(jobs, list) or not isinstance(profiles, Mapping):
        raise InstanceError(f"{name}: a Batsim workload has a list 'jobs' and an object 'profiles'")
    return jobs, profiles


def _resources(
    data: Mapping[str, Any], jobs: list[Any], rule: MachineRule, name: str, warnings: list[str]
) -> int:
    """Resources of the machine: stated, else ``nb_res``, else the largest job (with a warning)."""
    if rule.nodes is not None:
        return rule.nodes * rule.processors_per_node
    stated = data.get("nb_res")
    if stated is not None:
        return whole(stated, f"{name}: nb_res", least=1)
    sizes = [job.get("res") for job in jobs if isinstance(job, Mapping)]
    largest = max((size for size in sizes if type(size) is int), default=0)
    if largest < 1:
        raise InstanceError(f"{name}: no nb_res and no job size; state the machine's nodes")
    whole(largest, f"{name}: res of the largest job", least=1)
    warnings.append(f"{name}: no nb_res: machine of {largest} resources, as the largest job")
    return largest


def _job(
    job: Any,
    where: str,
    profiles: Profiles,
    rule: MachineRule,
    machine: Machine,
    left_out: dict[str, list[Any]],
) -> dict[str, Any] | None:
    """A job as the instance has it; None for one that is left out, with its id in *left_out*."""
    if not isinstance(job, Mapping):
        raise InstanceError(f"{where}: a job is an object, not {type(job).__name__}")
    for key in ("id", "subtime", "res", "profile"):
        if key not in job:
            raise InstanceError(f"{where}: {key}: missing")
    job_id = job["id"]
    if type(job_id) is not int and not (isinstance(job_id, str) and job_id):
        raise InstanceError(f"{where}: id: wanted text or a whole number, not {job_id!r}")
    where = f"{where} ({job_id})"
    resources = whole(job["res"], f"{where}: res", least=1)
    nodes = rule.nodes_for(resources)
    if nodes > machine.nodes:
        left_out[f"larger than the machine of {machine.nodes} nodes"].append(job_id)
        return None
    try:
        phases = profiles.phases(job["profile"], resources, where)
    except UnsupportedProfileError as error:
        left_out[str(error)].append(job_id)
        return None
    walltime = job.get("walltime")
    limit = -1.0 if walltime is None else number(walltime, f"{where}: walltime", least=-math.inf)
    if limit <= 0:
        peak = machine.peak(machine.allocated_nodes(nodes))
        run = sum((p.compute_seconds + p.io_bytes / peak) * p.repeat for p in phases)
        limit, unlimited = max(run, SHORTEST_WALLTIME_SECONDS), True
    else:
        unlimited = False
    return {
        "id": job_id,
        "submit_seconds": number(job["subtime"], f"{where}: subtime"),
        "nodes": nodes,
        "walltime_seconds": limit,
        "phases": [phase._asdict() for phase in phases],
        "unlimited": unlimited,
    }


def export_batsim(problem: BatchIoProblem) -> dict[str, Any]:
    """A workload of Batsim 5 for *problem*: a delay for compute, a task on storage for I/O.

    Bytes count for the whole job (``DefinedAmountsSpreadUniformly``) and are written, since ioopt
    does not tell reads from writes. Rates belong to Batsim's platform file and are not part of it.
    """
    profiles: dict[str, Any] = {}
    jobs = []
    for job in problem.jobs:
        key = str(job.id)
        parts = []
        for k, phase in enumerate(job.phases):
            steps = []
            if phase.compute_seconds > 0:
                steps.append(f"{key}:{k}:compute")
                profiles[steps[-1]] = {"type": "DelayProfile", "delay": phase.compute_seconds}
            if phase.io_bytes > 0:
                steps.append(f"{key}:{k}:io")
                profiles[steps[-1]] = {
                    "type": "ParallelTaskOnStorageHomogeneousProfile",
                    "bytes_to_read": 0.0,
                    "bytes_to_write": phase.io_bytes,
                    "storage": "pfs",
                    "generation_strategy": "DefinedAmountsSpreadUniformly",
                }
            if phase.repeat > 1 and steps:
                profiles[f"{key}:{k}"] = _sequence(steps, phase.repeat)
                steps = [f"{key}:{k}"]
            parts += steps
        profiles[key] = _sequence(parts) if parts else {"type": "DelayProfile", "delay": 0.0}
        jobs.append(
            {
                "id": key, "subtime": job.submit_seconds, "walltime": job.walltime_seconds,
                "res": job.nodes, "profile": key,
            }
        )  # fmt: skip
    return {
        "description": f"{problem.name}, written by ioopt",
        "nb_res": problem.machine.nodes,
        "jobs": jobs,
        "profiles": profiles,
    }


def _sequence(names: list[str], repeat: int = 1) -> dict[str, Any]:
    return {"type": "SequentialCompositionProfile", "repeat": repeat, "seq": names}


JOB_COLUMNS = (
    "job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources",
    "requested_time", "success", "final_state", "starting_time", "execution_time", "finish_time",
    "waiting_time", "turnaround_time", "stretch", "allocated_resources", "consumed_energy",
    "metadata",
)  # fmt: skip


def jobs_csv(problem: BatchIoProblem, schedule: Mapping[str, Any]) -> str:
    """The ``_jobs.csv`` that Batsim would write for a batch-io *schedule*.

    One line a job in the order of finish. Columns that ioopt does not know (allocated resources,
    energy) are empty, as is the stretch of a job that took no time.
    """
    jobs = {job.id: job for job in problem.jobs}
    out = io.StringIO()
    writer = csv.DictWriter(out, JOB_COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for row in sorted(schedule["jobs"], key=lambda row: (row["end_seconds"], str(row["id"]))):
        job = jobs.get(row["id"])
        if job is None:
            raise InstanceError(f"the schedule names a job {row['id']!r} that the instance lacks")
        start, end = row["start_seconds"], row["end_seconds"]
        turnaround, run = end - job.submit_seconds, end - start
        writer.writerow(
            {
                "job_id": job.id, "workload_name": problem.name, "profile": job.id,
                "submission_time": job.submit_seconds,
                "requested_number_of_resources": job.nodes,
                "requested_time": job.walltime_seconds,
                "success": int(not row["killed"]),
                "final_state": "COMPLETED_WALLTIME_REACHED" if row["killed"]
                else "COMPLETED_SUCCESSFULLY",
                "starting_time": start, "execution_time": run, "finish_time": end,
                "waiting_time": start - job.submit_seconds, "turnaround_time": turnaround,
                "stretch": turnaround / run if run > 0 else "",
            }
        )  # fmt: skip
    return out.getvalue()
