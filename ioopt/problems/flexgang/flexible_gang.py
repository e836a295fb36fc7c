"""Flexible gang assignment (features F5 and F6): instance, patterns of a frame, plan.

A frame of ``K`` quanta holds ``k`` loose slots in ``d`` equal windows and ``K - k``
strict rows. Lee et al., Section 7, propose strict and loose rounds; rules 10 and 11 are
ours. Times in seconds; a *position* ``b`` of a job is its ``b``-th aligned block of
columns.
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

    k = 0: none.
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
        """Return L = K q."""
        return self.rows * self.quantum_seconds

    @property
    def strict_rows(self) -> int:
        """Return K - k."""
        return self.rows - self.k

    @property
    def on_seconds(self) -> float:
        """Return the length of one loose window, k q / d (0 without windows)."""
        return self.k * self.quantum_seconds / self.d

    @property
    def off_seconds(self) -> float:
        """Return the gap between loose windows, (L - k q) / d."""
        return self.strict_rows * self.quantum_seconds / self.d

    def windows(self) -> tuple[tuple[float, float], ...]:
        """Return (start, length) in seconds of the loose windows of a frame.

        Each is followed by R/d strict rows.
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
"""Gangedness from which a job cannot use loose or fragmented time (F5)."""
WINDOW_COUNTS = (1, 2, 4, 8)
"""Numbers of loose windows that a frame may have (F5)."""


class SurfaceEntry(base.Record):
    """Response of an I/O process to ``on`` seconds of every ``on`` + ``off`` seconds.

    ``slowdown`` is S (mean iteration over the dedicated one), ``beta`` the fraction of
    the whole cycle in which the process holds its CPU; it is read, never derived from
    S.
    """

    on_seconds: base.PositiveSeconds
    off_seconds: base.Seconds
    slowdown: Annotated[float, Field(ge=1, strict=True, allow_inf_nan=False)]
    beta: Fraction01
    fragmentation: Fraction01 | None = None


MAX_SIDE = 4096
"""Most columns and rows of a frame."""


class FlexibleMachine(base.Record):
    """Processors in equal columns, the quantum, and the rows ``K`` of the frame.

    ``columns`` defaults to min(processors, 8); ``rows`` to the row count of the strict
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

    Lee et al., Section 3.2.
    ``burst_seconds`` is the mean of a burst of ``burst_shape`` phases; the I/O takes
    ``io_seconds`` on the wall clock.
    """

    burst_seconds: base.PositiveSeconds = 0.005
    io_seconds: base.PositiveSeconds = 0.020
    burst_shape: base.PositiveCount = 5

    @property
    def dedicated_seconds(self) -> float:
        """Return the mean time of an iteration on a machine of its own."""
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
        """Raise ValueError for one of *keys* that is not at its default."""
        for key in keys:
            if getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(
                    f"{key} has no meaning for a job of kind {self.kind!r}; remove it"
                )


class FlexibleJob(GangJob):
    """A gang of ``processes``: a compute job, or an I/O job of independent processes.

    A compute job has a gangedness ``gamma`` (loose CPU is worth 1 - gamma), a floor
    ``phi`` of its progress (None: 0.5 / K) and may balance itself. An I/O job
    alternates Erlang CPU bursts with an I/O; a coordinated one runs only in strict
    rows.
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
    """Jobs to place on a gang-scheduled machine whose frame may hold loose windows.

    Objective (maximised): sum over compute jobs of w (n/P) progress - lambda * sum over
    I/O jobs of w (n/P)(S - 1). ``surface`` is a table of responses; None: the
    stationary chain of F1. Raises a validation error for sizes that are no powers of
    two or no multiples of P/C.
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
        """Job id -> position."""
        return {job.id: at for at, job in enumerate(self.jobs)}

    @property
    def column_processors(self) -> int:
        """Processors in one column, P / C."""
        return self.machine.processors // self.machine.num_columns

    def job_columns(self, job: int) -> int:
        """Return how many columns the job at position *job* covers."""
        return self.jobs[job].processes // self.column_processors

    def num_positions(self, job: int) -> int:
        """Return how many aligned blocks the job at position *job* can take."""
        return self.machine.num_columns // self.job_columns(job)

    def block(self, job: int, position: int) -> range:
        """Return the columns of block *position* of the job at position *job*."""
        width = self.job_columns(job)
        return range(position * width, (position + 1) * width)

    def share(self, job: int) -> float:
        """Return w (n/P), the weight of a job in the objective."""
        return (
            self.jobs[job].weight * self.jobs[job].processes / self.machine.processors
        )

    def phi(self, job: int) -> float:
        """Return the floor of a compute job's progress.

        As given, or half its strict share, 0.5 / K.
        """
        given = self.jobs[job].phi
        if given is None:
            return 0.5 / self.num_rows
        return given

    def by_size(self, jobs: Iterable[int]) -> list[int]:
        """Return *jobs* by falling size, ties by position in the file."""
        return sorted(jobs, key=lambda j: (-self.jobs[j].processes, j))

    def first_fit(self, job: int, rows: Iterable[set[int]]) -> tuple[int, int] | None:
        """Take the first free aligned block of the first row for *job*.

        *rows* are the columns taken in each. Returns (row, position), None where no row
        has room.
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
        """(row, position) of every job in the strict first-fit-decreasing packing."""
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
        """Return K: as given, or the row count of the strict packing."""
        return self.machine.rows or 1 + max(row for row, _ in self.strict_packing)

    def patterns(self) -> tuple[Pattern, ...]:
        """Return all patterns of the frame (F5), k = 0 first.

        k = 0; 0 < k < K with d windows, d <= min(k, K - k) and d dividing K - k; k = K,
        d = 1.
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
        """Return the pattern with these numbers, or None if the rules forbid it."""
        for pattern in self.patterns():
            if (pattern.k, pattern.d) == (k, d):
                return pattern
        return None


class FlexibleGangPlan(base.Plan):
    """A plan: who runs where and when in a frame.

    ``k``, ``d`` name the pattern; ``home`` gives every job its block; ``rows`` the
    strict rows it holds (numbered 0 .. K-k-1 in the order of time); ``loose`` the I/O
    jobs of the loose windows; ``tau_seconds`` the loose and fragment CPU time promised
    to every process of a compute job per frame; ``column_seconds`` the same per column
    of the block, for self-balancing jobs, whose processes need not get the same.
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
        """Raise ValueError when the plan names a job that the problem does not have."""
        for where in ("home", "rows", "tau_seconds", "column_seconds", "loose"):
            for name in getattr(self, where):
                base.require_known(f"plan.{where}", name, problem.job_index, "job")

    def granted_seconds(self, job: str, width: int) -> tuple[float, ...]:
        """Return t[j,c] by column of a job: CPU seconds per frame for a process.

        The job has *width* columns.
        """
        if job in self.column_seconds:
            return self.column_seconds[job]
        return (self.tau_seconds.get(job, 0.0),) * width


def useful_seconds(
    received: tuple[float, ...] | list[float], self_balancing: bool
) -> float:
    """Return the useful progress of processes that received these CPU seconds (F5).

    This is n times the least of them, or for a self-balancing job their sum.

    >>> useful_seconds([10, 10, 10, 0], False), useful_seconds([10, 10, 10, 0], True)
    (0, 30)
    """
    if self_balancing:
        return sum(received)
    return len(received) * min(received)
