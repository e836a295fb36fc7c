"""Cons-MaxUtil: the requests that keep the most nodes busy (Zhou et al., Section III.C.2; rule 12).

A knapsack with weight r_i, value N_i and capacity BW_max. Below saturation the value is
proportional to the weight, so it is a subset-sum in allocation units, solved exactly by a dynamic
program whose table is one Python int a row. A saturating request (r_i = BW_max) can only be alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ioopt.decisions.batch_io import MAX_UTIL, IoPolicy, Rates, View
from ioopt.problems.batch_io import Knapsack
from ioopt.solvers.batch_io.conservative import grant_left_over, made
from ioopt.solvers.batch_io.settings import Settings

Subset = Callable[[Sequence[int], int], list[int]]
"""(weights, capacity) -> positions of a subset of the largest total within the capacity."""


class MaxUtilSettings(Settings):
    """Settings of Cons-MaxUtil: ``knapsack`` solves its knapsack (the default is by far the fastest)."""

    knapsack: Knapsack = "bitset"


def best_subset(weights: Sequence[int], capacity: int) -> list[int]:
    """Positions of the subset with the largest total within *capacity*; of equals the first.

    *weights* are whole numbers >= 1; "first" is lexicographic in the positions. Bit s of
    ``reach[k]`` says that some subset of the items from k on sums to s.
    """
    if sum(weights) <= capacity:
        return list(range(len(weights)))
    mask = (1 << (capacity + 1)) - 1
    reach = [1]
    row = 1
    for weight in reversed(weights):
        row |= (row << weight) & mask
        reach.append(row)
    remaining = row.bit_length() - 1
    chosen = []
    after = len(weights) - 1
    for k, weight in enumerate(weights):
        if weight <= remaining and reach[after - k] >> (remaining - weight) & 1:
            chosen.append(k)
            remaining -= weight
            if not remaining:
                break
    return chosen


def select(
    units: Sequence[int], capacity: int, saturating: int, subset_of: Subset = best_subset
) -> list[int]:
    """Positions that Cons-MaxUtil grants; *units* in FCFS order, allocations of *saturating* and
    more units can only be alone.

    The largest, then earliest, of those is compared with the best subset of the others; on equal
    value the one that holds the earliest request wins, which is the lexicographically first.
    """
    others = [k for k, size in enumerate(units) if size < saturating]
    if len(others) == len(units):
        return subset_of(units, capacity)
    subset = [others[k] for k in subset_of([units[k] for k in others], capacity)]
    alone = max(
        (k for k, size in enumerate(units) if size >= saturating), key=lambda k: (units[k], -k)
    )
    value = sum(units[k] for k in subset)
    if units[alone] > value or (units[alone] == value and alone < subset[0]):
        return [alone]
    return subset


def decide(view: View, top: bool, subset_of: Subset = best_subset) -> Rates:
    """Cons-MaxUtil by the given solver of its knapsack; *top* hands on what is left, in FCFS order."""
    requests, limits = view.requests, view.limits
    chosen = select(
        [request.units for request in requests],
        limits.capacity_units,
        limits.saturating_units,
        subset_of,
    )
    rates: Rates = [limits.storage * 0] * len(requests)
    left = limits.storage
    for k in chosen:
        rates[k] = requests[k].peak
        left -= rates[k]
    if top:
        granted = set(chosen)
        skipped = [k for k in range(len(requests)) if k not in granted]
        grant_left_over(rates, requests, skipped, left, limits)
    return rates


def policy(how: MaxUtilSettings) -> IoPolicy:
    """Cons-MaxUtil with the chosen solver of its knapsack."""
    if how.knapsack == "bitset":
        return made("cons-max-util", decide, how.top, MAX_UTIL)
    from ioopt.solvers.batch_io.knapsack_engines import subset_by

    return IoPolicy(
        "cons-max-util" + "+top" * how.top,
        partial(decide, top=how.top, subset_of=subset_by(how.knapsack)),
        conservative=True, slow=True, no_twin=f"knapsack={how.knapsack}",
    )  # fmt: skip
