"""Compiled twins of the phases in :mod:`ioopt.solvers.gang.phases`.

As in :mod:`ioopt.sim.gang.board`, nothing here may allocate an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ioopt.decisions.gang.state import ADAPTIVE, BEST_FIT, FILE_NODES
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


@kernel
def clean(board: Board, jobs: Jobs, count: int) -> None:
    """CleanMatrix (rule 11): ``homes`` never holds replicas, so only the spans need resetting."""
    for i in range(count):
        j = board.run[i]
        jobs.span[j] = 1 << jobs.home[j]


@kernel
def files_free(board: Board, jobs: Jobs, j: int, row: int, nodes: int) -> bool:
    """Are the file nodes of *j* free in *row*, its own columns at home counting as free?"""
    own = row == jobs.home[j]
    if not own and jobs.size[j] > nodes - board.occupied[row]:
        return False
    for w in range(jobs.first[j], jobs.last[j]):
        taken = board.homes[row, w] & jobs.files[j, w]
        if own:
            taken &= ~jobs.columns[j, w]
        if taken:
            return False
    return True


@kernel
def migrate(board: Board, jobs: Jobs, count: int, nodes: int, budget: int) -> tuple[int, int]:
    """MigrateMatrix (rule 12); returns (jobs moved, budget left), their keys in ``moved``."""
    levels = board.occupied.shape[0]
    words = board.taken.shape[0]
    changed, num_moved = True, 0
    find_taken(board.homes, board.taken, 0, words)
    while changed:
        changed = False
        for i in range(count):
            j = board.run[i]
            if jobs.local[j]:
                continue
            cost, possible = 0, True
            for w in range(jobs.first[j], jobs.last[j]):
                wanted = jobs.files[j, w] & ~jobs.columns[j, w]
                if wanted & board.taken[w]:
                    possible = False
                    break
                cost += popcount(wanted)
            if not possible or cost > budget:
                continue
            for row in range(levels):
                if files_free(board, jobs, j, row, nodes):
                    clear(board, jobs, j)
                    use_files(jobs, j)
                    put(board, jobs, j, row)
                    budget -= cost
                    board.moved[num_moved] = j
                    num_moved += 1
                    changed = True
                    find_taken(board.homes, board.taken, 0, words)
                    break
    return num_moved, budget


@kernel
def _sort_rows(occupied: Any, ascending: Any, descending: Any) -> None:
    """Row indices by population both ways, ties to the lowest index (insertion sort)."""
    for row in range(occupied.shape[0]):
        at = row
        while at > 0 and occupied[ascending[at - 1]] > occupied[row]:
            ascending[at] = ascending[at - 1]
            at -= 1
        ascending[at] = row
        at = row
        while at > 0 and occupied[descending[at - 1]] < occupied[row]:
            descending[at] = descending[at - 1]
            at -= 1
        descending[at] = row


@kernel
def _group_by_home(board: Board, jobs: Jobs, count: int) -> None:
    """Keys of the jobs of row r that any row could take, in start order.

    They stand in ``members[begin[r] : begin[r + 1]]``.
    """
    levels, begin, num = board.occupied.shape[0], board.begin, 0
    find_taken(board.homes, board.taken, 0, board.taken.shape[0])
    for row in range(levels + 2):
        begin[row] = 0
    for i in range(count):
        j = board.run[i]
        if not is_stuck(board, jobs, j):
            board.group[num] = j
            num += 1
            begin[jobs.home[j] + 2] += 1
    for row in range(levels):
        begin[row + 2] += begin[row + 1]
    for g in range(num):
        j = board.group[g]
        at = jobs.home[j] + 1
        board.members[begin[at]] = j
        begin[at] += 1


@kernel
def _move_one(
    board: Board, jobs: Jobs, count: int, nodes: int, ascending: Any, descending: Any
) -> bool:
    """The first feasible move of CompactMatrix, made; False when there is none."""
    occupied, begin = board.occupied, board.begin
    _group_by_home(board, jobs, count)
    for source in ascending:
        if occupied[source] == 0:
            continue
        for target in descending:
            if occupied[target] < occupied[source]:
                break
            free = nodes - occupied[target]
            if target == source or free == 0:
                continue
            for m in range(begin[source], begin[source + 1]):
                j = board.members[m]
                if jobs.size[j] > free:
                    continue
                fits = True
                for w in range(jobs.low[j], jobs.high[j]):
                    if board.homes[target, w] & jobs.columns[j, w]:
                        fits = False
                        break
                if fits:
                    clear(board, jobs, j)
                    put(board, jobs, j, target)
                    return True
    return False


@kernel
def compact(
    board: Board, jobs: Jobs, count: int, nodes: int, ascending: Any, descending: Any
) -> None:
    """CompactMatrix (rule 13): one move at a time, populations afresh after each."""
    _sort_rows(board.occupied, ascending, descending)
    while _move_one(board, jobs, count, nodes, ascending, descending):
        _sort_rows(board.occupied, ascending, descending)
    for i in range(count):
        j = board.run[i]
        jobs.span[j] = 1 << jobs.home[j]


@kernel
def file_row(board: Board, jobs: Jobs, j: int, nodes: int) -> int:
    """The IOGS row: fewest free nodes with all file nodes free; -1 when there is none."""
    best = -1
    for row in range(board.occupied.shape[0]):
        if jobs.size[j] > nodes - board.occupied[row]:
            continue
        if best >= 0 and board.occupied[row] <= board.occupied[best]:
            continue
        fits = True
        for w in range(jobs.first[j], jobs.last[j]):
            if board.homes[row, w] & jobs.files[j, w]:
                fits = False
                break
        if fits:
            best = row
    return best


@kernel
def best_fit_row(board: Board, jobs: Jobs, j: int, nodes: int) -> int:
    """The GS row: fewest free nodes that suffice; -1 when there is none."""
    best = -1
    for row in range(board.occupied.shape[0]):
        if jobs.size[j] <= nodes - board.occupied[row] and (
            best < 0 or board.occupied[row] > board.occupied[best]
        ):
            best = row
    return best


@kernel
def _free_word(row: Any, w: int, words: int, nodes: int) -> Any:
    """Free nodes in word *w* of a row, bits beyond the machine excluded."""
    free = ~row[w]
    if w == words - 1 and nodes % 64 != 0:
        free &= (np.uint64(1) << np.uint64(nodes % 64)) - np.uint64(1)
    return free


@kernel
def choose_columns(board: Board, jobs: Jobs, j: int, row: int, nodes: int) -> None:
    """Columns for *j* in *row*: free in most rows first, ties to the lowest (rule 14)."""
    levels, words = board.homes.shape
    at_least = board.levels
    for w in range(words):
        at_least[0, w] = _free_word(board.homes[row], w, words, nodes)
        for k in range(1, levels + 1):
            at_least[k, w] = 0
        for other in range(levels):
            if other != row:
                free = _free_word(board.homes[other], w, words, nodes)
                for k in range(other, -1, -1):
                    at_least[k + 1, w] |= at_least[k, w] & free
        jobs.columns[j, w] = 0
    missing = jobs.size[j]
    for k in range(levels, -1, -1):
        for w in range(words):
            fresh = at_least[k, w] & ~jobs.columns[j, w]
            while fresh and missing > 0:
                here = popcount(fresh)
                if here <= missing:
                    jobs.columns[j, w] |= fresh
                    missing -= here
                    fresh = np.uint64(0)
                else:
                    lowest = fresh & (~fresh + np.uint64(1))
                    jobs.columns[j, w] |= lowest
                    fresh ^= lowest
                    missing -= 1
    same, low, high = True, words, 0
    for w in range(words):
        if jobs.columns[j, w]:
            low, high = min(low, w), w + 1
        if jobs.columns[j, w] != jobs.files[j, w]:
            same = False
    jobs.low[j] = low
    jobs.high[j] = high
    jobs.local[j] = same


@kernel
def schedule(
    board: Board, jobs: Jobs, count: int, nodes: int, place: int, limit: int, queued: int, last: int
) -> tuple[int, int]:
    """Strict FCFS over keys *queued* .. *last* - 1; returns (running jobs, next key to wait).

    A remote start may not bring the occupied home slots above *limit* (the guard).
    """
    while queued < last:
        j = queued
        row = -1
        if place != BEST_FIT:
            row = file_row(board, jobs, j, nodes)
        if row >= 0:
            use_files(jobs, j)
        elif place != FILE_NODES:
            row = best_fit_row(board, jobs, j, nodes)
            if row >= 0 and place == ADAPTIVE:
                total = jobs.size[j]
                for other in range(board.occupied.shape[0]):
                    total += board.occupied[other]
                if total > limit:
                    row = -1
            if row >= 0:
                choose_columns(board, jobs, j, row, nodes)
        if row < 0:
            break
        put(board, jobs, j, row)
        jobs.span[j] = 1 << row
        board.run[count] = j
        count += 1
        queued += 1
    return count, queued


@kernel
def _fill_group(board: Board, jobs: Jobs, num: int, nodes: int) -> None:
    """Serve the positions ``group[:num]`` to exhaustion, one replica a job a pass."""
    levels = board.occupied.shape[0]
    while num > 0:
        again = 0
        for g in range(num):
            i = board.group[g]
            j = board.run[i]
            if is_stuck(board, jobs, j):
                continue
            for row in range(board.following[i], levels):
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
                    find_taken(board.filled, board.taken, jobs.low[j], jobs.high[j])
                    board.filled_count[row] += jobs.size[j]
                    jobs.span[j] |= 1 << row
                    board.following[i] = row + 1
                    board.group[again] = i
                    again += 1
                    break
        num = again


@kernel
def fill(board: Board, jobs: Jobs, count: int, nodes: int, local_first: bool) -> int:
    """FillMatrix (rule 15) from the home rows; returns occupied node slots, replicas included."""
    levels, words = board.homes.shape
    for row in range(levels):
        board.filled_count[row] = board.occupied[row]
        for w in range(words):
            board.filled[row, w] = board.homes[row, w]
    find_taken(board.filled, board.taken, 0, words)
    for remote in range(2 if local_first else 1):
        num = 0
        for i in range(count):
            if remote == 0:
                board.following[i] = 0
            if not local_first or jobs.local[board.run[i]] != (remote == 1):
                board.group[num] = i
                num += 1
        _fill_group(board, jobs, num, nodes)
    total = 0
    for row in range(levels):
        total += board.filled_count[row]
    return total
