"""Define the reference policies NO_CONGESTION (rule 6) and BASE_LINE (rule 16).

Zhou et al., Sections III.A.4 and IV.D. One section shares the storage per node (rules 7
and 25), the other "evenly among applications". Sharing per node is the default; two
readings of the second wording are settings (rule 27).
"""

from ioopt.compiled import Box
from ioopt.decisions.batch_io import (
    IoPolicy,
    KernelView,
    place_by_level,
    share_by_nodes,
    share_out,
)
from ioopt.solvers.batch_io.settings import Settings, SharingSettings


def per_application(view: KernelView, rates: Box) -> None:
    """Share evenly among applications up to their peak rates (Section IV.D)."""
    for k in range(view.size):
        place_by_level(view, k, k, 1)
    share_out(view, rates, view.size, view.limits.storage)


def even_split(view: KernelView, rates: Box) -> None:
    """Give each application an equal part, also beyond its peak rate (rule 27).

    This takes Section IV.D literally.
    """
    part = view.limits.storage / max(1, view.size)
    for k in range(view.size):
        rates[k] = min(view.jobs[view.out[k]].peak, part)


NO_CONGESTION = IoPolicy("no-congestion", None)
BASE_LINE = IoPolicy("base-line", share_by_nodes)
SHARED = {
    "per-node": BASE_LINE,
    "per-application": IoPolicy("base-line", per_application),
    "even-split": IoPolicy("base-line", even_split, full_when_fits=False),
}
"""Grant function of Grant function of BASE_LINE for each value of its setting
``share``.
"""


def policy(how: Settings) -> IoPolicy:
    """Return BASE_LINE with the chosen sharing (rules 7 and 27), or NO_CONGESTION."""
    if isinstance(how, SharingSettings):
        return SHARED[how.share]
    return NO_CONGESTION
