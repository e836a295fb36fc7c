"""Define the parts of a WfFormat 1.5 workflow that ioopt reads.

Other keys of a file are ignored.
"""

from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, StrictFloat, StrictInt

MAX_BYTES = 1 << 62

T = TypeVar("T")
Id = Annotated[str, Field(min_length=1, max_length=4096, strict=True)]
Number = Annotated[StrictInt | StrictFloat, Field(ge=-MAX_BYTES, le=MAX_BYTES)]
Size = Annotated[StrictInt | StrictFloat, Field(ge=0, le=MAX_BYTES)]


def _no_null(given: object) -> object:
    """Return *given*, or an empty list for null."""
    if given is None:
        return []
    return given


Listed = Annotated[list[T], BeforeValidator(_no_null)]


class Form(BaseModel, populate_by_name=True):
    """Base of the classes that describe parts of a workflow.

    Python code fills the fields by their names; a WfFormat file uses the aliases.
    """


class Task(Form):
    """Describe a task in the specification, in the execution, or merged from both."""

    id: Id
    reads: Listed[Id] = Field([], alias="inputFiles")
    writes: Listed[Id] = Field([], alias="outputFiles")
    waits: Listed[Id] = Field([], alias="parents")
    feeds: Listed[Id] = Field([], alias="children")
    runtime: Number | None = Field(None, alias="runtimeInSeconds")
    cores: Number | None = Field(None, alias="coreCount")
    memory: Number | None = Field(None, alias="memoryInBytes")


class File(Form):
    """Describe a file and its size in bytes."""

    id: Id
    size: Size | None = Field(None, alias="sizeInBytes")


class Cpu(Form):
    """Describe the processors of a machine."""

    cores: Number | None = Field(None, alias="coreCount")


class Machine(Form):
    """Describe a machine that tasks ran on."""

    name: Id | None = Field(None, alias="nodeName")
    cpu: Cpu | None = None


class Parts(Form):
    """List the tasks, files and machines of a specification or of an execution."""

    tasks: Listed[Task] = []
    files: Listed[File] = []
    machines: Listed[Machine] = []


class Structure(Form):
    """Describe a workflow.

    ``specification`` has its tasks and files. ``execution`` has the recorded run times
    and machines.
    """

    specification: Parts
    execution: Parts | None = None
