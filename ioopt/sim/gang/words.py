"""Operate on sets of nodes in 64-bit words, for machine code only.

The operations are those of :mod:`ioopt.sim.gang.nodes`. None of them may allocate an
array, because they are compiled without reference counts.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Keys = NDArray[np.int64]


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Count the set bits of a uint64 word; the count is an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


def add(rows: Words, row: int, sets: Words, j: int) -> None:
    """Add the nodes of set *j* to the set *row* of *rows*."""
    for w in range(sets.shape[1]):
        rows[row, w] |= sets[j, w]


def remove(rows: Words, row: int, sets: Words, j: int) -> None:
    """Remove the nodes of set *j* from the set *row* of *rows*."""
    for w in range(sets.shape[1]):
        rows[row, w] &= ~sets[j, w]


def copy_rows(rows: Words, to: Words) -> None:
    """Copy all sets of *rows* to *to*."""
    for row in range(rows.shape[0]):
        for w in range(rows.shape[1]):
            to[row, w] = rows[row, w]


def assign(sets: Words, j: int, source: Words) -> None:
    """Copy set *j* of *source* to set *j* of *sets*."""
    for w in range(sets.shape[1]):
        sets[j, w] = source[j, w]


def equal(sets: Words, others: Words, j: int) -> bool:
    """Return whether set *j* is the same in *sets* and in *others*."""
    differing = np.uint64(0)
    for w in range(sets.shape[1]):
        differing |= sets[j, w] ^ others[j, w]
    return not differing


def num_outside(sets: Words, others: Words, j: int) -> int:
    """Count the nodes in set *j* that are not in set *j* of *others*."""
    count = 0
    for w in range(sets.shape[1]):
        count += popcount(sets[j, w] & ~others[j, w])
    return count


def num_rows(span: int) -> int:
    """Count the rows in *span*, a mask of rows."""
    return popcount(np.uint64(span))


def is_free(rows: Words, row: int, sets: Words, j: int) -> bool:
    """Return whether *row* holds none of the nodes of set *j*."""
    taken = np.uint64(0)
    for w in range(sets.shape[1]):
        taken |= rows[row, w] & sets[j, w]
    return not taken


def add_where_free(rows: Words, sets: Words, j: int) -> int:
    """Add set *j* to the first row in which all its nodes are free.

    Return the number of the row; -1 if there is none.
    """
    for row in range(rows.shape[0]):
        if is_free(rows, row, sets, j):
            add(rows, row, sets, j)
            return row
    return -1


def first_free_but_own(rows: Words, sets: Words, j: int, own: Words, home: int) -> int:
    """Return the first row in which all nodes of set *j* are free; -1 if there is none.

    In the row *home* the job's *own* nodes count as free.
    """
    for row in range(rows.shape[0]):
        taken = np.uint64(0)
        for w in range(sets.shape[1]):
            wanted = sets[j, w]
            if row == home:
                wanted &= ~own[j, w]
            taken |= rows[row, w] & wanted
        if not taken:
            return row
    return -1


def first_to_fit(
    keys: Keys, homes: Keys, home: int, sets: Words, rows: Words, row: int
) -> int:
    """Return the first of *keys* whose home row is *home* and whose set is free in
    *row*.

    Return -1 if there is none.
    """
    for j in keys:
        if homes[j] == home and is_free(rows, row, sets, j):
            return j
    return -1


def in_row(keys: Keys, spans: Keys, row: int, found: Keys) -> int:
    """Collect in *found* those of *keys* whose *spans* contain *row*; return their
    number.
    """
    count = 0
    for j in keys:
        if spans[j] >> row & 1:
            found[count] = j
            count += 1
    return count


def sort_keys(keys: Keys, count: int, value: NDArray[Any], descending: bool) -> None:
    """Sort the first *count* of the *keys* by *value*; keys of equal value keep their
    order.
    """
    for i in range(1, count):
        j = keys[i]
        at = i
        while at > 0 and (
            value[keys[at - 1]] < value[j]
            if descending
            else value[keys[at - 1]] > value[j]
        ):
            keys[at] = keys[at - 1]
            at -= 1
        keys[at] = j


def find_layers(rows: Words, row: int, nodes: int, layers: Words) -> None:
    """Set *layers* [k] to the nodes that are free in *row* and in at least k other
    rows.
    """
    levels, words = rows.shape
    for w in range(words):
        inside = ~np.uint64(0)
        if w == words - 1 and nodes % 64 != 0:
            inside = (np.uint64(1) << np.uint64(nodes % 64)) - np.uint64(1)
        layers[0, w] = ~rows[row, w] & inside
        for k in range(1, levels + 1):
            layers[k, w] = 0
        for other in range(levels):
            if other != row:
                for k in range(other, -1, -1):
                    layers[k + 1, w] |= layers[k, w] & ~rows[other, w]


def clear(sets: Words, j: int) -> None:
    """Empty set *j*."""
    for w in range(sets.shape[1]):
        sets[j, w] = 0


def take_lowest(layers: Words, k: int, sets: Words, j: int, most: int) -> int:
    """Add to set *j* up to *most* nodes of layer *k* that it lacks, the lowest first.

    Return the number of nodes added.
    """
    count = 0
    for w in range(layers.shape[1]):
        fresh = layers[k, w] & ~sets[j, w]
        if fresh == 0:
            continue
        here = popcount(fresh)
        if here > most - count:
            here = most - count
            if here == 0:
                break
            rest = fresh
            for _ in range(here):
                rest &= rest - np.uint64(1)
            fresh &= ~rest
        sets[j, w] |= fresh
        count += here
    return count
