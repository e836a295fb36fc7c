"""Read Batsim workloads (JSON) in three dialects; write workloads and ``_jobs.csv``.

Source: the documentation of Batsim (input-workload, output-jobs) and, for the
burst-buffer dialect, Kopanski and Rzadca, Euro-Par 2021.
:mod:`ioopt.formats.batsim.profiles` converts each profile type. Times are seconds,
sizes bytes.
"""

import csv
import io
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field, StrictInt, StrictStr

from ioopt.errors import InstanceError
from ioopt.formats.batsim.profiles import (
    PhaseRow,
    Platform,
    Profile,
    Profiles,
    UnsupportedProfileError,
    intervals,
)
from ioopt.formats.io_rule import SHORTEST_WALLTIME_SECONDS, MachineRule
from ioopt.formats.native import named, read_json, validate
from ioopt.formats.report import file_name, imported, some
from ioopt.formats.values import LARGEST, Amount, Count
from ioopt.options import nearest
from ioopt.problems.base import BytesPerSecond, Json
from ioopt.problems.batch_io import BatchIoProblem, Machine

JobId = int | str


class _Job(BaseModel, extra="allow"):
    id: StrictInt | Annotated[StrictStr, Field(min_length=1)]
    subtime: Amount
    res: Count
    profile: StrictStr
    walltime: Annotated[float, Field(le=LARGEST, strict=True)] | None = None
    io_bytes_per_second: BytesPerSecond | None = None


class _Workload(BaseModel, extra="allow"):
    nb_res: Count | None = None
    jobs: list[_Job]
    profiles: Json


def read_batsim(
    source: str | os.PathLike[str],
    *,
    machine: MachineRule = MachineRule(),
    platform: Platform = Platform(),
    options: Json | None = None,
) -> BatchIoProblem:
    """Read a workload file as a batch-io problem; see :func:`batch_io_from_batsim`."""
    return batch_io_from_batsim(
        read_json(source),
        named(source),
        machine=machine,
        platform=platform,
        options=options,
    )


def batch_io_from_batsim(
    data: object,
    name: str,
    *,
    machine: MachineRule = MachineRule(),
    platform: Platform = Platform(),
    options: Json | None = None,
) -> BatchIoProblem:
    """Make a batch-io problem from *data*, the parsed workload file *name*.

    If some job ids are numbers and others are text, all become text. The walltime of a
    job without one is its run time without congestion, but at least one second. Jobs
    larger than the machine are left out with a warning, and so are jobs whose profile
    only Batsim can run (trace replays). Raises InstanceError for anything that
    contradicts the format, and if no job is left.
    """
    given: _Workload = validate(_Workload, data, name)
    warnings: list[str] = []
    block = machine.machine(_resources(given, machine, name, warnings))
    built = validate(Machine, block, f"{name}: machine")
    known = Profiles(given.profiles, platform, name)
    rows, left_out, unlimited = _rows(given.jobs, known, machine, built)
    warnings += [
        f"{name}: {len(ids)} jobs left out, {why}: {some(ids)}"
        for why, ids in left_out.items()
    ]
    warnings += _unread(given, known)
    if not rows:
        raise InstanceError(f"{name}: no job that can be used; {'; '.join(warnings)}")
    if len({isinstance(row["id"], str) for row in rows}) > 1:
        for row in rows:
            row["id"] = str(row["id"])
    if unlimited:
        warnings.append(
            f"{name}: {len(unlimited)} jobs have no walltime and get their "
            f"uncongested run time: {some(unlimited)}"
        )
    document = {
        "name": file_name(name),
        "meta": {"source": file_name(name), "platform": platform.describe()},
        "machine": block,
        "options": options or {},
        "jobs": rows,
    }
    warnings.append(
        f"{name}: reads and writes are treated alike; so are computing and "
        "sending between nodes"
    )
    synthetic = {
        "rates": machine.invented_rates(block),
        "platform": f"{platform.describe()} (set by --flops, --network-rate; "
        "Batsim's platform file has the values)",
    }
    return imported(BatchIoProblem, document, warnings, name, synthetic)


_PASSED_OVER = frozenset(
    {"description", "command", "date", "name", "version", "extra_data"}
)
"""Keys of workloads and jobs that are ignored without a warning: they change no
schedule.
"""


def _unread(given: _Workload, known: Profiles) -> list[str]:
    """Return a warning for each key of the workload, its jobs and profiles that is not
    read.
    """
    top = sorted((given.model_extra or {}).keys() - _PASSED_OVER)
    said = [f"{known.name}: key {key[:40]!r} is not read" for key in top]
    of_jobs: dict[str, list[str]] = defaultdict(list)
    for job in given.jobs:
        for key in (job.model_extra or {}).keys() - _PASSED_OVER:
            of_jobs[key].append(str(job.id))
    said += [
        f"{known.name}: {_not_read('jobs', key, _Job)}: {some(ids)}"
        for key, ids in sorted(of_jobs.items())
    ]
    said += [
        f"{known.name}: {_not_read('profiles', key, Profile)}: {some(profiles)}"
        for key, profiles in sorted(known.unread().items())
    ]
    return said


def _not_read(what: str, key: str, form: type[BaseModel]) -> str:
    """Return the warning that *key* of *what* is not read.

    If *form* has a similar key, the warning suggests it.
    """
    text = f"key {key[:40]!r} of {what} is not read"
    if key in form.model_fields:
        return text
    near = nearest(key, form.model_fields)
    if near is None:
        return text
    return f"{text} (did you mean {near!r}?)"


def _rows(
    jobs: Iterable[_Job], known: Profiles, rule: MachineRule, machine: Machine
) -> tuple[list[Json], dict[str, list[JobId]], list[JobId]]:
    """Return the rows of the instance, the jobs left out, and jobs without walltime.

    Jobs left out are given as ids for each reason. Jobs without walltime are given as
    ids.
    """
    left_out: dict[str, list[JobId]] = defaultdict(list)
    unlimited: list[JobId] = []
    rows = []
    for k, job in enumerate(jobs):
        nodes = rule.nodes_for(job.res)
        if nodes > machine.nodes:
            left_out[f"larger than the machine of {machine.nodes} nodes"].append(job.id)
            continue
        try:
            phases = known.phases(
                job.profile, job.res, f"{known.name}: jobs[{k}] ({job.id})"
            )
        except UnsupportedProfileError as error:
            left_out[str(error)].append(job.id)
            continue
        walltime = max(job.walltime or 0.0, 0.0)
        if not walltime:
            unlimited.append(job.id)
            run = _run_seconds(job, phases, machine, nodes)
            walltime = max(run, SHORTEST_WALLTIME_SECONDS)
        rows.append(
            {
                "id": job.id,
                "submit_seconds": job.subtime,
                "nodes": nodes,
                "walltime_seconds": walltime,
                "phases": [phase._asdict() for phase in phases],
                "io_bytes_per_second": job.io_bytes_per_second,
            }
        )
    return rows, left_out, unlimited


def _run_seconds(
    job: _Job, phases: Iterable[PhaseRow], machine: Machine, nodes: int
) -> float:
    """Return the seconds that *job* runs on *nodes* nodes without congestion."""
    peak = machine.peak(machine.allocated_nodes(nodes), job.io_bytes_per_second)
    return sum(
        (phase.compute_seconds + phase.io_bytes / peak) * phase.repeat
        for phase in phases
    )


def _resources(
    given: _Workload, rule: MachineRule, name: str, warnings: list[str]
) -> int:
    """Return the number of resources of the machine, and warn if it is a guess.

    It is the number that *rule* states, else ``nb_res``, else the size of the largest
    job.
    """
    if rule.nodes is not None:
        return rule.nodes * rule.processors_per_node
    if given.nb_res is not None:
        return given.nb_res
    largest = max((job.res for job in given.jobs), default=0)
    if largest < 1:
        raise InstanceError(
            f"{name}: no nb_res and no job size; give the machine's nodes"
        )
    warnings.append(
        f"{name}: no nb_res: assumed a machine of {largest} resources, as large "
        "as the largest job"
    )
    return largest


def export_batsim(problem: BatchIoProblem) -> Json:
    """Return *problem* as a workload of Batsim 5.

    Computing becomes delays, and I/O becomes tasks on a storage. The bytes of such a
    task are those of the whole job (``DefinedAmountsSpreadUniformly``). All bytes are
    written, since ioopt does not distinguish reads from writes. Rates belong to
    Batsim's platform file, not to the workload. The peak rate of a job, if it has its
    own, is written as a key that ioopt reads and Batsim ignores.
    """
    profiles: Json = {}
    jobs = []
    for job in problem.jobs:
        key = str(job.id)
        parts = []
        for k, phase in enumerate(job.phases):
            steps = []
            if phase.compute_seconds > 0:
                steps.append(f"{key}:{k}:compute")
                profiles[steps[-1]] = {
                    "type": "DelayProfile",
                    "delay": phase.compute_seconds,
                }
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
        if parts:
            profiles[key] = _sequence(parts)
        else:
            profiles[key] = {"type": "DelayProfile", "delay": 0.0}
        row = {
            "id": key,
            "subtime": job.submit_seconds,
            "walltime": job.walltime_seconds,
            "res": job.nodes,
            "profile": key,
        }
        if job.io_bytes_per_second:
            row["io_bytes_per_second"] = job.io_bytes_per_second
        jobs.append(row)
    return {
        "description": f"{problem.name}, written by ioopt",
        "nb_res": problem.machine.nodes,
        "jobs": jobs,
        "profiles": profiles,
    }


def _sequence(names: list[str], repeat: int = 1) -> Json:
    """Return a profile that runs the profiles *names* in order, *repeat* times."""
    return {"type": "SequentialCompositionProfile", "repeat": repeat, "seq": names}


JOB_COLUMNS = (
    "job_id",
    "workload_name",
    "profile",
    "submission_time",
    "requested_number_of_resources",
    "requested_time",
    "success",
    "final_state",
    "starting_time",
    "execution_time",
    "finish_time",
    "waiting_time",
    "turnaround_time",
    "stretch",
    "allocated_resources",
    "consumed_energy",
    "metadata",
)


def jobs_csv(problem: BatchIoProblem, schedule: Mapping[str, Any]) -> str:
    """Return the ``_jobs.csv`` of Batsim for *schedule*, with the jobs in order of
    their end.
    """
    jobs = {job.id: job for job in problem.jobs}
    out = io.StringIO()
    writer = csv.DictWriter(out, JOB_COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for row in sorted(
        schedule["jobs"], key=lambda row: (row["end_seconds"], str(row["id"]))
    ):
        job = jobs.get(row["id"])
        if job is None:
            raise InstanceError(
                f"the schedule names a job {row['id']!r} that is not in the instance"
            )
        start = row["start_seconds"]
        end = row["end_seconds"]
        run = end - start
        turnaround = end - job.submit_seconds
        state = "COMPLETED_SUCCESSFULLY"
        if row["killed"]:
            state = "COMPLETED_WALLTIME_REACHED"
        writer.writerow(
            {
                "job_id": job.id,
                "workload_name": problem.name,
                "profile": job.id,
                "submission_time": job.submit_seconds,
                "requested_number_of_resources": job.nodes,
                "requested_time": job.walltime_seconds,
                "success": int(not row["killed"]),
                "final_state": state,
                "starting_time": start,
                "execution_time": run,
                "finish_time": end,
                "waiting_time": start - job.submit_seconds,
                "turnaround_time": turnaround,
                "stretch": turnaround / run if run > 0 else "",
                "allocated_resources": intervals(row.get("nodes") or []),
            }
        )
    return out.getvalue()
