"""The form of ``schedule`` in results, by kind: what a program other
than ioopt must write.

Only the form is held here; whether a schedule is true is for the checkers. A key that
is not listed is refused, as nothing would read it; what its writer wants to keep beside
stands in ``meta`` of the result. Times in seconds, rates in bytes per second.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ioopt.problems.base import Amount, Count, JobId, Name, NodeNumber, Real, Seconds

Seed = Annotated[int, Field(ge=0, lt=2**63, strict=True)]


class Part(BaseModel):
    """A part of a schedule."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Interval(Part):
    """From a start to an end."""

    start_seconds: Real
    end_seconds: Real


class TaskRun(Interval):
    """A task on a node; ``cores`` are the numbers of those it takes, ``critical``
    what set the makespan.
    """

    id: Name
    node: Name
    cores: tuple[NodeNumber, ...] | None = None
    critical: bool | None = None


class Transfer(Interval):
    """A file that moves to a node (None: to the storage) from another or
    (None) from the storage.
    """

    file: Name
    source: Name | None
    destination: Name | None
    critical: bool | None = None


class Eviction(Part):
    """A file that leaves a disk."""

    file: Name
    node: Name
    seconds: Real


class CopyDone(Eviction):
    """A copy entry of a queue, and when its file was there."""


class DiskUse(Part):
    """A node's disk: its ``bytes``, and (seconds, bytes) of what is
    used and still wanted.
    """

    bytes: Count | None = None
    used: tuple[tuple[Seconds, Count], ...] = ()
    live: tuple[tuple[Seconds, Count], ...] = ()


class ReplicationSchedule(Part):
    """When tasks run and files move; ``disks`` of workflows what is on each node."""

    tasks: tuple[TaskRun, ...]
    transfers: tuple[Transfer, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    copy_entries: tuple[CopyDone, ...] = ()
    link: Name | None = None
    disks: dict[Name, DiskUse] | None = None
    actual_compute_seconds: dict[Name, Seconds] | None = None


class IoRecord(Part):
    """One I/O request of a job: when it was made, first served and done; its
    (from, until, rate).
    """

    phase: Count
    request_seconds: Real | None
    first_grant_seconds: Real | None
    finish_seconds: Real | None
    rates: tuple[tuple[Real, Real, Real], ...] | None = None
    exact: dict[Name, Name | None] | None = None


class StreamRecord(IoRecord):
    """What moved between buffer and storage: stage-in, drain of a phase, stage-out
    (rule 41 of batch I/O).
    """

    kind: Literal["in", "drain", "out"]
    phase: Annotated[int, Field(ge=-1, strict=True)]


class BatchIoJobRun(Interval):
    """A batch job with its I/O, and what its burst buffer does where there is one.

    ``allocated_nodes`` are its partition's, from ``first_node`` on, or the
    ``nodes`` by number.
    """

    id: JobId
    killed: bool
    io: tuple[IoRecord, ...]
    allocated_nodes: Count | None = None
    first_node: NodeNumber | None = None
    nodes: tuple[NodeNumber, ...] | None = None
    buffered: bool | None = None
    exact: dict[Name, Name | None] | None = None
    released_seconds: Real | None = None
    streams: tuple[StreamRecord, ...] | None = None


class BatchIoSchedule(Part):
    """When batch jobs run and transfer; ``exact`` are metrics as fractions."""

    jobs: tuple[BatchIoJobRun, ...]
    storage_bytes_per_second: Real | None = None
    exact: dict[Name, Name | None] | None = None


class GangJobRun(Part):
    """A gang of a workload."""

    id: JobId
    start_seconds: Real
    finish_seconds: Real
    local: bool | None = None
    start_exact: Name | None = None
    finish_exact: Name | None = None


class Placed(Part):
    """Where a gang stands in the matrix."""

    id: JobId
    columns: Annotated[tuple[NodeNumber, ...], Field(min_length=1)]
    home_row: NodeNumber
    rows: Annotated[tuple[NodeNumber, ...], Field(min_length=1)]
    local: bool | None = None


class MatrixUpdate(Part):
    """One update of the matrix: who left it and who was placed."""

    seconds: Real
    left: tuple[JobId, ...]
    placed: tuple[Placed, ...]


class GangSchedule(Part):
    """When gangs run; ``updates`` is the history of the matrix where it was kept."""

    jobs: tuple[GangJobRun, ...]
    updates: tuple[MatrixUpdate, ...] | None = None


class Measured(Part):
    """The options of a seeded replay, so that it can be repeated."""

    seed: Seed | None = None
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1, max_length=64)] | None = None
    seconds: Annotated[float, Field(gt=0, le=10_000)] | None = None


class Slot(Interval):
    """A slot of a job in the cycle."""

    job: Name
    kind: Name


class QuantumCycle(Part):
    """The slots of one cycle."""

    cycle_seconds: Real
    slots: tuple[Slot, ...]
    measured: Measured | None = None


Columns = tuple[NodeNumber, NodeNumber]
"""From a column up to and without another."""


class Cell(Interval):
    """A job in a strict row."""

    job: Name
    kind: Name
    columns: Columns
    row: NodeNumber | None = None


class LooseJob(Part):
    """A job in the loose windows."""

    job: Name
    columns: Columns


class Filler(LooseJob):
    """A compute job that takes CPU time which others leave, so many seconds a frame."""

    tau_seconds: Real


class FlexibleFrame(Part):
    """One frame: strict rows, loose windows and who uses them."""

    frame_seconds: Real
    num_columns: NodeNumber
    windows: tuple[Interval, ...]
    rows: tuple[Cell, ...]
    loose_io: tuple[LooseJob, ...]
    fill: tuple[Filler, ...] = ()
    measured: Measured | None = None


class TaskSpan(Interval):
    """A task of a work directory, with the step of the workflow that it is of."""

    id: Name
    stage: Name | None = None


Step = tuple[Amount, Annotated[int, Field(ge=0, strict=True)]]
"""An instant and the bytes inside from then on: sums of many times and of many sizes,
which may be larger than any time or size of an instance."""


class WorkDirectorySchedule(Part):
    """When tasks run, and (seconds, bytes) of the use at each change, also by
    stage of the workflow.
    """

    tasks: tuple[TaskSpan, ...]
    use: tuple[Step, ...] = ()
    stages: dict[Name, tuple[Step, ...]] = {}
    quota_bytes: Count | None = None
    actual_compute_seconds: dict[Name, Seconds] | None = None
