"""Operate on sets of nodes, for the rules of a gang matrix.

The code runs in plain Python and compiled. In a list of sets, set j is ``sets[j *
words:(j + 1) * words]``; the rows of the matrix are such a list. One word holds all
nodes in plain Python (:mod:`ioopt.sim.gang.matrix`): operations that are called often
serve it first.
"""


def add(rows: list[int], row: int, sets: list[int], j: int, words: int) -> None:
    """Add the nodes of set *j* to the set *row* of *rows*."""
    for w in range(words):
        rows[row * words + w] |= sets[j * words + w]


def remove(rows: list[int], row: int, sets: list[int], j: int, words: int) -> None:
    """Remove the nodes of set *j* from the set *row* of *rows*."""
    for w in range(words):
        rows[row * words + w] &= ~sets[j * words + w]


def assign(sets: list[int], j: int, source: list[int], words: int) -> None:
    """Copy set *j* of *source* to set *j* of *sets*."""
    for w in range(j * words, (j + 1) * words):
        sets[w] = source[w]


def equal(sets: list[int], others: list[int], j: int, words: int) -> bool:
    """Return whether set *j* is the same in *sets* and in *others*."""
    differing = 0
    for w in range(j * words, (j + 1) * words):
        differing |= sets[w] ^ others[w]
    return differing == 0


def num_outside(sets: list[int], others: list[int], j: int, words: int) -> int:
    """Count the nodes in set *j* that are not in set *j* of *others*."""
    count = 0
    for w in range(j * words, (j + 1) * words):
        outside = sets[w] & ~others[w]
        count += outside.bit_count()
    return count


def is_free(rows: list[int], row: int, sets: list[int], j: int, words: int) -> bool:
    """Return whether *row* holds none of the nodes of set *j*."""
    if words == 1:
        return rows[row] & sets[j] == 0
    w = 0
    while w < words and rows[row * words + w] & sets[j * words + w] == 0:
        w += 1
    return w == words


def find_layers(rows: list[int], row: int, every: list[int], layers: list[int]) -> None:
    """Set *layers* [k] to the nodes that are free in *row* and in at least k other
    rows. *every* is the set of all nodes.
    """
    words = len(every)
    levels = len(rows) // words
    for w in range(words):
        layers[w] = every[w] & ~rows[row * words + w]
        for k in range(1, levels + 1):
            layers[k * words + w] = 0
        if layers[w] == 0:
            continue
        for other in range(levels):
            if other == row:
                continue
            free = ~rows[other * words + w]
            for k in range(other, -1, -1):
                layers[(k + 1) * words + w] |= layers[k * words + w] & free


def take_lowest(
    layers: list[int], k: int, sets: list[int], j: int, most: int, words: int
) -> int:
    """Add to set *j* up to *most* nodes of layer *k* that it lacks, the lowest first.

    Return the number of nodes added.
    """
    count = 0
    for w in range(words):
        fresh = layers[k * words + w] & ~sets[j * words + w]
        here = fresh.bit_count()
        if here > most - count:
            here = most - count
            rest = fresh
            for _ in range(here):
                rest &= rest - 1
            fresh ^= rest
        sets[j * words + w] |= fresh
        count += here
    return count


def choose_nodes(
    rows: list[int],
    row: int,
    every: list[int],
    size: int,
    layers: list[int],
    columns: list[int],
    j: int,
) -> None:
    """Choose the columns of job *j*: *size* of the nodes that are free in *row*.

    The nodes that are free in most other rows come first; of equals, the lowest.
    *every* is the set of all nodes, and *layers* is scratch space.
    """
    words = len(every)
    find_layers(rows, row, every, layers)
    for w in range(j * words, (j + 1) * words):
        columns[w] = 0
    for k in range(len(rows) // words, -1, -1):
        size -= take_lowest(layers, k, columns, j, size, words)
        if size == 0:
            break
