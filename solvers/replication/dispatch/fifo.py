"""``fifo``: the first ready task that some node takes goes to the core that has idled longest."""

from ioopt.decisions.replication import Dispatcher, DispatchView, Pair, least


def policy(settings: object) -> Dispatcher:
    """The dispatcher; it has no settings of its own."""
    return decide


def decide(view: DispatchView) -> Pair | None:
    """No task waits for a wider one before it (workflow rule 13)."""
    nodes = view.open_nodes()
    for k in view.ready if nodes else ():
        found = least((view.core_time(k, i), (k, i)) for i in nodes if view.takes(k, i))
        if found is not None:
            return found
    return None
