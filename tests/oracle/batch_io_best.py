"""The least I/O delay of a few jobs with given starts, by a linear program for every
order of events.

It shares no code with ioopt. A chain describes a job as (begin, [(amount, share,
after), ...]). Amounts are in seconds of transfer at the full rate of the storage.
"""

from collections.abc import Iterator
from typing import Any

from scipy.optimize import linprog


def orders(counts: list[int]) -> Iterator[list[int]]:
    """Yield every way to merge rows with these *counts* of points.

    A merge lists, for each point, the row from which it comes.
    """
    if not any(counts):
        yield []
    for row, count in enumerate(counts):
        if count:
            fewer = [*counts[:row], count - 1, *counts[row + 1 :]]
            for rest in orders(fewer):
                yield [row, *rest]


def least_delay(chains: list[Any]) -> float:
    """Return the sum over all jobs of their end with I/O contention minus their end
    without it.

    The result is infinite if no order of events is possible.
    """
    best = min(
        _least_end(chains, order)
        for order in orders([2 * len(steps) for _, steps in chains])
    )
    alone = sum(
        begin + sum(a / s for a, s, _ in steps) + sum(g for _, _, g in steps[:-1])
        for begin, steps in chains
    )
    return best - alone


def _least_end(chains: list[Any], order: list[int]) -> float:
    """Return the least sum of ends of all jobs if their events have this *order*.

    Variables of the linear program are the time of each event in *order*, and the bytes
    that each request moves in each span between two events.
    """
    size, at = len(order), {}
    seen = [0] * len(chains)
    for place, row in enumerate(order):
        at[row, seen[row]] = place
        seen[row] += 1
    moves: dict[tuple[int, int, int], int] = {}
    for j, (_, steps) in enumerate(chains):
        for k in range(len(steps)):
            for span in range(at[j, 2 * k], at[j, 2 * k + 1]):
                moves[j, k, span] = size + len(moves)
    total = size + len(moves)
    less: list[tuple[dict[int, float], float]] = [
        ({e: 1, e + 1: -1}, 0) for e in range(size - 1)
    ]
    same: list[tuple[dict[int, float], float]] = []
    for (j, k, span), v in moves.items():
        share = chains[j][1][k][1]
        less.append(({v: 1, span + 1: -share, span: share}, 0))
    for span in range(size - 1):
        here = {v: 1.0 for (_, _, e), v in moves.items() if e == span}
        less.append(({**here, span + 1: -1, span: 1}, 0))
    goal = [0.0] * total
    for j, (begin, steps) in enumerate(chains):
        same.append(({at[j, 0]: 1}, begin))
        for k, (amount, _, gap) in enumerate(steps):
            same.append(
                ({v: 1.0 for (a, b, _), v in moves.items() if (a, b) == (j, k)}, amount)
            )
            if k + 1 < len(steps):
                same.append(({at[j, 2 * k + 2]: 1, at[j, 2 * k + 1]: -1}, gap))
        goal[at[j, 2 * len(steps) - 1]] = 1.0

    def table(rows: list[tuple[dict[int, float], float]]) -> tuple[Any, Any]:
        return [[row.get(v, 0.0) for v in range(total)] for row, _ in rows], [
            b for _, b in rows
        ]

    answer = linprog(goal, *table(less), *table(same), bounds=(0, None), method="highs")
    return float(answer.fun) if answer.status == 0 else float("inf")
