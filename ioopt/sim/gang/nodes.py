"""Operate on sets of nodes and on lists of jobs, for the rules of a gang matrix.

A set of nodes is a whole number whose bit k stands for node k. A list of sets, such as
the rows of the matrix, is a list of such numbers. :mod:`ioopt.sim.gang.words` has the
same operations for machine code, where a set is a row of 64-bit words. The rules
themselves are written once.
"""

from collections.abc import Sequence

from ioopt.decisions.gang.rules import Number

COMPILED_AS = "ioopt.sim.gang.words"

Sets = list[int]


def add(rows: Sets, row: int, sets: Sets, j: int) -> None:
    """Add the nodes of set *j* to the set *row* of *rows*."""
    rows[row] |= sets[j]


def remove(rows: Sets, row: int, sets: Sets, j: int) -> None:
    """Remove the nodes of set *j* from the set *row* of *rows*."""
    rows[row] &= ~sets[j]


def copy_rows(rows: Sets, to: Sets) -> None:
    """Copy all sets of *rows* to *to*."""
    to[:] = rows


def assign(sets: Sets, j: int, source: Sets) -> None:
    """Copy set *j* of *source* to set *j* of *sets*."""
    sets[j] = source[j]


def equal(sets: Sets, others: Sets, j: int) -> bool:
    """Return whether set *j* is the same in *sets* and in *others*."""
    return sets[j] == others[j]


def num_outside(sets: Sets, others: Sets, j: int) -> int:
    """Count the nodes in set *j* that are not in set *j* of *others*."""
    return (sets[j] & ~others[j]).bit_count()


def num_rows(span: int) -> int:
    """Count the rows in *span*, a mask of rows."""
    return span.bit_count()


def is_free(rows: Sets, row: int, sets: Sets, j: int) -> bool:
    """Return whether *row* holds none of the nodes of set *j*."""
    return not rows[row] & sets[j]


def add_where_free(rows: Sets, sets: Sets, j: int) -> int:
    """Add set *j* to the first row in which all its nodes are free.

    Return the number of the row; -1 if there is none.
    """
    wanted = sets[j]
    for row, taken in enumerate(rows):
        if not taken & wanted:
            rows[row] = taken | wanted
            return row
    return -1


def first_free_but_own(rows: Sets, sets: Sets, j: int, own: Sets, home: int) -> int:
    """Return the first row in which all nodes of set *j* are free; -1 if there is none.

    In the row *home* the job's *own* nodes count as free.
    """
    wanted = sets[j]
    for row, taken in enumerate(rows):
        if row == home:
            taken &= ~own[j]
        if not taken & wanted:
            return row
    return -1


def first_to_fit(
    keys: Sequence[int],
    homes: Sequence[int],
    home: int,
    sets: Sets,
    rows: Sets,
    row: int,
) -> int:
    """Return the first of *keys* whose home row is *home* and whose set is free in
    *row*.

    Return -1 if there is none.
    """
    taken = rows[row]
    for j in keys:
        if homes[j] == home and not taken & sets[j]:
            return j
    return -1


def in_row(
    keys: Sequence[int], spans: Sequence[int], row: int, found: list[int]
) -> int:
    """Collect in *found* those of *keys* whose *spans* contain *row*; return their
    number.
    """
    held = [j for j in keys if spans[j] >> row & 1]
    found[: len(held)] = held
    return len(held)


def drop(keys: list[int], count: int, j: int) -> None:
    """Remove *j* from the first *count* of the *keys*; keys behind it move up."""
    at = 0
    while keys[at] != j:
        at += 1
    for i in range(at, count - 1):
        keys[i] = keys[i + 1]


def sort_keys(
    keys: list[int], count: int, value: Sequence[Number], descending: bool
) -> None:
    """Sort the first *count* of the *keys* by *value*; keys of equal value keep their
    order.
    """
    keys[:count] = sorted(keys[:count], key=value.__getitem__, reverse=descending)


def find_layers(rows: Sets, row: int, nodes: int, layers: Sets) -> None:
    """Set *layers* [k] to the nodes that are free in *row* and in at least k other
    rows.
    """
    layers[0] = ~rows[row] & (1 << nodes) - 1
    layers[1:] = [0] * len(rows)
    for other, taken in enumerate(rows):
        if other != row:
            for k in range(other, -1, -1):
                layers[k + 1] |= layers[k] & ~taken


def clear(sets: Sets, j: int) -> None:
    """Empty set *j*."""
    sets[j] = 0


def take_lowest(layers: Sets, k: int, sets: Sets, j: int, most: int) -> int:
    """Add to set *j* up to *most* nodes of layer *k* that it lacks, the lowest first.

    Return the number of nodes added.
    """
    fresh = layers[k] & ~sets[j]
    count = fresh.bit_count()
    if count > most:
        rest = fresh
        count = most
        for _ in range(most):
            rest &= rest - 1
        fresh &= ~rest
    sets[j] |= fresh
    return count
