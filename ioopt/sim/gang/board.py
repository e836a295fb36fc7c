"""Job table and matrix of the compiled gang engine, on 64-bit words, and what changes them.

``low[j] .. high[j]`` bounds the words that the columns of job j touch. ``_nrt=False`` leaves out
reference counts, which would take most of the time; so nothing here may allocate an array.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from ioopt.compiled import cached, called

MAX_LEVELS = 62
entry, kernel = cached(_nrt=False), called(_nrt=False)


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
def popcount(typing_context: Any, word: Any) -> Any:
    """Number of set bits of a uint64 word, as an int64; compiled code only."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@kernel
def clear(board: Board, jobs: Jobs, j: int) -> None:
    """Take job *j* out of its home row."""
    for w in range(jobs.low[j], jobs.high[j]):
        board.homes[jobs.home[j], w] &= ~jobs.columns[j, w]
    board.occupied[jobs.home[j]] -= jobs.size[j]


@kernel
def put(board: Board, jobs: Jobs, j: int, row: int) -> None:
    """Put job *j*, columns as they are, into *row* and call that its home."""
    for w in range(jobs.low[j], jobs.high[j]):
        board.homes[row, w] |= jobs.columns[j, w]
    board.occupied[row] += jobs.size[j]
    jobs.home[j] = row


@kernel
def use_files(jobs: Jobs, j: int) -> None:
    """Make the file nodes of job *j* its columns."""
    for w in range(jobs.low[j], jobs.high[j]):
        jobs.columns[j, w] = 0
    for w in range(jobs.first[j], jobs.last[j]):
        jobs.columns[j, w] = jobs.files[j, w]
    jobs.low[j] = jobs.first[j]
    jobs.high[j] = jobs.last[j]
    jobs.local[j] = True


@kernel
def find_taken(rows: Any, taken: Any, low: int, high: int) -> None:
    """Nodes (words *low* .. *high* - 1) that are taken in every row: no job can be added there."""
    for w in range(low, high):
        word = rows[0, w]
        for row in range(1, rows.shape[0]):
            word &= rows[row, w]
        taken[w] = word


@kernel
def is_stuck(board: Board, jobs: Jobs, j: int) -> bool:
    """Is a column of *j* taken in every row (``taken``), so that no further row can hold it?"""
    stuck = False
    for w in range(jobs.low[j], jobs.high[j]):
        if board.taken[w] & jobs.columns[j, w]:
            stuck = True
            break
    return stuck
