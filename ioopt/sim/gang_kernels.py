"""Compiled twins of the phases in :mod:`ioopt.solvers.gang.phases`, on 64-bit words.

``low[j] .. high[j]`` bounds the words that the columns of job j touch. Who edits this file removes
the ``__pycache__`` beside it: numba's cache of :mod:`ioopt.sim.gang_compiled` does not see it.
``_nrt=False`` leaves out reference counts, which would take most of the time; so nothing here may
allocate an array.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from ioopt.sim.gang_state import ADAPTIVE, BEST_FIT, FILE_NODES

MAX_LEVELS = 62


class Jobs(NamedTuple):
    """Columns of the job table by key; masks are (jobs, words), the rest (jobs,)."""

    size: Any
    files: Any
    first: Any
    last: Any
    columns: Any
    low: Any
    high: Any
    home: Any
    span: Any
    local: Any


class Board(NamedTuple):
    """The matrix at home rows and after filling, running jobs in start order, scratch space."""

    run: Any
    homes: Any
    occupied: Any
    filled: Any
    levels: Any
    members: Any
    following: Any
    group: Any
    moved: Any
    begin: Any
    filled_count: Any
    taken: Any


def make_board(num_jobs: int, nodes: int, levels: int) -> Board:
    """An empty matrix and scratch space for it."""
    words = (nodes + 63) // 64
    room = min(num_jobs, nodes * levels) + 1
    homes, filled, at_least = (
        np.zeros((rows, words), np.uint64) for rows in (levels, levels, levels + 1)
    )
    run, members, following, group, moved = (np.zeros(room, np.uint32) for _ in range(5))
    occupied, filled_count = np.zeros(levels, np.int64), np.zeros(levels, np.int64)
    begin, taken = np.zeros(levels + 2, np.int64), np.zeros(words, np.uint64)
    return Board(
        run, homes, occupied, filled, at_least, members, following, group, moved, begin,
        filled_count, taken,
    )  # fmt: skip


def make_jobs(size: Any, files: Any) -> Jobs:
    """A job table from sizes (jobs,) and file-node masks (jobs, words); nothing placed yet."""
    num = len(size)
    used = files != 0
    first = used.argmax(axis=1).astype(np.int64) if num else np.zeros(0, np.int64)
    words = files.shape[1]
    last = (words - used[:, ::-1].argmax(axis=1)).astype(np.int64) if num else first
    low, high, span = (np.zeros(num, np.int64) for _ in range(3))
    home = np.zeros(num, np.uint32)
    return Jobs(
        size.astype(np.int64), files, first, last, np.zeros_like(files), low, high, home, span,
        np.zeros(num, np.bool_),
    )  # fmt: skip


@intrinsic
def _popcount(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@njit(cache=True, _nrt=False)
def _clear(board: Board, jobs: Jobs, j: int) -> None:
    """Take job *j* out of its home row."""
    for w in range(jobs.low[j], jobs.high[j]):
        board.homes[jobs.home[j], w] &= ~jobs.columns[j, w]
    board.occupied[jobs.home[j]] -= jobs.size[j]


@njit(cache=True, _nrt=False)
def _put(board: Board, jobs: Jobs, j: int, row: int) -> None:
    """Put job *j*, columns as they are, into *row* and call that its home."""
    for w in range(jobs.low[j], jobs.high[j]):
        board.homes[row, w] |= jobs.columns[j, w]
    board.occupied[row] += jobs.size[j]
    jobs.home[j] = row


@njit(cache=True, _nrt=False)
def _use_files(jobs: Jobs, j: int) -> None:
    for w in range(jobs.low[j], jobs.high[j]):
        jobs.columns[j, w] = 0
    for w in range(jobs.first[j], jobs.last[j]):
        jobs.columns[j, w] = jobs.files[j, w]
    jobs.low[j] = jobs.first[j]
    jobs.high[j] = jobs.last[j]
    jobs.local[j] = True


@njit(cache=True, _nrt=False)
def _find_taken(rows: Any, taken: Any, low: int, high: int) -> None:
    """Nodes (words *low* .. *high* - 1) that are taken in every row: no job can be added there."""
    for w in range(low, high):
        word = rows[0, w]
        for row in range(1, rows.shape[0]):
            word &= rows[row, w]
        taken[w] = word


@njit(cache=True, _nrt=False)
def _is_stuck(board: Board, jobs: Jobs, j: int) -> bool:
    """Is a column of *j* taken in every row (``taken``), so that no further row can hold it?"""
    stuck = False
    for w in range(jobs.low[j], jobs.high[j]):
        if board.taken[w] & jobs.columns[j, w]:
            stuck = True
            break
    return stuck


@njit(cache=True, _nrt=False)
def clean(board: Board, jobs: Jobs, count: int) -> None:
    """CleanMatrix (rule 11): ``homes`` never holds replicas, so only the spans need resetting."""
    for i in range(count):
        j = board.run[i]
        jobs.span[j] = 1 << jobs.home[j]


@njit(cache=True, _nrt=False)
def _files_free(board: Board, jobs: Jobs, j: int, row: int, nodes: int) -> bool:
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


@njit(cache=True, _nrt=False)
def migrate(board: Board, jobs: Jobs, count: int, nodes: int, budget: int) -> tuple[int, int]:
    """MigrateMatrix (rule 12); returns (jobs moved, budget left), their keys in ``moved``."""
    levels = board.occupied.shape[0]
    words = board.taken.shape[0]
    changed, num_moved = True, 0
    _find_taken(board.homes, board.taken, 0, words)
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
                cost += _popcount(wanted)
            if not possible or cost > budget:
                continue
            for row in range(levels):
                if _files_free(board, jobs, j, row, nodes):
                    _clear(board, jobs, j)
                    _use_files(jobs, j)
                    _put(board, jobs, j, row)
                    budget -= cost
                    board.moved[num_moved] = j
                    num_moved += 1
                    changed = True
                    _find_taken(board.homes, board.taken, 0, words)
                    break
    return num_moved, budget


@njit(cache=True, _nrt=False)
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


@njit(cache=True, _nrt=False)
def _group_by_home(board: Board, jobs: Jobs, count: int) -> None:
    """Keys of the jobs of row r that any row could take, in start order.

    They stand in ``members[begin[r] : begin[r + 1]]``.
    """
    levels, begin, num = board.occupied.shape[0], board.begin, 0
    _find_taken(board.homes, board.taken, 0, board.taken.shape[0])
    for row in range(levels + 2):
        begin[row] = 0
    for i in range(count):
        j = board.run[i]
        if not _is_stuck(board, jobs, j):
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


@njit(cache=True, _nrt=False)
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
                    _clear(board, jobs, j)
                    _put(board, jobs, j, target)
                    return True
    return False


@njit(cache=True, _nrt=False)
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


@njit(cache=True, _nrt=False)
def _file_row(board: Board, jobs: Jobs, j: int, nodes: int) -> int:
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


@njit(cache=True, _nrt=False)
def _best_fit_row(board: Board, jobs: Jobs, j: int, nodes: int) -> int:
    """The GS row: fewest free nodes that suffice; -1 when there is none."""
    best = -1
    for row in range(board.occupied.shape[0]):
        if jobs.size[j] <= nodes - board.occupied[row] and (
            best < 0 or board.occupied[row] > board.occupied[best]
        ):
            best = row
    return best


@njit(cache=True, _nrt=False)
def _free_word(row: Any, w: int, words: int, nodes: int) -> Any:
    """Free nodes in word *w* of a row, bits beyond the machine excluded."""
    free = ~row[w]
    if w == words - 1 and nodes % 64 != 0:
        free &= (np.uint64(1) << np.uint64(nodes % 64)) - np.uint64(1)
    return free


@njit(cache=True, _nrt=False)
def _choose_columns(board: Board, jobs: Jobs, j: int, row: int, nodes: int) -> None:
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
                here = _popcount(fresh)
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


@njit(cache=True, _nrt=False)
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
            row = _file_row(board, jobs, j, nodes)
        if row >= 0:
            _use_files(jobs, j)
        elif place != FILE_NODES:
            row = _best_fit_row(board, jobs, j, nodes)
            if row >= 0 and place == ADAPTIVE:
                total = jobs.size[j]
                for other in range(board.occupied.shape[0]):
                    total += board.occupied[other]
                if total > limit:
                    row = -1
            if row >= 0:
                _choose_columns(board, jobs, j, row, nodes)
        if row < 0:
            break
        _put(board, jobs, j, row)
        jobs.span[j] = 1 << row
        board.run[count] = j
        count += 1
        queued += 1
    return count, queued


@njit(cache=True, _nrt=False)
def _fill_group(board: Board, jobs: Jobs, num: int, nodes: int) -> None:
    """Serve the positions ``group[:num]`` to exhaustion, one replica a job a pass."""
    levels = board.occupied.shape[0]
    while num > 0:
        again = 0
        for g in range(num):
            i = board.group[g]
            j = board.run[i]
            if _is_stuck(board, jobs, j):
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
                    _find_taken(board.filled, board.taken, jobs.low[j], jobs.high[j])
                    board.filled_count[row] += jobs.size[j]
                    jobs.span[j] |= 1 << row
                    board.following[i] = row + 1
                    board.group[again] = i
                    again += 1
                    break
        num = again


@njit(cache=True, _nrt=False)
def fill(board: Board, jobs: Jobs, count: int, nodes: int, local_first: bool) -> int:
    """FillMatrix (rule 15) from the home rows; returns occupied node slots, replicas included."""
    levels, words = board.homes.shape
    for row in range(levels):
        board.filled_count[row] = board.occupied[row]
        for w in range(words):
            board.filled[row, w] = board.homes[row, w]
    _find_taken(board.filled, board.taken, 0, words)
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
