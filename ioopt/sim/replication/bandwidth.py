"""Fluid bandwidth sharing: max-min fair rates of flows that cross shared resources.

The rates are those of progressive filling: all flows grow together until a resource is full, the
flows that cross it stop growing, and the others go on (Bertsekas and Gallager, *Data Networks*,
Section 6.5.2).
"""

from collections.abc import Sequence
from typing import Any

from ioopt.errors import UsageError


def fill(
    capacity: Any, use: Any, num_flows: int, width: int, rates: Any, left: Any, count: Any
) -> None:
    """Max-min fair rates in place, over flat arrays (also compiled, as a part of simulators).

    ``use[j * width : (j + 1) * width]`` are the resources that flow *j* crosses, -1 for none;
    ``capacity`` is bytes per second a resource; ``rates`` receives bytes per second a flow,
    infinity for one that crosses nothing. ``left`` and ``count`` are scratch, one a resource.
    """
    for x in range(num_flows * width):
        r = use[x]
        if r >= 0:
            left[r] = capacity[r]
            count[r] = 0
    for j in range(num_flows):
        rates[j] = -1.0
        for x in range(j * width, (j + 1) * width):
            if use[x] >= 0:
                count[use[x]] += 1
    waiting = num_flows
    while waiting > 0:
        share = float("inf")
        tight = -1
        for j in range(num_flows):
            if rates[j] < 0.0:
                for x in range(j * width, (j + 1) * width):
                    r = use[x]
                    if r >= 0 and left[r] < share * count[r]:
                        share = left[r] / count[r]
                        tight = r
        for j in range(num_flows):
            if rates[j] >= 0.0:
                continue
            crosses = tight < 0
            for x in range(j * width, (j + 1) * width):
                if use[x] == tight:
                    crosses = True
            if not crosses:
                continue
            rates[j] = share
            waiting -= 1
            for x in range(j * width, (j + 1) * width):
                r = use[x]
                if r >= 0:
                    count[r] -= 1
                    left[r] = max(0.0, left[r] - share)


def max_min_rates(capacities: Sequence[float], flows: Sequence[Sequence[int]]) -> list[float]:
    """Max-min fair rates of *flows*, each the resources that it crosses, in bytes per second.

    Raises UsageError for a resource that does not exist or has a negative capacity.

    >>> max_min_rates([10.0, 40.0, 12.0], [[0, 1], [0, 2], [1, 2]])
    [5.0, 5.0, 7.0]
    """
    for r, capacity in enumerate(capacities):
        if not capacity >= 0:
            raise UsageError(f"capacity of resource {r} must be 0 or more, not {capacity}")
    for j, resources in enumerate(flows):
        for r in resources:
            if not 0 <= r < len(capacities):
                raise UsageError(f"flow {j} crosses resource {r}, of {len(capacities)}")
    width = max((len(resources) for resources in flows), default=0)
    use = [r for resources in flows for r in [*resources, *[-1] * (width - len(resources))]]
    rates = [0.0] * len(flows)
    fill(capacities, use, len(flows), width, rates, [0.0] * len(capacities), [0] * len(capacities))
    return rates
