"""Conservative policies: grants never exceed the storage bandwidth (Zhou et
al., Section III.C.2).

All walk a list in priority order and take what fits in what is left (first fit,
rule 11); they differ in the order. Left-over bandwidth is wasted, as in the
paper; a ``+top`` variant (ours) gives it to the skipped requests in the same
order, the last one partially.
"""

import math

from ioopt.compiled import Box
from ioopt.decisions.batch_io import (
    GrantFunction,
    IoPolicy,
    KernelView,
    as_they_came,
    by_key,
    first_fit,
)
from ioopt.decisions.ordering import Number, time_tolerance
from ioopt.solvers.batch_io.settings import Settings


def cons_fcfs(view: KernelView, rates: Box) -> None:
    """Cons-FCFS: by request time, then job id (rule 10)."""
    as_they_came(view)
    first_fit(view, rates)


def kept_fcfs(view: KernelView, rates: Box) -> None:
    """Cons-FCFS with ``preempt=no``: what has begun first, so that turns are given
    and never taken back.
    """
    for k in range(view.size):
        view.keys[k] = 0.0 if view.jobs[view.out[k]].moved > 0 else 1.0
    by_key(view)
    first_fit(view, rates)


def cons_min_inst_sld(view: KernelView, rates: Box) -> None:
    """Cons-MinInstSld: least instant slowdown r_i (t - t_request) / W first (rule 13).

    A suspended newcomer has W = 0, an infinite slowdown and the lowest priority: the
    policy starves it by construction for as long as others keep the storage busy. That
    is the paper's letter.
    """
    instant_slowdowns(view)
    by_key(view)
    first_fit(view, rates)


def most_inst_sld(view: KernelView, rates: Box) -> None:
    """Cons-MinInstSld with ``order=descending``: the most slowed
    first (rules 13 and 52).
    """
    instant_slowdowns(view)
    by_key_down(view)
    first_fit(view, rates)


def cons_min_aggr_sld(view: KernelView, rates: Box) -> None:
    """Cons-MinAggrSld: least aggregate slowdown of the job so far first (rule 14)."""
    aggregate_slowdowns(view)
    by_key(view)
    first_fit(view, rates)


def most_aggr_sld(view: KernelView, rates: Box) -> None:
    """Cons-MinAggrSld with ``order=descending``: the most slowed
    first (rules 14 and 52).
    """
    aggregate_slowdowns(view)
    by_key_down(view)
    first_fit(view, rates)


def instant_slowdowns(view: KernelView) -> None:
    """Equation (1) of every request into ``keys``."""
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        waited = view.now - request.requested
        if request.moved > 0:
            view.keys[k] = request.peak * waited / request.moved
        else:
            view.keys[k] = of_nothing(view, waited)


def aggregate_slowdowns(view: KernelView) -> None:
    """Equation (2) of every request into ``keys``."""
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        passed, ideal = (
            view.now - request.start,
            request.compute_so_far + request.ideal_so_far,
        )
        view.keys[k] = passed / ideal if ideal > 0 else of_nothing(view, passed)


def by_key_down(view: KernelView) -> None:
    """Order the requests by ``view.keys``, descending; ties: first
    come first (rule 52).
    """
    for k in range(view.size):
        view.keys[k] = 1 / view.keys[k] if view.keys[k] > 0 else math.inf
    by_key(view)


def of_nothing(view: KernelView, waited: Number) -> float:
    """The slowdown of what has done nothing yet: 1 at the instant at
    which it begins (rule 2).
    """
    tolerance = 0.0 if view.limits.exact else time_tolerance(view.now)
    return 1.0 if waited <= tolerance else math.inf


GRANTS: dict[tuple[str, str], GrantFunction] = {
    ("cons-fcfs", "ascending"): cons_fcfs,
    ("cons-fcfs", "kept"): kept_fcfs,
    ("cons-min-inst-sld", "ascending"): cons_min_inst_sld,
    ("cons-min-inst-sld", "descending"): most_inst_sld,
    ("cons-min-aggr-sld", "ascending"): cons_min_aggr_sld,
    ("cons-min-aggr-sld", "descending"): most_aggr_sld,
}
"""By policy and order."""


def policy(how: Settings) -> IoPolicy:
    """The conservative policy that *how* names."""
    order = (
        getattr(how, "order", "ascending") if getattr(how, "preempt", True) else "kept"
    )
    grant = GRANTS[how.policy, order]
    name, aggregate = how.policy + "+top" * how.top, how.policy == "cons-min-aggr-sld"
    return IoPolicy(name, grant, top=how.top, needs_start=aggregate)
