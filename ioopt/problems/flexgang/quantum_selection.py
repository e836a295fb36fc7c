"""Quantum selection (feature F4): the jobs, their menus of options, and the plan.

Every job takes one option (q, f): a quantum of q seconds, and f visits in a cycle. The
slots of all visits fill a cycle of length L exactly. Lee et al., Section 3, show the
trade-off; the problem is ours.
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
"""Largest number of steps of the time grid in the longest cycle."""
MAX_DEFAULT_CYCLES = 48
"""Largest number of default cycle lengths, without those that the greedy adds."""


class QuantumMachine(base.Record):
    """The machine, of which only the number of processors (P) matters."""

    processors: base.PositiveCount = 32


class QuantumJob(GangJob):
    """A job that owns the whole machine in its slots.

    An I/O job costs ``weight`` (S - 1) + mu waste, S being its slowdown and waste its
    fragmentation. A compute job costs nothing but needs at least the share ``floor`` of
    the cycle. ``visits`` and ``quanta_seconds`` replace those of the common menu for
    this job. By default, a compute job has one visit.
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
"""An option of a job: a quantum q in seconds, and the number f of visits in a cycle."""


class QuantumSelectionProblem(base.Problem):
    """Choose a quantum and visits for every job to minimise sum w (S - 1) + mu waste.

    w is the weight of an I/O job and S its slowdown; waste is fragmentation.
    ``cycles_seconds`` is the grid of cycle lengths. If it is null, the grid has lengths
    that options can fill, at most 48 of them. The lengths that the greedy finds are
    always added. Raises a validation error for repeated ids or menu entries, and for
    cycle lengths that are no multiples of the time grid.
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
        """Raise ValueError if the longest cycle has more than ``MOST_TICKS`` time
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
        """Return the position of each job, by id."""
        return {job.id: at for at, job in enumerate(self.jobs)}

    @cached_property
    def grid(self) -> Fraction:
        """Return the step of the time grid in seconds.

        It is the largest time of which every quantum is a multiple.
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
        """Return the number of time steps in *seconds*; exact for quanta and cycle
        lengths.
        """
        return round(exact(seconds) / self.grid)

    def seconds(self, ticks: int) -> float:
        """Return the seconds of *ticks* steps of the time grid."""
        return float(ticks * self.grid)

    def options(self, job: int) -> tuple[Option, ...]:
        """Return the options (quantum, visits) of the job at position *job*.

        They are in order of quanta and, for each quantum, of visits, as given.
        """
        item = self.jobs[job]
        quanta = item.quanta_seconds or self.quanta_seconds
        visits: tuple[int, ...] = (1,)
        if item.visits:
            visits = item.visits
        elif item.is_io:
            visits = self.visits
        return tuple(product(quanta, visits))

    def one_visit(self) -> QuantumSelectionProblem | None:
        """Return the problem in which every job has one visit.

        Return None if the menu of a job lacks one visit.
        """
        for job in range(len(self.jobs)):
            if all(visits != 1 for _, visits in self.options(job)):
                return None
        jobs = tuple(job.model_copy(update={"visits": (1,)}) for job in self.jobs)
        return self.model_copy(update={"visits": (1,), "jobs": jobs}, deep=False)

    def default_cycles(self) -> tuple[int, ...]:
        """Return the lengths in the grid of cycle lengths, in steps of the time grid.

        These are the given lengths or, without them, those that options can fill. The
        latter are thinned evenly to at most :data:`MAX_DEFAULT_CYCLES`.
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
    """State the option of one job: a quantum in seconds, and the visits in a cycle."""

    quantum_seconds: base.PositiveSeconds
    visits: base.PositiveCount = 1


class QuantumPlan(base.Plan):
    """State the cycle length and the option of every job; the slots follow from
    them.
    """

    cycle_seconds: base.PositiveSeconds
    options: dict[base.Name, Choice]

    def require_options_of(self, problem: QuantumSelectionProblem) -> None:
        """Raise ValueError for an unknown job, or for an option that its menu lacks."""
        for name, choice in self.options.items():
            base.require_known("plan.options", name, problem.job_index, "job")
            option = (choice.quantum_seconds, choice.visits)
            if option not in problem.options(problem.job_index[name]):
                raise ValueError(f"plan.options.{name}: {option} is not on its menu")


Slot = tuple[int, float, float]
"""The position of a job, and the start and length of its slot in seconds of a cycle."""


def slot_sequence(
    problem: QuantumSelectionProblem, plan: QuantumPlan
) -> tuple[Slot, ...]:
    """Return the slots of one cycle (F4), in order of time.

    Visit n of a job with f visits has the desired place (n + 0.5) / f in the cycle.
    Slots are sorted by desired place; slots with equal places are in order of job
    position. They follow each other without gaps from 0.
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
