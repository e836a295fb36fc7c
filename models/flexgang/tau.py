"""Linear program for the loose and fragment CPU of a given placement (F5, greedy).

max sum_j w (n/P) (1 - gamma_j) tau_j / L, with the columns' capacity, interprocess fairness and
the floors of progress. Homes and rows are fixed.
"""

from __future__ import annotations

from ioopt.models.flexgang.frame import PatternData, Placement, column_capacity, lay_out
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan


def plan_with_best_tau(
    data: PatternData, placement: Placement, slack: float = 0.0
) -> FlexibleGangPlan | None:
    """The plan of *placement* with the best tau; None when a floor cannot be kept within *slack*."""
    found = best_tau(data, placement, slack)
    if found is None:
        return None
    tau, by_column = found
    return lay_out(data, placement, tau, by_column)


def best_tau(
    data: PatternData, placement: Placement, slack: float = 0.0
) -> tuple[dict[int, float], dict[int, list[float]]] | None:
    """(tau by job, seconds by column of self-balancing jobs), or None when infeasible.

    Floors of progress may be missed by *slack*.
    """
    from scipy.optimize import linprog

    # In quanta, so that the tolerances of the program are small beside its numbers.
    problem, frame = data.problem, data.pattern.rows
    unit = problem.machine.quantum_seconds
    capacity = [seconds / unit for seconds in column_capacity(data, placement)]
    if min(capacity) < -1e-7:
        return None
    names: list[tuple[int, int | None]] = []
    objective: list[float] = []
    lower: list[float] = []
    rows: list[dict[int, float]] = [{} for _ in capacity]
    totals: list[tuple[dict[int, float], float]] = []
    for job in data.compute_jobs():
        item = problem.jobs[job]
        held = placement.rows.get(job, 0)
        short = (problem.phi(job) - slack) * frame - held
        if not item.takes_loose_cpu:
            if short > 1e-9:
                return None
            continue
        assert item.gamma is not None
        least = max(0.0, short) / (1.0 - item.gamma)
        block = problem.block(job, placement.home[job])
        gain = problem.share(job) * (1.0 - item.gamma) / frame
        parts = list(block) if item.self_balancing else [None]
        if item.self_balancing:
            members = {len(names) + at: 1.0 / len(block) for at in range(len(block))}
            totals.append((members, least))
        for part in parts:
            index = len(names)
            names.append((job, part))
            objective.append(-gain / len(parts))
            lower.append(0.0 if item.self_balancing else least)
            for column in block if part is None else (part,):
                rows[column][index] = 1.0
    if not names:
        return {}, {}
    table = [[row.get(at, 0.0) for at in range(len(names))] for row in rows]
    limits = [max(0.0, c) for c in capacity]
    for weights, least in totals:
        table.append([-weights.get(at, 0.0) for at in range(len(names))])
        limits.append(-least)
    solved = linprog(objective, table, limits, bounds=[(low, None) for low in lower])
    if solved.status != 0:
        return None
    return _read(names, [max(0.0, float(value)) * unit for value in solved.x])


def _read(
    names: list[tuple[int, int | None]], values: list[float]
) -> tuple[dict[int, float], dict[int, list[float]]]:
    tau: dict[int, float] = {}
    by_column: dict[int, list[float]] = {}
    for (job, part), value in zip(names, values):
        if part is None:
            tau[job] = value
        else:
            by_column.setdefault(job, []).append(value)
    for job, parts in by_column.items():
        tau[job] = sum(parts) / len(parts)
    return tau, by_column
