"""Cons-MaxUtil: the requests that keep the most nodes busy (Zhou et al.,
Section III.C.2; rule 12).

A knapsack with weight r_i, value N_i and capacity BW_max. Below saturation the value is
proportional to the weight, so it is a subset-sum in allocation units, solved exactly by
a dynamic program whose table is one Python int a row. A saturating request (r_i =
BW_max) can only be alone. Where requests have own peaks it is a knapsack proper, solved
by a dynamic program over the (weight, value) that no other dominates (rule 26). The
integer program is a check of both.
"""

from functools import partial

from ioopt.compiled import Box
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
from ioopt.problems.batch_io import Knapsack
from ioopt.solvers.batch_io.settings import Settings


class MaxUtilSettings(Settings):
    """Settings of Cons-MaxUtil: ``knapsack=cp-sat`` checks the default
    by an integer program.
    """

    knapsack: Knapsack = "bitset"


def cons_max_util(view: KernelView, rates: Box) -> None:
    """Cons-MaxUtil; what is left is handed on in FCFS order where ``top``."""
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


def mark_by_value(view: KernelView, rates: Box, room: Number) -> None:
    """Grant the subset of most units whose peaks fit into *room*; of equals
    the first (rule 26).

    States ``rows[j]`` to ``rows[j + 1]`` are those of the last j requests: the least
    load of each value that no lighter one reaches, by value.
    """
    loads, values, rows, size = view.loads, view.values, view.rows, view.size
    loads[0], values[0], rows[0], rows[1] = view.limits.storage * 0, 0, 0, 1
    for j in range(size):
        request = view.jobs[view.out[size - 1 - j]]
        add_states(view, j, request.peak, request.units, room)
    missing, used = values[rows[size + 1] - 1], view.limits.storage * 0
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
        if (
            low < last
            and values[low] == rest
            and used + request.peak + loads[low] <= room
        ):
            rates[k] = request.peak
            used += request.peak
            missing = rest


def add_states(
    view: KernelView, j: int, peak: Number, units: int, room: Number
) -> None:
    """The states of j requests and one more: each without it and
    with it, merged by load.
    """
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


def mark_best(view: KernelView, rates: Box) -> None:
    """The subset-sum of rule 12 against the best saturating request."""
    alone, most, total, value, first = -1, 0, 0, 0, view.size
    for k in range(view.size):
        units = view.jobs[view.out[k]].units
        if units < view.limits.saturating_units:
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
            rates[k] *= 0
        rates[alone] = view.jobs[view.out[alone]].peak


def mark_subset(view: KernelView, rates: Box, total: int) -> None:
    """Grant the fullest subset of the requests that do not saturate,
    *total* units of them.

    Of equals the lexicographically first. Bit c of row k of the table: some subset of
    the requests from place k on adds up to c.
    """
    whole, rest = total <= view.limits.capacity_units, view.limits.capacity_units
    if not whole:
        subset_sums(view)
    while not whole and not reaches(view, 0, rest):
        rest -= 1
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        units = request.units
        if units < view.limits.saturating_units and (
            whole or (units <= rest and reaches(view, k + 1, rest - units))
        ):
            rates[k] = request.peak
            rest -= units


def reaches(view: KernelView, k: int, units: int) -> bool:
    """Whether some subset of the requests from place *k* on adds up to *units*."""
    return (view.bits[k][units // view.width] >> (units % view.width)) & 1 == 1


def subset_sums(view: KernelView) -> None:
    """Fill the table from the last request to the first."""
    width = view.width
    words, mask = view.limits.capacity_units // width + 1, (1 << width) - 1
    for word in range(words):
        view.bits[view.size][word] = 0
    view.bits[view.size][0] = 1
    for k in range(view.size - 1, -1, -1):
        units = view.jobs[view.out[k]].units
        before, row = view.bits[k + 1], view.bits[k]
        jump, shift = units // width, units % width
        for word in range(words):
            bits = before[word]
            if units < view.limits.saturating_units and word >= jump:
                bits |= (before[word - jump] << shift) & mask
                if shift > 0 and word > jump:
                    bits |= before[word - jump - 1] >> (width - shift)
            row[word] = bits


def by_program(view: View, top: bool) -> Rates:
    """Cons-MaxUtil by the integer program, with ties as CP-SAT breaks them.

    Raises UsageError for own peaks that are not whole numbers,
    BackendFailureError without an answer.
    """
    # Here: machine code is stamped by what this module imports.
    from ioopt.models.batch_io.max_util import MaxUtilModel
    from ioopt.solvers.backends.answer import BackendLimits
    from ioopt.solvers.backends.cpsat_program import solve_by_cpsat

    limits, units = view.limits, [request.units for request in view.requests]
    peaks = [request.peak for request in view.requests]
    if not limits.own_peaks:
        room = max(
            1, limits.capacity_units
        )  # who saturates the storage needs all of it
        weights = [min(size, room) for size in units]
    elif all(peak == int(peak) for peak in peaks):
        room, weights = int(limits.storage * limits.slack), [*map(int, peaks)]
    else:
        raise UsageError(
            "this knapsack takes whole bytes per second; use knapsack=bitset"
        )
    model = MaxUtilModel(weights, units, room)
    answer = solve_by_cpsat(model.program, BackendLimits())
    if not answer.found:
        raise BackendFailureError(f"{answer.backend} found no subset: {answer.status}")
    left = limits.storage
    rates: Rates = [left * 0] * len(units)
    chosen = model.chosen(answer.values)
    for k in chosen:
        rates[k] = peaks[k]
        left -= peaks[k]
    for k in sorted({*range(len(units))} - {*chosen}) if top else ():
        if left > limits.storage * limits.eps:
            rates[k] = min(peaks[k], left)
            left -= rates[k]
    return rates


def policy(how: MaxUtilSettings) -> IoPolicy:
    """Cons-MaxUtil with the chosen solver of its knapsack."""
    name = "cons-max-util" + "+top" * how.top
    if how.knapsack == "bitset":
        return IoPolicy(name, cons_max_util, top=how.top, tabulates=True)
    return IoPolicy.of(name, partial(by_program, top=how.top))
