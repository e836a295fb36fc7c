"""WfFormat JSON into plain tasks and file sizes, with every oddity either warned of or refused."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, StrictFloat, StrictInt

from ioopt.errors import InstanceError
from ioopt.formats.native import shown, validate
from ioopt.formats.report import Warnings, by_kind

MAX_BYTES = 1 << 62


@dataclass(frozen=True)
class WorkflowTask:
    """One task: run time in seconds, distinct files read and written, cores, tasks waited for.

    ``declared`` are the parents that the file names.
    """

    id: str
    runtime: float
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    cores: int
    declared: tuple[str, ...]


@dataclass(frozen=True)
class Workflow:
    """A parsed file: tasks in its order, bytes of every file, and what was odd about it."""

    name: str
    version: str
    tasks: tuple[WorkflowTask, ...]
    sizes: dict[str, int]
    warnings: tuple[str, ...]
    machines: int = 0


T = TypeVar("T")
Id = Annotated[str, Field(min_length=1, max_length=4096, strict=True)]
Number = Annotated[StrictInt | StrictFloat, Field(ge=-MAX_BYTES, le=MAX_BYTES)]
Size = Annotated[StrictInt | StrictFloat, Field(ge=0, le=MAX_BYTES)]
Listed = Annotated[list[T], BeforeValidator(lambda given: [] if given is None else given)]


class _Task(BaseModel):
    """A task of the specification, of the execution, or of both together."""

    id: Id
    reads: Listed[Id] = Field([], alias="inputFiles")
    writes: Listed[Id] = Field([], alias="outputFiles")
    waits: Listed[Id] = Field([], alias="parents")
    feeds: Listed[Id] = Field([], alias="children")
    runtime: Number | None = Field(None, alias="runtimeInSeconds")
    cores: Number | None = Field(None, alias="coreCount")


class _File(BaseModel):
    id: Id
    size: Size | None = Field(None, alias="sizeInBytes")


class _Parts(BaseModel):
    tasks: Listed[_Task] = []
    files: Listed[_File] = []
    machines: Listed[Any] = []


class _Workflow(BaseModel):
    """Structure in ``specification``, run times in ``execution``."""

    specification: _Parts
    execution: _Parts | None = None


def parse_workflow(data: object, name: str) -> Workflow:
    """Read parsed JSON *data* from file *name*.

    Warned of: an input or output listed twice, a file without a size (0 bytes) or of 0 bytes, a run
    time that is missing or negative (0 s) or 0, cores that are missing (one core) or no whole number of 1
    or more, a parent that does not exist. Raises InstanceError for the rest: another version, wrong
    types, ids given twice, negative sizes, no tasks.
    """
    if not isinstance(data, Mapping):
        raise InstanceError(f"{name}: wanted an object, not {shown(data)}")
    version = data.get("schemaVersion")
    if version not in ("1.5", "1.6"):
        raise InstanceError(
            f"{name}: schemaVersion: wanted 1.5 or 1.6, not {shown(version)}; WfCommons' "
            "wfcommons-migrate-instance.py brings older files up to date"
        )
    where = f"{name}: workflow"
    given: _Workflow = validate(_Workflow, data.get("workflow"), where)
    warnings: Warnings = defaultdict(list)
    try:
        tasks, sizes = _joined(given, warnings)
        resolved = _resolve(tasks, sizes, warnings)
    except ValueError as error:
        raise InstanceError(f"{where}: {error}") from None
    title = data.get("name")
    title = title[:200] if isinstance(title, str) and title else "workflow"
    machines = 0 if given.execution is None else len(given.execution.machines)
    return Workflow(title, str(version), resolved, sizes, by_kind(warnings), machines)


def _joined(workflow: _Workflow, warnings: Warnings) -> tuple[list[_Task], dict[str, int]]:
    """The tasks with their run times, and the bytes of files."""
    sizes: dict[str, int] = {}
    for file in workflow.specification.files:
        size = None if file.size is None else math.ceil(file.size)
        if size is not None and sizes.setdefault(file.id, size) != size:
            raise ValueError(f"file {shown(file.id)} has {sizes[file.id]} and {size} bytes")
    tasks = workflow.specification.tasks
    by_id = {task.id: task for task in tasks}
    for run in workflow.execution.tasks if workflow.execution is not None else ():
        if run.id in by_id:
            task = by_id[run.id]
            task.runtime, task.cores = run.runtime, run.cores
        else:
            warnings["run times of unknown tasks were left out"].append(run.id)
    return tasks, sizes


def _resolve(
    given: list[_Task], sizes: dict[str, int], warnings: Warnings
) -> tuple[WorkflowTask, ...]:
    """Tasks with distinct inputs, known sizes and declared parents."""
    seen = Counter(task.id for task in given)
    twice = next((name for name, count in seen.items() if count > 1), None)
    if twice is not None or not given:
        raise ValueError("no tasks" if not given else f"task id {shown(twice)} is given twice")
    declared = _declared(given, warnings)
    tasks = []
    warnings["a file of 0 bytes"] += [file for file, size in sizes.items() if size == 0]
    for task in given:
        inputs = tuple(dict.fromkeys(task.reads))
        if len(inputs) < len(task.reads):
            warnings["an input listed twice was taken once, in task"].append(task.id)
        outputs = tuple(dict.fromkeys(task.writes))
        if len(outputs) < len(task.writes):
            warnings["an output listed twice was taken once, in task"].append(task.id)
        for file in (*inputs, *outputs):
            if file not in sizes:
                warnings["a file without a size counts as 0 bytes"].append(file)
                sizes[file] = 0
        if task.runtime is None:
            warnings["a task without a run time counts as 0 s"].append(task.id)
        elif task.runtime < 0:
            warnings["a negative run time counts as 0 s, in task"].append(task.id)
        elif task.runtime == 0:
            warnings["a run time of 0 s, in task"].append(task.id)
        seconds = max(0.0, float(task.runtime or 0.0))
        cores = max(1, math.ceil(task.cores or 0))
        if task.cores is None:
            warnings["a task without coreCount counts as 1 core"].append(task.id)
        elif cores != task.cores:
            what = "cores were rounded up to a whole number of 1 or more, in task"
            warnings[what].append(task.id)
        known = tuple(declared[task.id])
        tasks.append(WorkflowTask(task.id, seconds, inputs, outputs, cores, known))
    return tuple(tasks)


def _declared(given: list[_Task], warnings: Warnings) -> dict[str, dict[str, None]]:
    """Ordered sets of parents that are declared at either end."""
    parents: dict[str, dict[str, None]] = {task.id: {} for task in given}
    for task in given:
        for other in task.waits:
            if other in parents:
                parents[task.id][other] = None
            else:
                warnings["an unknown parent was left out"].append(other)
        for other in task.feeds:
            if other in parents:
                parents[other][task.id] = None
            else:
                warnings["an unknown child was left out"].append(other)
    return parents
