"""Strict gang scheduling, plain and with filled fragments: the baselines of the flexible plans.

Strict: one row a job, packed first-fit decreasing, nothing loose. Strict + fill: every compute job
with gamma < .95 in a strict row of a column shares the column's fragments and idle cells equally
(F6). Both are feasible points of the model with k = 0.
"""

from __future__ import annotations

from ioopt.models.flexgang.frame import PatternData, Placement, column_capacity, lay_out
from ioopt.problems.base import Record
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan, FlexibleGangProblem
from ioopt.protocols import Outcome, SolveRequest


class Settings(Record):
    """``fill``: share the fragments of every column between its compute jobs."""

    fill: bool = False


def solve(problem: FlexibleGangProblem, request: SolveRequest) -> Outcome:
    """Pack strictly; nothing is found when the frame has too few rows or a floor is too high."""
    settings: Settings = request.settings or Settings()
    plan = strict_plan(problem, settings.fill)
    if plan is None:
        rows = 1 + max(row for row, _ in problem.strict_packing)
        note = f"strict packing needs {rows} rows, the frame has {problem.num_rows}"
        return Outcome(None, notes=(note,))
    return Outcome(plan)


def strict_plan(problem: FlexibleGangProblem, fill: bool) -> FlexibleGangPlan | None:
    """The strict plan, with fragments shared equally when *fill*; None when rows do not suffice."""
    rows = 1 + max(row for row, _ in problem.strict_packing)
    pattern = problem.pattern(0, 1)
    data = PatternData.of(problem, pattern) if pattern is not None else None
    if data is None or rows > problem.num_rows:
        return None
    home = {job: position for job, (_, position) in enumerate(problem.strict_packing)}
    placement = Placement(home, dict.fromkeys(home, 1))
    if not fill:
        return lay_out(data, placement)
    granted = equal_shares(data, placement)
    tau: dict[int, float] = {}
    by_column: dict[int, list[float]] = {}
    for job, parts in granted.items():
        if problem.jobs[job].self_balancing:
            by_column[job] = parts
            tau[job] = sum(parts) / len(parts)
        else:
            tau[job] = min(parts)
    return lay_out(data, placement, tau, by_column)


def equal_shares(data: PatternData, placement: Placement) -> dict[int, list[float]]:
    """Seconds of every column of its block for each job that can use them, shared equally."""
    problem = data.problem
    fillers = [
        job
        for job in data.compute_jobs()
        if problem.jobs[job].takes_loose_cpu and placement.rows.get(job, 0)
    ]
    capacity = column_capacity(data, placement)
    present = [
        sum(column in problem.block(job, placement.home[job]) for job in fillers)
        for column in range(problem.machine.num_columns)
    ]
    return {
        job: [
            max(0.0, capacity[column]) / present[column]
            for column in problem.block(job, placement.home[job])
        ]
        for job in fillers
    }
