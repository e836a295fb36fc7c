"""Define the reference policies NO_CONGESTION (rule 6) and BASE_LINE (rule 16).

Zhou et al. describe BASE_LINE twice. Section III.A.4 shares the storage per node
(rules 7 and 25); this is the default. Section IV.D, which defines the experiments,
shares it "evenly among applications" in the case of congestion; three readings of
these words are settings (rule 27).
"""

from ioopt.decisions.batch_io import (
    IoPolicy,
    KernelView,
    place_by_level,
    share_by_nodes,
    share_out,
)
from ioopt.decisions.ordering import Number
from ioopt.solvers.batch_io.settings import Settings, SharingSettings


def per_application(view: KernelView, rates: list[Number]) -> None:
    """Share the storage evenly among applications, up to their peak rates
    (Section IV.D).
    """
    for k in range(view.size):
        place_by_level(view, k, k, 1)
    share_out(view, rates, view.size, view.limits.storage)


def even_split(view: KernelView, rates: list[Number]) -> None:
    """Give each application the same part of the storage (rule 27).

    What an application cannot use is not given to others. This takes Section IV.D
    literally.
    """
    part = view.limits.storage / max(1, view.size)
    for k in range(view.size):
        rates[k] = min(view.jobs[view.out[k]].peak, part)


NO_CONGESTION = IoPolicy("no-congestion", None)
BASE_LINE = IoPolicy("base-line", share_by_nodes)
SHARED = {
    "per-node": BASE_LINE,
    "per-application": IoPolicy("base-line", per_application),
    "even-if-congested": IoPolicy("base-line", even_split),
    "even-split": IoPolicy("base-line", even_split, full_when_fits=False),
}
"""BASE_LINE for each value of its setting ``share``."""


def policy(how: Settings) -> IoPolicy:
    """Return BASE_LINE with the chosen sharing (rules 7 and 27), or NO_CONGESTION."""
    if isinstance(how, SharingSettings):
        return SHARED[how.share]
    return NO_CONGESTION
