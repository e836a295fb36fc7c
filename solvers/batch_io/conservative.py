"""Define conservative policies: grants never exceed the storage's rate.

Zhou et al., Section III.C.2. Each policy sorts the requests and grants the peak rate to
those that still fit (first fit, rule 11); they differ in the order. Bandwidth left over
is wasted, as in the paper. The ``+top`` variants (ours) give it to the skipped requests
in the same order, the last one partially.
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
from ioopt.solvers.batch_io.settings import (
    FirstComeSettings,
    OrderedSettings,
    Settings,
    policy_name,
)


def cons_fcfs(view: KernelView, rates: Box) -> None:
    """Grant by Cons-FCFS: in order of request time, then job id (rule 10)."""
    as_they_came(view)
    first_fit(view, rates)


def kept_fcfs(view: KernelView, rates: Box) -> None:
    """Grant by Cons-FCFS with ``preempt=no``: a transfer that has begun continues
    (rule 53).
    """
    for k in range(view.size):
        view.keys[k] = 1.0
        if view.jobs[view.out[k]].moved > 0:
            view.keys[k] = 0.0
    by_key(view)
    first_fit(view, rates)


def cons_min_inst_sld(view: KernelView, rates: Box) -> None:
    """Grant by Cons-MinInstSld: least r_i (t - t_request) / W first (rule 13).

    A suspended request that has moved nothing has W = 0, so its slowdown is infinite
    and it comes last: it starves while other requests use the whole storage. The paper
    defines the policy so.
    """
    instant_slowdowns(view)
    by_key(view)
    first_fit(view, rates)


def most_inst_sld(view: KernelView, rates: Box) -> None:
    """Grant like Cons-MinInstSld, but the most slowed request first (rules 13 and
    52).
    """
    instant_slowdowns(view)
    by_key_down(view)
    first_fit(view, rates)


def cons_min_aggr_sld(view: KernelView, rates: Box) -> None:
    """Grant by Cons-MinAggrSld: least slowdown of the whole job first (rule 14)."""
    aggregate_slowdowns(view)
    by_key(view)
    first_fit(view, rates)


def most_aggr_sld(view: KernelView, rates: Box) -> None:
    """Grant like Cons-MinAggrSld, but the most slowed job first (rules 14 and 52)."""
    aggregate_slowdowns(view)
    by_key_down(view)
    first_fit(view, rates)


def instant_slowdowns(view: KernelView) -> None:
    """Write the slowdown of equation (1) of every request into ``keys``."""
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        waited = view.now - request.requested
        if request.moved > 0:
            view.keys[k] = request.peak * waited / request.moved
        else:
            view.keys[k] = of_nothing(view, waited)


def aggregate_slowdowns(view: KernelView) -> None:
    """Write the slowdown of equation (2) of every request's job into ``keys``."""
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        passed = view.now - request.start
        ideal = request.compute_so_far + request.ideal_so_far
        if ideal > 0:
            view.keys[k] = passed / ideal
        else:
            view.keys[k] = of_nothing(view, passed)


def by_key_down(view: KernelView) -> None:
    """Sort the requests by ``view.keys``, descending, ties in FCFS order (rule 52)."""
    for k in range(view.size):
        if view.keys[k] > 0:
            view.keys[k] = 1 / view.keys[k]
        else:
            view.keys[k] = math.inf
    by_key(view)


def of_nothing(view: KernelView, waited: Number) -> float:
    """Return the slowdown of a request that has moved nothing: 1 at first, then
    infinity.
    """
    tolerance = 0.0
    if not view.limits.exact:
        tolerance = time_tolerance(view.now)
    if waited <= tolerance:
        return 1.0
    return math.inf


GRANTS: dict[tuple[str, str], GrantFunction] = {
    ("cons-fcfs", "ascending"): cons_fcfs,
    ("cons-fcfs", "kept"): kept_fcfs,
    ("cons-min-inst-sld", "ascending"): cons_min_inst_sld,
    ("cons-min-inst-sld", "descending"): most_inst_sld,
    ("cons-min-aggr-sld", "ascending"): cons_min_aggr_sld,
    ("cons-min-aggr-sld", "descending"): most_aggr_sld,
}
"""Grant functions by policy and order."""


def policy(how: Settings) -> IoPolicy:
    """Return the conservative policy that *how* names."""
    order = "ascending"
    if isinstance(how, OrderedSettings):
        order = how.order
    if isinstance(how, FirstComeSettings) and not how.preempt:
        order = "kept"
    return IoPolicy(
        policy_name(how),
        GRANTS[how.policy, order],
        top=how.top,
        needs_start=how.policy == "cons-min-aggr-sld",
    )
