"""``ready-min-min`` while it runs: the pair of a ready task and a node that is expected to end first."""

from ioopt.decisions.replication import Dispatcher, DispatchView, Pair, least


def policy(settings: object) -> Dispatcher:
    """The dispatcher; it has no settings of its own."""
    return decide


def decide(view: DispatchView) -> Pair | None:
    """Core time, transfers one after the other, and the planned computing (workflow rule 13)."""
    nodes = view.open_nodes()
    return least(
        (expected_end(view, k, i), (k, i))
        for k in (view.ready if nodes else ())
        for i in nodes
        if view.takes(k, i)
    )


def expected_end(view: DispatchView, k: int, i: int) -> float:
    """When task *k* would end on node *i*: nothing overlaps, and no link is shared."""
    seconds = max(view.now, view.core_time(k, i))
    for f in view.inputs(k):
        if not view.holds(i, f):
            copied = view.copies(f) > 0
            network = view.network
            rate = network.replica_bytes_per_second if copied else network.remote_bytes_per_second
            seconds += view.size(f) / rate
    return seconds + view.task(k).compute_seconds / view.nodes[i].speed
