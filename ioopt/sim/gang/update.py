"""Run a matrix update, or some of its phases, from one state to the next, for live
policies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from ioopt.compiled.memory import Maker, Plain
from ioopt.decisions.gang.rules import (
    UNLIMITED,
    UNWEIGHTED,
    RuleNumbers,
    Rules,
    weight_of,
)
from ioopt.decisions.gang.state import Gang, State
from ioopt.sim.gang.compaction import compact
from ioopt.sim.gang.matrix import Matrix, Service, masks_of, new_matrix, sets_of
from ioopt.sim.gang.phases import migrate, schedule
from ioopt.sim.gang.placement import worth_of
from ioopt.sim.gang.replicas import add_replicas, clean, fill

Phase = Callable[[Matrix, RuleNumbers], None]

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


def updated(
    state: State,
    rules: Rules,
    phases: Sequence[Phase],
    full: bool,
    make: Maker | None = None,
) -> State:
    """Return the state after *phases* have run on *state* under *rules*; replicas in
    *state* are removed first.

    *full* says whether FillMatrix is the last of *phases*. *make* chooses between plain
    Python, which is faster for a single update, and compiled code.
    """
    make = make or Plain()
    gangs = [*state.jobs, *_queue(state, rules)]
    numbers = rules.numbers(state.nodes, len(state.rows), state.clock.quantum)
    matrix = _begin(state, gangs, rules, numbers, make)
    matrix.queue_tail = len(gangs)
    if make.compiled:
        numbers = make.table(RuleNumbers, **asdict(numbers))
    for phase in phases:
        if phase is not clean:  # a matrix begins with home instances only
            make.function(phase)(matrix, numbers)
    rows = matrix.homes
    if full:
        rows = matrix.filled
    return state_of_matrix(matrix, gangs, rows, state)


def with_replicas(state: State, rules: Rules) -> State:
    """Return *state* with replicas added in its free cells, under *rules*."""
    numbers = rules.numbers(state.nodes, len(state.rows), state.clock.quantum)
    matrix = _begin(state, state.jobs, rules, numbers, Plain())
    matrix.filled[:] = state.rows
    for job, span in zip(matrix.jobs, state.spans):
        job.span = span
    add_replicas(matrix, numbers)
    return state._replace(spans=[job.span for job in matrix.jobs], rows=matrix.filled)


def state_of_matrix(
    matrix: Matrix, gangs: Sequence[Gang], rows: Sequence[int], before: State
) -> State:
    """Return the state after a matrix update, read from *matrix*; *before* is the state
    before it.

    *gangs* are the jobs, indexed by key. *rows* are the occupied nodes of each row.
    """
    run = matrix.running[: matrix.num_running]
    jobs = [matrix.jobs[j] for j in run]
    columns = masks_of(matrix.columns, matrix.words)
    return before._replace(
        jobs=[gangs[j] for j in run],
        columns=[columns[j] for j in run],
        homes=[job.home for job in jobs],
        spans=[job.span for job in jobs],
        rows=masks_of(rows, matrix.words),
        budget=matrix.tasks_left,
        admitted=tuple(gangs[j] for j in run[matrix.num_before :]),
        moved=tuple(gangs[j].key for j in matrix.moved[: matrix.num_moved]),
        tasks_moved=before.budget - matrix.tasks_left,
    )


def _begin(
    state: State,
    gangs: Sequence[Gang],
    rules: Rules,
    numbers: RuleNumbers,
    make: Maker,
) -> Matrix:
    """Return a matrix that holds the home instances of *state*.

    The running jobs are the first of *gangs*.
    """
    clock = state.clock
    service = None
    if rules.weight != UNWEIGHTED:
        attained = clock.attained
        need = clock.need
        service = Service(
            attained=[attained[gang.key] for gang in gangs],
            need=[need[gang.key] for gang in gangs],
        )
    levels = len(state.rows)
    matrix = new_matrix(gangs, state.nodes, levels, rules, make, clock.now, service)
    jobs = matrix.jobs
    count = len(state.jobs)
    rows = [0] * levels
    for j, (gang, own, home) in enumerate(zip(state.jobs, state.columns, state.homes)):
        rows[home] |= own
        job = jobs[j]
        job.local = own == gang.files
        job.home = home
        job.span = 1 << home
        job.rows = 1
        job.rank = j
    matrix.columns[: count * matrix.words] = sets_of(state.columns, state.nodes, make)
    matrix.homes[:] = sets_of(rows, state.nodes, make)
    matrix.population[:] = [row.bit_count() for row in rows]
    matrix.running[:count] = range(count)
    matrix.order[:count] = range(count)
    if rules.weight != UNWEIGHTED:
        matrix.order[:count] = sorted(
            range(count), key=lambda j: -worth_of(jobs[j], numbers)
        )
    matrix.num_running = count
    matrix.num_before = count
    matrix.num_started = count
    matrix.queue_head = count
    matrix.tasks_left = state.budget
    return matrix


def _queue(state: State, rules: Rules) -> Sequence[Gang]:
    """Return the waiting jobs that may start, in order of precedence.

    If ``rules.free_queue``, overdue jobs come first, then the heaviest. A job with more
    tasks than there are free slots in the whole matrix cannot start: it is left out if
    others may pass it, and otherwise nothing behind it can start either.
    """
    free = state.nodes * len(state.rows) - sum([job.size for job in state.jobs])
    if rules.free_queue:
        return _free_queue(state, rules, free)
    guarded = rules.patience < UNLIMITED
    fitting = 0
    for job in state.waiting:
        if job.size > free:
            break
        if not guarded:  # jobs that the guard refuses take no slots
            free -= job.size
        fitting += 1
    return state.waiting[:fitting]


def _free_queue(state: State, rules: Rules, free: int) -> Sequence[Gang]:
    """Return the waiting jobs that may start in *free* slots, with the overdue ones
    first and then the heaviest.
    """
    clock = state.clock
    overdue = []
    others = []
    for job in state.waiting:
        if rules.age > 0 and clock.now - job.arrival > rules.age:
            overdue.append(job)
        elif job.size <= free:
            others.append(job)
    for k, job in enumerate(overdue):
        if job.size > free:
            return overdue[:k]

    def weight(job: Gang) -> float:
        attained = clock.attained[job.key]
        need = clock.need[job.key]
        return weight_of(rules.weight, job.local, attained, need, clock.quantum)

    return [*overdue, *sorted(others, key=weight, reverse=True)]
