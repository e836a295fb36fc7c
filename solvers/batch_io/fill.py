"""Grant by FILL (ours, rule 17): shortest remaining transfer first, none idle.

Requests are sorted by R_i / N_i^alpha, ascending; each gets min(r_i, what is left). The
policy is work conserving, makes at most one partial grant, and takes O(K log K). alpha
= 0 favours the mean I/O delay, alpha = 1 the node-weighted one.
"""

from fractions import Fraction

from pydantic import Field

from ioopt.compiled import Box
from ioopt.decisions.batch_io import IoPolicy, KernelView, by_key
from ioopt.decisions.ordering import Number
from ioopt.solvers.batch_io.settings import Settings


class FillSettings(Settings):
    """Configure ``alpha``, the exponent of a request's number of nodes (rule 17)."""

    alpha: float = Field(0.5, ge=0)


def fill(view: KernelView, rates: Box) -> None:
    """Grant by FILL; the ``weight`` of a request is N_i^alpha.

    In exact runs the key would be irrational, so they compare R_i^q / N_i^p, where
    alpha = p / q; ``power`` is q and the weight N_i^p.
    """
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        key = request.left
        for _ in range(view.power - 1):
            key *= request.left
        view.keys[k] = key / request.weight
    by_key(view)
    left = view.limits.storage
    for q in range(view.size):
        k = view.order[q]
        peak = view.jobs[view.out[k]].peak
        if peak > left * view.limits.slack:
            rates[k] = left
            return
        rates[k] = peak
        left -= peak
        if left <= view.limits.storage * view.limits.eps:
            return


def made(name: str, alpha: float) -> IoPolicy:
    """Return FILL with *alpha* as a policy called *name*."""
    power = float(alpha)
    ratio = Fraction(repr(alpha))

    def weigh(nodes: int, iteration: Number) -> Number:
        if isinstance(iteration, Fraction):
            return Fraction(nodes) ** ratio.numerator
        return float(nodes**power)

    return IoPolicy(name, fill, power=ratio.denominator, weigh=weigh)


def policy(how: FillSettings) -> IoPolicy:
    """Return FILL with the chosen alpha."""
    return made("fill", how.alpha)


LEAST_DELAY = -0.5
"""The alpha of LEAST-DELAY (ours, rule 51), for the total I/O delay of all jobs.

Of two requests that do not fit together, the one with fewer bytes left should go first:
while it runs, it delays the other by (r_1 + r_2 - BW) R / (r_1 r_2) seconds. Of many,
those on few nodes should go first, because more of them fit at once. So the exponent of
N lies between 0 (bytes alone) and 1 (bytes and nodes alike). It was chosen on seeds 1
to 3 of ``mira-week`` and 1 and 2 of ``small``; docs/batch-io.md reports others.
"""


def least_delay(how: Settings) -> IoPolicy:
    """Return LEAST-DELAY: FILL by least R_i N_i^(1/2)."""
    return made("least-delay", LEAST_DELAY)
