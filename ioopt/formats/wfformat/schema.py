"""Define the parts of a WfFormat 1.5 workflow that are read; other keys are ignored."""

from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, StrictFloat, StrictInt

MAX_BYTES = 1 << 62

T = TypeVar("T")
Id = Annotated[str, Field(min_length=1, max_length=4096, strict=True)]
Number = Annotated[StrictInt | StrictFloat, Field(ge=-MAX_BYTES, le=MAX_BYTES)]
Size = Annotated[StrictInt | StrictFloat, Field(ge=0, le=MAX_BYTES)]


def _no_null(given: object) -> object:
    """Return an empty list for null."""
    if given is None:
        return []
    return given


Listed = Annotated[list[T], BeforeValidator(_no_null)]


class Form(BaseModel, populate_by_name=True):
    """Define the base of the parts.

    Code builds them by field names, files by the aliases.
    """


class Task(Form):
    """Describe a task of the specification, of the execution, or of both together."""

    id: Id
    reads: Listed[Id] = Field([], alias="inputFiles")
    writes: Listed[Id] = Field([], alias="outputFiles")
    waits: Listed[Id] = Field([], alias="parents")
    feeds: Listed[Id] = Field([], alias="children")
    runtime: Number | None = Field(None, alias="runtimeInSeconds")
    cores: Number | None = Field(None, alias="coreCount")


class File(Form):
    """Describe a file and its size."""

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
    """Describe the lists in a specification or in an execution."""

    tasks: Listed[Task] = []
    files: Listed[File] = []
    machines: Listed[Machine] = []


class Structure(Form):
    """Describe a workflow: its structure in ``specification``, run times in
    ``execution``.
    """

    specification: Parts
    execution: Parts | None = None
