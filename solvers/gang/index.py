"""index-iogs (ours): the job that has had the least service goes first, everywhere.

Weights order admission, migration and FillMatrix; a job gets all the replicas it can have at
once. The queue is free (a job that does not fit is passed over) under the guard of
:mod:`ioopt.solvers.gang.guarded`; the age term keeps big jobs from being passed over for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from ioopt.sim.gang_state import Clock, Gang, Number, State
from ioopt.solvers.gang.guarded import Settings as GuardedSettings
from ioopt.solvers.gang.guarded import guarded
from ioopt.solvers.gang.phases import (
    Phase,
    Place,
    board_of,
    clean,
    compact,
    file_nodes_or_best_fit,
    migrate_in,
    take,
    with_starts,
)
from ioopt.solvers.gang.policy import Policy
from ioopt.solvers.gang.run import solver
from ioopt.units import exact

Weight = Literal["las", "hdf", "one"]


class Settings(GuardedSettings):
    """How jobs are weighed and how the queue is served.

    ``weight``: ``las`` 1/(attained + T)^2 needs no run times; ``hdf`` 1/(max(L, T) max(remaining,
    50)) is clairvoyant; ``one`` treats all alike. ``queue=fcfs`` stops at the first job that does
    not fit. With ``age_seconds`` jobs that have waited longer go first, in FCFS order, and the
    first of them that does not fit stops admission (0: no age term).
    """

    weight: Weight = "las"
    queue: Literal["free", "fcfs"] = "free"
    age_seconds: Annotated[float, Field(ge=0)] = 40_000.0


def weigh(kind: Weight, job: Gang, clock: Clock) -> Number:
    """The weight of a job (guide, The exact model), per second squared; 1 for ``one``."""
    if kind == "las":
        return 1 / (clock.attained[job.key] + clock.quantum) ** 2
    if kind == "hdf":
        remaining = clock.need[job.key] or job.local
        return 1 / (max(job.local, clock.quantum) * max(remaining, 50))
    return 1


def _by_weight(state: State, kind: Weight) -> list[int]:
    """Positions of the running jobs by (weight x speed descending, start order)."""
    worth = [
        weigh(kind, job, state.clock) * (1 if columns == job.files else job.local / job.remote)
        for job, columns in zip(state.jobs, state.columns)
    ]
    return sorted(range(len(worth)), key=lambda i: -worth[i])


def migrate_weighted(kind: Weight) -> Phase:
    """MigrateMatrix that tries the heaviest remote job first."""

    def phase(state: State) -> State:
        return migrate_in(state, _by_weight(state, kind))

    return phase


def schedule_weighted(settings: Settings, place: Place) -> Phase:
    """Schedule: overdue jobs first in FCFS order and blocking, the rest by weight."""

    def phase(state: State) -> State:
        board, starts = board_of(state), []
        for job, blocking in _queue(state, settings):
            found = place(job, board)
            if found is not None:
                take(board, *found)
                starts.append((job, *found))
            elif blocking:
                break
        return with_starts(state, starts) if starts else state

    return phase


def _queue(state: State, settings: Settings) -> Sequence[tuple[Gang, bool]]:
    waiting, now = state.waiting, state.clock.now
    if settings.queue == "fcfs":
        return [(job, True) for job in waiting]
    age = settings.age_seconds
    overdue = [job for job in waiting if age and now - job.arrival > age]
    rest = [job for job in waiting if not (age and now - job.arrival > age)]
    rest.sort(key=lambda job: -weigh(settings.weight, job, state.clock))
    return [*((job, True) for job in overdue), *((job, False) for job in rest)]


def fill_weighted(kind: Weight) -> Phase:
    """FillMatrix by weight x speed, each job getting all its replicas at once."""

    def phase(state: State) -> State:
        rows, spans = list(state.rows), list(state.spans)
        for i in _by_weight(state, kind):
            columns = state.columns[i]
            for row, occupied in enumerate(rows):
                if not occupied & columns:
                    rows[row] = occupied | columns
                    spans[i] |= 1 << row
        return state._replace(rows=rows, spans=spans)

    return phase


def policy(settings: Settings) -> Policy:
    """The index policy with these weights, guard and age term."""
    place = guarded(file_nodes_or_best_fit, exact(settings.guard))
    return Policy(
        "index-iogs",
        {
            "clean": clean,
            "migrate": migrate_weighted(settings.weight),
            "compact": compact,
            "schedule": schedule_weighted(settings, place),
            "fill": fill_weighted(settings.weight),
        },
    )


solve = solver(policy)
