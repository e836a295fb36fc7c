"""Instances of work directories from recorded workflows: WfFormat files and Nextflow traces (rule B15)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.cluster import Machine
from ioopt.formats.native import named, read_json, read_text, validate
from ioopt.formats.nextflow.trace import Columns, read_nextflow_trace
from ioopt.formats.wfformat.instance import problem_from_wfformat
from ioopt.generate.work_directory import of_workflow
from ioopt.problems.replication import ReplicationProblem
from ioopt.problems.work_directory import WorkDirectoryProblem

_TAG = re.compile(r"\S+\s+\((.+)\)(?: #\d+)?")


@dataclass(frozen=True)
class Wanted:
    """The machine of a recorded workflow: cores, quota in bytes, copies, scratch in bytes of outputs.

    Of a trace also its DAG and the column of the bytes read.
    """

    cores: int | None = None
    quota: int | None = None
    samples: int = 1
    scratch: float = 0.0
    dag: str | None = None
    read: Columns = "rchar"

    def machine(self) -> Machine:
        """What the readers of workflows ask for; nothing of it but the cores is used."""
        if self.cores is None:
            raise UsageError("--cores N: a recorded workflow does not say the machine's")
        told = {"nodes": 1, "cores": self.cores, "disk": "unlimited", "link": "shared", "speed": 1}
        return Machine(**told, remote_rate=1e9, replica_rate=1e9)


def of_record(found: ReplicationProblem, wanted: Wanted, name: str) -> WorkDirectoryProblem:
    """The recorded workflow *found*, copied; InstanceError where it says no bytes of products.

    Nothing is kept: what no task reads counts as published by move. In one copy of a trace a tag is
    a sample; where no task has one, tasks that files join are.
    """
    made = {file for task in found.tasks for file in task.outputs}
    if not any(file.bytes for file in found.files if file.id in made):
        raise InstanceError(f"{name}: no task wrote a byte: its sizes were not recorded")
    cores, source, warnings = wanted.cores or 1, (found.meta or {}).get("source"), [*found.warnings]
    wide = [task.id for task in found.tasks if task.cores > cores]
    if wide:
        few = f"{len(wide)} tasks, such as {wide[0]}, get {cores} cores, not more"
        warnings.append(f"{name}: {few}")
    samples = {}
    if source == "Nextflow trace" and wanted.samples == 1:
        tags = ((task.id, _TAG.fullmatch(task.id)) for task in found.tasks)
        samples = {task: tag[1] for task, tag in tags if tag is not None}
        if not samples:
            warnings.append(f"{name}: no task has a tag: tasks that files join are one sample")
    scratch = f"scratch: {wanted.scratch:g} x outputs; outputs nobody reads are moved out"
    problem = of_workflow(
        found.tasks, [(file.id, file.bytes) for file in found.files], cores, wanted.scratch, samples,
        name=found.name, quota_bytes=wanted.quota,
        meta={"source": source, "warnings": warnings, "invented": scratch},
    )  # fmt: skip
    return problem.copies(wanted.samples)


def read_work_directory(file: str, wanted: Wanted) -> WorkDirectoryProblem:
    """The instance in *file*: an ``ioopt/work-directory`` file or name, WfFormat, or a Nextflow trace.

    What is *wanted* goes before what an instance says. Raises InstanceError and UsageError.
    """
    from ioopt.catalog import entries
    from ioopt.solving import load

    name = named(file)
    data: object = None
    if file not in entries():
        if not read_text(file).lstrip("\ufeff \t\r\n").startswith(("{", "[")):
            found = read_nextflow_trace(file, wanted.dag, wanted.machine(), wanted.read)
            return of_record(found, wanted, name)
        data = read_json(file)
    if isinstance(data, Mapping) and not str(data.get("format", "")).startswith("ioopt/"):
        return of_record(problem_from_wfformat(data, name, machine=wanted.machine()), wanted, name)
    problem = load(file if data is None else data)
    if not isinstance(problem, WorkDirectoryProblem):
        kinds = "ioopt/work-directory, WfFormat or a trace"
        raise UsageError(f"{file}: {problem.format}: wanted {kinds}")
    told = {"cores": wanted.cores, "quota_bytes": wanted.quota}
    given = {key: value for key, value in told.items() if value is not None}
    made = validate(WorkDirectoryProblem, problem.model_dump(by_alias=True) | given, name)
    return made.copies(wanted.samples)
