"""Define the conservative policies, whose grants never exceed the storage's rate.

Zhou et al., Section III.C.2. Each policy sorts the requests and grants the peak rate to
each one that still fits (first fit, rule 11). The policies differ in the order.
Bandwidth left over stays unused, as in the paper. The ``+top`` variants (ours) give it
to the requests that were skipped, in the same order; the last one may get part of its
peak rate.
"""

import math

from ioopt.decisions.batch_io import (
    GrantFunction,
    IoPolicy,
    KernelView,
    as_they_came,
    by_key,
    first_fit,
    place_by_level,
    share_out,
)
from ioopt.decisions.ordering import Number, time_tolerance
from ioopt.solvers.batch_io.settings import (
    FirstComeSettings,
    OrderedSettings,
    Settings,
    policy_name,
)


def cons_fcfs(view: KernelView, rates: list[Number]) -> None:
    """Grant by Cons-FCFS: in order of request time, then job id (rule 10)."""
    as_they_came(view)
    first_fit(view, rates)


def begun_first(view: KernelView) -> None:
    """Put the requests that have moved bytes in front, and keep the FCFS order among
    them and among the others.
    """
    for k in range(view.size):
        view.keys[k] = 1.0
        if view.jobs[view.out[k]].moved > 0:
            view.keys[k] = 0.0
    by_key(view)


def kept_fcfs(view: KernelView, rates: list[Number]) -> None:
    """Grant by Cons-FCFS with ``preempt=no``: a transfer that has begun continues
    (rule 53).
    """
    begun_first(view)
    first_fit(view, rates)


def turns_of_large(view: KernelView, rates: list[Number]) -> None:
    """Grant turns to the requests of ``view.least`` bytes or more; all others transfer
    at once (rule 54).

    The turns are those of :func:`kept_fcfs`. All that transfer share the storage by
    nodes (rule 25), with or without a turn.
    """
    begun_first(view)
    left = view.limits.storage
    for q in range(view.size):
        k = view.order[q]
        request = view.jobs[view.out[k]]
        whole = request.left + request.moved
        if whole * view.limits.slack < view.least:
            rates[k] = request.peak
        elif request.peak <= left * view.limits.slack:
            rates[k] = request.peak
            left -= request.peak
    active = 0
    for k in range(view.size):
        if rates[k] > 0:
            place_by_level(view, active, k, view.jobs[view.out[k]].nodes)
            active += 1
    share_out(view, rates, active, view.limits.storage)


def cons_min_inst_sld(view: KernelView, rates: list[Number]) -> None:
    """Grant by Cons-MinInstSld: the request with the least instantaneous slowdown first
    (rule 13).

    The slowdown is r_i (t - t_request) / W: peak rate r_i, time t, time t_request of
    the request, bytes W moved so far. A request that has moved nothing has an infinite
    slowdown and comes last, so it starves while other requests use the whole storage.
    The paper defines the policy so.
    """
    instant_slowdowns(view)
    by_key(view)
    first_fit(view, rates)


def most_inst_sld(view: KernelView, rates: list[Number]) -> None:
    """Grant like Cons-MinInstSld, but the request with the largest slowdown first
    (rules 13 and 52).
    """
    instant_slowdowns(view)
    by_key_down(view)
    first_fit(view, rates)


def cons_min_aggr_sld(view: KernelView, rates: list[Number]) -> None:
    """Grant by Cons-MinAggrSld: the job with the least aggregate slowdown first
    (rule 14).
    """
    aggregate_slowdowns(view)
    by_key(view)
    first_fit(view, rates)


def most_aggr_sld(view: KernelView, rates: list[Number]) -> None:
    """Grant like Cons-MinAggrSld, but the job with the largest slowdown first (rules 14
    and 52).
    """
    aggregate_slowdowns(view)
    by_key_down(view)
    first_fit(view, rates)


def instant_slowdowns(view: KernelView) -> None:
    """Write into ``keys`` the instantaneous slowdown of every request, equation (1) of
    the paper.
    """
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        waited = view.now - request.requested
        if request.moved > 0:
            view.keys[k] = request.peak * waited / request.moved
        else:
            view.keys[k] = of_nothing(view, waited)


def aggregate_slowdowns(view: KernelView) -> None:
    """Write into ``keys`` the aggregate slowdown of every request's job, equation (2)
    of the paper.
    """
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        passed = view.now - request.start
        ideal = request.compute_so_far + request.ideal_so_far
        if ideal > 0:
            view.keys[k] = passed / ideal
        else:
            view.keys[k] = of_nothing(view, passed)


def by_key_down(view: KernelView) -> None:
    """Sort the requests by ``view.keys``, largest first; equal ones in FCFS order
    (rule 52).
    """
    for k in range(view.size):
        if view.keys[k] > 0:
            view.keys[k] = 1 / view.keys[k]
        else:
            view.keys[k] = math.inf
    by_key(view)


def of_nothing(view: KernelView, waited: Number) -> float:
    """Return the slowdown of a request that has moved nothing.

    It is 1 at the instant of the request and infinite afterwards.
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
    ("cons-fcfs", "large kept"): turns_of_large,
    ("cons-min-inst-sld", "ascending"): cons_min_inst_sld,
    ("cons-min-inst-sld", "descending"): most_inst_sld,
    ("cons-min-aggr-sld", "ascending"): cons_min_aggr_sld,
    ("cons-min-aggr-sld", "descending"): most_aggr_sld,
}
"""The grant function for each policy and order."""


def policy(how: Settings) -> IoPolicy:
    """Return the conservative policy that the settings *how* name."""
    order = "ascending"
    least = 0.0
    if isinstance(how, OrderedSettings):
        order = how.order
    if isinstance(how, FirstComeSettings) and not how.preempt:
        order = "large kept" if how.least_bytes else "kept"
        least = how.least_bytes
    return IoPolicy(
        policy_name(how),
        GRANTS[how.policy, order],
        top=how.top,
        least=least,
        needs_start=how.policy == "cons-min-aggr-sld",
    )
