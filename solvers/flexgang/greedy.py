"""Greedy flexible gang assignment (F6): every pattern, the best one wins."""

from collections.abc import Iterator

from ioopt.models.flexgang.frame import (
    PatternData,
    Placement,
    column_capacity,
    model_objective,
)
from ioopt.options import Deadline
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan, FlexibleGangProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.solvers.flexgang.linear import plan_with_best_tau
from ioopt.solvers.flexgang.strict import try_strict

LOOSE_GAMMA = 0.5
"""Compute jobs below this gangedness go without rows of their own (until rows are
replicated).
"""
SIMULATION_FRACTION = 0.2
"""Part of the time limit that the greedy leaves for simulating its plan."""


def solve(
    problem: FlexibleGangProblem, request: SolveRequest[None, FlexibleGangPlan]
) -> Outcome[FlexibleGangPlan]:
    """The best plan over all patterns; strict + fill, with a note, when no pattern
    works out.
    """
    per_pattern: dict[str, float] = {}
    plans: list[tuple[PatternData, FlexibleGangPlan]] = []
    for data, plan in greedy_plans(problem, request.deadline):
        plans.append((data, plan))
        per_pattern[data.pattern.key] = model_objective(data, plan)
        request.incumbents.report(plan, per_pattern[data.pattern.key])
    stop = StopReason.TIME if _time_is_up(request.deadline) else StopReason.FINISHED
    metrics = {"per_pattern": per_pattern}
    if plans:
        return Outcome(best_of(plans), stop=stop, metrics=metrics)
    filled, why = try_strict(problem, fill=True)
    note = "the greedy keeps the floors in no pattern"
    note += (
        "; strict + fill instead"
        if filled is not None
        else f", strict + fill neither: {why}"
    )
    return Outcome(filled, stop=stop, notes=(note,), metrics=metrics)


def best_of(plans: list[tuple[PatternData, FlexibleGangPlan]]) -> FlexibleGangPlan:
    """The plan that the model values most; of equals that of the first pattern."""
    in_order = sorted(plans, key=lambda item: item[0].pattern)
    return max(in_order, key=lambda item: model_objective(*item))[1]


def _time_is_up(deadline: Deadline, reserve: float = SIMULATION_FRACTION) -> bool:
    limit = deadline.limit_seconds
    return limit is not None and deadline.remaining() <= reserve * limit


def greedy_plans(
    problem: FlexibleGangProblem,
    deadline: Deadline | None = None,
    reserve: float = SIMULATION_FRACTION,
) -> Iterator[tuple[PatternData, FlexibleGangPlan]]:
    """The greedy's plan of every pattern that has one, widely spread patterns first.

    After the first pattern, none is begun when only the share *reserve* of *deadline*
    is left, which is for simulating the plan. Neighbours are alike: when time is short,
    a few from the whole range do better than the first.
    """
    patterns = problem.patterns()
    width = len(patterns).bit_length()
    spread = sorted(range(len(patterns)), key=lambda k: f"{k:0{width}b}"[::-1])
    for at, k in enumerate(spread):
        pattern = patterns[k]
        if at and deadline is not None and _time_is_up(deadline, reserve):
            return
        data = PatternData.of(problem, pattern)
        plan = greedy_plan(data) if data is not None else None
        if data is not None and plan is not None:
            yield data, plan


def greedy_plan(data: PatternData) -> FlexibleGangPlan | None:
    """The greedy's plan of one pattern; None when it does not fit or a floor breaks."""
    placement = Placement()
    strict = _place_loose_io(data, placement)
    strict += [
        j
        for j in data.compute_jobs()
        if (data.problem.jobs[j].gamma or 0) >= LOOSE_GAMMA
    ]
    cells: list[set[int]] = [set() for _ in range(data.pattern.strict_rows)]
    for job in data.problem.by_size(strict):
        place = data.problem.first_fit(job, cells)
        if place is None:
            return None
        placement.home[job], placement.rows[job] = place[1], 1
    for job in data.problem.by_size(data.compute_jobs()):
        if job not in placement.home:
            placement.home[job] = _roomiest(data, placement, job)
    _replicate(data, cells, placement)
    return plan_with_best_tau(data, placement)


def _place_loose_io(data: PatternData, placement: Placement) -> list[int]:
    """Put I/O jobs into the loose windows, least loaded block first; returns those left
    strict.
    """
    problem = data.problem
    limit = problem.loose_io_limit * data.pattern.k * problem.machine.quantum_seconds
    load = [0.0] * problem.machine.num_columns
    strict: list[int] = []
    for job in problem.by_size(data.io_jobs()):
        if job not in data.loose:
            strict.append(job)
            continue
        peaks = [
            max(load[c] for c in problem.block(job, b))
            for b in range(problem.num_positions(job))
        ]
        position = min(range(len(peaks)), key=peaks.__getitem__)
        if peaks[position] + data.loose_cpu(job) > limit:
            strict.append(job)
            continue
        for column in problem.block(job, position):
            load[column] += data.loose_cpu(job)
        placement.home[job] = position
        placement.loose.add(job)
    return strict


def _roomiest(data: PatternData, placement: Placement, job: int) -> int:
    """The block whose tightest column has the most free time a job that has its home
    there.
    """
    problem = data.problem
    capacity = column_capacity(data, placement)
    homes = [0] * problem.machine.num_columns
    for other in data.compute_jobs():
        if other in placement.home:
            for column in problem.block(other, placement.home[other]):
                homes[column] += 1
    room = [
        min(capacity[c] / (1 + homes[c]) for c in problem.block(job, b))
        for b in range(problem.num_positions(job))
    ]
    return max(range(len(room)), key=lambda b: (room[b], -b))


def _replicate(data: PatternData, cells: list[set[int]], placement: Placement) -> None:
    """Give idle cells of every row to compute jobs at home there: weightiest, fewest
    rows first.
    """
    problem, jobs = data.problem, data.problem.jobs
    for taken in cells:

        def rank(j: int) -> tuple[float, int, int, int]:
            return -jobs[j].weight, placement.rows.get(j, 0), -jobs[j].processes, j

        for job in sorted(data.compute_jobs(), key=rank):
            block = problem.block(job, placement.home[job])
            if taken.isdisjoint(block):
                taken.update(block)
                placement.rows[job] = placement.rows.get(job, 0) + 1
