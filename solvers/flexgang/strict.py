"""Schedule gangs strictly, with or without filled fragments: the baselines (rule
F6).
"""

from ioopt.models.flexgang.frame import (
    PatternData,
    Placement,
    column_capacity,
    granted_in_columns,
    lay_out,
    progress_of,
)
from ioopt.problems.base import Record
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan, FlexibleGangProblem
from ioopt.protocols import Outcome, SolveRequest

TOLERANCE = 1e-6
"""Share of a frame by which a plan may miss a floor or grant too much."""


class Settings(Record):
    """Configure ``fill``: whether compute jobs share the fragments in the columns of
    their home.
    """

    fill: bool = False


def solve(
    problem: FlexibleGangProblem, request: SolveRequest[Settings, FlexibleGangPlan]
) -> Outcome[FlexibleGangPlan]:
    """Pack jobs into rows of their own; return no plan if that breaks a rule."""
    settings = request.settings or Settings()
    plan, why = try_strict(problem, settings.fill)
    if plan is None:
        return Outcome(None, notes=(f"no strict plan: {why}",))
    return Outcome(plan)


def try_strict(
    problem: FlexibleGangProblem, fill: bool
) -> tuple[FlexibleGangPlan | None, str]:
    """Return the strict plan and an empty string, or None and the reason why there is
    none.

    With *fill* the fragments of a column are shared equally. There is no plan if the
    packing needs too many rows, the surface has no entry for strict rows, a floor is
    missed, or I/O exceeds its fragments.
    """
    rows = 1 + max(row for row, _ in problem.strict_packing)
    if rows > problem.num_rows:
        return None, f"the packing needs {rows} rows, the frame has {problem.num_rows}"
    pattern = problem.pattern(0, 1)
    data = None
    if pattern is not None:
        data = PatternData.of(problem, pattern)
    if data is None:
        return None, "the surface has no entry for strict rows"
    home = {job: position for job, (_, position) in enumerate(problem.strict_packing)}
    placement = Placement(home, dict.fromkeys(home, 1))
    tau: dict[int, float] = {}
    by_column: dict[int, list[float]] = {}
    if fill:
        for job, parts in equal_shares(data, placement).items():
            if problem.jobs[job].self_balancing:
                by_column[job] = parts
                tau[job] = sum(parts) / len(parts)
            else:
                tau[job] = min(parts)
    plan = lay_out(data, placement, tau, by_column)
    why = shortfall(data, placement, plan)
    if why:
        return None, why
    return plan, ""


def shortfall(data: PatternData, placement: Placement, plan: FlexibleGangPlan) -> str:
    """Return the first column that has too little time for *plan*, or the first job
    that misses its floor; an empty string if there is neither.
    """
    problem = data.problem
    free = column_capacity(data, placement)
    for column, granted in enumerate(granted_in_columns(data, plan)):
        room = free[column]
        if granted - room > TOLERANCE * data.pattern.frame_seconds:
            text = f"{granted:g} s granted, {room:g} s free in a frame"
            return f"capacity: column {column}: {text}"
    for j in data.compute_jobs():
        progress = progress_of(data, plan, j)
        floor = problem.phi(j)
        if floor - progress > TOLERANCE:
            text = f"progress {progress:.6g} is below its floor {floor:g}"
            return f"floor: {problem.jobs[j].id}: {text}"
    return ""


def equal_shares(data: PatternData, placement: Placement) -> dict[int, list[float]]:
    """Share the free seconds of each column equally among the jobs that can use them.

    Return, for each job, its seconds in each column of its block.
    """
    problem = data.problem
    fillers = [
        job
        for job in data.compute_jobs()
        if problem.jobs[job].takes_loose_cpu and placement.rows.get(job, 0)
    ]
    capacity = column_capacity(data, placement)
    sharing = [0] * problem.machine.num_columns
    for job in fillers:
        for column in problem.block(job, placement.home[job]):
            sharing[column] += 1
    shares: dict[int, list[float]] = {}
    for job in fillers:
        block = problem.block(job, placement.home[job])
        shares[job] = [max(0.0, capacity[c]) / sharing[c] for c in block]
    return shares
