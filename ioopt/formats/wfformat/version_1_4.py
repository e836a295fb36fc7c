"""Convert WfFormat 1.4 to the form of 1.5, with a specification and an execution.

In 1.4 a task contains its files, cores and run time. It refers to its parents and
children by name. In 1.5 files are listed once, and tasks refer to each other by id. The
new id of a task is the one that the migration script of WfCommons gives it. This is the
name of the task, followed by the old id unless the name contains that id.
"""

from collections import Counter
from typing import Literal

from pydantic import AliasChoices, Field

from ioopt.formats.native import shown, validate
from ioopt.formats.report import Warnings
from ioopt.formats.wfformat.schema import (
    Cpu,
    File,
    Form,
    Id,
    Listed,
    Machine,
    Number,
    Parts,
    Size,
    Structure,
    Task,
)


class _File(Form):
    name: Id
    link: Literal["input", "output"]
    path: str = ""
    size: Size | None = Field(None, alias="sizeInBytes")

    @property
    def new_id(self) -> str:
        return self.path + self.name


class _Task(Form):
    name: Id
    id: Id | None = None
    parents: Listed[Id] = Field([])
    children: Listed[Id] = Field([])
    files: Listed[_File] = Field([])
    runtime: Number | None = Field(None, alias="runtimeInSeconds")
    cores: Number | None = None
    memory: Number | None = Field(None, alias="memoryInBytes")

    def new_id(self, place: int) -> str:
        """Return the id of the task in version 1.5.

        *place*, its position in the file, replaces a missing old id.
        """
        if self.id is None:
            return f"{self.name}_{place}"
        if self.id in self.name:
            return self.name
        return f"{self.name}_{self.id}"

    def linked(self, link: str) -> list[str]:
        return [file.new_id for file in self.files if file.link == link]


class _Cpu(Form):
    count: Number | None = Field(
        None, validation_alias=AliasChoices("count", "coreCount")
    )


class _Machine(Form):
    name: Id | None = Field(None, alias="nodeName")
    cpu: _Cpu | None = None


class _Workflow(Form):
    tasks: Listed[_Task] = Field([])
    machines: Listed[_Machine] = Field([])


def upgraded(data: object, where: str, warnings: Warnings) -> Structure:
    """Convert *data*, the ``workflow`` of a 1.4 file, to the form of version 1.5.

    *where* names the workflow in messages. Raises InstanceError if *data* has another
    form, and ValueError if a task refers to a name that several tasks have.
    """
    given: _Workflow = validate(_Workflow, data, where)
    ids = [task.new_id(place) for place, task in enumerate(given.tasks)]
    new_id = _references(given.tasks, ids)
    structure: list[Task] = []
    runs: list[Task] = []
    for task, name in zip(given.tasks, ids, strict=True):
        structure.append(
            Task(
                id=name,
                reads=task.linked("input"),
                writes=task.linked("output"),
                waits=[new_id.get(other, other) for other in task.parents],
                feeds=[new_id.get(other, other) for other in task.children],
            )
        )
        run = Task(id=name, runtime=task.runtime, cores=task.cores, memory=task.memory)
        runs.append(run)
    files = [
        File(id=name, size=size) for name, size in _sizes(given.tasks, warnings).items()
    ]
    machines = [
        Machine(name=machine.name, cpu=Cpu(cores=machine.cpu and machine.cpu.count))
        for machine in given.machines
    ]
    return Structure(
        specification=Parts(tasks=structure, files=files),
        execution=Parts(tasks=runs, machines=machines),
    )


def _references(tasks: list[_Task], ids: list[str]) -> dict[str, str]:
    """Return, for each name and each old id of a task, its new id.

    Raises ValueError if a task refers to a name that several tasks have.
    """
    found: dict[str, str] = {}
    for task, name in zip(tasks, ids, strict=True):
        found[task.name] = name
    for task, name in zip(tasks, ids, strict=True):
        if task.id is not None:
            found.setdefault(task.id, name)
    names = Counter(task.name for task in tasks)
    for task in tasks:
        for other in (*task.parents, *task.children):
            if names[other] > 1:
                raise ValueError(
                    f"task {shown(task.name)} refers to {shown(other)}, the name of "
                    f"{names[other]} tasks"
                )
    return found


def _sizes(tasks: list[_Task], warnings: Warnings) -> dict[str, float | None]:
    """Return the size of each file in bytes; None if no task states it.

    If tasks state different sizes, take the largest and add a warning.
    """
    found: dict[str, float | None] = {}
    for task in tasks:
        for file in task.files:
            known = found.setdefault(file.new_id, file.size)
            if known is None:
                found[file.new_id] = file.size
            elif file.size is not None and known != file.size:
                what = "a file of several sizes has the largest of them"
                warnings[what].append(file.new_id)
                found[file.new_id] = max(known, file.size)
    return found
