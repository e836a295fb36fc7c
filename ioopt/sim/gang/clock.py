"""Advance the clock of a time-sliced machine, and change its matrix in place (rules 1
to 5).

The code runs in plain Python and compiled. At time t the row floor(t/T) mod M runs,
where T is the quantum and M the number of rows (rule 1). Arrivals and departures within
the tolerance are one event (rule 3). Departures come first; they cost nothing (rule 5).
Arrivals follow, and then one update of the matrix.
"""

import math

from ioopt.decisions.gang.rules import UNWEIGHTED, RuleNumbers
from ioopt.decisions.gang.state import Timing, tolerance_at
from ioopt.sim.gang.compaction import compact
from ioopt.sim.gang.matrix import Matrix
from ioopt.sim.gang.phases import migrate, schedule
from ioopt.sim.gang.placement import drop, take_out
from ioopt.sim.gang.replicas import clean, fill

NEVER = 1 << 60
"""A number of cycles that no run reaches."""


def simulate(matrix: Matrix, timing: Timing, rules: RuleNumbers, steps: int) -> None:
    """Make at most *steps* steps of the event loop; update the matrix at every
    event.
    """
    total = len(matrix.jobs)
    while steps > 0 and matrix.num_done < total:
        steps = advance(matrix, timing, steps)
        if matrix.update_due:
            update(matrix, timing, rules)


def update(matrix: Matrix, timing: Timing, rules: RuleNumbers) -> None:
    """Update the matrix: remove finished jobs, run the phases, and charge the time of
    migrations.
    """
    open_update(matrix, timing, rules)
    clean(matrix, rules)
    if rules.migrate:
        migrate(matrix, rules)
    compact(matrix, rules)
    schedule(matrix, rules)
    fill(matrix, rules)
    close_update(matrix, timing)


def open_update(matrix: Matrix, timing: Timing, rules: RuleNumbers) -> None:
    """Remove finished jobs from the matrix; in a new time slice, renew the migration
    budget.
    """
    for k in range(matrix.num_gone):
        j = matrix.gone[k]
        take_out(matrix, j)
        drop(matrix.running, matrix.num_running, j)
        if rules.weight != UNWEIGHTED:
            drop(matrix.order, matrix.num_running, j)
        matrix.num_running -= 1
    matrix.num_left = matrix.num_gone
    matrix.num_gone = 0
    matrix.num_moved = 0
    matrix.num_before = matrix.num_running
    if matrix.budget_slice != matrix.slice_number:
        matrix.budget_slice = matrix.slice_number
        matrix.tasks_left = timing.budget


def close_update(matrix: Matrix, timing: Timing) -> None:
    """Set the remaining times of the jobs that migrated or started in an update."""
    for k in range(matrix.num_moved):
        job = matrix.jobs[matrix.moved[k]]
        # The fraction of work left does not change (rule 7).
        left = job.need * job.at_files / job.remote
        job.need = timing.migration + left
    for k in range(matrix.num_before, matrix.num_running):
        job = matrix.jobs[matrix.running[k]]
        job.start = max(matrix.now, job.arrival)
        if job.local:
            job.need = job.at_files
        else:
            job.need = job.remote
    matrix.updates += 1
    matrix.update_due = False


def advance(matrix: Matrix, timing: Timing, steps: int) -> int:
    """Advance the clock until an update is due or *steps* steps are made; return the
    number of steps left.
    """
    jobs = matrix.jobs
    quantum = timing.quantum
    total = len(jobs)
    now = matrix.now
    index = matrix.slice_number
    due = False
    while steps > 0 and not due and matrix.num_done < total:
        steps -= 1
        arrived = matrix.queue_tail
        following = jobs[arrived].arrival if arrived < total else math.inf
        tolerance = tolerance_at(timing, now)
        later = quiet_until(matrix, timing, now, index, following)
        if later > index:
            index = later
            now = index * quantum
        if following > now + tolerance:
            until = run_row(matrix, timing, now, index, following)
            matrix.slot_seconds += matrix.slots * (until - now)
            now = until
            if until == (index + 1) * quantum:
                index += 1
        tolerance = tolerance_at(timing, now)
        while arrived < total and jobs[arrived].arrival <= now + tolerance:
            arrived += 1
        held = timing.at_boundary and now != index * quantum
        due = not held and (matrix.num_gone > 0 or arrived != matrix.queue_tail)
        matrix.queue_tail = arrived
    matrix.now = now
    matrix.slice_number = index
    matrix.update_due = due
    return steps


def quiet_until(
    matrix: Matrix, timing: Timing, now: float, index: int, following: float
) -> int:
    """Skip the slices in which no event occurs; return the slice to go on with.

    *index* is the slice of the instant *now*, and *following* is the time of the next
    arrival. Within a slice nothing is skipped while jobs run.
    """
    if matrix.num_running > 0:
        if now == index * timing.quantum:
            return index + skip_cycles(matrix, timing, following - now)
        return index
    if matrix.queue_head != matrix.queue_tail or following == math.inf:
        return index
    if now + tolerance_at(timing, now) < following:
        return slice_of(following, timing)
    return index


def slice_of(instant: float, timing: Timing) -> int:
    """Return the number of the time slice that contains *instant*; a boundary belongs
    to the later slice.
    """
    index = math.floor(instant / timing.quantum)
    if (index + 1) * timing.quantum - instant <= tolerance_at(timing, instant):
        index += 1
    return index


def skip_cycles(matrix: Matrix, timing: Timing, gap: float) -> int:
    """Skip whole cycles in which no event occurs; return the number of slices skipped.

    A cycle gives every row one slice. *gap* is the time in seconds to the next arrival.
    """
    jobs = matrix.jobs
    running = matrix.running
    quantum = timing.quantum
    cycle = timing.levels * quantum
    cycles = NEVER
    if gap < math.inf:
        if gap < 3 * cycle:
            return 0
        cycles = math.floor(gap / cycle) - 1
    for k in range(matrix.num_running):
        job = jobs[running[k]]
        cycles = min(cycles, math.floor(job.need / (job.rows * quantum)) - 1)
        if cycles < 1:
            return 0
    for k in range(matrix.num_running):
        job = jobs[running[k]]
        passed = (cycles * job.rows) * quantum
        job.need -= passed
        job.attained += passed
    matrix.slot_seconds += matrix.slots * (cycles * cycle)
    return cycles * timing.levels


def run_row(
    matrix: Matrix, timing: Timing, now: float, index: int, following: float
) -> float:
    """Run the row of slice *index* from *now* to the next instant at which something
    can change.

    Return that instant. *following* is the time of the next arrival. Finished jobs are
    put into ``gone`` (rule 4). With ``at_boundary`` jobs may end inside the slice, but
    the matrix changes only at the end of the slice (rule 2).
    """
    jobs = matrix.jobs
    group = matrix.group
    at_boundary = timing.at_boundary
    tolerance = tolerance_at(timing, now)
    end = (index + 1) * timing.quantum
    until = end
    active = in_row(matrix, index % timing.levels)
    if not at_boundary:
        if following < until - tolerance:
            until = following
        first = math.inf
        for k in range(active):
            first = min(first, jobs[group[k]].need)
        if now + first < until - tolerance:
            until = now + first
    passed = until - now
    for k in range(active):
        j = group[k]
        job = jobs[j]
        if at_boundary and job.need <= 0:
            continue
        job.attained += passed
        remaining = job.need - passed
        if remaining <= tolerance:
            job.finish = until
            if at_boundary:
                job.finish = min(now + job.need, end)
            remaining = 0
            matrix.gone[matrix.num_gone] = j
            matrix.num_gone += 1
            matrix.num_done += 1
        job.need = remaining
    return until


def in_row(matrix: Matrix, row: int) -> int:
    """Collect in the group the running jobs that *row* holds; return their number."""
    jobs = matrix.jobs
    running = matrix.running
    group = matrix.group
    num = 0
    for k in range(matrix.num_running):
        j = running[k]
        if jobs[j].span >> row & 1:
            group[num] = j
            num += 1
    return num
