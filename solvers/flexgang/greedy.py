"""Assign flexible gangs greedily (F6): make a plan for every pattern, and return the
best.
"""

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
"""Gangedness below which a compute job gets no strict row of its own.

It may still get idle cells of rows afterwards.
"""
SIMULATION_FRACTION = 0.2
"""Share of the time limit that is reserved to simulate the plan."""


def solve(
    problem: FlexibleGangProblem, request: SolveRequest[None, FlexibleGangPlan]
) -> Outcome[FlexibleGangPlan]:
    """Return the best greedy plan over all patterns.

    If no pattern has one, return the plan of strict + fill and a note.
    """
    per_pattern: dict[str, float] = {}
    plans: list[tuple[PatternData, FlexibleGangPlan]] = []
    for data, plan in greedy_plans(problem, request.deadline):
        plans.append((data, plan))
        per_pattern[data.pattern.key] = model_objective(data, plan)
        request.incumbents.report(plan, per_pattern[data.pattern.key])
    if _time_is_up(request.deadline):
        stop = StopReason.TIME
    else:
        stop = StopReason.FINISHED
    metrics = {"per_pattern": per_pattern}
    if plans:
        return Outcome(best_of(plans), stop=stop, metrics=metrics)
    filled, why = try_strict(problem, fill=True)
    note = "the greedy found no pattern that keeps every floor"
    if filled is not None:
        note += "; returned the plan of strict + fill"
    else:
        note += f"; strict + fill fails too: {why}"
    return Outcome(filled, stop=stop, notes=(note,), metrics=metrics)


def best_of(plans: list[tuple[PatternData, FlexibleGangPlan]]) -> FlexibleGangPlan:
    """Return the plan with the highest objective; of equals, that of the first
    pattern.
    """
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
    """Yield the greedy plan of every pattern that has one.

    Patterns come in an order that soon covers the whole range: neighbouring patterns
    give similar plans, so when time is short a few patterns from the whole range do
    better than the first ones. Start no new pattern once less than *reserve* of the
    deadline is left; this time is for simulating the plan.
    """
    patterns = problem.patterns()
    width = len(patterns).bit_length()
    spread = sorted(range(len(patterns)), key=lambda k: f"{k:0{width}b}"[::-1])
    for at, k in enumerate(spread):
        pattern = patterns[k]
        if at and deadline is not None and _time_is_up(deadline, reserve):
            return
        data = PatternData.of(problem, pattern)
        if data is not None:
            plan = greedy_plan(data)
            if plan is not None:
                yield data, plan


def greedy_plan(data: PatternData) -> FlexibleGangPlan | None:
    """Return the greedy plan of one pattern.

    Return None if a job finds no strict row, or if a floor is missed.
    """
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
        placement.home[job] = place[1]
        placement.rows[job] = 1
    for job in data.problem.by_size(data.compute_jobs()):
        if job not in placement.home:
            placement.home[job] = _roomiest(data, placement, job)
    _replicate(data, cells, placement)
    return plan_with_best_tau(data, placement)


def _place_loose_io(data: PatternData, placement: Placement) -> list[int]:
    """Place I/O jobs in the loose windows, each on the block that is least loaded.

    Return the I/O jobs that need a strict row.
    """
    problem = data.problem
    limit = problem.loose_io_limit * data.pattern.k * problem.machine.quantum_seconds
    load = [0.0] * problem.machine.num_columns
    strict: list[int] = []
    for job in problem.by_size(data.io_jobs()):
        if job not in data.loose:
            strict.append(job)
            continue
        peaks = []
        for block in range(problem.num_positions(job)):
            peaks.append(max(load[c] for c in problem.block(job, block)))
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
    """Return the block of *job* with the most room.

    The room of a block is that of its fullest column: its free time, divided by the
    number of home jobs with *job*.
    """
    problem = data.problem
    capacity = column_capacity(data, placement)
    homes = [0] * problem.machine.num_columns
    for other in data.compute_jobs():
        if other in placement.home:
            for column in problem.block(other, placement.home[other]):
                homes[column] += 1
    room = []
    for position in range(problem.num_positions(job)):
        block = problem.block(job, position)
        room.append(min(capacity[c] / (1 + homes[c]) for c in block))
    return max(range(len(room)), key=lambda b: (room[b], -b))


def _replicate(data: PatternData, cells: list[set[int]], placement: Placement) -> None:
    """Give the idle cells of every strict row to compute jobs with their home there.

    *cells* has the occupied columns of each row. Jobs with the largest weight come
    first, then those with the fewest rows.
    """
    problem = data.problem
    jobs = data.problem.jobs
    for taken in cells:

        def rank(j: int) -> tuple[float, int, int, int]:
            return -jobs[j].weight, placement.rows.get(j, 0), -jobs[j].processes, j

        for job in sorted(data.compute_jobs(), key=rank):
            block = problem.block(job, placement.home[job])
            if taken.isdisjoint(block):
                taken.update(block)
                placement.rows[job] = placement.rows.get(job, 0) + 1
