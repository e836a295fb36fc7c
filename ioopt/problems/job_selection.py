"""Which ready jobs of a workflow to start now: the question that a workflow engine asks (ours)."""

from collections import Counter
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ioopt.problems.base import Count, Name, Plan, Problem, Record, require_known, require_unique

Priority = Annotated[int, Field(ge=-(10**6), le=10**6, strict=True)]
"""A job's priority; of jobs that cannot run together the higher one goes first."""
Cores = Annotated[int, Field(ge=1, le=10**6, strict=True)]


class TempFile(Record):
    """A temporary file: it can be deleted once all its readers have run.

    ``readers`` are the jobs that read it and have not run yet (None: those of the instance).
    """

    id: Name
    bytes: Count
    readers: Annotated[int, Field(ge=1, le=10**9, strict=True)] | None = None


class SelectionJob(Record):
    """A ready job: what it holds while it runs, the temporary files it reads, all it reads."""

    id: Name
    priority: Priority = 0
    cores: Cores = 1
    resources: dict[Name, Count] = Field(default_factory=dict)
    temp: tuple[Name, ...] = ()
    input_bytes: Count = 0


class JobSelectionProblem(Problem):
    """Ready jobs under capacities; a resource without a capacity is unlimited.

    A selection is worth, each term weighed above all that follow: its priorities, the cores it puts
    to work, the gigabytes of temporary files that can then be deleted, and its part in reading
    those that cannot yet.
    """

    format: Literal["ioopt/job-selection"] = "ioopt/job-selection"
    capacities: dict[Name, Count]
    files: tuple[TempFile, ...] = ()
    jobs: tuple[SelectionJob, ...]

    @model_validator(mode="after")
    def _check(self) -> Self:
        require_unique("files", (file.id for file in self.files))
        require_unique("jobs", (job.id for job in self.jobs))
        known = {file.id: file for file in self.files}
        for at, job in enumerate(self.jobs):
            for name in job.temp:
                require_known(f"jobs[{at}].temp", name, known, "file")
            require_unique(f"jobs[{at}].temp", job.temp)
        for at, file in enumerate(self.files):
            if file.readers is not None and file.readers < self.ready_readers[file.id]:
                raise ValueError(
                    f"files[{at}].readers: {file.readers} for {file.id!r}, which "
                    f"{self.ready_readers[file.id]} of the jobs read"
                )
        return self

    @cached_property
    def ready_readers(self) -> Counter[str]:
        """How many of the ready jobs read each temporary file."""
        return Counter(name for job in self.jobs for name in job.temp)

    @cached_property
    def readers(self) -> dict[str, int]:
        """How many jobs that have not run read each temporary file."""
        return {file.id: file.readers or self.ready_readers[file.id] for file in self.files}


class JobSelectionPlan(Plan):
    """The jobs to start now."""

    chosen: tuple[Name, ...]
