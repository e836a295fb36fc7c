"""Combine a pattern with I/O responses and placements: column capacities, plans and
objective (F5).
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
"""Seconds below which a time counts as 0, because it is a rounding error of the
solver.
"""


@dataclass(frozen=True)
class PatternData:
    """Combine an instance, one pattern, and the responses of the I/O jobs to the
    pattern.

    ``loose`` and ``strict`` hold the response of each I/O job that may be loose or hold
    a strict row, keyed by its position.
    """

    problem: FlexibleGangProblem
    pattern: Pattern
    loose: Mapping[int, Response]
    strict: Mapping[int, Response]

    @classmethod
    def of(cls, problem: FlexibleGangProblem, pattern: Pattern) -> PatternData | None:
        """Look up the I/O responses of a pattern.

        Return None if the instance's own table of responses lacks the pattern.
        """
        if not covered(problem, pattern):
            return None
        surface, strict_point, loose_point = _points(problem, pattern)
        loose: dict[int, Response] = {}
        strict: dict[int, Response] = {}
        for j, job in enumerate(problem.jobs):
            if not job.is_io:
                continue
            if pattern.k and not job.coordinated:
                loose[j] = surface.at(job, *loose_point)
            if pattern.strict_rows:
                strict[j] = surface.at(job, *strict_point)
        return cls(problem, pattern, loose, strict)

    def compute_jobs(self) -> list[int]:
        """Return the positions of the compute jobs."""
        return [j for j, job in enumerate(self.problem.jobs) if not job.is_io]

    def io_jobs(self) -> list[int]:
        """Return the positions of the I/O jobs."""
        return [j for j, job in enumerate(self.problem.jobs) if job.is_io]

    def loose_cpu(self, job: int) -> float:
        """Return beta L, the CPU seconds in a frame that a process of a loose I/O job
        uses.

        beta is its share of the CPU and L the length of the frame.
        """
        return self.loose[job].beta * self.pattern.frame_seconds

    def fragment(self, job: int) -> float:
        """Return the seconds in a frame that an I/O job leaves free in its strict row.

        This is q - beta(q, L - q) L: the quantum q, less the job's CPU share beta times
        the length L of the frame.
        """
        used = self.strict[job].beta * self.pattern.frame_seconds
        return self.problem.machine.quantum_seconds - used

    def io_penalty(self, job: int, loose: bool) -> float:
        """Return what an I/O job costs in the objective: lambda w (n/P) (S - 1).

        lambda is the price of a slowdown, w the weight, n/P the share of the
        processors, and S the slowdown when *loose* or in a strict row.
        """
        response = self.loose[job] if loose else self.strict[job]
        weight = self.problem.lambda_ * self.problem.share(job)
        return weight * (response.slowdown - 1.0)

    def min_rows(self, job: int) -> int:
        """Return the number of strict rows that a job needs to reach its floor.

        It is 0 for a job that can use loose CPU.
        """
        if self.problem.jobs[job].takes_loose_cpu:
            return 0
        return math.ceil(self.problem.phi(job) * self.problem.num_rows - 1e-9)


def covered(problem: FlexibleGangProblem, pattern: Pattern) -> bool:
    """Return whether the responses to *pattern* are known.

    They are unless the instance has a table of its own that lacks the pattern.
    """
    surface, strict_point, loose_point = _points(problem, pattern)
    io = [job for job in problem.jobs if job.is_io]
    some_loose = pattern.k and not all(job.coordinated for job in io)
    if some_loose and not surface.covers(*loose_point):
        return False
    if io and pattern.strict_rows:
        return surface.covers(*strict_point)
    return True


def _points(
    problem: FlexibleGangProblem, pattern: Pattern
) -> tuple[Surface, tuple[float, float], tuple[float, float]]:
    """Return the response surface and the turns (on, off) of a strict row and of the
    loose windows, in seconds.
    """
    quantum = problem.machine.quantum_seconds
    surface = Surface(problem.machine.processors, problem.surface)
    strict_point = quantum, pattern.frame_seconds - quantum
    return surface, strict_point, (pattern.on_seconds, pattern.off_seconds)


@dataclass
class Placement:
    """Store the decisions of a plan, with positions of jobs as keys.

    ``home`` is the block of each job, ``rows`` its number of strict rows; ``loose`` are
    the loose I/O jobs.
    """

    home: dict[int, int] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)
    loose: set[int] = field(default_factory=set)


def column_capacity(data: PatternData, placement: Placement) -> list[float]:
    """Return, for each column, the seconds in a frame left for loose CPU of compute
    jobs.

    The strict rows of compute jobs and the CPU used by I/O jobs are subtracted.
    """
    problem = data.problem
    pattern = data.pattern
    quantum = problem.machine.quantum_seconds
    whole = pattern.k * quantum + pattern.strict_rows * quantum
    spare = [whole] * problem.machine.num_columns
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
    """Return the plan of a placement, with a number for each strict row that it only
    counts.

    *tau* is the loose CPU of each job in seconds; *by_column* is that of self-balancing
    jobs in each of their columns. The largest jobs come first and get the lowest free
    rows. Blocks are aligned powers of two, so of two blocks that share a column one
    contains the other. Hence first-fit in order of falling size never needs more rows
    than the fullest column holds.
    """
    ids = [job.id for job in data.problem.jobs]
    rows = _rows_of(data, placement)
    kept = {ids[j]: t for j, t in sorted((tau or {}).items()) if t > ROUND}
    columns: dict[str, tuple[float, ...]] = {}
    for j, seconds in sorted((by_column or {}).items()):
        if ids[j] in kept:
            columns[ids[j]] = tuple(max(0.0, t) for t in seconds)
    return FlexibleGangPlan(
        k=data.pattern.k,
        d=data.pattern.d,
        home={ids[j]: placement.home[j] for j in sorted(placement.home)},
        rows={ids[j]: rows[j] for j in sorted(rows)},
        loose=tuple(ids[j] for j in sorted(placement.loose)),
        tau_seconds=kept,
        column_seconds=columns,
    )


def _rows_of(data: PatternData, placement: Placement) -> dict[int, tuple[int, ...]]:
    """Return the numbers of the strict rows of each job that holds any.

    The largest jobs choose first, and take the lowest rows that are free on their
    block.
    """
    problem = data.problem
    taken: list[set[int]] = [set() for _ in range(data.pattern.strict_rows)]
    rows: dict[int, tuple[int, ...]] = {}
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
            rows[job] = tuple(chosen)
    return rows


def granted_in_columns(data: PatternData, plan: FlexibleGangPlan) -> list[float]:
    """Return, for each column, the loose CPU seconds in a frame that *plan* grants."""
    problem = data.problem
    granted = [0.0] * problem.machine.num_columns
    for j in data.compute_jobs():
        name = problem.jobs[j].id
        block = problem.block(j, plan.home[name])
        parts = plan.granted_seconds(name, len(block))
        for column, seconds in zip(block, parts, strict=True):
            granted[column] += seconds
    return granted


def progress_of(data: PatternData, plan: FlexibleGangPlan, position: int) -> float:
    """Return the progress of a compute job: its useful seconds in a frame, divided by
    the length of the frame.
    """
    useful = _useful_seconds(data.problem, plan, position)
    return useful / data.pattern.frame_seconds


def model_objective(data: PatternData, plan: FlexibleGangPlan) -> float:
    """Return the objective of *plan* in the pattern of *data* (F5).

    It is sum over the compute jobs of w (n/P) pr - lambda x sum over the I/O jobs of w
    (n/P) (S - 1), where w is the weight of a job and n/P its share of the processors.
    pr is the progress: the useful seconds in a frame divided by its length. S is the
    slowdown and lambda its price.
    """
    problem = data.problem
    frame = data.pattern.frame_seconds
    terms = []
    for j in data.compute_jobs():
        terms.append(problem.share(j) * _useful_seconds(problem, plan, j) / frame)
    for i in data.io_jobs():
        is_loose = problem.jobs[i].id in plan.loose
        terms.append(-data.io_penalty(i, is_loose))
    return math.fsum(terms)


def _useful_seconds(
    problem: FlexibleGangProblem, plan: FlexibleGangPlan, position: int
) -> float:
    """Return the CPU seconds in a frame that advance each process of a compute job.

    A strict row counts in full. Of loose CPU only the part 1 - gamma counts, where
    gamma is the gangedness of the job.
    """
    job = problem.jobs[position]
    strict = len(plan.rows.get(job.id, ())) * problem.machine.quantum_seconds
    loose = plan.tau_seconds.get(job.id, 0.0)
    return strict + (1.0 - (job.gamma or 0.0)) * loose
