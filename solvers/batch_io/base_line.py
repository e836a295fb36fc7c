"""Sharing (rules 7 and 25) and the reference policies: NO_CONGESTION (rule 6),
BASE_LINE (rule 16).

Zhou et al., Sections III.A.4 and IV.D. The paper shares "evenly among applications" in
one place and per node in the other; per node is the rule, the two readings of the other
are options (rule 27).
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
    """Everybody shares evenly, one application like the other, none above its
    peak (Section IV.D).
    """
    for k in range(view.size):
        place_by_level(view, k, k, 1)
    share_out(view, rates, view.size, view.limits.storage)


def even_split(view: KernelView, rates: Box) -> None:
    """An equal part each, of which what a peak leaves is lost: the letter of
    Section IV.D (rule 27).
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
"""BASE_LINE by its ``share``."""


def policy(how: Settings) -> IoPolicy:
    """NO_CONGESTION, or BASE_LINE with the chosen sharing (rules 7 and 27)."""
    return SHARED[how.share] if isinstance(how, SharingSettings) else NO_CONGESTION
