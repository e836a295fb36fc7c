"""FILL (ours, rule 17): shortest remaining transfer first, weighted by size, bandwidth filled up.

Sort by R_i / N_i^alpha ascending, each gets min(r_i, what is left). Work conserving, at most one
partial grant, O(K log K). alpha = 0 favours the mean I/O delay, alpha = 1 the node-weighted one.
"""

from __future__ import annotations

from fractions import Fraction

from pydantic import Field

from ioopt.decisions.batch_io import (
    FILL,
    DecideFunction,
    IoPolicy,
    Number,
    Rates,
    Request,
    Twin,
    View,
    ascending,
)
from ioopt.solvers.batch_io.settings import Settings


class FillSettings(Settings):
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


def policy(how: FillSettings) -> IoPolicy:
    """FILL with the chosen alpha."""
    return IoPolicy("fill", fill(how.alpha), twin=Twin(FILL, alpha=how.alpha))
