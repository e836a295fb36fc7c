"""Strict gang scheduling, plain and with filled fragments: the baselines of the
flexible plans (F6).
"""

from ioopt.check.flexgang.flexible_gang import check
from ioopt.models.flexgang.frame import PatternData, Placement, column_capacity, lay_out
from ioopt.problems.base import Record
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan, FlexibleGangProblem
from ioopt.protocols import Outcome, SolveRequest


class Settings(Record):
    """``fill``: share the fragments of every column between its compute jobs."""

    fill: bool = False


def solve(
    problem: FlexibleGangProblem, request: SolveRequest[Settings, FlexibleGangPlan]
) -> Outcome[FlexibleGangPlan]:
    """Pack strictly; nothing is found when the frame has too few rows or a rule breaks.
    """
    settings = request.settings or Settings()
    plan, why = try_strict(problem, settings.fill)
    return Outcome(plan, notes=(f"no strict plan: {why}",) if plan is None else ())


def try_strict(
    problem: FlexibleGangProblem, fill: bool
) -> tuple[FlexibleGangPlan | None, str]:
    """The strict plan, with fragments shared equally when *fill*, or None and why not.

    Rows, the surface, a floor, or I/O beyond its fragments.
    """
    rows = 1 + max(row for row, _ in problem.strict_packing)
    if rows > problem.num_rows:
        return None, f"the packing needs {rows} rows, the frame has {problem.num_rows}"
    pattern = problem.pattern(0, 1)
    data = PatternData.of(problem, pattern) if pattern is not None else None
    if data is None:
        return None, "the surface has no entry for strict rows"
    home = {job: position for job, (_, position) in enumerate(problem.strict_packing)}
    placement = Placement(home, dict.fromkeys(home, 1))
    tau: dict[int, float] = {}
    by_column: dict[int, list[float]] = {}
    for job, parts in equal_shares(data, placement).items() if fill else ():
        if problem.jobs[job].self_balancing:
            by_column[job] = parts
            tau[job] = sum(parts) / len(parts)
        else:
            tau[job] = min(parts)
    plan = lay_out(data, placement, tau, by_column)
    found = check(problem, plan).violations
    return (None, str(found[0])) if found else (plan, "")


def equal_shares(data: PatternData, placement: Placement) -> dict[int, list[float]]:
    """Seconds of every column of its block for each job that can use them, shared
    equally.
    """
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
