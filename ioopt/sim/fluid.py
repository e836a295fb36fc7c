"""Let bytes flow over resources of limited rate: the fluid model of transfers.

A flow carries one thing at a time. The rates of all flows are max-min fair, in
proportion to the weights of the flows. A simulator says which resources each flow
crosses, when flows begin, and what their ends mean; under noise, its bytes move after a
latency, and its weight is drawn. The text runs as plain Python and compiled
(:mod:`ioopt.compiled.memory`).
"""

from dataclasses import dataclass

from ioopt.compiled.memory import Int32

CLOSED = -1.0
"""Rate of a flow whose bytes do not move yet, because of the latency."""
CROSSED = 3
"""Largest number of resources that a flow crosses."""
CROSSED_WITH_DISKS = 4
"""The same where the disks of nodes are resources of their own."""
WEIGHTS = 8191
"""Number of different weights; a prime number."""
BY_FILE = 7919
BY_RECEIVER = 1543
BY_DRAW = 4801
"""Factors with which a file, a receiver and a draw select a weight (timeline rule
10 of replication).
"""


@dataclass(slots=True)
class Flow:
    """A flow carries one transfer at a time: ``file`` from ``source`` to ``target``.

    ``left`` bytes were left at the time ``since``; since then they move at ``rate``.
    ``due``: the end. ``rate`` is CLOSED during the latency: then ``due`` is the time
    from which bytes move. ``weight``: its weight in the sharing of rates. ``row``: the
    number of the transfer. What ``file`` means if it is negative is the simulator's.
    """

    left: float
    rate: float
    since: float
    due: float
    weight: float
    row: int
    file: Int32
    source: Int32
    target: Int32


@dataclass(slots=True)
class Busy:
    """Scratch of the sharing of rates: a busy flow, and its new rate."""

    rate: float
    flow: Int32


@dataclass(slots=True)
class Resource:
    """What flows cross, such as an interface, a link or a disk.

    ``left`` and ``crossing`` are scratch: the rate that is left, and the weights of the
    flows that cross it.
    """

    capacity: float
    left: float
    crossing: float


@dataclass(slots=True)
class Fluid:
    """All flows and resources.

    ``crossed`` is CROSSED or CROSSED_WITH_DISKS. ``busy`` and ``use`` are scratch: the
    busy flows, and ``crossed`` resources for each of them.

    Latency and unfair sharing (timeline rules 9 and 10 of replication): ``draw`` is the
    number of the draw of weights; 0 is exact, with neither. In a draw, bytes move
    ``latency`` seconds after the start of a transfer. ``weights``: the weights of which
    each draw takes others.
    """

    crossed: int
    draw: int
    latency: float
    flows: list[Flow]
    resources: list[Resource]
    busy: list[Busy]
    use: list[int]
    weights: list[float]


def begin_flow(fluid: Fluid, flow: Flow, size: int, now: float) -> bool:
    """Let *flow* carry *size* bytes from now on, or after the latency.

    Return whether they move now, so that rates must be shared again.
    """
    flow.left = size
    flow.since = now
    if fluid.draw > 0 and fluid.latency > 0.0:
        flow.rate = CLOSED
        flow.due = now + fluid.latency
        return False
    flow.rate = 0.0
    flow.due = now if size == 0 else float("inf")
    return True


def left_on(flow: Flow, now: float) -> float:
    """Return the bytes that *flow* still has to move."""
    if flow.rate < 0.0:
        return flow.left
    return max(0.0, flow.left - flow.rate * (now - flow.since))


def weight_of(fluid: Fluid, f: int, receiver: int) -> float:
    """Return the weight of a flow that brings file *f* to *receiver* (timeline rule
    10 of replication).
    """
    if fluid.draw == 0:
        return 1.0
    selected = BY_FILE * f + BY_RECEIVER * receiver + BY_DRAW * fluid.draw
    return fluid.weights[selected % WEIGHTS]


def share_rates(fluid: Fluid, num_busy: int, now: float) -> None:
    """Share the resources among the first *num_busy* flows of ``busy``; set the ends of
    those whose rate has changed.
    """
    fill(fluid, num_busy)
    flows = fluid.flows
    for j in range(num_busy):
        busy = fluid.busy[j]
        rate = busy.rate
        flow = flows[busy.flow]
        if rate != flow.rate:
            flow.left = left_on(flow, now)
            flow.since = now
            flow.rate = rate
            flow.due = now + flow.left / rate


def fill(fluid: Fluid, num_busy: int) -> None:
    """Write the max-min fair rate of every busy flow into ``busy`` (Bertsekas and
    Gallager, Section 6.5.2).

    The rates of all flows grow together, in proportion to their weights, until a
    resource is full. The flows that cross it keep their rate, and the others grow on.
    Flow number *j* of ``busy`` crosses the resources ``use[n * j : n * j + n]``, n
    being ``crossed``; -1 stands for none. A flow that crosses no resource gets the rate
    infinity.
    """
    use = fluid.use
    crossed = fluid.crossed
    open_resources(fluid, num_busy)
    waiting = num_busy
    while waiting > 0:
        tight = tightest(fluid, num_busy)
        share = float("inf")
        if tight >= 0:
            share = fluid.resources[tight].left / fluid.resources[tight].crossing
        for j in range(num_busy):
            if fluid.busy[j].rate >= 0.0:
                continue
            x = j * crossed
            crosses = use[x] == tight or use[x + 1] == tight or use[x + 2] == tight
            if crossed > CROSSED:
                crosses = crosses or use[x + 3] == tight
            if crosses or tight < 0:
                keep_rate(fluid, j, share * fluid.flows[fluid.busy[j].flow].weight)
                waiting -= 1


def open_resources(fluid: Fluid, num_busy: int) -> None:
    """Give the resources that busy flows cross their whole rate, and add up the weights
    of these flows; no flow has a rate yet.
    """
    use = fluid.use
    crossed = fluid.crossed
    for x in range(num_busy * crossed):
        if use[x] >= 0:
            resource = fluid.resources[use[x]]
            resource.left = resource.capacity
            resource.crossing = 0.0
    for j in range(num_busy):
        busy = fluid.busy[j]
        busy.rate = -1.0
        weight = fluid.flows[busy.flow].weight
        for x in range(j * crossed, (j + 1) * crossed):
            if use[x] >= 0:
                fluid.resources[use[x]].crossing += weight


def tightest(fluid: Fluid, num_busy: int) -> int:
    """Return the first resource with the least rate left for each weight of the flows
    without a rate; -1 if no such flow crosses a resource.
    """
    use = fluid.use
    resources = fluid.resources
    crossed = fluid.crossed
    share = float("inf")
    tight = -1
    for j in range(num_busy):
        if fluid.busy[j].rate >= 0.0:
            continue
        for x in range(j * crossed, (j + 1) * crossed):
            if use[x] >= 0:
                resource = resources[use[x]]
                if resource.left < share * resource.crossing:
                    share = resource.left / resource.crossing
                    tight = use[x]
    return tight


def keep_rate(fluid: Fluid, j: int, rate: float) -> None:
    """Give busy flow *j* its *rate*, which its resources lose."""
    fluid.busy[j].rate = rate
    weight = fluid.flows[fluid.busy[j].flow].weight
    for x in range(j * fluid.crossed, (j + 1) * fluid.crossed):
        if fluid.use[x] >= 0:
            resource = fluid.resources[fluid.use[x]]
            resource.crossing -= weight
            resource.left = max(0.0, resource.left - rate)
