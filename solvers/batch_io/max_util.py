"""Grant by Cons-MaxUtil: choose the requests that keep the most nodes busy (rule 12).

Zhou et al., Section III.C.2: a knapsack whose weights are the peak rates r_i, whose
values are the numbers of nodes N_i, and whose capacity is the storage's rate BW_max. If
all nodes have the same rate, the value of a request is proportional to its weight. The
knapsack is then a subset sum in allocation units, which is solved exactly: by the sums
of subsets, as bits, or by the sums of two halves. A request that saturates the storage
(r_i = BW_max) can only be granted alone. If requests have peak rates of their own, a
dynamic program over the undominated pairs of weight and value solves the general
knapsack (rule 26). An integer program checks both.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import partial

from ioopt.compiled.text import in_c
from ioopt.decisions.batch_io import (
    IoPolicy,
    KernelView,
    Rates,
    View,
    as_they_came,
    top_up,
)
from ioopt.decisions.ordering import Number
from ioopt.errors import BackendFailureError, UsageError
from ioopt.models.batch_io.max_util import MaxUtilModel
from ioopt.problems.batch_io import Knapsack
from ioopt.solvers.batch_io.settings import Settings, policy_name

WIDER = 4
"""How many times the units left to fill grow when the last requests cannot fill them.
"""
FEW = 12
"""Up to so many requests, the whole table takes less time than the parts that may do.
"""
SUMS_OF_HALVES = 2500
"""Bits of a table that are written in the time in which one sum of a half is made."""


class MaxUtilSettings(Settings):
    """Configure Cons-MaxUtil; ``knapsack=cp-sat`` solves an integer program."""

    knapsack: Knapsack = "bitset"


def cons_max_util(view: KernelView, rates: list[Number]) -> None:
    """Grant by Cons-MaxUtil; with ``top`` also grant what is left, in FCFS order."""
    if view.limits.own_peaks:
        mark_by_value(view, rates, view.limits.storage * view.limits.slack)
    else:
        mark_fullest(view, rates)
    if view.top:
        left = view.limits.storage
        for k in range(view.size):
            left -= rates[k]
        as_they_came(view)
        top_up(view, rates, left)


def mark_by_value(view: KernelView, rates: list[Number], room: Number) -> None:
    """Grant the subset of requests with the most units whose peak rates fit into *room*
    (rule 26).

    Of equal subsets the first is taken. A state is a subset of the last requests: the
    sum of its peak rates (``loads``) and of its units (``values``). ``rows[j]`` to
    ``rows[j + 1]`` hold the states of the last j requests, by ascending load. Only
    states are kept whose value no lighter state reaches.
    """
    loads = view.loads
    values = view.values
    rows = view.rows
    size = view.size
    loads[0] = view.limits.zero
    values[0] = 0
    rows[0] = 0
    rows[1] = 1
    for j in range(size):
        request = view.jobs[view.out[size - 1 - j]]
        add_states(view, j, request.peak, request.units, room)
    missing = values[rows[size + 1] - 1]
    used = view.limits.zero
    for k in range(size):
        request = view.jobs[view.out[k]]
        rest = missing - request.units
        # Search the first state of value *rest* among those of the later requests.
        low = rows[size - k - 1]
        high = rows[size - k]
        last = high
        while low < high:
            middle = (low + high) // 2
            if values[middle] < rest:
                low = middle + 1
            else:
                high = middle
        found = low < last and values[low] == rest
        if found and used + request.peak + loads[low] <= room:
            rates[k] = request.peak
            used += request.peak
            missing = rest


def add_states(
    view: KernelView, j: int, peak: Number, units: int, room: Number
) -> None:
    """Write the states of the last j + 1 requests, given those of the last j.

    The new request has the rate *peak* and *units* allocation units. ``one`` visits the
    old states without the new request, ``other`` the same states with it. Both are
    merged in order of load.
    """
    loads = view.loads
    values = view.values
    rows = view.rows
    end = rows[j + 1]
    at = rows[j + 1]
    one = rows[j]
    other = rows[j]
    best = -1
    while True:
        fits = other < end and loads[other] + peak <= room
        if one == end and not fits:
            break
        if one == end or (fits and loads[other] + peak < loads[one]):
            load = loads[other] + peak
            value = values[other] + units
            other += 1
        else:
            load = loads[one]
            value = values[one]
            one += 1
        if value > best:
            loads[at] = load
            values[at] = value
            best = value
            at += 1
    rows[j + 2] = at


def mark_by_sums(view: KernelView, rates: list[Number]) -> None:
    """Do what :func:`mark_fullest` does, by tables of sums."""
    room = view.limits.capacity_units
    largest = 0
    total = 0
    for k in range(view.size):
        units = units_at(view, k)
        largest = max(largest, units)
        total += units
    k = 0
    if largest > room:
        while units_at(view, k) < largest:
            k += 1
        rates[k] = view.jobs[view.out[k]].peak
        return
    rest = min(room, total)
    while rest > 0 and units_at(view, k) <= rest:
        rest -= units_at(view, k)
        k += 1
    words = rest // view.width + 1
    rows = 0
    while rest > 0:
        rows = write_sums(view, k, rest)
        words = rest // view.width + 1
        if k == 0:
            while not is_sum(view, words, rows, rest):
                rest -= 1
        if is_sum(view, words, rows, rest):
            break
        wide = WIDER * rest
        while k > 0 and rest < wide:
            k -= 1
            rest += units_at(view, k)
    for taken in range(k):
        rates[taken] = view.jobs[view.out[taken]].peak
    mark_sum(view, rates, k, words, rows, rest)


def mark_sum(
    view: KernelView, rates: list[Number], k: int, words: int, rows: int, rest: int
) -> None:
    """Mark requests from *k* on that have *rest* units together, the first ones where
    there is a choice; the table has *rows* rows of sums, each of *words* words.
    """
    while rest > 0:
        left = rest - units_at(view, k)
        later = min(rows, view.size - k - 1)
        if left >= 0 and is_sum(view, words, later, left):
            rates[k] = view.jobs[view.out[k]].peak
            rest = left
        k += 1


def units_at(view: KernelView, k: int) -> int:
    """Return the allocation units of request *k*."""
    return view.jobs[view.out[k]].units


def write_sums(view: KernelView, first: int, most: int) -> int:
    """Write which sums, up to *most*, the units of the last requests have.

    Row j of the table is for the last j requests; its bit c says whether some of them
    have c units together. The last row is for the requests from *first* on, or is the
    first one that has all sums. Return its number.
    """
    bits = view.bits
    width = view.width
    words = most // width + 1
    whole = (1 << width) - 1
    last = (2 << (most % width)) - 1
    for word in range(words):
        bits[word] = 0
    bits[0] = 1
    for j in range(view.size - first):
        units = units_at(view, view.size - 1 - j)
        jump = units // width
        shift = units % width
        missing = 0
        for word in range(words):
            old = words * j + word
            sums = bits[old]
            if word >= jump:
                sums |= (bits[old - jump] << shift) & whole
            if word > jump and shift > 0:
                sums |= bits[old - jump - 1] >> (width - shift)
            if word == words - 1:
                sums &= last
                missing += sums != last
            else:
                missing += sums != whole
            bits[old + words] = sums
        if missing == 0:
            return j + 1
    return view.size - first


def is_sum(view: KernelView, words: int, row: int, units: int) -> bool:
    """Return whether some of the last *row* requests have exactly *units* units."""
    word = view.bits[row * words + units // view.width]
    return (word >> (units % view.width)) & 1 == 1


@in_c(mark_by_sums)
def mark_fullest(view: KernelView, rates: list[Number]) -> None:
    """Grant the fullest subset of the requests, or the largest request if it saturates
    the storage (rule 12).

    Of equal subsets the lexicographically first is granted.
    """
    requests = [view.jobs[j] for j in view.out[: view.size]]
    units = [request.units for request in requests]
    for k in fullest(units, view.limits.capacity_units):
        rates[k] = requests[k].peak


def fullest(units: Sequence[int], room: int) -> Sequence[int]:
    """Return the positions of the *units*, all above 0, with the largest sum up to
    *room*; of equal ones the lexicographically first. A single one above *room* is
    more than any sum.

    >>> fullest([4, 7, 5, 3], 10), fullest([4, 11, 12], 10)
    ([1, 3], [2])
    """
    largest = max(units, default=0)
    if largest > room:
        return [units.index(largest)]
    if sum(units) <= room:
        return range(len(units))
    if (1 << len(units) // 2) * SUMS_OF_HALVES < len(units) * room:
        return by_halves(units, room)
    return by_sums(units, room)


def by_sums(units: Sequence[int], room: int) -> Sequence[int]:
    """Return what :func:`fullest` returns for *units* that do not all fit.

    The first requests are taken while they fit. If the sums of later ones fill what is
    then left, that was right, and only these sums are needed. Otherwise fewer of the
    first are taken.
    """
    rest = room
    taken = 0
    while units[taken] <= rest:
        rest -= units[taken]
        taken += 1
    if rest == 0:
        return range(taken)
    if len(units) <= FEW:
        taken = 0
        rest = room
    while True:
        others = units[taken:]
        rows = sums_of_last(others, rest)
        if taken == 0:
            rest = rows[0].bit_length() - 1
        if rows[0] >> rest:
            break
        wide = WIDER * rest
        while taken and rest < wide:
            taken -= 1
            rest += units[taken]
    chosen = list(range(taken))
    for k, size in enumerate(others, 1):
        if size <= rest and rows[k] >> rest - size & 1:
            chosen.append(taken + k - 1)
            rest -= size
            if rest == 0:
                break
    return chosen


def sums_of_last(units: Sequence[int], most: int) -> list[int]:
    """Return a row of bits for the *units* from each position on, and one for none of
    them: bit c, up to *most*, says whether some of them have the sum c.
    """
    whole = (2 << most) - 1
    sums = 1
    rows = [sums]
    for size in reversed(units):
        sums |= sums << size & whole
        rows.append(sums)
        if sums == whole:
            break
    rows += [whole] * (len(units) + 1 - len(rows))
    rows.reverse()
    return rows


def by_halves(units: Sequence[int], room: int) -> Sequence[int]:
    """Return what :func:`fullest` returns, by the sums of all subsets of each half.

    This is faster for few requests and much room.
    """
    half = len(units) // 2
    first = sums_in_order(units[:half])
    second = sums_in_order(units[half:])
    ascending = sorted(second)
    best = -1
    place = 0
    for k, size in enumerate(first):
        if size <= room:
            fitting = bisect_right(ascending, room - size)
            whole = size + ascending[fitting - 1]
            if whole > best:
                best = whole
                place = k
                if best == room:
                    break
    skipped = place << (len(units) - half) | second.index(best - first[place])
    return [k for k in range(len(units)) if not skipped >> (len(units) - 1 - k) & 1]


def sums_in_order(units: Sequence[int]) -> list[int]:
    """Return the sums of all subsets in lexicographic order. The bits of a place are
    the skipped *units*, the first one as the highest bit.
    """
    sums = [0]
    for size in reversed(units):
        sums = [size + rest for rest in sums] + sums
    return sums


def knapsack_of(view: View) -> MaxUtilModel:
    """Return the knapsack of the requests of *view*; its values count allocation units.

    Raise UsageError if requests have peak rates of their own that are not whole
    numbers.
    """
    limits = view.limits
    units = [request.units for request in view.requests]
    peaks = [request.peak for request in view.requests]
    if not limits.own_peaks:
        # A request that saturates the storage needs all of it.
        room = max(1, limits.capacity_units)
        weights = [min(size, room) for size in units]
    elif all(peak == int(peak) for peak in peaks):
        room = int(limits.storage * limits.slack)
        weights = [int(peak) for peak in peaks]
    else:
        raise UsageError(
            "this knapsack needs rates in whole bytes per second; use knapsack=bitset"
        )
    return MaxUtilModel(weights, units, room)


def rates_of(view: View, chosen: Sequence[int], top: bool = False) -> Rates:
    """Return the rates of the requests of *view*: the peak rate of each of *chosen*,
    and 0 for the others. With *top* the others get what is left, in FCFS order.
    """
    limits = view.limits
    requests = view.requests
    rates: Rates = [limits.zero] * len(requests)
    for k in chosen:
        rates[k] = requests[k].peak
    if top:
        left = limits.storage
        for k in chosen:
            left -= rates[k]
        for k, request in enumerate(requests):
            if left <= limits.storage * limits.eps:
                break
            if rates[k] == 0:
                rates[k] = min(request.peak, left)
                left -= rates[k]
    return rates


def at_once(view: View, top: bool) -> Rates:
    """Return the rates of Cons-MaxUtil for requests without peak rates of their own."""
    units = [request.units for request in view.requests]
    return rates_of(view, fullest(units, view.limits.capacity_units), top)


def by_program(view: View, top: bool) -> Rates:
    """Return the rates of Cons-MaxUtil, found by the integer program.

    Of equal subsets CP-SAT takes any. With *top* the bandwidth left is granted too.
    Raise UsageError if requests have peak rates of their own that are not whole
    numbers, and BackendFailureError if CP-SAT finds no answer.
    """
    # Imported here, because CP-SAT takes long to import.
    from ioopt.solvers.backends.answer import BackendLimits
    from ioopt.solvers.backends.cpsat_program import solve_by_cpsat

    model = knapsack_of(view)
    answer = solve_by_cpsat(model.program, BackendLimits())
    if not answer.found:
        raise BackendFailureError(f"{answer.backend} found no subset: {answer.status}")
    return rates_of(view, model.chosen(answer.values), top)


def policy(how: MaxUtilSettings) -> IoPolicy:
    """Return Cons-MaxUtil with the solver of its knapsack that the settings *how*
    name.
    """
    name = policy_name(how)
    if how.knapsack == "bitset":
        return IoPolicy(
            name,
            cons_max_util,
            top=how.top,
            tabulates=True,
            at_once=at_once,
        )
    return IoPolicy.of(name, partial(by_program, top=how.top))
