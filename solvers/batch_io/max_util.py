"""Grant by Cons-MaxUtil: choose the requests that keep the most nodes busy (rule 12).

Zhou et al., Section III.C.2: a knapsack whose weights are the peak rates r_i, whose
values are the numbers of nodes N_i, and whose capacity is the storage's rate BW_max. If
all nodes have the same rate, the value of a request is proportional to its weight. The
knapsack is then a subset sum in allocation units, which a dynamic program solves
exactly with a table of bits. A saturating request (r_i = BW_max) can only be granted
alone. If requests have peak rates of their own, a dynamic program over the undominated
pairs of weight and value solves the general knapsack (rule 26). An integer program
checks both.
"""

from collections.abc import Sequence
from functools import partial

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


class MaxUtilSettings(Settings):
    """Configure Cons-MaxUtil; ``knapsack=cp-sat`` solves an integer program."""

    knapsack: Knapsack = "bitset"


def cons_max_util(view: KernelView, rates: list[Number]) -> None:
    """Grant by Cons-MaxUtil; with ``top`` also grant what is left, in FCFS order."""
    if view.limits.own_peaks:
        mark_by_value(view, rates, view.limits.storage * view.limits.slack)
    else:
        mark_best(view, rates)
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


def mark_best(view: KernelView, rates: list[Number]) -> None:
    """Grant the better of two: the fullest subset, or the largest saturating request.

    If both have the same value, the one with the earlier request in FCFS order is
    granted (rule 12).
    """
    total = 0
    alone = -1
    most = 0
    for k in range(view.size):
        units = view.jobs[view.out[k]].units
        if units < view.limits.saturating_units:
            total += units
        elif units > most:
            alone = k
            most = units
    mark_subset(view, rates, total)
    value = 0
    first = view.size
    for k in range(view.size):
        if rates[k] > 0:
            value += view.jobs[view.out[k]].units
            first = min(first, k)
    if most > value or (most == value and -1 < alone < first):
        for k in range(view.size):
            rates[k] = view.limits.zero
        rates[alone] = view.jobs[view.out[alone]].peak


def mark_subset(view: KernelView, rates: list[Number], total: int) -> None:
    """Grant the fullest subset of the requests that do not saturate the storage.

    These have *total* units together. Of equal subsets the lexicographically first is
    taken. Bit c of row k of the table says whether some subset of the requests from k
    on has c units.
    """
    rest = view.limits.capacity_units
    whole = total <= rest
    if not whole:
        subset_sums(view)
        while not reaches(view, 0, rest):
            rest -= 1
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        units = request.units
        if units >= view.limits.saturating_units:
            continue
        if whole:
            rates[k] = request.peak
        elif units <= rest and reaches(view, k + 1, rest - units):
            rates[k] = request.peak
            rest -= units


def reaches(view: KernelView, k: int, units: int) -> bool:
    """Return whether some subset of the requests from *k* on has exactly *units*
    units.
    """
    word = view.bits[k * view.words + units // view.width]
    return (word >> (units % view.width)) & 1 == 1


def subset_sums(view: KernelView) -> None:
    """Fill the table of :func:`mark_subset` from the last request to the first."""
    bits = view.bits
    width = view.width
    mask = (1 << width) - 1
    before = view.size * view.words
    for word in range(view.words):
        bits[before + word] = 0
    bits[before] = 1
    for k in range(view.size - 1, -1, -1):
        units = view.jobs[view.out[k]].units
        before = (k + 1) * view.words
        row = k * view.words
        jump = units // width
        shift = units % width
        for word in range(view.words):
            sums = bits[before + word]
            if units < view.limits.saturating_units and word >= jump:
                sums |= (bits[before + word - jump] << shift) & mask
                if shift > 0 and word > jump:
                    sums |= bits[before + word - jump - 1] >> (width - shift)
            bits[row + word] = sums


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


def rates_of(view: View, chosen: Sequence[int]) -> Rates:
    """Return the rates of the requests of *view*: the peak rate of each of *chosen*,
    and 0 for the others.
    """
    rates: Rates = [view.limits.zero] * len(view.requests)
    for k in chosen:
        rates[k] = view.requests[k].peak
    return rates


def by_program(view: View, top: bool) -> Rates:
    """Return the rates of Cons-MaxUtil, found by the integer program.

    Of equal subsets CP-SAT takes any. With *top* the bandwidth left is granted too.
    Raise UsageError if requests have peak rates of their own that are not whole
    numbers, and BackendFailureError if CP-SAT finds no answer.
    """
    # Imported here, because CP-SAT takes long to import.
    from ioopt.solvers.backends.answer import BackendLimits
    from ioopt.solvers.backends.cpsat_program import solve_by_cpsat

    limits = view.limits
    model = knapsack_of(view)
    answer = solve_by_cpsat(model.program, BackendLimits())
    if not answer.found:
        raise BackendFailureError(f"{answer.backend} found no subset: {answer.status}")
    chosen = model.chosen(answer.values)
    rates = rates_of(view, chosen)
    if not top:
        return rates
    left = limits.storage
    for k in chosen:
        left -= rates[k]
    for k, request in enumerate(view.requests):
        if k not in chosen and left > limits.storage * limits.eps:
            rates[k] = min(request.peak, left)
            left -= rates[k]
    return rates


def policy(how: MaxUtilSettings) -> IoPolicy:
    """Return Cons-MaxUtil with the solver of its knapsack that the settings *how*
    name.
    """
    name = policy_name(how)
    if how.knapsack == "bitset":
        return IoPolicy(name, cons_max_util, top=how.top, tabulates=True)
    return IoPolicy.of(name, partial(by_program, top=how.top))
