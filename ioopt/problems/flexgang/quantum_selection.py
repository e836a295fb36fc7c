"""Quantum selection (feature F4): jobs, the menu of options, the plan.

Every job takes one option (q, f): its quantum q in seconds, and f visits a cycle. The
slots fill a cycle of length L exactly. Lee et al., Section 3, show the trade-off; the
problem is ours.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import product
from math import gcd, lcm
from typing import Literal

from pydantic import Field, model_validator

from ioopt.problems import base
from ioopt.problems.flexgang.flexible_gang import (
    IO_KEYS,
    Fraction01,
    GangJob,
    SurfaceEntry,
)
from ioopt.units import exact

MOST_TICKS = 100_000
"""Most steps of the time grid in the longest cycle."""
MAX_DEFAULT_CYCLES = 48
"""Most lengths in the default grid of cycle lengths, before the greedy's are added."""


class QuantumMachine(base.Record):
    """The machine: its number of processors (P of the waste)."""

    processors: base.PositiveCount = 32


class QuantumJob(GangJob):
    """A job that owns the whole machine in its slots.

    An I/O job costs weight (S - 1) + mu waste; a compute job costs nothing but needs at
    least ``floor`` of the cycle. ``visits`` and ``quanta_seconds`` replace the menu's
    for this job (a compute job visits once by default).
    """

    weight: base.Amount = 1.0
    floor: Fraction01 = 0.0
    visits: tuple[base.PositiveCount, ...] | None = Field(default=None, min_length=1)
    quanta_seconds: tuple[base.PositiveSeconds, ...] | None = Field(
        default=None, min_length=1
    )

    @model_validator(mode="after")
    def _fits_kind(self) -> QuantumJob:
        if not self.is_io:
            self.refuse((*IO_KEYS, "weight"))
        return self


Option = tuple[float, int]
"""(q in seconds, f visits a cycle)."""


class QuantumSelectionProblem(base.Problem):
    """Choose a quantum and visits for every job to minimise sum w (S - 1) + mu waste.

    ``cycles_seconds`` is the grid of cycle lengths (None: multiples of the time grid
    that the menu can fill, thinned); the greedy's lengths are always added. Raises a
    validation error for repeated ids or menu entries and for cycle lengths off the time
    grid.
    """

    format: Literal["ioopt/quantum-selection"] = "ioopt/quantum-selection"
    machine: QuantumMachine = QuantumMachine()
    mu: base.Amount = 0.0
    quanta_seconds: tuple[base.PositiveSeconds, ...] = Field(min_length=1)
    visits: tuple[base.PositiveCount, ...] = Field(default=(1,), min_length=1)
    cycles_seconds: tuple[base.PositiveSeconds, ...] | None = Field(
        default=None, min_length=1
    )
    jobs: tuple[QuantumJob, ...] = Field(min_length=1)
    surface: tuple[SurfaceEntry, ...] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> QuantumSelectionProblem:
        base.require_unique("jobs", (job.id for job in self.jobs))
        for where, values in (
            ("quanta_seconds", self.quanta_seconds),
            ("visits", self.visits),
        ):
            if len(set(values)) != len(values):
                raise ValueError(f"{where}: an entry is listed twice")
        if sum(job.floor for job in self.jobs) > 1 + 1e-9:
            raise ValueError("jobs: the floors add up to more than the whole cycle")
        self._require_coarse_grid()
        for at, length in enumerate(self.cycles_seconds or ()):
            if (exact(length) / self.grid).denominator != 1:
                raise ValueError(
                    f"cycles_seconds[{at}]: {length} is no multiple of the time grid "
                    f"{float(self.grid)} that divides every quantum"
                )
        return self

    def _require_coarse_grid(self) -> None:
        """Raise ValueError where the longest cycle has more than ``MOST_TICKS``
        steps.
        """
        longest = Fraction(0)
        for job in range(len(self.jobs)):
            longest += max(exact(q) * f for q, f in self.options(job))
        ticks = max(longest, *map(exact, self.cycles_seconds or (0,))) / self.grid
        if ticks > MOST_TICKS:
            raise ValueError(
                f"quanta_seconds: the longest cycle has {float(ticks):.3g} steps of "
                f"the time grid {float(self.grid):g} s that divides every quantum, at "
                f"most {MOST_TICKS:,}; use quanta with a larger common divisor"
            )

    @cached_property
    def job_index(self) -> dict[str, int]:
        """Job id -> position."""
        return {job.id: at for at, job in enumerate(self.jobs)}

    @cached_property
    def grid(self) -> Fraction:
        """Return the time grid in seconds: the greatest time that divides every
        quantum.
        """
        quanta = {exact(q) for q in self.quanta_seconds}
        for job in self.jobs:
            quanta.update(exact(q) for q in job.quanta_seconds or ())
        top = 0
        bottom = 1
        for quantum in quanta:
            top = gcd(top, quantum.numerator)
            bottom = lcm(bottom, quantum.denominator)
        return Fraction(top, bottom)

    def ticks(self, seconds: float) -> int:
        """Return *seconds* in steps of the time grid; exact for quanta and cycles."""
        return round(exact(seconds) / self.grid)

    def seconds(self, ticks: int) -> float:
        """Return *ticks* steps of the time grid in seconds."""
        return float(ticks * self.grid)

    def options(self, job: int) -> tuple[Option, ...]:
        """Return the menu of a job in its order: quanta outer, visits inner."""
        item = self.jobs[job]
        quanta = item.quanta_seconds or self.quanta_seconds
        visits: tuple[int, ...] = (1,)
        if item.visits:
            visits = item.visits
        elif item.is_io:
            visits = self.visits
        return tuple(product(quanta, visits))

    def one_visit(self) -> QuantumSelectionProblem | None:
        """Return the problem with every job visiting once; None if a menu lacks one
        visit.
        """
        for job in range(len(self.jobs)):
            if all(visits != 1 for _, visits in self.options(job)):
                return None
        jobs = tuple(job.model_copy(update={"visits": (1,)}) for job in self.jobs)
        return self.model_copy(update={"visits": (1,), "jobs": jobs}, deep=False)

    def default_cycles(self) -> tuple[int, ...]:
        """Return the cycle lengths in ticks: as given, else those that options can
        fill.

        The latter are thinned evenly to at most :data:`MAX_DEFAULT_CYCLES`.
        """
        if self.cycles_seconds is not None:
            return tuple(sorted({self.ticks(length) for length in self.cycles_seconds}))
        sums = {0}
        for job in range(len(self.jobs)):
            widths = {self.ticks(q) * f for q, f in self.options(job)}
            sums = {total + width for total in sums for width in widths}
        lengths = sorted(sums)
        return tuple(lengths[:: -(-len(lengths) // MAX_DEFAULT_CYCLES)])


class Choice(base.Record):
    """State the option of one job: a quantum in seconds and visits per cycle."""

    quantum_seconds: base.PositiveSeconds
    visits: base.PositiveCount = 1


class QuantumPlan(base.Plan):
    """State the cycle length and every job's option, from which the slots follow."""

    cycle_seconds: base.PositiveSeconds
    options: dict[base.Name, Choice]

    def require_options_of(self, problem: QuantumSelectionProblem) -> None:
        """Raise ValueError for an unknown job, or an option that is not on its menu."""
        for name, choice in self.options.items():
            base.require_known("plan.options", name, problem.job_index, "job")
            option = (choice.quantum_seconds, choice.visits)
            if option not in problem.options(problem.job_index[name]):
                raise ValueError(f"plan.options.{name}: {option} is not on its menu")


Slot = tuple[int, float, float]
"""(position of the job, start, length) in seconds of the cycle."""


def slot_sequence(
    problem: QuantumSelectionProblem, plan: QuantumPlan
) -> tuple[Slot, ...]:
    """Return the slots of one cycle (F4).

    Visit n of a job wants to be at (n + 0.5) / f of the cycle. Slots are sorted by the
    wanted place, ties by job position, and laid back to back from 0.
    """
    wanted = []
    for name, choice in plan.options.items():
        job = problem.job_index[name]
        for visit in range(choice.visits):
            place = Fraction(2 * visit + 1, 2 * choice.visits)
            wanted.append((place, job, problem.ticks(choice.quantum_seconds)))
    slots: list[Slot] = []
    clock = 0
    for _, job, ticks in sorted(wanted):
        slots.append((job, problem.seconds(clock), problem.seconds(ticks)))
        clock += ticks
    return tuple(slots)
