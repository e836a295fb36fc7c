"""A slow reference for flexible gang assignment.

It tries every home and every set of rows, and then solves a linear program for the
times tau. It shares only the instance class and the responses with the code that it
tests: rows are numbered, fairness is written with t[j,c] as in the rules, and every
cell is checked.
"""

import itertools
import math
from collections.abc import Iterator

from scipy.optimize import linprog

from ioopt.measure.quantum_chain import Surface
from ioopt.problems.flexgang.flexible_gang import FlexibleGangProblem

Choice = tuple[int, tuple[int, ...], bool]
"""The home of a job, its strict rows, and whether it is loose."""


def best_of_pattern(problem: FlexibleGangProblem, k: int, d: int) -> float | None:
    """Return the best objective of pattern (k, d), or None if no plan satisfies the
    rules.
    """
    rows = problem.num_rows - k
    best: float | None = None
    known: dict[tuple[object, ...], float | None] = {}
    menus = [list(_choices(problem, j, rows, k > 0)) for j in range(len(problem.jobs))]
    for choices in itertools.product(*menus):
        if _clash(problem, choices):
            continue
        key = tuple((home, len(held), loose) for home, held, loose in choices)
        if key not in known:
            known[key] = _value(problem, k, d, choices)
        value = known[key]
        if value is not None and (best is None or value > best):
            best = value
    return best


def _choices(
    problem: FlexibleGangProblem, j: int, rows: int, windows: bool
) -> Iterator[Choice]:
    job = problem.jobs[j]
    for home in range(problem.num_positions(j)):
        if job.is_io:
            yield from ((home, (row,), False) for row in range(rows))
            if windows and not job.coordinated:
                yield home, (), True
            continue
        for count in range(rows + 1):
            yield from (
                (home, held, False)
                for held in itertools.combinations(range(rows), count)
            )


def _clash(problem: FlexibleGangProblem, choices: tuple[Choice, ...]) -> bool:
    taken: set[tuple[int, int]] = set()
    for j, (home, held, _) in enumerate(choices):
        for row in held:
            for column in problem.block(j, home):
                if (row, column) in taken:
                    return True
                taken.add((row, column))
    return False


def _value(
    problem: FlexibleGangProblem, k: int, d: int, choices: tuple[Choice, ...]
) -> float | None:
    q = problem.machine.quantum_seconds
    frame = problem.num_rows * q
    surface = Surface(problem.machine.processors, problem.surface)
    on, off = k * q / d, (frame - k * q) / d
    columns = range(problem.machine.num_columns)
    room = [frame for _ in columns]
    load = [0.0 for _ in columns]
    fixed = 0.0
    for j, (home, held, loose) in enumerate(choices):
        job, share = problem.jobs[j], problem.share(j)
        if job.is_io:
            found = surface.at(job, on, off) if loose else surface.at(job, q, frame - q)
            fixed -= problem.lambda_ * share * (found.slowdown - 1)
        for c in problem.block(j, home):
            room[c] -= found.beta * frame if job.is_io else q * len(held)
            load[c] += found.beta * frame if loose else 0.0
        if not job.is_io:
            fixed += share * q * len(held) / frame
    if max(load) > problem.loose_io_limit * k * q + 1e-12 or min(room) < -1e-12:
        return None
    return _with_tau(problem, choices, room, frame, fixed)


def _with_tau(
    problem: FlexibleGangProblem,
    choices: tuple[Choice, ...],
    room: list[float],
    frame: float,
    fixed: float,
) -> float | None:
    """Return the best objective for fixed *choices*, or None if none is possible.

    The variables are tau_j and t[j,c]. The constraint tau_j <= t[j,c] holds for all
    columns c of job j; for self-balancing jobs, tau_j is at most the mean of t[j,c].
    """
    q = problem.machine.quantum_seconds
    jobs = [j for j, job in enumerate(problem.jobs) if not job.is_io]
    cells = [(j, c) for j in jobs for c in problem.block(j, choices[j][0])]
    at = {j: n for n, j in enumerate(jobs)} | {
        cell: len(jobs) + n for n, cell in enumerate(cells)
    }
    size = len(jobs) + len(cells)
    gain, upper, limits = [0.0] * size, [], []
    bounds: list[tuple[float, float | None]] = [(0.0, None)] * size
    for j in jobs:
        job = problem.jobs[j]
        loose = 1 - job.gamma
        gain[at[j]] = -problem.share(j) * loose / frame
        need = problem.phi(j) - q * len(choices[j][1]) / frame
        if job.gamma >= 0.95:
            bounds[at[j]] = (0.0, 0.0)
            if need > 1e-9:
                return None
        else:
            bounds[at[j]] = (max(0.0, need) * frame / loose, None)
        block = problem.block(j, choices[j][0])
        groups = [list(block)] if job.self_balancing else [[c] for c in block]
        for group in groups:
            row = [0.0] * size
            row[at[j]] = 1.0
            for c in group:
                row[at[j, c]] = -1.0 / len(group)
            upper.append(row)
            limits.append(0.0)
    for c, free in enumerate(room):
        upper.append(
            [
                float(n >= len(jobs) and cells[n - len(jobs)][1] == c)
                for n in range(size)
            ]
        )
        limits.append(max(0.0, free))
    solved = linprog(gain, upper, limits, bounds=bounds)
    return (
        fixed - solved.fun if solved.status == 0 and math.isfinite(solved.fun) else None
    )
