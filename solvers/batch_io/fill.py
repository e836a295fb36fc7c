"""Grant by FILL (ours, rule 17): the shortest remaining transfer first, without idling.

Requests i are sorted by R_i / N_i^alpha, least first: R_i are the bytes left and N_i
the nodes of the job. Each gets its peak rate, or what is left of the storage's rate.
The policy is work conserving, makes at most one partial grant, and takes O(K log K) for
K requests. alpha = 0 favours the mean I/O delay, alpha = 1 the node-weighted I/O delay.
"""

from fractions import Fraction
from functools import lru_cache

from pydantic import Field

from ioopt.decisions.batch_io import IoPolicy, KernelView, by_key, number
from ioopt.decisions.ordering import Number
from ioopt.solvers.batch_io.settings import Settings


class FillSettings(Settings):
    """Configure FILL: ``alpha`` is the exponent of a request's number of nodes
    (rule 17).
    """

    alpha: float = Field(0.5, ge=0)


def fill(view: KernelView, rates: list[Number]) -> None:
    """Grant by FILL; the ``weight`` of a request is N_i^alpha.

    In exact runs that weight would be irrational. With alpha = p / q these runs compare
    R_i^q / N_i^p instead: ``power`` is q, and the weight is N_i^p.
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


@lru_cache(maxsize=16)  # cached: services ask for the same policy repeatedly
def made(name: str, alpha: float) -> IoPolicy:
    """Return FILL with exponent *alpha* as a policy called *name*."""
    power = float(alpha)
    ratio = Fraction(repr(alpha))

    def weigh(nodes: int, iteration: Number) -> Number:
        if isinstance(iteration, Fraction):
            return number(Fraction(nodes) ** ratio.numerator, True)
        return float(nodes**power)

    return IoPolicy(name, fill, power=ratio.denominator, weigh=weigh)


def policy(how: FillSettings) -> IoPolicy:
    """Return FILL with the alpha of its settings *how*."""
    return made("fill", how.alpha)


LEAST_DELAY = -0.5
"""The alpha of LEAST-DELAY (ours, rule 51), a policy for the total I/O delay of all
jobs.

Of two requests that do not fit together, the one with fewer bytes left, R, should go
first. It delays the other by (r_1 + r_2 - BW) R / (r_1 r_2) seconds, where r_1 and r_2
are the peak rates and BW is the storage's rate. Of many requests, those on few nodes
should go first, because more of them fit at once. So the exponent of the number of
nodes N should lie between 0 (only bytes count) and 1 (bytes and nodes count alike). It
was chosen on seeds 1 to 3 of ``mira-week`` and 1 and 2 of ``small``; docs/batch-io.md
reports other seeds.
"""


def least_delay(how: Settings) -> IoPolicy:
    """Return LEAST-DELAY: FILL that grants the request with the least R_i N_i^(1/2)
    first.
    """
    return made("least-delay", LEAST_DELAY)
