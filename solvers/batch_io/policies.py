"""Name -> policy: the objects that the simulators and :class:`ioopt.embed.IoArbiter` both call."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from ioopt.decisions.batch_io import IoPolicy
from ioopt.errors import UsageError
from ioopt.problems.batch_io import Knapsack, Share
from ioopt.solvers.batch_io import adaptive as adaptive_module
from ioopt.solvers.batch_io import base_line as sharing
from ioopt.solvers.batch_io import conservative, max_util
from ioopt.solvers.batch_io.fill import fill
from ioopt.solvers.batch_io.set10 import set_10, set_10_top, set_of

CONSERVATIVE = {
    "cons-fcfs": (conservative.cons_fcfs, conservative.cons_fcfs_top),
    "cons-max-util": (max_util.cons_max_util, max_util.cons_max_util_top),
    "cons-min-inst-sld": (conservative.cons_min_inst_sld, conservative.cons_min_inst_sld_top),
    "cons-min-aggr-sld": (conservative.cons_min_aggr_sld, conservative.cons_min_aggr_sld_top),
}
TOP_SUFFIX = "+top"
NAMES = (
    "no-congestion",
    "base-line",
    *(name + suffix for name in CONSERVATIVE for suffix in ("", TOP_SUFFIX)),
    "adaptive",
    "set-10",
    "set-10+top",
    "fill",
)


def policy(
    name: str,
    *,
    top: bool = False,
    alpha: float | Fraction = 0.5,
    share: Share = "per-node",
    knapsack: Knapsack = "bitset",
) -> IoPolicy:
    """The policy called *name* (``+top`` may be part of it), with FILL's *alpha* and rule 7's *share*.

    *knapsack* is what solves Cons-MaxUtil's knapsack.

    Raises UsageError for an unknown name or setting, and for ``top`` of a policy without that variant.
    """
    if share not in ("per-node", "per-application"):
        raise UsageError(f"share is per-node or per-application, not {share!r}")
    if not alpha >= 0:
        raise UsageError(f"alpha is 0 or more, not {alpha!r}")
    plain = name.removesuffix(TOP_SUFFIX)
    top = top or plain != name
    if plain == "cons-max-util" and knapsack != "bitset":
        from ioopt.solvers.batch_io.knapsack_engines import subset_by

        by_engine = partial(max_util.decide, top=top, subset_of=subset_by(knapsack))
        return IoPolicy(
            plain + (TOP_SUFFIX if top else ""), by_engine, conservative=True, slow=True
        )
    if plain in CONSERVATIVE:
        return IoPolicy(
            plain + (TOP_SUFFIX if top else ""),
            CONSERVATIVE[plain][top],
            reads_progress=plain == "cons-min-inst-sld",
            conservative=True,
        )
    if plain == "set-10" and top:
        return IoPolicy(plain + TOP_SUFFIX, set_10_top, reads_progress=False)
    if top:
        raise UsageError(f"policy {plain!r} has no {TOP_SUFFIX} variant")
    each = share == "per-application"
    if name == "no-congestion":
        return IoPolicy(name, sharing.no_congestion, ignores_limit=True)
    if name == "base-line" and each:
        return IoPolicy(name, sharing.base_line_per_application, reads_progress=False)
    if name == "base-line":
        return IoPolicy(name, sharing.base_line, shares_by_nodes=True, reads_progress=False)
    if name == "adaptive":
        form = adaptive_module.adaptive_per_application if each else adaptive_module.adaptive
        return IoPolicy(name, form)
    if name == "set-10":
        return IoPolicy(
            name, set_10, full_when_fits=False, reads_progress=False,
            lane=lambda request: set_of(request.iteration),
        )  # fmt: skip
    if name == "fill":
        return IoPolicy(name, fill(alpha))
    raise UsageError(f"no I/O policy {name!r}; known: {', '.join(NAMES)}")
