"""Advance the clock of a time-sliced machine, and change the machine's board in place
(rules 1 to 5).

Plain Python and machine code run the same code. At time t the row floor(t/T) mod M
runs, where T is the quantum and M the number of rows (rule 1). Arrivals and departures
within the tolerance are one event (rule 3). Departures come first; they cost nothing
(rule 5). Arrivals follow, and then one update of the matrix.
"""

import math

from ioopt.decisions.gang.rules import Number, RuleNumbers
from ioopt.decisions.gang.state import Timing
from ioopt.sim.gang import board as at
from ioopt.sim.gang.board import Board, Jobs
from ioopt.sim.gang.nodes import drop, in_row, num_rows
from ioopt.sim.gang.phases import clean, compact, fill, migrate, schedule, take_out

NEVER = 1 << 60
"""A number of cycles that no run reaches."""


def simulate(
    board: Board, jobs: Jobs, timing: Timing, rules: RuleNumbers, steps: int
) -> None:
    """Make at most *steps* steps of the event loop; update the matrix at every
    event.
    """
    tally = board.tally
    while steps > 0 and tally[at.DONE] < len(jobs.size):
        steps = advance(board, jobs, timing, steps)
        if tally[at.DUE]:
            update(board, jobs, timing, rules)


def update(board: Board, jobs: Jobs, timing: Timing, rules: RuleNumbers) -> None:
    """Update the matrix: remove finished jobs, run the phases, and charge the time of
    migrations.
    """
    open_update(board, jobs, timing)
    now = board.clock[at.NOW]
    clean(board, jobs, rules, now)
    if rules.migrate:
        migrate(board, jobs, rules, now)
    compact(board, jobs, rules, now)
    schedule(board, jobs, rules, now)
    fill(board, jobs, rules, now)
    close_update(board, jobs, timing)


def open_update(board: Board, jobs: Jobs, timing: Timing) -> None:
    """Remove finished jobs from the matrix; in a new time slice, renew the migration
    budget.
    """
    tally = board.tally
    for j in board.gone[: tally[at.GONE]]:
        take_out(board, jobs, j)
        drop(board.run, tally[at.RUNNING], j)
        tally[at.RUNNING] -= 1
    tally[at.LEFT] = tally[at.GONE]
    tally[at.GONE] = 0
    tally[at.MOVED] = 0
    tally[at.STARTED] = tally[at.RUNNING]
    if tally[at.BUDGET_SLICE] != tally[at.SLICE]:
        tally[at.BUDGET_SLICE] = tally[at.SLICE]
        tally[at.BUDGET] = timing.budget


def close_update(board: Board, jobs: Jobs, timing: Timing) -> None:
    """Set the remaining times of the jobs that migrated or started in an update."""
    tally = board.tally
    now = board.clock[at.NOW]
    for j in board.moved[: tally[at.MOVED]]:
        # The fraction of work left does not change (rule 7).
        left = jobs.need[j] * jobs.at_files[j] / jobs.remote[j]
        jobs.need[j] = timing.migration + left
    for j in board.run[tally[at.STARTED] : tally[at.RUNNING]]:
        jobs.start[j] = max(now, jobs.arrival[j])
        if jobs.local[j]:
            jobs.need[j] = jobs.at_files[j]
        else:
            jobs.need[j] = jobs.remote[j]
    tally[at.UPDATES] += 1
    tally[at.DUE] = 0


def advance(board: Board, jobs: Jobs, timing: Timing, steps: int) -> int:
    """Advance the clock until an update is due or *steps* steps are made; return the
    number of steps left.
    """
    tally = board.tally
    clock = board.clock
    arrival = jobs.arrival
    quantum = timing.quantum
    tolerance = timing.tolerance
    total = len(jobs.size)
    now = clock[at.NOW]
    index = tally[at.SLICE]
    arrived = tally[at.TAIL]
    due = False
    while steps > 0 and not due and tally[at.DONE] < total:
        steps -= 1
        following: Number = arrival[arrived] if arrived < total else math.inf
        if tally[at.RUNNING] > 0:
            if now == index * quantum:
                index += skip_cycles(board, jobs, timing, following - now)
                now = index * quantum
        elif tally[at.HEAD] == arrived and now + tolerance < following < math.inf:
            jump = slice_of(following, timing)
            if jump > index:
                index = jump
                now = index * quantum
        if following > now + tolerance:
            until = run_row(board, jobs, timing, now, index, following)
            clock[at.SLOT_SECONDS] += tally[at.SLOTS] * (until - now)
            now = until
            if until == (index + 1) * quantum:
                index += 1
        fresh = arrived
        while arrived < total and arrival[arrived] <= now + tolerance:
            arrived += 1
        held = timing.at_boundary and now != index * quantum
        due = not held and (tally[at.GONE] > 0 or fresh != arrived)
    clock[at.NOW] = now
    tally[at.SLICE] = index
    tally[at.TAIL] = arrived
    tally[at.DUE] = int(due)
    return steps


def slice_of(instant: Number, timing: Timing) -> int:
    """Return the number of the time slice that contains *instant*; a boundary belongs
    to the later slice.
    """
    index = math.floor(instant / timing.quantum)
    if (index + 1) * timing.quantum - instant <= timing.tolerance:
        index += 1
    return index


def skip_cycles(board: Board, jobs: Jobs, timing: Timing, gap: Number) -> int:
    """Skip whole cycles in which no event occurs; return the number of slices skipped.

    A cycle gives every row one slice. *gap* is the time in seconds to the next arrival.
    """
    quantum = timing.quantum
    cycle = timing.levels * quantum
    cycles = NEVER
    if gap < math.inf:
        if gap < 3 * cycle:
            return 0
        cycles = math.floor(gap / cycle) - 1
    running = board.run[: board.tally[at.RUNNING]]
    for j in running:
        replicas = num_rows(jobs.span[j])
        cycles = min(cycles, math.floor(jobs.need[j] / (replicas * quantum)) - 1)
        if cycles < 1:
            return 0
    for j in running:
        passed = (cycles * num_rows(jobs.span[j])) * quantum
        jobs.need[j] -= passed
        jobs.attained[j] += passed
    board.clock[at.SLOT_SECONDS] += board.tally[at.SLOTS] * (cycles * cycle)
    return cycles * timing.levels


def run_row(
    board: Board, jobs: Jobs, timing: Timing, now: Number, index: int, following: Number
) -> Number:
    """Run the row of slice *index* from *now* to the next instant at which something
    can change.

    Return that instant. *following* is the time of the next arrival. Finished jobs are
    put into ``gone`` (rule 4). With ``at_boundary`` jobs may end inside the slice, but
    the matrix changes only at the end of the slice (rule 2).
    """
    tally = board.tally
    need = jobs.need
    tolerance = timing.tolerance
    end = (index + 1) * timing.quantum
    until: Number = end
    running = board.run[: tally[at.RUNNING]]
    active = board.group[
        : in_row(running, jobs.span, index % timing.levels, board.group)
    ]
    if not timing.at_boundary:
        if following < until - tolerance:
            until = following
        first: Number = math.inf
        for j in active:
            if need[j] < first:
                first = need[j]
        if now + first < until - tolerance:
            until = now + first
    passed = until - now
    for j in active:
        if timing.at_boundary and need[j] <= 0:
            continue
        jobs.attained[j] += passed
        remaining = need[j] - passed
        if remaining <= tolerance:
            if timing.at_boundary:
                jobs.finish[j] = min(now + need[j], end)
            else:
                jobs.finish[j] = until
            remaining = 0
            board.gone[tally[at.GONE]] = j
            tally[at.GONE] += 1
            tally[at.DONE] += 1
        need[j] = remaining
    return until
