"""Cons-MaxUtil: the requests that keep the most nodes busy (Zhou et al., Section III.C.2; rule 12).

A knapsack with weight r_i, value N_i and capacity BW_max. Below saturation the value is
proportional to the weight, so it is a subset-sum in allocation units, solved exactly by a dynamic
program whose table is one Python int a row. A saturating request (r_i = BW_max) can only be alone.
Where requests have own peaks it is a knapsack proper, solved by a dynamic program over the (weight,
value) that no other dominates (rule 26).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ioopt.decisions.batch_io import IoPolicy, KernelView, Number, Rates, Twin, View
from ioopt.decisions.batch_io_kernels import SLACK, as_they_came, top_up
from ioopt.errors import UsageError
from ioopt.problems.batch_io import Knapsack
from ioopt.solvers.batch_io.conservative import grant_left_over, made
from ioopt.solvers.batch_io.settings import Settings

FIRST_BACK = 8
"""Of the items that fit one after the other, how many are looked at again at first."""
Subset = Callable[..., list[int]]
"""(weights, capacity, values=weights) -> positions of a subset of the largest value that fits."""


class MaxUtilSettings(Settings):
    """Settings of Cons-MaxUtil: ``knapsack=cp-sat`` checks the default by an integer program."""

    knapsack: Knapsack = "bitset"


def best_subset(weights: Sequence[int], capacity: int) -> list[int]:
    """Positions of the subset with the largest total within *capacity*; of equals the first.

    *weights* are whole numbers >= 1; "first" is lexicographic in the positions. Where the first items
    and some of the others fill the capacity, no subset is before or above theirs: then the table is
    as wide as what those leave, and not as the capacity.
    """
    room, fit = capacity, 0
    while fit < len(weights) and weights[fit] <= room:
        room -= weights[fit]
        fit += 1
    if fit == len(weights):
        return list(range(fit))
    unit = math.gcd(*weights) if fit > FIRST_BACK else 1
    back = FIRST_BACK
    while True:
        first = max(0, fit - back)
        left = capacity - sum(weights[:first])
        chosen = _best_of(weights[first:], left)
        if not first or left - sum(weights[first + k] for k in chosen) < unit:
            return [*range(first), *(first + k for k in chosen)]
        back *= 8


def _best_of(weights: Sequence[int], capacity: int) -> list[int]:
    """:func:`best_subset` by the whole table: bit s of ``reach[k]`` says that some subset of the items
    from k on sums to s.
    """
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
    units = [request.units for request in requests]
    if not limits.own_peaks:
        chosen = select(units, limits.capacity_units, limits.saturating_units, subset_of)
    elif subset_of is best_subset:
        chosen = best_by_value(view)
    else:
        peaks = [request.peak for request in requests]
        if not all(peak == int(peak) for peak in peaks):
            raise UsageError("this knapsack takes whole bytes per second; use knapsack=bitset")
        room = limits.storage if limits.exact else limits.storage * SLACK
        chosen = subset_of([*map(int, peaks)], int(room), units)
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


def best_by_value(view: View) -> list[int]:
    """Positions that Cons-MaxUtil grants where requests have own peaks (rule 26)."""
    requests, limits, size = view.requests, view.limits, len(view.requests)
    zero, states, units = limits.storage * 0, 2, 1
    for k, request in enumerate(reversed(requests), 1):
        units += request.units
        states += min(units, 1 << min(k, 62))
    rates: Rates = [zero] * size
    arrays = KernelView(
        requests, range(size), size, view.now, limits.storage, limits.node_rate,
        limits.capacity_units, limits.saturating_units, True, False, loads=[zero] * states,
        values=[0] * states, rows=[0] * (size + 2),
    )  # fmt: skip
    mark_by_value(arrays, rates, limits.storage if limits.exact else limits.storage * SLACK)
    return [k for k, rate in enumerate(rates) if rate > 0]


def mark_by_value(view: KernelView, rates: Any, room: Number) -> None:
    """Grant the subset of most units whose peaks fit into *room*; of equals the first (rule 26).

    States ``rows[j]`` to ``rows[j + 1]`` are those of the last j requests: the least load of each
    value that no lighter one reaches, by value.
    """
    loads, values, rows, size = view.loads, view.values, view.rows, view.size
    loads[0], values[0], rows[0], rows[1] = view.storage * 0, 0, 0, 1
    for j in range(size):
        request = view.jobs[view.out[size - 1 - j]]
        add_states(view, j, request.peak, request.units, room)
    missing, used = values[rows[size + 1] - 1], view.storage * 0
    for k in range(size):
        request = view.jobs[view.out[k]]
        rest = missing - request.units
        # The first state of so much value.
        low, high = rows[size - k - 1], rows[size - k]
        last = high
        while low < high:
            middle = (low + high) // 2
            if values[middle] < rest:
                low = middle + 1
            else:
                high = middle
        if low < last and values[low] == rest and used + request.peak + loads[low] <= room:
            rates[k] = request.peak
            used += request.peak
            missing = rest


def add_states(view: KernelView, j: int, peak: Number, units: int, room: Number) -> None:
    """The states of j requests and one more: each without it and with it, merged by load."""
    loads, values, rows = view.loads, view.values, view.rows
    end = at = rows[j + 1]
    one = other = rows[j]
    best = -1
    while one < end or (other < end and loads[other] + peak <= room):
        if one < end and not (other < end and loads[other] + peak < loads[one]):
            load, value = loads[one], values[one]
            one += 1
        else:
            load, value = loads[other] + peak, values[other] + units
            other += 1
        if value > best:
            loads[at], values[at] = load, value
            best = value
            at += 1
    rows[j + 2] = at


def max_util_kernel(view: KernelView, rates: Any) -> None:
    """Cons-MaxUtil compiled."""
    if view.own_peaks:
        mark_by_value(view, rates, view.storage * SLACK)
    else:
        mark_best(view, rates)
    if view.top:
        left = view.storage
        for k in range(view.size):
            left -= rates[k]
        as_they_came(view)
        top_up(view, rates, left)


def mark_best(view: KernelView, rates: Any) -> None:
    """The subset-sum of rule 12 against the best saturating request."""
    alone, most, total, value, first = -1, 0, 0, 0, view.size
    for k in range(view.size):
        units = view.jobs[view.out[k]].units
        if units < view.saturating_units:
            total += units
        elif units > most:
            alone, most = k, units
    mark_subset(view, rates, total)
    for k in range(view.size):
        if rates[k] > 0:
            value += view.jobs[view.out[k]].units
            first = min(first, k)
    if alone >= 0 and (most > value or (most == value and alone < first)):
        for k in range(view.size):
            rates[k] = 0.0
        rates[alone] = view.jobs[view.out[alone]].peak


def mark_subset(view: KernelView, rates: Any, total: int) -> None:
    """Grant the fullest subset of the requests that do not saturate, *total* units of them.

    Of equals the lexicographically first. Bit c of row k of the table: some subset of the requests
    from place k on adds up to c.
    """
    whole, rest = total <= view.capacity_units, view.capacity_units
    if not whole:
        subset_sums(view)
    while not whole and not reaches(view, 0, rest):
        rest -= 1
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        units = request.units
        if units < view.saturating_units and (
            whole or (units <= rest and reaches(view, k + 1, rest - units))
        ):
            rates[k] = request.peak
            rest -= units


def reaches(view: KernelView, k: int, units: int) -> bool:
    """Whether some subset of the requests from place *k* on adds up to *units*."""
    return (view.bits[k][units // 62] >> (units % 62)) & 1 == 1


def subset_sums(view: KernelView) -> None:
    """Fill the table from the last request to the first."""
    words, mask = view.capacity_units // 62 + 1, (1 << 62) - 1
    for word in range(words):
        view.bits[view.size][word] = 0
    view.bits[view.size][0] = 1
    for k in range(view.size - 1, -1, -1):
        units = view.jobs[view.out[k]].units
        before, row = view.bits[k + 1], view.bits[k]
        jump, shift = units // 62, units % 62
        for word in range(words):
            bits = before[word]
            if units < view.saturating_units and word >= jump:
                bits |= (before[word - jump] << shift) & mask
                if shift > 0 and word > jump:
                    bits |= before[word - jump - 1] >> (62 - shift)
            row[word] = bits


def policy(how: MaxUtilSettings) -> IoPolicy:
    """Cons-MaxUtil with the chosen solver of its knapsack."""
    if how.knapsack == "bitset":
        twin = Twin(max_util_kernel, how.top, tabulates=True)
        return replace(made("cons-max-util", decide, how.top, max_util_kernel), twin=twin)
    from ioopt.solvers.batch_io.max_util_program import subset_by_program

    return IoPolicy(
        "cons-max-util" + "+top" * how.top,
        partial(decide, top=how.top, subset_of=subset_by_program),
        conservative=True, slow=True, no_twin=f"knapsack={how.knapsack}",
    )  # fmt: skip
