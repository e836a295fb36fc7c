"""Run a matrix update, or some of its phases, from one state to the next, for live
policies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import eq
from typing import TypeVar

from ioopt.decisions.gang.rules import (
    UNLIMITED,
    UNWEIGHTED,
    Number,
    RuleNumbers,
    Rules,
    weight_of,
)
from ioopt.decisions.gang.state import Gang, State
from ioopt.sim.gang import board as at
from ioopt.sim.gang.board import Board, Jobs, make_board, make_jobs
from ioopt.sim.gang.phases import add_replicas, clean, compact, fill, migrate, schedule

Item = TypeVar("Item")
Phase = Callable[[Board, Jobs, RuleNumbers, Number], None]

PHASES: dict[str, Phase] = {
    "clean": clean,
    "migrate": migrate,
    "compact": compact,
    "schedule": schedule,
    "fill": fill,
}
"""The phases of an update in order; a policy runs ``migrate`` only if its rules say
so.
"""


def phases_of(rules: Rules) -> dict[str, Phase]:
    """Return the phases that a policy with *rules* runs, keyed by name."""
    phases = dict(PHASES)
    if not rules.migrate:
        del phases["migrate"]
    return phases


def updated(state: State, rules: Rules, phases: Sequence[Phase], full: bool) -> State:
    """Return the state after *phases* have run on *state* under *rules*; replicas in
    *state* are removed first.

    *full* says whether FillMatrix is the last of *phases*.
    """
    gangs = [*state.jobs, *_queue(state, rules)]
    board, jobs = _begin(state, gangs, rules)
    board.tally[at.TAIL] = len(gangs)
    numbers = rules.numbers(state.nodes, len(state.rows), state.clock.quantum)
    for phase in phases:
        if phase is not clean:  # a board begins with home instances only
            phase(board, jobs, numbers, state.clock.now)
    rows = board.homes
    if full:
        rows = board.filled
    return state_of_board(board, jobs, gangs, rows, state)


def with_replicas(state: State, rules: Rules) -> State:
    """Return *state* with replicas added in its free cells, under *rules*."""
    board, jobs = _begin(state, state.jobs, rules)
    board.filled[:] = state.rows
    jobs.span[:] = state.spans
    numbers = rules.numbers(state.nodes, len(state.rows), state.clock.quantum)
    add_replicas(board, jobs, numbers)
    return state._replace(spans=jobs.span, rows=board.filled)


def state_of_board(
    board: Board, jobs: Jobs, gangs: Sequence[Gang], rows: Sequence[int], before: State
) -> State:
    """Return the state after a matrix update, read from *board* and *jobs*; *before* is
    the state before it.

    *gangs* are the jobs, indexed by key. *rows* are the occupied nodes of each row.
    """
    tally = board.tally
    run = board.run[: tally[at.RUNNING]]

    def of(column: Sequence[Item]) -> list[Item]:
        return [column[j] for j in run]

    return before._replace(
        jobs=of(gangs),
        columns=of(jobs.columns),
        homes=of(jobs.home),
        spans=of(jobs.span),
        rows=rows,
        budget=tally[at.BUDGET],
        admitted=tuple(gangs[j] for j in run[tally[at.STARTED] :]),
        moved=tuple(gangs[j].key for j in board.moved[: tally[at.MOVED]]),
        tasks_moved=before.budget - tally[at.BUDGET],
    )


def _begin(state: State, gangs: Sequence[Gang], rules: Rules) -> tuple[Board, Jobs]:
    """Return a board and a job table that hold the home instances of *state*.

    The running jobs are the first of *gangs*.
    """
    board = make_board(len(gangs), state.nodes, len(state.rows))
    jobs = make_jobs(gangs, rules)
    count = len(state.jobs)
    board.run[:count] = range(count)
    jobs.columns[:count] = state.columns
    jobs.home[:count] = state.homes
    jobs.local[:count] = map(eq, state.columns, jobs.files)
    homes = board.homes
    span = jobs.span
    for j, (own, home) in enumerate(zip(state.columns, state.homes)):
        homes[home] |= own
        span[j] = 1 << home
    board.population[:] = [row.bit_count() for row in homes]
    if rules.weight != UNWEIGHTED:
        attained = state.clock.attained
        need = state.clock.need
        jobs.attained[:] = [attained[job.key] for job in gangs]
        jobs.need[:] = [need[job.key] for job in gangs]
    tally = board.tally
    tally[at.RUNNING] = tally[at.STARTED] = tally[at.HEAD] = count
    tally[at.BUDGET] = state.budget
    return board, jobs


def _queue(state: State, rules: Rules) -> Sequence[Gang]:
    """Return the waiting jobs that may start, in order of precedence.

    If ``rules.free_queue``, overdue jobs come first, then the heaviest. Other queues
    stop at the first job that does not fit; they are cut after the jobs that together
    fill the free slots.
    """
    waiting = state.waiting
    clock = state.clock

    def order(job: Gang) -> tuple[bool, Number]:
        if rules.age > 0 and clock.now - job.arrival > rules.age:
            return False, 0
        attained = clock.attained[job.key]
        need = clock.need[job.key]
        return True, -weight_of(rules.weight, job.local, attained, need, clock.quantum)

    if rules.free_queue:
        return sorted(waiting, key=order)
    if not waiting or rules.patience < UNLIMITED:
        return waiting  # jobs that the guard refuses take no slots
    free = state.nodes * len(state.rows) - sum(job.size for job in state.jobs)
    fitting = 0
    for job in waiting:
        free -= job.size
        if free < 0:
            break
        fitting += 1
    return waiting[:fitting]
