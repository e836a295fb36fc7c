"""Cons-MaxUtil's knapsack as an integer program on CP-SAT: a cross-check of our own dynamic program."""

from collections.abc import Sequence

from ioopt.decisions.batch_io import Rates, View
from ioopt.errors import BackendFailureError, UsageError
from ioopt.models.batch_io.max_util import MaxUtilModel
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat


def subset_by_program(
    weights: Sequence[int], capacity: int, values: Sequence[int] | None = None
) -> list[int]:
    """Positions of a subset of the largest value that fits; of equal ones whichever is found.

    Values are the weights if not given.
    """
    model = MaxUtilModel(weights, values or weights, capacity)
    answer = solve_by_cpsat(model.program, BackendLimits())
    if not answer.found:
        raise BackendFailureError(f"{answer.backend} found no subset: {answer.status}")
    return [*model.chosen(answer.values)]


def select(units: Sequence[int], capacity: int, saturating: int) -> list[int]:
    """Positions that Cons-MaxUtil grants; *units* in FCFS order, allocations of *saturating* and
    more units can only be alone. On equal value the set that holds the earliest request wins.
    """
    others = [k for k, size in enumerate(units) if size < saturating]
    subset = [others[k] for k in subset_by_program([units[k] for k in others], capacity)]
    alone = max(
        (k for k, size in enumerate(units) if size >= saturating),
        key=lambda k: (units[k], -k), default=None,
    )  # fmt: skip
    value = sum(units[k] for k in subset)
    if alone is None or (units[alone], -alone) < (value, -min(subset, default=0)):
        return subset
    return [alone]


def max_util_by_program(view: View, top: bool) -> Rates:
    """Cons-MaxUtil by the integer program; *top* hands on what is left, in FCFS order."""
    requests, limits = view.requests, view.limits
    units, peaks = [r.units for r in requests], [r.peak for r in requests]
    if not limits.own_peaks:
        chosen = select(units, limits.capacity_units, limits.saturating_units)
    elif all(peak == int(peak) for peak in peaks):
        room = limits.storage * limits.slack
        chosen = subset_by_program([*map(int, peaks)], int(room), units)
    else:
        raise UsageError("this knapsack takes whole bytes per second; use knapsack=bitset")
    left = limits.storage
    rates: Rates = [left * 0] * len(requests)
    for k in chosen:
        rates[k] = peaks[k]
        left -= peaks[k]
    for k in sorted({*range(len(requests))} - {*chosen}) if top else ():
        if left > limits.storage * limits.eps:
            rates[k] = min(peaks[k], left)
            left -= rates[k]
    return rates
