"""Classes that define the form of a ``schedule`` in results, for each kind of instance.

Programs that write results can use them. The classes define the form only; checkers
decide whether a schedule is right. Unknown keys are refused, because nothing would read
them. A program can store data of its own in ``meta`` of the result. Times are in
seconds, rates in bytes per second.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from ioopt.problems.base import Amount, Count, JobId, Name, NodeNumber, Real, Seconds

Seed = Annotated[int, Field(ge=0, lt=2**63, strict=True)]


class Part(BaseModel):
    """A part of a schedule."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Interval(Part):
    """A span of time from a start to an end."""

    start_seconds: Real
    end_seconds: Real


class TaskRun(Interval):
    """The run of a task on a node.

    ``cores`` are the numbers of the cores that the task uses. ``critical`` says whether
    the task is on the chain that determines the makespan.
    """

    id: Name
    node: Name
    cores: tuple[NodeNumber, ...] | None = None
    critical: bool | None = None


class Transfer(Interval):
    """The transfer of a file from *source* to *destination*; None is the remote
    storage.
    """

    file: Name
    source: Name | None
    destination: Name | None
    critical: bool | None = None


class Eviction(Part):
    """The removal of a file from the disk of a node."""

    file: Name
    node: Name
    seconds: Real


class CopyDone(Eviction):
    """A copy entry of a node's queue, and the time at which its file had arrived.

    ``cores`` has the number of the core that it took for this instant.
    """

    cores: tuple[NodeNumber, ...] | None = None


class DiskUse(Part):
    """The disk of a node: its size in ``bytes``, and its use over time.

    ``used`` and ``live`` are lists of (seconds, bytes). ``live`` counts only the files
    that are still needed.
    """

    bytes: Count | None = None
    used: tuple[tuple[Seconds, Count], ...] = ()
    live: tuple[tuple[Seconds, Count], ...] = ()


class ReplicationSchedule(Part):
    """The times at which tasks run and files move.

    For workflows, ``disks`` has the use of each disk.
    """

    tasks: tuple[TaskRun, ...]
    transfers: tuple[Transfer, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    copy_entries: tuple[CopyDone, ...] = ()
    link: Name | None = None
    disks: dict[Name, DiskUse] | None = None
    actual_compute_seconds: dict[Name, Seconds] | None = None


class IoRecord(Part):
    """One I/O request of a job, and the times at which it was made, first served and
    done.

    ``rates`` has a row (from, until, bytes per second) for each span with a rate above
    0.
    """

    phase: Count
    request_seconds: Real | None
    first_grant_seconds: Real | None
    finish_seconds: Real | None
    rates: tuple[tuple[Real, Real, Real], ...] | None = None
    exact: dict[Name, Name | None] | None = None


class BatchIoJobRun(Interval):
    """The run of a batch job with its I/O.

    ``allocated_nodes`` is the number of nodes allocated to the job. They are a
    partition that begins at ``first_node``, or the numbered ``nodes``, or any nodes of
    a flat machine.
    """

    LEFT: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("buffered", "released_seconds", "streams"),
        "burst buffers have left ioopt; remove their keys from the instance and solve "
        "it again",
    )

    id: JobId
    killed: bool
    io: tuple[IoRecord, ...]
    allocated_nodes: Count | None = None
    first_node: NodeNumber | None = None
    nodes: tuple[NodeNumber, ...] | None = None
    exact: dict[Name, Name | None] | None = None


class BatchIoSchedule(Part):
    """The times at which batch jobs run and do I/O.

    ``exact`` has metrics as fractions.
    """

    jobs: tuple[BatchIoJobRun, ...]
    storage_bytes_per_second: Real | None = None
    exact: dict[Name, Name | None] | None = None


class GangJobRun(Part):
    """The run of one gang of a workload."""

    id: JobId
    start_seconds: Real
    finish_seconds: Real
    local: bool | None = None
    start_exact: Name | None = None
    finish_exact: Name | None = None


class Placed(Part):
    """The place of a gang in the matrix: its columns, its home row and all its rows."""

    id: JobId
    columns: Annotated[tuple[NodeNumber, ...], Field(min_length=1)]
    home_row: NodeNumber
    rows: Annotated[tuple[NodeNumber, ...], Field(min_length=1)]
    local: bool | None = None


class MatrixUpdate(Part):
    """One update of the matrix: the gangs that left it, and those that were placed in
    it.
    """

    seconds: Real
    left: tuple[JobId, ...]
    placed: tuple[Placed, ...]


class GangSchedule(Part):
    """The times at which gangs run.

    ``updates`` is the history of the matrix, if it was recorded.
    """

    jobs: tuple[GangJobRun, ...]
    updates: tuple[MatrixUpdate, ...] | None = None


class Measured(Part):
    """The options of a replay with random numbers, with which it can be repeated."""

    seed: Seed | None = None
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1, max_length=64)] | None = None
    seconds: Annotated[float, Field(gt=0, le=10_000)] | None = None


class Slot(Interval):
    """A slot of a job in a cycle of quanta."""

    job: Name
    kind: Name


class QuantumCycle(Part):
    """The slots of one cycle of quanta."""

    cycle_seconds: Real
    slots: tuple[Slot, ...]
    measured: Measured | None = None


Columns = tuple[NodeNumber, NodeNumber]
"""The first column, and the column after the last one."""


class Cell(Interval):
    """A job in a strict row of a frame."""

    job: Name
    kind: Name
    columns: Columns
    row: NodeNumber | None = None


class LooseJob(Part):
    """A job in the loose windows of a frame."""

    job: Name
    columns: Columns


class Filler(LooseJob):
    """A compute job that uses CPU time which other jobs leave unused.

    It uses ``tau_seconds`` in each frame.
    """

    tau_seconds: Real


class FlexibleFrame(Part):
    """One frame: its strict rows, its loose windows and the jobs that use them."""

    frame_seconds: Real
    num_columns: NodeNumber
    windows: tuple[Interval, ...]
    rows: tuple[Cell, ...]
    loose_io: tuple[LooseJob, ...]
    fill: tuple[Filler, ...] = ()
    measured: Measured | None = None


class TaskSpan(Interval):
    """The run of a task of a work directory, with the stage of the workflow it belongs
    to.
    """

    id: Name
    stage: Name | None = None


Step = tuple[Amount, Annotated[int, Field(ge=0, strict=True)]]
"""A time and the bytes in the directory from then on.

Both are sums and may exceed the largest time and size of an instance.
"""


class WorkDirectorySchedule(Part):
    """The times at which tasks run, and the bytes in the directory over time.

    ``use`` has all bytes, ``stages`` the bytes of each stage of the workflow.
    """

    tasks: tuple[TaskSpan, ...]
    use: tuple[Step, ...] = ()
    stages: dict[Name, tuple[Step, ...]] = {}
    quota_bytes: Count | None = None
    actual_compute_seconds: dict[Name, Seconds] | None = None
