"""Read tasks, file sizes and machines from WfFormat JSON, and warn about oddities."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ioopt.errors import InstanceError
from ioopt.formats.cluster import RecordedNode
from ioopt.formats.native import shown, validate
from ioopt.formats.report import Warnings, by_kind
from ioopt.formats.wfformat.schema import File, Machine, Structure, Task
from ioopt.formats.wfformat.version_1_4 import upgraded

VERSIONS = ("1.4", "1.5", "1.6")


@dataclass(frozen=True)
class WorkflowTask:
    """Describe one task of a workflow.

    ``runtime`` is in seconds, ``memory`` in bytes. ``inputs`` and ``outputs`` name each
    file once.
    ``declared`` are the parents that the workflow file states; other parents follow
    from files.
    """

    id: str
    runtime: float
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    cores: int
    declared: tuple[str, ...]
    memory: int = 0


@dataclass(frozen=True)
class Workflow:
    """Represent a parsed WfFormat file.

    The tasks are in the order of the file. ``sizes`` has the bytes of each file.
    """

    name: str
    version: str
    tasks: tuple[WorkflowTask, ...]
    sizes: dict[str, int]
    warnings: tuple[str, ...]
    machines: tuple[RecordedNode, ...] = ()


def parse_workflow(data: object, name: str) -> Workflow:
    """Return the workflow in *data*, the parsed JSON of the file *name*.

    Each of these oddities gets a warning:

    - an input or output that is listed twice,
    - a file of 0 bytes, or without a size (read as 0 bytes),
    - a run time of 0 s, or one that is missing or negative (read as 0 s),
    - a number of cores that is missing (read as 1), or not a whole number of 1 or more,
    - a parent or child that does not exist,
    - no files and no precedence in the whole workflow.

    Raises InstanceError for other faults: an unknown version, wrong types, items given
    twice, negative sizes, no tasks.
    """
    if not isinstance(data, Mapping):
        raise InstanceError(f"{name}: wanted an object, not {shown(data)}")
    version = _version(data.get("schemaVersion"), name)
    where = f"{name}: workflow"
    warnings: Warnings = defaultdict(list)
    try:
        given = _structure(data.get("workflow"), version, where, warnings)
        _check_tasks(given.specification.tasks)
        tasks, sizes = _joined(given, warnings)
        resolved = _resolve(tasks, sizes, warnings)
        machines = _machines(given, warnings)
    except ValueError as error:
        raise InstanceError(f"{where}: {error}") from None
    if not any(task.inputs or task.outputs or task.declared for task in resolved):
        warnings["neither files nor precedence: all tasks are independent"].append(
            resolved[0].id
        )
    title = "workflow"
    if isinstance(data.get("name"), str) and data["name"]:
        title = data["name"][:200]
    return Workflow(title, version, resolved, sizes, by_kind(warnings), machines)


def _version(given: object, name: str) -> str:
    """Return the version of a file as text.

    The schema requires text, but a number is accepted. Raises InstanceError for a
    version that ioopt does not read.
    """
    said = given
    if isinstance(given, float):
        said = str(given)
    if said not in VERSIONS:
        raise InstanceError(
            f"{name}: schemaVersion: wanted one of {', '.join(VERSIONS)}, not "
            f"{shown(given)}; WfCommons' wfcommons-migrate-instance.py brings older "
            "files up to date"
        )
    return str(said)


def _structure(data: object, version: str, where: str, warnings: Warnings) -> Structure:
    """Return *data*, the ``workflow`` of a file of *version*, in the form of version
    1.5.
    """
    if version == "1.4":
        return upgraded(data, where, warnings)
    found: Structure = validate(Structure, data, where)
    return found


def _check_tasks(tasks: list[Task]) -> None:
    """Raise ValueError if there are no tasks, or if two tasks have the same id."""
    if not tasks:
        raise ValueError("no tasks")
    for name, count in Counter(task.id for task in tasks).items():
        if count > 1:
            raise ValueError(f"task id {shown(name)} is given twice")


def _joined(
    workflow: Structure, warnings: Warnings
) -> tuple[list[Task], dict[str, int]]:
    """Return the tasks with their recorded run times and cores, and all file sizes.

    Sizes are in bytes. Raises ValueError if the execution has the same task twice.
    """
    sizes = _file_sizes(workflow.specification.files, warnings)
    tasks = workflow.specification.tasks
    by_id = {task.id: task for task in tasks}
    runs: dict[str, Task] = {}
    recorded = [] if workflow.execution is None else workflow.execution.tasks
    for run in recorded:
        first = runs.setdefault(run.id, run)
        if first is not run:
            raise ValueError(
                f"execution: task {shown(run.id)} is given twice ({_seconds(first)} "
                f"and {_seconds(run)}); leave out one"
            )
        if run.id in by_id:
            by_id[run.id].runtime = run.runtime
            by_id[run.id].cores = run.cores
            by_id[run.id].memory = run.memory
        else:
            warnings["run times of unknown tasks were left out"].append(run.id)
    return tasks, sizes


def _file_sizes(files: list[File], warnings: Warnings) -> dict[str, int]:
    """Return the bytes of each file that states a size, rounded up.

    Raises ValueError if a file is listed twice with different sizes.
    """
    sizes: dict[str, int] = {}
    for file in files:
        if file.size is None:
            continue
        size = math.ceil(file.size)
        if sizes.setdefault(file.id, size) != size:
            raise ValueError(
                f"file {shown(file.id)} has {sizes[file.id]} and {size} bytes"
            )
    _warn_of_repeats([file.id for file in files], "a file", warnings)
    return sizes


def _seconds(run: Task) -> str:
    """Return the run time of *run* as text for a message."""
    if run.runtime is None:
        return "no run time"
    return f"{run.runtime:g} s"


def _warn_of_repeats(ids: Iterable[str], what: str, warnings: Warnings) -> None:
    """Add a warning of the ids that are listed more than once; *what* is an item with
    an id.
    """
    repeated = [name for name, count in Counter(ids).items() if count > 1]
    if repeated:
        warnings[f"{what} that is listed twice was taken once"] += repeated


def _machines(workflow: Structure, warnings: Warnings) -> tuple[RecordedNode, ...]:
    """Return the machines of the execution, each once, with their cores if recorded."""
    given = [] if workflow.execution is None else workflow.execution.machines
    found: dict[str, RecordedNode] = {}
    names = [machine.name or f"n{place}" for place, machine in enumerate(given)]
    for name, machine in zip(names, given, strict=True):
        node = RecordedNode(name, _machine_cores(machine, name, warnings))
        if found.setdefault(name, node) != node:
            raise ValueError(
                f"execution: machine {shown(name)} is given twice, with other cores"
            )
    _warn_of_repeats(names, "a machine", warnings)
    return tuple(found.values())


def _machine_cores(machine: Machine, name: str, warnings: Warnings) -> int | None:
    """Return the number of cores recorded for *machine*, or None if there is none.

    A number that is not whole or is below 1 is dropped with a warning.
    """
    if machine.cpu is None or machine.cpu.cores is None:
        return None
    cores = machine.cpu.cores
    if cores < 1 or cores != int(cores):
        what = "a machine's coreCount is no whole number of 1 or more, and not used"
        warnings[what].append(name)
        return None
    return int(cores)


def _resolve(
    given: list[Task], sizes: dict[str, int], warnings: Warnings
) -> tuple[WorkflowTask, ...]:
    """Return the tasks with each input and output once, and with all values filled in.

    A file without a size is added to *sizes* with 0 bytes. Each correction is added to
    *warnings*.
    """
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
        tasks.append(
            WorkflowTask(
                task.id,
                _run_seconds(task, warnings),
                inputs,
                outputs,
                _cores(task, warnings),
                tuple(declared[task.id]),
                _memory(task, warnings),
            )
        )
    return tuple(tasks)


def _run_seconds(task: Task, warnings: Warnings) -> float:
    """Return the run time of *task* in seconds; 0 if missing or negative."""
    if task.runtime is None:
        warnings["a task without a run time counts as 0 s"].append(task.id)
        return 0.0
    if task.runtime < 0:
        warnings["a negative run time counts as 0 s, in task"].append(task.id)
    elif task.runtime == 0:
        warnings["a run time of 0 s, in task"].append(task.id)
    return max(0.0, float(task.runtime))


def _cores(task: Task, warnings: Warnings) -> int:
    """Return the number of cores of *task*, rounded up to a whole number above 0."""
    if task.cores is None:
        warnings["a task without coreCount counts as 1 core"].append(task.id)
        return 1
    cores = max(1, math.ceil(task.cores))
    if cores != task.cores:
        what = "cores were rounded up to a whole number of 1 or more, in task"
        warnings[what].append(task.id)
    return cores


def _memory(task: Task, warnings: Warnings) -> int:
    """Return the memory of *task* in bytes, rounded up; 0 if missing or negative."""
    if task.memory is None:
        return 0
    if task.memory < 0:
        what = "a negative memoryInBytes counts as 0 bytes, in task"
        warnings[what].append(task.id)
    return max(0, math.ceil(task.memory))


def _declared(given: list[Task], warnings: Warnings) -> dict[str, dict[str, None]]:
    """Return, for each task, its parents as the keys of a dictionary.

    A parent is declared by the task as its parent, or declares the task as its child.
    """
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
