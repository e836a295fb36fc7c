"""Compiled twins of the weighted phases in :mod:`ioopt.solvers.gang.index` (``las`` and ``one``).

A waiting job has had no service, so the queue in order of weight is the queue in order of arrival.
As in :mod:`ioopt.sim.gang.board`, nothing here may allocate an array.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ioopt.sim.gang.board import (
    Board,
    Jobs,
    clear,
    find_taken,
    is_stuck,
    kernel,
    popcount,
    put,
    use_files,
)
from ioopt.sim.gang.kernels import best_fit_row, choose_columns, file_row, files_free


class IndexRules(NamedTuple):
    """Settings of the index policy as plain numbers; R/L <= numerator/denominator is packed."""

    used: bool
    las: bool
    fcfs: bool
    age: float
    numerator: int
    denominator: int


class Service(NamedTuple):
    """Per key: L, R, attained service; the queue (keys); ``marks`` = (waiting, ever queued)."""

    local: Any
    remote: Any
    arrival: Any
    attained: Any
    queue: Any
    marks: Any
    worth: Any


@kernel
def _is_packed(service: Service, rules: IndexRules, j: int) -> bool:
    return service.remote[j] * rules.denominator <= service.local[j] * rules.numerator


@kernel
def _rank(
    board: Board, jobs: Jobs, service: Service, rules: IndexRules, count: int, quantum: float,
    only_movable: bool,
) -> int:  # fmt: skip
    """Keys by weight x speed, heaviest first, into ``group``; their number.

    With *only_movable* just the remote jobs that may migrate.
    """
    num = 0
    for i in range(count):
        j = board.run[i]
        if only_movable and (jobs.local[j] or _is_packed(service, rules, j)):
            continue
        since = service.attained[j] + quantum
        worth = 1.0 / (since * since) if rules.las else 1.0
        if not jobs.local[j]:
            worth = worth * service.local[j] / service.remote[j]
        at = num
        while at > 0 and service.worth[at - 1] < worth:
            service.worth[at] = service.worth[at - 1]
            board.group[at] = board.group[at - 1]
            at -= 1
        service.worth[at] = worth
        board.group[at] = j
        num += 1
    return num


@kernel
def migrate_weighted(
    board: Board, jobs: Jobs, service: Service, rules: IndexRules, count: int, nodes: int,
    quantum: float, budget: int,
) -> tuple[int, int]:  # fmt: skip
    """MigrateMatrix, heaviest first; returns (jobs moved, budget left), their keys in ``moved``."""
    num, num_moved, changed = (
        _rank(board, jobs, service, rules, count, quantum, True), 0, True,
    )  # fmt: skip
    while changed:
        changed = False
        for g in range(num):
            j = board.group[g]
            if jobs.local[j]:
                continue
            cost = 0
            for w in range(jobs.first[j], jobs.last[j]):
                cost += popcount(jobs.files[j, w] & ~jobs.columns[j, w])
            if cost > budget:
                continue
            for row in range(board.occupied.shape[0]):
                if files_free(board, jobs, j, row, nodes):
                    clear(board, jobs, j)
                    use_files(jobs, j)
                    put(board, jobs, j, row)
                    budget -= cost
                    board.moved[num_moved] = j
                    num_moved += 1
                    changed = True
                    break
    return num_moved, budget


@kernel
def _rows_free(board: Board, masks: Any, j: int, low: int, high: int) -> int:
    """Rows in which the nodes of *masks*[j] (words *low* .. *high* - 1) are all free."""
    rows = 0
    for row in range(board.occupied.shape[0]):
        free = True
        for w in range(low, high):
            if board.homes[row, w] & masks[j, w]:
                free = False
                break
        if free:
            rows += 1
    return rows


@kernel
def _place(
    board: Board, jobs: Jobs, service: Service, rules: IndexRules, j: int, nodes: int, limit: int
) -> int:
    """Choose columns for *j* and return its row, -1 when it may not start."""
    row = file_row(board, jobs, j, nodes)
    packed = _is_packed(service, rules, j)
    if row >= 0 and not packed:
        use_files(jobs, j)
        return row
    other = best_fit_row(board, jobs, j, nodes)
    if other < 0:
        if row >= 0:
            use_files(jobs, j)
        return row
    if not packed:
        total = jobs.size[j]
        for r in range(board.occupied.shape[0]):
            total += board.occupied[r]
        if total > limit:
            return -1
    choose_columns(board, jobs, j, other, nodes)
    if row >= 0:
        at_home = _rows_free(board, jobs.files, j, jobs.first[j], jobs.last[j])
        elsewhere = _rows_free(board, jobs.columns, j, jobs.low[j], jobs.high[j])
        if at_home * service.remote[j] >= elsewhere * service.local[j]:
            use_files(jobs, j)
            return row
    return other


@kernel
def schedule_weighted(
    board: Board, jobs: Jobs, service: Service, rules: IndexRules, count: int, nodes: int,
    limit: int, now: float, arrived: int,
) -> tuple[int, int]:  # fmt: skip
    """Overdue jobs first and blocking, the rest as they fit; (running jobs, jobs ever started)."""
    queue, marks = service.queue, service.marks
    while marks[1] < arrived:
        queue[marks[0]] = marks[1]
        marks[0] += 1
        marks[1] += 1
    kept, stopped = 0, False
    for q in range(marks[0]):
        j = queue[q]
        row = -1
        if not stopped:
            row = _place(board, jobs, service, rules, j, nodes, limit)
        if row >= 0:
            put(board, jobs, j, row)
            jobs.span[j] = 1 << row
            board.run[count] = j
            count += 1
            continue
        if rules.fcfs or (rules.age > 0.0 and now - service.arrival[j] > rules.age):
            stopped = True
        queue[kept] = j
        kept += 1
    marks[0] = kept
    return count, arrived - kept


@kernel
def fill_weighted(
    board: Board, jobs: Jobs, service: Service, rules: IndexRules, count: int, nodes: int,
    quantum: float,
) -> int:  # fmt: skip
    """FillMatrix, heaviest first, all replicas of a job at once; returns occupied node slots."""
    levels, words = board.homes.shape
    for row in range(levels):
        board.filled_count[row] = board.occupied[row]
        for w in range(words):
            board.filled[row, w] = board.homes[row, w]
    find_taken(board.filled, board.taken, 0, words)
    num = _rank(board, jobs, service, rules, count, quantum, False)
    for g in range(num):
        j = board.group[g]
        if is_stuck(board, jobs, j):
            continue
        for row in range(levels):
            if jobs.size[j] > nodes - board.filled_count[row]:
                continue
            fits = True
            for w in range(jobs.low[j], jobs.high[j]):
                if board.filled[row, w] & jobs.columns[j, w]:
                    fits = False
                    break
            if fits:
                for w in range(jobs.low[j], jobs.high[j]):
                    board.filled[row, w] |= jobs.columns[j, w]
                board.filled_count[row] += jobs.size[j]
                jobs.span[j] |= 1 << row
        find_taken(board.filled, board.taken, jobs.low[j], jobs.high[j])
    total = 0
    for row in range(levels):
        total += board.filled_count[row]
    return total
