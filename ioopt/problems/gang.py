"""Problems and plans of gang scheduling for jobs with local files (Zhang et al.).

The files of a job are on nodes of the machine. ``ioopt/gang`` is a workload,
``ioopt/gang-matrix`` one scheduling decision. Nodes and rows are numbered from 0. A job
has as many tasks as file nodes. Times are in seconds. See Section 2 of the paper.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ioopt.problems import base
from ioopt.units import exact

_CEIL_SLACK = Fraction(1, 10**9)

MAX_LEVELS = 1 << 12
"""Largest number of rows of a matrix."""
MAX_CELLS = 1 << 28
"""Largest number of cells of a matrix, which are stored as bits (32 MiB)."""
RemainingFraction = Annotated[
    float, Field(gt=0, le=1, strict=True, allow_inf_nan=False)
]


class Machine(base.Record):
    """A gang-scheduled machine.

    ``nodes`` is the number of nodes (P), ``levels`` the number of rows of the
    Ousterhout matrix (M), and ``quantum_seconds`` the time slice of a row (T).
    ``migration_seconds`` (C) is the time that a migrated job pays once.
    ``migration_tasks_per_quantum`` (Q) is the number of tasks that may change their
    node within one slice; None means no limit.
    """

    nodes: Annotated[int, Field(ge=1, le=base.MAX_NODES, strict=True), base.Whole]
    levels: Annotated[int, Field(ge=1, le=MAX_LEVELS, strict=True), base.Whole]
    quantum_seconds: base.PositiveSeconds
    migration_seconds: base.Seconds = 0.0
    migration_tasks_per_quantum: base.Count | None = None

    @model_validator(mode="after")
    def _matrix_fits(self) -> Self:
        if self.nodes * self.levels > MAX_CELLS:
            raise ValueError(
                f"nodes {self.nodes} x levels {self.levels}: a matrix has at most "
                f"{MAX_CELLS} cells"
            )
        return self


class BlockTimes(base.Record):
    """Seconds to read one block from the local disk and from a remote disk."""

    local_seconds_per_block: base.Seconds
    remote_seconds_per_block: base.Seconds


class Job(base.Record):
    """A gang with one task for each of its ``file_nodes``.

    The job either states ``local_seconds`` (L), its run time with all input local, and
    ``remote_seconds`` (R), that with all input remote. Or it states the three
    quantities of Section 2.3 from which L and R follow: ``compute_seconds`` (t_C),
    ``io_interarrival_seconds`` (d_I) and ``blocks_per_request`` (n_B).
    """

    id: base.JobId
    arrival_seconds: base.Seconds
    file_nodes: tuple[base.Count, ...]
    local_seconds: base.PositiveSeconds | None = None
    remote_seconds: base.PositiveSeconds | None = None
    compute_seconds: base.PositiveSeconds | None = None
    io_interarrival_seconds: base.PositiveSeconds | None = None
    blocks_per_request: base.PositiveCount | None = None

    @property
    def size(self) -> int:
        """Return the number of tasks, which is the number of file nodes."""
        return len(self.file_nodes)


class GangProblem(base.Problem):
    """A workload of gangs for one machine.

    Raises a validation error that names the job for file nodes outside the machine,
    jobs larger than the machine, repeated ids, and times that are missing or contradict
    each other.
    """

    format: Literal["ioopt/gang"] = "ioopt/gang"
    machine: Machine
    io: BlockTimes | None = None
    jobs: Annotated[Sequence[Job], base.Columnar()] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if isinstance(self.jobs, base.HeldAsColumns) and self.jobs.fit(self.machine):
            return self
        base.require_unique("jobs", (job.id for job in self.jobs))
        base.require_one_id_type("jobs", (job.id for job in self.jobs))
        for k, job in enumerate(self.jobs):
            where = f"jobs[{k}] ({job.id})"
            _check_nodes(f"{where}.file_nodes", job.file_nodes, self.machine.nodes)
            _check_times(where, job, self.io)
        return self

    @cached_property
    def exact_times(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return, for each job, L and R (rule 6) in seconds as exact fractions.

        Numbers of the file count as the decimals that are written there.
        """
        return tuple(_times(job, self.io) for job in self.jobs)

    @cached_property
    def times(self) -> tuple[tuple[float, float], ...]:
        """Return, for each job, its local time L and its remote time R in seconds."""
        times: list[tuple[float, float]] = []
        for job in self.jobs:
            if job.local_seconds is not None and job.remote_seconds is not None:
                times.append((job.local_seconds, job.remote_seconds))
            else:
                local, remote = _times(job, self.io)
                times.append((float(local), float(remote)))
        return tuple(times)

    @cached_property
    def fcfs(self) -> tuple[int, ...]:
        """Return the positions of the jobs in order of arrival.

        Jobs that arrive at the same time are in the order of the file.
        """
        return tuple(
            sorted(range(len(self.jobs)), key=lambda k: self.jobs[k].arrival_seconds)
        )


def _times(job: Job, io: BlockTimes | None) -> tuple[Fraction, Fraction]:
    if job.local_seconds is not None and job.remote_seconds is not None:
        return exact(job.local_seconds), exact(job.remote_seconds)
    assert io is not None and job.compute_seconds is not None
    assert (
        job.io_interarrival_seconds is not None and job.blocks_per_request is not None
    )
    compute = exact(job.compute_seconds)
    # Exact values, because the quotient of two floats may lie slightly above a whole
    # number and would then be rounded up.
    requests = math.ceil(compute / exact(job.io_interarrival_seconds) - _CEIL_SLACK)
    blocks = requests * job.blocks_per_request
    return (
        compute + blocks * exact(io.local_seconds_per_block),
        compute + blocks * exact(io.remote_seconds_per_block),
    )


DIRECT = ("local_seconds", "remote_seconds")
"""Keys of a job that states its times L and R."""
DERIVED = ("compute_seconds", "io_interarrival_seconds", "blocks_per_request")
"""Keys of a job whose times L and R are computed."""


def _check_times(where: str, job: Job, io: BlockTimes | None) -> None:
    """Raise ValueError for times that are missing or contradict each other."""
    direct = any(getattr(job, key) is not None for key in DIRECT)
    derived = any(getattr(job, key) is not None for key in DERIVED)
    if direct == derived:
        raise ValueError(
            f"{where}: give either local_seconds and remote_seconds, or "
            "compute_seconds, io_interarrival_seconds and blocks_per_request"
        )
    wanted: tuple[str, ...] = DIRECT
    if derived:
        wanted = DERIVED
    for key in wanted:
        if getattr(job, key) is None:
            raise ValueError(f"{where}: {key} is missing")
    if derived and io is None:
        raise ValueError(
            f"{where}: compute_seconds needs io.local_seconds_per_block and "
            "io.remote_seconds_per_block at the top of the file"
        )
    times: tuple[Fraction, Fraction] | tuple[float, float]
    if job.local_seconds is not None and job.remote_seconds is not None:
        # Decimals are in the order of their floats, which are compared much faster.
        times = job.local_seconds, job.remote_seconds
    else:
        times = _times(job, io)
    local, remote = map(float, times)
    if times[1] < times[0]:
        raise ValueError(
            f"{where}: remote_seconds {remote:g} is less than local_seconds {local:g}"
        )


def _check_nodes(where: str, nodes: tuple[int, ...], count: int) -> None:
    if not nodes:
        raise ValueError(f"{where}: is empty, but a job needs at least one file node")
    if len(nodes) > count:
        raise ValueError(
            f"{where}: {len(nodes)} nodes, but the machine has only {count}"
        )
    if max(nodes) >= count:
        raise ValueError(
            f"{where}: node {max(nodes)} is outside the machine, whose nodes are "
            f"0 .. {count - 1}"
        )
    if len(set(nodes)) != len(nodes):
        repeated = next(node for node in nodes if nodes.count(node) > 1)
        raise ValueError(f"{where}: node {repeated} is listed twice")


def mask_of(nodes: Iterable[int]) -> int:
    """Return the bitmask of a set of nodes or rows.

    >>> mask_of([0, 2])
    5
    """
    mask = 0
    for node in nodes:
        mask |= 1 << node
    return mask


def nodes_of(mask: int) -> tuple[int, ...]:
    """Return the nodes or rows of a bitmask, ascending.

    >>> nodes_of(5)
    (0, 2)
    """
    nodes = []
    while mask:
        low = mask & -mask
        nodes.append(low.bit_length() - 1)
        mask ^= low
    return tuple(nodes)


class GangPlan(base.Plan):
    """A policy with its settings; a replay on the workload gives the schedule."""

    policy: base.Name
    settings: base.Json = Field(default_factory=dict)


class MatrixJob(base.Record):
    """A waiting job in a snapshot: its times, its remaining work and past service."""

    id: base.JobId
    file_nodes: tuple[base.Count, ...]
    local_seconds: base.PositiveSeconds
    remote_seconds: base.PositiveSeconds
    remaining_fraction: RemainingFraction = 1.0
    attained_seconds: base.Seconds = 0.0
    arrival_seconds: base.Seconds | None = None
    stall_seconds: base.Seconds = 0.0

    @property
    def size(self) -> int:
        """Return the number of tasks, which is the number of file nodes."""
        return len(self.file_nodes)


class RunningJob(MatrixJob):
    """A job in the matrix, with its columns and its home row."""

    columns: tuple[base.Count, ...]
    home_row: base.Count


class GangMatrixProblem(base.Problem):
    """One scheduling decision: the matrix of home instances, and the queue.

    ``running`` is in order of start, ``waiting`` in FCFS order.
    ``migration_tasks_left`` is the part of Q that is left in this slice. None means no
    limit; if the key is absent, all of Q is left. ``now_seconds`` and the
    ``arrival_seconds`` of jobs are needed only if the age of a waiting job matters.
    """

    format: Literal["ioopt/gang-matrix"] = "ioopt/gang-matrix"
    machine: Machine
    now_seconds: base.Seconds | None = None
    running: tuple[RunningJob, ...] = ()
    waiting: tuple[MatrixJob, ...] = ()
    migration_tasks_left: base.Count | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        nodes = self.machine.nodes
        levels = self.machine.levels
        everyone = [*self.running, *self.waiting]
        base.require_unique("running and waiting", (job.id for job in everyone))
        base.require_one_id_type("running and waiting", (job.id for job in everyone))
        rows = [0] * levels
        for what, jobs in (("running", self.running), ("waiting", self.waiting)):
            for k, job in enumerate(jobs):
                where = f"{what}[{k}] ({job.id})"
                _check_nodes(f"{where}.file_nodes", job.file_nodes, nodes)
                if job.remote_seconds < job.local_seconds:
                    raise ValueError(
                        f"{where}: remote_seconds {job.remote_seconds:g} is less than "
                        f"local_seconds {job.local_seconds:g}"
                    )
                if isinstance(job, RunningJob):
                    _check_home(where, job, nodes, rows)
        return self

    @property
    def tasks_left(self) -> int | None:
        """Return the number of tasks that may still migrate in this slice.

        Return None if there is no limit.
        """
        if "migration_tasks_left" in self.model_fields_set:
            return self.migration_tasks_left
        return self.machine.migration_tasks_per_quantum


def _check_home(where: str, job: RunningJob, nodes: int, rows: list[int]) -> None:
    _check_nodes(f"{where}.columns", job.columns, nodes)
    if len(job.columns) != job.size:
        raise ValueError(
            f"{where}.columns: {len(job.columns)} columns for a job of {job.size} "
            "file nodes"
        )
    if job.home_row >= len(rows):
        raise ValueError(
            f"{where}.home_row: {job.home_row} is not a row of the matrix (0 .. "
            f"{len(rows) - 1})"
        )
    columns = mask_of(job.columns)
    if rows[job.home_row] & columns:
        taken = nodes_of(rows[job.home_row] & columns)[0]
        raise ValueError(f"{where}: node {taken} is taken twice in row {job.home_row}")
    rows[job.home_row] |= columns


class PlacedJob(base.Record):
    """State the place of a job in a matrix: columns, home row, and all its rows.

    ``local`` says whether the columns are the file nodes of the job (None: not stated).
    """

    id: base.JobId
    columns: tuple[base.NodeNumber, ...]
    home_row: base.NodeNumber
    rows: tuple[base.NodeNumber, ...]
    local: bool | None = None


class GangMatrixPlan(base.Plan):
    """The new matrix.

    Jobs are in order of start. Jobs that were running come before those that start now.
    """

    jobs: tuple[PlacedJob, ...] = ()
