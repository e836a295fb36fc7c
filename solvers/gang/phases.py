"""The phases of a matrix update (Section 3.1) as pure functions.

Each takes a :class:`~ioopt.decisions.gang.state.State` and returns a new one. Rows, nodes and jobs tie
to the lowest index. A policy is a tuple of phases; what differs between policies is where the
Schedule phase may place a job (:data:`Place`) and the order in which FillMatrix serves the jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ioopt.decisions.gang.state import Gang, State

Phase = Callable[[State], State]


class Board(NamedTuple):
    """Free nodes of every row (masks and counts) while jobs are being placed."""

    nodes: int
    free: list[int]
    counts: list[int]


Place = Callable[[Gang, Board], "tuple[int, int] | None"]
"""Where a waiting job may start: (row, columns), or None when it does not fit."""

Order = Callable[[State], "tuple[Sequence[int], ...]"]
"""Groups of running jobs (positions); FillMatrix serves a group to exhaustion, then the next."""


def clean(state: State) -> State:
    """CleanMatrix: every job keeps its home instance only (rule 11)."""
    rows = [0] * len(state.rows)
    for mask, home in zip(state.columns, state.homes):
        rows[home] |= mask
    return state._replace(spans=[1 << home for home in state.homes], rows=rows)


def migrate(state: State) -> State:
    """MigrateMatrix: remote jobs move to their file nodes where a row has them free (rule 12).

    A job's own columns in its home row count as free. A move that costs more tasks than the
    budget is skipped whole; passes repeat until one changes nothing.
    """
    return migrate_in(state, range(len(state.jobs)))


def migrate_in(state: State, order: Sequence[int]) -> State:
    """MigrateMatrix over the jobs at the positions *order*, in that order."""
    columns, homes, rows = list(state.columns), list(state.homes), list(state.rows)
    budget, moved = state.budget, []
    remote = [i for i in order if columns[i] != state.jobs[i].files]
    changed = True
    while changed and remote:
        changed = False
        for i in list(remote):
            files, old, home = state.jobs[i].files, columns[i], homes[i]
            cost = (files & ~old).bit_count()
            if cost > budget:
                continue
            for row, occupied in enumerate(rows):
                if not (occupied & ~old if row == home else occupied) & files:
                    rows[home] ^= old
                    rows[row] |= files
                    columns[i], homes[i] = files, row
                    budget -= cost
                    moved.append(i)
                    remote.remove(i)
                    changed = True
                    break
    return state._replace(
        columns=columns, homes=homes, rows=rows, spans=[1 << home for home in homes],
        budget=budget, tasks_moved=state.tasks_moved + state.budget - budget,
        moved=state.moved + tuple(state.jobs[i].key for i in moved),
    )  # fmt: skip


def compact(state: State) -> State:
    """CompactMatrix: jobs move, columns unchanged, from sparse to populated rows (rule 13).

    One move, then all populations afresh: stale populations can cycle for ever.
    """
    homes, rows = list(state.homes), list(state.rows)
    while (move := _first_move(state.columns, homes, rows)) is not None:
        i, target = move
        rows[homes[i]] ^= state.columns[i]
        rows[target] |= state.columns[i]
        homes[i] = target
    return state._replace(homes=homes, rows=rows, spans=[1 << home for home in homes])


def _first_move(
    columns: Sequence[int], homes: list[int], rows: list[int]
) -> tuple[int, int] | None:
    population = [row.bit_count() for row in rows]
    levels = range(len(rows))
    fullest = sorted(levels, key=lambda row: -population[row])
    members: list[list[int]] = [[] for _ in levels]
    for i, home in enumerate(homes):
        members[home].append(i)
    for source in sorted(levels, key=population.__getitem__):
        for target in fullest:
            if population[target] < population[source]:
                break
            if target != source:
                occupied = rows[target]
                for i in members[source]:
                    if not occupied & columns[i]:
                        return i, target
    return None


def best_fit(job: Gang, board: Board) -> tuple[int, int] | None:
    """GS: the row with the fewest free nodes that suffice, on the columns free in most rows."""
    fitting = [(count, row) for row, count in enumerate(board.counts) if count >= job.size]
    if not fitting:
        return None
    row = min(fitting)[1]
    return row, freest_columns(board, row, job.size)


def freest_columns(board: Board, row: int, size: int) -> int:
    """*size* columns free in *row*, those free in most rows first, ties to the lowest."""
    at_least = [board.free[row]] + [0] * len(board.free)
    for other, free in enumerate(board.free):
        if other != row:
            for k in range(other, -1, -1):
                at_least[k + 1] |= at_least[k] & free
    chosen = 0
    for columns in reversed(at_least):
        fresh = columns & ~chosen
        missing = size - chosen.bit_count()
        if fresh.bit_count() >= missing:
            return chosen | lowest_bits(fresh, missing)
        chosen |= fresh
    raise AssertionError("the row had enough free columns")


def lowest_bits(mask: int, count: int) -> int:
    """The *count* lowest bits of *mask*.

    >>> bin(lowest_bits(0b110101, 2))
    '0b101'
    """
    if count == 0:
        return 0
    low, high = 0, mask.bit_length()
    while high - low > 1:
        middle = (low + high) // 2
        if (mask & ((1 << middle) - 1)).bit_count() < count:
            low = middle
        else:
            high = middle
    return mask & ((1 << high) - 1)


def on_file_nodes(job: Gang, board: Board) -> tuple[int, int] | None:
    """IOGS: the row with the fewest free nodes among those whose file nodes are all free."""
    files = job.files
    fitting = [
        (board.counts[row], row) for row, free in enumerate(board.free) if files & free == files
    ]
    return (min(fitting)[1], files) if fitting else None


def file_nodes_or_best_fit(job: Gang, board: Board) -> tuple[int, int] | None:
    """Adaptive-IOGS: the IOGS rule, else the GS rule."""
    return on_file_nodes(job, board) or best_fit(job, board)


def schedule(place: Place) -> Phase:
    """Schedule: strict FCFS, stopping at the first job that *place* refuses (rule 14)."""

    def phase(state: State) -> State:
        board = board_of(state)
        starts = []
        for job in state.waiting:
            found = place(job, board)
            if found is None:
                break
            take(board, *found)
            starts.append((job, *found))
        return with_starts(state, starts) if starts else state

    return phase


def board_of(state: State) -> Board:
    """The free nodes of every row of *state*."""
    full = (1 << state.nodes) - 1
    free = [full & ~row for row in state.rows]
    return Board(state.nodes, free, [row.bit_count() for row in free])


def take(board: Board, row: int, columns: int) -> None:
    """Mark *columns* of *row* as taken."""
    board.free[row] ^= columns
    board.counts[row] -= columns.bit_count()


def with_starts(state: State, starts: Sequence[tuple[Gang, int, int]]) -> State:
    """*state* with (job, row, columns) placed in this order at the end of the start order."""
    rows = list(state.rows)
    for _, row, columns in starts:
        rows[row] |= columns
    return state._replace(
        jobs=[*state.jobs, *(job for job, _, _ in starts)],
        columns=[*state.columns, *(columns for _, _, columns in starts)],
        homes=[*state.homes, *(row for _, row, _ in starts)],
        spans=[*state.spans, *(1 << row for _, row, _ in starts)],
        rows=rows,
        admitted=state.admitted + tuple(job for job, _, _ in starts),
    )


def start_order(state: State) -> tuple[Sequence[int], ...]:
    """GS and IOGS fill: one list in start order."""
    return (range(len(state.jobs)),)


def local_first(state: State) -> tuple[Sequence[int], ...]:
    """Adaptive and Migrate fill: local jobs to exhaustion, then remote ones, each in start order."""
    local = [columns == job.files for columns, job in zip(state.columns, state.jobs)]
    everyone = range(len(local))
    return [i for i in everyone if local[i]], [i for i in everyone if not local[i]]


def fill(order: Order) -> Phase:
    """FillMatrix: passes over the jobs, one replica a job a pass, first free row (rule 15)."""

    def phase(state: State) -> State:
        rows, spans, levels = list(state.rows), list(state.spans), len(state.rows)
        following = [0] * len(spans)
        for group in order(state):
            while group:
                again = []
                for i in group:
                    columns = state.columns[i]
                    # Rows only fill up: one that was taken for this job stays so.
                    for row in range(following[i], levels):
                        if not rows[row] & columns:
                            rows[row] |= columns
                            spans[i] |= 1 << row
                            following[i] = row + 1
                            again.append(i)
                            break
                group = again
        return state._replace(rows=rows, spans=spans)

    return phase
