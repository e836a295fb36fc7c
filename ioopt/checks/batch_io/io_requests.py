"""Check one I/O decision: the rates granted to the outstanding requests."""

import math
from collections.abc import Iterator, Mapping

from ioopt.problems.base import Json
from ioopt.problems.batch_io import IoGrantsPlan, IoRequestsProblem
from ioopt.protocols import CheckReport
from ioopt.result import Violation, violation

RELATIVE = 1e-9


def check(
    problem: IoRequestsProblem, plan: IoGrantsPlan | Json | None, schedule: Json | None
) -> CheckReport:
    """Return the violations of the grants, and the sum of all grants in bytes/s.

    Every request must have a grant, which must not exceed the peak rate r_i of the
    request. The sum of grants must not exceed the storage's rate, except under the
    uncongested reference policy. Conservative policies grant each request its peak rate
    or nothing (rule 11); with ``+top`` one request may get a part of its peak rate.
    """
    if plan is None:
        return CheckReport(
            (violation("plan", problem.name, "there are no grants to check"),)
        )
    if isinstance(plan, Mapping):
        plan = IoGrantsPlan.model_validate(dict(plan))
    grants = {str(name): rate for name, rate in plan.grants.items()}
    machine = problem.machine
    nodes: dict[str, int] = {}
    peaks: dict[str, float] = {}  # r_i in bytes/s (rules 5 and 24)
    for request in problem.requests:
        name = str(request.id)
        nodes[name] = machine.allocated_nodes(request.nodes)
        peaks[name] = machine.peak(nodes[name], request.io_bytes_per_second)
    found = [*_unmatched(grants, peaks), *_above_peak(grants, peaks)]
    partial = [
        name
        for name in peaks.keys() & grants.keys()
        if 0 < grants[name] < peaks[name] * (1 - RELATIVE)
    ]
    storage = machine.storage_bytes_per_second
    total = math.fsum(grants.values())
    excused: tuple[Violation, ...] = ()
    if total > storage * (1 + RELATIVE):
        text = f"grants add up to {total!r} bytes/s, the storage takes {storage!r}"
        over = violation("storage", problem.name, text, total - storage)
        if plan.policy == "no-congestion":
            excused = (over,)
        else:
            found.append(over)
    if (plan.policy or "").startswith("cons-") and len(partial) > plan.top:
        text = "gets a part of its peak from a conservative policy"
        found.append(violation("conservative", min(partial), text))
    found.sort(key=lambda item: (item.rule, item.item))
    objectives = {
        "granted_bytes_per_second": total,
        "granted_nodes": sum(
            nodes.get(name, 0) for name, rate in grants.items() if rate > 0
        ),
    }
    metrics = {
        **objectives,
        "granted_requests": sum(rate > 0 for rate in grants.values()),
        "partial_grants": len(partial),
    }
    limits = {
        "granted_bytes_per_second": min(storage, math.fsum(peaks.values())),
        "granted_nodes": sum(nodes.values()),
        "granted_requests": len(peaks),
        "partial_grants": len(peaks),
    }
    return CheckReport(
        tuple(found), objectives, metrics, limits=limits, excused=excused
    )


def _above_peak(
    grants: Mapping[str, float], peaks: Mapping[str, float]
) -> Iterator[Violation]:
    """Yield a violation for each grant above the peak rate of its request."""
    for name in peaks.keys() & grants.keys():
        if grants[name] > peaks[name] * (1 + RELATIVE):
            text = f"gets {grants[name]!r} bytes/s, its peak is {peaks[name]!r}"
            yield violation("peak", name, text, grants[name] - peaks[name])


def _unmatched(
    grants: Mapping[str, float], peaks: Mapping[str, float]
) -> list[Violation]:
    """Return a violation for each grant without a request, and for each request without
    a grant.
    """
    found = []
    for name in grants:
        if name not in peaks:
            text = "there is no such request"
            found.append(violation("unknown-request", name, text))
    for name in peaks:
        if name not in grants:
            text = "has no grant (0 suspends)"
            found.append(violation("request-missing", name, text))
    return found
