"""The linear relaxation of a pattern's assignment model, before any program is built (F5).

The model's columns are alike, and exclusive or of column numbers maps aligned blocks to aligned
blocks and any column to any other. The mean of a solution over all these moves is a solution with
the same objective, so the relaxation has an optimum in which every block of a job is used alike.
One variable a job and decision, and one constraint for all columns, are left:

  n_j strict rows, tau_j loose CPU, x_i / y_i I/O job i strict / loose; a = columns of a job / C
  sum a n + sum a x <= R
  sum a (n + tau) + sum a (1 - fragment) x + sum a beta L y <= K
  sum a beta L y <= 0.6 k;   x_i + y_i = 1;   n_j + (1 - gamma_j) tau_j >= K phi_j

Its value is that of :class:`ioopt.models.flexgang.assignment.AssignmentModel` without integrality
and without its breaking of symmetry, in milliseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ioopt.models.flexgang.frame import PatternData
from ioopt.problems.flexgang.flexible_gang import FlexibleGangProblem


def universal_bound(problem: FlexibleGangProblem) -> float:
    """No plan of any pattern has a higher objective: compute jobs share the machine by weight.

    A job progresses with at most its n processors, all jobs with at most P; I/O costs nothing.
    """
    free, value = 1.0, 0.0
    compute = [job for job in problem.jobs if not job.is_io]
    for job in sorted(compute, key=lambda job: -job.weight):
        part = min(free, job.processes / problem.machine.processors)
        free -= part
        value += job.weight * part
    return value


@dataclass
class _Program:
    """Columns of the little program: gain, bounds, and what each takes of the three limits."""

    gain: list[float] = field(default_factory=list)
    bounds: list[tuple[float, float]] = field(default_factory=list)
    rows: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    loose: list[float] = field(default_factory=list)
    floors: list[tuple[dict[int, float], float]] = field(default_factory=list)
    placed: list[list[int]] = field(default_factory=list)

    def add(
        self,
        gain: float,
        bounds: tuple[float, float],
        rows: float = 0.0,
        cpu: float = 0.0,
        loose: float = 0.0,
    ) -> int:
        """Add a variable and return its position."""
        self.gain.append(gain)
        self.bounds.append(bounds)
        self.rows.append(rows)
        self.cpu.append(cpu)
        self.loose.append(loose)
        return len(self.gain) - 1


def relaxed_bound(data: PatternData) -> float:
    """No plan of the pattern has a higher objective; minus infinity when it has no plan at all."""
    from scipy.optimize import linprog

    program = _Program()
    for job in data.compute_jobs():
        if not _add_compute(program, data, job):
            return -math.inf
    for job in data.io_jobs():
        if not _add_io(program, data, job):
            return -math.inf
    size, pattern = len(program.gain), data.pattern
    table = [program.rows, program.cpu, program.loose]
    limits = [float(pattern.strict_rows), float(pattern.rows)]
    limits.append(data.problem.loose_io_limit * pattern.k)
    for terms, least in program.floors:
        table.append([-terms.get(at, 0.0) for at in range(size)])
        limits.append(-least)
    placed = [[float(at in pair) for at in range(size)] for pair in program.placed]
    solved = linprog(
        [-gain for gain in program.gain], table, limits, placed or None,
        [1.0] * len(placed) or None, program.bounds,
    )  # fmt: skip
    if solved.status == 2:
        return -math.inf
    return -float(solved.fun) if solved.status == 0 else math.inf


def _add_compute(program: _Program, data: PatternData, job: int) -> bool:
    """Rows and loose CPU of a compute job; False when its floor needs more rows than there are."""
    problem, pattern = data.problem, data.pattern
    item, frame = problem.jobs[job], pattern.rows
    width = problem.job_columns(job) / problem.machine.num_columns
    gain, least = problem.share(job) / frame, data.min_rows(job)
    if least > pattern.strict_rows:
        return False
    rows = program.add(gain, (least, pattern.strict_rows), rows=width, cpu=width)
    if item.takes_loose_cpu:
        kept = 1.0 - (item.gamma or 0.0)
        tau = program.add(gain * kept, (0.0, frame), cpu=width)
        program.floors.append(({rows: 1.0, tau: kept}, frame * problem.phi(job)))
    return True


def _add_io(program: _Program, data: PatternData, job: int) -> bool:
    """An I/O job strict or loose; False when it can be neither."""
    problem, quantum = data.problem, data.problem.machine.quantum_seconds
    width = problem.job_columns(job) / problem.machine.num_columns
    places: list[int] = []
    if data.pattern.strict_rows:
        used = width * (1.0 - data.fragment(job) / quantum)
        places.append(program.add(-data.io_penalty(job, False), (0.0, 1.0), width, used))
    if job in data.loose:
        used = width * data.loose_cpu(job) / quantum
        places.append(program.add(-data.io_penalty(job, True), (0.0, 1.0), 0.0, used, used))
    program.placed.append(places)
    return bool(places)
