"""FILL (ours, rule 17): shortest remaining transfer first, weighted by size, bandwidth filled up.

Sort by R_i / N_i^alpha ascending, each gets min(r_i, what is left). Work conserving, at most one
partial grant, O(K log K). alpha = 0 favours the mean I/O delay, alpha = 1 the node-weighted one.
"""

from fractions import Fraction
from typing import Any

from pydantic import Field

from ioopt.decisions.batch_io import (
    FIT_TOLERANCE,
    DecideFunction,
    IoPolicy,
    KernelView,
    Number,
    Rates,
    Request,
    Twin,
    View,
    ascending,
)
from ioopt.decisions.batch_io_kernels import SLACK, by_key
from ioopt.solvers.batch_io.estimates import EstimateSettings, believe_left, believing


class FillSettings(EstimateSettings):
    """Settings of FILL: ``alpha`` weighs a request's nodes (rule 17)."""

    alpha: float = Field(0.5, ge=0)


def fill(alpha: float | Fraction) -> DecideFunction:
    """The FILL policy for one *alpha* >= 0.

    Exact runs compare R_i^q / N_i^p for alpha = p / q instead of the irrational key.
    """
    power = float(alpha)
    ratio = Fraction(repr(alpha)) if isinstance(alpha, float) else Fraction(alpha)

    def float_key(request: Request) -> float:
        return request.left / request.nodes**power

    def exact_key(request: Request) -> Number:
        return request.left**ratio.denominator / Fraction(request.nodes) ** ratio.numerator

    def decide(view: View) -> Rates:
        requests, limits = view.requests, view.limits
        keys = [*map(exact_key if limits.exact else float_key, requests)]
        left = limits.storage
        crumb = left * limits.eps if limits.eps else 0
        slack = 1 + limits.eps if limits.eps else 1
        rates: Rates = [left * 0] * len(keys)
        # The requests stand in FCFS order: ties end in the FCFS key.
        for k in ascending(keys, limits.exact):
            peak = requests[k].peak
            if peak <= left * slack:
                rates[k] = peak
                left -= peak
            else:
                rates[k] = left
                left = crumb
            if left <= crumb:
                break
        return rates

    return decide


def fill_kernel(view: KernelView, rates: Any) -> None:
    """FILL compiled; the ``constant`` of a request is N_i^alpha."""
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        view.keys[k] = request.left / request.constant
    by_key(view)
    left = view.storage
    for q in range(view.size):
        k = view.order[q]
        peak = view.jobs[view.out[k]].peak
        if peak > left * SLACK:
            rates[k] = left
            return
        rates[k] = peak
        left -= peak
        if left <= view.storage * FIT_TOLERANCE:
            return


def believed_kernel(view: KernelView, rates: Any) -> None:
    """:func:`fill_kernel` on what is believed to be left."""
    believe_left(view)
    fill_kernel(view, rates)


def made(name: str, alpha: float, how: EstimateSettings) -> IoPolicy:
    """FILL of one *alpha* under a *name*."""
    power = float(alpha)
    twin = Twin(fill_kernel, constant=lambda request: float(request.nodes**power))
    return believing(IoPolicy(name, fill(alpha), twin=twin), how, believed_kernel)


def policy(how: FillSettings) -> IoPolicy:
    """FILL with the chosen alpha."""
    return made("fill", how.alpha, how)
