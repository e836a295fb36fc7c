"""What a pattern and a placement give: column capacities, I/O responses, rows laid out
as a plan (F5).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ioopt.measure.quantum_chain import Response, Surface
from ioopt.problems.flexgang.flexible_gang import (
    FlexibleGangPlan,
    FlexibleGangProblem,
    Pattern,
)

ROUND = 1e-9
"""Times below this (in seconds) are rounding of a solver and count as 0."""


@dataclass(frozen=True)
class PatternData:
    """An instance with one pattern and the responses of its I/O jobs in it."""

    problem: FlexibleGangProblem
    pattern: Pattern
    loose: Mapping[int, Response]
    strict: Mapping[int, Response]

    @classmethod
    def of(cls, problem: FlexibleGangProblem, pattern: Pattern) -> PatternData | None:
        """Look the responses up; None when the instance's own table does not cover the
        pattern.
        """
        if not covered(problem, pattern):
            return None
        surface, strict_point, loose_point = _points(problem, pattern)
        io = [j for j, job in enumerate(problem.jobs) if job.is_io]
        free = [j for j in io if not problem.jobs[j].coordinated]
        loose = {
            j: surface.at(problem.jobs[j], *loose_point) for j in free if pattern.k
        }
        strict = {
            j: surface.at(problem.jobs[j], *strict_point)
            for j in io
            if pattern.strict_rows
        }
        return cls(problem, pattern, loose, strict)

    def compute_jobs(self) -> list[int]:
        """Positions of the compute jobs."""
        return [j for j, job in enumerate(self.problem.jobs) if not job.is_io]

    def io_jobs(self) -> list[int]:
        """Positions of the I/O jobs."""
        return [j for j, job in enumerate(self.problem.jobs) if job.is_io]

    def loose_cpu(self, job: int) -> float:
        """beta L: CPU seconds a frame that a loose I/O process uses."""
        return self.loose[job].beta * self.pattern.frame_seconds

    def fragment(self, job: int) -> float:
        """q - beta(q, L - q) L: seconds a frame that a strict I/O row leaves to others."""
        used = self.strict[job].beta * self.pattern.frame_seconds
        return self.problem.machine.quantum_seconds - used

    def io_penalty(self, job: int, loose: bool) -> float:
        """lambda w (n/P) (S - 1)."""
        response = self.loose[job] if loose else self.strict[job]
        return (
            self.problem.lambda_ * self.problem.share(job) * (response.slowdown - 1.0)
        )

    def min_rows(self, job: int) -> int:
        """Strict rows that the floor of a job without loose CPU needs, 0 for the
        others.
        """
        if self.problem.jobs[job].takes_loose_cpu:
            return 0
        return math.ceil(self.problem.phi(job) * self.problem.num_rows - 1e-9)


def covered(problem: FlexibleGangProblem, pattern: Pattern) -> bool:
    """Whether the instance's own surface, if it has one, answers for the pattern."""
    surface, strict_point, loose_point = _points(problem, pattern)
    io = [job for job in problem.jobs if job.is_io]
    if (
        pattern.k
        and not all(job.coordinated for job in io)
        and not surface.covers(*loose_point)
    ):
        return False
    return not io or not pattern.strict_rows or surface.covers(*strict_point)


def _points(
    problem: FlexibleGangProblem, pattern: Pattern
) -> tuple[Surface, tuple[float, float], tuple[float, float]]:
    """The surface, and (on, off) of a strict row and of the loose windows."""
    quantum = problem.machine.quantum_seconds
    surface = Surface(problem.machine.processors, problem.surface)
    strict_point = quantum, pattern.frame_seconds - quantum
    return surface, strict_point, (pattern.on_seconds, pattern.off_seconds)


@dataclass
class Placement:
    """Decisions of one plan: homes, strict rows held (a count) and loose I/O jobs, by
    position.
    """

    home: dict[int, int] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)
    loose: set[int] = field(default_factory=set)


def column_capacity(data: PatternData, placement: Placement) -> list[float]:
    """Seconds a frame of every column that compute jobs may share beside their own
    rows.
    """
    problem = data.problem
    pattern = data.pattern
    quantum = problem.machine.quantum_seconds
    spare = [
        pattern.k * quantum + pattern.strict_rows * quantum
    ] * problem.machine.num_columns
    for job, position in placement.home.items():
        held = placement.rows.get(job, 0) * quantum
        if job in placement.loose:
            held = data.loose_cpu(job)
        elif problem.jobs[job].is_io:
            held -= data.fragment(job)
        for column in problem.block(job, position):
            spare[column] -= held
    return spare


def lay_out(
    data: PatternData,
    placement: Placement,
    tau: Mapping[int, float] | None = None,
    by_column: Mapping[int, Iterable[float]] | None = None,
) -> FlexibleGangPlan:
    """The plan of a placement: every row count becomes rows, biggest jobs first, lowest
    rows.

    Blocks are aligned powers of two: of two that meet, one holds the other. So
    first-fit by falling size never needs more rows than the fullest column, and
    counts per column suffice.
    """
    problem = data.problem
    taken: list[set[int]] = [set() for _ in range(data.pattern.strict_rows)]
    rows: dict[str, tuple[int, ...]] = {}
    for job in problem.by_size(placement.rows):
        block = set(problem.block(job, placement.home[job]))
        free = [row for row, cells in enumerate(taken) if cells.isdisjoint(block)]
        chosen = free[: placement.rows[job]]
        assert len(chosen) == placement.rows[job], (
            "a column holds more rows than the pattern has"
        )
        for row in chosen:
            taken[row] |= block
        if chosen:
            rows[problem.jobs[job].id] = tuple(chosen)
    ids = [job.id for job in problem.jobs]
    kept = {ids[j]: t for j, t in sorted((tau or {}).items()) if t > ROUND}
    columns = {
        ids[j]: tuple(max(0.0, t) for t in c)
        for j, c in sorted((by_column or {}).items())
    }
    return FlexibleGangPlan(
        k=data.pattern.k,
        d=data.pattern.d,
        home={ids[j]: placement.home[j] for j in sorted(placement.home)},
        rows={name: rows[name] for name in ids if name in rows},
        loose=tuple(ids[j] for j in sorted(placement.loose)),
        tau_seconds=kept,
        column_seconds={name: c for name, c in columns.items() if name in kept},
    )


def model_objective(data: PatternData, plan: FlexibleGangPlan) -> float:
    """sum w (n/P) pr - lambda sum w (n/P)(S - 1) of *plan* in the pattern of *data*
    (F5).
    """
    problem = data.problem
    frame = data.pattern.frame_seconds
    terms = []
    for j, job in enumerate(problem.jobs):
        if job.is_io:
            terms.append(-data.io_penalty(j, job.id in plan.loose))
            continue
        rows = len(plan.rows.get(job.id, ())) * problem.machine.quantum_seconds
        loose = (1.0 - (job.gamma or 0.0)) * plan.tau_seconds.get(job.id, 0.0)
        terms.append(problem.share(j) * (rows + loose) / frame)
    return math.fsum(terms)
