"""Flexible gang assignment (features F5 and F6): instance, patterns of a frame, plan.

A frame has ``K`` quanta. Of these, ``k`` are loose slots in ``d`` equal windows, and
``K - k`` are strict rows. Lee et al., Section 7, propose strict and loose rounds; rules
10 and 11 are ours. Times are in seconds. The *position* ``b`` of a job is its ``b``-th
aligned block of columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from ioopt.problems import base


@dataclass(frozen=True, order=True)
class Pattern:
    """Describe a frame of ``rows`` quanta with ``k`` loose slots in ``d`` windows.

    If ``k`` is 0, the frame has no windows.
    """

    k: int
    d: int
    rows: int
    quantum_seconds: float

    @property
    def key(self) -> str:
        """Return ``k,d``, the name of the pattern in reports."""
        return f"{self.k},{self.d}"

    @property
    def frame_seconds(self) -> float:
        """Return the length of the frame, L = K q, in seconds."""
        return self.rows * self.quantum_seconds

    @property
    def strict_rows(self) -> int:
        """Return the number of strict rows, K - k."""
        return self.rows - self.k

    @property
    def on_seconds(self) -> float:
        """Return the length of one loose window, k q / d, in seconds (0 without
        windows).
        """
        return self.k * self.quantum_seconds / self.d

    @property
    def off_seconds(self) -> float:
        """Return the gap between two loose windows, (L - k q) / d, in seconds."""
        return self.strict_rows * self.quantum_seconds / self.d

    def windows(self) -> tuple[tuple[float, float], ...]:
        """Return (start, length) in seconds of each loose window of a frame.

        After each window come (K - k) / d strict rows.
        """
        if not self.k:
            return ()
        period = self.on_seconds + self.off_seconds
        return tuple((window * period, self.on_seconds) for window in range(self.d))

    def row_start(self, row: int) -> float:
        """Return the start in seconds of strict row *row* of a frame."""
        if not self.k:
            return row * self.quantum_seconds
        window, place = divmod(row, self.strict_rows // self.d)
        period = self.on_seconds + self.off_seconds
        return window * period + self.on_seconds + place * self.quantum_seconds


Fraction01 = Annotated[float, Field(ge=0, le=1, strict=True, allow_inf_nan=False)]
"""A number from 0 to 1."""

NO_LOOSE_GAMMA = 0.95
"""Smallest gangedness of a job that cannot use loose or fragmented time (F5)."""
WINDOW_COUNTS = (1, 2, 4, 8)
"""Numbers of loose windows that a frame may have (F5)."""


class SurfaceEntry(base.Record):
    """Response of an I/O process that may run for a part of every cycle.

    It may run for ``on_seconds`` of every ``on_seconds`` + ``off_seconds``.
    ``slowdown`` is S, the mean time of an iteration divided by that on a dedicated
    machine. ``beta`` is the fraction of the whole cycle in which the process holds its
    CPU. It is taken from the table and never derived from S.
    """

    on_seconds: base.PositiveSeconds
    off_seconds: base.Seconds
    slowdown: Annotated[float, Field(ge=1, strict=True, allow_inf_nan=False)]
    beta: Fraction01
    fragmentation: Fraction01 | None = None


MAX_SIDE = 4096
"""Largest number of columns and of rows of a frame."""


class FlexibleMachine(base.Record):
    """A machine whose processors form equal columns, with a quantum and a frame.

    ``columns`` is the number of columns, by default min(processors, 8). ``rows`` is the
    number of rows of the frame (``K``), by default that of the strict
    first-fit-decreasing packing.
    """

    processors: base.PositiveCount
    columns: Annotated[base.PositiveCount, Field(le=MAX_SIDE)] | None = None
    quantum_seconds: base.PositiveSeconds
    rows: Annotated[base.PositiveCount, Field(le=MAX_SIDE)] | None = None

    @property
    def num_columns(self) -> int:
        """Return C, the number of columns."""
        return self.columns or min(self.processors, 8)


class IoBehaviour(base.Record):
    """Describe a process of an I/O job: Erlang CPU bursts, each followed by an I/O.

    ``burst_seconds`` is the mean length of a burst, which has ``burst_shape`` phases.
    The I/O takes ``io_seconds`` of wall-clock time. See Lee et al., Section 3.2.
    """

    burst_seconds: base.PositiveSeconds = 0.005
    io_seconds: base.PositiveSeconds = 0.020
    burst_shape: base.PositiveCount = 5

    @property
    def dedicated_seconds(self) -> float:
        """Return the mean seconds of an iteration (burst and I/O) on a dedicated
        machine.
        """
        return self.burst_seconds + self.io_seconds


IO_KEYS = tuple(IoBehaviour.model_fields)


class GangJob(IoBehaviour):
    """Describe a job of a gang-scheduled machine: a compute job, or an I/O job."""

    id: base.Name
    kind: Literal["compute", "io"]

    @property
    def is_io(self) -> bool:
        """Return whether the job is an I/O job."""
        return self.kind == "io"

    def refuse(self, keys: tuple[str, ...]) -> None:
        """Raise ValueError if a field in *keys* differs from its default."""
        for key in keys:
            if getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(
                    f"{key} has no meaning for a job of kind {self.kind!r}; remove it"
                )


class FlexibleJob(GangJob):
    """A gang of ``processes``: a compute job, or an I/O job of independent processes.

    A compute job has a gangedness ``gamma``; loose CPU time is worth 1 - gamma of
    strict time. ``phi`` is the least progress that it must make (null: 0.5 / K, K being
    the rows of the frame). With ``self_balancing``, its processes share their work. An
    I/O job alternates Erlang CPU bursts with I/O. A ``coordinated`` I/O job runs only
    in strict rows.
    """

    processes: base.PositiveCount
    weight: base.Positive = 1.0
    gamma: Fraction01 | None = None
    phi: Fraction01 | None = None
    self_balancing: bool = False
    coordinated: bool = False

    @model_validator(mode="after")
    def _fits_kind(self) -> FlexibleJob:
        if self.kind == "compute" and self.gamma is None:
            raise ValueError(
                "a compute job needs gamma (0: embarrassingly parallel, 1: strict)"
            )
        if self.is_io:
            self.refuse(("gamma", "phi", "self_balancing"))
        else:
            self.refuse(("coordinated", *IO_KEYS))
        return self

    @property
    def takes_loose_cpu(self) -> bool:
        """Return whether the job can use loose or fragmented CPU time."""
        return self.gamma is not None and self.gamma < NO_LOOSE_GAMMA


class FlexibleGangProblem(base.Problem):
    """Jobs to place on a gang-scheduled machine whose frame may have loose windows.

    The objective is maximised. It is the sum over compute jobs of w (n/P) progress,
    minus lambda times the sum over I/O jobs of w (n/P)(S - 1). w is the weight of a
    job, n its processes, S its slowdown and P the processors of the machine.
    ``surface`` is a table of responses of I/O processes; if it is null, the stationary
    chain of F1 gives them. Raises a validation error for sizes that are no powers of
    two or no multiples of P/C, C being the columns of the machine.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    format: Literal["ioopt/flexible-gang"] = "ioopt/flexible-gang"
    machine: FlexibleMachine
    lambda_: base.Amount = Field(default=0.1, alias="lambda")
    loose_io_limit: Annotated[float, Field(gt=0, le=1, strict=True)] = 0.6
    jobs: tuple[FlexibleJob, ...] = Field(min_length=1)
    surface: tuple[SurfaceEntry, ...] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> FlexibleGangProblem:
        base.require_unique("jobs", (job.id for job in self.jobs))
        processors = self.machine.processors
        columns = self.machine.num_columns
        if processors & (processors - 1):
            raise ValueError(
                f"machine.processors is {processors}; it must be a power of two"
            )
        if columns & (columns - 1) or columns > processors:
            raise ValueError(
                f"machine.columns is {columns}; it must be a power of two up to "
                f"{processors}"
            )
        width = processors // columns
        for at, job in enumerate(self.jobs):
            size = job.processes
            if size & (size - 1) or size > processors or size % width:
                raise ValueError(
                    f"jobs[{at}] ({job.id}).processes is {size}; it must be a power "
                    f"of two from {width} (processors / columns) to {processors}"
                )
        return self

    @cached_property
    def job_index(self) -> dict[str, int]:
        """Return the position of each job, by id."""
        return {job.id: at for at, job in enumerate(self.jobs)}

    @property
    def column_processors(self) -> int:
        """Return the number of processors in one column, P / C."""
        return self.machine.processors // self.machine.num_columns

    def job_columns(self, job: int) -> int:
        """Return the number of columns that the job at position *job* covers."""
        return self.jobs[job].processes // self.column_processors

    def num_positions(self, job: int) -> int:
        """Return the number of aligned blocks that the job at position *job* may
        take.
        """
        return self.machine.num_columns // self.job_columns(job)

    def block(self, job: int, position: int) -> range:
        """Return the columns of block *position* of the job at position *job*."""
        width = self.job_columns(job)
        return range(position * width, (position + 1) * width)

    def share(self, job: int) -> float:
        """Return w (n/P), the weight of the job at position *job* in the objective."""
        return (
            self.jobs[job].weight * self.jobs[job].processes / self.machine.processors
        )

    def phi(self, job: int) -> float:
        """Return the least progress that the compute job at position *job* must make.

        This is the given floor or, without one, half of the strict share: 0.5 / K.
        """
        given = self.jobs[job].phi
        if given is None:
            return 0.5 / self.num_rows
        return given

    def by_size(self, jobs: Iterable[int]) -> list[int]:
        """Return *jobs* in order of falling size; equal sizes are in the order of the
        file.
        """
        return sorted(jobs, key=lambda j: (-self.jobs[j].processes, j))

    def first_fit(self, job: int, rows: Iterable[set[int]]) -> tuple[int, int] | None:
        """Take the first free aligned block of columns for *job*, in the first possible
        row.

        *rows* has the set of taken columns of each row, to which the block is added.
        Return (row, position of the block), or None if no row has room.
        """
        for row, taken in enumerate(rows):
            for position in range(self.num_positions(job)):
                block = self.block(job, position)
                if taken.isdisjoint(block):
                    taken.update(block)
                    return row, position
        return None

    @cached_property
    def strict_packing(self) -> tuple[tuple[int, int], ...]:
        """Return (row, position) of every job in the strict first-fit-decreasing
        packing.
        """
        rows: list[set[int]] = []
        places: dict[int, tuple[int, int]] = {}
        for job in self.by_size(range(len(self.jobs))):
            place = self.first_fit(job, rows)
            if place is None:
                place = len(rows), 0
                rows.append(set(self.block(job, 0)))
            places[job] = place
        return tuple(places[job] for job in range(len(self.jobs)))

    @cached_property
    def num_rows(self) -> int:
        """Return K, the number of rows: as given, or that of the strict packing."""
        return self.machine.rows or 1 + max(row for row, _ in self.strict_packing)

    def patterns(self) -> tuple[Pattern, ...]:
        """Return all patterns of the frame (F5), in order of k.

        These are k = 0 without windows, all k from 1 to K - 1, and k = K with d = 1.
        For k from 1 to K - 1, the number of windows d is 1, 2, 4 or 8, is at most
        min(k, K - k), and divides K - k.
        """
        rows = self.num_rows
        quantum = self.machine.quantum_seconds
        found = [Pattern(0, 1, rows, quantum)]
        for k in range(1, rows):
            for d in WINDOW_COUNTS:
                if d <= min(k, rows - k) and (rows - k) % d == 0:
                    found.append(Pattern(k, d, rows, quantum))
        found.append(Pattern(rows, 1, rows, quantum))
        return tuple(found)

    def pattern(self, k: int, d: int) -> Pattern | None:
        """Return the pattern of *k* loose slots in *d* windows; None if the rules
        forbid it.
        """
        for pattern in self.patterns():
            if (pattern.k, pattern.d) == (k, d):
                return pattern
        return None


class FlexibleGangPlan(base.Plan):
    """A plan for a frame: where each job runs, and when.

    ``k`` and ``d`` name the pattern. ``home`` has the block of every job. ``rows`` has
    the strict rows of a job, numbered 0 .. K-k-1 in order of time. ``loose`` has the
    I/O jobs in the loose windows. ``tau_seconds`` has, for a compute job, the loose and
    fragment CPU time in a frame that is promised to each of its processes. Processes of
    a self-balancing job may get different times. For such a job, ``column_seconds`` has
    the promised time for each column of its block.
    """

    k: base.Count
    d: base.PositiveCount
    home: dict[base.Name, base.Count]
    rows: dict[base.Name, tuple[base.Count, ...]] = Field(default_factory=dict)
    loose: tuple[base.Name, ...] = ()
    tau_seconds: dict[base.Name, base.Seconds] = Field(default_factory=dict)
    column_seconds: dict[base.Name, tuple[base.Seconds, ...]] = Field(
        default_factory=dict
    )

    def require_jobs_of(self, problem: FlexibleGangProblem) -> None:
        """Raise ValueError if the plan names a job that the problem does not have."""
        for where in ("home", "rows", "tau_seconds", "column_seconds", "loose"):
            for name in getattr(self, where):
                base.require_known(f"plan.{where}", name, problem.job_index, "job")

    def granted_seconds(self, job: str, width: int) -> tuple[float, ...]:
        """Return, for each column c of *job*, t[j,c]: the CPU seconds promised to a
        process.

        The times are for one frame. The job has *width* columns.
        """
        if job in self.column_seconds:
            return self.column_seconds[job]
        return (self.tau_seconds.get(job, 0.0),) * width


def useful_seconds(
    received: tuple[float, ...] | list[float], self_balancing: bool
) -> float:
    """Return the useful CPU seconds of the processes of a job (F5).

    *received* has the CPU seconds of each process. For a self-balancing job, the result
    is their sum. Otherwise it is the number of processes times the least of them.

    >>> useful_seconds([10, 10, 10, 0], False), useful_seconds([10, 10, 10, 0], True)
    (0, 30)
    """
    if self_balancing:
        return sum(received)
    return len(received) * min(received)
