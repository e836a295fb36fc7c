"""The parts of a WfFormat 1.5 workflow that are read; keys that are not named
here are left alone.
"""

from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, StrictFloat, StrictInt

MAX_BYTES = 1 << 62

T = TypeVar("T")
Id = Annotated[str, Field(min_length=1, max_length=4096, strict=True)]
Number = Annotated[StrictInt | StrictFloat, Field(ge=-MAX_BYTES, le=MAX_BYTES)]
Size = Annotated[StrictInt | StrictFloat, Field(ge=0, le=MAX_BYTES)]
Listed = Annotated[
    list[T], BeforeValidator(lambda given: [] if given is None else given)
]


class Form(BaseModel, populate_by_name=True):
    """Base of the parts, which code may also make by the names of their fields."""


class Task(Form):
    """A task of the specification, of the execution, or of both together."""

    id: Id
    reads: Listed[Id] = Field([], alias="inputFiles")
    writes: Listed[Id] = Field([], alias="outputFiles")
    waits: Listed[Id] = Field([], alias="parents")
    feeds: Listed[Id] = Field([], alias="children")
    runtime: Number | None = Field(None, alias="runtimeInSeconds")
    cores: Number | None = Field(None, alias="coreCount")


class File(Form):
    """A file and its size."""

    id: Id
    size: Size | None = Field(None, alias="sizeInBytes")


class Cpu(Form):
    """What a machine computes with."""

    cores: Number | None = Field(None, alias="coreCount")


class Machine(Form):
    """A machine that tasks ran on."""

    name: Id | None = Field(None, alias="nodeName")
    cpu: Cpu | None = None


class Parts(Form):
    """The lists of a specification or of an execution."""

    tasks: Listed[Task] = []
    files: Listed[File] = []
    machines: Listed[Machine] = []


class Structure(Form):
    """Structure in ``specification``, run times in ``execution``."""

    specification: Parts
    execution: Parts | None = None
